"""Files that are loaded inside a question: their progress is in the stream of the run, and its end cancels the load."""

from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from datasphinx.agent.conversation.conversations import CANCELLATION, Conversations
from datasphinx.agent.conversation.threads import open_threads
from datasphinx.agent.core.cancellation import Cancellation
from tests.agent.analysis.conftest import QUESTION, MakeAnalyst, step

STAGES = ["read", "examine", "write"]
FINISH = [step("run_query", query={"aggregations": [{"as": "n", "agg": "count", "col": "*"}]}), step("finish")]


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    """A data directory in which no other test has loaded anything."""
    return tmp_path / "data"


def progress_of(chunks: list[Any]) -> list[tuple[int, float]]:
    """Return the stage and the share of each event, after a check of its form."""
    assert all(set(chunk) == {"event", "data"} and chunk["event"] == "progress" for chunk in chunks)
    return [(STAGES.index(chunk["data"]["stage"]), chunk["data"]["share"]) for chunk in chunks]


def test_the_stream_of_a_run_has_the_progress_of_its_loads(analyst: MakeAnalyst, returns: str, sales: str) -> None:
    known = analyst([step("finish", cannot_answer="It lacks all.")])
    chunks = list(
        known.graph.stream({"question": QUESTION, "files": [returns, sales]}, stream_mode=["custom", "updates"])
    )

    loads: list[list[Any]] = [[]]
    for mode, chunk in chunks:
        if mode == "custom" and chunk["event"] == "progress":
            loads[-1].append(chunk)
        elif mode == "updates" and loads[-1]:
            assert set(chunk) == {"run_tool"}
            loads.append([])
    first, second, rest = loads
    assert rest == []
    for places in map(progress_of, (first, second)):
        assert places == sorted(set(places)) and {stage for stage, _ in places} == {0, 1, 2}


def test_conversations_have_the_progress_as_events(analyst: MakeAnalyst, returns: str) -> None:
    known = analyst([step("finish", cannot_answer="It lacks all.")])
    conversations = Conversations(known.graph, open_threads(known.services.settings))
    events = list(conversations.stream({"question": QUESTION, "files": [returns]}))

    kinds = [kind for kind, _ in events if kind != "started"]
    assert kinds[0] == "step" and kinds[1] == "progress" and kinds[-1] == "output"
    assert [data["stage"] for kind, data in events if kind == "progress"][-1] == "write"


def test_a_cancelled_run_cancels_its_load(analyst: MakeAnalyst, returns: str, tmp_path: Path) -> None:
    known, cancellation = analyst(checkpointer=InMemorySaver()), Cancellation()
    config: Any = {"configurable": {"thread_id": "1", CANCELLATION: cancellation}}
    seen = []
    for mode, chunk in known.graph.stream(
        {"question": QUESTION, "files": [returns]}, config, stream_mode=["custom", "values"]
    ):
        if mode == "custom":
            cancellation.cancel()
        seen.append((mode, chunk))

    assert seen[-1][1]["error"]["code"] == "statement_cancelled"
    assert known.services.registry.datasets() == []
    assert not any((tmp_path / "data" / "work").iterdir())


def test_the_file_of_a_dataset_can_be_read_again(analyst: MakeAnalyst, returns: str) -> None:
    known = analyst()
    registry = known.services.registry
    dataset = registry.create(registry.add_file(Path(returns)))
    steps = [
        step("create_dataset", file_id=dataset.file_id, header_row=0),
        step("finish", cannot_answer="It lacks all."),
    ]
    again = analyst(steps)
    output = again.ask(datasets=[dataset.dataset_id])

    made = [each["rows"] for each in output["audit"]["steps"] if each.get("tool") == "create_dataset"]
    assert made == [dataset.row_count + 1]
    assert dataset.file_id in again.prompts()[0]
