"""Many questions at once, whose model answers none of them before all have asked; and questions that are cancelled."""

import asyncio
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver

from datasphinx.agent.conversation.conversations import Conversations
from datasphinx.agent.conversation.threads import open_threads
from datasphinx.agent.errors import StatementCancelled
from datasphinx.agent.graph import Graph, build_graph
from datasphinx.agent.llm.scripted import ScriptedModel
from datasphinx.agent.record.events import Event
from datasphinx.agent.record.recorder import Recorder
from datasphinx.agent.retrieval.linked_values import LinkedValue, linked_values
from datasphinx.agent.services import Services
from datasphinx.agent.settings import Settings, load_settings
from tests.agent.server.serving import serving
from tests.conftest import VALID
from tests.support.eventually import eventually
from tests.support.heavy import sample
from tests.support.under_load import ask_for, check_own, number_in

pytestmark = pytest.mark.integration

_WITHIN_S = 60
NUMBERS = range(100, 100 + sample(50, 16))
QUESTIONS = [{"question": f"What is the status of order number {number}?"} for number in NUMBERS]


def order_of(messages: list[BaseMessage]) -> dict[str, Any]:
    number = number_in(str(messages[-1].content))
    return {"sql": f"SELECT order_id FROM orders WHERE order_id = {number}", "assumptions": [], "off_topic": False}


def when_all_have_asked(answer: Callable[[list[BaseMessage]], Any]) -> Callable[[list[BaseMessage]], Any]:
    """Return `answer`, which each caller gets only when there are as many callers as questions."""
    arrived = threading.Barrier(len(NUMBERS))

    def wait(messages: list[BaseMessage]) -> Any:
        arrived.wait(_WITHIN_S)
        return answer(messages)

    return wait


class Events:
    """A sink of the record that keeps the events."""

    def __init__(self) -> None:
        self.kept: list[Event] = []

    def append(self, events: Sequence[Event]) -> None:
        """Add `events`."""
        self.kept += events

    def bodies(self, kind: str) -> list[Any]:
        """Return the bodies of the events of one kind."""
        return [event.body for event in self.kept if event.kind == kind]


@pytest.fixture
def settings(cache_dir: Path) -> Settings:
    return load_settings(cache_dir=cache_dir)


@pytest.fixture
def waiting_model() -> ScriptedModel:
    return ScriptedModel({"GeneratedSQL": [when_all_have_asked(order_of)]}, repeat_last=True)


async def ainvoke(graph: Graph) -> list[Any]:
    return await asyncio.gather(*map(graph.ainvoke, QUESTIONS))


async def abatch(graph: Graph) -> list[Any]:
    return await graph.abatch(list(QUESTIONS))


async def astream(graph: Graph) -> list[Any]:
    async def last(question: Any) -> Any:
        *_, output = [chunk async for chunk in graph.astream(question, stream_mode="values")]
        return output

    return await asyncio.gather(*map(last, QUESTIONS))


@pytest.mark.parametrize(
    "ask_all", [ainvoke, *(pytest.param(each, marks=pytest.mark.heavy) for each in (abatch, astream))]
)
def test_questions_to_the_graph(settings: Settings, waiting_model: ScriptedModel, ask_all: Any) -> None:
    outputs = asyncio.run(ask_all(build_graph(Services(settings, model=waiting_model))))

    assert [output["error"] for output in outputs] == [None] * len(NUMBERS)
    assert [output["value"] for output in outputs] == list(NUMBERS)
    assert len({output["audit"]["trace_id"] for output in outputs}) == len(NUMBERS)


def test_questions_at_once_search_their_stored_values_once(cache_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    searched = []

    def counting(question: str, *arguments: Any) -> list[LinkedValue]:
        searched.append(question)
        return linked_values(question, *arguments)

    monkeypatch.setattr("datasphinx.agent.sources.source.linked_values", counting)
    answers = {"GeneratedSQL": [when_all_have_asked(order_of)], "SQLValidation": [VALID]}
    model = ScriptedModel(answers, repeat_last=True)
    settings = load_settings(cache_dir=cache_dir, enable_sql_validation=True)
    asyncio.run(ainvoke(build_graph(Services(settings, model=model))))

    assert sorted(searched) == sorted(given["question"] for given in QUESTIONS)


@pytest.mark.heavy
@pytest.mark.server
def test_questions_over_http(cache_dir: Path) -> None:
    with serving(cache_dir, {"GeneratedSQL": [when_all_have_asked(order_of)]}) as served:
        port = served.http.base_url.port
        assert port
        said = asyncio.run(ask_for(port, NUMBERS))

    assert check_own(NUMBERS, said) == {"ok"}
    assert [each.number for each in said] == list(NUMBERS)


def test_a_cancelled_question_runs_no_statement(settings: Settings) -> None:
    is_asked, let_go = threading.Event(), threading.Event()

    def write(messages: list[BaseMessage]) -> Any:
        is_asked.set()
        assert let_go.wait(_WITHIN_S)
        return order_of(messages)

    events = Events()
    graph = build_graph(Services(settings, model=ScriptedModel({"GeneratedSQL": [write]}), recorder=Recorder(events)))

    async def ask_and_cancel() -> None:
        question = asyncio.create_task(graph.ainvoke(QUESTIONS[0]))
        assert await asyncio.to_thread(is_asked.wait, _WITHIN_S)
        question.cancel()
        with pytest.raises(asyncio.CancelledError):
            await question

    asyncio.run(ask_and_cancel())
    let_go.set()
    eventually(lambda: events.bodies("output"))

    (output,) = events.bodies("output")
    assert output["error"]["code"] == StatementCancelled.code
    assert [body["error"] is None for body in events.bodies("statement")] in ([], [False])


def test_a_checkpointer_without_synchronous_methods(settings: Settings) -> None:
    class AsyncSaver(InMemorySaver):
        """Like a store with an asynchronous driver only."""

        get_tuple = BaseCheckpointSaver.get_tuple
        put, put_writes = BaseCheckpointSaver.put, BaseCheckpointSaver.put_writes

        async def aget_tuple(self, config: RunnableConfig) -> Any:
            return InMemorySaver.get_tuple(self, config)

        async def aput(self, *arguments: Any) -> RunnableConfig:
            return InMemorySaver.put(self, *arguments)

        async def aput_writes(self, *arguments: Any) -> None:
            InMemorySaver.put_writes(self, *arguments)

    model = ScriptedModel({"GeneratedSQL": [order_of]})
    graph = build_graph(Services(settings, model=model), AsyncSaver())
    config = RunnableConfig(configurable={"thread_id": "1"})

    output = asyncio.run(graph.ainvoke(QUESTIONS[0], config))

    assert output["value"] == NUMBERS[0]


def test_an_answer_without_steps_wakes_the_event_loop_once(settings: Settings) -> None:
    model = ScriptedModel({"GeneratedSQL": [order_of]})
    conversations = Conversations(build_graph(Services(settings, model=model)), open_threads(settings))

    async def kinds() -> list[str]:
        return [kind async for kind, _ in conversations.astream(QUESTIONS[0], with_steps=False)]

    assert asyncio.run(kinds()) == ["output"]
