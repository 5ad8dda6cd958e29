"""Few tables and columns without a model, in the order of the catalog."""

from pathlib import Path

import pytest

from datasphinx.agent.llm.scripted import ScriptedModel
from datasphinx.agent.retrieval.selection import select_columns, select_tables
from datasphinx.agent.services import Services
from datasphinx.agent.settings import Settings
from datasphinx.agent.sources.source import Source
from datasphinx.agent.types import EmbeddedOptions
from tests.support.databases import make_database, open_url, students_among_machines


def selection(question: str, source: Source) -> dict[str, list[str]]:
    tables = select_tables(question, source)
    return select_columns(question, source, {key: source.catalog.tables[key].column_names for key in tables})


def measures(count: int) -> str:
    return ", ".join(f"measure_{number} REAL" for number in range(count))


@pytest.fixture
def large(tmp_path: Path) -> Source:
    """Students, allergies and the table between them, among sixty tables that have nothing to do with it."""
    return students_among_machines(tmp_path, 60)


@pytest.fixture
def wide(tmp_path: Path) -> Source:
    """A table of more columns than are shown, with a text and a named one behind them, and a table that it joins."""
    path = make_database(
        tmp_path,
        "CREATE TABLE sites (site_id INTEGER PRIMARY KEY, title TEXT)",
        f"CREATE TABLE readings (reading_id INTEGER PRIMARY KEY, {measures(40)}, wind_speed REAL, weather TEXT,"
        " site_id INTEGER REFERENCES sites)",
        "INSERT INTO readings (reading_id, weather) VALUES (1, 'foggy'), (2, 'sunny')",
    )
    return open_url(f"sqlite:///{path}")


def test_a_small_schema_is_taken_whole_whatever_is_asked(wide: Source) -> None:
    assert select_tables("the sites", wide) == select_tables("colours of birds", wide) == list(wide.catalog.tables)


def test_of_a_large_schema_the_best_tables_with_their_joins_stand_in_its_order(large: Source) -> None:
    tables = select_tables("How many students have each kind of allergy?", large)

    assert {"student", "allergy", "has"} <= set(tables)
    assert len(tables) <= 8
    assert tables == [key for key in large.catalog.tables if key in tables]


def test_a_further_attempt_reads_slips_of_the_pen(large: Source) -> None:
    assert "student" not in select_tables("the studnets", large)
    assert "student" in select_tables("the studnets", large, attempt=2)


def test_a_question_that_meets_nothing_gets_the_first_tables(large: Source) -> None:
    assert select_tables("xyzzy", large) == list(large.catalog.tables)[:6]


def test_of_a_wide_table_keys_and_what_the_question_names_are_shown(wide: Source) -> None:
    shown = selection("What was the wind speed on foggy days?", wide)

    assert list(shown) == list(wide.catalog.tables)
    assert len(shown["readings"]) == 16
    assert {"reading_id", "site_id", "wind_speed", "weather", "measure_0"} <= set(shown["readings"])
    assert shown["readings"] == [
        name for name in wide.catalog.tables["readings"].column_names if name in shown["readings"]
    ]
    assert shown["sites"] == ["site_id", "title"]


def test_the_agent_links_as_the_builder_of_training_sets_does(wide: Source, large: Source) -> None:
    services = Services(Settings(), model=ScriptedModel(), embedded=EmbeddedOptions())
    for source, question in ((wide, "wind speed on foggy days"), (large, "students with an allergy")):
        keys = services.roles.linker.link_tables(question, source, 1).keys
        tables = {key: list(source.catalog.tables[key].column_names) for key in keys}

        assert services.roles.linker.link_columns(question, source, tables) == selection(question, source)
