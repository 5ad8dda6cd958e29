"""`datasphinx knowledge`."""

import json
from pathlib import Path

import pytest

from datasphinx.agent.sample.shop import shop_url
from tests.support.commands import Run


@pytest.fixture
def configured(tmp_path: Path, cache_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A source `shop` with the knowledge folder that is returned."""
    monkeypatch.setenv("DATASPHINX_CACHE_DIR", str(cache_dir))
    folder = tmp_path / "knowledge" / "shop"
    folder.mkdir(parents=True)
    (tmp_path / "datasphinx.toml").write_text(
        f'[sources.shop]\nurl = "{shop_url(cache_dir)}"\nknowledge = "knowledge/shop/"\n'
    )
    return folder


def test_check_reports_problems_and_fails(run: Run, configured: Path) -> None:
    (configured / "metrics.yml").write_text("metrics:\n  revenue: {expression: SUM(ordrs.total_amount)}\n")

    code, out, _ = run("knowledge", "check", "shop")

    assert code == 3
    assert out.splitlines() == [
        "knowledge/shop/metrics.yml:2: metric `revenue`: there is no table `ordrs`. Did you mean `orders`?",
        "shop: entries: 1, errors: 1",
    ]


def test_check_of_correct_knowledge_succeeds(run: Run, configured: Path) -> None:
    (configured / "metrics.yml").write_text(
        "metrics:\n  revenue: {expression: SUM(orders.total_amount)}\n"
        "  sum: {expression: SUM(orders.total_amount), synonyms: revenue, origin: proposal}\n"
    )

    code, out, _ = run("knowledge", "check", "--json")

    (report,) = json.loads(out)["sources"]
    assert code == 0
    assert {name: report[name] for name in ("source", "entries", "proposals", "errors", "warnings", "problems")} == {
        "source": "shop", "entries": 2, "proposals": 1, "errors": 0, "warnings": 0, "problems": [],
    }  # fmt: skip


def test_check_without_knowledge_says_so(
    run: Run, tmp_path: Path, cache_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATASPHINX_CACHE_DIR", str(cache_dir))
    (tmp_path / "datasphinx.toml").write_text(f'[sources.shop]\nurl = "{shop_url(cache_dir)}"\n')

    assert run("knowledge", "check")[:2] == (
        0, "No source has business knowledge: set `knowledge` in its settings.\n",
    )  # fmt: skip


def test_check_of_an_unknown_source_is_a_usage_error(run: Run, configured: Path) -> None:
    code, _, err = run("knowledge", "check", "shops")

    assert code == 2
    assert "shops" in err


def test_show_prints_entries_and_the_text_of_the_prompt(run: Run, configured: Path) -> None:
    (configured / "metrics.yml").write_text(
        "metrics:\n  revenue:\n    expression: SUM(orders.total_amount)\n    filters: [orders.status <> 'cancelled']\n"
        "tables: {orders: {columns: {channel: {labels: {P: phone}}}}}\n"
    )

    code, out, _ = run("knowledge", "show", "revenue by phone")
    json_code, as_json, _ = run("knowledge", "show", "revenue by phone", "--json")

    assert (code, json_code) == (0, 0)
    assert "knowledge/shop/metrics.yml:2: metric revenue\n" in out
    assert "phone: orders.channel = 'P'\n" in out
    shown = json.loads(as_json)
    assert [entry["id"] for entry in shown["entries"]] == ["metric:revenue", "column:orders.channel"]
    assert "SUM(orders.total_amount); only rows with orders.status <> 'cancelled'" in shown["prompt"]
    assert shown["prompt"] in out and 0 < shown["tokens"] < 100


def test_show_of_an_unknown_word_fails(run: Run, configured: Path) -> None:
    assert run("knowledge", "show", "zebra")[:2] == (3, "no entry has this name\n")


DBT = Path(__file__).parents[2] / "fixtures" / "dbt"


def test_import_reports_the_entries(run: Run, configured: Path) -> None:
    manifest = str(DBT / "v12" / "manifest.json")
    (configured / "metrics.yml").write_text("metrics: {buyers: {expression: COUNT(orders.customer_id)}}\n")
    code, out, _ = run("knowledge", "import", "dbt", manifest, str(DBT / "v12" / "semantic_manifest.json"))
    again = run("knowledge", "import", "dbt", manifest, "--json")
    check = run("knowledge", "check")

    assert (code, again[0], check[0]) == (0, 0, 0)
    lines = out.splitlines()
    assert "imported: metric:net revenue" in lines
    assert "kept because hand-written: metric:buyers" in lines
    assert "not imported: metric.margin: it combines metrics of several tables (`order_items`, `orders`)" in lines
    report = json.loads(again[1])
    assert report["file"] == "knowledge/shop/imported_dbt_shop_analytics.yml"
    assert lines[-1] == (
        f"{report['file']}: {len(report['imported'])} imported, 1 hand-written, {len(report['left_out'])} not imported"
    )


def test_import_of_a_semantic_model(run: Run, configured: Path, tmp_path: Path) -> None:
    model = tmp_path / "shop.yml"
    expression = "{dialects: [{dialect: ANSI_SQL, expression: COUNT(orders.order_id)}]}"
    model.write_text(
        "semantic_model: [{name: shop, datasets: [{name: orders, source: orders}], "
        f"metrics: [{{name: order_count, expression: {expression}}}]}}]\n"
    )
    imported = run("knowledge", "import", "osi", str(model))

    assert imported[0] == 0 and "imported: metric:order count\n" in imported[1]


@pytest.mark.parametrize(
    ("command", "text", "message"),
    [
        ("dbt", None, "No such file"),
        ("dbt", "{", "it is not JSON"),
        ("dbt", "[]", "it is not a JSON object"),
        ("dbt", "{}", "it is not a manifest of dbt"),
        ("osi", "a: &x [*x]", "aliases"),
        ("osi", "semantic_model: 1", "it has no list `semantic_model`"),
    ],
)
def test_files_that_cannot_be_imported(
    run: Run, configured: Path, tmp_path: Path, command: str, text: str | None, message: str
) -> None:
    path = tmp_path / "file"
    if text is not None:
        path.write_text(text)
    code, _, err = run("knowledge", "import", command, str(path))

    assert code == 2
    assert f"The file {path} cannot be imported" in err and message in err
    assert not list(configured.iterdir())
