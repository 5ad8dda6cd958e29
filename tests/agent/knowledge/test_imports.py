"""Imports from dbt, OSI and CSV, over the sample shop."""

import json
from pathlib import Path
from typing import Any

import pytest

from datasphinx.agent.knowledge.dbt import read_dbt
from datasphinx.agent.knowledge.entries import MetricEntry
from datasphinx.agent.knowledge.folder import read_folder
from datasphinx.agent.knowledge.imports import Imported, ImportReport, import_entries
from datasphinx.agent.knowledge.knowledge import Knowledge
from datasphinx.agent.knowledge.osi import read_osi
from datasphinx.agent.knowledge.references import Unresolved
from datasphinx.agent.knowledge.yaml_text import read_yaml
from datasphinx.agent.sources.source import Source
from tests.agent.knowledge.conftest import Open

DBT = Path(__file__).parents[2] / "fixtures" / "dbt"


def load(path: str) -> Any:
    return json.loads((DBT / path).read_text(encoding="utf-8"))


def bring_in(imported: Imported, source: Source, folder: Path) -> tuple[ImportReport, Knowledge]:
    """Import into `folder`; return the report and the entries of the folder afterwards."""
    folder.mkdir(exist_ok=True)
    report = import_entries(
        imported, folder, read_folder(folder, "k"), source.base_catalog, source.execute, source.complete_values
    )
    return report, read_folder(folder, "k")


def facts(knowledge: Knowledge, id: str) -> dict[str, Any]:
    """Return the fields of an entry that have no default value."""
    (item,) = [item for item in knowledge.items if item.id == id]
    excluded = {"origin", "imported_from"}
    return item.entry.model_dump(mode="json", by_alias=True, exclude_defaults=True, exclude=excluded)


def reasons(report: ImportReport) -> dict[str, str]:
    return {each.subject: each.reason for each in report.left_out}


NET_REVENUE = {
    "definition": "Order totals without cancelled orders.",
    "expression": "SUM(orders.total_amount)",
    "filters": ["orders.status <> 'cancelled'"],
    "date_column": "orders.ordered_on",
}


@pytest.mark.parametrize("version", ["v10", "v12"])
def test_every_version_of_the_manifest_gives_the_same_facts(shop: Open, tmp_path: Path, version: str) -> None:
    source = shop("")
    report, knowledge = bring_in(
        read_dbt(load(f"{version}/manifest.json"), None, source.base_catalog), source, tmp_path
    )

    assert not knowledge.problems
    assert {item.entry.origin for item in knowledge.items} == {"imported"}
    assert facts(knowledge, "table:orders") == {"description": "Order facts, one row for each order."}
    assert facts(knowledge, "table:products")["description"] == "Products on sale or discontinued."
    status = facts(knowledge, "column:orders.status")
    assert status["description"] == "State of the order."
    assert status["labels"] == {code: [code] for code in ("delivered", "shipped", "pending", "cancelled")}
    joins = {item.name: facts(knowledge, item.id).get("cardinality") for item in knowledge.items if item.kind == "join"}
    assert joins == {
        "orders.customer_id = customers.customer_id": None,
        "order_items.order_id = orders.order_id": None,
        "customers.region_id = regions.region_id": None,
    }
    revenue = facts(knowledge, "metric:net revenue")
    assert revenue.items() >= NET_REVENUE.items()
    assert facts(knowledge, "metric:revenue per buyer")["expression"] == (
        "SUM(orders.total_amount) / COUNT(DISTINCT orders.customer_id)"
    )
    assert facts(knowledge, "metric:revenue per buyer")["additivity"] == "non-additive"
    left_out = reasons(report)
    assert left_out["model.shop_analytics.stg_orders"] == "the source has no table `stg_orders`"
    assert "`weight`" in left_out["model.shop_analytics.dim_products.weight"]
    assert left_out["test.shop_analytics.orders_have_items"] == "it is not a generic test"
    assert any("`accepted_range` has no counterpart" in reason for reason in left_out.values())
    assert "window" in left_out["metric.revenue_of_week"]


def test_metrics_of_semantic_models(shop: Open, tmp_path: Path) -> None:
    source = shop("")
    imported = read_dbt(load("v12/manifest.json"), load("v12/semantic_manifest.json"), source.base_catalog)
    report, knowledge = bring_in(imported, source, tmp_path)
    expressions = {
        item.name: (item.entry.expression, item.entry.filters, item.entry.additivity)
        for item in knowledge.items
        if isinstance(item.entry, MetricEntry)
    }

    paid = ("orders.status <> 'cancelled'",)
    assert expressions == {
        "net revenue": ("SUM(orders.total_amount)", paid, "additive"),
        "orders placed": ("COUNT(*)", (), "additive"),
        "enterprise orders": ("COUNT(*)", ("customers.segment = 'Enterprise'",), "additive"),
        "buyers": ("COUNT(DISTINCT orders.customer_id)", paid, "non-additive"),
        "net revenue per order": (
            "1.0 * SUM(CASE WHEN orders.status <> 'cancelled' THEN orders.total_amount END) / NULLIF(COUNT(*), 0)",
            (), "non-additive",
        ),
        "revenue per buyer": ("SUM(orders.total_amount) / COUNT(DISTINCT orders.customer_id)", paid, "non-additive"),
        "revenue to date": ("SUM(orders.total_amount)", (), "semi-additive"),
        "line totals": ("SUM(order_items.line_total)", (), "additive"),
        "large orders": ("COUNT(*)", ("orders.total_amount > 500", "orders.ordered_on >= '2024-01-01'"), "additive"),
        "slow orders": ("SUM(CASE WHEN orders.shipped_on > orders.ordered_on THEN 1 ELSE 0 END)", (), "additive"),
        "highest order": ("MAX(orders.total_amount)", (), "non-additive"),
        "open orders": ("COUNT(*)", (), "semi-additive"),
        "average order": ("AVG(orders.total_amount)", (), "non-additive"),
    }  # fmt: skip
    left_out = reasons(report)
    for subject, reason in {
        "metric.growth": "of another period",
        "metric.margin": "metrics of several tables (`order_items`, `orders`)",
        "metric.visits": "is not imported",
        "metric.large_orders": "`fill_nulls_with`",
        "metric.visit_conversion": "type `conversion`",
        "metric.order_p90": "near",
        "metric.orders_by_month_filter": "timestamp_trunc",
        "semantic_model.sessions": "no table `web_sessions`",
    }.items():
        assert reason in left_out[subject], subject
    assert facts(knowledge, "column:orders.status")["synonyms"] == ["state", "Order state"]
    assert facts(knowledge, "term:is large")["expression"] == "orders.total_amount > 500"


@pytest.mark.parametrize(
    ("manifest", "message"),
    [
        ({}, "not a manifest"),
        ({"metadata": {"dbt_schema_version": "https://schemas.getdbt.com/dbt/manifest/v7.json"}}, "has the version 7"),
        ({"metadata": {"dbt_schema_version": "https://schemas.getdbt.com/dbt/catalog/v1.json"}}, "not a manifest"),
    ],
)
def test_other_artifacts_are_refused(shop: Open, manifest: Any, message: str) -> None:
    with pytest.raises(Unresolved, match=message):
        read_dbt(manifest, None, shop("").base_catalog)


def test_a_repeated_import_overwrites_the_file(shop: Open, tmp_path: Path) -> None:
    source, manifest = shop(""), load("v10/manifest.json")
    first, _ = bring_in(read_dbt(manifest, None, source.base_catalog), source, tmp_path)
    text = (tmp_path / "imported_dbt_shop_analytics.yml").read_text(encoding="utf-8")
    metrics = manifest["metrics"]
    metrics["metric.shop_analytics.orders_placed"]["description"] = "All orders."
    del metrics["metric.shop_analytics.line_totals"]
    (tmp_path / "own.yml").write_text("metrics: {Net-Revenue: {expression: SUM(orders.total_amount)}}")
    again, knowledge = bring_in(read_dbt(manifest, None, source.base_catalog), source, tmp_path)

    assert len(first.imported) > 20
    assert text.startswith("# yaml-language-server")
    assert set(first.imported) - set(again.imported) == {"metric:net revenue", "metric:line totals"}
    assert facts(knowledge, "metric:orders placed")["definition"] == "All orders."
    assert again.hand_written == ("metric:net revenue",)
    assert not knowledge.problems
    assert facts(knowledge, "metric:Net-Revenue") == {"expression": "SUM(orders.total_amount)"}


def test_hand_written_entries_win_also_over_an_earlier_import(shop: Open, tmp_path: Path) -> None:
    source = shop("")
    bring_in(read_dbt(load("v10/manifest.json"), None, source.base_catalog), source, tmp_path)
    (tmp_path / "own.yml").write_text(
        "metrics: {net revenue: {expression: SUM(order_items.line_total)}}\n"
        "tables: {orders: {columns: {status: {synonyms: state}}}}\n"
    )
    knowledge = read_folder(tmp_path, "k")

    assert not knowledge.problems
    assert facts(knowledge, "metric:net revenue") == {"expression": "SUM(order_items.line_total)"}
    assert facts(knowledge, "column:orders.status") == {"synonyms": ["state"]}
    assert facts(knowledge, "table:orders") == {"description": "Order facts, one row for each order."}


def test_imported_joins_are_checked_on_the_data(shop: Open, tmp_path: Path) -> None:
    source, manifest = shop(""), load("v12/manifest.json")
    nodes = manifest["nodes"]
    nodes["test.shop_analytics.unique_order_items_order_id.0123456789"] = {
        **nodes["test.shop_analytics.unique_orders_order_id.0123456789"],
        "attached_node": "model.shop_analytics.order_items",
    }
    report, knowledge = bring_in(read_dbt(manifest, None, source.base_catalog), source, tmp_path)

    join = "test.shop_analytics.relationships_order_items_order_id.0123456789"
    assert "declared one-to-one" in reasons(report)[join]
    assert "join:order_items.order_id = orders.order_id" not in {item.id for item in knowledge.items}


OSI = """\
semantic_model:
  - name: shop
    ai_context: {instructions: Amounts are net of tax., examples: [Show sales by region]}
    datasets:
      - name: sales_orders
        source: prod.main.orders
        primary_key: [order_id]
        description: One row for each order
        ai_context: "purchases, sales orders"
        fields:
          - name: channel_code
            expression: {dialects: [{dialect: ANSI_SQL, expression: channel}]}
            description: Channel of the sale
            label: filter
          - name: gross_total
            expression: {dialects: [{dialect: SNOWFLAKE, expression: "total_amount * 1.2"}]}
            description: Total with tax
            ai_context: {synonyms: [total with tax]}
          - name: cube
            expression: {dialects: [{dialect: MDX, expression: "[Measures].[X]"}]}
      - name: customers
        source: customers
        primary_key: [customer_id]
      - name: derived
        source: SELECT 1
    relationships:
      - name: orders_to_customers
        from: sales_orders
        to: customers
        from_columns: [customer_id]
        to_columns: [customer_id]
      - {name: to_nothing, from: sales_orders, to: derived, from_columns: [customer_id], to_columns: [x]}
    metrics:
      - name: total_gross
        expression: [{dialect: ANSI_SQL, expression: SUM(sales_orders.gross_total)}]
        description: Gross sales
      - name: orders_per_customer
        expression:
          dialects:
            - {dialect: ANSI_SQL, expression: COUNT(sales_orders.order_id) / COUNT(DISTINCT customers.customer_id)}
        ai_context: {synonyms: [order rate]}
      - name: wrong
        expression: {dialects: [{dialect: ANSI_SQL, expression: SUM(sales_orders.nothing)}]}
    custom_extensions: [{vendor_name: SNOWFLAKE, data: '{"warehouse": "W"}'}]
"""


def test_osi_import(shop: Open, tmp_path: Path) -> None:
    source = shop("")
    report, knowledge = bring_in(read_osi(read_yaml(OSI).value, "shop", source.base_catalog), source, tmp_path)

    assert not knowledge.problems
    assert facts(knowledge, "table:orders") == {
        "description": "One row for each order", "synonyms": ["sales orders", "purchases"],
    }  # fmt: skip
    assert facts(knowledge, "column:orders.channel") == {
        "description": "Channel of the sale", "synonyms": ["channel code"],
    }  # fmt: skip
    assert facts(knowledge, "term:gross total") == {
        "definition": "Total with tax", "synonyms": ["total with tax"], "tables": ["orders"],
        "expression": "orders.total_amount * 1.2",
    }  # fmt: skip
    assert facts(knowledge, "join:orders.customer_id = customers.customer_id") == {
        "from": ["orders.customer_id"], "to": ["customers.customer_id"],
    }  # fmt: skip
    assert facts(knowledge, "metric:total gross") == {
        "definition": "Gross sales", "expression": "SUM((orders.total_amount * 1.2))",
    }  # fmt: skip
    assert facts(knowledge, "metric:orders per customer")["synonyms"] == ["order rate"]
    assert knowledge.instructions == "Amounts are net of tax."
    left_out = reasons(report)
    assert left_out == {
        "shop": "a custom extension of SNOWFLAKE",
        "dataset sales_orders.channel_code": "`label` of a field has no counterpart",
        "dataset sales_orders.cube": "it has no SQL expression, only MDX",
        "dataset derived": "its source `SELECT 1` is not a table of this source",
        "relationship to_nothing": "the dataset `derived` is not imported",
        "metric wrong": "the table `orders` has no column `nothing`",
    } | {"shop": left_out["shop"]}
    assert ("shop", "example questions, which have no SQL") in report.left_out


def test_osi_needs_a_semantic_model(shop: Open) -> None:
    for document in (None, [], {"semantic_model": {"name": "x"}}):
        with pytest.raises(Unresolved, match="no list `semantic_model`"):
            read_osi(document, "x", shop("").base_catalog)
