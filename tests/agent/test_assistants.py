"""What LangGraph assistants and chats send to the graphs: a context, messages, and inputs without a question."""

from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from datasphinx.agent.analyst import build_analyst
from datasphinx.agent.graph import build_graph
from datasphinx.agent.llm.scripted import ScriptedModel
from datasphinx.agent.services import Services
from datasphinx.agent.settings import load_settings
from tests.agent.walk import COUNT, HOW_MANY, calls
from tests.conftest import VALID, MakeAgent, ScriptedAgent
from tests.support.best_customer import ASKS, BEST, BY_AMOUNT, BY_ORDERS
from tests.support.databases import make_table, url
from tests.support.fake_openai import FakeOpenAI

pytestmark = pytest.mark.integration

THREAD: Any = {"configurable": {"thread_id": "one"}}
THINGS = {"sql": "SELECT COUNT(*) AS things FROM things"}


def on_thread(agent: ScriptedAgent) -> Any:
    """Return the graph of `agent` with threads."""
    return build_graph(agent.services, checkpointer=InMemorySaver())


def code(output: dict[str, Any]) -> str | None:
    """Return the error code of an output."""
    return output["error"] and output["error"]["code"]


# The context


def test_the_context_sets_defaults(scripted: MakeAgent, tmp_path: Path) -> None:
    other = url(make_table(tmp_path, "thing TEXT", [["one"], ["two"]], table="things"))
    agent = scripted({"GeneratedSQL": [THINGS]}, sources={"things": other}, source="sample", enable_sql_validation=None)
    context = {"source": "things", "clarify": "never", "effort": "low"}
    output = agent.graph.invoke({"question": "How many things are there?"}, context=context)
    assert (code(output), output["value"]) == (None, 2)
    assert "SQLValidation" not in calls(agent)


def test_an_input_takes_precedence_over_the_context(scripted: MakeAgent) -> None:
    agent = scripted({"GeneratedSQL": [COUNT]})
    output = agent.graph.invoke({"question": HOW_MANY, "source": "sample"}, context={"source": "no such source"})
    assert code(output) is None
    assert code(agent.graph.invoke({"question": HOW_MANY}, context={"source": "no such source"})) == "source_not_found"


def test_a_conversation_keeps_its_source(scripted: MakeAgent, tmp_path: Path) -> None:
    other = url(make_table(tmp_path, "thing TEXT", [["one"], ["two"]], table="things"))
    agent = scripted({"GeneratedSQL": [THINGS, THINGS]}, sources={"things": other}, source="sample")
    graph = on_thread(agent)
    for context in (None, {"source": "sample"}):
        given = {"question": "How many things are there?", **({} if context else {"source": "things"})}
        assert graph.invoke(given, THREAD, context=context)["value"] == 2


@pytest.mark.parametrize(
    ("context", "named"),
    [
        ({"clarify": "sometimes"}, "`context.clarify`"),
        ({"effort": "huge"}, "low, medium, high"),
        ({"effort": 3}, "`context.effort`"),
        ({"source": ["sample"]}, "`context.source`"),
        ({"surprise": "1"}, "model, source, clarify, effort"),
        ({"model": "no such model"}, "`context.model`"),
    ],
)
def test_a_wrong_context_is_an_error_that_names_the_key(
    scripted: MakeAgent, context: dict[str, Any], named: str
) -> None:
    agent = scripted()
    output = agent.graph.invoke({"question": HOW_MANY}, context=context)
    assert code(output) == "input_invalid" and named in output["error"]["message"]
    assert calls(agent) == {}


def test_empty_values_of_a_form_are_not_set(scripted: MakeAgent) -> None:
    context = {"model": "", "source": None, "clarify": "", "effort": None}
    assert code(scripted({"GeneratedSQL": [COUNT]}).graph.invoke({"question": HOW_MANY}, context=context)) is None


def test_the_analyst_has_a_context_without_effort(cache_dir: Path, tmp_path: Path) -> None:
    other = url(make_table(tmp_path, "thing TEXT", [["one"], ["two"]], table="things"))
    finish = {"AnalystStep": [{"tool": "finish", "arguments": {"cannot_answer": "no"}}]}
    settings = load_settings(cache_dir=cache_dir, sources={"things": other})
    graph = build_analyst(Services(settings, model=ScriptedModel(finish, repeat_last=True)))
    asked = {"question": "How many things?"}
    assert code(graph.invoke(asked)) == "data_missing"
    assert code(graph.invoke(asked, context={"source": "things"})) == "cannot_answer"
    assert code(graph.invoke({**asked, "datasets": ["ds_0123456789abcdef"]}, context={"source": "things"})) == (
        "dataset_unknown"
    )
    assert code(graph.invoke(asked, context={"effort": "low"})) == "input_invalid"


def test_the_context_chooses_a_model_that_the_settings_name(cache_dir: Path) -> None:
    count = {"assumptions": [], "off_topic": False, **COUNT}
    with FakeOpenAI() as first, FakeOpenAI() as second:
        settings = load_settings(
            cache_dir=cache_dir,
            llm_base_url=first.base_url,
            llm_model="default",
            llm_models={"review": {"model": "elsewhere", "base_url": second.base_url}},
            prices={"priced": {"input": 1, "output": 1}},
        )
        graph = build_graph(Services(settings))
        for name, endpoint in (("", first), ("default", first), ("priced", first), ("elsewhere", second)):
            endpoint.answers.extend([count, VALID])
            context = {"model": name} if name else None
            asked = {"question": HOW_MANY, "enable_sql_validation": True}
            assert code(graph.invoke(asked, context=context)) is None
            assert {request["model"] for request in endpoint.requests} == {name or "default"}
            endpoint.requests.clear()
        refused = graph.invoke({"question": HOW_MANY}, context={"model": "another"})
    assert code(refused) == "input_invalid" and "default, elsewhere, priced" in refused["error"]["message"]
    assert first.requests == second.requests == []


def test_the_context_schemas_have_its_values() -> None:
    agent, analyst = (build().get_context_jsonschema()["properties"] for build in (build_graph, build_analyst))
    assert list(agent) == ["model", "source", "clarify", "effort"]
    assert list(analyst) == ["model", "source", "clarify"]
    assert agent["clarify"]["anyOf"][0]["enum"] == ["never", "auto", "always"]


# Inputs without a question


@pytest.mark.parametrize("given", [{}, {"output_type": "plot"}, {"question": None}, {"messages": []}])
def test_an_input_without_a_question_is_an_error(scripted: MakeAgent, given: dict[str, Any]) -> None:
    agent = scripted({"GeneratedSQL": [COUNT]})
    graph = on_thread(agent)
    assert code(graph.invoke(given, THREAD)) == "invalid_question"
    first = graph.invoke({"question": HOW_MANY}, THREAD)
    again = graph.invoke(given, THREAD)
    assert (code(first), code(again)) == (None, "invalid_question")
    assert again["answer"] == "This cannot be read as a question: there is none."
    assert (again["value"], again["sql"], again["tables"]) == (None, None, [])
    assert calls(agent)["GeneratedSQL"] == 1


# Messages


@pytest.mark.parametrize(
    "messages",
    [
        [HumanMessage(HOW_MANY)],
        [{"role": "user", "content": HOW_MANY}],
        [("user", HOW_MANY)],
        HOW_MANY,
        [{"type": "human", "content": [{"type": "text", "text": HOW_MANY}]}],
        [HumanMessage("Hello?"), AIMessage("Hello."), HumanMessage(HOW_MANY), AIMessage("One moment.")],
    ],
)
def test_the_last_message_of_the_user_is_the_question(scripted: MakeAgent, messages: Any) -> None:
    output = on_thread(scripted({"GeneratedSQL": [COUNT]})).invoke({"messages": messages}, THREAD)
    assert (code(output), output["sql"]) == (None, COUNT["sql"])
    assert [message.type for message in output["messages"]][-2:].count("ai") >= 1
    assert output["messages"][-1].text == output["answer"]


def test_a_chat_goes_on_and_is_kept(scripted: MakeAgent) -> None:
    agent = scripted({"GeneratedSQL": [COUNT, {"sql": "SELECT COUNT(*) AS customers FROM customers"}]})
    graph = on_thread(agent)
    first = graph.invoke({"messages": [HumanMessage(HOW_MANY)]}, THREAD)
    asked = "How many customers are there?"
    second = graph.invoke({"messages": [HumanMessage(asked)]}, THREAD)
    assert "customers" in second["sql"]
    said = [(message.type, message.text) for message in graph.get_state(THREAD).values["messages"]]
    assert said == [("human", HOW_MANY), ("ai", first["answer"]), ("human", asked), ("ai", second["answer"])]
    assert code(graph.invoke({"output_type": "number"}, THREAD)) == "invalid_question"


@pytest.mark.parametrize(("said", "sql"), [("1", BY_ORDERS), ("by amount", BY_AMOUNT)])
def test_a_message_answers_a_clarifying_question(scripted: MakeAgent, said: str, sql: str) -> None:
    graph = on_thread(scripted({"GeneratedSQL": [ASKS]}))
    asked = graph.invoke({"messages": [HumanMessage(BEST)]}, THREAD)
    assert asked["messages"][-1].text == asked["answer"] and asked["clarification"]
    answered = graph.invoke({"messages": [HumanMessage(said)]}, THREAD)
    assert (code(answered), answered["sql"]) == (None, sql)
    assert answered["messages"][-1].text == answered["answer"]
