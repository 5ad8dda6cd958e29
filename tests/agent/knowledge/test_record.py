"""Business knowledge in the log of runs, in a replay, and in the keys of cached validations."""

from pathlib import Path
from typing import Any

from datasphinx.agent.graph import build_graph
from datasphinx.agent.llm.scripted import ScriptedModel
from datasphinx.agent.record.store import open_store
from datasphinx.agent.replay import replay
from datasphinx.agent.sample.shop import shop_url
from datasphinx.agent.services import Services
from datasphinx.agent.settings import load_settings
from tests.agent.knowledge.conftest import Write
from tests.conftest import VALID

METRIC = "metrics: {{revenue: {{expression: SUM(orders.total_amount), definition: {}}}}}"
REVENUE = {"sql": "SELECT SUM(total_amount) AS revenue FROM orders"}


def services_of(cache_dir: Path, folder: Path, **answers: Any) -> Services:
    source = {"url": shop_url(cache_dir), "knowledge": folder}
    settings = load_settings(cache_dir=cache_dir, sources={"shop": source}, enable_sql_validation=True)
    return Services(settings, model=ScriptedModel(answers))


def test_a_run_has_the_hash_of_its_knowledge(cache_dir: Path, write: Write) -> None:
    services = services_of(cache_dir, write(METRIC.format("one")), GeneratedSQL=[REVENUE], SQLValidation=[VALID])
    output = build_graph(services).invoke({"question": "What was the revenue?"})
    store, trace_id = open_store(services.settings), output["audit"]["trace_id"]

    assert store.run(trace_id)[0].content["knowledge"] == {"shop": services.knowledge("shop").hash}
    assert replay(store, trace_id, services.settings).differences == []


def test_a_replay_reports_changed_knowledge(cache_dir: Path, write: Write) -> None:
    services = services_of(cache_dir, write(METRIC.format("one")), GeneratedSQL=[REVENUE], SQLValidation=[VALID])
    output = build_graph(services).invoke({"question": "What was the revenue?"})
    before = services.knowledge("shop").hash
    write(METRIC.format("another"))
    differences = replay(open_store(services.settings), output["audit"]["trace_id"], services.settings).differences

    assert differences[0].what == "business knowledge"
    assert (differences[0].recorded, differences[0].replayed) == (
        {"shop": before}, {"shop": services.knowledge("shop").hash},
    )  # fmt: skip
    assert len(differences) > 1


def test_a_validation_is_cached_for_the_same_knowledge_only(cache_dir: Path, write: Write) -> None:
    services = services_of(
        cache_dir, write(METRIC.format("one")), GeneratedSQL=[REVENUE] * 3, SQLValidation=[VALID] * 3
    )
    graph = build_graph(services)
    validations = []
    for text in (METRIC.format("one"), METRIC.format("one"), METRIC.format("one") + "\n# changed"):
        write(text)
        graph.invoke({"question": "What was the revenue?"})
        model = services.models.of().chat  # type: ignore[attr-defined]
        validations.append(sum(call.schema_name == "SQLValidation" for call in model.calls))

    assert validations == [1, 1, 2]
