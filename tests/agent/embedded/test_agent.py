"""The whole agent over the real weights: that it runs, the same again, and names only what exists.

Not how well it answers: once it runs on the base model, which was never trained for this and writes on to its limit.
"""

from pathlib import Path
from typing import Any

import pytest

from datasphinx.agent.embedded.server import Endpoint
from datasphinx.agent.embedded.tiers import TIERS
from datasphinx.agent.graph import build_graph
from datasphinx.agent.services import Services
from datasphinx.agent.settings import load_settings
from datasphinx.agent.sources.names import SAMPLE
from datasphinx.agent.sql.names import resolve
from datasphinx.agent.types import EmbeddedOptions


def answered(user_cache: Path, question: str, options: EmbeddedOptions) -> tuple[dict[str, Any], Services]:
    services = Services(load_settings(cache_dir=user_cache), embedded=options)
    output = build_graph(services).invoke({"question": question, "source": SAMPLE, "clarify": "never"})
    services.models.of().chat._client.close()
    return output, services


@pytest.mark.heavy
@pytest.mark.embedded
@pytest.mark.parametrize(
    ("question", "adapter"),
    [
        ("How many orders are there?", False),
        ("Сколько клиентов в каждой стране?", True),
    ],
)
def test_a_question_runs_from_end_to_end(endpoint: Endpoint, user_cache: Path, question: str, adapter: bool) -> None:
    output, services = answered(user_cache, question, EmbeddedOptions(adapter=adapter))

    calls = [call for step in output["audit"]["steps"] for call in step["calls"]]
    assert {(call["schema"], call["model"]) for call in calls} == {("GeneratedSQL", TIERS["base"].model)}
    assert output["audit"]["prompt_tokens"] > 100
    assert output["audit"]["llm_cost_usd"] == 0
    if output["error"]:
        assert output["error"]["code"] == "sql_not_generated"
    else:
        resolve(output["sql"], services.source(SAMPLE).catalog)
        assert output["tables"][0]["columns"]
        assert 0 < output["confidence"]["value"] < 1


@pytest.mark.heavy
@pytest.mark.embedded
def test_a_question_is_answered_the_same_again(endpoint: Endpoint, user_cache: Path) -> None:
    options = EmbeddedOptions(candidates=3)
    first, second = (answered(user_cache, "How many orders are there?", options)[0] for _ in range(2))
    statements = [
        [run["sql"] for step in output["audit"]["steps"] for run in step["statements"]] for output in (first, second)
    ]

    assert statements[0] == statements[1] != []
    assert first["answer"] == second["answer"]
