import random
import re
import sqlite3
from functools import cache

import pytest
import sqlglot
from langchain_openai import ChatOpenAI
from sqlglot import exp

from agent.models.grammar import SUBQUERY_DEPTH, select_grammar

SHOP = {
    "customer": ["id", "name", "city", "joined"],
    "order": ["id", "customer_id", "total", "ordered on"],
    "item": ["order_id", "price", "größe", 'the "best"', "SELECT"],
}
ONE = {"customer": ["id", "name", "city", "joined"]}


def quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


class Gbnf:
    """Reads a grammar in GBNF; says whether it accepts a text, and draws texts from it."""

    TOKEN = re.compile(r'\s*("(?:\\.|[^"\\])*"|\[(?:\\.|[^\]\\])*\]|[a-zA-Z][a-zA-Z0-9-]*|\{\d+,\d+\}|[()|*+?])')
    ESCAPE = re.compile(r"\\(U[0-9a-f]{8}|x[0-9A-F]{2}|.)", re.DOTALL)

    def __init__(self, text: str):
        self.rules = {}
        for line in text.splitlines():
            name, _, body = line.partition(" ::= ")
            assert name not in self.rules, f"{name} is there twice"
            self.tokens = self.TOKEN.findall(body)
            assert "".join(self.tokens).replace(" ", "") == body.replace(" ", ""), body
            self.rules[name] = self._alternatives()
            assert not self.tokens
        used = {ref for rule in self.rules.values() for ref in self._refs(rule)}
        assert used <= set(self.rules), f"undefined: {used - set(self.rules)}"

    def _refs(self, node):
        if node[0] == "ref":
            yield node[1]
        elif node[0] in ("seq", "alt"):
            for part in node[1]:
                yield from self._refs(part)
        elif node[0] == "rep":
            yield from self._refs(node[1])

    def _alternatives(self):
        found = [self._sequence()]
        while self.tokens and self.tokens[0] == "|":
            self.tokens.pop(0)
            found.append(self._sequence())
        return ("alt", found) if len(found) > 1 else found[0]

    def _sequence(self):
        parts = []
        while self.tokens and self.tokens[0] not in "|)":
            parts.append(self._repeated(self._atom()))
        assert parts
        return ("seq", parts)

    def _atom(self):
        token = self.tokens.pop(0)
        if token == "(":
            inner = self._alternatives()
            assert self.tokens.pop(0) == ")"
            return inner
        if token[0] == '"':
            return ("lit", self.ESCAPE.sub(self._unescape, token[1:-1]))
        if token[0] == "[":
            return ("chars", re.compile(token))
        return ("ref", token)

    def _repeated(self, node):
        if self.tokens and self.tokens[0] == "?":
            self.tokens.pop(0)
            return ("rep", node, 0, 1)
        if self.tokens and self.tokens[0][0] == "{":
            low, high = self.tokens.pop(0)[1:-1].split(",")
            return ("rep", node, int(low), int(high))
        assert not self.tokens or self.tokens[0] not in "*+", "unbounded"
        return node

    @staticmethod
    def _unescape(match):
        code = match[1]
        return {"n": "\n", "r": "\r", "t": "\t"}.get(code) or (chr(int(code[1:], 16)) if len(code) > 1 else code)

    def accepts(self, text: str) -> bool:
        self.ends_of_rule = cache(lambda name, start: frozenset(self._ends(self.rules[name], text, start)))
        return len(text) in self.ends_of_rule("root", 0)

    def _ends(self, node, text, start):
        kind = node[0]
        if kind == "lit":
            return {start + len(node[1])} if text.startswith(node[1], start) else set()
        if kind == "chars":
            return {start + 1} if node[1].fullmatch(text[start : start + 1]) else set()
        if kind == "ref":
            return self.ends_of_rule(node[1], start)
        if kind == "alt":
            return set().union(*(self._ends(part, text, start) for part in node[1]))
        if kind == "seq":
            return self._ends_of_sequence(node[1], text, {start})
        return self._ends_of_repetition(*node[1:], text, {start})

    def _ends_of_sequence(self, parts, text, here):
        for part in parts:
            here = set().union(*(self._ends(part, text, at) for at in here))
        return here

    def _ends_of_repetition(self, node, low, high, text, here):
        found = here if low == 0 else set()
        for count in range(1, high + 1):
            here = set().union(*(self._ends(node, text, at) for at in here))
            found = found | here if count >= low else found
        return found

    def draw(self, rng: random.Random, node=("ref", "root")) -> str:
        kind = node[0]
        if kind == "lit":
            return node[1]
        if kind == "chars":
            return rng.choice([char for char in "aZ09_ %-'é," if node[1].fullmatch(char)] or list("-+*/"))
        if kind == "ref":
            return self.draw(rng, self.rules[node[1]])
        if kind == "alt":
            return self.draw(rng, rng.choice(node[1]))
        if kind == "seq":
            return "".join(self.draw(rng, part) for part in node[1])
        count = min(node[3], node[2] + int(rng.expovariate(1.2)))
        return "".join(self.draw(rng, node[1]) for _ in range(count))


@pytest.fixture(scope="module")
def shop():
    return Gbnf(select_grammar(SHOP, quote))


def draws(grammar: Gbnf, count: int, seed: int = 0) -> list[str]:
    rng = random.Random(seed)
    return [grammar.draw(rng) for _ in range(count)]


def test_what_is_drawn_parses_as_one_select(shop):
    for sql in draws(shop, 300):
        (tree,) = sqlglot.parse(sql.removesuffix(";"), dialect="sqlite")
        assert isinstance(tree, exp.Query), sql


def test_what_is_drawn_names_only_what_was_selected(shop):
    for sql in draws(shop, 300, seed=1):
        tree = sqlglot.parse_one(sql, dialect="sqlite")
        aliases = {alias.alias for alias in tree.find_all(exp.Alias)}
        assert {table.name for table in tree.find_all(exp.Table)} <= set(SHOP)
        for column in tree.find_all(exp.Column):
            known = SHOP[column.table] if column.table else sum(SHOP.values(), [])
            in_order = column.find_ancestor(exp.Ordered) is not None
            assert column.name in known or (in_order and is_alias(column.name, aliases)), sql


def is_alias(name: str, aliases: set[str]) -> bool:
    return name in aliases or re.match(r"(num|total|avg|min|max|share|ratio|diff)_", name) is not None


def test_sqlite_finds_no_syntax_error_in_what_is_drawn(shop):
    with sqlite3.connect(":memory:") as connection:
        for table, columns in SHOP.items():
            connection.execute(f"CREATE TABLE {quote(table)} ({', '.join(map(quote, columns))})")
        for sql in draws(shop, 300, seed=2):
            try:
                connection.execute(f"EXPLAIN {sql}")
            except sqlite3.OperationalError as error:
                assert "syntax" not in str(error) and "unrecognized" not in str(error), sql
    connection.close()


def test_grammar_of_one_table_gives_only_columns_that_resolve():
    with sqlite3.connect(":memory:") as connection:
        connection.execute("CREATE TABLE customer (id, name, city, joined)")
        for sql in draws(Gbnf(select_grammar(ONE, quote)), 200, seed=3):
            try:
                connection.execute(f"EXPLAIN {sql}")
            except sqlite3.OperationalError as error:
                assert re.search(r"no such column: \w+_|ORDER BY|aggregate|same number", str(error)), (sql, error)
    connection.close()


@pytest.mark.parametrize("seed", range(5))
def test_what_is_drawn_is_accepted(shop, seed):
    assert all(shop.accepts(sql) for sql in draws(shop, 5, seed))


ACCEPTED = r'''
SELECT name FROM customer
SELECT name FROM customer;
SELECT customer.name FROM customer
SELECT DISTINCT city, COUNT(*) FROM customer GROUP BY city HAVING COUNT(*) > 3 ORDER BY COUNT(*) DESC, city LIMIT 10
SELECT COUNT(DISTINCT city) FROM customer WHERE name LIKE 'A%' AND (city = 'Oslo' OR city IS NOT NULL)
SELECT name FROM customer WHERE city NOT IN ('Oslo', 'Bergen') AND id BETWEEN 1 AND -2.5
SELECT name FROM customer WHERE name = 'O''Brien' AND city NOT LIKE '%é%'
SELECT id, total FROM "order" WHERE total > (SELECT AVG(total) FROM "order")
SELECT name FROM customer WHERE id NOT IN (SELECT customer_id FROM "order" WHERE total >= 10)
SELECT name FROM customer WHERE id IN (SELECT customer_id FROM "order" WHERE id IN (SELECT order_id FROM item))
SELECT customer.name, total FROM customer JOIN "order" ON customer.id = "order".customer_id
SELECT name FROM "order" LEFT JOIN customer ON "order".customer_id = customer.id JOIN item ON item.order_id = "order".id
SELECT strftime('%Y-%m', joined), COUNT(*) AS num_customers FROM customer GROUP BY strftime('%Y-%m', joined)
SELECT city, COUNT(*) AS num_customers FROM customer GROUP BY city ORDER BY num_customers DESC LIMIT 1
SELECT ROUND(100.0 * SUM(CASE WHEN city = 'Oslo' THEN 1 ELSE 0 END) / COUNT(*), 1) AS share_oslo FROM customer
SELECT MAX(total) - MIN(total) FROM "order"
SELECT SUM(price * (1 - order_id)) FROM item
SELECT "größe", "the ""best""", "SELECT" FROM item ORDER BY "größe" ASC
SELECT name FROM customer UNION SELECT city FROM customer
'''

REFUSED = r"""
SELECT * FROM customer
SELECT password FROM customer
SELECT total FROM customer
SELECT customer.total FROM customer JOIN "order" ON customer.id = "order".customer_id
SELECT id FROM customer JOIN "order" ON customer.id = "order".customer_id
SELECT name FROM customer JOIN customer ON customer.id = customer.id
SELECT name FROM customer JOIN item ON customer.id = "order".id
SELECT name FROM customer AS c
SELECT name AS select FROM customer
SELECT name FROM secret
SELECT name FROM customer WHERE SUM(id) > 3
SELECT name FROM customer WHERE name = 'a\'
SELECT name FROM customer; DROP TABLE customer
SELECT name FROM customer -- comment
SELECT name FROM customer WHERE id IN (SELECT id, name FROM customer)
SELECT name FROM customer LIMIT 0
SELECT load_extension('x') FROM customer
INSERT INTO customer VALUES (1)
select name from customer
SELECT größe FROM item
"""


@pytest.mark.parametrize("sql", ACCEPTED.strip().splitlines())
def test_accepts(shop, sql):
    assert shop.accepts(sql)


@pytest.mark.parametrize("sql", REFUSED.strip().splitlines())
def test_refuses(shop, sql):
    assert not shop.accepts(sql)


def test_subqueries_are_nested_only_so_deep():
    grammar = Gbnf(select_grammar(ONE, quote))

    def nested(depth: int) -> str:
        inner = f" WHERE id IN ({nested(depth - 1)})" if depth else ""
        return f"SELECT id FROM customer{inner}"

    assert grammar.accepts(nested(SUBQUERY_DEPTH))
    assert not grammar.accepts(nested(SUBQUERY_DEPTH + 1))


@pytest.mark.parametrize("length", [60, 61])
def test_strings_end(length):
    grammar = Gbnf(select_grammar(ONE, quote))
    sql = f"SELECT id FROM customer WHERE name = '{'x' * length}'"
    assert grammar.accepts(sql) == (length == 60)


ODD_NAMES = [
    "with space", 'a "quote"', "it's", "back\\slash", "new\nline", "tab\t", "bell\x07", "größe", "客户", "😀", "1st",
    "select", "Order", "GROUP", "a.b", "[x]", "%s", "$k", "{1}", "x" * 200,
]  # fmt: skip


@pytest.mark.parametrize("name", ODD_NAMES)
def test_odd_names_are_quoted_and_accepted(name):
    grammar = Gbnf(select_grammar({name: [name, "plain"]}, quote))
    assert grammar.accepts(f"SELECT {quote(name)} FROM {quote(name)}") == (name != "x" * 200)
    assert grammar.accepts("SELECT plain FROM " + (quote(name) if name != "x" * 200 else name))


@pytest.mark.parametrize("names", [["a", "ab", "abc"], ["id", "id_2", "idle", "x"], ["a", "a"], ['"', '""']])
def test_names_that_begin_alike(names):
    grammar = Gbnf(select_grammar({"t": names}, lambda name: f"<{name}>"))
    for name in names:
        assert grammar.accepts(f"SELECT {name if name.isidentifier() else f'<{name}>'} FROM t")
    assert not grammar.accepts("SELECT i FROM t")


def test_many_columns_and_tables():
    wide = select_grammar({"t": [f"column_{number}" for number in range(500)]}, quote)
    assert Gbnf(wide).accepts("SELECT column_499, column_4 FROM t WHERE column_49 = 1")
    many = select_grammar({f"t{number}": ["id", f"c{number}"] for number in range(300)}, quote)
    assert len(many) < 300_000
    assert Gbnf(many).accepts("SELECT c299 FROM t299 JOIN t1 ON t1.id = t299.id")
    assert not Gbnf(many).accepts("SELECT c300 FROM t299")


def test_dotted_key_comes_whole_to_quote():
    grammar = Gbnf(select_grammar({"sales.order": ["id"]}, lambda name: ".".join(map(quote, name.split(".")))))
    assert grammar.accepts('SELECT "sales"."order".id FROM "sales"."order"')


@pytest.mark.parametrize("dialect", ["postgres", "duckdb", "mysql"])
def test_dates_are_cut_as_the_dialect_has_it(dialect):
    grammar = Gbnf(select_grammar(ONE, quote, dialect=dialect))
    assert grammar.accepts("SELECT EXTRACT(YEAR FROM joined) FROM customer GROUP BY EXTRACT(YEAR FROM joined)")
    assert not grammar.accepts("SELECT strftime('%Y', joined) FROM customer")
    for sql in draws(grammar, 50):
        assert isinstance(sqlglot.parse_one(sql, dialect=dialect), exp.Query)


def test_postgres_needs_capitals_quoted():
    grammar = Gbnf(select_grammar({"Singer": ["Name", "age"]}, quote, dialect="postgres"))
    assert grammar.accepts('SELECT "Name", age FROM "Singer"')
    assert Gbnf(select_grammar({"Singer": ["Name"]}, quote)).accepts("SELECT Name FROM Singer")


def test_tables_without_columns_are_left_out():
    grammar = Gbnf(select_grammar({"empty": [], **ONE}, quote))
    assert not grammar.accepts("SELECT COUNT(*) FROM empty")


@pytest.mark.parametrize("selection", [{}, {"t": []}])
def test_nothing_to_name_is_an_error(selection):
    with pytest.raises(ValueError, match="at least one table"):
        select_grammar(selection, quote)


@pytest.mark.embedded
@pytest.mark.parametrize(
    "selection",
    [
        SHOP,
        ONE,
        {name: [name, "plain"] for name in ODD_NAMES},
        {"t": [f"column_{number}" for number in range(500)]},
        {f"t{number}": [f"c{number}_{column}" for column in range(25)] for number in range(20)},
        {f"t{number}": ["id", f"c{number}"] for number in range(60)},
    ],
    ids=["shop", "one", "odd names", "500 columns", "20 tables", "60 tables"],
)
def test_llama_cpp_accepts_the_grammar_and_keeps_to_it(endpoint, selection):
    text = select_grammar(selection, quote)
    model = ChatOpenAI(model="embedded", base_url=endpoint, api_key="none", timeout=120, max_tokens=80)
    answer = model.invoke("Count the rows.\nSQL:", extra_body={"grammar": text})
    if answer.response_metadata["finish_reason"] == "stop":
        assert Gbnf(text).accepts(answer.content)
    assert answer.content.startswith("SELECT ")
