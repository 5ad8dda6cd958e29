"""A cancelled load stops at any stage and leaves no file, dataset, process or thread."""

import io
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import pytest

from datasphinx.agent.core.cancellation import Cancellation
from datasphinx.agent.datasets.limits import Loading, LoadLimits
from datasphinx.agent.datasets.workspace import workspace
from datasphinx.agent.errors import StatementCancelled
from tests.agent.datasets.workbooks import sheet

FILES = {
    "a.csv": b"a,b\n1,x\n2,y\n",
    "a.xlsx": sheet(["a", "b"], [1, 2], [3, 4]),
    "a.jsonl": b'{"a": 1}\n',
}


@pytest.fixture(autouse=True)
def nothing_is_left(tmp_path) -> Iterator[None]:
    yield
    data = tmp_path / "data"
    assert not any((data / "work").iterdir())
    assert not any((data / "datasets").iterdir())
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("datasphinx-load")]


def add(registry, name: str) -> str:
    return registry.add_stream(io.BytesIO(FILES[name]), name)


@pytest.mark.parametrize("name", FILES)
def test_what_was_cancelled_before_does_not_begin(name, registry) -> None:
    cancellation = Cancellation()
    cancellation.cancel()
    with pytest.raises(StatementCancelled):
        registry.create(add(registry, name), cancellation=cancellation)


@pytest.mark.parametrize(("name", "stage"), [
    ("a.csv", "read"), ("a.csv", "examine"), ("a.csv", "write"), ("a.xlsx", "write"), ("a.jsonl", "read"),
])  # fmt: skip
def test_every_stage_can_be_cancelled(name, stage, registry) -> None:
    cancellation, report_progress = Cancellation(), []

    def progress(at: str, share: float) -> None:
        report_progress.append(at)
        if at == stage:
            cancellation.cancel()

    with pytest.raises(StatementCancelled):
        registry.create(add(registry, name), progress=progress, cancellation=cancellation)
    assert report_progress[-1] == stage


class OnceItRuns(Cancellation):
    """Cancels as soon as there is something that can be stopped."""

    def __init__(self) -> None:
        super().__init__()
        self.stopped: list[subprocess.Popen[bytes]] = []

    @contextmanager
    def calling(self, stop: Callable[[], None]) -> Iterator[None]:
        with super().calling(stop):
            self.cancel()
            self.stopped.append(stop.__self__)
            yield


def test_the_reader_of_workbooks_is_stopped(registry) -> None:
    cancellation = OnceItRuns()
    with pytest.raises(StatementCancelled):
        registry.create(add(registry, "a.xlsx"), cancellation=cancellation)

    (reader,) = cancellation.stopped
    assert reader.poll() is not None


def test_a_statement_is_stopped_in_its_midst(registry) -> None:
    """This one would run for hours."""
    cancellation = Cancellation()
    loading = Loading("a.csv", LoadLimits(), lambda stage, share: cancellation.cancel(), cancellation)
    with registry.folder() as folder, workspace(folder / "table.duckdb", [], loading) as work:
        with pytest.raises(StatementCancelled):
            work.run("SELECT sum(a.range * b.range) FROM range(10000000) a, range(10000000) b", (), ("read", 0.0, 1.0))


def test_progress_within_a_statement_is_reported_in_the_context_of_the_caller(registry) -> None:
    variable, cancellation, seen = ContextVar("variable", default=""), Cancellation(), []

    def progress(stage: str, share: float) -> None:
        seen.append((threading.current_thread() is threading.main_thread(), variable.get()))
        cancellation.cancel()

    variable.set("the caller's")
    loading = Loading("a.csv", LoadLimits(), progress, cancellation)
    with registry.folder() as folder, workspace(folder / "table.duckdb", [], loading) as work:
        with pytest.raises(StatementCancelled):
            work.run("SELECT sum(a.range * b.range) FROM range(10000000) a, range(10000000) b", (), ("read", 0.0, 1.0))

    assert seen == [(False, "the caller's")]


def test_what_was_cancelled_can_be_loaded_again(registry, tmp_path) -> None:
    file_id, cancellation = add(registry, "a.csv"), Cancellation()
    with pytest.raises(StatementCancelled):
        registry.create(file_id, progress=lambda stage, share: cancellation.cancel(), cancellation=cancellation)

    dataset = registry.create(file_id)
    assert dataset.row_count == 2
    registry.delete_dataset(dataset.dataset_id)
