"""Static checks: problems where the engine rejects a statement, warnings where it runs it."""

import gc
from dataclasses import replace
from weakref import ref

import pytest

from datasphinx.agent.errors import StatementUnsound
from datasphinx.agent.retrieval.value_index import ValueIndex
from datasphinx.agent.schema.catalog import Catalog, Column, ForeignKey, Table
from datasphinx.agent.sql.validation import find_problem, validated_sql, warnings_of
from tests.agent.sql.catalogs import catalog
from tests.fixtures import Pair, read_pairs

VALUES = ValueIndex.of({("customers", "state"): ["TX", "CA"], ("customers", "name"): ["Ann", "Bob"]})
DIALECTS = {
    "sqlite": ["sqlite"],
    "mysql": ["mysql"],
    "postgres": ["strict", "postgres"],
    "duckdb": ["strict", "duckdb"],
}
CASES = [
    (dialect, pair)
    for dialect, names in DIALECTS.items()
    for name in names
    for pair in read_pairs(f"checks/{name}.sql")
]


@pytest.mark.parametrize("dialect, pair", CASES)
def test_pairs(dialect: str, pair: Pair) -> None:
    known = catalog(dialect)
    warnings = warnings_of(pair.sql, known, lambda: VALUES)
    kind, _, words = pair.expected.partition(" ")
    if kind == "problem":
        error = find_problem(pair.sql, known)
        assert isinstance(error, StatementUnsound) and words in "; ".join(error.problems)
        return
    assert validated_sql(pair.sql, known)
    assert words in "; ".join(warnings) if kind == "warning" else warnings == ()


@pytest.mark.heavy
def test_the_cache_of_valid_statements_keeps_no_catalog() -> None:
    known = replace(catalog("sqlite"))
    assert validated_sql("SELECT name FROM customers", known) == validated_sql("SELECT name FROM customers", known)
    held = ref(known)
    del known
    gc.collect()
    assert held() is None


def test_values_are_not_read_where_no_text_is_compared() -> None:
    def no_values() -> ValueIndex:
        raise AssertionError("the values were read")

    assert warnings_of("SELECT name FROM customers WHERE score = 3", catalog("sqlite"), no_values) == ()


def test_values_that_cannot_be_read_stop_nothing() -> None:
    def broken() -> ValueIndex:
        raise OSError("gone")

    assert warnings_of("SELECT id FROM customers WHERE name = 'x'", catalog("sqlite"), broken) == ()


def test_a_column_that_is_not_indexed_is_not_doubted() -> None:
    assert warnings_of("SELECT id FROM orders WHERE status = 'lost'", catalog("sqlite"), lambda: VALUES) == ()


@pytest.mark.parametrize("inferred", [None, True, False])
def test_joins_that_differ_from_the_keys_of_their_tables_are_reported(inferred: bool | None) -> None:
    keys = () if inferred is None else (ForeignKey(("a_id",), "a", ("id",), inferred=inferred),)
    text = [Column("id", "INTEGER"), Column("word", "TEXT")]
    tables = [
        Table("a", tuple(text)),
        Table("b", (*text, Column("a_id", "INTEGER")), foreign_keys=keys),
        Table("c", tuple(text)),
    ]
    schema = Catalog("sqlite", {table.key: table for table in tables})

    def found(joins: str) -> bool:
        return bool(warnings_of(f"SELECT a.id FROM a {joins}", schema))

    assert not found("JOIN b ON a.id = b.a_id JOIN c ON c.word = a.id"), "no key connects a and c"
    assert not found("JOIN b ON a.id = b.a_id AND a.word = b.word"), "a key connects a and b as well"
    assert found("JOIN b ON a.word = b.id") is (inferred is not None)


def test_a_join_within_a_join_connects_its_tables() -> None:
    columns = (Column("id", "INTEGER"), Column("other", "INTEGER"))
    schema = Catalog("sqlite", {name: Table(name, columns) for name in ("d", "t", "p")})
    nested = "SELECT COUNT(*) FROM d LEFT JOIN (t JOIN p ON t.other = p.id) ON d.id = t.id"

    assert warnings_of(nested, schema) == ()
    assert warnings_of("SELECT COUNT(*) FROM d LEFT JOIN (t JOIN p ON t.other = t.id) ON d.id = t.id", schema)
