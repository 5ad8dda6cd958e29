"""`datasphinx eval run` with parts of the embedded model left out, against a server that plays the model."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from datasphinx.agent import errors
from datasphinx.agent.embedded import server as local
from datasphinx.agent.embedded.prefix_cache import PrefixCache
from tests.support import commands
from tests.support.databases import make_database
from tests.support.fake_openai import FakeOpenAI

Run = Callable[..., tuple[int, dict[str, Any], str]]
COUNT = "FROM books SELECT COUNT(*)"
FAILS = "FROM books SELECT bookid_of_nothing"


@pytest.fixture
def adapters(monkeypatch: pytest.MonkeyPatch, cache_dir: Path, server: FakeOpenAI) -> list[bool]:
    """Whether the adapter was asked for, at each choice of a server of the embedded model."""
    asked: list[bool] = []

    def endpoint(cache_dir: Path, tier_name: str, *, adapter: bool = True) -> local.Endpoint:
        asked.append(adapter)
        return local.Endpoint(server.base_url, "key", PrefixCache(cache_dir / "prompts", "model", None))

    monkeypatch.setattr(local, "embedded_endpoint", endpoint)
    monkeypatch.setenv("DATASPHINX_CACHE_DIR", str(cache_dir))
    return asked


@pytest.fixture
def server() -> Iterator[FakeOpenAI]:
    with FakeOpenAI(default=COUNT) as fake:
        yield fake


@pytest.fixture
def asks(run: commands.Run, tmp_path: Path) -> Run:
    """Runs the evaluation of one question about books, with more arguments; code, report and standard error."""
    books = "CREATE TABLE books (book_id INTEGER PRIMARY KEY, title TEXT)"
    make_database(tmp_path, books, "INSERT INTO books VALUES (1, 'Emma'), (2, 'Ulysses')", name="library.sqlite")
    line = {"id": "1", "db_id": "library", "question": "How many books are there?", "sql": "SELECT COUNT(*) FROM books"}
    (tmp_path / "q.jsonl").write_text(json.dumps(line), encoding="utf-8")
    files = ("--questions", f"{tmp_path}/q.jsonl", "--databases", str(tmp_path))

    def run_eval(*arguments: str) -> tuple[int, dict[str, Any], str]:
        code, out, err = run("eval", "run", *files, *arguments)
        return code, json.loads(out or "{}"), err

    return run_eval


def test_the_whole_model_is_measured_by_default(asks: Run, server: FakeOpenAI, adapters: list[bool]) -> None:
    server.answers = [FAILS, COUNT, COUNT]
    code, report, err = asks()

    assert (code, report["execution_match"], report["llm_calls"], report["asked_again"]) == (0, 1.0, 3, 0)
    assert set(adapters) == {True}
    assert all("grammar" in request for request in server.requests)
    assert report["seconds"]["p95"] >= report["seconds"]["median"] > 0
    assert report["tokens_per_second"] > 0
    assert "execution match 100.00% of 1" in err and "tokens a second" in err and "3 calls" in err


def test_candidates_of_another_model_are_a_usage_error(
    asks: Run, server: FakeOpenAI, cache_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.configure(monkeypatch, cache_dir)
    code, report, err = asks("--candidates", "2")

    assert (code, report) == (errors.USAGE, {})
    assert "--candidates" in err and "embedded model" in err
    assert server.requests == []


@pytest.mark.parametrize("arguments", [("--candidates", "0"), ("--candidates", "9")])
def test_what_makes_no_sense_is_a_usage_error(asks: Run, adapters: list[bool], arguments: tuple[str, ...]) -> None:
    code, report, err = asks(*arguments)

    assert (code, report) == (errors.USAGE, {})
    assert arguments[0] in err
    assert adapters == []


def test_a_wrong_answer_is_in_the_report(asks: Run, server: FakeOpenAI, adapters: list[bool]) -> None:
    server.default = "FROM books SELECT title"
    code, report, _ = asks("--candidates", "1")

    assert (code, report["execution_match"], report["unanswered"]) == (0, 0.0, [])
    assert [(each["id"], each["sql"]) for each in report["wrong"]] == [("1", "SELECT title FROM books")]
