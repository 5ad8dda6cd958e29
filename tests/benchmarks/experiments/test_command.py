"""`python -m benchmarks.experiments`, against a server that plays the model."""

import json
import math
import pickle
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from benchmarks.experiments.__main__ import main
from datasphinx.agent.errors import DatasetInvalid
from tests.support.best_customer import review_of
from tests.support.fake_openai import FakeOpenAI, Reply

pytestmark = pytest.mark.heavy

COUNT = "SELECT COUNT(*) FROM books"
TOKENS = [('{"sql": "', -5.0), (COUNT, -0.7), ('", "assumptions": [], "off_topic": false}', -5.0)]
VALID = {"is_valid": True, "reason": "", "issues": [], "corrected_sql": None}
BEST = ("SELECT title FROM books ORDER BY book_id LIMIT 1", "SELECT title FROM books ORDER BY title DESC LIMIT 1")


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


@pytest.fixture
def server(cache_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeOpenAI]:
    with FakeOpenAI(default=playing) as fake:
        monkeypatch.setenv("DATASPHINX_CACHE_DIR", str(cache_dir))
        monkeypatch.setenv("DATASPHINX_LLM_BASE_URL", fake.base_url)
        monkeypatch.setenv("DATASPHINX_LLM_MODEL", "fake")
        yield fake


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Six questions about two books, of which counting answers the even ones."""
    (tmp_path / "databases").mkdir()
    with closing(sqlite3.connect(tmp_path / "databases" / "library.sqlite")) as connection:
        connection.executescript(
            "CREATE TABLE books (book_id INTEGER PRIMARY KEY, title TEXT); "
            "INSERT INTO books VALUES (1, 'Emma'), (2, 'Ulysses')"
        )
    lines = [
        {"id": f"q{number}", "db_id": "library", "question": f"How many books are there, number {number}?"}
        | {"sql": COUNT if number % 2 == 0 else "SELECT title FROM books"}
        for number in range(6)
    ]
    (tmp_path / "questions.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return tmp_path


@pytest.fixture
def ran(data: Path, server: FakeOpenAI, capsys: pytest.CaptureFixture[str]) -> Callable[..., dict[str, Any]]:
    """Runs an experiment on the questions into a folder; the report."""

    def call(*arguments: str, out: str = "out") -> dict[str, Any]:
        main(["run", "--data", str(data), "--out", str(data / out), *arguments])
        report: dict[str, Any] = json.loads(capsys.readouterr().out.splitlines()[-1])
        return report

    return call


def logs_in(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "questions.jsonl").read_text(encoding="utf-8").splitlines()]


def test_an_experiment_leaves_logs_and_report(ran: Any, server: FakeOpenAI, data: Path) -> None:
    report = ran("--parallel", "3")
    first = next(log for log in logs_in(data / "out") if log["id"] == "q0")
    order, prompt, output, perplexity = first["sql_log"][0]

    assert (report["n"], report["execution_match"], report["accuracy_by_round"]) == (6, 0.5, [0.5])
    assert (report["match_rule"], first["num_cq_asked"], order, output) == ("published", 0, 0, COUNT)
    assert "How many books are there, number 0?" in prompt
    # The statement's own tokens count: exp(0.7), and not those of the JSON about it.
    assert perplexity == pytest.approx(math.exp(0.7), abs=1e-6)
    assert all(request["logprobs"] is True for request in server.requests)
    assert len(pickle.loads((data / "out/logs.pkl").read_bytes())) == 6


@pytest.mark.heavy
def test_an_experiment_goes_on_where_it_was_with_the_same_settings_only(
    ran: Any, server: FakeOpenAI, data: Path
) -> None:
    first = ran()
    lines = (data / "out" / "questions.jsonl").read_bytes().splitlines(keepends=True)
    (data / "out" / "questions.jsonl").write_bytes(b"".join(lines[:4]) + lines[4][:20])
    server.requests.clear()

    assert ran()["accuracy_by_round"] == first["accuracy_by_round"] == [0.5]
    assert {f"number {number}?" in str(server.requests) for number in (4, 5)} == {True}
    assert "number 3?" not in str(server.requests)
    with pytest.raises(DatasetInvalid, match='started with match "published", but this run has match "project"'):
        ran("--match", "project")


@pytest.mark.heavy
def test_recorded_statements_are_the_first_answers(ran: Any, server: FakeOpenAI, data: Path) -> None:
    lines = [{"id": f"q{number}", "sql": "SELECT title FROM books"} for number in range(6)]
    (data / "p.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")

    assert ran("--predictions", str(data / "p.jsonl"))["execution_match"] == 0.5
    part = ran("--predictions", str(data / "p.jsonl"), "--limit", "2", "--seed", "1", out="part")
    assert part["n"] == 2
    assert "GeneratedSQL" not in str([each["response_format"] for each in server.requests])


def test_a_question_is_cleared_up_by_the_oracle(ran: Any, server: FakeOpenAI, data: Path) -> None:
    server.default = reviewing
    line = {"id": "best", "db_id": "library", "question": "Which is the best book?", "sql": BEST[1]}
    (data / "questions.jsonl").write_text(json.dumps(line), encoding="utf-8")
    report = ran("--method", "clarify", "--rounds", "2")
    (log,) = logs_in(data / "out")

    assert (report["accuracy_by_round"], report["efficiency"]) == ([0.0, 1.0, 1.0], 1.0)
    assert [entry[2] for entry in log["cq_log"]] == ["Best by what?\n1) a\n2) b"]
    assert (log["feedback_log"][0][2], log["num_cq_asked"], log["oracle"]["calls"]) == ("2", 1, 1)
    assert BEST[1] in log["feedback_log"][0][1]


@pytest.mark.heavy
def test_the_oracle_can_be_another_model_which_gets_no_key_of_the_first(
    ran: Any, server: FakeOpenAI, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATASPHINX_LLM_API_KEY", "key-of-the-first")
    server.default = reviewing
    line = {"id": "best", "db_id": "library", "question": "Which is the best book?", "sql": BEST[1]}
    (data / "questions.jsonl").write_text(json.dumps(line), encoding="utf-8")
    with FakeOpenAI(default=reviewing) as other:
        report = ran("--method", "clarify", "--oracle-model", "wise", "--oracle-url", other.base_url)

    assert (report["settings"]["oracle"], report["accuracy_by_round"][-1]) == ("model wise", 1.0)
    assert {request["model"] for request in other.requests} == {"wise"}
    assert "key-of-the-first" not in str(other.headers)


@pytest.mark.heavy
def test_experiments_are_compared(ran: Any, data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ran(out="a")
    ran("--match", "project", out="b")
    main(["compare", str(data / "a"), str(data / "b"), "--plot", str(data / "both.png")])
    out = capsys.readouterr().out

    assert [each["match_rule"] for each in json.loads(out.splitlines()[-1])] == ["published", "project"]
    assert [f"| baseline ({data / name}) | 6 |" in out for name in "ab"] == [True, True]
    assert (data / "both.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--seed", "1"), "--seed needs --limit"),
        (("--oracle", "rule"), "asks nothing"),
        (("--rounds", "5", "--method", "clarify"), "--rounds"),
    ],
)
def test_options_that_do_not_go_together_are_refused(
    ran: Any, server: FakeOpenAI, capsys: pytest.CaptureFixture[str], arguments: Any, words: str
) -> None:
    with pytest.raises(SystemExit):
        ran(*arguments)
    assert words in capsys.readouterr().err
    assert server.requests == []
