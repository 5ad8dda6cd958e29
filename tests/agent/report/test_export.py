"""A report as a file: one document without requests, whose figures lead to their rows; Markdown, JSON and PDF."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from datasphinx.agent.chat import Agent
from datasphinx.agent.errors import Unanswered, Unavailable
from datasphinx.agent.llm.scripted import ScriptedModel
from datasphinx.agent.report.export import ReportResponse
from datasphinx.agent.settings import load_settings
from tests.agent.report.conftest import (
    PLAN,
    REQUEST,
    STATEMENTS,
    TOTAL,
    WRITTEN,
    MakeReport,
    statement_for,
)

pytestmark = pytest.mark.integration


@pytest.fixture
def written(report: MakeReport) -> ReportResponse:
    output = report().ask()
    return ReportResponse(output["report"], None, output["audit"])


@pytest.mark.heavy
def test_each_figure_of_the_document_leads_to_its_row_and_statement(written: ReportResponse) -> None:
    html = written.html
    links = re.findall(r'<a href="#([^"]+)" title="([^"]*)">', html)
    assert len(links) == 7
    assert all(f'id="{target}"' in html and "SELECT" in sql for target, sql in links)
    leader = written.report["parts"][1]["result"]["rows"][0][0]  # type: ignore[index]
    assert re.search(rf'href="#q2-1" title="[^"]*">{leader}</a>', html)
    assert not re.search(r"<script|https?://|src=\"(?!data:)|url\(", html)


@pytest.mark.heavy
def test_texts_of_a_database_are_no_markup(report: MakeReport) -> None:
    statements = {**STATEMENTS, TOTAL: "SELECT '<script>x</script>' AS orders"}
    output = report(statements=statements).ask()
    html = ReportResponse(output["report"], None, output["audit"]).html
    assert "<script" not in html
    assert "&lt;script&gt;" in html


def test_markdown_and_json_have_the_rows_the_statements_and_the_cost(written: ReportResponse, tmp_path: Path) -> None:
    text = written.save(tmp_path / "report.md").read_text()
    assert text.startswith("# Orders")
    assert "| Region | Orders |" in text and STATEMENTS[TOTAL] in text and "Model calls: 6" in text
    content = json.loads(written.save(tmp_path / "report.json").read_text())
    assert content["report"] == written.report
    with pytest.raises(ValueError, match="a report is saved as"):
        written.save(tmp_path / "report.doc")


@pytest.mark.heavy
@pytest.mark.skipif(not shutil.which("chromium"), reason="no browser")
def test_a_browser_prints_a_pdf(written: ReportResponse, tmp_path: Path) -> None:
    assert written.save(tmp_path / "report.pdf").read_bytes().startswith(b"%PDF")


@pytest.mark.heavy
def test_without_a_browser_a_pdf_is_an_error_that_says_what_to_do(
    written: ReportResponse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Unavailable, match="save the report as HTML"):
        written.save(tmp_path / "report.pdf")


@pytest.fixture
def agent(cache_dir: Path) -> Callable[..., Agent]:
    def make(source: Any = (), **answers: Any) -> Agent:
        script = {"ReportPlan": [PLAN], "ReportReview": [{}], "WrittenReport": [WRITTEN]}
        model = ScriptedModel({**script, "GeneratedSQL": [statement_for(STATEMENTS)] * 9, **answers})
        return Agent(source, settings=load_settings(cache_dir=cache_dir, enable_sql_validation=False), model=model)

    return make


def test_an_agent_writes_a_report(agent: Callable[..., Agent]) -> None:
    written = agent().report(REQUEST)
    assert str(written).startswith("# Orders")
    assert written.audit["llm_calls"] == 6


def test_an_agent_asks_for_approval(agent: Callable[..., Agent]) -> None:
    asked = agent().report(REQUEST, approve_plan=True)
    assert TOTAL in str(asked) and asked.report is None and asked.reply
    assert asked.reply("Start").report


def test_a_report_without_answers_is_an_error_of_the_agent(agent: Callable[..., Agent]) -> None:
    with pytest.raises(Unanswered):
        agent(GeneratedSQL=[]).report(REQUEST)


def test_a_report_on_a_file_reads_it_once(agent: Callable[..., Agent], tmp_path: Path) -> None:
    path = tmp_path / "sales.csv"
    path.write_text("region,sales\nNorth,10\nSouth,32\n")
    query = {"aggregations": [{"agg": "sum", "col": "sales", "as": "sales"}]}

    def step(messages: Any) -> Any:
        prompt = "\n".join(str(message.content) for message in messages)
        if '"result_id"' in prompt:
            return {"tool": "finish", "arguments": json.dumps({"answer": "The sum is {sales}."})}
        dataset = re.search(r"ds_[0-9a-f]{16}", prompt)
        return {"tool": "run_query", "arguments": json.dumps({"dataset_id": dataset and dataset[0], "query": query})}

    plan = {"questions": [{"question": "What is the sum of sales?"}]}
    text = {"title": "Sales", "summary": "Sales were {q1:sales}.", "sections": []}
    written = agent(path, ReportPlan=[plan], AnalystStep=[step] * 6, WrittenReport=[text]).report("Overview of sales")
    assert written.report and written.report["summary"]["text"] == "Sales were 42."
