"""What a client of the HTTP server must not do, and must not see."""

import json
import logging
from pathlib import Path
from typing import Any

import httpx
import pytest

from datasphinx.agent.llm.scripted import ScriptedModel
from datasphinx.agent.server.app import create_app
from datasphinx.agent.services import Services
from datasphinx.agent.settings import load_settings
from tests.agent.server.serving import ASKED, Served, running, serving
from tests.support.databases import make_table, url

WRONG_INPUTS: list[dict[str, Any]] = [
    {},
    {"question": ""},
    {"question": " \n"},
    {"question": None},
    {"question": 7},
    {"question": "orders? " * 2000},
    {"question": "\ud800 orders"},
    {**ASKED, "output_type": "poem"},
    {**ASKED, "clarify": "sometimes"},
    {**ASKED, "enable_sql_validation": "perhaps"},
    {**ASKED, "surprise": 1},
    {**ASKED, "source": "sqlite:///other.sqlite"},
    {**ASKED, "feedback": {"accepted": False}},
]


@pytest.mark.parametrize("route", ["invoke", "batch", "stream", "stream_events"])
def test_a_wrong_input_is_refused(served: Served, route: str) -> None:
    for given in WRONG_INPUTS:
        body = {"inputs": [ASKED, given]} if route == "batch" else {"input": given}
        response = served.post(f"/agent/{route}", **body)
        assert response.status_code == 422, given
        assert response.json()["code"] == "input_invalid"
        assert all(wrong.keys() == {"type", "loc", "msg"} for wrong in response.json()["errors"])
    assert not served.model.calls


def test_a_wrong_body_is_refused(served: Served) -> None:
    bodies = [b"", b"{", b"\xff", b"[]", b"null", b'{"input": 1}', b'{"inputs": 1}', b'{"input": ["question"]}']
    wrong_config = json.dumps({"input": ASKED, "inputs": [ASKED], "config": 5}).encode()
    for route in ("invoke", "batch", "stream"):
        for body in [*bodies, wrong_config]:
            response = served.http.post(f"/agent/{route}", content=body)
            assert response.status_code == 422, (route, body)
    assert not served.model.calls


def test_a_refusal_says_which_input_is_wrong(served: Served) -> None:
    problem = served.post("/agent/invoke", input={**ASKED, "source": "sqlite:///other.sqlite"}).json()
    wrong = {"type": "source_unknown", "loc": ["input", "source"], "msg": "Input should be one of sample"}
    assert problem["errors"] == [wrong]
    assert "input.source" in problem["detail"] and "other.sqlite" not in str(problem)


@pytest.mark.parametrize("large", [2**63, -(2**63) - 1])
def test_a_number_that_no_thread_can_keep_is_refused(served: Served, large: int) -> None:
    preview = {"rows": 1, "more": False, "first": [{"deep": large}]}
    asked = {
        "question": "?", "ambiguity_type": "AmbOutput", "about": "?", "earlier": [], "rejected_sql": [],
        "options": [{"label": "a", "reading": "a", "preview": preview}],
    }  # fmt: skip
    answer = {"clarification": asked, "clarification_answer": "1"}
    for route, body in (("invoke", {"input": answer}), ("batch", {"inputs": [answer]}), ("events", answer)):
        response = served.http.post(f"/agent/{route}", json=body)
        assert (response.status_code, response.json()["code"]) == (422, "input_invalid"), route


def test_the_longest_question_is_read(served: Served) -> None:
    assert served.invoke(question="How many orders?".ljust(10_000, "!"))["error"] is None


def test_a_batch_is_bounded(served: Served) -> None:
    assert served.post("/agent/batch", inputs=[ASKED] * 101).status_code == 422
    assert served.post("/agent/batch", inputs=[]).json()["output"] == []


def test_a_client_cannot_configure_the_run(served: Served) -> None:
    config = {"recursion_limit": 1, "configurable": {"thread_id": "1"}, "callbacks": [], "run_name": "mine"}
    response = served.post("/agent/invoke", input=ASKED, config=config)
    assert response.json()["output"]["error"] is None


def test_another_database_cannot_be_named_even_in_services_that_allow_it(cache_dir: Path, tmp_path: Path) -> None:
    other = url(make_table(tmp_path, "thing TEXT", [["secret"]]))
    services = Services(load_settings(cache_dir=cache_dir), model=ScriptedModel(), any_source=True)
    with running(create_app(services)) as base:
        response = httpx.post(f"{base}/agent/invoke", json={"input": {"question": "Which things?", "source": other}})
    assert response.status_code == 422
    assert "secret" not in response.text


@pytest.mark.parametrize("name", ["invoke", "stream", "stream_events"])
def test_a_defect_in_a_node_shows_no_traceback(cache_dir: Path, name: str, caplog: pytest.LogCaptureFixture) -> None:
    with serving(cache_dir, {"GeneratedSQL": [RuntimeError("a defect")]}) as server, caplog.at_level(logging.CRITICAL):
        response = server.post(f"/agent/{name}", input=ASKED)
    assert response.status_code == 200
    assert "internal_error" in response.text
    assert "Traceback" not in response.text and __file__ not in response.text


def test_a_defect_of_the_server_shows_nothing(
    served: Served, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: Any) -> None:
        raise RuntimeError("a defect")

    monkeypatch.setattr("datasphinx.agent.server.routes.health.readiness", broken)
    with caplog.at_level(logging.CRITICAL):
        response = served.http.get("/readyz")
    assert (response.status_code, response.json()["code"]) == (500, "internal_error")
    assert "a defect" not in response.text and response.headers["x-content-type-options"] == "nosniff"
