"""The standard path (JSON, validation, tools) with a real model: `large` as published, behind its endpoint.

It shows whether prompts and parsing suit a small model, not how well it answers. The nightly workflow runs it
with `-m nightly`, after `datasphinx model pull large`.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from datasphinx.agent.analyst import build_analyst
from datasphinx.agent.embedded import server
from datasphinx.agent.embedded.server import embedded_endpoint
from datasphinx.agent.embedded.tiers import TIERS
from datasphinx.agent.embedded.weights import weights_path
from datasphinx.agent.errors import ModelAnswerUnreadable
from datasphinx.agent.graph import build_graph
from datasphinx.agent.sample.spreadsheets import STORES
from datasphinx.agent.services import Services
from datasphinx.agent.settings import load_settings
from datasphinx.agent.sources.names import SAMPLE

pytestmark = [pytest.mark.nightly, pytest.mark.embedded]

COUNTS = {
    "How many customers are there?": "SELECT COUNT(*) FROM customers",
    "How many orders have the status cancelled?": "SELECT COUNT(*) FROM orders WHERE status = 'cancelled'",
}


@pytest.fixture(scope="module")
def services(user_cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Services]:
    tier = TIERS["large"]
    if not weights_path(user_cache, tier.weights).is_file():
        pytest.skip("the weights of `large` are not in the cache folder: `datasphinx model pull large` fetches them")
    with pytest.MonkeyPatch.context() as patch:
        # Tools and results of the analyst need more than the statements of the embedded model.
        patch.setattr(server, "CONTEXT_TOKENS", 8192)
        endpoint = embedded_endpoint(user_cache, tier.name, adapter=False)
    settings = load_settings(
        llm_base_url=endpoint.url,
        llm_api_key=endpoint.key,
        llm_model=tier.model,
        llm_profile="standard",
        enable_sql_validation=True,
        llm_timeout_s=600,
        max_question_s=1200,
        cache_dir=tmp_path_factory.mktemp("cache"),
    )
    services = Services(settings)
    yield services
    services.models.of().chat.root_client.close()


def test_questions_about_a_database_are_answered_with_json_and_validation(services: Services) -> None:
    graph, source = build_graph(services), services.source(SAMPLE)
    for question, reference in COUNTS.items():
        output = graph.invoke({"question": question, "source": SAMPLE, "clarify": "never"})
        calls = [call["schema"] for step in output["audit"]["steps"] for call in step["calls"]]
        assert output["error"] is None, output["error"]
        assert {"GeneratedSQL", "SQLValidation"} <= set(calls)
        assert output["value"] == source.execute(reference)["rows"][0][0], output["sql"]


def test_a_question_about_a_file_is_answered_with_tools(services: Services) -> None:
    question = "What is the total revenue of all rows?"
    output = build_analyst(services).invoke({"question": question, "files": [str(STORES)], "clarify": "never"})
    assert [step["tool"] for step in output["audit"]["steps"] if "tool" in step], output["answer"]
    assert output["error"] is None or output["error"]["code"] != ModelAnswerUnreadable.code, output["error"]
    assert output["tables"] or output["error"]["code"] == "cannot_answer", output
