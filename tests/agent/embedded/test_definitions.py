"""Terms and metrics in the prompts, grammars and statements of the embedded model."""

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from pydantic import SecretStr

from datasphinx.agent.embedded.definitions import DefinedColumns, defined_columns
from datasphinx.agent.embedded.expand import expand
from datasphinx.agent.embedded.grammar.statement import statement_grammar
from datasphinx.agent.embedded.prompts import statement_messages
from datasphinx.agent.embedded.server import Endpoint
from datasphinx.agent.graph import build_graph
from datasphinx.agent.knowledge.folder import read_folder
from datasphinx.agent.sample.shop import shop_url
from datasphinx.agent.services import Services
from datasphinx.agent.settings import SourceSettings, load_settings
from datasphinx.agent.sources.source import Source, open_source
from datasphinx.agent.types import EmbeddedOptions, Limits

KNOWLEDGE = """\
metrics:
  net sales:
    synonyms: [revenue, выручка]
    expression: SUM(orders.total_amount)
    filters: [orders.status <> 'cancelled']
  average order value:
    expression: AVG(total_amount)
    tables: orders
    filters: [orders.status <> 'cancelled']
  cancellation rate:
    expression: 100.0 * COUNT(CASE WHEN orders.status = 'cancelled' THEN 1 END) / COUNT(*)
  buyers: {expression: COUNT(DISTINCT orders.customer_id)}
  value per customer: {expression: SUM(orders.total_amount) / COUNT(DISTINCT customers.customer_id)}
terms:
  active customer:
    synonyms: [активный клиент]
    definition: Ordered within 90 days before the end of 2025
    condition: customers.customer_id IN (SELECT customer_id FROM orders WHERE ordered_on > '2025-10-02')
  large order: {definition: Above 1000 dollars, tables: orders, condition: total_amount > 1000}
  late order:
    definition: Shipped more than two days after the order
    tables: [orders]
    condition: julianday(orders.shipped_on) - julianday(orders.ordered_on) > 2
"""
SELECTION = {
    "customers": ["customer_id", "name", "country"],
    "orders": ["order_id", "customer_id", "status", "channel"],
}
ACTIVE = "customers.customer_id IN (SELECT customer_id FROM orders WHERE ordered_on > '2025-10-02')"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("knowledge")
    (path / "shop.yml").write_text(KNOWLEDGE, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def shop(cache_dir: Path, folder: Path) -> Iterator[Source]:
    settings = SourceSettings(url=SecretStr(shop_url(cache_dir)))
    source = open_source(settings, Limits(60, 100), cache_dir=cache_dir, knowledge=read_folder(folder, "k"))
    yield source
    source.close()


Defined = Callable[[str], DefinedColumns]


@pytest.fixture
def defined(shop: Source) -> Defined:
    return lambda question: defined_columns(shop.knowledge.relevant(question), shop.catalog, SELECTION, question)


def test_prompt_shows_terms_and_metrics_as_columns(defined: Defined) -> None:
    columns = defined("What was the выручка of active customers with large orders?")
    messages = statement_messages(columns.catalog, columns.selection, columns.question, columns.values)

    text = messages[-1].text
    assert "country 'United States' 'Germany', term 'active customer')" in text
    assert "net_sales number, term 'large order')" in text
    assert "values: customers.term = 'active customer', orders.term = 'large order'" in text
    assert "What was the net sales of active customers" in text


def test_question_without_definitions_is_unchanged(shop: Source, defined: Defined) -> None:
    columns = defined("How many orders are there?")

    assert columns.catalog is shop.catalog and columns.selection is SELECTION
    assert columns.resolved("SELECT 1") == "SELECT 1"


def test_grammar_admits_metrics_within_whole_outputs_only(defined: Defined) -> None:
    columns = defined("What were the net sales of large orders?")
    grammar = statement_grammar(
        columns.catalog, columns.selection, columns.question, columns.values, columns.metric_kinds
    ).text

    assert 'k1-m ::= "net_sales"' in grammar
    assert 'k1-metric ::= total "(" k1-m ")"' in grammar
    assert '("large order")' in grammar
    rules = dict(line.split(" ::= ", 1) for line in grammar.splitlines())
    assert 'total "(" "DISTINCT' not in rules["k1-agg"]
    # A metric is not part of arithmetic: "rate" in its name would become a second division.
    assert "k1-metric" not in rules["k1-agg"] and rules["k1-item"].endswith("| k1-metric")


def test_statement_begins_with_the_table_of_a_metric(defined: Defined) -> None:
    columns = defined("How many buyers were there?")
    grammar = statement_grammar(
        columns.catalog, columns.selection, columns.question, columns.values, columns.metric_kinds
    )
    rules = dict(line.split(" ::= ", 1) for line in grammar.text.splitlines())

    assert rules["root"] == '"FROM " ("orders" k1-root)' and '"customers"' in rules["sub1"]
    assert '"COUNT(" k1-c ")"' in rules["k1-metric"] and '"COUNT("' not in rules["k1-agg"]
    assert columns.resolved(expand("FROM orders SELECT COUNT(buyers)", columns.catalog)) == (
        "SELECT COUNT(DISTINCT orders.customer_id) AS buyers FROM orders"
    )


def test_statements_are_rewritten_with_the_definitions(defined: Defined) -> None:
    columns = defined("active customers, large orders, late orders, net sales, average order value, cancellation rate")
    paid = "orders.status <> 'cancelled'"
    large = "(total_amount > 1000)"
    cases = {
        "FROM customers SELECT COUNT(*) WHERE term = 'active customer'": (
            f"SELECT COUNT(*) AS number_of_customers FROM customers WHERE ({ACTIVE})"
        ),
        "FROM customers SELECT name WHERE term != 'active customer' AND country = 'Spain'": (
            f"SELECT name FROM customers WHERE NOT ({ACTIVE}) AND country = 'Spain'"
        ),
        "FROM orders SELECT SUM(net_sales)": f"SELECT SUM(orders.total_amount) AS net_sales FROM orders WHERE {paid}",
        "FROM orders SELECT channel, AVG(average_order_value) WHERE term = 'large order' GROUP BY channel": (
            "SELECT channel, AVG(total_amount) AS average_order_value FROM orders "
            f"WHERE {large} AND {paid} GROUP BY channel"
        ),
        "FROM orders JOIN customers SELECT SUM(orders.net_sales) WHERE orders.term = 'large order'": (
            "SELECT SUM(orders.total_amount) AS net_sales FROM orders JOIN customers ON "
            f"orders.customer_id = customers.customer_id WHERE (orders.total_amount > 1000) AND {paid}"
        ),
        "FROM orders SELECT SUM(net_sales), COUNT(*)": (
            f"SELECT SUM(CASE WHEN {paid} THEN orders.total_amount END) AS net_sales, COUNT(*) AS number_of_orders "
            "FROM orders"
        ),
        "FROM orders SELECT channel GROUP BY channel ORDER BY SUM(net_sales) / COUNT(*) DESC LIMIT 1": (
            "SELECT channel FROM orders GROUP BY channel "
            f"ORDER BY SUM(CASE WHEN {paid} THEN orders.total_amount END) / COUNT(*) DESC LIMIT 1"
        ),
        "FROM orders SELECT SUM(cancellation_rate)": (
            "SELECT 100.0 * COUNT(CASE WHEN orders.status = 'cancelled' THEN 1 END) / COUNT(*) AS cancellation_rate "
            "FROM orders"
        ),
    }
    for compact, sql in cases.items():
        assert columns.resolved(expand(compact, columns.catalog)) == sql


@pytest.mark.parametrize(
    "compact",
    [
        "FROM orders SELECT net_sales",
        "FROM orders SELECT COUNT(*) WHERE net_sales > 100",
        "FROM customers SELECT term, COUNT(*) GROUP BY term",
        "FROM customers SELECT COUNT(*) WHERE term = 'something else'",
    ],
)
def test_other_uses_are_refused(defined: Defined, compact: str) -> None:
    columns = defined("active customers, net sales")

    with pytest.raises(ValueError, match="used outside"):
        columns.resolved(expand(compact, columns.catalog))


def test_columns_have_names_that_are_free(shop: Source) -> None:
    question = "net sales of large orders"
    relevant = shop.knowledge.relevant(question)
    catalog = defined_columns(relevant, shop.catalog, SELECTION, question).catalog
    again = defined_columns(relevant, catalog, {**SELECTION, "orders": ["order_id"]}, question)

    assert again.catalog.tables["orders"].column_names[-2:] == ("net_sales_2", "term_2")


def test_definitions_of_one_table_have_names_of_their_own(tmp_path: Path, cache_dir: Path) -> None:
    knowledge = """
metrics:
  net revenue: {expression: SUM(orders.total_amount)}
  term: {expression: AVG(orders.total_amount)}
terms:
  large order: {definition: Above 1000, tables: orders, condition: total_amount > 1000}
"""
    (tmp_path / "shop.yml").write_text(knowledge, encoding="utf-8")
    settings = SourceSettings(url=SecretStr(shop_url(cache_dir)))
    with closing(open_source(settings, Limits(60, 100), knowledge=read_folder(tmp_path, "k"))) as source:
        question = "net revenue and term of large orders"
        columns = defined_columns(source.knowledge.relevant(question), source.catalog, SELECTION, question)
    names = [name for _, name in [*columns.metrics, *columns.terms]]
    assert sorted(names) == ["net_revenue", "term", "term_2"]


def test_definitions_of_several_tables_have_no_column(defined: Defined) -> None:
    assert not defined("What is the value per customer?").metrics


@pytest.mark.heavy
@pytest.mark.embedded
def test_the_model_uses_terms_and_metrics(endpoint: Endpoint, user_cache: Path, folder: Path) -> None:
    sources = {"shop": {"url": shop_url(user_cache), "knowledge": str(folder)}}
    services = Services(load_settings(cache_dir=user_cache, sources=sources), embedded=EmbeddedOptions())
    graph = build_graph(services)
    expected = {
        "How many active customers are there?": {"active customer"},
        "Сколько активных клиентов?": {"active customer"},
        "What was the revenue in 2024?": {"net sales"},
        "What is the average order value by channel?": {"average order value"},
        "How many buyers were there in 2023?": {"buyers"},
        "What was the revenue of late orders?": {"net sales", "late order"},
    }
    followed = []
    for question, names in expected.items():
        output = graph.invoke({"question": question, "source": "shop", "clarify": "never"})
        if {each["name"] for each in output["definitions"]} == names:
            followed.append(question)
    # The model misses some; without the definitions in its prompt it follows none.
    assert len(followed) >= len(expected) - 1, followed
    services.models.of().chat._client.close()
