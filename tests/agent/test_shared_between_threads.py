"""Objects that threads share: sixteen threads that ask at once get what one thread gets, from the first moment."""

import json
import subprocess
import sys

import pytest

from tests.support.server_process import ROOT

_SCRIPT = """
import json, sys, threading
from concurrent.futures import ThreadPoolExecutor

from datasphinx.agent.graph import build_graph
from datasphinx.agent.llm.scripted import ScriptedModel
from datasphinx.agent.services import Services
from datasphinx.agent.settings import load_settings

ROUNDS, THREADS = int(sys.argv[1]), 16
TOPICS = ["customers", "orders", "products", "employees", "returns", "regions", "channels", "categories"]
QUESTIONS = ["How many {}s are there?", "Which {} was sold most often in 2024?", "Сколько у нас покупателей {}?"]

def statement(messages):
    topic = next(topic for topic in TOPICS if f"({topic})" in messages[-1].content)
    return {"sql": f"SELECT COUNT(*) AS {topic} FROM {topic}", "assumptions": [], "off_topic": False}

def narration(messages):
    return {"answer": "There are {v1} rows, which is the highest figure of all cities."}

def graph():
    calls = {
        "GeneratedSQL": [statement],
        "SQLValidation": [{"is_valid": True, "reason": "", "issues": [], "corrected_sql": None}],
        "AmbiguityReview": [{"summary": "", "no_ambiguity": True}],
        "NarratedAnswer": [narration],
    }
    model = ScriptedModel(calls, repeat_last=True)
    return build_graph(Services(load_settings(record=False), model=model))

def ask(graph, at):
    topic = TOPICS[at % len(TOPICS)]
    question = QUESTIONS[at % len(QUESTIONS)].format(f"thing{at}") + f" ({topic})"
    output = graph.invoke({"question": question})
    return [output.get(name) for name in ("answer", "value", "sql", "status", "filters")] + [str(output.get("error"))]

numbers = range(ROUNDS * THREADS)
sys.setswitchinterval(1e-6)
shared, barrier = graph(), threading.Barrier(THREADS)

def first(at):
    if at < THREADS:
        barrier.wait()
    return ask(shared, at)

with ThreadPoolExecutor(THREADS) as threads:
    together = list(threads.map(first, numbers))
sys.setswitchinterval(0.005)
alone = graph()
print(json.dumps([[at, one, ask(alone, at)] for at, one in zip(numbers, together)]))
"""


@pytest.mark.heavy
@pytest.mark.process
def test_threads_that_ask_at_once_get_what_one_thread_gets() -> None:
    command = [sys.executable, "-c", _SCRIPT, "12"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    answers = json.loads(done.stdout.splitlines()[-1])
    assert not [alone for _, _, alone in answers if alone[1] is None]
    assert not [answer for answer in answers if answer[1] != answer[2]]
