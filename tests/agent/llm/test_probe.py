"""The probe of an endpoint, against servers that support different things."""

import re
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from langchain_core.messages import HumanMessage

from datasphinx.agent.errors import DatasphinxError, ModelUnreachable
from datasphinx.agent.graph import build_graph
from datasphinx.agent.llm.client import ModelClient
from datasphinx.agent.llm.probe import check_answer, probe
from datasphinx.agent.llm.probe_result import load_probe
from datasphinx.agent.llm.schemas import AnalystStep, GeneratedSQL
from datasphinx.agent.record.step import ModelCall
from datasphinx.agent.services import Services
from datasphinx.agent.settings import load_settings
from tests.agent.llm.conftest import Connect
from tests.agent.llm.endpoint_behaviours import (
    ARGUMENTS,
    BEHAVIOURS,
    KEY,
    MESSAGES,
    TOOLS,
    Behaviour,
    completion,
    has_schema,
    has_tools,
    outcome,
)
from tests.agent.llm.probe_behaviours import COUNT, PROBE_BEHAVIOURS, ProbeBehaviour, has_stream, model, rejects
from tests.fake_openai import FakeOpenAI, Reply

SQL = {"sql": "SELECT 1", "assumptions": [], "off_topic": False}


@pytest.fixture
def probed(connect: Connect, tmp_path: Path) -> Callable[..., ModelClient]:
    """A maker of clients that probe at first use, with a cache of the test."""
    return lambda **settings: connect(llm_profile="auto", cache_dir=tmp_path, **settings)


@pytest.mark.parametrize("behaviour", PROBE_BEHAVIOURS, ids=lambda behaviour: behaviour.name)
def test_probe_of_an_endpoint(server: FakeOpenAI, connect: Connect, behaviour: ProbeBehaviour) -> None:
    server.default = behaviour.answer
    client = connect()
    if behaviour.error:
        with pytest.raises(DatasphinxError) as caught:
            probe(client)
        assert re.search(behaviour.error, str(caught.value), re.DOTALL), str(caught.value)
    else:
        result = probe(client)
        assert {name: getattr(result, name) for name in behaviour.values} == behaviour.values
        assert all(result.observations.get(name) for name, value in behaviour.values.items() if value is False
                   if name != "usage")  # fmt: skip
    assert len(server.requests) == behaviour.requests


@pytest.mark.parametrize("behaviour", BEHAVIOURS, ids=lambda behaviour: f"{behaviour.group}: {behaviour.name}")
def test_a_probe_never_changes_the_outcome_of_a_question(
    server: FakeOpenAI, probed: Callable[..., ModelClient], behaviour: Behaviour, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("openai._base_client.time.sleep", lambda seconds: None)
    server.default = behaviour.answer
    try:
        client = probed(llm_api_key=KEY)
    except DatasphinxError as error:
        assert behaviour.error, str(error)
        assert re.search(behaviour.error, str(error), re.DOTALL), str(error)
        assert len(server.requests) <= 2
        return
    probes = len(server.requests)
    first = outcome(client, behaviour)
    if behaviour.error:
        assert re.search(behaviour.error, first, re.DOTALL), first
    else:
        assert first == (("get_schema", ARGUMENTS) if behaviour.steps else "SELECT 8")
    assert len(server.requests) - probes <= 2


def test_a_probed_endpoint_gets_only_what_it_accepts(server: FakeOpenAI, probed: Callable[..., ModelClient]) -> None:
    server.default = rejects(has_schema, "json_schema is not supported", then=rejects(has_tools, "no tools here"))
    client = probed()
    server.requests.clear()
    server.answers = [SQL, {"tool": "get_schema", "arguments": "{}"}]
    assert client.ask(GeneratedSQL, MESSAGES).sql == "SELECT 1"
    assert client.ask(AnalystStep, MESSAGES, TOOLS).tool == "get_schema"
    assert [request.get("response_format", {}).get("type") for request in server.requests] == ["json_object"] * 2
    assert not any(has_tools(request) for request in server.requests)


def test_the_setting_of_the_format_is_kept(server: FakeOpenAI, probed: Callable[..., ModelClient]) -> None:
    server.default = rejects(has_schema, "json_schema is not supported")
    client = probed(llm_structured_output="json_schema")
    assert client.capabilities.modes == ("json_schema",)


def test_an_endpoint_is_probed_once_and_its_result_is_cached(
    server: FakeOpenAI, probed: Callable[..., ModelClient], tmp_path: Path
) -> None:
    server.default = model()
    first = probed()
    assert len(server.requests) == 3
    second = probed()
    assert len(server.requests) == 3
    assert first.probe_result == second.probe_result == load_probe(tmp_path, server.base_url, "gpt-4o")
    probed(llm_model="another")
    assert len(server.requests) == 6


def test_a_cached_rejection_needs_no_request(server: FakeOpenAI, probed: Callable[..., ModelClient]) -> None:
    server.default = rejects(lambda request: "temperature" in request, "temperature is not supported")
    probed()
    server.requests.clear()
    server.answers = [SQL]
    probed().ask(GeneratedSQL, [HumanMessage("How many?")])
    assert [("temperature" in request) for request in server.requests] == [False]


@pytest.mark.parametrize("profile", ["standard", "plain"])
def test_other_profiles_are_not_probed(server: FakeOpenAI, connect: Connect, tmp_path: Path, profile: str) -> None:
    assert connect(llm_profile=profile, cache_dir=tmp_path).probe_result is None
    assert server.requests == []


def test_the_key_is_in_no_observation(server: FakeOpenAI, connect: Connect) -> None:
    server.default = rejects(has_tools, f"no tools for the key {KEY}")
    result = probe(connect(llm_api_key=KEY))
    assert "no tools for the key ***" in result.observations["tools"]
    assert KEY not in str(result)


def test_a_probe_is_not_part_of_the_question(
    server: FakeOpenAI, probed: Callable[..., ModelClient], calls: list[ModelCall]
) -> None:
    server.default = model()
    probed()
    assert calls == []


def test_a_probe_that_fails_in_part_leaves_the_rest_unknown(
    server: FakeOpenAI, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("openai._base_client.time.sleep", lambda seconds: None)
    server.default = rejects(has_tools, "slow down", 429)
    result = probe(connect())
    assert (result.json_schema, result.tools, result.streaming) == (True, None, None)
    assert result.observations["tools"].startswith("not measured: Error code: 429 - slow down")


def test_a_server_that_is_slow_with_tools_is_used_without_knowing(server: FakeOpenAI, connect: Connect) -> None:
    released = threading.Event()
    slow = Reply(COUNT, hang=released)
    server.default = lambda request: slow if has_tools(request) else completion({"content": COUNT})
    try:
        result = probe(connect(llm_timeout_s=0.3))
    finally:
        released.set()
    assert (result.json_schema, result.tools) == (True, None)
    assert "timed out" in result.observations["tools"]


def test_a_server_that_never_answers_is_unreachable(server: FakeOpenAI, connect: Connect) -> None:
    released = threading.Event()
    server.default = Reply(COUNT, hang=released)
    try:
        with pytest.raises(ModelUnreachable, match="timed out"):
            probe(connect(llm_timeout_s=0.3))
    finally:
        released.set()
    assert len(server.requests) == 2


def test_a_damaged_reply_to_the_probe_does_not_prevent_the_question(
    server: FakeOpenAI, probed: Callable[..., ModelClient], tmp_path: Path
) -> None:
    server.answers = [Reply(body='{"id": "1", "object": "chat.completion", "choi'), SQL]
    client = probed()
    assert client.probe_result is None
    assert client.ask(GeneratedSQL, MESSAGES).sql == "SELECT 1"
    assert not list(tmp_path.glob("probes/*"))


def test_an_endpoint_that_only_streams_answers_questions(server: FakeOpenAI, connect: Connect) -> None:
    (streaming,) = [each for each in PROBE_BEHAVIOURS if each.name == "only streaming is supported"]
    server.default = streaming.answer
    client = connect()
    assert client.chat.invoke([HumanMessage("How many?")]).text == COUNT
    assert [has_stream(request) for request in server.requests] == [False, True]
    client.chat.invoke([HumanMessage("How many?")])
    assert [has_stream(request) for request in server.requests] == [False, True, True]


def test_a_plain_answer_is_checked(server: FakeOpenAI, connect: Connect) -> None:
    server.answers = [Reply("ready")]
    check_answer(connect())
    with pytest.raises(ModelUnreachable):
        check_answer(connect())


def test_a_question_to_a_dead_server_ends_in_its_error(server: FakeOpenAI, no_waiting: None, tmp_path: Path) -> None:
    server.default = Reply(status=503)
    settings = load_settings(
        llm_base_url=server.base_url, llm_model="m", llm_profile="auto", cache_dir=tmp_path, clarify="never"
    )
    output = build_graph(Services(settings)).invoke({"question": "How many customers are there?"})
    assert output["error"]["code"] == "model_unreachable"
    assert len(server.requests) == 2
