"""The summary of a statement: a condition and its negation never have the same words."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from datasphinx.agent.engines import engines
from datasphinx.agent.formatting.filters import condition_words, short_words
from datasphinx.agent.schema.catalog import Catalog, Column, Table
from datasphinx.agent.sql.summary import summarize_query
from tests.agent.sql.catalogs import catalog
from tests.support.heavy import sample

DIALECTS = sorted({engine.dialect for engine in engines().values()})
# A condition, and its negation as users and models write it.
NEGATIONS = [
    ("name IS NULL", "name IS NOT NULL"),
    ("name LIKE '%example%'", "name NOT LIKE '%example%'"),
    ("name LIKE 'A%'", "name NOT LIKE 'A%'"),
    ("name LIKE '%50!%%' ESCAPE '!'", "name NOT LIKE '%50!%%' ESCAPE '!'"),
    ("name IN ('Ann', 'Bob')", "name NOT IN ('Ann', 'Bob')"),
    ("score BETWEEN 1 AND 5", "score NOT BETWEEN 1 AND 5"),
    ("score = 3", "score <> 3"),
    ("score > 3", "score <= 3"),
    ("active = TRUE", "active = FALSE"),
    ("active IS TRUE", "active IS NOT TRUE"),
    ("active", "NOT active"),
    (
        "EXISTS (SELECT 1 FROM orders WHERE orders.customer_id = customers.id)",
        "NOT EXISTS (SELECT 1 FROM orders WHERE orders.customer_id = customers.id)",
    ),
    ("FIND_IN_SET('a', name) > 0", "FIND_IN_SET('a', name) = 0"),
    (
        "EXISTS (SELECT 1 FROM orders o JOIN visits v ON v.n = o.id WHERE o.customer_id = customers.id)",
        "NOT EXISTS (SELECT 1 FROM orders o JOIN visits v ON v.n = o.id WHERE o.customer_id = customers.id)",
    ),
]


@settings(deadline=None, max_examples=sample(600, 100))
@given(
    dialect=st.sampled_from(DIALECTS),
    pair=st.sampled_from(NEGATIONS),
    form=st.sampled_from(["{}", "({})", "id > 7 AND {}", "NOT ({})", "NOT (NOT ({}))"]),
    is_wrapped=st.booleans(),
)
def test_the_words_of_a_condition_and_of_its_negation_differ(
    dialect: str, pair: tuple[str, str], form: str, is_wrapped: bool
) -> None:
    condition, negation = pair[0], f"NOT ({pair[0]})" if is_wrapped else pair[1]
    words, other = (_words(form.format(part), dialect)[0] for part in (condition, negation))
    assert set(words) & set(other) <= {"customer id > 7"}


def test_negations_have_words_on_every_dialect() -> None:
    for dialect in DIALECTS:
        for condition, words in (("name IS NOT NULL", "present"), ("name NOT LIKE '%example%'", "lacks")):
            summary = summarize_query(f"SELECT id FROM customers WHERE {condition}", catalog(dialect))
            assert [each["operator"] for each in summary["conditions"]] == [words]


def told(sql: str, known: Catalog) -> str:
    return "; ".join(condition_words(summarize_query(sql, known)["conditions"], "en"))


ARRAYS = {
    ("tags contains a", "tags does not contain a"): [
        ("postgres", "'a' = ANY(tags)"),
        ("postgres", "tags @> ARRAY['a']"),
        ("postgres", "data.tags ? 'a'"),
        ("postgres", """tags @> '["a"]'::jsonb"""),
        ("duckdb", "list_contains(tags, 'a')"),
        ("duckdb", "contains(tags, 'a')"),
        ("duckdb", "'a' IN tags"),
        ("mysql", "'a' MEMBER OF (tags)"),
        ("mysql", """JSON_CONTAINS(tags, '"a"')"""),
        ("mysql", """JSON_CONTAINS(tags, '"a"') = 1"""),
        ("mysql", "FIND_IN_SET('a', tags)"),
        ("mysql", "FIND_IN_SET('a', tags) > 0"),
        ("mysql", "INSTR(tags, 'a') > 0"),
        ("sqlite", "INSTR(tags, 'a') > 0"),
        ("tsql", "CHARINDEX('a', tags) >= 1"),
        ("postgres", "STRPOS(tags, 'a') <> 0"),
        ("spark", "FIND_IN_SET('a', tags) > 0"),
        ("bigquery", "'a' IN UNNEST(tags)"),
        ("clickhouse", "has(tags, 'a')"),
        ("sqlite", "EXISTS (SELECT 1 FROM json_each(data.tags) WHERE value = 'a')"),
        ("tsql", "EXISTS (SELECT 1 FROM OPENJSON(tags) WHERE value = 'a')"),
    ],
    ("tags contains a or b", "tags does not contain a or b"): [
        ("postgres", "tags && ARRAY['a', 'b']"),
        ("postgres", "tags && '{a,b}'"),
        ("postgres", "data.tags ?| ARRAY['a', 'b']"),
        ("postgres", "'a' = ANY(tags) OR 'b' = ANY(tags)"),
        ("mysql", """JSON_OVERLAPS(tags, '["a", "b"]')"""),
        ("duckdb", "list_has_any(tags, ['a', 'b'])"),
        ("clickhouse", "hasAny(tags, ['a', 'b'])"),
        ("spark", "arrays_overlap(tags, array('a', 'b'))"),
        ("snowflake", "ARRAYS_OVERLAP(tags, ARRAY_CONSTRUCT('a', 'b'))"),
        ("sqlite", "EXISTS (SELECT 1 FROM json_each(data.tags) WHERE value IN ('a', 'b'))"),
    ],
    ("tags contains a and b", "except tags contains a and b"): [
        ("postgres", "tags @> ARRAY['a', 'b']"),
        ("postgres", "tags @> '{a,b}'"),
        ("postgres", """tags @> '["a", "b"]'::jsonb"""),
        ("postgres", "data.tags ?& ARRAY['a', 'b']"),
        ("mysql", """JSON_CONTAINS(tags, '["a", "b"]')"""),
        ("mysql", "JSON_CONTAINS(tags, JSON_ARRAY('a', 'b')) = 1"),
        ("duckdb", "tags @> ['a', 'b']"),
        ("duckdb", "list_has_all(tags, ['a', 'b'])"),
        ("clickhouse", "hasAll(tags, ['a', 'b'])"),
    ],
    ("kind ≠ a, b", "kind = a or b"): [
        ("postgres", "kind <> ALL (ARRAY['a', 'b'])"),
        ("postgres", "kind <> ALL ('{a,b}'::text[])"),
        ("postgres", "NOT kind = ANY (ARRAY['a', 'b']::text[])"),
        ("snowflake", "kind <> ALL ('a', 'b')"),
        ("duckdb", "kind <> ALL (['a', 'b'])"),
    ],
    ("with a condition on tags", "with a condition on tags"): [
        ("postgres", """tags @> '{"a": 1}'"""),
        ("postgres", "tags @> '{}'"),
        ("postgres", "tags && '{a,NULL}'"),
        ("postgres", "tags <@ ARRAY['a', 'b']"),
        ("mysql", "JSON_CONTAINS(tags, '[]')"),
        ("mysql", "FIND_IN_SET('a', tags) = 1"),
        ("mysql", "FIND_IN_SET('a', tags) > 1"),
        ("duckdb", "list_has_any(tags, [])"),
    ],
    ("with a condition on kind", "with a condition on kind"): [
        ("postgres", "kind = ALL (ARRAY['a', 'b'])"),
        ("postgres", "kind <> ANY (ARRAY['a', 'b'])"),
    ],
}
"""Conditions on arrays and lists by the words for them, and for their negation."""


@pytest.mark.parametrize(
    ("words", "negated", "dialect", "condition"), [(*words, *each) for words, cases in ARRAYS.items() for each in cases]
)
def test_elements_of_an_array_are_told_if_the_condition_is_about_them(
    words: str, negated: str, dialect: str, condition: str
) -> None:
    assert _array_words(condition, dialect) == [words]
    assert _array_words(f"NOT ({condition})", dialect) == [negated]


@pytest.mark.parametrize(
    ("dialect", "condition"),
    [
        ("postgres", "EXTRACT(MONTH FROM born) = 6"),
        ("mysql", "MONTH(born) = 6"),
        ("duckdb", "month(born) = 6"),
        ("bigquery", "EXTRACT(MONTH FROM born) IN (6)"),
        ("tsql", "MONTH(born) = 6"),
    ],
)
def test_a_month_of_any_year_is_told_by_its_name(dialect: str, condition: str) -> None:
    assert _words(condition, dialect)[0] == ["born = June"]
    assert _words(f"NOT {condition}", dialect)[0] == ["except born = June"]


@pytest.mark.parametrize(
    ("dialect", "date"),
    [
        ("postgres", "born + INTERVAL '1 month'"),
        ("postgres", "AGE(born)"),
        ("postgres", "COALESCE(born, '2024-01-01')"),
        ("mysql", "DATE_ADD(born, INTERVAL 1 MONTH)"),
        ("duckdb", "MAX(born)"),
        ("oracle", "ADD_MONTHS(born, 1)"),
    ],
)
def test_a_part_of_a_computed_date_is_not_told_as_that_of_the_stored_one(dialect: str, date: str) -> None:
    for condition in (f"EXTRACT(MONTH FROM {date}) = 6", f"EXTRACT(YEAR FROM {date}) = 2024"):
        assert _words(condition, dialect)[0] == ["with a condition on born"]


@pytest.mark.parametrize(
    ("dialect", "query"),
    [
        ("sqlite", "SELECT 1 FROM json_each(data.tags) WHERE length(value) = 5"),
        ("sqlite", "SELECT 1 FROM json_each(data.tags) WHERE key = 0"),
        ("sqlite", "SELECT 1 FROM json_each(data.tags) WHERE data.kind = 'a'"),
        ("sqlite", "SELECT 1 FROM json_each(data.tags) WHERE json_extract(value, '$.kind') = 'a'"),
        ("sqlite", "SELECT 1 FROM json_each(data.tags) WHERE value = 'a' GROUP BY value HAVING COUNT(*) > 2"),
        ("postgres", "SELECT COUNT(*) FROM unnest(data.tags) AS t WHERE t = 'a'"),
        ("postgres", "SELECT 1 FROM unnest(data.tags) WITH ORDINALITY AS t(v, n) WHERE n = 1"),
        ("postgres", "SELECT 1 FROM jsonb_each_text(data.tags) AS t(k, v) WHERE k = 'a'"),
    ],
)
def test_what_else_is_asked_of_the_elements_of_an_array_is_no_element(dialect: str, query: str) -> None:
    known = Catalog(dialect, {"posts": Table("posts", (Column("tags", "TEXT[]"), Column("kind", "TEXT")))})
    summary = summarize_query(f"SELECT 1 FROM posts AS data WHERE EXISTS ({query})", known)
    assert {each["operator"] for each in summary["conditions"]} <= {"on"}


def _array_words(condition: str, dialect: str) -> list[str]:
    known = Catalog(dialect, {"posts": Table("posts", (Column("tags", "TEXT[]"), Column("kind", "TEXT")))})
    return condition_words(summarize_query(f"SELECT 1 FROM posts AS data WHERE {condition}", known)["conditions"], "en")


def test_a_code_is_told_with_the_meaning_that_its_comment_has() -> None:
    columns = (
        Column("status", "TEXT", comment="OK, CNX = cancelled, DIV = diverted"),
        Column("low_cost", "INTEGER", comment="0 = no, 1 = yes"),
    )
    known = Catalog("sqlite", {"flights": Table("flights", columns)})
    where = "status <> 'CNX' AND status IN ('OK', 'DIV') AND low_cost = 1"
    summary = summarize_query(f"SELECT 1 FROM flights WHERE {where}", known)
    told = ["status ≠ cancelled", "status = OK or diverted", "low cost = yes"]
    assert condition_words(summary["conditions"], "en") == told


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        ("a.day >= '2024-01-01' AND b.day < '2025-01-01'", "day ≥ Jan 1, 2024; with a condition on day"),
        ("a.day >= '2024-01-01' AND a.day < '2025-01-01'", "day = 2024"),
        ("YEAR(a.day) = 2024 AND MONTH(b.day) = 6", "day = 2024; with a condition on day"),
        ("(a.day = '2024-01-01' OR b.day = '2024-02-01')", "with a condition on day"),
        ("(a.day <> '2024-01-01' OR b.day IS NULL)", "with a condition on day"),
        ("((a.day >= '2024-01-01' AND b.day < '2025-01-01') OR a.day = '2026-01-01')", "with a condition on day"),
    ],
)
def test_conditions_on_columns_of_two_tables_with_one_name_are_not_told_as_one(condition: str, words: str) -> None:
    tables = [Table(name, (Column("id", "INTEGER"), Column("day", "DATE"))) for name in ("orders", "visits")]
    known = Catalog("duckdb", {table.key: table for table in tables})
    assert told(f"SELECT 1 FROM orders a JOIN visits b ON b.id = a.id WHERE {condition}", known) == words


def test_bounds_of_figures_of_two_queries_with_one_name_are_not_told_as_one() -> None:
    counts = "WITH a AS (SELECT state, COUNT(*) AS n FROM customers GROUP BY 1), "
    counts += "b AS (SELECT status, COUNT(*) AS n FROM orders GROUP BY 1)"
    for bound, words, has_more in (("b.n <= 5", ["n ≥ 3"], True), ("a.n <= 5", ["n = 3 – 5"], False)):
        sql = f"{counts} SELECT 1 FROM a JOIN b ON b.status = a.state WHERE a.n >= 3 AND {bound}"
        summary = summarize_query(sql, catalog("duckdb"))
        assert (condition_words(summary["conditions"], "en"), summary["more_conditions"]) == (words, has_more)


def test_a_flag_is_told_as_yes_or_no() -> None:
    assert _words("active", "sqlite")[0] == ["active = yes"]
    assert _words("NOT active", "sqlite")[0] == ["active = no"]


def test_a_period_that_ends_with_the_first_moment_of_a_day_is_not_told_as_whole() -> None:
    for kind, words in (
        ("TIMESTAMP", "created = Apr 1, 2026 – Apr 30, 2026, 00:00"),
        ("DATE", "created = April 2026"),
    ):
        table = Table("visits", (Column("created", kind),))
        known = Catalog("sqlite", {"visits": table})
        for condition in (
            "created BETWEEN '2026-04-01' AND '2026-04-30'",
            "created < '2026-05-01' AND created >= '2026-04-01'",
        ):
            summary = summarize_query(f"SELECT 1 FROM visits WHERE {condition}", known)
            told = condition_words(summary["conditions"], "en")
            assert told == ([words] if condition.startswith("created BETWEEN") else ["created = April 2026"])


DATES = Table(
    "visits",
    (
        Column("seen_at", "TIMESTAMP"),
        Column("day", "DATE"),
        Column("plz", "TEXT"),
        Column("amount", "REAL", minimum="5", maximum="9000"),
        Column("built", "INTEGER"),
        Column("visit_id", "INTEGER"),
    ),
    primary_key=("visit_id",),
)


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        ("day LIKE '2025%'", "day = 2025"),
        ("day NOT LIKE '2025%'", "except day = 2025"),
        ("plz LIKE '2025%'", "plz starts with 2025"),
        ("plz NOT LIKE '20%'", "except plz starts with 20"),
        ("amount NOT BETWEEN 5 AND 10", "except amount = 5 – 10"),
        ("strftime('%Y', day) <> '2025'", "except day = 2025"),
        ("strftime('%Y', day) >= '2025'", "day ≥ Jan 1, 2025"),
        ("strftime('%Y-%m', day) > '2025-03'", "day ≥ Apr 1, 2025"),
        ("strftime('%Y', day) <= '2024'", "day < Jan 1, 2025"),
        ("strftime('%Y', day) = '9999'", "day = Jan 1, 9999 – Dec 31, 9999"),
        ("strftime('%Y', day) <= '9999'", "with a condition on day"),
        ("strftime('%Y', day) < '2024-01-01'", "with a condition on day"),
        ("strftime('%Y-%m', day) = '2024-01-01'", "with a condition on day"),
        ("strftime('%Y', day) IN ('2024', '2025')", "day = 2024 or 2025"),
        ("strftime('%Y', day) NOT IN ('2024', '2025')", "except day = 2024 or 2025"),
        (
            "(day >= '2024-05-01' AND day < '2024-06-01') OR (day >= '2025-05-01' AND day < '2025-06-01')",
            "day = May 2024 or May 2025",
        ),  # noqa: E501
        (
            "(day >= '2024-05-01' AND day < '2024-06-01') OR (day >= '2025-05-01' AND plz = 'a')",
            "with a condition on day, plz",
        ),
        ("(day >= '2024-05-01' AND plz = 'a') OR day = '2025-05-01'", "with a condition on day, plz"),
        ("strftime('%m', day) = '06'", "day = June"),
        ("strftime('%m', day) <> '06'", "except day = June"),
        ("NOT strftime('%m', day) = '06'", "except day = June"),
        ("CAST(strftime('%m', day) AS INTEGER) BETWEEN 6 AND 8", "day = June – August"),
        ("strftime('%m', day) = '06' OR strftime('%m', day) IN ('11', '12')", "day = June or November – December"),
        ("strftime('%m', day) = '06' AND strftime('%Y', day) IN ('2024', '2025')", "day = June 2024 or June 2025"),
        (
            "strftime('%Y', day) >= '2025' AND strftime('%m', day) IN ('12', '01')",
            "day ≥ Jan 1, 2025; day = January or December",
        ),
        ("strftime('%Y', day) = '2025' AND strftime('%m', day) >= '06'", "day = June 2025 – December 2025"),
        (
            "day BETWEEN '2025-01-15' AND '2025-12-31' AND strftime('%m', day) = '06'",
            "day = Jan 15, 2025 – Dec 31, 2025; day = June",
        ),
        ("strftime('%m', day) > '06'", "day = July – December"),
        ("strftime('%m', day) >= 6", "with a condition on day"),
        ("strftime('%m', date(day, '+1 month')) = '06'", "with a condition on day"),
        ("strftime('%Y', date(day, '-6 months')) = '2024'", "with a condition on day"),
        ("strftime('%m', MAX(day)) = '06'", "with a condition on day"),
        ("strftime('%Y', datetime(visit_id, 'unixepoch')) = '2024'", "visit id = 2024"),
        ("strftime('%m', day) = '13'", "with a condition on day"),
        ("strftime('%m', day) = plz", "with a condition on plz, day"),
        ("strftime('%Y', day) IS NULL", "with a condition on day"),
        ("strftime('%Y', day) IS NOT NULL", "with a condition on day"),
        ("strftime('%Y-%m', day) LIKE '2024%'", "with a condition on day"),
        ("strftime('%Y-%m', day) > '2024'", "with a condition on day"),
        ("strftime('%Y-%m', day) <= '2024'", "with a condition on day"),
        ("DATE_TRUNC('MONTH', day) >= '2024-05-01'", "day ≥ May 1, 2024"),
        ("DATE_TRUNC('YEAR', day) >= '2024-05-01'", "with a condition on day"),
        ("day < '2024-02-30' AND day >= '2024-02-01'", "day < 2024-02-30; day ≥ Feb 1, 2024"),
        ("day BETWEEN '2024-02-01' AND '2024-02-30'", "day = Feb 1, 2024 – 2024-02-30"),
        ("day < '0001-01-01' AND day >= '0001-01-01'", "day < Jan 1, 1; day ≥ Jan 1, 1"),
        ("seen_at > '2025-12-30'", "seen at > Dec 30, 2025, 00:00"),
        ("seen_at <> '2025-12-30'", "seen at ≠ Dec 30, 2025, 00:00"),
        ("seen_at < '2025-12-30'", "seen at < Dec 30, 2025"),
        ("DATE(seen_at) <= '2025-12-30'", "seen at ≤ Dec 30, 2025"),
        ("CAST(seen_at AS DATE) = '2025-12-30'", "seen at = Dec 30, 2025"),
        ("DATE(seen_at) BETWEEN '2025-12-01' AND '2025-12-31'", "seen at = December 2025"),
        ("MAX(seen_at) <= '2025-12-30'", "highest seen at ≤ Dec 30, 2025, 00:00"),
        ("day > '2025-12-30'", "day > Dec 30, 2025"),
        ("CAST(amount AS INTEGER) = 10", "with a condition on amount"),
        ("amount > 1600", "amount > 1,600"),
        ("built >= 1900", "built ≥ 1900"),
        ("built > 12345", "built > 12,345"),
        ("built > 12345.5", "built > 12,345.5"),
        ("visit_id IN (7, 12345)", "visit id = 7 or 12345"),
        ("built >= 1990 AND built <= 1999", "built = 1990 – 1999"),
        ("SUM(amount) > 2000", "sum of amount > 2,000"),
        ("AVG(COALESCE(amount, 0)) > 2000", "with a condition on amount"),
        ("CAST(plz AS REAL) = 10", "plz = 10"),
    ],
)
def test_the_words_of_a_condition_say_exactly_what_it_selects(condition: str, words: str) -> None:
    summary = summarize_query(f"SELECT 1 FROM visits WHERE {condition}", Catalog("sqlite", {"visits": DATES}))

    assert "; ".join(condition_words(summary["conditions"], "en")) == words
    assert not summary["more_conditions"]


RANKED = "SELECT *, ROW_NUMBER() OVER (PARTITION BY state ORDER BY score DESC) AS place FROM customers"
BY_TOTAL = """WITH totals AS (
    SELECT c.state, c.name, SUM(o.amount) AS total FROM customers c JOIN orders o ON o.customer_id = c.id GROUP BY 1, 2
), ranked AS (SELECT totals.*, RANK() OVER (ORDER BY total) AS place FROM totals)"""


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        (
            f"SELECT name FROM ({RANKED}) AS r WHERE place <= 3",
            "only the first 3, sorted by score (descending), for each state",
        ),
        (f"{RANKED} QUALIFY place < 3", "only the first 2, sorted by score (descending), for each state"),
        ("SELECT name FROM customers QUALIFY RANK() OVER (ORDER BY score) = 1", "only the first, sorted by score"),
        (
            f"{BY_TOTAL} SELECT name FROM ranked WHERE place <= 2 AND total > 100",
            "only the first 2, sorted by total; total > 100",
        ),
        (f"SELECT name FROM ({RANKED}) AS r WHERE place = 2", "with a condition on state, score"),
        # With ties, they are more rows.
        ("SELECT name FROM customers QUALIFY DENSE_RANK() OVER (ORDER BY score) <= 2", "with a condition on score"),
        (
            "SELECT name FROM customers QUALIFY DENSE_RANK() OVER (ORDER BY score) = 1",
            "only the first, sorted by score",
        ),
        (
            f"SELECT name FROM ({RANKED}) AS r WHERE place <= 3 AND state = 'NY'",
            "only the first 3, sorted by score (descending), for each state; state = NY",
        ),
        ("SELECT state FROM customers GROUP BY state HAVING COUNT(*) > 5", "number of customers > 5"),
        (
            "SELECT state FROM customers GROUP BY state HAVING AVG(score) < 5 AND score > 1",
            "average score < 5; score > 1",
        ),
        (
            "SELECT state FROM customers GROUP BY state HAVING SUM(score) <= 5 AND score >= 1",
            "sum of score ≤ 5; score ≥ 1",
        ),
        ("SELECT state FROM customers GROUP BY 1 HAVING MAX(born) <= '2001-12-31'", "highest born ≤ Dec 31, 2001"),
        (
            "SELECT state FROM customers GROUP BY 1 HAVING COUNT(DISTINCT name) = 1",
            "number of different values of customer = 1",
        ),
        (
            "SELECT 1 FROM customers c JOIN orders o ON o.customer_id = c.id GROUP BY c.id HAVING COUNT(*) >= 3",
            "number of orders ≥ 3",
        ),
        (
            "SELECT 1 FROM customers c LEFT JOIN orders o ON o.customer_id = c.id GROUP BY c.id HAVING COUNT(o.id) < 3",
            "number of orders < 3",
        ),
        (
            "SELECT 1 FROM customers c LEFT JOIN orders o ON o.customer_id = c.id GROUP BY c.id "
            "HAVING NOT COUNT(DISTINCT o.id) < 3",
            "number of orders ≥ 3",
        ),
        # A customer without orders has one row, and one with visits has each order several times.
        (
            "SELECT 1 FROM customers c LEFT JOIN orders o ON o.customer_id = c.id GROUP BY c.id HAVING COUNT(*) = 1",
            "with a condition on customers, orders",
        ),
        (
            "SELECT 1 FROM orders o JOIN visits v ON v.n = o.id GROUP BY o.id HAVING COUNT(o.id) = 1",
            "with a condition on order id",
        ),
        ("SELECT state FROM customers GROUP BY state HAVING COUNT(name) > 5", "with a condition on customer"),
        ("SELECT state FROM customers GROUP BY state HAVING SUM(DISTINCT score) > 5", "with a condition on score"),
    ],
)
def test_a_condition_on_a_rank_or_another_computed_column_is_told(sql: str, words: str) -> None:
    assert told(sql, catalog("duckdb")) == words


@pytest.mark.parametrize(
    ("clauses", "words"),
    [
        ("WHERE EXISTS (SELECT 1 FROM orders o WHERE o.customer_id = c.id LIMIT 1)", "with orders"),
        (
            "WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.customer_id = c.id AND o.amount > 5)",
            "without orders (amount > 5)",
        ),
        ("WHERE id IN (SELECT customer_id FROM orders WHERE status = 'open')", "with orders (open)"),
        ("WHERE NOT id IN (SELECT customer_id FROM orders)", "without orders"),
        ("LEFT JOIN orders o ON o.customer_id = c.id WHERE o.id IS NULL", "without orders"),
        (
            "LEFT JOIN orders o ON o.customer_id = c.id AND o.status = 'open' WHERE o.customer_id IS NULL",
            "without orders (open)",
        ),
        (
            "LEFT JOIN (SELECT id AS k FROM orders WHERE status = 'open') o ON o.k = c.id WHERE o.k IS NULL",
            "without orders (open)",
        ),
        ("LEFT JOIN orders o ON o.customer_id = c.id WHERE o.status IS NULL", "status is empty"),
        ("ANTI JOIN orders o ON o.customer_id = c.id", "without orders"),
        ("SEMI JOIN orders o ON o.customer_id = c.id AND o.status = 'open'", "with orders (open)"),
        ("LEFT JOIN orders o ON o.customer_id = c.status WHERE o.status IS NULL", "status is empty"),
        ("WHERE id NOT IN (SELECT customer_id FROM orders WHERE customer_id IS NOT NULL)", "without orders"),
        (
            "WHERE id NOT IN (SELECT customer_id FROM orders WHERE status IS NOT NULL)",
            "without orders (status is not empty)",
        ),
        ("RIGHT ANTI JOIN orders o ON o.customer_id = c.id", "with a condition on customer id"),
        # The first row and the last one are not any rows; orders with lines are not all orders.
        ("WHERE id IN (SELECT customer_id FROM orders LIMIT 3)", "with a condition on customer id, orders"),
        (
            "WHERE id IN (SELECT MAX(customer_id) FROM orders GROUP BY status)",
            "with a condition on customer id, orders",
        ),
        (
            "WHERE NOT EXISTS (SELECT 1 FROM orders o JOIN visits v ON v.n = o.id WHERE o.customer_id = c.id)",
            "without orders (with visits)",
        ),
        (
            "WHERE EXISTS (SELECT 1 FROM visits v, orders o WHERE v.n = o.id AND o.customer_id = c.id "
            "AND who = 'Ann' AND status = 'open')",
            "with orders (open, with visits (Ann))",
        ),
        (
            'WHERE id = ANY (SELECT o.customer_id FROM orders o JOIN "Order Lines" l ON l.order_id = o.id '
            "JOIN visits v ON v.n = l.order_id WHERE l.\"Unit Price\" > 5 AND v.who = 'Ann')",
            "with orders (with Order Lines (Unit Price > 5, with visits (Ann)))",
        ),
        (
            "WHERE id <> ALL (SELECT o.customer_id FROM orders o JOIN visits v ON v.n = o.id)",
            "without orders (with visits)",
        ),
        # Which of the tables is asked for, and how do rows of the others belong to it?
        (
            "WHERE EXISTS (SELECT 1 FROM orders o JOIN visits v ON v.n = o.id "
            "WHERE o.customer_id = c.id AND v.who = c.name)",
            "with a condition on orders, visits",
        ),
        (
            "WHERE EXISTS (SELECT 1 FROM orders o LEFT JOIN visits v ON v.n = o.id WHERE o.customer_id = c.id)",
            "with a condition on orders, visits",
        ),
        (
            "WHERE EXISTS (SELECT 1 FROM orders o JOIN visits v ON v.n > o.id WHERE o.customer_id = c.id)",
            "with a condition on orders, visits",
        ),
        (
            "WHERE EXISTS (SELECT 1 FROM orders o CROSS JOIN visits v WHERE o.customer_id = c.id)",
            "with a condition on orders, visits",
        ),
        (
            "WHERE EXISTS (SELECT 1 FROM orders o JOIN visits v ON v.n = o.id WHERE o.customer_id = c.id "
            "GROUP BY o.id HAVING COUNT(*) > 2)",
            "with a condition on orders, visits",
        ),
        (
            "WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.customer_id = c.id AND o.amount > c.score)",
            "with a condition on orders",
        ),
        (
            "WHERE id IN (SELECT k FROM (SELECT MAX(customer_id) AS k FROM orders GROUP BY status) o)",
            "with a condition on customer id, orders",
        ),
        ("WHERE EXISTS (SELECT 1 FROM orders WHERE customer_id = c.id AND state = 'NY')", "with a condition on orders"),
        # Of a table that is read twice, rows of which are meant?
        ("LEFT JOIN customers d ON d.id = c.score WHERE d.id IS NULL", "with a condition on id, score"),
        ("WHERE state IN (SELECT state FROM customers WHERE score > 5)", "with a condition on state, customers"),
        ("WHERE c.id = (SELECT MAX(customer_id) FROM orders)", "with a condition on customer id, orders"),
        (
            "LEFT JOIN orders o ON COALESCE(o.customer_id, 0) = c.id WHERE o.customer_id IS NULL",
            "customer id is empty",
        ),
        ("LEFT JOIN orders o ON LOWER(o.status) = c.state WHERE o.status IS NULL", "without orders"),
    ],
)
def test_a_row_of_another_table_that_is_asked_for_or_ruled_out_is_told(clauses: str, words: str) -> None:
    assert told(f"SELECT name FROM customers AS c {clauses}", catalog("duckdb")) == words


@pytest.mark.parametrize(
    ("sql", "words", "has_more"),
    [
        ("SELECT EXISTS (SELECT 1 FROM customers WHERE state = 'NY') AS found", ["state = NY"], False),
        (
            "SELECT EXISTS (SELECT 1 FROM customers c WHERE EXISTS (SELECT 1 FROM orders o WHERE o.customer_id = c.id "
            "AND o.status = 'open')) AS found",
            ["with orders (open)"],
            False,
        ),
        (
            "SELECT (SELECT score FROM customers WHERE name = 'Ann') "
            "> (SELECT score FROM customers WHERE name = 'Bob') AS is_more",
            [],
            True,
        ),
        (
            "SELECT EXISTS (SELECT 1 FROM customers WHERE state = 'NY') AND EXISTS (SELECT 1 FROM orders) AS found",
            [],
            True,
        ),
        ("SELECT (SELECT MAX(score) FROM customers) > (SELECT MAX(amount) FROM orders)", [], False),
    ],
)
def test_the_conditions_of_a_yes_or_no_are_those_of_its_only_query(sql: str, words: list[str], has_more: bool) -> None:
    summary = summarize_query(sql, catalog("duckdb"))
    assert (condition_words(summary["conditions"], "en"), summary["more_conditions"]) == (words, has_more)


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("SELECT 1 FROM orders o JOIN customers c ON c.id = o.customer_id", ""),
        ("SELECT 1 FROM orders o JOIN visits v ON v.n = o.id", ""),
        ("SELECT 1 FROM orders o, visits v WHERE v.n = o.id", ""),
        ("SELECT 1 FROM orders o JOIN orders p ON p.customer_id = o.customer_id", ""),
        (
            "SELECT 1 FROM orders o JOIN customers c ON c.id = o.customer_id WHERE o.amount = c.score",
            "amount = score",
        ),
        (
            "SELECT 1 FROM orders o JOIN customers c ON c.id = o.customer_id WHERE CAST(o.status AS DATE) = c.born",
            "with a condition on born, status",
        ),
        (
            "SELECT 1 FROM customers c JOIN (SELECT state, MAX(born) AS last FROM customers GROUP BY 1) AS m "
            "ON m.state = c.state AND m.last = c.born",
            "last = born",
        ),
        ("SELECT 1 FROM customers WHERE born > CURRENT_DATE", "with a condition on born"),
        ("SELECT 1 FROM orders WHERE amount >= customer_id", "amount ≥ customer id"),
        ("SELECT 1 FROM orders o JOIN orders p ON p.id = o.id AND p.amount > o.amount", "with a condition on amount"),
        (
            "SELECT 1 FROM generate_series(1, 5) AS s(d) LEFT JOIN customers ON customers.score >= s.d",
            "with a condition on score",
        ),
    ],
)
def test_an_equation_along_a_key_alone_is_left_out_and_columns_are_compared_by_name(sql: str, words: str) -> None:
    assert told(sql, catalog("postgres")) == words


@pytest.mark.parametrize(
    ("where", "words"),
    [
        ("born < '2001-01-01' OR born IS NULL", "born < Jan 1, 2001 or born is empty"),
        ("born IS NULL OR (born >= '2001-01-01' AND born < '2002-01-01')", "born = 2001 or born is empty"),
        ("state = 'NY' OR state IS NULL", "state = NY or state is empty"),
        ("state <> 'NY' OR state IS NULL", "without NY"),
        ("NOT (score < 5 OR score IS NULL)", "with a condition on score"),
        ("score < 5 OR state IS NULL", "with a condition on score, state"),
        ("(score >= 5 OR score IS NULL) AND score <= 9", "score ≥ 5 or score is empty; score ≤ 9"),
    ],
)
def test_rows_without_a_value_are_told_beside_the_others(where: str, words: str) -> None:
    summary = summarize_query(f"SELECT 1 FROM customers WHERE {where}", catalog("postgres"))
    assert "; ".join(short_words(summary["conditions"], "en")) == words


@pytest.mark.parametrize(
    ("clauses", "words"),
    [
        ("LEFT JOIN orders o ON o.customer_id = c.id AND o.status = 'open'", "open"),
        (
            "LEFT JOIN orders o ON o.customer_id = c.id AND o.amount >= 5 AND o.amount <= 9 WHERE c.state = 'NY'",
            "NY; amount = 5 – 9",
        ),
        ("LEFT JOIN orders o ON o.customer_id = c.id AND c.state = 'NY'", "with a condition on state"),
        ("RIGHT JOIN orders o ON o.customer_id = c.id AND o.status = 'open'", "with a condition on status"),
        (
            "LEFT JOIN orders o ON o.customer_id = c.id AND o.status = 'open' WHERE o.amount IS NULL",
            "amount is empty; with a condition on status",
        ),
    ],
)
def test_an_outer_join_of_some_rows_tells_which(clauses: str, words: str) -> None:
    summary = summarize_query(f"SELECT 1 FROM customers c {clauses}", catalog("duckdb"))
    assert set(short_words(summary["conditions"], "en")) == set(words.split("; "))


@pytest.mark.parametrize(
    ("dialect", "condition", "words"),
    [
        ("postgres", "EXTRACT(HOUR FROM seen) >= 22", "seen ≥ 22:00"),
        ("postgres", "EXTRACT(HOUR FROM seen) BETWEEN 8 AND 11", "seen = 08:00 – 11:59"),
        ("postgres", "EXTRACT(HOUR FROM seen) < 6", "seen < 06:00"),
        ("mysql", "HOUR(seen) > 17", "seen ≥ 18:00"),
        ("mysql", "HOUR(seen) = 7", "seen = 07:00 – 07:59"),
        ("sqlite", "strftime('%H', seen) <= '08'", "seen < 09:00"),
        ("sqlite", "CAST(strftime('%H', seen) AS INTEGER) IN (7, 8)", "seen = 07:00 – 08:59"),
        ("sqlite", "strftime('%H', seen) >= '8'", "with a condition on seen"),
        ("postgres", "EXTRACT(HOUR FROM seen) IN (7, 9)", "with a condition on seen"),
        ("postgres", "EXTRACT(HOUR FROM seen) <> 7", "with a condition on seen"),
    ],
)
def test_hours_are_told_as_times(dialect: str, condition: str, words: str) -> None:
    table = Table("visits", (Column("seen", "TIMESTAMP"),))
    assert told(f"SELECT 1 FROM visits WHERE {condition}", Catalog(dialect, {"visits": table})) == words


@pytest.mark.parametrize(
    ("table", "key", "by", "words"),
    [
        ("species", "code", "code", "for each species"),
        ("bike_types", "t", "t", "for each bike type"),
        ("categories", "category_id", "category_id", "for each category"),
        ("categories", "category_id", "name", "for each category"),
        ("species", "code", "kind", "for each kind"),
    ],
)
def test_a_group_by_a_key_is_one_of_the_rows_of_its_table(table: str, key: str, by: str, words: str) -> None:
    columns = tuple(Column(name, "TEXT") for name in (key, "name", "kind", "size"))
    known = Catalog("duckdb", {table: Table(table, columns, primary_key=(key,))})
    sql = f"SELECT name FROM {table} QUALIFY RANK() OVER (PARTITION BY {by} ORDER BY size) = 1"
    assert condition_words(summarize_query(sql, known)["conditions"], "en") == [
        f"only the first, sorted by size, {words}"
    ]


@pytest.mark.parametrize(
    ("comment", "condition", "words"),
    [
        ("D done, C cancelled by owner, N no-show", "state = 'C'", "state = cancelled by owner"),
        ("1 check-up; 2 vaccination", "state <> 2", "state ≠ vaccination"),
        ("D done, C cancelled by owner", "state = 'X'", "state = X"),
        ("A unit, a part of it", "state = 'D'", "state = D"),
        ("I say so, as agreed", "state = 'I'", "state = I"),
        ("1 to 10, 11 to 20", "state = 11", "state = 11"),
    ],
)
def test_a_code_has_the_meaning_of_a_comment_that_lists_codes(comment: str, condition: str, words: str) -> None:
    known = Catalog("duckdb", {"units": Table("units", (Column("state", "TEXT", comment=comment),))})
    assert told(f"SELECT 1 FROM units WHERE {condition}", known) == words


def test_what_is_computed_from_a_secret_column_has_no_words() -> None:
    known = replace(catalog("sqlite"), tables={"customers": _with_secret(catalog("sqlite").tables["customers"])})
    for sql in (
        "WITH c AS (SELECT name AS n FROM customers), d AS (SELECT MAX(n) AS m FROM c) SELECT 1 FROM d WHERE m = 'x'",
        "WITH c(n) AS (SELECT UPPER(name) FROM customers) SELECT 1 FROM c WHERE n = 'x'",
        "SELECT 1 FROM customers c WHERE EXISTS (SELECT 1 FROM customers d WHERE d.id = c.id AND d.name = 'x')",
        "SELECT 1 FROM (SELECT *, RANK() OVER (ORDER BY name) AS place FROM customers) AS r WHERE place = 1",
        "SELECT state FROM customers GROUP BY state HAVING COUNT(DISTINCT name) > 2",
    ):
        summary = summarize_query(sql, known)
        assert (summary["conditions"], summary["more_conditions"]) == ([], True), sql


def _with_secret(table: Table) -> Table:
    return replace(table, columns=tuple(each._replace(secret=each.name == "name") for each in table.columns))


def _words(condition: str, dialect: str) -> tuple[list[str], bool]:
    known = catalog(dialect)
    customers = known.tables["customers"]
    flagged = replace(customers, columns=(*customers.columns, Column("active", "BOOLEAN")))
    known = replace(known, tables={**known.tables, "customers": flagged})
    summary = summarize_query(f"SELECT id FROM customers WHERE {condition}", known)
    return condition_words(summary["conditions"], "en"), summary["more_conditions"]
