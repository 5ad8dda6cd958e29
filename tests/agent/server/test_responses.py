"""OpenAI's client gets responses: messages, streams, conversations, and errors."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import agents
import openai
import pytest
from openai import AsyncOpenAI, OpenAI
from openai.types.responses import Response, ResponseReasoningItem

from datasphinx.agent.sample.shop import shop_url
from tests.agent.server.asking import HOW_MANY, TOOL, TOP_TWO, connect, statement_for
from tests.agent.server.keys import ACME, BETA, KEYS
from tests.agent.server.serving import COUNT, Served, serving
from tests.support.best_customer import ASKS, BEST, BY_AMOUNT, BY_ORDERS

FAILING = "Which of them failed?"


def answer_of(messages: list[Any]) -> dict[str, Any]:
    return {**COUNT, "sql": "SELECT"} if FAILING in str(messages) else statement_for(messages)


@pytest.fixture(scope="module")
def shared_server(cache_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    settings: dict[str, Any] = {
        "sources": {"shop": shop_url(cache_dir)},
        "api_keys": KEYS,
        "data_dir": tmp_path_factory.mktemp("served"),
        "enable_sql_validation": False,
    }
    with serving(cache_dir, {"GeneratedSQL": [answer_of]}, **settings) as server:
        yield server


@pytest.fixture
def client(served: Served) -> Iterator[OpenAI]:
    with connect(served, ACME) as chat:
        yield chat


def ask(client: OpenAI, message: Any, **given: Any) -> Response:
    return client.responses.create(model="datasphinx/shop", input=message, **given)


def test_a_response_has_the_steps_as_reasoning_and_the_answer_with_its_statement(client: OpenAI) -> None:
    response = ask(client, HOW_MANY, temperature=0.5, instructions="Be brief.", tools=[TOOL["function"]])
    assert response.status == "completed" and response.model == "datasphinx/shop" and response.id.startswith("resp_")
    assert response.output_text.endswith(f"```sql\n{COUNT['sql']}\n```")
    thought = response.output[0]
    assert isinstance(thought, ResponseReasoningItem) and "generate_sql" in thought.summary[0].text
    usage = response.usage
    assert usage and usage.input_tokens > 0 and usage.total_tokens == usage.input_tokens + usage.output_tokens


def test_the_events_of_a_stream_build_the_response(client: OpenAI) -> None:
    with client.responses.stream(model="datasphinx/shop", input=HOW_MANY) as stream:
        events = [*stream]
        final = stream.get_final_response()
    kinds = [event.type for event in events]
    assert kinds[:2] == ["response.created", "response.in_progress"] and kinds[-1] == "response.completed"
    numbers = [event.sequence_number for event in events]  # type: ignore[union-attr]
    assert numbers == sorted(set(numbers))
    steps = [event.delta for event in events if event.type == "response.reasoning_summary_text.delta"]
    assert len(steps) > 4 and kinds.index("response.output_text.delta") > kinds.index(
        "response.reasoning_summary_text.delta"
    )
    assert final.output_text == ask(client, HOW_MANY).output_text
    assert isinstance(final.output[0], ResponseReasoningItem) and final.output[0].summary[0].text == "".join(steps)


def test_a_conversation_goes_on_after_a_response(client: OpenAI) -> None:
    asked = ask(client, BEST)
    assert asked.output_text.startswith(ASKS["question"])
    chosen = ask(client, "2", previous_response_id=asked.id)
    assert BY_AMOUNT in chosen.output_text
    assert BY_ORDERS in ask(client, "by orders", previous_response_id=asked.id).output_text, "it may branch"
    assert TOP_TWO["sql"] in ask(client, "only the top two", previous_response_id=chosen.id).output_text

    messages: Any = [{"role": "user", "content": BEST}, *asked.output, {"role": "user", "content": "2"}]
    assert BY_AMOUNT in ask(client, messages).output_text, "or is sent as a whole"


def test_only_its_user_and_key_continue_a_stored_response(served: Served, client: OpenAI) -> None:
    stored = ask(client, BEST, user="ann")
    assert BY_AMOUNT in ask(client, "2", previous_response_id=stored.id, user="ann").output_text
    for earlier, user in ((stored, "bob"), (ask(client, BEST, store=False), openai.omit)):
        with pytest.raises(openai.NotFoundError) as refused:
            ask(client, "2", previous_response_id=earlier.id, user=user)
        assert refused.value.code == "response_unknown" and earlier.id in refused.value.message
    with connect(served, BETA) as other, pytest.raises(openai.NotFoundError):
        ask(other, "2", previous_response_id=stored.id, user="ann")


@pytest.mark.parametrize(
    ("change", "param"),
    [
        ({"input": []}, None),
        ({"input": [{"role": "assistant", "content": "9"}]}, None),
        ({"input": [{"type": "function_call_output", "call_id": "1", "output": "9"}]}, None),
        ({"input": [{"role": "user", "content": [{"type": "input_image", "image_url": "data:"}]}]}, None),
        ({"input": ""}, "question"),
        ({"text": {"format": {"type": "json_schema", "name": "x", "schema": {}}}}, "text.format.type"),
        ({"tool_choice": "required"}, "tool_choice"),
        ({"background": True}, "background"),
        ({"conversation": "conv_1"}, "conversation"),
    ],
)
def test_what_cannot_be_answered_is_refused(served: Served, change: dict[str, Any], param: str | None) -> None:
    body = json.dumps({"model": "datasphinx/shop", "input": HOW_MANY, **change})
    headers = {"Authorization": f"Bearer {ACME}", "Content-Type": "application/json"}
    response = served.http.post("/v1/responses", content=body, headers=headers)
    error = response.json()["error"]
    assert (response.status_code, error["type"]) == (400, "invalid_request_error")
    assert error["message"] and (param is None or error["param"] == param)


def test_the_agents_sdk_asks_follows_up_and_streams(served: Served) -> None:
    async def talk() -> list[str]:
        async with AsyncOpenAI(base_url=f"{served.url}/v1", api_key=ACME) as chat:
            model = agents.OpenAIResponsesModel("datasphinx/shop", openai_client=chat)
            agent = agents.Agent("analyst", instructions="Be brief.", model=model)
            config = agents.RunConfig(tracing_disabled=True)
            first = await agents.Runner.run(agent, BEST, run_config=config)
            history: Any = [*first.to_input_list(), {"role": "user", "content": "2"}]
            second = await agents.Runner.run(agent, history, run_config=config)
            third = agents.Runner.run_streamed(
                agent, "only the top two", run_config=config, previous_response_id=second.last_response_id
            )
            async for _ in third.stream_events():
                pass
            return [first.final_output, second.final_output, third.final_output]

    asked, chosen, shortened = asyncio.run(talk())
    assert asked.startswith(ASKS["question"]) and BY_AMOUNT in chosen and TOP_TWO["sql"] in shortened
