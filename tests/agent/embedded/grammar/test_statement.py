import random
from dataclasses import replace

import pytest
import sqlglot
from langchain_openai import ChatOpenAI
from sqlglot import exp

from datasphinx.agent.embedded.compact import quoted
from datasphinx.agent.embedded.grammar.scope import SUBQUERY_DEPTH
from datasphinx.agent.embedded.grammar.statement import statement_grammar
from datasphinx.agent.embedded.server import Endpoint
from datasphinx.agent.llm.scripted import ScriptedModel
from datasphinx.agent.retrieval.linked_values import LinkedValue
from datasphinx.agent.schema.catalog import Catalog, Column, ForeignKey, Table
from datasphinx.agent.services import Services
from tests.agent.embedded.grammar.gbnf_reader import Gbnf
from tests.support.heavy import sample

QUESTION = "How many O'Hara customers, say in New York or 'oslo', joined since 2021?"
FREE = f"{QUESTION} Or was it in May, from Bergensian ones or the Côte, with some thousands, and the running change?"
"""Gives reason for every number, for months, and for two of the values that cities have."""
VALUES = (LinkedValue("customer", "city", "Saint-Étienne"),)


def table(name: str, columns: dict[str, str], *keys: ForeignKey, schema: str | None = None) -> Table:
    return Table(name, tuple(Column(column, kind) for column, kind in columns.items()), schema, foreign_keys=keys)


def catalog(*tables: Table) -> Catalog:
    return Catalog("sqlite", {one.key: one for one in tables})


CUSTOMER = Table(
    "customer",
    (
        Column("id", "INTEGER"),
        Column("name", "VARCHAR(40)"),
        Column("city", "TEXT", examples=("Bergen", "Côte d'Or")),
        Column("joined_on", "TEXT"),
        Column("active", "BOOLEAN"),
        Column("zip", "TEXT", examples=("0150", "5003")),
    ),
)
ORDER = table(
    "order",
    {"id": "INTEGER", "customer_id": "INTEGER", "total": "REAL", "ordered": "DATE", "paid": "DATE", "note": "TEXT"},
    ForeignKey(("customer_id",), "customer", ("id",), inferred=True),
)
ITEM = table(
    "item",
    {"order_id": "INTEGER", "product_id": "INTEGER", "price": "REAL", "größe": "TEXT", 'the "best"': "TEXT"},
    ForeignKey(("order_id",), "order", ("id",)),
    ForeignKey(("product_id",), "product", ("id",)),
)
PRODUCT = table("product", {"id": "INTEGER", "title": "TEXT", "launch_date": "", "weight": ""})
TRANSFER = table(
    "transfer",
    {"from_id": "INTEGER", "to_id": "INTEGER", "amount": "REAL"},
    ForeignKey(("from_id",), "customer", ("id",)),
    ForeignKey(("to_id",), "customer", ("id",)),
)
SHOP = catalog(CUSTOMER, ORDER, ITEM, PRODUCT, TRANSFER)


def grammar_of(given: Catalog, question: str = QUESTION, values=VALUES) -> Gbnf:
    return Gbnf(statement_grammar(given, given.selection(), question, values).text)


@pytest.fixture(scope="module")
def shop() -> Gbnf:
    return grammar_of(SHOP, FREE)


ADMITTED = r'''
FROM customer SELECT name
FROM "order" SELECT AVG(JULIANDAY(paid) - JULIANDAY(ordered))
FROM "order" SELECT id ORDER BY JULIANDAY(paid) - JULIANDAY(ordered) DESC LIMIT 3
FROM "order" SELECT COUNT(*) WHERE JULIANDAY(paid) - JULIANDAY(ordered) > 3
FROM customer SELECT DISTINCT city, COUNT(*) GROUP BY city HAVING COUNT(*) > 3 ORDER BY COUNT(*) DESC, city LIMIT 10
FROM customer SELECT id, name, city, id, name, city, id, name
FROM customer SELECT COUNT(DISTINCT city) WHERE name LIKE 'O''Hara%' AND (city = 'Oslo' OR city IS NOT NULL)
FROM customer SELECT name WHERE city NOT IN ('oslo', 'Saint-Étienne') AND id BETWEEN 1 AND -2.5
FROM customer SELECT name WHERE city = 'Bergen' OR city != 'Côte d''Or' OR city NOT IN ('Bergen', 'New York')
FROM customer SELECT name WHERE name = 'New York' OR name = 'york' OR name LIKE '%York%'
FROM customer SELECT name WHERE active = TRUE OR active = 0 OR active IS NULL
FROM customer SELECT COUNT(*) WHERE zip = '0150' AND zip < 5000
FROM customer SELECT name WHERE joined_on >= '2021-01-01' AND joined_on < '2022' AND strftime('%m', joined_on) = '03'
FROM customer SELECT LOWER(name), LENGTH(name), COALESCE(id, 0), ABS(id - 3) WHERE LOWER(city) = 'oslo'
FROM "order" SELECT strftime('%Y-%m', ordered), SUM(total) GROUP BY strftime('%Y-%m', ordered)
FROM "order" SELECT (strftime('%m', ordered) + 2) / 3, COUNT(*) GROUP BY (strftime('%m', ordered) + 2) / 3
FROM "order" SELECT id, total WHERE total > (FROM "order" SELECT AVG(total))
FROM "order" SELECT COUNT(*) * 100.0 / (FROM "order" SELECT COUNT(*)) WHERE paid < ordered
FROM "order" SELECT MAX(total) - MIN(total), NULLIF(SUM(total), 0), ROUND(AVG(total - 2 * id), 2)
FROM "order" SELECT customer_id, total QUALIFY ROW_NUMBER() OVER (PARTITION BY customer_id ORDER BY ordered DESC) <= 3
FROM "order" SELECT ordered, SUM(SUM(total)) OVER (ORDER BY ordered ROWS BETWEEN 2 PRECEDING AND CURRENT ROW)
FROM "order" SELECT ordered, SUM(SUM(total)) OVER (ORDER BY ordered ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
FROM "order" SELECT customer_id, 100.0 * SUM(total) / SUM(SUM(total)) OVER () GROUP BY customer_id
FROM "order" SELECT ordered, SUM(total) - LAG(SUM(total)) OVER (ORDER BY ordered) GROUP BY ordered
FROM "order" SELECT id, RANK() OVER (ORDER BY total DESC), SUM(total) OVER (PARTITION BY customer_id)
FROM customer SELECT ROUND(100.0 * SUM(CASE WHEN city = 'Bergen' THEN 1 ELSE 0 END) / COUNT(*), 1)
FROM customer SELECT CASE WHEN id > 3 AND active = 1 THEN 'York' ELSE name END, COUNT(*)
FROM customer SELECT name WHERE id NOT IN (FROM "order" SELECT customer_id WHERE total >= 10)
FROM customer SELECT name WHERE id IN (FROM "order" SELECT customer_id INTERSECT FROM "order" SELECT id)
FROM customer SELECT name WHERE id IN (FROM "order" JOIN item SELECT "order".customer_id WHERE item.price > 3)
FROM customer JOIN "order" SELECT customer.name, SUM("order".total) GROUP BY customer.id
FROM "order" LEFT JOIN customer JOIN item SELECT customer.name WHERE customer.city = 'Bergen' ORDER BY item.price
FROM product JOIN item JOIN "order" JOIN customer SELECT product.title, COUNT(DISTINCT customer.id)
FROM customer JOIN transfer ON transfer.to_id = customer.id SELECT customer.name, SUM(transfer.amount)
FROM transfer JOIN customer ON transfer.from_id = customer.id SELECT customer.name, SUM(transfer.amount)
FROM product SELECT AVG(weight), strftime('%Y', launch_date) WHERE launch_date > 2020 OR launch_date = '2021-03'
FROM item SELECT SUM(price * (1 - price)), "größe", "the ""best"""
FROM customer SELECT name UNION FROM product SELECT title ORDER BY title LIMIT 3
FROM customer SELECT name EXCEPT FROM customer JOIN "order" SELECT customer.name
'''

REFUSED = r"""
SELECT name FROM customer
from customer select name
FROM customer SELECT *
FROM customer SELECT name;
FROM customer SELECT password
FROM customer SELECT total
FROM customer SELECT customer.name
FROM secret SELECT name
FROM customer AS c SELECT name
FROM customer SELECT name AS n
FROM customer SELECT name ORDER BY name ASC
FROM customer SELECT SUM(name)
FROM customer SELECT AVG(city)
FROM customer SELECT name + 1
FROM customer SELECT strftime('%Y', name)
FROM customer SELECT strftime('%s', joined_on)
FROM customer SELECT name WHERE city = 'Paris'
FROM customer SELECT name WHERE name = 'Bergen'
FROM customer SELECT name WHERE name = 'NEW YORK'
FROM customer SELECT name WHERE name = 3
FROM customer SELECT name WHERE id = 'oslo'
FROM customer SELECT name WHERE id = 1234567890123
FROM customer SELECT name WHERE id LIKE '%oslo%'
FROM customer SELECT name WHERE SUM(id) > 3
FROM customer SELECT name LIMIT 0
FROM customer SELECT name WHERE id IN (FROM customer SELECT id, name)
FROM product SELECT strftime('%Y', weight)
FROM customer SELECT load_extension('oslo')
FROM customer JOIN "order" SELECT name
FROM customer JOIN "order" SELECT item.price
FROM customer JOIN "order" ON customer.id = "order".customer_id SELECT customer.name
FROM customer JOIN transfer SELECT customer.name
FROM customer JOIN transfer ON transfer.amount = customer.id SELECT customer.name
FROM customer JOIN customer SELECT customer.name
FROM product JOIN "order" SELECT product.id
FROM product JOIN "order" ON product.title = "order".id SELECT product.id
FROM item SELECT größe
FROM item SELECT SUM(order_id)
FROM customer SELECT name WHERE joined_on < name
FROM product JOIN "order" ON product.title = "order".note SELECT product.id, "order".id
INSERT INTO customer VALUES (1)
"""


@pytest.mark.parametrize("text", ADMITTED.strip().splitlines())
def test_admits(shop, text):
    read = shop.reads_up_to(text)
    assert shop.accepts(text), f"read up to {text[:read]}"


@pytest.mark.parametrize("text", REFUSED.strip().splitlines())
def test_refuses(shop, text):
    assert not shop.accepts(text)


def test_a_table_without_any_key_may_be_joined_by_columns_of_one_kind() -> None:
    given = catalog(table("a", {"x": "INTEGER", "y": "TEXT"}), table("b", {"z": "INTEGER"}))
    assert grammar_of(given).accepts("FROM a JOIN b ON a.x = b.z SELECT a.y")


def test_outputs_over_windows_are_for_questions_that_want_one() -> None:
    running = 'FROM "order" SELECT ordered, SUM(SUM(total)) OVER (ORDER BY ordered) GROUP BY ordered'
    assert grammar_of(SHOP, "Cumulative total by day").accepts(running)
    assert not grammar_of(SHOP, "Total by day").accepts(running)


def test_where_units_are_asked_for_nothing_is_multiplied() -> None:
    money, units = 'FROM "order" SELECT SUM(total * id)', 'FROM "order" SELECT 100.0 * SUM(total)'
    assert grammar_of(SHOP, "Which sold the most?").accepts(money)
    assert grammar_of(SHOP, "What did the units sold bring in, in dollars?").accepts(money)
    for question in ("Which sold the most units?", "Сколько штук продали?", "卖了多少件？"):
        assert not grammar_of(SHOP, question).accepts(money)
        assert grammar_of(SHOP, question).accepts(units)


def test_only_what_may_be_null_is_asked_for_null() -> None:
    sale = Table(
        "sale",
        (Column("id", "INTEGER", nullable=False), Column("open", "BOOLEAN", nullable=False), Column("note", "TEXT")),
        primary_key=("id",),
    )
    grammar = grammar_of(catalog(sale))
    assert grammar.accepts("FROM sale SELECT COUNT(*) WHERE note IS NULL")
    assert grammar.accepts("FROM sale SELECT COUNT(*) WHERE id IS NOT NULL")
    assert grammar.accepts("FROM sale SELECT COUNT(*) WHERE open = TRUE")
    assert not grammar.accepts("FROM sale SELECT COUNT(*) WHERE open IS NOT NULL")


def test_a_year_is_compared_with_a_year() -> None:
    grammar = grammar_of(SHOP, "How many in May 2024?")
    of_year = "FROM \"order\" SELECT COUNT(*) WHERE strftime('%Y', ordered) = '{}'"
    assert grammar.accepts(of_year.format("2024"))
    assert not grammar.accepts(of_year.format("2024-05"))
    assert not grammar.accepts(of_year.format("05"))
    assert grammar.accepts("FROM \"order\" SELECT COUNT(*) WHERE strftime('%Y-%m', ordered) = '2024-05'")
    assert grammar.accepts("FROM \"order\" SELECT COUNT(*) WHERE strftime('%Y', ordered) IN ('2023', '2024')")
    assert grammar.accepts("FROM \"order\" SELECT COUNT(*) WHERE strftime('%Y', ordered) = strftime('%Y', paid)")


def test_of_several_dates_one_that_the_question_names_leaves_the_others_out() -> None:
    by_month = "FROM \"order\" SELECT strftime('%m', {}), COUNT(*) GROUP BY strftime('%m', {})"
    paid, ordered = by_month.format("paid", "paid"), by_month.format("ordered", "ordered")
    assert grammar_of(SHOP, "How many were paid in each month?").accepts(paid)
    assert not grammar_of(SHOP, "How many were paid in each month?").accepts(ordered)
    assert grammar_of(SHOP, "How many in each month?").accepts(paid)
    assert grammar_of(SHOP, "How many in each month?").accepts(ordered)
    assert grammar_of(SHOP, "How many ordered and paid in one month?").accepts(paid)


STAY = table("stay", {"id": "INTEGER", "date_arrived": "TEXT", "date_departed": "TEXT", "booked_on": "DATE"})


@pytest.mark.parametrize(
    ("question", "columns"),
    [
        ("List the arrival date and the departure date.", ["date_arrived", "date_departed"]),
        ("When did they depart?", ["date_departed"]),
        # Two dates, of which a column names one: the other may be any.
        ("Show the date of arrival and the date of the reservation.", ["date_arrived", "date_departed", "booked_on"]),
        ("Which were booked in May?", ["booked_on"]),
    ],
)
def test_a_date_may_be_named_by_another_form_of_its_word(question: str, columns: list[str]) -> None:
    grammar = grammar_of(catalog(STAY), question, ())
    dates = [name for name in ("date_arrived", "date_departed", "booked_on")]
    assert [name for name in dates if grammar.accepts(f"FROM stay SELECT {name}")] == columns


def test_values_of_categories_need_not_be_mentioned() -> None:
    singer = Table(
        "singer",
        (
            Column("country", "TEXT", distinct=3, examples=("France", "Norway")),
            Column("name", "TEXT", distinct=6, examples=("Edith", "Gall")),
        ),
        rows=6,
    )
    values = {("singer", "country"): ("France", "Norway", "Spain"), ("singer", "name"): ("Edith", "Gall", "Zaz")}
    given = Catalog("sqlite", {"singer": singer}, values=values)
    grammar = grammar_of(given, "How many French or Spanish singers?", ())
    assert grammar.accepts("FROM singer SELECT COUNT(*) WHERE country = 'France'")
    assert grammar.accepts("FROM singer SELECT COUNT(*) WHERE country IN ('France', 'Spain')")
    assert grammar.accepts("FROM singer SELECT COUNT(*) WHERE country = 'France' OR country = 'Spain'")
    assert not grammar.accepts("FROM singer SELECT COUNT(*) WHERE name = 'Edith'")


def test_a_linked_number_may_be_compared() -> None:
    links = [LinkedValue("order", "customer_id", "7", "phone")]
    text = 'FROM "order" SELECT COUNT(*) WHERE customer_id = 7'
    assert grammar_of(SHOP, "How many by phone?", links).accepts(text)
    assert not grammar_of(SHOP, "How many by phone?", ()).accepts(text)


@pytest.mark.parametrize(
    ("question", "admitted"),
    [
        ("Names of customers or products, but not of items?", True),
        ("Names of customers or products?", False),
        ("Names of customers that are no products?", False),
    ],
)
def test_three_queries_are_combined_if_the_question_combines_three_sets(question: str, admitted: bool) -> None:
    text = "FROM customer SELECT name UNION FROM product SELECT title EXCEPT FROM item SELECT price"
    grammar = grammar_of(SHOP, question, ())
    grammar.check()
    assert grammar.accepts(text) is admitted
    assert grammar.accepts(text.partition(" EXCEPT")[0])
    assert not grammar.accepts(f"{text} UNION FROM customer SELECT name")


@pytest.mark.parametrize(
    ("start", "admitted", "refused"),
    [
        ("FROM cus", "FROM customer SELECT name", "FROM product SELECT title"),
        ("FROM customer J", 'FROM customer JOIN "order" SELECT customer.name', "FROM customer SELECT name"),
        ("FROM customer S", "FROM customer SELECT name", 'FROM customer JOIN "order" SELECT customer.name'),
        (
            'FROM customer LEFT JOIN "o',
            'FROM customer LEFT JOIN "order" SELECT customer.name',
            'FROM customer JOIN "order" SELECT customer.name',
        ),
        (
            'FROM customer JOIN "order" JOIN it',
            'FROM customer JOIN "order" JOIN item SELECT item.price',
            'FROM customer JOIN "order" SELECT customer.name',
        ),
    ],
)
def test_a_grammar_of_statements_with_a_given_beginning(start: str, admitted: str, refused: str) -> None:
    whole = statement_grammar(SHOP, SHOP.selection(), FREE, ())
    root = whole.joins.root(start)
    assert root
    grammar = Gbnf(whole.with_root(root))
    grammar.check()
    assert grammar.accepts(admitted)
    assert not grammar.accepts(refused)


@pytest.mark.parametrize(
    "start",
    [
        "",
        "SELECT",
        "FROM x",
        "FROM customer ",
        "FROM customer W",
        "FROM customer JOIN transfer ON",
        "FROM product JOIN c",
    ],
)
def test_no_grammar_for_a_beginning_that_no_statement_has(start: str) -> None:
    assert statement_grammar(SHOP, SHOP.selection(), FREE, ()).joins.root(start) is None


@pytest.mark.parametrize(
    ("found", "admitted"),
    [
        ('FROM "order" SELECT customer_id', True),
        ('FROM "order" SELECT DISTINCT customer_id WHERE total > 100', True),
        ('FROM "order" JOIN item SELECT "order".customer_id WHERE item.price > 100', True),
        ('FROM "order" SELECT customer_id WHERE id IN (FROM item SELECT order_id)', True),
        ('FROM "order" SELECT id', False),
        ('FROM "order" SELECT ordered', False),
        ("FROM item SELECT order_id", False),
        ("FROM product SELECT id", False),
        ('FROM "order" SELECT customer_id WHERE id IN (FROM item SELECT product_id)', False),
    ],
)
def test_a_key_is_looked_for_among_the_keys_of_the_same_thing(found: str, admitted: bool) -> None:
    keyed = (replace(one, primary_key=("id",)) for one in (CUSTOMER, ORDER, PRODUCT))
    text = f"FROM customer SELECT name WHERE id NOT IN ({found})"
    assert grammar_of(catalog(*keyed, ITEM), FREE).accepts(text) is admitted


def test_a_value_is_written_as_it_is_stored() -> None:
    grammar = grammar_of(SHOP, "Customers in oslo", [LinkedValue("customer", "city", "OSLO")])
    assert grammar.accepts("FROM customer SELECT name WHERE city = 'OSLO'")
    assert not grammar.accepts("FROM customer SELECT name WHERE city = 'Oslo'")


def draws(grammar: Gbnf, count: int, seed: int = 0) -> list[str]:
    rng = random.Random(seed)
    return [grammar.draw(rng) for _ in range(count)]


def test_every_rule_can_be_read(shop):
    shop.check()


@pytest.mark.parametrize("seed", range(3))
def test_what_is_drawn_is_one_query_over_what_was_selected(shop, seed):
    for text in draws(shop, sample(60, 20), seed):
        tree = sqlglot.parse_one(text, read="sqlite")
        assert isinstance(tree, exp.Query), text
        for select in tree.find_all(exp.Select):
            tables = [one.name for one in select.find_all(exp.Table) if one.parent_select is select]
            assert set(tables) <= set(SHOP.tables), text
            of_scope = [one for one in select.find_all(exp.Column) if one.find_ancestor(exp.Query) is select]
            assert {column.table for column in of_scope} <= ({""} if len(tables) == 1 else set(SHOP.tables)), text
            for column in of_scope:
                assert column.name in SHOP.tables[column.table or tables[0]].column_names, text


@pytest.mark.parametrize("seed", range(3))
def test_what_is_drawn_is_admitted(shop, seed):
    assert all(shop.accepts(text) for text in draws(shop, 5, seed))


def test_subqueries_are_nested_only_so_deep():
    grammar = grammar_of(catalog(CUSTOMER))

    def nested(depth: int) -> str:
        inner = f" WHERE id IN ({nested(depth - 1)})" if depth else ""
        return f"FROM customer SELECT id{inner}"

    assert grammar.accepts(nested(SUBQUERY_DEPTH))
    assert not grammar.accepts(nested(SUBQUERY_DEPTH + 1))


ODD_NAMES = [
    "with space", 'a "quote"', "it's", "back\\slash", "new\nline", "tab\t", "bell\x07", "größe", "客户", "😀", "1st",
    "select", "Order", "GROUP", "a.b", "[x]", "%s", "@k", "{1}", "x" * 200,
]  # fmt: skip
ODD = catalog(*(table(name, {name: "TEXT", "plain": "INTEGER"}) for name in ODD_NAMES))


@pytest.mark.parametrize("name", ODD_NAMES)
def test_odd_names_are_quoted_and_admitted(name):
    grammar = Gbnf(statement_grammar(ODD, {name: [name, "plain"]}, "", ()).text)
    grammar.check()
    assert grammar.accepts(f"FROM {quoted(name)} SELECT {quoted(name)}, plain")
    assert quoted(name) == name or not grammar.accepts(f"FROM {name} SELECT plain")


@pytest.mark.parametrize("names", [["a", "ab", "abc"], ["id", "id_2", "idle", "x"], ['"', '""'], ["ä", "ä b", "ä b c"]])
def test_names_that_begin_alike(names):
    given = catalog(*(table(name, dict.fromkeys(names, "TEXT")) for name in names))
    grammar = grammar_of(given)
    for name in map(quoted, names):
        assert grammar.accepts(f"FROM {name} SELECT {name}")
        other = next(quoted(other) for other in names if quoted(other) != name)
        assert grammar.accepts(f"FROM {name} JOIN {other} ON {name}.{name} = {other}.{name} SELECT {other}.{name}")
    assert not grammar.accepts(f"FROM {quoted(names[0])} SELECT i")


def test_a_schema_stands_before_its_tables():
    sales = table("order", {"id": "INTEGER"}, ForeignKey(("id",), "customer", ("id",)), schema="sales")
    grammar = grammar_of(catalog(CUSTOMER, sales))
    assert grammar.accepts('FROM sales."order" SELECT id')
    assert grammar.accepts('FROM sales."order" JOIN customer SELECT sales."order".id, customer.name')
    assert not grammar.accepts('FROM "order" SELECT id')


def test_a_key_of_several_columns_needs_no_condition():
    pair = {"a": "INTEGER", "b": "INTEGER"}
    given = catalog(table("one", pair), table("two", pair, ForeignKey(("a", "b"), "one", ("a", "b"))))
    assert grammar_of(given).accepts("FROM one JOIN two SELECT one.a")


@pytest.mark.parametrize("kind", ["TEXT", "INTEGER", "DATE", "BOOLEAN", "BLOB", ""])
def test_columns_of_one_kind_alone(kind):
    grammar = grammar_of(catalog(table("t", {"lone": kind})), "", ())
    grammar.check()
    assert grammar.accepts("FROM t SELECT lone, COUNT(*) WHERE lone IS NOT NULL GROUP BY lone")
    assert grammar.accepts("FROM t SELECT SUM(lone)") == (kind in ("INTEGER", "BLOB", ""))


def test_only_selected_columns():
    grammar = Gbnf(
        statement_grammar(SHOP, {"customer": ["name", "gone"], "item": [], "gone": ["id"]}, QUESTION, ()).text
    )
    grammar.check()
    assert grammar.accepts("FROM customer SELECT name WHERE name = 'oslo'")
    assert not grammar.accepts("FROM customer SELECT id")
    assert not grammar.accepts("FROM item SELECT COUNT(*)")


@pytest.mark.parametrize("selection", [{}, {"customer": []}, {"customer": ["gone"]}, {"gone": ["id"]}])
def test_nothing_to_name_is_an_error(selection):
    with pytest.raises(ValueError, match="at least one table"):
        statement_grammar(SHOP, selection, QUESTION, ())


def chain(tables: int, columns: int) -> Catalog:
    """Tables of which each points to the one before it."""
    return catalog(*(
        table(
            f"t{at}",
            {"id": "INTEGER", "t_id": "INTEGER", **{f"c{at}_{number}": "TEXT" for number in range(columns)}},
            *([ForeignKey(("t_id",), f"t{at - 1}", ("id",))] if at else []),
        )
        for at in range(tables)
    ))  # fmt: skip


@pytest.mark.heavy
def test_many_tables_share_a_scope_where_they_join():
    text = statement_grammar(chain(100, 3), chain(100, 3).selection(), "", ()).text
    grammar = Gbnf(text)
    grammar.check()
    assert len(text) < 2_500_000
    assert grammar.accepts("FROM t99 SELECT c99_2")
    assert not grammar.accepts("FROM t99 SELECT c98_2")
    assert grammar.accepts("FROM t97 JOIN t98 JOIN t99 SELECT t99.c99_2, t97.c97_1")
    assert not grammar.accepts("FROM t97 JOIN t99 SELECT t99.c99_2")


def test_many_columns():
    grammar = grammar_of(catalog(table("t", {f"column_{number}": "INTEGER" for number in range(500)})))
    assert grammar.accepts("FROM t SELECT column_499, column_4 WHERE column_49 = 1")


def test_a_long_question_keeps_the_grammar_small():
    text = statement_grammar(SHOP, {"customer": ["name"]}, "many words of a question " * 40, ()).text
    assert len(text) < 20_000


GIVEN = {"shop": SHOP, "one": catalog(CUSTOMER), "odd": ODD, "30 tables": chain(30, 18), "100 tables": chain(100, 3)}


@pytest.mark.heavy
@pytest.mark.embedded
@pytest.mark.parametrize("name", GIVEN)
def test_llama_cpp_reads_the_grammar_and_keeps_to_it(endpoint, name):
    assert_kept(endpoint, GIVEN[name])


@pytest.mark.heavy
@pytest.mark.embedded
def test_llama_cpp_keeps_to_the_grammar_of_the_sample_shop(endpoint, settings):
    given = Services(settings, model=ScriptedModel({})).source(None).catalog
    assert len(given.tables) > 3
    assert_kept(endpoint, given)


def assert_kept(endpoint: Endpoint, given: Catalog) -> None:
    text = statement_grammar(given, given.selection(), QUESTION, VALUES).text
    model = ChatOpenAI(model="embedded", base_url=endpoint.url, api_key=endpoint.key, timeout=120, max_tokens=120)
    answer = model.invoke("Count the rows.\nSQL:", extra_body={"grammar": text})
    finished = answer.response_metadata["finish_reason"] == "stop"
    said = answer.content if finished else answer.content.rstrip("\N{REPLACEMENT CHARACTER}")
    assert said.startswith("FROM ")
    assert Gbnf(text).accepts(said) if finished else Gbnf(text).reads_up_to(said) == len(said)
