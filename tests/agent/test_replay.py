"""A run on the record can be run again without a model, and what differs is named by step."""

import gc
import json
import os
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from datasphinx.agent.errors import NotFound, SourceNotFound
from datasphinx.agent.graph import build_graph
from datasphinx.agent.llm.logprobs import Logprobs
from datasphinx.agent.llm.scripted import ScriptedModel
from datasphinx.agent.record.store import Store, open_store
from datasphinx.agent.replay import Replay, replay
from datasphinx.agent.services import Services
from datasphinx.agent.settings import Settings, load_settings
from datasphinx.agent.sources.background import stop_all
from datasphinx.agent.types import EmbeddedOptions
from tests.agent.record.stores import happened, tampering
from tests.conftest import VALID
from tests.support.databases import change, make_table, url
from tests.support.fake_openai import FakeOpenAI
from tests.support.fake_openai import Reply as HTTPReply
from tests.support.process_tree import footprint

pytestmark = pytest.mark.integration

SUM = {"sql": "SELECT SUM(amount) AS total FROM things", "assumptions": [], "off_topic": False}
LIST = {"sql": "SELECT thing, amount FROM things", "assumptions": [], "off_topic": False}
QUESTION = "What is the total amount of things?"
Ask = Callable[..., dict[str, Any]]


@pytest.fixture
def things(tmp_path: Path) -> Path:
    """A database of three things."""
    return make_table(tmp_path, "thing TEXT, amount INTEGER", [("bolt", 3), ("nut", 4), ("gear", 5)])


@pytest.fixture
def settings(things: Path, cache_dir: Path, tmp_path: Path) -> Settings:
    return load_settings(source=url(things), cache_dir=tmp_path / "cache", enable_sql_validation=True)


@pytest.fixture
def ask(settings: Settings) -> Ask:
    """Asks one question of a model with these answers, and returns the output."""

    def ask_once(answers: dict[str, list[Any]], question: str = QUESTION, **given: Any) -> dict[str, Any]:
        services = Services(settings, model=ScriptedModel({"SQLValidation": [VALID] * 3, **answers}))
        return build_graph(services).invoke({"question": question, **given})

    return ask_once


def again(output: dict[str, Any], settings: Settings, source: str | None = None) -> Replay:
    return replay(open_store(settings), output["audit"]["trace_id"], settings, source)


def test_a_replay_is_the_same_and_asks_no_model(ask: Ask, settings: Settings) -> None:
    output = ask({"GeneratedSQL": [SUM]})
    done = again(output, settings)
    assert output["value"] == 12
    assert done.differences == []
    assert (done.output["value"], done.output["answer"]) == (12, output["answer"])
    assert done.steps == len(output["audit"]["steps"])
    assert [step["calls"] and step["calls"][0]["prompt_tokens"] for step in done.output["audit"]["steps"]] == [
        step["calls"] and step["calls"][0]["prompt_tokens"] for step in output["audit"]["steps"]
    ]


@pytest.mark.heavy
def test_a_replay_holds_no_file(ask: Ask, settings: Settings) -> None:
    output, store = ask({"GeneratedSQL": [SUM]}), open_store(settings)
    replay(store, output["audit"]["trace_id"], settings)
    stop_all()
    gc.collect()
    gc.disable()
    try:
        before = footprint(os.getpid())["files"]
        for _ in range(3):
            replay(store, output["audit"]["trace_id"], settings)
        stop_all()
        assert footprint(os.getpid())["files"] == before
    finally:
        gc.enable()


def test_a_replay_leaves_the_record_as_it_was(ask: Ask, settings: Settings) -> None:
    output = ask({"GeneratedSQL": [SUM]})
    before = open_store(settings).head()
    again(output, settings)
    assert open_store(settings).head() == before


def test_another_result_is_reported_at_its_step(ask: Ask, settings: Settings, things: Path) -> None:
    output = ask({"GeneratedSQL": [SUM]})
    change(things, "UPDATE things SET amount = 50 WHERE thing = 'gear'")
    done = again(output, settings)
    by_step = {(each.node, each.what) for each in done.differences}
    assert ("execute_sql", "statement result_hash") in by_step
    assert ("answer", "output answer") in by_step
    executed = next(each for each in done.differences if each.node == "execute_sql")
    assert output["audit"]["steps"][executed.step - 1]["node"] == "execute_sql"


def test_rows_in_another_order_are_the_same_where_none_was_asked_for(
    ask: Ask, settings: Settings, things: Path
) -> None:
    output = ask({"GeneratedSQL": [LIST]}, "List all things")
    change(things, "UPDATE things SET rowid = 100 WHERE thing = 'bolt'")
    assert {each.what for each in again(output, settings).differences} <= {"output answer"}
    ordered = ask({"GeneratedSQL": [{**LIST, "sql": "SELECT thing FROM things ORDER BY rowid * 0"}]}, "List things")
    change(things, "UPDATE things SET rowid = 1 WHERE thing = 'bolt'")
    assert "statement result_hash" in {each.what for each in again(ordered, settings).differences}


def test_a_prompt_that_has_changed_is_reported_with_the_place(
    ask: Ask, settings: Settings, things: Path, tmp_path: Path
) -> None:
    output = ask({"GeneratedSQL": [SUM]})
    change(things, "ALTER TABLE things ADD COLUMN colour TEXT")
    # With a cache of its own the replay does not see the schema as it was.
    fresh = settings.model_copy(update={"cache_dir": tmp_path / "other"})
    different = next(each for each in again(output, fresh).differences if each.what == "llm messages")
    assert different.node == "generate_sql"
    assert "colour" in different.replayed and "colour" not in different.recorded


def test_a_source_that_is_gone_is_an_error_and_no_difference(ask: Ask, settings: Settings, things: Path) -> None:
    output = ask({"GeneratedSQL": [SUM]})
    things.unlink()
    with pytest.raises(SourceNotFound):
        again(output, settings)


def test_a_run_that_found_no_source_is_replayed_as_that(ask: Ask, settings: Settings) -> None:
    output = ask({}, source="sqlite:///nowhere.sqlite")
    assert output["error"]["code"] == "source_not_found"
    assert again(output, settings).differences == []


def test_another_source_can_be_compared(ask: Ask, settings: Settings, tmp_path: Path) -> None:
    output = ask({"GeneratedSQL": [SUM]})
    (tmp_path / "copy").mkdir()
    copy = make_table(tmp_path / "copy", "thing TEXT, amount INTEGER", [("bolt", 3), ("nut", 4), ("gear", 6)])
    assert again(output, settings, url(copy)).differences != []
    change(copy, "UPDATE things SET amount = 5 WHERE thing = 'gear'")
    assert again(output, settings, url(copy)).output["value"] == 12


def test_the_date_of_the_prompts_is_that_of_the_run(settings: Settings) -> None:
    model = ScriptedModel({"GeneratedSQL": [SUM], "SQLValidation": [VALID]})
    services = Services(settings, model=model, today=lambda: date(2020, 2, 29))
    output = build_graph(services).invoke({"question": QUESTION})
    assert "2020-02-29" in model.calls[0].prompt
    assert again(output, settings).differences == []


@pytest.mark.parametrize(
    "answers",
    [
        {"GeneratedSQL": []},
        {"GeneratedSQL": ["no JSON at all", SUM]},
        {"GeneratedSQL": ["no JSON", "again none", SUM]},
        {"GeneratedSQL": [TimeoutError("slow")]},
        {"GeneratedSQL": [RuntimeError("a defect of a client")]},
        {"GeneratedSQL": [{**SUM, "sql": "SELECT nothing_like_it FROM things"}, SUM]},
        {"GeneratedSQL": [{**SUM, "sql": "DROP TABLE things"}, SUM]},
        {"GeneratedSQL": [{**SUM, "off_topic": True}] * 5},
        {"GeneratedSQL": [SUM], "SQLValidation": ["no verdict", "none again"]},
        {"GeneratedSQL": [SUM], "SQLValidation": [{**VALID, "is_valid": False, "corrected_sql": LIST["sql"]}, VALID]},
    ],
)
def test_every_way_a_run_can_go_is_replayed_the_same(
    ask: Ask, settings: Settings, answers: dict[str, list[Any]]
) -> None:
    output = ask(answers)
    done = again(output, settings)
    assert done.differences == []
    assert (done.output["error"] or {}).get("code") == (output["error"] or {}).get("code")


def test_values_that_a_condition_computes_are_no_difference(ask: Ask, settings: Settings) -> None:
    output = ask({"GeneratedSQL": [{**SUM, "sql": f"{SUM['sql']} WHERE amount <> RANDOM()"}]})
    assert output["value"] == 12
    assert again(output, settings).differences == []


def test_a_run_that_reached_its_limit_is_replayed_the_same(settings: Settings, things: Path) -> None:
    low = settings.model_copy(update={"max_llm_calls": 1})
    services = Services(low, model=ScriptedModel({"GeneratedSQL": ["no JSON", SUM]}))
    output = build_graph(services).invoke({"question": QUESTION})
    assert output["error"]["code"] == "budget_exceeded"
    assert again(output, settings).differences == []


def test_the_embedded_model_is_replayed_with_its_candidates(settings: Settings) -> None:
    options = EmbeddedOptions(candidates=3)
    texts = ["SELECT SUM(amount) FROM things", "SELECT amount FROM things", "SELECT SUM(amount) FROM things"]
    services = Services(settings, model=ScriptedModel({"text": texts}), embedded=options)
    output = build_graph(services).invoke({"question": QUESTION})
    assert output["audit"]["llm_calls"] >= 2, output["answer"]
    assert again(output, settings).differences == []


def test_the_likelihood_of_a_statement_is_that_of_the_record(settings: Settings) -> None:
    text = json.dumps(SUM)
    content = [{"token": text, "logprob": -0.5, "bytes": None, "top_logprobs": []}]
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": {"content": content}}
    answer = HTTPReply(body=json.dumps({"id": "1", "object": "chat.completion", "model": "m", "choices": [choice]}))
    with FakeOpenAI([answer]) as server:
        reached = settings.model_copy(
            update={"llm_base_url": server.base_url, "llm_model": "m", "enable_sql_validation": False}
        )
        services = Services(reached)
        services.models.of().logprobs = Logprobs(True)
        output = build_graph(services).invoke({"question": QUESTION})

    assert output["value"] == 12, output["answer"]
    assert again(output, settings).differences == []


def test_an_endpoint_that_taught_another_form_is_replayed_the_same(settings: Settings) -> None:
    with FakeOpenAI([HTTPReply(status=400), SUM, VALID, SUM]) as server:
        given = {"llm_base_url": server.base_url, "llm_model": "fake"}
        graph = build_graph(Services(settings.model_copy(update=given)))
        first, second = graph.invoke({"question": QUESTION}), graph.invoke({"question": QUESTION})
        asked = len(server.requests)
        assert [again(output, settings).differences for output in (first, second)] == [[], []]
        assert len(server.requests) == asked
    assert (first["value"], second["value"]) == (12, 12)


def test_an_endpoint_that_returns_reasoning_is_replayed_the_same(settings: Settings) -> None:
    answers = [f"<think>All of them.</think>{json.dumps(SUM)}", json.dumps(VALID), json.dumps(SUM), json.dumps(VALID)]
    with FakeOpenAI(answers) as server:
        reached = settings.model_copy(
            update={"llm_base_url": server.base_url, "llm_model": "m", "llm_structured_output": "text"}
        )
        services = Services(reached)
        outputs = [build_graph(services).invoke({"question": question}) for question in (QUESTION, f"{QUESTION} Now?")]

    assert ['"plan"' in str(request["messages"]) for request in server.requests] == [True, False, False, False]
    assert [again(output, settings).differences for output in outputs] == [[], []]


def test_the_settings_of_the_run_hold_and_not_those_of_today(ask: Ask, settings: Settings) -> None:
    output = ask({"GeneratedSQL": [LIST]}, "List all things")
    today = settings.model_copy(update={"row_limit": 1, "enable_sql_validation": False})
    assert again(output, today).differences == []


# What cannot be replayed


def test_a_trace_without_its_beginning(ask: Ask, settings: Settings) -> None:
    store = open_store(settings)
    store.append([happened("e" * 32, "step", node="answer")])
    with pytest.raises(NotFound, match="its beginning is not on the record"):
        replay(store, "e" * 32, settings)


def test_a_password_comes_from_the_settings_or_has_to_be_given(ask: Ask, settings: Settings) -> None:
    secret = "postgresql://reader:a-long-password@127.0.0.1:1/dwh"
    named = settings.model_copy(update={"source": secret})
    output = build_graph(Services(named, model=ScriptedModel())).invoke({"question": QUESTION})
    assert output["error"]["code"] == "source_unreachable"
    with pytest.raises(SourceNotFound, match="--source") as failed:
        again(output, settings)
    assert "a-long-password" not in str(failed.value)
    assert again(output, named).differences == []
    assert again(output, settings, secret).differences == []


def test_a_recorded_output_that_was_forged_shows(ask: Ask, settings: Settings) -> None:
    output = ask({"GeneratedSQL": [SUM]})
    store: Store = open_store(settings)
    event = next(event for event in store.run(output["audit"]["trace_id"]) if event.kind == "llm")
    forged = event.body.replace("SUM(amount)", "MAX(amount)")
    with tampering(store) as connection:
        connection.exec_driver_sql("UPDATE datasphinx_events SET body = ? WHERE hash = ?", (forged, event.hash))
    assert "statement sql" in {each.what for each in again(output, settings).differences}
