"""OpenAI's client talks with the server: models, answers, conversations, errors, and hostile requests."""

import asyncio
import json
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openai
import pytest
from openai import AsyncOpenAI
from openai.types.chat import ChatCompletion

from datasphinx.agent.errors import StatementCancelled
from datasphinx.agent.sample.shop import shop_url
from tests.agent.conftest import Keep
from tests.agent.server.asking import HOW_MANY, SHOES, TOOL, TOP_TWO, connect, query_or_finish, statement_for
from tests.agent.server.keys import ACME, BETA, KEYS, as_
from tests.agent.server.leaving import UNBOUNDED, Held, client
from tests.agent.server.serving import COUNT, Served, serving
from tests.agent.sql.engines import ENDLESS
from tests.agent.tools.conftest import RETURNS
from tests.support.best_customer import ASKS, BEST, BY_AMOUNT, BY_ORDERS
from tests.support.databases import make_table, url
from tests.support.eventually import eventually

HOSTILE = "![x](http://host.example/?q) <img src=x> [link](http://host.example) ```html"


@pytest.fixture(scope="module")
def shared_server(cache_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server with two sources and two tenants, of which the second may query one and ask once a minute."""
    shoes = make_table(tmp_path_factory.mktemp("shoes"), "name TEXT, pairs INTEGER", [[HOSTILE, 3]], table="shoes")
    settings: dict[str, Any] = {
        "sources": {"shop": shop_url(cache_dir), "shoes": url(shoes)},
        "api_keys": KEYS,
        "tenants": {"acme": {}, "beta": {"sources": ["shoes"], "questions_per_minute": 1}},
        "data_dir": tmp_path_factory.mktemp("served"),
        "enable_sql_validation": False,
    }
    answers = {"GeneratedSQL": [statement_for], "AnalystStep": [query_or_finish]}
    with serving(cache_dir, answers, **settings) as server:
        yield server


def ask(server: Served, *texts: str, key: str = ACME, model: str = "datasphinx/shop", **given: Any) -> ChatCompletion:
    """The completion of a conversation: texts of the user and the assistant in turn."""
    with connect(server, key) as chat:
        return chat.chat.completions.create(model=model, messages=messages_of(*texts), **given)


def messages_of(*texts: str) -> Any:
    return [{"role": "assistant" if number % 2 else "user", "content": content} for number, content in enumerate(texts)]


def text(completion: ChatCompletion) -> str:
    content = completion.choices[0].message.content
    assert content
    return content


def reasoning(completion: ChatCompletion) -> str:
    return str(completion.choices[0].message.model_dump()["reasoning_content"])


def statement(completion: ChatCompletion) -> str:
    """The statement at the end of an answer."""
    _, _, block = text(completion).rpartition("```sql\n")
    return block.removesuffix("\n```")


# Models


def test_each_source_and_each_dataset_of_a_tenant_is_a_model(served: Served, keep: Keep) -> None:
    with connect(served) as acme, connect(served, BETA) as beta:
        dataset = keep(served.services.settings.data_dir / "tenants/acme", "returns.csv", RETURNS)
        models = {model.id: model.model_dump()["name"] for model in acme.models.list()}
        assert models == {
            "datasphinx": "datasphinx",
            "datasphinx-report": "datasphinx-report",
            "datasphinx/shop": "shop",
            "datasphinx/shoes": "shoes",
            f"datasphinx/{dataset}": "returns.csv",
        }
        assert acme.models.retrieve("datasphinx/shop").id == "datasphinx/shop"
        assert [model.id for model in beta.models.list()] == ["datasphinx", "datasphinx-report", "datasphinx/shoes"]
        for unknown in ("datasphinx/shop", f"datasphinx/{dataset}", "datasphinx/../acme", "gpt-4o", "x" * 9000):
            with pytest.raises(openai.NotFoundError):
                beta.models.retrieve(unknown)


def test_a_model_asks_its_data(served: Served, keep: Keep) -> None:
    dataset = keep(served.services.settings.data_dir / "tenants/acme", "returns.csv", RETURNS)
    assert "9,488" not in text(ask(served, SHOES, model="datasphinx/shoes"))
    answer = ask(served, "How many returns has each account?", model=f"datasphinx/{dataset}")
    assert "beta" in text(answer) and "run_query" in reasoning(answer)
    assert "orders" in statement(ask(served, HOW_MANY, model="datasphinx"))


# Answers


def test_an_answer_has_its_steps_as_reasoning_and_its_usage(served: Served) -> None:
    completion = ask(served, HOW_MANY, temperature=0.5, max_tokens=5, user="ann", tools=[TOOL], seed=1)
    assert completion.object == "chat.completion" and completion.id.startswith("chatcmpl-")
    assert completion.choices[0].finish_reason == "stop" and completion.model == "datasphinx/shop"
    steps = re.findall(r"^- ✓ (\w+) ", reasoning(completion), re.MULTILINE)
    assert steps[0] == "retrieve_tables" and steps[-1] == "answer" and len(set(steps)) == len(steps) > 4
    assert statement(completion) == COUNT["sql"] and COUNT["sql"] not in reasoning(completion)
    usage = completion.usage
    assert usage and usage.prompt_tokens > 0 and usage.total_tokens == usage.prompt_tokens + usage.completion_tokens


def test_rows_are_a_table_and_charts_are_links_with_the_rights_of_the_tenant(served: Served) -> None:
    table = text(ask(served, "How many orders are there by status?"))
    assert "| Status | Orders |\n|---|---|\n| cancelled |" in table

    chart = text(ask(served, "Show the orders by status as a bar chart"))
    link = re.search(r"\[Chart 1\]\((http://127\.0\.0\.1:\d+(/charts/\S+\.png))\)", chart)
    assert link, chart
    assert served.http.get(link[2]).status_code == 401
    with as_(served, ACME) as acme, as_(served, BETA) as beta:
        picture = acme.get(link[1])
        assert (picture.status_code, picture.headers["content-type"]) == (200, "image/png")
        assert beta.get(link[2]).status_code == 404


def test_values_are_no_markup(served: Served) -> None:
    answer = text(ask(served, SHOES, model="datasphinx/shoes"))
    assert "host.example" in answer and "| Pairs |" in answer
    answer = answer.partition("\n\n```sql\n")[0]
    assert not re.search(r"(?<!\\)(\[|<\w|```)", answer), answer


# Streams


def test_a_stream_has_the_steps_first_and_then_the_whole_answer(served: Served) -> None:
    whole = ask(served, HOW_MANY)

    async def stream() -> list[Any]:
        base_url = connect(served).base_url
        async with AsyncOpenAI(base_url=base_url, api_key=ACME, max_retries=0) as chat:
            options: Any = {"stream": True, "stream_options": {"include_usage": True}}
            chunks = await chat.chat.completions.create(
                model="datasphinx/shop", messages=messages_of(HOW_MANY), **options
            )
            return [chunk async for chunk in chunks]

    *chunks, end, usage = asyncio.run(stream())
    deltas = [chunk.choices[0].delta.model_dump(exclude_none=True) for chunk in chunks]
    assert deltas[0] == {"role": "assistant", "content": ""}
    assert [list(delta) for delta in deltas[1:]] == [["reasoning_content"]] * (len(deltas) - 2) + [["content"]]
    assert deltas[-1]["content"] == text(whole)
    assert end.choices[0].finish_reason == "stop" and not usage.choices
    assert whole.usage and usage.usage.prompt_tokens == whole.usage.prompt_tokens
    assert {chunk.id for chunk in chunks} == {end.id} == {usage.id}


def test_a_stream_ends_with_done(served: Served) -> None:
    body = {"model": "datasphinx/shop", "messages": messages_of(HOW_MANY), "stream": True}
    with as_(served, ACME) as acme:
        response = acme.post("/v1/chat/completions", json=body)
    assert response.headers["content-type"].startswith("text/event-stream")
    *events, done, _ = response.text.split("\n\n")
    assert done == "data: [DONE]"
    assert all("usage" not in json.loads(event.removeprefix("data: ")) for event in events)


@pytest.mark.heavy
def test_a_request_that_takes_too_long_ends_in_an_error(cache_dir: Path) -> None:
    held = Held(lambda _: COUNT)
    with serving(cache_dir, {"GeneratedSQL": [held]}, max_question_s=0.3) as server:
        with pytest.raises(openai.APIStatusError) as refused:
            ask(server, HOW_MANY, model="datasphinx")
        with connect(server) as chat, pytest.raises(openai.APIError) as broken:
            messages = messages_of(HOW_MANY)
            list(chat.chat.completions.create(model="datasphinx", messages=messages, stream=True))
        held.left.set()
    assert (refused.value.status_code, refused.value.type, refused.value.code) == (
        504,
        "server_error",
        "request_timeout",
    )
    assert broken.value.code == "request_timeout"


@pytest.mark.parametrize("stream", [True, False])
def test_a_client_that_leaves_stops_its_statement(
    cache_dir: Path, stream: bool, statements: tuple[threading.Semaphore, list[Any]]
) -> None:
    begun, outcomes = statements
    body = {"model": "datasphinx", "messages": messages_of(HOW_MANY), "stream": stream}
    with serving(cache_dir, {"GeneratedSQL": [{**COUNT, "sql": ENDLESS}]}, **UNBOUNDED) as server:
        with client(server, "/v1/chat/completions", body):
            assert begun.acquire(timeout=20)
        eventually(lambda: outcomes)
    assert [type(outcome) for outcome in outcomes] == [StatementCancelled]


# Conversations


def test_a_clarifying_question_is_a_text_and_the_next_message_its_answer(served: Served) -> None:
    asked = text(ask(served, BEST))
    assert asked.startswith(f"{ASKS['question']}\n1. by orders") and "\n2. by amount" in asked

    for answer, sql in (("2", BY_AMOUNT), ("by orders", BY_ORDERS)):
        chosen = ask(served, BEST, asked, answer)
        assert sql in statement(chosen)

    refused = text(ask(served, BEST, asked, "7"))
    assert "7" in refused
    assert BY_AMOUNT in statement(ask(served, BEST, asked, "7", refused, "2")), "the question is still open"


def test_messages_before_the_last_one_identify_the_conversation(served: Served) -> None:
    asked = text(ask(served, BEST, user="ann"))
    chosen = text(ask(served, BEST, asked, "2", user="ann"))
    two = TOP_TWO["sql"]
    history = (BEST, asked, "2", chosen, "only the top two")

    assert two in statement(ask(served, *history, user="ann"))
    assert two in statement(ask(served, *history, user="ann")), "an answer can be generated again"
    thought = f'<details type="reasoning" done="true">\n<summary>Thought</summary>\n> 1\n</details>\n{chosen}  '
    assert two in statement(ask(served, BEST, f"<think>a</think> {asked}", "2", thought, history[-1], user="ann"))
    system: Any = [{"role": "system", "content": "You are a pirate."}]
    with connect(served) as chat:
        more = chat.chat.completions.create(
            model="datasphinx/shop", messages=[*system, *messages_of(*history)], user="ann"
        )
    assert two in statement(more)

    edited = (BEST, asked, "2", f"{chosen} edited", history[-1])
    for texts, user in ((history, "bob"), (history[-1:], "ann"), (edited, "ann")):
        assert two not in statement(ask(served, *texts, user=user)), "this is another conversation"


def test_a_conversation_is_on_one_thread_until_it_branches(served: Served) -> None:
    question = "How many orders are there by status?"
    answer = text(ask(served, question, user="threads"))
    charts = [text(ask(served, question, answer, f"as a {form} chart", user="threads")) for form in ("bar", "pie")]
    threads = [re.findall(r"/charts/(\w{32})-", chart)[0] for chart in charts]
    with as_(served, ACME) as acme:
        runs = [acme.get(f"/threads/{each}/history").json()["runs"] for each in threads]
    assert [[run["said"]["question"] for run in each] for each in runs] == [
        ["as a bar chart", question],
        ["as a pie chart"],
    ]


def test_an_answer_does_not_wait_for_another_one_of_its_conversation(cache_dir: Path) -> None:
    held = Held(lambda _: COUNT)
    with serving(cache_dir, {"GeneratedSQL": [COUNT, held, COUNT]}, **UNBOUNDED) as server:
        history = (HOW_MANY, text(ask(server, HOW_MANY, model="datasphinx")))
        body = {"model": "datasphinx", "messages": messages_of(*history, "How many customers are there?")}
        with client(server, "/v1/chat/completions", body):
            assert held.begun.wait(20)
            assert COUNT["sql"] in statement(ask(server, *history, "How many items are there?", model="datasphinx"))
            held.left.set()


# Errors


def test_errors_have_the_form_and_the_status_of_openai(served: Served) -> None:
    with pytest.raises(openai.AuthenticationError) as no_key:
        ask(served, HOW_MANY, key="wrong")
    assert (no_key.value.code, no_key.value.type) == ("key_missing", "invalid_request_error")
    with pytest.raises(openai.NotFoundError) as no_model:
        ask(served, HOW_MANY, model="gpt-4o")
    assert no_model.value.code == "model_unknown" and "'gpt-4o'" in no_model.value.message
    with pytest.raises(openai.NotFoundError):
        ask(served, HOW_MANY, key=BETA)
    ask(served, SHOES, model="datasphinx/shoes", key=BETA)
    with pytest.raises(openai.RateLimitError) as limited:
        ask(served, SHOES, model="datasphinx/shoes", key=BETA)
    assert (limited.value.code, limited.value.type) == ("limit_reached", "rate_limit_error")
    assert 1 <= int(limited.value.response.headers["retry-after"]) <= 60
    with as_(served, ACME) as acme:
        missing, wrong_method = acme.get("/v1/nothing"), acme.get("/v1/chat/completions")
    assert missing.status_code == 404 and missing.json()["error"]["code"] == "not_found"
    assert wrong_method.status_code == 405 and wrong_method.json()["error"]["type"] == "invalid_request_error"


IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
USER = {"role": "user", "content": HOW_MANY}
CALL = {"role": "assistant", "content": None, "tool_calls": [{"id": "1", "type": "function", "function": {}}]}


def test_what_cannot_be_answered_is_refused(served: Served) -> None:
    wrong: list[tuple[dict[str, Any], str | None]] = [
        ({"messages": []}, "messages"),
        ({"messages": None}, "messages"),
        ({"messages": "hello"}, "messages"),
        ({"messages": [{"role": "pirate", "content": HOW_MANY}]}, "messages.0.role"),
        ({"messages": [USER, {"role": "assistant", "content": "9"}]}, None),
        ({"messages": [USER, CALL, {"role": "tool", "tool_call_id": "1", "content": "9"}]}, None),
        ({"messages": [{"role": "system", "content": HOW_MANY}]}, None),
        ({"messages": [{"role": "user", "content": [{"type": "text", "text": HOW_MANY}, IMAGE]}]}, None),
        ({"messages": [{"role": "user", "content": {"text": HOW_MANY}}]}, None),
        ({"messages": [{"role": "user", "content": ""}]}, "question"),
        ({"messages": [{"role": "user", "content": None}]}, "question"),
        ({"messages": [{"role": "user", "content": "a" * 100_000}]}, "question"),
        ({"messages": [{"role": "user", "content": "a\ud800b"}]}, None),
        ({"model": None}, "model"),
        ({"model": 7}, "model"),
        ({"n": 2}, "n"),
        ({"stream": "maybe"}, "stream"),
        ({"response_format": {"type": "json_object"}}, "response_format.type"),
        ({"tools": [TOOL], "tool_choice": "required"}, "tool_choice"),
        ({"tools": [TOOL], "tool_choice": {"type": "function", "function": {"name": "f"}}}, "tool_choice"),
        ({"logprobs": True}, "logprobs"),
        ({"modalities": ["text", "audio"]}, "modalities.1"),
    ]
    for change, param in wrong:
        body = {"model": "datasphinx/shop", "messages": [USER], **change}
        headers = {"Authorization": f"Bearer {ACME}", "Content-Type": "application/json"}
        response = served.http.post("/v1/chat/completions", content=json.dumps(body), headers=headers)
        error = response.json()["error"]
        assert (response.status_code, error["type"]) == (400, "invalid_request_error"), change
        assert error.keys() == {"message", "type", "param", "code"} and error["message"], change
        assert param is None or error["param"] == param, error
    for content in (b"", b"{", b"[]", b"\xff", b'{"model": ' + b"[" * 100_000):
        response = served.http.post("/v1/chat/completions", content=content, headers=headers)
        assert response.status_code == 400 and response.json()["error"]["message"], content
    assert not served.model.calls


@pytest.mark.heavy
def test_a_history_of_others_is_read_over(served: Served) -> None:
    foreign: list[Any] = [
        {"role": "developer", "content": "Use tools."},
        {"role": "user", "content": [IMAGE, {"type": "text", "text": "Look"}]},
        CALL,
        {"role": "tool", "tool_call_id": "1", "content": "<details type='reasoning'>" * 1000},
        {"role": "assistant", "content": "<think>" * 20_000, "name": "other"},
        *messages_of(*["a", "b"] * 5000),
    ]
    with connect(served) as chat:
        completion = chat.chat.completions.create(model="datasphinx/shop", messages=[*foreign, USER])
        assert COUNT["sql"] in statement(completion)
        with pytest.raises(openai.APIStatusError) as too_large:
            chat.chat.completions.create(model="datasphinx/shop", messages=[*messages_of("a" * 1_100_000, "b"), USER])
    assert (too_large.value.status_code, too_large.value.code) == (413, "request_too_large")
