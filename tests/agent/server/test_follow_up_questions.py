"""Follow-up questions on a stored answer over HTTP."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from datasphinx.agent.server.keys import hash_of, new_key
from tests.agent.server.serving import ASKED, COUNT, Served, serving
from tests.databases import make_table, url

ACME, BETA = new_key(), new_key()


def get(server: Served, output: dict[str, Any], key: str = "") -> httpx.Response:
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    return server.http.get(f"/threads/{output['thread_id']}/runs/{output['run_id']}/questions", headers=headers)


def questions(server: Served, output: dict[str, Any]) -> list[str]:
    response = get(server, output)
    assert response.status_code == 200, response.text
    found: list[str] = response.json()["questions"]
    return found


def test_an_answer_has_follow_up_questions_without_a_call_of_the_model(served: Served) -> None:
    output = served.invoke(**ASKED)
    calls = len(served.model.calls)

    assert questions(served, output) == ["How many orders were placed, by status?"]
    assert len(served.model.calls) == calls
    assert len(served.http.get(f"/threads/{output['thread_id']}/history").json()["runs"]) == 1


def test_questions_are_in_the_language_of_the_question_and_new_in_the_conversation(served: Served) -> None:
    output = served.invoke(question="Сколько было заказов?")
    assert questions(served, output) == ["Сколько было заказов, по полю «status»?"]
    served.invoke(question="Сколько было заказов, по полю «status»?", thread_id=output["thread_id"])
    again = served.invoke(question="Сколько было заказов?", thread_id=output["thread_id"])
    assert questions(served, again) == []


def test_a_greeting_is_followed_by_questions_to_start_with_and_thanks_by_none(cache_dir: Path) -> None:
    reply = {"sql": "", "reply": "Hello! You can ask about orders."}
    with serving(cache_dir, {"GeneratedSQL": [reply, COUNT, reply]}) as server:
        greeted = server.invoke(question="Hello")
        assert greeted["answer"] == reply["reply"]
        start = server.http.get("/sources/questions").json()["questions"]
        assert questions(server, greeted) == [each["question"] for each in start[:3]]
        answered = server.invoke(**ASKED, thread_id=greeted["thread_id"])
        thanked = server.invoke(question="Thanks", thread_id=answered["thread_id"])
        assert thanked["answer"] == reply["reply"] and questions(server, thanked) == []


def test_a_statement_without_rows_has_none(served: Served) -> None:
    assert questions(served, served.invoke(**ASKED, sql_only=True)) == []


def test_an_unknown_run_is_not_found(served: Served) -> None:
    output = served.invoke(**ASKED)
    for changed, code in (
        ({"run_id": "00000000-0000-0000-0000-000000000000"}, "run_unknown"),
        ({"thread_id": "0" * 32}, "thread_unknown"),
    ):
        response = get(served, {**output, **changed})
        assert (response.status_code, response.json()["code"]) == (404, code)


def test_they_can_be_switched_off(cache_dir: Path) -> None:
    with serving(cache_dir, follow_up_questions=False) as server:
        assert questions(server, server.invoke(**ASKED)) == []


@pytest.fixture
def tenants(cache_dir: Path, tmp_path: Path) -> Iterator[Served]:
    """Two tenants with one question a minute each, of which one sees rows of one kind only."""
    rows = [["north", kind, "s3cret" if kind == "hats" else "other"] for kind in ("hats", "hats", "shoes", "shoes")]
    rows.append(["south", "hats", "other"])
    table = make_table(tmp_path, "region TEXT, kind TEXT, password TEXT", rows, table="sales")
    shop = {"url": url(table), "row_rules": {"sales": "region = :region"}}
    settings = {
        "sources": {"shop": shop},
        "api_keys": {"acme": hash_of(ACME), "beta": hash_of(BETA)},
        "tenants": {
            "acme": {"row_parameters": {"region": "north"}, "questions_per_minute": 1},
            "beta": {"row_parameters": {"region": "south"}, "questions_per_minute": 1},
        },
    }
    sql = {**COUNT, "sql": "SELECT COUNT(*) AS sales FROM sales"}
    with serving(cache_dir, {"GeneratedSQL": [sql]}, data_dir=tmp_path / "data", clarify="never", **settings) as server:
        yield server


def test_row_rules_hold_and_no_question_is_counted(tenants: Served) -> None:
    outputs = {}
    for key in (ACME, BETA):
        headers = {"Authorization": f"Bearer {key}"}
        body = {"input": {"question": "How many sales are there?"}}
        outputs[key] = tenants.http.post("/agent/invoke", json=body, headers=headers).json()["output"]
        assert tenants.http.post("/agent/invoke", json=body, headers=headers).status_code == 429
    # All rows of the second tenant are of one region and kind; a column of secrets groups no rows.
    assert get(tenants, outputs[ACME], ACME).json() == {"questions": ["How many sales are there, by kind?"]}
    assert get(tenants, outputs[BETA], BETA).json() == {"questions": []}
    assert get(tenants, outputs[ACME], BETA).status_code == 404
    assert get(tenants, outputs[ACME]).status_code == 401
