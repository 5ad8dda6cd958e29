"""The demo asks live and compares; it has no canned answers."""

import io
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from agent import errors
from agent.cli.demo import SHEETS, SHOP, ShopQuestion, run_demo
from agent.llm.scripted import ScriptedModel
from agent.queryspec.columns import Datasets
from agent.queryspec.compile import run as run_spec
from agent.queryspec.spec import QuerySpec
from agent.sample.spreadsheets import RETURNS, STORES
from agent.services import Services
from agent.settings import load_settings
from agent.types import EmbeddedOptions
from tests.commands import Run
from tests.conftest import ScriptedAgent
from tests.fake_openai import FakeOpenAI
from tests.likely import likely
from tests.sample_spreadsheets import MONTHS, returns_rows, stores_rows

Demo = Callable[..., tuple[int, str]]
STATEMENTS = [asked.sql for asked in SHOP]
SPECS = [asked.spec.model_dump(mode="json", by_alias=True, exclude_none=True) for asked in SHEETS]


@pytest.fixture
def demo(scripted: Callable[..., ScriptedAgent]) -> Demo:
    """Runs the demo with these statements and query specs of a large model; how many are right, and what is shown."""

    def run(statements: list[str], specs: list[Any]) -> tuple[int, str]:
        ids = [dataset_of(asked.file, scripted().services) for asked in SHEETS]
        steps = [
            step
            for dataset_id, spec in zip(ids, specs, strict=True)
            for step in (
                {"tool": "run_query", "arguments": {"dataset_id": dataset_id, "query": spec}},
                {"tool": "finish", "arguments": {"answer": ""}},
            )
        ]
        answers = {"GeneratedSQL": [{"sql": sql} for sql in statements], "SQLValidation": ["no JSON"] * 20}
        return shown(scripted({**answers, "AnalystStep": steps}).services)

    return run


def shown(services: Services) -> tuple[int, str]:
    console = Console(file=io.StringIO(), record=True, width=200)
    right = run_demo(services, console)
    return right, console.export_text()


def dataset_of(path: Path, services: Services) -> str:
    return services.registry.create(services.registry.add_file(path)).dataset_id


def rows_of(spec: QuerySpec, file: Path, services: Services) -> list[list[Any]]:
    dataset_id = dataset_of(file, services)
    source = services.datasets([dataset_id])
    return run_spec(spec, Datasets(dataset_id, source.catalog.tables), source)["rows"]


def test_right_answers_are_shown_with_sql_rows_and_cost(demo: Demo) -> None:
    right, text = demo(STATEMENTS, SPECS)
    assert right == 9
    assert "7 of 7 answered like the reference.\n" in text
    assert "2 of 2 answered like the reference.\n" in text
    for asked in [*SHOP, *SHEETS]:
        assert asked.question in text
    assert text.count("✓ the same rows as the reference") == 9
    assert len(re.findall(r"model calls? · \d+ \+ \d+ tokens", text)) == 9
    assert "returns.xlsx, sheet 退货, header in row 2, 48 rows" in text


@pytest.mark.heavy
def test_a_wrong_answer_is_shown_with_the_right_one(demo: Demo) -> None:
    wrong = {**SPECS[0], "sort": [{"by": "total"}]}
    right, text = demo(["SELECT COUNT(*) FROM customers", *STATEMENTS[1:]], [wrong, SPECS[1]])
    assert right == 7
    assert text.count("✗ not the rows of the reference:") == 2
    assert "6 of 7 answered like the reference. Of the other 1, 1 not marked as not sure." in text
    assert "1 of 2 answered like the reference. Of the other 1, 1 not marked as not sure." in text
    assert "Harbour" in text


@pytest.mark.heavy
def test_the_confidence_of_the_embedded_model_is_shown_and_not_sure_is_marked(cache_dir: Path) -> None:
    texts = [likely("FROM orders SELECT COUNT(*)", 0.0001) for _ in SHOP]
    model = ScriptedModel({"text": texts, "QuerySpec": SPECS})
    settings = load_settings(cache_dir=cache_dir, min_confidence=0.5)
    right, text = shown(Services(settings, model=model, embedded=EmbeddedOptions(candidates=1)))
    assert right == 2
    assert len(re.findall(r"confidence 0\.\d\d: not sure", text)) == 5
    assert "0 of 7 answered like the reference. Of the other 7, 0 not marked as not sure." in text


@pytest.mark.heavy
def test_a_question_back_is_marked_as_not_sure(cache_dir: Path) -> None:
    texts = [likely(f"FROM {table} SELECT COUNT(*)", 0.0001) for table in ("orders", "customers", "products")]
    model = ScriptedModel({"text": texts * 20, "QuerySpec": SPECS})
    settings = load_settings(cache_dir=cache_dir, min_confidence=0.5)
    right, text = shown(Services(settings, model=model, embedded=EmbeddedOptions(candidates=3)))
    assert "not sure: asks which one is meant" in text
    assert "0 not marked as not sure." in text[: text.index("Two spreadsheets")]


def test_without_the_packages_of_the_analyst_the_shop_is_asked(
    scripted: Callable[..., ScriptedAgent], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    monkeypatch.setitem(sys.modules, "duckdb", None)
    agent = scripted({"GeneratedSQL": [{"sql": sql} for sql in STATEMENTS], "SQLValidation": ["no JSON"] * 20})
    right, text = shown(agent.services)
    assert right == 7
    assert "datasphinx[analyst]" in text


@pytest.mark.heavy
def test_whatever_the_model_gets_right_the_command_ends_well(
    run: Run, cache_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with FakeOpenAI(default={"sql": "", "assumptions": [], "off_topic": True}) as server:
        monkeypatch.setenv("DATASPHINX_LLM_BASE_URL", server.base_url)
        monkeypatch.setenv("DATASPHINX_LLM_MODEL", "fake")
        monkeypatch.setenv("DATASPHINX_CACHE_DIR", str(cache_dir))
        code, out, _ = run("demo")
    assert code == errors.ANSWERED
    assert "0 of 7 answered" in out and "0 of 2 answered" in out


@pytest.mark.parametrize("asked", SHOP, ids=lambda asked: asked.kind)
def test_the_reference_statements_give_rows(scripted: Callable[..., ScriptedAgent], asked: ShopQuestion) -> None:
    assert scripted().services.source("sample").execute(asked.sql)["rows"]


def test_the_reference_specs_give_the_answers_of_the_author(scripted: Callable[..., ScriptedAgent]) -> None:
    found = [rows_of(asked.spec, asked.file, scripted().services) for asked in SHEETS]
    assert found == [[["Harbour", 112_831.69]], [["海蓝服饰", 820]]]


@pytest.mark.parametrize(("path", "title", "rows"), [(RETURNS, 1, returns_rows()), (STORES, 0, stores_rows())])
def test_the_sample_files_are_what_their_script_makes(
    scripted: Callable[..., ScriptedAgent], path: Path, title: int, rows: list[list[Any]]
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
