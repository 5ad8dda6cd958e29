from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest

from datasphinx.agent.analyst import STEPS as ANALYST_STEPS
from datasphinx.agent.analyst import build_analyst
from datasphinx.agent.analyst import graph as analyst
from datasphinx.agent.graph import STEPS, build_graph, graph
from tests.agent.walk import NODES
from tests.support.generated_docs import mermaid

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"


@pytest.mark.parametrize(("compiled", "picture"), [(graph, "graph.mmd"), (analyst, "analyst.mmd")])
def test_picture_is_the_graph(compiled: Any, picture: str) -> None:
    """Where a graph changes on purpose: write the new picture to `tests/fixtures/`, and look at it."""
    assert mermaid(compiled) == (FIXTURES / picture).read_text(encoding="utf-8")


def test_picture_has_every_node() -> None:
    assert set(graph.get_graph().nodes) == {
        "__start__",
        "begin",
        *NODES,
        "await_clarification",
        "keep_answer",
        "__end__",
    }


@pytest.mark.parametrize(("build", "picture"), [(build_graph, "graph.mmd"), (build_analyst, "analyst.mmd")])
def test_drawing_needs_no_settings(build: Any, picture: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The graph is imported by tools that only look at it; what is wrong with a setting is told to who asks."""
    monkeypatch.setenv("DATASPHINX_ROW_LIMIT", "many")
    built = build()

    assert mermaid(built) == (FIXTURES / picture).read_text(encoding="utf-8")
    output = built.invoke({"question": "How many orders are there?", "files": ["a.csv"]})
    assert output["error"]["code"] == "configuration"
    assert "DATASPHINX_ROW_LIMIT" in output["answer"]


@pytest.mark.parametrize("compiled", [graph, analyst], ids=["agent", "analyst"])
def test_nodes_have_descriptions_and_choices_have_labels(compiled: Any) -> None:
    drawn = compiled.get_graph()
    described = {
        name for name, node in drawn.nodes.items() if (node.metadata or {}).get("description", "").endswith(".")
    }
    assert described == drawn.nodes.keys() - {"__start__", "__end__"}
    unlabelled = {(edge.source, edge.target) for edge in drawn.edges if not edge.data}
    assert unlabelled == {("__start__", "begin")}
    assert len({(edge.source, edge.target) for edge in drawn.edges}) == len(drawn.edges)


@pytest.mark.parametrize("steps", [STEPS, ANALYST_STEPS], ids=["agent", "analyst"])
def test_labels_are_those_of_the_routers(steps: Any) -> None:
    for node, router, labels in steps:
        targets = {router} if isinstance(router, str) else {*get_args(get_type_hints(router)["return"])}
        assert labels.keys() == targets, node.__name__
        assert len({*labels.values()}) == len(labels), node.__name__
