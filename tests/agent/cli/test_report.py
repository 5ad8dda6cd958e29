"""`datasphinx report` prints the report or writes it to a file."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.agent.report.conftest import PLAN, REQUEST, STATEMENTS, WRITTEN
from tests.support.commands import Run
from tests.support.fake_openai import FakeOpenAI

pytestmark = pytest.mark.integration


@pytest.fixture(autouse=True)
def answers(model: FakeOpenAI, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATASPHINX_ENABLE_SQL_VALIDATION", "false")

    def answer(request: dict[str, Any]) -> Any:
        schema = request["response_format"]["json_schema"]["name"]
        prompt = request["messages"][1]["content"]
        statement = next((sql for asked, sql in STATEMENTS.items() if f"Question: {asked}" in prompt), "")
        return {"ReportPlan": PLAN, "ReportReview": {}, "WrittenReport": WRITTEN}.get(schema, {"sql": statement})

    model.default = answer


def test_a_report_is_printed_with_its_progress(run: Run) -> None:
    code, out, errors = run("report", REQUEST)
    assert code == 0
    assert out.startswith("# Orders")
    assert "3 questions" in errors and "✓ q2 How many orders per region?" in errors


@pytest.mark.heavy
def test_a_report_is_written_to_a_file(run: Run, tmp_path: Path) -> None:
    code, out, errors = run("report", REQUEST, "--out", str(tmp_path / "orders.html"))
    assert (code, out) == (0, "")
    assert "orders.html" in errors
    assert (tmp_path / "orders.html").read_text().startswith("<!doctype html>")


def test_a_report_as_json(run: Run) -> None:
    code, out, _ = run("report", REQUEST, "--json")
    assert code == 0
    assert json.loads(out)["report"]["title"] == "Orders"


def test_a_file_of_another_kind_is_a_usage_error(run: Run) -> None:
    code, _, errors = run("report", REQUEST, "--out", "report.docx")
    assert code == 2
    assert ".html, .md, .json, .pdf" in " ".join(errors.split())


def test_a_plan_is_not_approved_without_a_terminal(run: Run) -> None:
    code, _, errors = run("report", REQUEST, "--approve")
    assert code == 4
    assert "How many orders per region?" in errors
