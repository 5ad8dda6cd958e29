from pathlib import Path

from datasphinx.agent.analyst import build_analyst, graph
from tests.support.generated_docs import mermaid

PICTURE = Path(__file__).resolve().parents[2] / "fixtures" / "analyst.mmd"


def test_picture_is_the_graph() -> None:
    """Where the graph changes on purpose: write the new picture to `tests/fixtures/analyst.mmd`, and look at it."""
    assert mermaid(graph) == PICTURE.read_text(encoding="utf-8")


def test_drawing_needs_no_settings(monkeypatch) -> None:
    """The graph is imported by tools that only look at it; what is wrong with a setting is told to who asks."""
    monkeypatch.setenv("DATASPHINX_ROW_LIMIT", "many")
    output = build_analyst().invoke({"question": "How many?", "files": ["a.csv"]})

    assert output["error"]["code"] == "configuration"
