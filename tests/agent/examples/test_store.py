"""The file of the examples, with several processes at it."""

import multiprocessing
from multiprocessing.queues import Queue
from pathlib import Path

import pytest

from datasphinx.agent.examples.example import Example
from datasphinx.agent.examples.store import ExampleStore

_EACH = 20


def _write(folder: Path, writer: int, failures: "Queue[str]") -> None:
    try:
        store = ExampleStore(folder)
        for number in range(_EACH):
            store.add(
                [Example(f"question {number}", f"SELECT {writer}", "shared"), Example(f"{number}", "", f"{writer}")]
            )
            store.examples()
    except Exception as error:
        failures.put(repr(error))


@pytest.mark.heavy
@pytest.mark.process
def test_processes_that_begin_at_once_lose_nothing(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    failures: Queue[str] = context.Queue()
    writers = [context.Process(target=_write, args=(tmp_path / "data", writer, failures)) for writer in range(3)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)

    assert failures.empty(), failures.get()
    store = ExampleStore(tmp_path / "data")
    assert len(store.examples("shared")) == _EACH
    assert [len(store.examples(str(writer))) for writer in range(3)] == [_EACH] * 3


def test_examples_come_by_source_and_question_whatever_their_order(tmp_path: Path) -> None:
    examples = [Example(question, "SELECT 1", source) for source in "ab" for question in ("one", "two", "три")]
    store = ExampleStore(tmp_path)
    store.add(list(reversed(examples)))

    assert store.examples() == examples
    assert store.examples("b") == examples[3:]


def test_adding_none_makes_no_file(tmp_path: Path) -> None:
    store = ExampleStore(tmp_path)
    store.add([])

    assert not store.path.exists()
