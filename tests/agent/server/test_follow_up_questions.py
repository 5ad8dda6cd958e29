"""Follow-up questions on a stored answer over HTTP."""

from pathlib import Path
from typing import Any

import httpx

from tests.agent.server.serving import ASKED, COUNT, Served, serving


def get(server: Served, output: dict[str, Any]) -> httpx.Response:
    return server.http.get(f"/threads/{output['thread_id']}/runs/{output['run_id']}/questions")


def questions(server: Served, output: dict[str, Any]) -> list[str]:
    response = get(server, output)
    assert response.status_code == 200, response.text
    found: list[str] = response.json()["questions"]
    return found


def test_they_are_those_of_the_model_that_are_new_in_the_conversation(cache_dir: Path) -> None:
    proposed = {**COUNT, "follow_ups": ["How many by month?", "How many by status?"]}
    with serving(cache_dir, {"GeneratedSQL": [proposed, proposed, COUNT]}) as server:
        output = server.invoke(**ASKED)
        calls = len(server.model.calls)
        assert questions(server, output) == proposed["follow_ups"]
        assert len(server.model.calls) == calls
        again = server.invoke(question="How many by month?", thread_id=output["thread_id"])
        assert questions(server, again) == ["How many by status?"]
        assert questions(server, server.invoke(**ASKED)) == []


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


def test_a_reply_is_followed_by_the_questions_that_the_model_proposes_with_it(cache_dir: Path) -> None:
    proposed = ["How many orders by status?", "How many orders in 1817?"]
    reply = {"sql": "", "reply": "The data do not say why.", "follow_ups": proposed}
    with serving(cache_dir, {"GeneratedSQL": [reply, COUNT, reply]}) as server:
        assert questions(server, server.invoke(question="Hello")) == proposed[:1]
        answered = server.invoke(**ASKED)
        assert questions(server, server.invoke(question="Why?", thread_id=answered["thread_id"])) == proposed[:1]


def test_an_unknown_run_is_not_found(served: Served) -> None:
    output = served.invoke(**ASKED)
    for changed, code in (
        ({"run_id": "00000000-0000-0000-0000-000000000000"}, "run_unknown"),
        ({"thread_id": "0" * 32}, "thread_unknown"),
    ):
        response = get(served, {**output, **changed})
        assert (response.status_code, response.json()["code"]) == (404, code)
