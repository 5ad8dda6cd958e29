"""A literal of which a column has other spellings, or that it does not have, is told, however many values it has."""

from collections.abc import Iterator

import pytest

from datasphinx.agent.retrieval.value_index import ValueIndex
from datasphinx.agent.sources.source import Source
from tests.agent.sql.engines import SERVERS, EngineUnderTest, over
from tests.support.databases import open_url

ENGINES = ["sqlite", "duckdb", "postgres", "mysql"]


@pytest.fixture
def sales(engine: EngineUnderTest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Source]:
    """A source with three spellings of a city, whose values are not indexed completely."""
    if engine.name in SERVERS:
        engine.admin("DROP TABLE IF EXISTS sphinx_sales")
    engine.admin("CREATE TABLE sphinx_sales (id INTEGER PRIMARY KEY, city VARCHAR(20))")
    engine.admin("INSERT INTO sphinx_sales VALUES (1, 'Paris'), (2, 'PARIS '), (3, 'Zürich'), (4, 'Pérez'), (5, '50%')")
    monkeypatch.setattr(ValueIndex, "is_complete", lambda *_: False)
    monkeypatch.setattr(ValueIndex, "contains", lambda *_: None)
    opened = open_url(engine.url)
    yield opened
    opened.database.engine.dispose()
    if engine.name in SERVERS:
        engine.admin("DROP TABLE sphinx_sales")


def told(source: Source, city: str) -> str:
    return "; ".join(source.warnings_about(f"SELECT COUNT(*) FROM sphinx_sales WHERE city = '{city}'"))


@pytest.mark.heavy
@over(ENGINES)
def test_spellings_and_missing_texts_are_found_beyond_the_index(sales: Source) -> None:
    # MariaDB's default collation ignores case, blanks at the end and accents.
    ignores = sales.catalog.dialect == "mysql"
    assert ("'PARIS '" in told(sales, "Paris")) is not ignores
    assert ("'Zürich'" in told(sales, "zurich")) is not ignores
    assert ("'Pérez'" in told(sales, "Perez")) is not ignores
    assert told(sales, "50%") == ""
    assert "no row of sphinx_sales has 'Atlantis' in city" in told(sales, "Atlantis")
    assert "no row" not in told(sales, "Paris")
