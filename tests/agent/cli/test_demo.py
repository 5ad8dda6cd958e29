"""The demo asks live; its measurement compares the answers with references."""

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from datasphinx.agent import errors
from datasphinx.agent.cli.demo import run_demo
from datasphinx.agent.evals.demo import SHEETS, SHOP, ShopQuestion, judged_answers
from datasphinx.agent.queryspec.columns import Datasets
from datasphinx.agent.queryspec.compile import run as run_spec
from datasphinx.agent.queryspec.spec import QuerySpec
from datasphinx.agent.sample.spreadsheets import RETURNS, STORES
from datasphinx.agent.services import Services
from tests.conftest import MakeAgent
from tests.support.commands import Run
from tests.support.fake_openai import FakeOpenAI
from tests.support.sample_spreadsheets import MONTHS, returns_rows, stores_rows

STATEMENTS = [asked.sql for asked in SHOP]
SPECS = [asked.spec.model_dump(mode="json", by_alias=True, exclude_none=True) for asked in SHEETS]
UNITS = (
    "SELECT p.name, SUM(i.quantity) AS units FROM order_items AS i JOIN products AS p ON p.product_id = i.product_id "
    "GROUP BY p.product_id, p.name ORDER BY units DESC LIMIT 5"
)
SALES = "SELECT strftime('%m', ordered_on) AS month, SUM(total_amount) AS sales FROM orders GROUP BY 1 ORDER BY 1"


def scripted_services(scripted: MakeAgent, statements: list[str], specs: list[Any], files: list[Path]) -> Services:
    """Services whose model writes these statements and query specs."""
    ids = [dataset_of(file, scripted().services) for file in files]
    steps = [
        step
        for dataset_id, spec in zip(ids, specs, strict=True)
        for step in (
            {"tool": "run_query", "arguments": {"dataset_id": dataset_id, "query": spec}},
            {"tool": "finish", "arguments": {"answer": ""}},
        )
    ]
    forms = {SALES: {"output_type": "plot"}}
    answers = {
        "GeneratedSQL": [{"sql": sql, **forms.get(sql, {})} for sql in statements],
        "SQLValidation": ["no JSON"] * 20,
    }
    return scripted({**answers, "AnalystStep": steps}).services


def shown(services: Services) -> str:
    console = Console(file=io.StringIO(), record=True, width=200)
    run_demo(services, console)
    return console.export_text()


def dataset_of(path: Path, services: Services) -> str:
    return services.registry.create(services.registry.add_file(path)).dataset_id


def rows_of(spec: QuerySpec, file: Path, services: Services) -> list[list[Any]]:
    dataset_id = dataset_of(file, services)
    source = services.datasets([dataset_id])
    return run_spec(spec, Datasets(dataset_id, source.catalog.tables), source)["rows"]


def test_three_questions_are_answered_with_rows_chart_and_sql(scripted: MakeAgent) -> None:
    text = shown(scripted_services(scripted, [UNITS, SALES], SPECS[:1], [STORES]))
    assert "Whiteboard Marker Set" in text and "SUM(i.quantity)" in text
    bars = [line.split()[1] for line in text.splitlines() if "█" in line]
    assert bars[0] == "Whiteboard" and bars[-12:] == [f"{month:02}" for month in range(1, 13)]
    assert "Harbour" in text and "112,831.69" in text
    assert "execute_sql" not in text


def test_without_the_packages_of_the_analyst_the_shop_is_asked(
    scripted: MakeAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    monkeypatch.setitem(sys.modules, "duckdb", None)
    text = shown(scripted_services(scripted, [UNITS, SALES], [], []))
    assert "Whiteboard Marker Set" in text
    assert "datasphinx[analyst]" in text


@pytest.mark.heavy
def test_right_answers_match_their_references(scripted: MakeAgent) -> None:
    judged = list(judged_answers(scripted_services(scripted, STATEMENTS, SPECS, [STORES, RETURNS])))
    assert [one.question for one in judged] == [asked.question for asked in (*SHOP, *SHEETS)]
    assert all(one.matched for one in judged)


@pytest.mark.heavy
def test_wrong_answers_that_are_presented_as_answers_are_counted(scripted: MakeAgent) -> None:
    wrong = {**SPECS[0], "sort": [{"by": "total"}]}
    statements = ["SELECT COUNT(*) FROM customers", *STATEMENTS[1:]]
    judged = list(judged_answers(scripted_services(scripted, statements, [wrong, SPECS[1]], [STORES, RETURNS])))
    assert [at for at, one in enumerate(judged) if not one.matched] == [0, 7]
    assert judged[7].is_confident_error


@pytest.mark.heavy
def test_whatever_the_model_gets_right_the_commands_end_well(run: Run, model: FakeOpenAI) -> None:
    model.default = {"sql": "", "assumptions": [], "off_topic": True}
    assert run("demo")[0] == errors.ANSWERED
    code, out, _ = run("eval", "demo", "--json")
    assert code == errors.ANSWERED
    assert json.loads(out) == {"questions": 9, "matched": 0, "confident_errors": 0}


@pytest.mark.parametrize("asked", SHOP, ids=lambda asked: asked.kind)
def test_the_reference_statements_give_rows(scripted: MakeAgent, asked: ShopQuestion) -> None:
    assert scripted().services.source("sample").execute(asked.sql)["rows"]


def test_the_reference_specs_give_the_answers_of_the_author(scripted: MakeAgent) -> None:
    found = [rows_of(asked.spec, asked.file, scripted().services) for asked in SHEETS]
    assert found == [[["Harbour", 112_831.69]], [["海蓝服饰", 820]]]


@pytest.mark.parametrize(("path", "title", "rows"), [(RETURNS, 1, returns_rows()), (STORES, 0, stores_rows())])
def test_the_sample_files_are_what_their_script_makes(
    scripted: MakeAgent, path: Path, title: int, rows: list[list[Any]]
) -> None:
    services = scripted().services
    dataset_id = dataset_of(path, services)
    source = services.datasets([dataset_id])
    header, *expected = rows[title:]
    assert [column.name for column in source.catalog.tables[dataset_id].columns] == header
    found = source.execute(f'SELECT * FROM "{dataset_id}"')["rows"]
    # A month is read as its first day.
    days = [[f"{cell}-01" if cell in MONTHS else cell for cell in row] for row in expected]
    assert found == [[str(cell) if hasattr(cell, "isoformat") else cell for cell in row] for row in days]


def test_the_chinese_sheet_has_the_headers_that_it_is_known_by() -> None:
    assert returns_rows()[1] == ["账号", "月份", "退货数量", "产品质量", "物流异常", "购买风险"]
