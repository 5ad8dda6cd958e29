"""What knowledge changes in a source: comments, joins, hidden and personal columns, values, and its changes."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from datasphinx.agent.retrieval.linked_values import linked_values
from datasphinx.agent.schema.describe import describe
from datasphinx.agent.services import Services
from datasphinx.agent.settings import load_settings
from datasphinx.agent.sources.source import Source
from tests.agent.knowledge.conftest import Open, Write
from tests.support.databases import make_database


def foreign_keys(source: Source, table: str) -> list[tuple[str, str, bool]]:
    return [
        (",".join(foreign.columns), foreign.target, foreign.inferred)
        for foreign in source.catalog.tables[table].foreign_keys
    ]


@pytest.fixture
def undeclared(tmp_path: Path) -> Path:
    """A database without foreign keys, of which one is inferred wrongly."""
    return make_database(
        tmp_path,
        "CREATE TABLE customer (id INTEGER PRIMARY KEY, name TEXT)",
        "CREATE TABLE person (id INTEGER PRIMARY KEY, email TEXT, plan TEXT)",
        "CREATE TABLE invoice (id INTEGER PRIMARY KEY, customer_id INTEGER, billed_to INTEGER)",
        "INSERT INTO person VALUES (1, 'ann@example.com', 'free')",
        name="undeclared.sqlite",
    )


def services_of(tmp_path: Path, database: Path, knowledge: Path | None) -> Services:
    source = {"url": f"sqlite:///{database}", "knowledge": knowledge}
    return Services(load_settings(sources={"billing": source}, cache_dir=tmp_path / "cache"))


def test_descriptions_replace_comments(shop: Open) -> None:
    source = shop("""\
        tables:
          orders:
            description: One row for each order
            columns:
              total_amount: {unit: US dollars}
              channel: {description: Where it was placed, labels: {P: [phone, call], W: web}}
        """)

    text = describe(source.catalog, {"orders": ["channel", "total_amount"]}, source.database.quote, values=False)

    assert text.splitlines()[0].endswith("  -- One row for each order")
    assert "  -- Where it was placed; codes: P = phone, W = web" in text
    assert "  -- sum of its items, US dollars; unit: US dollars" in text


def test_declared_joins_replace_inferred_ones(tmp_path: Path, undeclared: Path, write: Write) -> None:
    without = services_of(tmp_path, undeclared, None).source("billing")
    folder = write("""\
        joins:
          - {from: invoice.customer_id, to: person.id}
          - {from: person.id, to: invoice.billed_to, cardinality: one-to-many}
        """)
    declared = services_of(tmp_path, undeclared, folder).source("billing")

    assert foreign_keys(without, "invoice") == [("customer_id", "customer", True)]
    assert foreign_keys(declared, "invoice") == [("customer_id", "person", False), ("billed_to", "person", False)]
    assert declared.index.with_neighbours(["person"]) == ["person", "invoice"]


def test_forbidden_joins_are_not_offered(shop: Open) -> None:
    source = shop("""\
        forbidden_joins:
          - {from: orders, to: employees, reason: sellers are not assigned to orders}
          - {from: customers.region_id, to: regions.region_id}
        """)

    assert [target for _, target, _ in foreign_keys(source, "orders")] == ["channels", "customers"]
    assert foreign_keys(source, "customers") == []
    assert "employees" not in source.index.with_neighbours(["orders"])


def test_hidden_tables_and_columns_are_not_shown_but_can_be_used(shop: Open) -> None:
    source = shop("""\
        tables:
          employees: {hidden: true}
          customers:
            columns:
              email: {hidden: true}
              region_id: {hidden: true}
        """)
    shown = source.shown_catalog

    assert "employees" not in shown.tables
    assert {"email", "region_id"}.isdisjoint(shown.tables["customers"].column_names)
    assert all(foreign.target != "employees" for table in shown.tables.values() for foreign in table.foreign_keys)
    assert shown.tables["customers"].foreign_keys == ()
    assert "employees" not in source.table_list(5000) and "email" not in source.table_list(5000)
    assert ("customers", "email") not in shown.values
    assert source.execute("SELECT COUNT(email) FROM customers")["rows"] != [[0]]


def test_values_of_personal_columns_are_never_read(tmp_path: Path, undeclared: Path, write: Write) -> None:
    services_of(tmp_path, undeclared, None).source("billing").close()
    folder = write("tables: {person: {columns: {EMAIL: {personal: true}}}}")
    source = services_of(tmp_path, undeclared, folder).source("billing")

    columns = {column.name: column.examples for column in source.catalog.tables["person"].columns}
    assert columns["email"] == () and columns["plan"] == ("free",)
    assert ("person", "email") not in source.catalog.values
    assert source.values.find("ann@example.com") == []
    assert source.values.find("free") != []


@pytest.mark.parametrize(
    ("question", "codes"),
    [
        ("How many phone orders are there?", ["P"]),
        ("orders by phone", ["P"]),
        ("Сколько заказов по телефону?", ["P"]),
        ("电话订单有多少", ["P"]),
        ("orders in the web shop", ["W"]),
        ("customers with a phone", []),
        ("customers without a phone who placed orders", []),
    ],
)
def test_labels_name_stored_codes(shop: Open, question: str, codes: list[str]) -> None:
    source = shop("tables: {orders: {columns: {channel: {labels: {P: [phone, телефон, 电话], W: web shop}}}}}")
    links = linked_values(question, source.values, source.catalog.selection())

    assert [link.value for link in links if (link.table, link.column) == ("orders", "channel")] == codes


def test_a_running_source_picks_up_changes(tmp_path: Path, undeclared: Path, write: Write) -> None:
    folder = write("terms: {paying: {definition: d, condition: person.plan <> 'free'}}")
    services = services_of(tmp_path, undeclared, folder)
    first = services.source("billing")
    assert first.background and first.background.wait(30)
    values = first.values
    unchanged = services.source("billing")
    write("""\
        terms: {paying: {definition: d, condition: person.plan = 'paid'}}
        joins: [{from: invoice.billed_to, to: person.id}]
        """)
    changed = services.source("billing")

    assert unchanged is first
    (term,) = changed.knowledge.relevant("paying persons").definitions
    assert [str(condition) for condition in term.definition.conditions] == ["person.plan = 'paid'"]  # type: ignore[union-attr]
    assert ("billed_to", "person", False) in foreign_keys(changed, "invoice")
    assert changed.values is values and services.source("billing") is changed


def test_new_personal_columns_are_removed_from_a_running_source(tmp_path: Path, undeclared: Path, write: Write) -> None:
    folder = write("tables: {}")
    services = services_of(tmp_path, undeclared, folder)
    assert services.source("billing").values.find("ann@example.com")
    write("tables: {person: {columns: {email: {personal: true}}}}")

    assert services.source("billing").values.find("ann@example.com") == []


def test_knowledge_survives_a_change_of_the_schema(tmp_path: Path, undeclared: Path, write: Write) -> None:
    folder = write("joins: [{from: invoice.billed_to, to: person.id}]")
    services = services_of(tmp_path, undeclared, folder)
    services.source("billing")
    with closing(sqlite3.connect(undeclared)) as connection:
        connection.execute("CREATE TABLE later (id INTEGER PRIMARY KEY)")
    refreshed = services.refresh("billing")

    assert refreshed is not None and "later" in refreshed.catalog.tables
    assert ("billed_to", "person", False) in foreign_keys(refreshed, "invoice")
    assert services.refresh("billing") is None


def test_broken_knowledge_does_not_take_a_source_down(tmp_path: Path, undeclared: Path, write: Write) -> None:
    source = services_of(tmp_path, undeclared, write("tables: [")).source("billing")

    assert source.execute("SELECT plan FROM person")["rows"] == [["free"]]
    assert len(source.knowledge.problems(1)[0]) == 1


def test_folder_is_relative_to_the_working_directory(tmp_path: Path, undeclared: Path, write: Write) -> None:
    write("metrics: {people: {expression: COUNT(person.id)}}")
    (tmp_path / "datasphinx.toml").write_text(
        f'[sources.billing]\nurl = "sqlite:///{undeclared}"\nknowledge = "knowledge/"\n'
    )

    (item,) = Services(load_settings(cache_dir=tmp_path / "cache")).source("billing").knowledge.knowledge.items
    assert str(item.place) == "knowledge/shop.yml:1"


def test_the_sample_shop_has_correct_knowledge(cache_dir: Path) -> None:
    source = Services(load_settings(cache_dir=cache_dir)).source("sample")

    assert {item.kind for item in source.knowledge.knowledge.items} == {"column", "metric", "term", "verified"}
    assert source.check_knowledge() == []
    assert str(source.knowledge.knowledge.items[0].place).startswith("knowledge/shop/")
