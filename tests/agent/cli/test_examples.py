"""`datasphinx examples` as users run it: what is kept, what is refused, and exit codes that scripts can use."""

import json
import stat
from pathlib import Path
from typing import Any

import pytest

from datasphinx.agent.errors import ANSWERED, DOMAIN, UNREACHABLE, USAGE
from tests.support.commands import Run
from tests.support.databases import make_database, url

TOTAL = ("What is the total amount of things?", "SELECT SUM(amount) FROM things")
COUNT = ("How many things are there?", "SELECT COUNT(*) FROM things")


@pytest.fixture(autouse=True)
def things(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A database that is asked where none is named, by a model that is shown examples."""
    path = make_database(tmp_path, "CREATE TABLE things (thing TEXT, amount INTEGER, api_key TEXT)")
    monkeypatch.setenv("DATASPHINX_SOURCE", url(path))
    monkeypatch.setenv("DATASPHINX_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("DATASPHINX_LLM_BASE_URL", "http://127.0.0.1:9/v1")
    return path


@pytest.fixture
def animals(tmp_path: Path) -> str:
    """The URL of another database."""
    return url(make_database(tmp_path, "CREATE TABLE animals (name TEXT)", name="animals.sqlite"))


def kept(run: Run, *options: str) -> list[dict[str, Any]]:
    code, out, err = run("examples", "list", "--json", *options)
    assert (code, err) == (ANSWERED, "")
    return list(json.loads(out)["examples"])


def pairs(run: Run, *options: str) -> list[tuple[str, str]]:
    return [(each["question"], each["sql"]) for each in kept(run, *options)]


def lines(path: Path, *examples: Any) -> str:
    path.write_text("\n".join(each if isinstance(each, str) else json.dumps(each) for each in examples) + "\n")
    return str(path)


def test_an_example_is_added_listed_and_removed(run: Run, things: Path, tmp_path: Path) -> None:
    code, out, err = run("examples", "add", *TOTAL)
    assert (code, err) == (ANSWERED, "")
    example_id = out.split()[0]
    (listed,) = run("examples", "list")[1].splitlines()
    assert listed.split("  ") == [example_id, url(things), *TOTAL]
    assert stat.S_IMODE((tmp_path / "data" / "examples.sqlite").stat().st_mode) == 0o600
    assert run("examples", "remove", example_id)[:2] == (ANSWERED, "1 removed\n")
    assert kept(run) == []


@pytest.mark.parametrize(
    ("question", "says"),
    [
        (TOTAL[0], "The embedded model is shown no examples"),
        ("Какова сумма amount?", "Встроенная модель не видит примеров"),
        ("amount 的总和是多少？", "内置模型不会看到示例"),
    ],
)
def test_with_the_embedded_model_it_is_said_that_examples_wait_for_another(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, question: str, says: str
) -> None:
    monkeypatch.delenv("DATASPHINX_LLM_BASE_URL")
    code, out, err = run("examples", "add", question, TOTAL[1], "--json")
    assert (code, list(json.loads(out))) == (ANSWERED, ["id", "source"])
    assert says in err and "DATASPHINX_LLM_BASE_URL" in err
    file = lines(tmp_path / "examples.jsonl", {"question": question, "sql": TOTAL[1]})
    assert says in run("examples", "import", file)[2]
    assert pairs(run) == [(question, TOTAL[1])]


def test_the_same_question_twice_replaces(run: Run) -> None:
    first = json.loads(run("examples", "add", *TOTAL, "--json")[1])
    again = json.loads(run("examples", "add", "what is the  TOTAL amount of things?", COUNT[1], "--json")[1])
    assert first == again
    assert pairs(run) == [("what is the TOTAL amount of things?", COUNT[1])]


def test_every_source_has_its_own(run: Run, animals: str, monkeypatch: pytest.MonkeyPatch) -> None:
    run("examples", "add", *TOTAL)
    assert run("examples", "add", TOTAL[0], "SELECT COUNT(*) FROM animals", "--source", animals)[0] == ANSWERED
    assert len(kept(run)) == 2
    assert pairs(run, "--source", animals) == [(TOTAL[0], "SELECT COUNT(*) FROM animals")]
    # A database has its examples under any name.
    monkeypatch.setenv("DATASPHINX_SOURCES", json.dumps({"zoo": animals}))
    assert pairs(run, "--source", "zoo") == pairs(run, "--source", animals)


def test_among_several_sources_an_example_goes_where_its_question_goes(
    run: Run, animals: str, things: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DATASPHINX_SOURCE")
    monkeypatch.setenv("DATASPHINX_SOURCES", json.dumps({"shop": url(things), "zoo": animals}))
    assert run("examples", "add", "How many animals are there?", "SELECT COUNT(*) FROM animals")[0] == ANSWERED
    assert len(kept(run, "--source", "zoo")) == 1


@pytest.mark.parametrize(
    ("sql", "says"),
    [
        ("SELEC amount FROM things", "cannot be parsed"),
        ("DELETE FROM things", "DELETE"),
        ("SELECT 1; SELECT 2", "statement"),
        ("SELECT name FROM sqlite_master", "sqlite_master"),
        ("SELECT * FROM gone", "the table gone is not in the catalog"),
        ("SELECT amunt FROM things", "nearest: things.amount"),
    ],
)
def test_a_statement_that_could_not_run_is_refused(run: Run, sql: str, says: str) -> None:
    code, out, err = run("examples", "add", TOTAL[0], sql)
    assert (code, out) == (DOMAIN, "")
    assert says in err
    assert kept(run) == []


@pytest.mark.parametrize(
    ("question", "sql", "says"),
    [
        ("?!", COUNT[1], "it has no words"),
        (" ", COUNT[1], "it is empty"),
        ("Why? " * 1000, COUNT[1], "the limit is 4000"),
        ("Which?", f"SELECT thing FROM things WHERE thing IN ('{'x' * 4000}')", "the limit is 4000"),
        ("Which?", "SELECT thing FROM things WHERE thing = '\ud800'", "unpaired surrogate"),
    ],
)
def test_what_is_no_example_is_a_usage_error(run: Run, question: str, sql: str, says: str) -> None:
    code, out, err = run("examples", "add", question, sql)
    assert (code, out) == (USAGE, "")
    assert says in err


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT thing FROM things WHERE api_key = 'k-1'",
        "SELECT thing FROM things t WHERE amount > 1 AND T.API_KEY IN ('k-1', 'k-2')",
        "SELECT thing FROM things WHERE instr(api_key, 'k-1')",
        'SELECT thing FROM things WHERE api_key = "k-1"',
        "SELECT thing FROM things WHERE api_key BETWEEN 1 AND 2",
        "SELECT api_key = 'k-1' AS same FROM things",
        "SELECT CASE api_key WHEN 'k-1' THEN thing END FROM things",
        "WITH known AS (SELECT thing, lower(api_key) AS k FROM things) SELECT thing FROM known WHERE k LIKE 'k-%'",
    ],
)
def test_no_value_of_a_secret_column_is_kept(run: Run, sql: str) -> None:
    code, _, err = run("examples", "add", "Whose key is k-1?", sql)
    assert code == USAGE
    assert "secret column" in err
    assert kept(run) == []


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(DISTINCT api_key) FROM things WHERE thing = 'bolt' AND api_key IS NOT NULL LIMIT 3",
        "SELECT ROUND(AVG(LENGTH(api_key)), 2) FROM things WHERE amount > 3",
    ],
)
def test_a_secret_column_may_be_read_without_its_values(run: Run, sql: str) -> None:
    assert run("examples", "add", TOTAL[0], sql)[0] == ANSWERED


def test_removing_is_of_all_or_none(run: Run) -> None:
    example_id = run("examples", "add", *TOTAL)[1].split()[0]
    code, out, err = run("examples", "remove", example_id, "ex_0000000000000000")
    assert (code, out) == (USAGE, "")
    assert "ex_0000000000000000" in err and "datasphinx examples list" in err
    assert len(kept(run)) == 1


def test_a_file_is_imported_for_its_sources(run: Run, animals: str, tmp_path: Path) -> None:
    cleared = [{"question": "Which things?", "answer": "All of them"}]
    file = lines(
        tmp_path / "examples.jsonl",
        {"question": TOTAL[0], "sql": TOTAL[1], "clarifications": cleared, "author": "passed over"},
        "",
        {"question": "How many animals?", "sql": "SELECT COUNT(*) FROM animals", "source": animals},
        {"question": COUNT[0], "sql": TOTAL[1]},
        {"question": COUNT[0], "sql": COUNT[1]},
    )
    assert run("examples", "import", file) == (ANSWERED, "3 kept\n", "")
    assert pairs(run, "--source", animals) == [("How many animals?", "SELECT COUNT(*) FROM animals")]
    found = {each["question"]: each for each in kept(run)}
    assert (found[COUNT[0]]["sql"], found[TOTAL[0]]["clarifications"]) == (COUNT[1], cleared)


def test_a_file_with_a_statement_that_cannot_run_leaves_nothing(run: Run, tmp_path: Path) -> None:
    good = {"question": TOTAL[0], "sql": TOTAL[1]}
    bad = [{"question": f"Which {number}?", "sql": f"SELECT c{number} FROM things"} for number in range(12)]
    file = lines(tmp_path / "examples.jsonl", good, *bad)
    code, out, err = run("examples", "import", file)
    assert (code, out) == (DOMAIN, "")
    assert "line 2: " in err and "c0" in err and "line 11: " in err and "and 2 more" in err
    assert kept(run) == []


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("{", "it is not JSON"),
        ("[1]", "line 2"),
        ({"question": "Which?"}, "sql: Field required"),
        ({"question": 3, "sql": COUNT[1]}, "question: "),
        ({"question": "Which?", "sql": COUNT[1], "clarifications": [{"question": "Which?"}]}, "answer"),
        ({"question": "Which?", "sql": COUNT[1], "source": "nowhere"}, "nowhere"),
    ],
)
def test_a_file_that_cannot_be_read_says_where(run: Run, tmp_path: Path, line: Any, says: str) -> None:
    file = lines(tmp_path / "examples.jsonl", {"question": TOTAL[0], "sql": TOTAL[1]}, line)
    code, out, err = run("examples", "import", file)
    assert (code, out) == (USAGE, "")
    assert says in err
    assert kept(run) == []


def test_no_file_and_no_text(run: Run, tmp_path: Path) -> None:
    assert run("examples", "import", str(tmp_path / "none.jsonl"))[0] == USAGE
    (tmp_path / "binary.jsonl").write_bytes(b"\xff\xfe\x00")
    code, _, err = run("examples", "import", str(tmp_path / "binary.jsonl"))
    assert (code, "UTF-8" in err) == (USAGE, True)


def test_an_unknown_source_is_a_usage_error(run: Run) -> None:
    for arguments in (["add", *TOTAL, "--source", "nowhere"], ["list", "--source", "nowhere"]):
        code, out, err = run("examples", *arguments)
        assert (code, out) == (USAGE, "")
        assert "nowhere" in err


def test_a_file_of_examples_that_is_none(run: Run, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "examples.sqlite").write_bytes(b"no database " * 100)
    for arguments in (["list"], ["add", *TOTAL], ["remove", "ex_1"]):
        code, out, err = run("examples", *arguments)
        assert (code, out) == (UNREACHABLE, "")
        assert "examples.sqlite" in err and "DATASPHINX_SHOTS=0" in err


def test_a_question_cannot_move_the_cursor_of_the_terminal(run: Run) -> None:
    run("examples", "add", "total \x1b[2J amount", "SELECT 'a\x1b[2J' FROM things")
    code, out, _ = run("examples", "list")
    assert code == ANSWERED
    assert len(out.splitlines()) == 1 and "\x1b" not in out
