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
from tests.sample_spreadsheets import MONTHS, returns_rows, stores_rows

Demo = Callable[..., tuple[int, str]]
STATEMENTS = [asked.sql for asked in SHOP]
SPECS = [asked.specs[0].model_dump(mode="json", by_alias=True, exclude_none=True) for asked in SHEETS]


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
    assert right == 11
    assert "5 of 5 answered like the reference statements." in text
    assert "6 of 6 answered like the reference queries." in text
    for asked in [*SHOP, *SHEETS]:
        assert asked.question in text
    assert text.count("✓ the same rows as the reference") == 11
    assert len(re.findall(r"model calls? · \d+ \+ \d+ tokens", text)) == 11
    assert text.count("drawn: line") == 2
    assert "returns.xlsx, sheet 退货, header in row 2, 48 rows" in text


@pytest.mark.heavy
def test_a_wrong_answer_says_what_was_asked_and_what_came(demo: Demo) -> None:
    wrong = {**SPECS[2], "filters": []}
    right, text = demo(["SELECT COUNT(*) FROM customers", *STATEMENTS[1:]], [*SPECS[:2], wrong, *SPECS[3:]])
    assert right == 9
    assert f"✗ other rows than the reference. Question: {SHOP[0].question} Got: SELECT COUNT(*) FROM customers" in text
    assert "4093" in text
    assert f"✗ other rows than the reference. Question: {SHEETS[2].question} Got: SELECT COUNT(*)" in text
    assert "5 of 6 answered like the reference queries." in text


@pytest.mark.heavy
def test_the_embedded_model_writes_the_specs_and_is_compared_too(cache_dir: Path) -> None:
    model = ScriptedModel({"text": STATEMENTS, "QuerySpec": [*SPECS[:4], "{", SPECS[0]]})
    settings = load_settings(cache_dir=cache_dir)
    right, text = shown(Services(settings, model=model, embedded=EmbeddedOptions(candidates=1)))
    assert "questions often get a wrong answer." in text.replace("\n", " ")
    assert "4 of 6 answered like the reference queries." in text
    assert right == 4 + text.count("✓ the same rows", 0, text.index("Two spreadsheets"))


def test_without_the_packages_of_the_analyst_the_shop_is_asked(
    scripted: Callable[..., ScriptedAgent], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    monkeypatch.setitem(sys.modules, "duckdb", None)
    agent = scripted({"GeneratedSQL": [{"sql": sql} for sql in STATEMENTS], "SQLValidation": ["no JSON"] * 20})
    right, text = shown(agent.services)
    assert right == 5
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
    assert "0 of 5 answered" in out and "0 of 6 answered" in out


@pytest.mark.parametrize("asked", SHOP, ids=lambda asked: asked.kind)
def test_the_reference_statements_give_rows(scripted: Callable[..., ScriptedAgent], asked: ShopQuestion) -> None:
    assert scripted().services.source("sample").execute(asked.sql)["rows"]


@pytest.mark.heavy
def test_the_reference_specs_give_rows_and_the_same_figures(scripted: Callable[..., ScriptedAgent]) -> None:
    services = scripted().services
    for asked in SHEETS:
        found = [rows_of(spec, asked.file, services) for spec in asked.specs]
        assert found[0], asked.question
        assert len({str([row[-1] for row in rows]) for rows in found}) == 1, asked.question


@pytest.mark.heavy
def test_a_month_may_be_named_by_its_column_or_its_period(demo: Demo) -> None:
    specs = [spec.model_dump(mode="json", by_alias=True, exclude_none=True) for spec in SHEETS[1].specs]
    right, _ = demo(STATEMENTS, [SPECS[0], specs[1], *SPECS[2:]])
    assert (len(specs), right) == (2, 11)


def test_a_ranking_has_one_winner(scripted: Callable[..., ScriptedAgent]) -> None:
    for asked in SHEETS:
        if asked.kind == "a ranking":
            longer = asked.specs[0].model_copy(update={"limit": 2})
            first, second = rows_of(longer, asked.file, scripted().services)
            assert first[1] > second[1]


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
