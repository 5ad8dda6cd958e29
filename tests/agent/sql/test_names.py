"""Names are resolved against the catalog; an error for an unknown name suggests the nearest names."""

from dataclasses import replace

import pytest

from datasphinx.agent.errors import NamesUnknown, StatementRefused
from datasphinx.agent.schema.catalog import Catalog, Column, Table
from datasphinx.agent.sql.names import resolve
from datasphinx.agent.sql.validation import validated_sql
from tests.fixtures import Pair, read_pairs


def table(name: str, *columns: str) -> Table:
    return Table(name, tuple(Column(column, "TEXT") for column in columns))


TABLES = (
    table("customers", "id", "name", "city"),
    table("orders", "id", "customer_id", "amount", "ordered_on", "status"),
    table("order items", "unit price"),
)
CATALOG = Catalog("sqlite", {each.key: each for each in TABLES}, default_schema="main")


@pytest.mark.parametrize("pair", read_pairs("names.sql"), ids=lambda pair: pair.sql[:60])
def test_pairs(pair: Pair) -> None:
    if pair.expected == "known":
        resolve(pair.sql, CATALOG)
        return
    kind, _, rest = pair.expected.partition(" ")
    name, _, nearest = rest.partition(" -> ")
    with pytest.raises(NamesUnknown) as caught:
        resolve(pair.sql, CATALOG)
    message = f"there is no column {name}" if kind == "unknown" else f"the column {name} is ambiguous"
    assert message in caught.value.unknown
    assert nearest == "-" or nearest in caught.value.unknown


@pytest.mark.parametrize(
    ("language", "told"),
    [
        ("en", "the table customer is not in the catalog (nearest: customers)"),
        ("de", "die Tabelle customer ist nicht im Katalog (am ähnlichsten: customers)"),
        ("ru", "таблицы customer нет в каталоге (похожие: customers)"),
        ("zh", "目录中没有表 customer（相近的有：customers）"),
    ],
)
def test_an_unknown_table_is_told_with_the_nearest_one(language: str, told: str) -> None:
    with pytest.raises(StatementRefused) as caught:
        validated_sql("SELECT name FROM Customer", CATALOG)
    assert told in caught.value.message(language)
    with pytest.raises(StatementRefused, match=r"the table invoices_2020 is not in the catalog\.$"):
        validated_sql("SELECT name FROM invoices_2020", CATALOG)


def test_tables_that_are_denied_are_not_named() -> None:
    with pytest.raises(StatementRefused) as caught:
        validated_sql("SELECT name FROM customer", replace(CATALOG, denied=frozenset({"customers"})))
    assert "customers" not in str(caught.value)


def test_columns_of_the_tables_that_are_read_are_suggested_first() -> None:
    tables = (table("categories", "name"), *TABLES)
    with pytest.raises(NamesUnknown, match=r"nearest: customers\.name, categories\.name"):
        resolve("SELECT nam FROM customers", Catalog("sqlite", {each.key: each for each in tables}))


def test_postgres_folds_unquoted_names_and_keeps_quoted_ones() -> None:
    catalog = Catalog("postgres", {"t": table("t", "id", "Mixed")}, default_schema="public")
    resolve('SELECT ID, "Mixed" FROM T', catalog)
    with pytest.raises(NamesUnknown, match="Mixed"):
        resolve("SELECT Mixed FROM t", catalog)


@pytest.mark.parametrize("dialect", ["sqlite", "duckdb"])
@pytest.mark.parametrize("sql", ['SELECT "Количество" FROM "Продажи"', "SELECT Количество FROM Продажи"])
def test_capitals_beyond_ascii_are_found(dialect: str, sql: str) -> None:
    table = Table("Продажи", (Column("Количество", "INTEGER"), Column("Net Amount", "INTEGER")))
    resolve(sql, Catalog(dialect, {"Продажи": table}))


def check_names(sql: str, catalog: Catalog, is_known: bool) -> None:
    """Check that `sql` is resolved if its names are known, and refused for an unknown one otherwise."""
    if is_known:
        assert resolve(sql, catalog)
    else:
        with pytest.raises(NamesUnknown):
            resolve(sql, catalog)


@pytest.mark.parametrize(
    ("sql", "is_known"),
    [
        ('SELECT "Depots"."City" FROM "Depots"', True),
        ('SELECT "Depots"."City" FROM public."Depots" JOIN ports ON ports.city = "Depots"."City"', True),
        ('WITH "W" AS (SELECT "City" FROM "Depots") SELECT "W"."City" FROM "W"', True),
        ('SELECT Depots."City" FROM "Depots"', False),
        ('SELECT "Depots"."Town" FROM "Depots"', False),
        ("SELECT COUNT(*) FROM \"Depots\" HAVING MAX(Town) > 'a'", False),
    ],
)
def test_a_quoted_table_is_named_by_its_exact_name(sql: str, is_known: bool) -> None:
    tables = (Table("Depots", (Column("City", "TEXT"),)), Table("ports", (Column("city", "TEXT"),)))
    known = Catalog("postgres", {table.key: table for table in tables}, default_schema="public")
    check_names(sql, known, is_known)


@pytest.mark.parametrize(
    ("sql", "is_known"),
    [
        ("SELECT id FROM posts WHERE EXISTS (SELECT 1 FROM unnest(tags) t WHERE t = 'a')", True),
        ("SELECT id, (SELECT string_agg(t, ',') FROM unnest(posts.tags) AS t) FROM posts", True),
        ("SELECT id FROM posts p WHERE 'a' IN (SELECT t FROM regexp_split_to_table(p.tags, ',') AS t)", True),
        ("SELECT p.id, y.n FROM posts p, LATERAL (SELECT max(t) AS n FROM unnest(p.tags) t WHERE t > id) y", True),
        ("SELECT id FROM posts WHERE EXISTS (SELECT 1 FROM unnest(words) t WHERE t = 'a')", False),
        ("SELECT id FROM posts WHERE EXISTS (SELECT 1 FROM unnest(tags) t WHERE t = word)", False),
    ],
)
def test_the_value_of_a_function_is_named_by_its_alias_in_subqueries_too(sql: str, is_known: bool) -> None:
    known = Catalog("postgres", {"posts": table("posts", "id", "tags")}, default_schema="public")
    check_names(sql, known, is_known)


@pytest.mark.parametrize(
    ("sql", "is_known"),
    [
        ("SELECT city, COUNT(*) FROM customers JOIN orders USING (id) GROUP BY city HAVING MAX(id) > 2", True),
        ("SELECT COUNT(*) FROM customers NATURAL JOIN orders HAVING MAX(id) > 2", True),
        ("SELECT 1 FROM customers c JOIN orders o ON o.customer_id = c.id GROUP BY city HAVING MAX(id) > 2", False),
        (
            "SELECT name FROM customers c WHERE EXISTS (SELECT 1 FROM orders o WHERE o.customer_id = c.id "
            "GROUP BY o.customer_id HAVING COUNT(*) > LENGTH(city))",
            True,
        ),
        (
            "SELECT name FROM customers c WHERE EXISTS (SELECT 1 FROM orders o WHERE o.customer_id = c.id "
            "GROUP BY o.customer_id HAVING COUNT(*) > LENGTH(town))",
            False,
        ),
        ("SELECT name FROM customers, (SELECT 1 FROM orders GROUP BY status HAVING MAX(city) > 'a') o", False),
    ],
)
def test_having_names_merged_columns_and_those_of_outer_queries(sql: str, is_known: bool) -> None:
    known = Catalog("postgres", CATALOG.tables, default_schema="public")
    check_names(sql, known, is_known)
