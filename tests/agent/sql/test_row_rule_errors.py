"""With row rules, the text of database errors appears only in the operator's log, if enabled by a setting."""

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from datasphinx.agent.engines import engine_of
from datasphinx.agent.errors import (
    DatasphinxError,
    PermissionDenied,
    SourceUnreachable,
    StatementFailed,
    StatementTimeout,
)
from datasphinx.agent.sources.source import Source
from datasphinx.agent.sql.failures import without_database_text
from datasphinx.agent.types import Limits
from tests.support.databases import make_table, open_url, url
from tests.support.servers import FOUR_ENGINES, SERVERS, prepared
from tests.support.steps import recorded

NOTE = "swordfish"
"""What the one row holds and errors quote."""

FAILS = {
    "sqlite": "SELECT JSON_EXTRACT('{}', note) FROM re_notes",
    "duckdb": "SELECT CAST(note AS INT) FROM re_notes",
    "postgres": "SELECT CAST(note AS INT) FROM re_notes",
    "mysql": "SELECT ST_ASTEXT(ST_GEOMFROMTEXT(note)) + EXP(IF(note = 'swordfish', 1000, 1)) FROM re_notes",
}


@contextmanager
def opened(name: str, folder: Path, **settings: Any) -> Iterator[Source]:
    """A source on a table with one row."""
    url = SERVERS.get(name) or f"{name}:///{folder}/notes.{name}"
    create = ("CREATE TABLE re_notes (id INT, note VARCHAR(40))", f"INSERT INTO re_notes VALUES (1, '{NOTE}')")
    with prepared(url, create, ["DROP TABLE IF EXISTS re_notes"] if name in SERVERS else []) as made:
        made.dispose()
        source = open_url(url, Limits(20, 100), **settings)
        yield source
        source.close()


def failure_of(source: Source, sql: str) -> DatasphinxError:
    with pytest.raises(DatasphinxError) as caught:
        source.execute(sql)
    return caught.value


@pytest.mark.parametrize("name", FOUR_ENGINES)
def test_the_text_of_the_database_stays_with_it(name: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with opened(name, tmp_path, row_rules={"re_notes": "id = 1"}) as source, recorded() as (step, events):
        error = failure_of(source, FAILS[name])
    seen = [
        str(error),
        error.message("ru"),
        error.message("zh"),
        repr(error.details()),
        repr(vars(error)),
        repr(events),
    ]
    seen += [str(step.statements), caplog.text, "".join(traceback.format_exception(error))]

    assert isinstance(error, StatementFailed)
    assert error.__cause__ is None and error.__context__ is None
    assert not [text for text in seen if NOTE in text.replace(FAILS[name], "").replace(f"'{NOTE}'", "")]


@pytest.mark.parametrize("name", FOUR_ENGINES[:2])
def test_without_rules_it_is_as_the_database_says(name: str, tmp_path: Path) -> None:
    with opened(name, tmp_path) as source:
        assert NOTE in str(failure_of(source, FAILS[name]))


CLASSES = {
    "duckdb": [
        ("SELECT id FROM re_notes\nWHERE CAST(note AS INT) > 0", "a value could not be converted"),
        ("SELECT id FROM re_notes WHERE id = (SELECT 1 UNION ALL SELECT 2)", "a subquery returned more than one row"),
        ("SELECT REGEXP_MATCHES(note, '(' || note) FROM re_notes", "a function received an invalid argument"),
    ],
    "postgres": [
        ("SELECT CAST(note AS INT) FROM re_notes", "a value could not be converted"),
        ("SELECT  1 / (id - 1)\nFROM re_notes", "a number was divided by zero"),
        ("SELECT EXP(id * 10000) FROM re_notes", "a number is out of range"),
        ("SELECT note ~ ('(' || note) FROM re_notes", "a regular expression is invalid"),
        ("SELECT CAST(note AS DATE) FROM re_notes", "a date or time is invalid"),
        ("SELECT CAST(note AS JSONB) FROM re_notes", "a value could not be converted"),
        ("SELECT id FROM re_notes WHERE id = (SELECT 1 UNION ALL SELECT 2)", "a subquery returned more than one row"),
        (
            "SELECT id,\n  REVERSE(id) FROM re_notes WHERE note = '%(x)s' AND id = id",
            "a function or operator does not accept the types of its arguments",
        ),
        ("SELECT LN(id - 1) FROM re_notes", "a function received an invalid argument"),
    ],
    "mysql": [
        ("SELECT EXP(id * 10000) FROM re_notes", "a number is out of range"),
        ("SELECT id FROM re_notes WHERE id = (SELECT 1 UNION ALL SELECT 2)", "a subquery returned more than one row"),
    ],
}


@pytest.mark.parametrize("name", FOUR_ENGINES[1:])
def test_the_cause_is_told(name: str, tmp_path: Path) -> None:
    with opened(name, tmp_path, row_rules={"re_notes": "id = 1 OR note IS NULL"}) as source:
        told = [(sql, getattr(failure_of(source, sql), "reason", None)) for sql, _ in CLASSES[name]]

    assert told == CLASSES[name]


def test_other_errors_of_a_database_lose_its_text_too() -> None:
    raised = ValueError(f"permission denied for {NOTE}")
    errors = (PermissionDenied("shop", str(raised)), SourceUnreachable("shop", str(raised)), StatementTimeout(1.0))
    for error in errors:
        error.__cause__ = error.__context__ = raised
        hidden = without_database_text(error, engine_of("sqlite"))
        assert type(hidden) is type(error)
        assert NOTE not in "".join(traceback.format_exception(hidden))
        assert hidden.__cause__ is None and hidden.__context__ is None


def test_the_model_is_told_the_class_and_not_the_value(scripted: Any, tmp_path: Path) -> None:
    path = make_table(tmp_path, "id INTEGER, note TEXT", [(1, NOTE)], table="notes")
    fails = {"sql": "SELECT JSON_EXTRACT('{}', note) AS found FROM notes WHERE id = 1"}
    agent = scripted(
        {"GeneratedSQL": [fails, {"sql": "SELECT COUNT(*) AS found FROM notes"}]},
        sources={"s": {"url": url(path), "row_rules": {"notes": "id = 1"}, "secret_columns": ["notes.note"]}},
    )
    output = agent.ask("How many notes are there?")
    prompts = str([call.prompt for call in agent.model.calls])

    assert output["value"] == 1
    assert "it could not be evaluated" in prompts
    assert NOTE not in prompts and NOTE not in str(output)
