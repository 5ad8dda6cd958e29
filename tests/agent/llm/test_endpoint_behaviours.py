"""The client with every behaviour of `endpoint_behaviours`: it works, or ends in one clear error."""

import json
import re
from typing import Any

import pytest
from langchain_core.messages import HumanMessage, SystemMessage

from datasphinx.agent.errors import DatasphinxError
from datasphinx.agent.llm.client import ModelClient
from datasphinx.agent.llm.schemas import AnalystStep, GeneratedSQL
from tests.agent.llm.conftest import Connect
from tests.agent.llm.endpoint_behaviours import ARGUMENTS, BEHAVIOURS, Behaviour
from tests.agent.llm.server_behaviours import SERVER_BEHAVIOURS
from tests.fake_openai import FakeOpenAI

MESSAGES = [SystemMessage("You write SQL."), HumanMessage("The tables."), HumanMessage("How many?")]
PARAMETERS = {"type": "object", "properties": {"dataset_id": {"type": "string"}}, "required": ["dataset_id"]}
TOOLS = [
    {"type": "function", "function": {"name": "get_schema", "description": "Columns.", "parameters": PARAMETERS}}
]  # fmt: skip
KEY = "sk-very-secret-0123456789"


def outcome(client: ModelClient, behaviour: Behaviour) -> Any:
    """Return the statement, the tool call, or the text of the error."""
    try:
        if behaviour.steps:
            step = client.ask(AnalystStep, MESSAGES, TOOLS)
            return step.tool, json.loads(step.arguments)
        return client.ask(GeneratedSQL, MESSAGES).sql
    except DatasphinxError as error:
        return str(error)


@pytest.mark.parametrize(
    "behaviour", [*BEHAVIOURS, *SERVER_BEHAVIOURS], ids=lambda behaviour: f"{behaviour.group}: {behaviour.name}"
)
def test_behaviour_of_an_endpoint(
    server: FakeOpenAI, connect: Connect, behaviour: Behaviour, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("openai._base_client.time.sleep", lambda seconds: None)
    server.default = behaviour.answer
    client = connect(llm_api_key=KEY)

    first = outcome(client, behaviour)
    requests = len(server.requests)
    if behaviour.error:
        assert re.search(behaviour.error, first, re.DOTALL), first
        assert requests <= behaviour.first
        return
    assert first == (("get_schema", ARGUMENTS) if behaviour.steps else "SELECT 8")
    assert requests <= behaviour.first
    outcome(client, behaviour)
    assert outcome(client, behaviour) == first
    assert len(server.requests) <= requests + behaviour.later + 1
