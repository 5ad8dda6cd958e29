"""Perplexity through the real client, against a server that gives logprobs, or refuses to."""

import json
import math
from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from datasphinx.agent.connect import connect_model
from datasphinx.agent.llm.client import ModelClient
from datasphinx.agent.llm.logprobs import Logprobs, likelihood_of
from datasphinx.agent.llm.schemas import GeneratedSQL
from datasphinx.agent.settings import load_settings
from tests.support.fake_openai import FakeOpenAI, Reply
from tests.support.steps import recorded

QUESTION = [HumanMessage("How many?")]
TOKENS = [('{"sql": "', -3.0), ("SELECT", -0.5), (" 1", -1.5), ('", ', -2.0), ('"assumptions": []}', -4.0)]


def completion(tokens: list[tuple[str, float]], logprobs: Any = ...) -> Reply:
    content = [{"token": text, "logprob": logprob, "bytes": None, "top_logprobs": []} for text, logprob in tokens]
    message = {"role": "assistant", "content": "".join(text for text, _ in tokens), "refusal": None}
    given = {"content": content, "refusal": None} if logprobs is ... else logprobs
    choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": given}
    body = {"id": "1", "object": "chat.completion", "created": 0, "model": "fake", "choices": [choice]}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    return Reply(body=json.dumps({**body, "usage": usage}))


def refusing(request: dict[str, Any]) -> Reply:
    if "logprobs" not in request:
        return completion(TOKENS, None)
    error = {"message": "logprobs is not supported", "code": None, "type": "invalid", "param": "logprobs"}
    return Reply(status=400, body=json.dumps({"error": error}))


def client(server: FakeOpenAI, *, logprobs: bool = True) -> ModelClient:
    model = connect_model(load_settings(llm_base_url=server.base_url, llm_model="fake"))
    model.logprobs = Logprobs(logprobs)
    return model


def asked(model: ModelClient) -> list[dict[str, Any]]:
    """What the record has of one call."""
    with recorded() as (_, events):
        assert model.ask(GeneratedSQL, QUESTION).sql == "SELECT 1"
    return events


def test_the_record_has_the_perplexity_of_the_statement_alone() -> None:
    with FakeOpenAI([completion(TOKENS)]) as server:
        (event,) = asked(client(server))

    assert server.requests[0]["logprobs"] is True
    # -0.5 and -1.5, and the tokens that hold nothing of the statement left out.
    assert event["logprob"] == -2.0
    assert event["perplexity"] == pytest.approx(math.exp(1.0), abs=1e-6)


def test_logprobs_are_asked_for_in_evaluations_alone() -> None:
    with FakeOpenAI([completion(TOKENS)]) as server:
        (event,) = asked(client(server, logprobs=False))

    assert "logprobs" not in server.requests[0]
    assert "perplexity" not in event


def test_an_endpoint_that_refuses_logprobs_is_asked_without_from_then_on() -> None:
    with FakeOpenAI(default=refusing) as server:
        model = client(server)
        first, second = asked(model), asked(model)

    assert [("logprobs" in request) for request in server.requests] == [True, False, False]
    assert [len(first), len(second)] == [1, 1]
    assert "perplexity" not in first[0]


def test_an_endpoint_that_ignores_logprobs_gives_no_perplexity() -> None:
    with FakeOpenAI([completion(TOKENS, None)]) as server:
        (event,) = asked(client(server))

    assert "perplexity" not in event


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [
        ([("SELECT", -1.0), (" 1", -3.0)], math.exp(2.0)),
        ([('{"sql": "SEL', -1.0), ('ECT 1"}', -3.0)], math.exp(2.0)),
        ([('{"sql": "', -9.0), ("SELECT '\\\"'", -1.0), ('"}', -9.0)], math.exp(1.0)),
        ([('{"sql": ""', -1.0), (', "off_topic": true}', -2.0)], math.exp(1.5)),
        ([("SELECT", 0.0)], 1.0),
        ([("SELECT", -9999.0)], None),
        ([], None),
    ],
    ids=["bare", "tokens that reach over", "a quote within", "no statement", "sure", "impossible", "nothing"],
)
def test_perplexity_is_exp_of_the_mean_over_the_tokens_of_the_statement(
    tokens: list[tuple[str, float]], expected: float | None
) -> None:
    content = [{"token": text, "logprob": logprob} for text, logprob in tokens]
    likelihood = likelihood_of({"logprobs": {"content": content}})
    assert (likelihood.perplexity if likelihood else None) == (
        None if expected is None else pytest.approx(expected, abs=1e-6)
    )
