"""The client with every behaviour of `endpoint_behaviours`: it works, or ends in one clear error."""

import re

import pytest

from tests.agent.llm.conftest import Connect
from tests.agent.llm.endpoint_behaviours import ARGUMENTS, BEHAVIOURS, KEY, Behaviour, outcome
from tests.agent.llm.server_behaviours import SERVER_BEHAVIOURS
from tests.support.fake_openai import FakeOpenAI


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
