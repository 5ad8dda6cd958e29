from pathlib import Path

import pytest

from agent.graph import build_graph, graph
from tests.agent.walk import NODES

PICTURE = Path(__file__).resolve().parents[1] / "fixtures" / "graph.mmd"


def test_picture_is_the_graph() -> None:
    """Where the graph changes on purpose: write the new picture to `tests/fixtures/graph.mmd`, and look at it."""
    assert graph.get_graph().draw_mermaid() == PICTURE.read_text(encoding="utf-8")


def test_picture_has_every_node() -> None:
    assert set(graph.get_graph().nodes) == {
        "__start__",
        *NODES,
        "rewrite_question",
        "await_clarification",
        "keep_answer",
        "__end__",
    }


def test_drawing_needs_no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """The graph is imported by tools that only look at it; what is wrong with a setting is told to who asks."""
    monkeypatch.setenv("DATASPHINX_ROW_LIMIT", "many")
    built = build_graph()

    assert built.get_graph().draw_mermaid() == PICTURE.read_text(encoding="utf-8")
    output = built.invoke({"question": "How many orders are there?"})
    assert output["error"]["code"] == "configuration"
    assert "DATASPHINX_ROW_LIMIT" in output["answer"]
