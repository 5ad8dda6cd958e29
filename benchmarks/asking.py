"""How well it is asked when the model finds every reading without a mistake: what the results alone let through.

    python -m benchmarks.asking auto|always

The scripted model lists exactly the readings of `tests/fixtures/clarification/questions.jsonl`, each with its
statement, and writes the statement of a clear question: with `auto` while it writes the statement, with `always` in a
review. So what is not asked makes no difference.
"""

import json
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any, cast

from langchain_core.messages import BaseMessage

from datasphinx.agent.evals.datasets import Dataset, read_labeled_questions
from datasphinx.agent.evals.experiments.log import EventCapture
from datasphinx.agent.evals.experiments.report import clarification_metrics
from datasphinx.agent.evals.experiments.rounds import ask_when_it_matters
from datasphinx.agent.evals.experiments.run import Plan, run_with
from datasphinx.agent.evals.options import OracleName
from datasphinx.agent.evals.run import evaluation_settings
from datasphinx.agent.llm.scripted import ScriptedModel
from datasphinx.agent.record.recorder import Recorder
from datasphinx.agent.services import Services
from datasphinx.agent.settings import load_settings
from datasphinx.agent.types import Clarify

ROOT = Path(__file__).resolve().parents[1]
QUESTIONS = ROOT / "tests/fixtures/clarification/questions.jsonl"
DATABASES = ROOT.parent / "shared/benchmarks/spider_dev/databases"
QUESTION = "Which of these do you mean?"
NOTHING = {"summary": "", "no_ambiguity": True}


def main(when: Clarify) -> None:
    """Print the figures as JSON."""
    lines = QUESTIONS.read_text(encoding="utf-8").splitlines()
    records = {record["question"]: record for record in map(json.loads, lines)}

    def of(messages: list[BaseMessage]) -> dict[str, Any]:
        prompt = str(messages[-1].content)
        return next(record for question, record in records.items() if f"Question: {question}" in prompt)

    def readings_of(record: dict[str, Any]) -> list[dict[str, str]]:
        return [{"label": each["reading"], **each} for each in record["readings"]]

    def review(messages: list[BaseMessage]) -> dict[str, Any]:
        record = of(messages)
        if not record["type"]:
            return NOTHING
        asked = {"question": QUESTION, "ambiguity_type": record["type"], "options": readings_of(record)}
        return {**NOTHING, "no_ambiguity": False, **asked}

    def write(messages: list[BaseMessage]) -> dict[str, Any]:
        record = of(messages)
        if record["type"] and when == "auto":
            alternatives = readings_of(record)
            return {"sql": "", "question": QUESTION, "ambiguity_type": record["type"], "alternatives": alternatives}
        return {"sql": record["readings"][0]["sql"] if record["type"] else record["sql"]}

    model = ScriptedModel({"AmbiguityReview": [review], "GeneratedSQL": [write]}, repeat_last=True)
    settings = evaluation_settings(load_settings()).model_copy(update={"enable_sql_validation": False})
    services = Services(settings, model=model, recorder=Recorder(EventCapture()))
    questions = read_labeled_questions(QUESTIONS)
    with tempfile.TemporaryDirectory() as folder:
        plan = Plan(Path(folder) / "out", oracle=OracleName.RULE, rounds=4)
        dataset = Dataset([*questions], DATABASES)
        _, logs = run_with(
            services, dataset, plan, when, partial(ask_when_it_matters, clarify_mode=when), lambda *_: None
        )
    figures = clarification_metrics(questions, logs)
    matched = sum(log.match for log in logs)
    sys.stdout.write(json.dumps({"n": len(logs), "matched": matched, **figures}, indent=2) + "\n")


if __name__ == "__main__":
    main(cast(Clarify, sys.argv[1]))
