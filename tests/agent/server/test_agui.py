"""Events of the Agent User Interaction Protocol, read and written with the models of its reference package."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ag_ui.core import Event, RunAgentInput
from pydantic import TypeAdapter

from datasphinx.agent.errors import StatementCancelled
from datasphinx.agent.sample.shop import shop_url
from tests.agent.conftest import Keep
from tests.agent.server.asking import BY_STATUS, HOW_MANY, TOP_TWO, query_or_finish, statement_for
from tests.agent.server.keys import ACME, BETA, KEYS, as_
from tests.agent.server.leaving import UNBOUNDED, Held, broken_off, client
from tests.agent.server.serving import COUNT, Served, serving
from tests.agent.sql.engines import ENDLESS
from tests.agent.tools.conftest import RETURNS
from tests.agent.walk import NODES
from tests.support.best_customer import ASKS, BEST, BY_AMOUNT
from tests.support.eventually import eventually

EVENT: TypeAdapter[Any] = TypeAdapter(Event)
ANSWER = ["TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END"]


@pytest.fixture(scope="module")
def shared_server(cache_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server whose model asks back who is the best, and counts orders."""
    settings: dict[str, Any] = {
        "sources": {"shop": shop_url(cache_dir)},
        "data_dir": tmp_path_factory.mktemp("served"),
        "enable_sql_validation": False,
    }
    with serving(cache_dir, {"GeneratedSQL": [statement_for], "AnalystStep": [query_or_finish]}, **settings) as server:
        yield server


def input_of(*texts: str, thread: str = "t", run: str = "r", **more: Any) -> dict[str, Any]:
    """The input of a run, whose messages are the user's and the assistant's in turn."""
    roles = ("user", "assistant")
    messages = [{"id": str(at), "role": roles[at % 2], "content": content} for at, content in enumerate(texts)]
    fields = {"threadId": thread, "runId": run, "state": {}, "messages": messages, "tools": [], "context": [], **more}
    dumped: dict[str, Any] = RunAgentInput.model_validate(fields).model_dump(mode="json", by_alias=True)
    return dumped


def read(text: str) -> list[Any]:
    """The events of a stream, each with the fields of its model only."""
    *lines, end = text.split("\n\n")
    assert not end and all(line.startswith("data: ") for line in lines)
    events = [EVENT.validate_json(line.removeprefix("data: ")) for line in lines]
    assert [event.model_extra for event in events] == [{}] * len(events)
    return events


def run(server: Served, *texts: str, **given: Any) -> list[Any]:
    response = server.http.post("/agui", json=input_of(*texts, **given))
    assert (response.status_code, response.headers["content-type"][:17]) == (200, "text/event-stream"), response.text
    return read(response.text)


def kinds(events: list[Any]) -> list[str]:
    return [event.type.value for event in events]


def state(events: list[Any]) -> dict[str, Any]:
    (snapshot,) = (event.snapshot for event in events if event.type == "STATE_SNAPSHOT")
    return dict(snapshot)


def resume(events: list[Any], status: str = "resolved", **payload: Any) -> dict[str, Any]:
    """The fields of an input that answers the interrupt at the end of `events`."""
    (interrupt,) = events[-1].outcome.interrupts
    return {"resume": [{"interruptId": interrupt.id, "status": status, **payload}]}


def test_a_run_has_its_steps_its_state_and_its_answer(served: Served) -> None:
    events = run(served, HOW_MANY, thread="count")
    steps = ["STEP_STARTED", "STEP_FINISHED"] * len([node for node in NODES if node != "validate_sql"])
    assert kinds(events)[:1] == ["RUN_STARTED"]
    assert kinds(events)[1 : 1 + len(steps)] == steps
    assert [event.step_name for event in events if event.type == "STEP_FINISHED"][0] == "retrieve_tables"
    assert kinds(events)[-5:] == ["STATE_SNAPSHOT", *ANSWER, "RUN_FINISHED"]
    assert (events[0].thread_id, events[0].run_id, events[0].protocol_version) == ("count", "r", "1.0")
    assert (events[-1].thread_id, events[-1].run_id, events[-1].outcome.type) == ("count", "r", "success")
    snapshot = state(events)
    assert (snapshot["sql"], snapshot["status"], snapshot["error"]) == (COUNT["sql"], "ok", None)
    assert snapshot["tables"][0]["columns"] == ["orders"] and events[-3].delta == snapshot["answer"]
    (usage,) = events[-1].usage
    assert usage.input_tokens > 0 and usage.total_tokens == usage.input_tokens + usage.output_tokens


def test_rows_and_charts_are_in_the_state_and_in_the_text(served: Served) -> None:
    events = run(served, "Show the orders by status as a bar chart", thread="chart")
    (chart,) = state(events)["charts"]
    assert state(events)["sql"] == BY_STATUS["sql"] and chart["option"]["series"]
    assert f"{served.url}/charts/{chart['id']}.png" in events[-3].delta
    assert served.http.get(f"/charts/{chart['id']}.png").status_code == 200


def test_a_model_of_the_forwarded_properties_is_asked(served: Served, keep: Keep) -> None:
    dataset = keep(served.services.settings.data_dir, "returns.csv", RETURNS)
    question = "How many returns has each account?"
    events = run(served, question, forwardedProps={"model": f"datasphinx/{dataset}"})
    assert [row[0] for row in state(events)["tables"][0]["rows"]] == ["alpha", "beta"]
    assert "get_schema" in str([event.metadata for event in events if event.type == "STEP_FINISHED"])
    unknown = served.http.post("/agui", json=input_of(question, forwardedProps={"model": "gpt-4o"}))
    assert (unknown.status_code, unknown.json()["code"]) == (404, "model_unknown")
    for other in ("text", 7, ["model"], {"model": None}, {"colour": "red"}):
        assert kinds(run(served, HOW_MANY, forwardedProps=other))[-1] == "RUN_FINISHED"


def test_a_clarifying_question_is_an_interrupt(served: Served) -> None:
    asked = run(served, BEST, thread="best")
    assert kinds(asked)[-6:] == ["STATE_SNAPSHOT", *ANSWER, "CUSTOM", "RUN_FINISHED"]
    assert (asked[-2].name, asked[-2].value["question"]) == ("clarification", ASKS["question"])
    (interrupt,) = asked[-1].outcome.interrupts
    assert interrupt.reason == "input_required" and interrupt.message == asked[-4].delta
    assert "\n1. by orders" in interrupt.message and interrupt.response_schema["type"] == "string"

    history = (BEST, interrupt.message)
    wrong = run(served, *history, thread="best", **resume(asked, payload="7"))
    assert (kinds(wrong)[-1], wrong[-1].code) == ("RUN_ERROR", "option_unknown")
    chosen = run(served, *history, thread="best", **resume(asked, payload="2"))
    assert (state(chosen)["sql"], chosen[-1].outcome.type) == (BY_AMOUNT, "success")
    two = run(served, *history, "only the top two", thread="best")
    assert state(two)["sql"] == TOP_TWO["sql"], "the client's thread continues"

    again = run(served, *history, thread="best", **resume(asked, payload="2"))
    assert kinds(again) == ["RUN_STARTED", "RUN_ERROR"] and again[-1].code == "nothing_asked"
    other = run(served, *history, thread="other", **resume(asked, payload="2"))
    assert kinds(other) == ["RUN_STARTED", "RUN_ERROR"]


def test_a_cancelled_interrupt_leaves_the_question_unanswered(served: Served) -> None:
    asked = run(served, BEST, thread="cancel")
    history = (BEST, asked[-4].delta)
    cancelled = run(served, *history, thread="cancel", **resume(asked, "cancelled"))
    assert kinds(cancelled) == ["RUN_STARTED", "RUN_FINISHED"] and cancelled[-1].outcome.type == "cancelled"
    assert state(run(served, *history, HOW_MANY, thread="cancel"))["sql"] == COUNT["sql"]

    asked = run(served, BEST, thread="replace")
    replaced = run(served, *history, HOW_MANY, thread="replace", **resume(asked, "cancelled"))
    assert state(replaced)["sql"] == COUNT["sql"]


def test_an_error_ends_a_run(served: Served) -> None:
    events = run(served, "?!", thread="error")
    assert kinds(events)[-2:] == ["STATE_SNAPSHOT", "RUN_ERROR"]
    assert (events[-1].code, events[-1].message) == ("invalid_question", state(events)["answer"])


def test_inputs_without_an_answer_are_refused(served: Served) -> None:
    question = {"id": "1", "role": "user", "content": HOW_MANY}
    image = {"type": "image", "source": {"type": "url", "value": "http://host.example/"}}
    wrong: list[dict[str, Any]] = [
        {"messages": []},
        {"messages": None},
        {"messages": [{**question, "role": "assistant"}]},
        {"messages": [question, {"id": "2", "role": "tool", "content": "9", "toolCallId": "1"}]},
        {"messages": [{**question, "content": [{"type": "text", "text": HOW_MANY}, image]}]},
        {"messages": [{**question, "content": {"text": HOW_MANY}}]},
        {"messages": [{**question, "content": ""}]},
        {"messages": [{**question, "content": "a" * 100_000}]},
        {"threadId": ""},
        {"threadId": "t" * 1000},
        {"runId": None},
        {"resume": "yes"},
        {"resume": [], "messages": [{**question, "role": "assistant"}]},
        {"resume": [{"interruptId": 1, "status": "maybe"}]},
    ]
    for change in wrong:
        response = served.http.post("/agui", content=json.dumps({**input_of(HOW_MANY), **change}))
        assert (response.status_code, response.json()["code"]) == (422, "input_invalid"), change
    assert not served.model.calls
    asked = run(served, BEST, thread="hostile")
    twice = resume(asked, payload="2")["resume"] * 2
    refused = run(served, BEST, "x", thread="hostile", resume=twice)
    assert kinds(refused) == ["RUN_STARTED", "RUN_ERROR"] and refused[-1].code == "nothing_asked"
    for payload in (None, True, {"answer": "2"}, ["2"], 2.5):
        refused = run(served, BEST, "x", thread="hostile", **resume(asked, payload=payload))
        assert kinds(refused) == ["RUN_STARTED", "RUN_ERROR"] and refused[-1].code == "input_invalid"
    assert state(run(served, BEST, "x", thread="hostile", **resume(asked, payload=2)))["sql"] == BY_AMOUNT


def test_keys_tenants_and_quotas_apply(cache_dir: Path) -> None:
    tenants = {"acme": {}, "beta": {"questions_per_minute": 1}}
    with (
        serving(cache_dir, {"GeneratedSQL": [statement_for]}, api_keys=KEYS, tenants=tenants) as server,
        as_(server, ACME) as acme,
        as_(server, BETA) as beta,
    ):
        assert server.http.post("/agui", json=input_of(HOW_MANY)).status_code == 401
        asked = read(acme.post("/agui", json=input_of(BEST)).text)
        other = read(beta.post("/agui", json=input_of(BEST, "x", **resume(asked, payload="2"))).text)
        assert other[-1].code == "nothing_asked"
        assert read(beta.post("/agui", json=input_of(HOW_MANY)).text)[-1].type == "RUN_FINISHED"
        limited = beta.post("/agui", json=input_of(HOW_MANY))
    assert (limited.status_code, limited.json()["code"]) == (429, "limit_reached")


def test_a_thread_has_one_run_at_a_time_and_a_client_that_leaves_ends_it(
    cache_dir: Path, statements: tuple[threading.Semaphore, list[Any]]
) -> None:
    begun, outcomes = statements
    held = Held(lambda _: {**COUNT, "sql": ENDLESS})
    with serving(cache_dir, {"GeneratedSQL": [COUNT, held]}, **UNBOUNDED) as server:
        run(server, HOW_MANY)
        held.left.set()
        with client(server, "/agui", input_of(HOW_MANY, "9", "How many customers are there?")):
            assert begun.acquire(timeout=20)
            busy = run(server, HOW_MANY)
        eventually(lambda: outcomes and broken_off(server, "agent") == 1)
    assert (busy[-1].type, busy[-1].code) == ("RUN_ERROR", "thread_busy")
    assert [type(outcome) for outcome in outcomes] == [StatementCancelled]
