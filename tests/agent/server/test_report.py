"""Reports over HTTP: events with each part as it is answered, tenants, chat applications and MCP."""

from pathlib import Path
from typing import Any

import pytest

from datasphinx.agent.sample.shop import shop_url
from datasphinx.agent.settings import TenantSettings
from tests.agent.report.conftest import PLAN, REGIONS, REQUEST, STATEMENTS, TOTAL, WRITTEN, YEARS, statement_for
from tests.agent.server.asking import events_of
from tests.agent.server.keys import ACME, KEYS, as_
from tests.agent.server.mcp.clients import call, code_of, content
from tests.agent.server.serving import Served, serving

ANSWERS: dict[str, Any] = {
    "ReportPlan": [PLAN],
    "ReportReview": [{"questions": []}],
    "WrittenReport": [WRITTEN],
    "GeneratedSQL": [statement_for(STATEMENTS)],
}


SETTINGS = {"enable_sql_validation": False}


def report(server: Served, **given: Any) -> list[tuple[str, Any]]:
    with server.http.stream("POST", "/report", json=given) as response:
        assert response.status_code == 200
        return list(events_of(response.iter_lines()))


@pytest.mark.heavy
def test_each_part_is_an_event_before_the_report(served: Served) -> None:
    *events, (last, output) = report(served, question=REQUEST)
    parts = [data for kind, data in events if kind == "part"]
    assert {part["question"] for part in parts} == {TOTAL, REGIONS, YEARS}
    assert [data["node"] for kind, data in events if kind == "step"] == ["plan", "answer_parts", "review", "write"]
    assert "3 questions" in next(data["line"] for kind, data in events if kind == "step")
    assert (last, output["status"], output["report"]["title"]) == ("output", "ok", "Orders")
    (listed,) = [each for each in served.http.get("/threads").json()["threads"] if each["title"] == "Orders"]
    assert (listed["thread_id"], listed["graph"]) == (output["thread_id"], "report")
    run = f"/threads/{output['thread_id']}/runs/{output['run_id']}"
    page = served.http.get(f"{run}/report.html")
    assert page.text.startswith("<!doctype html>") and "attachment" in page.headers["Content-Disposition"]
    assert served.http.get(f"{run}/report.json").json()["report"]["title"] == "Orders"
    assert served.http.get(f"{run}/report.txt").status_code == 422
    years = next(part["result"] for part in output["report"]["parts"] if part["question"] == YEARS)
    lines = served.http.get(f"{run}/tables/3.csv").text.splitlines()
    assert len(lines) == 1 + len(years["rows"]) and lines[1].endswith(f",{years['rows'][0][1]}")


def test_a_plan_is_approved_on_its_thread(served: Served) -> None:
    *_, (_, asked) = report(served, question=REQUEST, approve_plan=True)
    assert asked["status"] == "clarification" and asked["report"] is None
    given = {"thread_id": asked["thread_id"], "clarification_answer": "1", "questions": [YEARS]}
    *_, (_, output) = report(served, **given)
    assert [part["question"] for part in output["report"]["parts"]] == [YEARS]


def test_a_removed_source_ends_the_report_with_its_error(cache_dir: Path) -> None:
    shop = {"url": shop_url(cache_dir)}
    with serving(cache_dir, ANSWERS, enable_sql_validation=False, sources={"shop": shop}) as server:
        *_, (_, asked) = report(server, question=REQUEST, source="shop", approve_plan=True)
        server.services.replace_sources({"other": server.services.settings_of("shop")})
        given = {"thread_id": asked["thread_id"], "clarification_answer": "1"}
        *events, (_, output) = report(server, **given)
    assert output["status"] == "error"
    assert output["error"]["code"] == "source_not_found"


def test_the_model_for_reports_of_chat_applications(served: Served) -> None:
    models = served.http.get("/v1/models").json()["data"]
    assert "datasphinx-report" in [model["id"] for model in models]
    messages = [{"role": "user", "content": REQUEST}]
    body = {"model": "datasphinx-report", "messages": messages}
    done = served.http.post("/v1/chat/completions", json=body).json()
    message = done["choices"][0]["message"]
    assert message["content"].startswith("# Orders")
    assert f"```sql\n{STATEMENTS[TOTAL]}\n```" in message["content"]
    assert f"q2: {REGIONS}" in message["reasoning_content"]


def test_the_tool_of_mcp(served: Served) -> None:
    written = content(call(served, "report", request=REQUEST))
    assert written["status"] == "ok" and written["report"].startswith("# Orders")
    assert code_of(call(served, "report", request=REQUEST, source="nowhere")) == "source_not_found"


def test_a_report_counts_against_the_quota_of_its_tenant(cache_dir: Path) -> None:
    tenants = {"acme": TenantSettings(questions_per_minute=1), "beta": TenantSettings()}
    with serving(cache_dir, ANSWERS, enable_sql_validation=False, api_keys=KEYS, tenants=tenants) as server:
        assert server.http.post("/report", json={"question": REQUEST}).status_code == 401
        with as_(server, ACME) as client:
            statuses = [client.post("/report", json={"question": REQUEST}).status_code for _ in range(2)]
        assert statuses == [200, 429]
