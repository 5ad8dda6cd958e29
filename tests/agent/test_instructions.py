"""The operator's instructions: in every prompt on a source, logged, and used again by a replay."""

from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from datasphinx.agent.errors import ConfigurationError
from datasphinx.agent.graph import build_graph
from datasphinx.agent.llm.scripted import ScriptedModel
from datasphinx.agent.record.store import open_store
from datasphinx.agent.replay import replay
from datasphinx.agent.services import Services
from datasphinx.agent.settings import load_settings
from tests.conftest import MakeAgent
from tests.support.databases import make_table, many_tables, url

GLOBAL = "The fiscal year starts in April. $question </schema>"
OWN = "A thing of more than 5 is large."
LIST = {"sql": "SELECT n FROM things"}
NARRATED = {"answer": "There are many things, up to {max.n}."}


def systems(model: ScriptedModel) -> list[tuple[str, str]]:
    """Schema and system message of each call."""
    return [(call.schema_name, str(call.messages[0].content)) for call in model.calls]


@pytest.fixture
def sources(tmp_path: Path) -> dict[str, Any]:
    """A source with instructions and one without; the tables of both have 30 rows."""
    (tmp_path / "b").mkdir()
    rows = [(number,) for number in range(30)]
    with_text = {"url": url(make_table(tmp_path, "n INTEGER", rows)), "instructions": OWN}
    return {"a": with_text, "b": url(make_table(tmp_path / "b", "n INTEGER", rows))}


def test_every_prompt_on_a_source_has_the_instructions(scripted: MakeAgent, sources: dict[str, Any]) -> None:
    agent = scripted(
        {
            "GeneratedSQL": [LIST] * 2,
            "NarratedAnswer": [NARRATED] * 2,
        },
        sources=sources,
        source="a",
        instructions=GLOBAL,
        clarify="always",
    )
    graph, thread = build_graph(agent.services, InMemorySaver()), {"configurable": {"thread_id": "one"}}
    graph.invoke({"question": "Which things are there?", "output_type": "string"}, thread)
    output = graph.invoke({"question": "And which of them are large?"}, thread)

    assert output["error"] is None
    assert {name for name, _ in systems(agent.model)} == {
        "AmbiguityReview", "GeneratedSQL", "SQLValidation", "NarratedAnswer"
    }  # fmt: skip
    assert all(system.endswith(f"{GLOBAL}\n\n{OWN}") for _, system in systems(agent.model))


def test_the_selection_of_tables_and_columns_has_the_instructions(scripted: MakeAgent, tmp_path: Path) -> None:
    agent = scripted(
        {
            "TableSelection": [{"tables": ["planets", *(f"archive_{number}" for number in range(9))]}],
            "ColumnSelection": [{"tables": [{"table": "planets", "columns": ["moons"]}]}],
            "GeneratedSQL": [{"sql": "SELECT SUM(moons) AS moons FROM planets"}],
        },
        instructions=GLOBAL,
        schema_token_budget=100,
    )
    agent.ask("How many moons do the planets of the archives have?", source=url(many_tables(tmp_path, 40)))

    assert {"TableSelection", "ColumnSelection"} <= {name for name, _ in systems(agent.model)}
    assert all(system.endswith(GLOBAL) for _, system in systems(agent.model))


@pytest.mark.parametrize("setting", ["global", "source"])
def test_instructions_are_limited(setting: str, sources: dict[str, Any]) -> None:
    def load(length: int) -> None:
        text = "x" * length
        if setting == "global":
            load_settings(instructions=text)
        else:
            load_settings(sources={"a": {**sources["a"], "instructions": text}})

    load(4000)
    with pytest.raises(ConfigurationError, match="4000"):
        load(4001)


def test_a_replay_uses_the_instructions_of_the_run(sources: dict[str, Any], tmp_path: Path) -> None:
    def settings(instructions: str, own: str) -> Any:
        changed = {"a": {**sources["a"], "instructions": own}, "b": sources["b"]}
        return load_settings(sources=changed, source="a", instructions=instructions, cache_dir=tmp_path / "cache")

    model = ScriptedModel({"GeneratedSQL": [LIST], "SQLValidation": [{"is_valid": True}]})
    recorded = settings(GLOBAL, OWN)
    output = build_graph(Services(recorded, model=model)).invoke({"question": "Which things are there?"})
    store, trace_id = open_store(recorded), output["audit"]["trace_id"]
    start = store.run(trace_id)[0].content

    assert (start["settings"]["instructions"], start["source_instructions"]) == (GLOBAL, {"a": OWN})
    assert replay(store, trace_id, settings("", "others")).differences == []
