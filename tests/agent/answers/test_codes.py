"""Codes in a result are explained by the comments on their columns."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from datasphinx.agent.answers.codes import explained_codes
from datasphinx.agent.schema.catalog import Catalog
from datasphinx.agent.sources.source import Source
from tests.conftest import MakeAgent
from tests.support.databases import make_database, open_url, url

COMMENTS = {
    "state": "D = down, U = up and running, X = unknown",
    "kind": "1: pump, 2: valve",
    "note": "anything else",
    "age": "0 - 17, 18 - 64, 65 - 120",
    "opens": "such as 10:30, 11:45",
    "level": "None = not known, D = low.",
}
COLUMNS = "id INTEGER, state TEXT, kind INTEGER, note TEXT, age INTEGER, opens INTEGER, level TEXT"
ROWS = """INSERT INTO units VALUES
  (1, 'D', 1, 'D', 18, 10, NULL), (2, 'U', 2, 'U', 18, 10, 'D'), (3, 'D', 2, NULL, 18, 10, 'D')"""
STATES = "state: D = down, U = up and running."


@pytest.fixture
def source(tmp_path: Path) -> Source:
    return open_url(url(make_database(tmp_path, f"CREATE TABLE units ({COLUMNS})", ROWS)))


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
        ("SELECT * FROM units", f"{STATES} kind: 1 = pump, 2 = valve. level: D = low."),
        ("SELECT *, UPPER(note) AS state FROM units", f"{STATES} kind: 1 = pump, 2 = valve. level: D = low."),
        ("SELECT age, opens FROM units", ""),
        ("SELECT level FROM units", "level: D = low."),
        ("SELECT note, UPPER(state) AS state FROM units", ""),
        ("SELECT COUNT(*) AS n FROM units WHERE state = 'D'", ""),
        ("SELECT state FROM units WHERE id > 9", ""),
        ("SELECT state FROM units UNION SELECT note FROM units", ""),
    ],
)
def test_codes_of_columns_are_explained(source: Source, catalog: Catalog, sql: str, text: str) -> None:
    assert explained_codes(sql, source.execute(sql), catalog, "en") == text


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT state, kind FROM units",
        "SELECT s, kind FROM (SELECT state AS s, kind FROM units)",
        "WITH w AS (SELECT state AS s, kind FROM units) SELECT s, kind FROM w",
    ],
)
def test_codes_of_secret_columns_are_not_explained(source: Source, catalog: Catalog, sql: str) -> None:
    units = catalog.tables["units"]
    columns = tuple(column._replace(secret=column.name == "state") for column in units.columns)
    secret = Catalog("sqlite", {"units": replace(units, columns=columns)})
    assert explained_codes(sql, source.execute(sql), secret, "en") == "kind: 1 = pump, 2 = valve."


def test_many_codes_are_cut_and_sentences_follow_the_language(source: Source, catalog: Catalog) -> None:
    units = catalog.tables["units"]
    listed = ", ".join(f"{code}: kind {code}" for code in range(30))
    columns = tuple(
        column._replace(comment=listed if column.name == "id" else column.comment) for column in units.columns
    )
    many = Catalog("sqlite", {"units": replace(units, columns=columns)})
    rows: Any = {"columns": ["id", "kind"], "types": ["integer"] * 2, "rows": [[n, 1] for n in range(30)]}

    assert "11 = kind 11 and 18 more. kind: 1" in explained_codes("SELECT id, kind FROM units", rows, many, "en")
    assert "。kind：1 = pump。" in explained_codes("SELECT id, kind FROM units", rows, many, "zh")


def test_the_answer_explains_the_codes_in_its_language(scripted: MakeAgent) -> None:
    sql = "SELECT channel, COUNT(*) AS orders FROM orders GROUP BY channel"
    agent = scripted({"GeneratedSQL": [{"sql": sql}] * 2})

    assert "\n\nchannel: W = web, S = store, P = phone." in agent.ask("How many orders has each channel?")["answer"]
    assert "\n\nchannel：W = web、S = store、P = phone。" in agent.ask("每个渠道有多少订单？")["answer"]
