"""Codes in a result are explained by the comments on their columns."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from agent.answers.codes import code_meanings
from agent.schema.catalog import Catalog
from agent.sources.source import Source
from tests.conftest import ScriptedAgent
from tests.databases import make_database, open_url, url

COMMENTS = {"state": "D = down, U = up and running, X = unknown", "kind": "1: pump, 2: valve", "note": "anything else"}
ROWS = "INSERT INTO units VALUES (1, 'D', 1, 'D'), (2, 'U', 2, 'U'), (3, 'D', 2, NULL)"
STATES = "state: D = down, U = up and running."


@pytest.fixture
def source(tmp_path: Path) -> Source:
    return open_url(
        url(make_database(tmp_path, "CREATE TABLE units (id INTEGER, state TEXT, kind INTEGER, note TEXT)", ROWS))
    )


@pytest.fixture
def catalog(source: Source) -> Catalog:
    """The catalog of `source` with comments."""
    units = source.catalog.tables["units"]
    columns = tuple(column._replace(comment=COMMENTS.get(column.name)) for column in units.columns)
    return Catalog("sqlite", {"units": replace(units, columns=columns)})


@pytest.mark.parametrize(
    ("sql", "text"),
    [
        ("SELECT state, COUNT(*) AS n FROM units GROUP BY state", STATES),
        ("SELECT u.state AS status FROM units AS u", "status: D = down, U = up and running."),
        ("SELECT state FROM (SELECT state FROM units WHERE id = 1)", "state: D = down."),
        ("WITH w AS (SELECT state FROM units) SELECT * FROM w", STATES),
        ("SELECT * FROM units", f"{STATES} kind: 1 = pump, 2 = valve."),
        ("SELECT note, UPPER(state) AS state FROM units", ""),
        ("SELECT COUNT(*) AS n FROM units WHERE state = 'D'", ""),
        ("SELECT state FROM units WHERE id > 9", ""),
        ("SELECT state FROM units UNION SELECT note FROM units", ""),
    ],
)
def test_codes_of_columns_are_explained(source: Source, catalog: Catalog, sql: str, text: str) -> None:
    assert code_meanings(sql, source.execute(sql), catalog, "en") == text


def test_codes_of_secret_columns_are_not_explained(source: Source, catalog: Catalog) -> None:
    units = catalog.tables["units"]
    columns = tuple(column._replace(secret=column.name == "state") for column in units.columns)
    secret = Catalog("sqlite", {"units": replace(units, columns=columns)})
    sql = "SELECT state, kind FROM units"
    assert code_meanings(sql, source.execute(sql), secret, "en") == "kind: 1 = pump, 2 = valve."


def test_the_answer_explains_the_codes_in_its_language(scripted: Callable[..., ScriptedAgent]) -> None:
    sql = "SELECT channel, COUNT(*) AS orders FROM orders GROUP BY channel"
    agent = scripted({"GeneratedSQL": [{"sql": sql}] * 2})

    assert "\n\nchannel: W = web, S = store, P = phone." in agent.ask("How many orders has each channel?")["answer"]
    assert "\n\nchannel：W = web、S = store、P = phone。" in agent.ask("每个渠道有多少订单？")["answer"]
