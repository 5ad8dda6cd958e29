"""The whole agent over the real embedded model: that it runs and names only what exists, not how well it answers."""

import pytest

from agent.graph import build_graph
from agent.models.local import EMBEDDED_MODEL_NAME
from agent.services import SAMPLE, Services
from agent.settings import load_settings
from agent.sql.names import resolve


@pytest.mark.embedded
@pytest.mark.parametrize("question", ["How many orders are there?", "Сколько клиентов в каждой стране?"])
def test_a_question_runs_from_end_to_end(endpoint, user_cache, question):
    services = Services(load_settings(cache_dir=user_cache))
    output = build_graph(services).invoke({"question": question, "source": SAMPLE})
    services.model.chat.root_client.close()

    calls = [call for step in output["audit"]["steps"] for call in step["calls"]]
    assert {(call["schema"], call["model"]) for call in calls} == {("GeneratedSQL", EMBEDDED_MODEL_NAME)}
    assert output["audit"]["prompt_tokens"] > 100
    assert output["audit"]["cost_usd"] == 0
    if output["error"]:
        assert output["error"]["code"] == "sql_not_generated"
    else:
        resolve(output["sql"], services.source(SAMPLE).catalog)
        assert output["tables"][0]["columns"]
        assert any("embedded model" in note for note in output["audit"]["notes"])
