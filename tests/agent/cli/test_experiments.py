"""`datasphinx eval run --out` and `eval compare`, against a server that plays the model."""

import json
import math
import os
import pickle
import re
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from datasphinx.agent import errors
from datasphinx.agent.examples.example import Example
from datasphinx.agent.examples.store import ExampleStore
from tests import commands
from tests.fake_openai import FakeOpenAI, Reply
from tests.support.best_customer import review_of

COUNT = "SELECT COUNT(*) FROM books"
TOKENS = [('{"sql": "', -5.0), (COUNT, -0.7), ('", "assumptions": [], "off_topic": false}', -5.0)]
VALID = {"is_valid": True, "reason": "", "issues": [], "corrected_sql": None}


def playing(request: dict[str, Any]) -> Reply | dict[str, Any]:
    """An endpoint that counts books, whatever is asked, and gives logprobs."""
    if request["response_format"]["json_schema"]["name"] != "GeneratedSQL":
        return VALID
    content = [{"token": text, "logprob": logprob, "bytes": None, "top_logprobs": []} for text, logprob in TOKENS]
    message = {"role": "assistant", "content": "".join(text for text, _ in TOKENS), "refusal": None}
    choice = {
        "index": 0,
        "message": message,
        "finish_reason": "stop",
        "logprobs": {"content": content, "refusal": None},
    }
    body = {"id": "1", "object": "chat.completion", "created": 0, "model": "fake", "choices": [choice]}
    usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
    return Reply(body=json.dumps({**body, "usage": usage}))


@pytest.fixture
def server() -> Iterator[FakeOpenAI]:
    with FakeOpenAI(default=playing) as fake:
        yield fake


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, ...]:
    """Six questions about two books, of which counting answers the even ones."""
    with closing(sqlite3.connect(tmp_path / "library.sqlite")) as connection:
        connection.executescript(
            "CREATE TABLE books (book_id INTEGER PRIMARY KEY, title TEXT); "
            "INSERT INTO books VALUES (1, 'Emma'), (2, 'Ulysses')"
        )
    lines = [
        {"id": f"q{number}", "db_id": "library", "question": f"How many books are there, number {number}?"}
        | {"sql": COUNT if number % 2 == 0 else "SELECT title FROM books"}
        for number in range(6)
    ]
    (tmp_path / "q.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return "--questions", str(tmp_path / "q.jsonl"), "--databases", str(tmp_path)


@pytest.fixture
def environment(server: FakeOpenAI, cache_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATASPHINX_CACHE_DIR", str(cache_dir))
    monkeypatch.setenv("DATASPHINX_LLM_BASE_URL", server.base_url)
    monkeypatch.setenv("DATASPHINX_LLM_MODEL", "fake")


@pytest.fixture
def evaluated(
    run: commands.Run, files: tuple[str, ...], environment: None, tmp_path: Path
) -> Callable[..., tuple[int, dict[str, Any], str]]:
    """Runs `eval run` on the questions into a folder; code, report and standard error."""

    def call(*arguments: str, out: str = "out") -> tuple[int, dict[str, Any], str]:
        code, printed, err = run("eval", "run", *files, "--out", str(tmp_path / out), *arguments)
        return code, json.loads(printed or "{}"), err

    return call


def asked(server: FakeOpenAI) -> list[str]:
    """The questions for which a statement was asked, in their order."""
    wanted = (each for each in server.requests if each["response_format"]["json_schema"]["name"] == "GeneratedSQL")
    return [f"q{re.findall(r'number ([0-9])', json.dumps(each['messages']))[0]}" for each in wanted]


def logs_in(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "questions.jsonl").read_text(encoding="utf-8").splitlines()]


def test_an_experiment_leaves_logs_report_and_plot(evaluated: Any, server: FakeOpenAI, tmp_path: Path) -> None:
    code, report, err = evaluated()
    first = logs_in(tmp_path / "out")[0]
    order, prompt, output, perplexity = first["sql_log"][0]

    assert (code, report["n"], report["execution_match"], report["accuracy_by_round"]) == (0, 6, 0.5, [0.5])
    assert (first["id"], first["num_cq_asked"], first["cq_log"], first["feedback_log"]) == ("q0", 0, [], [])
    assert (order, output) == (0, COUNT)
    assert "How many books are there, number 0?" in prompt
    # The statement's own tokens count: exp(0.7), and not those of the JSON about it.
    assert perplexity == pytest.approx(math.exp(0.7), abs=1e-6)
    assert report["perplexity"]["all"] == pytest.approx(math.exp(0.7), abs=1e-4)
    assert all(request["logprobs"] is True for request in server.requests)
    assert "| baseline | 6 | 50.00%" in err
    assert [log["id"] for log in pickle.loads((tmp_path / "out/logs.pkl").read_bytes())] == [
        f"q{at}" for at in range(6)
    ]
    assert json.loads((tmp_path / "out/report.json").read_text(encoding="utf-8")) == report


@pytest.mark.heavy
def test_questions_are_asked_in_parallel(evaluated: Any, server: FakeOpenAI) -> None:
    together = threading.Barrier(3, timeout=30)

    def waiting(request: dict[str, Any]) -> Any:
        if request["response_format"]["json_schema"]["name"] == "GeneratedSQL":
            together.wait()
        return playing(request)

    server.default = waiting
    code, report, _ = evaluated("--parallel", "3")

    assert (code, report["n"], report["execution_match"]) == (0, 6, 0.5)


@pytest.mark.heavy
@pytest.mark.process
@pytest.mark.parametrize("stop", [signal.SIGKILL, signal.SIGINT], ids=["kill", "Ctrl-C"])
def test_a_run_that_was_stopped_goes_on_where_it_was(
    evaluated: Any, server: FakeOpenAI, files: tuple[str, ...], tmp_path: Path, stop: signal.Signals
) -> None:
    reached, let_go = threading.Event(), threading.Event()

    def hanging_at_the_third(request: dict[str, Any]) -> Any:
        if "number 2?" in json.dumps(request["messages"]):
            reached.set()
            return Reply("", hang=let_go)
        return playing(request)

    server.default = hanging_at_the_third
    command = [sys.executable, "-c", "from datasphinx.agent.cli import main; main()", "eval", "run", *files]
    where = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[3])}
    # What is started in the background of a shell does not hear Ctrl-C, nor does what it starts.
    killed = subprocess.Popen(
        [*command, "--out", str(tmp_path / "out")],
        env=where,
        stdout=subprocess.DEVNULL,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    try:
        assert reached.wait(120)
        killed.send_signal(stop)
        killed.wait(60)
    finally:
        killed.kill()
        killed.wait()
        let_go.set()
    assert [log["id"] for log in logs_in(tmp_path / "out")] == ["q0", "q1"]

    server.default = playing
    server.requests.clear()
    code, report, _ = evaluated()
    assert (code, report["n"], report["execution_match"]) == (0, 6, 0.5)
    assert asked(server) == ["q2", "q3", "q4", "q5"]


@pytest.mark.heavy
def test_a_run_with_other_settings_does_not_go_on(evaluated: Any, server: FakeOpenAI) -> None:
    evaluated("--limit", "2")
    server.requests.clear()
    code, report, err = evaluated("--limit", "2", "--match", "published")

    assert (code, report, server.requests) == (errors.USAGE, {}, [])
    assert 'started with match "project", but this run has match "published"' in " ".join(err.split())


@pytest.mark.heavy
def test_a_finished_run_is_reported_again_without_a_call(evaluated: Any, server: FakeOpenAI) -> None:
    _, first, _ = evaluated()
    server.requests.clear()
    _, second, _ = evaluated()

    assert (second, server.requests) == (first, [])


@pytest.mark.heavy
def test_questions_are_drawn_by_a_seed(evaluated: Any, server: FakeOpenAI) -> None:
    evaluated("--limit", "3", "--seed", "7", out="a")
    drawn = asked(server)
    server.requests.clear()
    evaluated("--limit", "3", "--seed", "7", out="b")

    assert asked(server) == drawn == sorted(drawn) != ["q0", "q1", "q2"]


def test_a_question_is_never_shown_with_its_own_reference(
    evaluated: Any, server: FakeOpenAI, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DATASPHINX_DATA_DIR", str(tmp_path / "data"))
    question = "How many  books are there, NUMBER 0?"
    ExampleStore(tmp_path / "data").add([Example(question, "SELECT 1", "x"), Example("All?", "select title", "x")])
    code, report, err = evaluated("--shots", "3")

    assert (code, report["n"], "q0" in asked(server)) == (0, 5, False)
    assert "questions left out, because they are examples: 1" in err
    assert "warning: fewer than 3 examples for library; those of other databases are used" in err


def test_examples_of_other_databases_are_shown_where_a_database_has_too_few(
    evaluated: Any, server: FakeOpenAI, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pytest.importorskip("wordllama", reason="the extra `semantic` is not installed")
    monkeypatch.setenv("DATASPHINX_DATA_DIR", str(tmp_path / "data"))
    own = f"sqlite:///{tmp_path}/library.sqlite"
    examples = [
        ("Which titles are there?", "SELECT title FROM books", own),
        ("Who sings?", "SELECT name FROM singer", "x"),
    ]
    store = ExampleStore(tmp_path / "data")
    for shots, expected in (("1", ["Which titles are there?"]), ("3", ["Who sings?", "Which titles are there?"])):
        store.add([Example(*each) for each in examples])
        evaluated("--limit", "1", "--shots", shots, out=shots)
        prompt = server.requests[-1]["messages"][-1]["content"]
        lines = [json.loads(line)["question"] for line in prompt.splitlines() if line.startswith('{"question"')]
        assert lines == expected
    assert prompt.index("Questions about other databases") < prompt.index("Earlier questions about this database")


@pytest.mark.heavy
@pytest.mark.process
@pytest.mark.parametrize("out", [(), ("--out", "run")])
def test_nothing_is_written_between_the_lines_of_a_json_log(
    files: tuple[str, ...], environment: None, tmp_path: Path, out: tuple[str, ...]
) -> None:
    given = {**os.environ, "DATASPHINX_LOG_JSON": "true", "DATASPHINX_DATA_DIR": str(tmp_path / "data")}
    command = [sys.executable, "-m", "datasphinx", "eval", "run", *files, "--shots", "3", *out]
    run = subprocess.run(command, env=given, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (run.returncode, json.loads(run.stdout)["n"]) == (0, 6), run.stderr
    logged = [json.loads(line)["event"] for line in run.stderr.splitlines()]
    assert "[EVAL] warning: fewer than 3 examples for library; those of other databases are used" in logged


@pytest.mark.heavy
def test_runs_are_compared(evaluated: Any, run: commands.Run, tmp_path: Path) -> None:
    evaluated(out="a")
    evaluated("--match", "published", out="b")
    picture = tmp_path / "both.png"
    code, out, err = run("eval", "compare", str(tmp_path / "a"), str(tmp_path / "b"), "--plot", str(picture))

    assert code == 0
    assert [each["match_rule"] for each in json.loads(out)] == ["project", "published"]
    assert [f"| baseline ({tmp_path / name}) | 6 |" in err for name in "ab"] == [True, True]
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--method", "clarify"), ("--method", "--out")),
        (("--rounds", "2"), ("--rounds", "--out")),
        (("--parallel", "2"), ("--parallel", "--out")),
        (("--rounds", "5", "--out", "x"), ("--rounds",)),
        (("--rounds", "2", "--out", "x"), ("--rounds", "baseline")),
        (("--method", "luck", "--out", "x"), ("--method",)),
        (("--oracle", "rule", "--out", "x"), ("--oracle", "asks nothing")),
        (("--shots", "2", "--out", "x"), ("SHOTS",)),
        (("--seed", "1"), ("--seed", "--limit")),
    ],
)
def test_options_that_do_not_go_together_are_a_usage_error(
    run: commands.Run, files: tuple[str, ...], environment: None, server: FakeOpenAI, arguments: Any, words: Any
) -> None:
    code, out, err = run("eval", "run", *files, *arguments)

    assert (code, out, server.requests) == (errors.USAGE, "", [])
    assert all(word in err for word in words)


@pytest.mark.parametrize(
    "arguments", [("--parallel", "2"), ("--method", "clarify", "--oracle", "model"), ("--shots", "3")]
)
def test_what_the_embedded_model_cannot_do_is_a_usage_error(
    run: commands.Run, files: tuple[str, ...], tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    code, out, err = run("eval", "run", *files, "--out", str(tmp_path / "out"), *arguments)

    assert (code, out) == (errors.USAGE, "")
    assert "embedded model" in " ".join(err.split())
    assert not (tmp_path / "out").exists()


# Clarification


BEST = ("SELECT title FROM books ORDER BY book_id LIMIT 1", "SELECT title FROM books ORDER BY title DESC LIMIT 1")


def reviewing(request: dict[str, Any]) -> Any:
    """An endpoint that sees two readings in whatever is best, and as the oracle means the second."""
    schema = request["response_format"]["json_schema"]["name"]
    prompt = str(request["messages"])
    if schema == "AmbiguityReview" or "alternatives" in prompt and "best book" in prompt:
        readings = [{"label": label, "reading": label, "sql": sql} for label, sql in zip("ab", BEST, strict=True)]
        return review_of({"sql": "", "question": "Best by what?", "alternatives": readings})
    if schema == "OracleAnswer":
        return {"option": 2, "words": ""}
    return {"sql": COUNT} if schema == "GeneratedSQL" else VALID


def test_a_question_is_cleared_up_by_the_oracle(
    run: commands.Run, server: FakeOpenAI, environment: None, files: tuple[str, ...], tmp_path: Path
) -> None:
    server.default = reviewing
    line = {"id": "best", "db_id": "library", "question": "Which is the best book?", "sql": BEST[1]}
    (tmp_path / "q.jsonl").write_text(json.dumps(line), encoding="utf-8")
    code, out, _ = run("eval", "run", *files, "--method", "clarify", "--rounds", "2", "--out", str(tmp_path / "out"))
    (log,) = logs_in(tmp_path / "out")

    assert (code, json.loads(out)["accuracy_by_round"]) == (0, [0.0, 1.0, 1.0])
    assert [entry[2] for entry in log["cq_log"]] == ["Best by what?\n1) a\n2) b"]
    assert (log["feedback_log"][0][2], log["num_cq_asked"], log["oracle"]["calls"]) == ("2", 1, 1)
    assert BEST[1] in log["feedback_log"][0][1]
    assert json.loads(out)["efficiency"] == 1.0


@pytest.mark.heavy
def test_the_oracle_may_be_another_model_at_another_endpoint(
    run: commands.Run,
    server: FakeOpenAI,
    environment: None,
    files: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server.default = reviewing
    line = {"id": "best", "db_id": "library", "question": "Which is the best book?", "sql": BEST[1]}
    (tmp_path / "q.jsonl").write_text(json.dumps(line), encoding="utf-8")
    clarified = ("eval", "run", *files, "--method", "clarify", "--rounds", "2", "--out", str(tmp_path / "out"))
    with FakeOpenAI(default=reviewing) as other:
        oracle = {"oracle": {"model": "wise", "base_url": other.base_url}}
        monkeypatch.setenv("DATASPHINX_LLM_MODELS", json.dumps(oracle))
        code, out, _ = run(*clarified)
        assert (code, json.loads(out)["accuracy_by_round"]) == (0, [0.0, 1.0, 1.0])
        assert [(request["model"], schema) for request, schema in zip(other.requests, other.schemas, strict=True)] == [
            ("wise", "OracleAnswer")
        ]
        assert "OracleAnswer" not in server.schemas
        monkeypatch.delenv("DATASPHINX_LLM_MODELS")
        code, _, err = run(*clarified)
        assert (code, "wise" in err) == (errors.USAGE, True), "an experiment with another oracle is another experiment"
