"""Models of providers with their own package, by a stand-in for langchain's `init_chat_model`."""

import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import PrivateAttr

from datasphinx.agent.connect import connect_model
from datasphinx.agent.errors import (
    ConfigurationError,
    DriverMissing,
    ModelAnswerUnreadable,
    ModelRejected,
    ModelUnreachable,
)
from datasphinx.agent.graph import build_graph
from datasphinx.agent.llm.client import ModelClient
from datasphinx.agent.llm.schemas import AnalystStep, GeneratedSQL
from datasphinx.agent.record.step import ModelCall
from datasphinx.agent.services import Services
from datasphinx.agent.settings import load_settings
from tests.agent.llm.endpoint_behaviours import KEY, MESSAGES, TOOLS

NAME = "anthropic:claude-sonnet-4-5"
USAGE = {"input_tokens": 1000, "output_tokens": 100, "total_tokens": 1100, "input_token_details": {"cache_read": 0}}


class Refusal(Exception):
    status_code = 401


class Overload(Exception):
    status_code = 529


class ReadTimeoutError(Exception):
    pass


class ThrottledByAws(Exception):
    response = {"ResponseMetadata": {"HTTPStatusCode": 400}}


class FakeProvider(BaseChatModel):
    """A provider whose chat model returns queued messages, or raises queued errors."""

    _options: dict[str, Any] = PrivateAttr(default_factory=dict)
    _replies: list[Any] = PrivateAttr(default_factory=list)
    _requests: list[tuple[list[BaseMessage], dict[str, Any]]] = PrivateAttr(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "fake"

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        self._requests.append((messages, kwargs))
        reply = self._replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        message = reply if isinstance(reply, AIMessage) else AIMessage(reply, usage_metadata=USAGE)
        return ChatResult(generations=[ChatGeneration(message=message)])


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> FakeProvider:
    """The provider, registered as the one that `init_chat_model` returns; its options are in `_options`."""
    chat = FakeProvider()

    def init_chat_model(model: str, **options: Any) -> BaseChatModel:
        chat._options = {"model": model, **options}
        return chat

    install(monkeypatch, init_chat_model)
    return chat


def install(monkeypatch: pytest.MonkeyPatch, init_chat_model: Callable[..., BaseChatModel]) -> None:
    module = ModuleType("langchain.chat_models")
    module.init_chat_model = init_chat_model  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "langchain", ModuleType("langchain"))
    monkeypatch.setitem(sys.modules, "langchain.chat_models", module)


def connect(provider: FakeProvider, *replies: Any, **settings: Any) -> ModelClient:
    provider._replies = list(replies)
    return connect_model(load_settings(**{"llm_model": NAME, **settings}))


def test_a_provider_gets_the_settings(provider: FakeProvider) -> None:
    client = connect(provider, llm_api_key=KEY, llm_timeout_s=7)
    assert client.name == NAME
    assert provider._options.pop("api_key").get_secret_value() == KEY
    assert provider._options == {
        "model": NAME, "timeout": 7, "max_retries": 1, "temperature": 0,
    }  # fmt: skip


def test_without_key_and_temperature_the_package_uses_its_own(
    provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATASPHINX_LLM_TEMPERATURE", "none")
    connect(provider)
    assert provider._options == {"model": NAME, "timeout": 60, "max_retries": 1}


def test_structured_answers_are_requested_in_the_prompt(provider: FakeProvider, calls: list[ModelCall]) -> None:
    client = connect(provider, '```json\n{"sql": "SELECT 8"}\n```')
    assert client.ask(GeneratedSQL, MESSAGES).sql == "SELECT 8"
    messages, options = provider._requests[0]
    assert '"off_topic"' in str(messages[-1].content)
    assert options == {}
    assert calls[0]["model"] == NAME
    assert calls[0]["cost_usd"] == pytest.approx(0.0045)


def test_content_in_parts_and_tool_choices_are_read(provider: FakeProvider) -> None:
    parts = [{"type": "thinking", "thinking": "SELECT 7?"}, {"type": "text", "text": '{"sql": "SELECT 8"}'}]
    step = '{"tool": "get_schema", "arguments": {"dataset_id": "ds_1"}}'
    client = connect(provider, AIMessage(content=parts), step)
    assert client.ask(GeneratedSQL, MESSAGES).sql == "SELECT 8"
    assert client.ask(AnalystStep, MESSAGES, TOOLS).tool == "get_schema"
    assert "The tools, each with" in str(provider._requests[1][0])


@pytest.mark.parametrize("field", ["finish_reason", "stop_reason", "stopReason"])
def test_an_answer_that_was_cut_off_is_not_used(provider: FakeProvider, field: str) -> None:
    cut = AIMessage("SELECT a FROM t WHERE b = 1", response_metadata={field: "max_tokens"})
    with pytest.raises(ModelAnswerUnreadable, match="limit of tokens"):
        connect(provider, cut, cut).ask(GeneratedSQL, MESSAGES)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (Refusal(f"invalid key {KEY}"), ModelRejected),
        (ThrottledByAws("model id is invalid"), ModelRejected),
        (TypeError("no credentials"), ModelRejected),
        (Overload("overloaded"), ModelUnreachable),
        (ReadTimeoutError("no answer"), ModelUnreachable),
        (ConnectionError("no route"), ModelUnreachable),
    ],
    ids=lambda value: getattr(value, "__name__", type(value).__name__),
)
def test_an_error_of_the_package_is_one_of_the_project(
    provider: FakeProvider, error: Exception, expected: type[Exception]
) -> None:
    with pytest.raises(expected) as caught:
        connect(provider, error, llm_api_key=KEY).ask(GeneratedSQL, MESSAGES)
    assert NAME in str(caught.value)
    assert KEY not in str(caught.value)
    assert len(provider._requests) == 1


def test_a_provider_is_not_measured_before_a_question(provider: FakeProvider, cache_dir: Path) -> None:
    settings = load_settings(
        llm_model=NAME, llm_profile="auto", cache_dir=cache_dir, clarify="never", enable_sql_validation=True
    )
    provider._replies = ['{"sql": "SELECT COUNT(*) FROM orders"}', '{"is_valid": true}']
    output = build_graph(Services(settings)).invoke({"question": "How many orders are there?"})
    assert output["value"] == 10127
    assert len(provider._requests) == 2


def test_a_provider_at_an_endpoint_is_a_model_name(provider: FakeProvider) -> None:
    client = connect(provider, llm_base_url="http://127.0.0.1:9/v1")
    assert provider._options == {}
    assert client.name == NAME


def test_without_langchain_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "langchain", None)
    monkeypatch.setitem(sys.modules, "langchain.chat_models", None)
    with pytest.raises(DriverMissing, match=r"datasphinx\[providers\]"):
        connect_model(load_settings(llm_model=NAME))


def test_without_its_package_the_provider_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def init_chat_model(model: str, **options: Any) -> BaseChatModel:
        raise ImportError("Initializing ChatAnthropic requires the langchain-anthropic package.")

    install(monkeypatch, init_chat_model)
    with pytest.raises(ConfigurationError, match="anthropic is not available: .* langchain-anthropic package"):
        connect_model(load_settings(llm_model=NAME))
