"""The command line, as every test of a command runs it, and datasets that many tests begin with."""

import gc
import io
import shutil
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from datasphinx.agent import cli
from datasphinx.agent.datasets.registry import Registry
from tests.support.commands import Run

Keep = Callable[[Path, str, str], str]
"""Takes a data folder, the name of a file and its text; gives the id of the dataset that is then kept there."""


@pytest.fixture(scope="session")
def keep(tmp_path_factory: pytest.TempPathFactory) -> Keep:
    """A maker of datasets: of one text once a session, for each test a copy of what a registry made of it."""

    @cache
    def made(name: str, text: str) -> tuple[Path, str]:
        folder = tmp_path_factory.mktemp("made")
        registry = Registry(folder)
        return folder, registry.create(registry.add_stream(io.BytesIO(text.encode()), name)).dataset_id

    def copied(data_dir: Path, name: str, text: str) -> str:
        folder, dataset_id = made(name, text)
        shutil.copytree(folder, data_dir, dirs_exist_ok=True)
        return dataset_id

    return copied


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Run]:
    """Runs `datasphinx` with the given arguments; exit code, standard output and standard error."""

    def run_command(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["datasphinx", *arguments])
        # A command freezes what it leaves behind, for its process ends; this one goes on.
        monkeypatch.setattr(gc, "freeze", lambda: None)
        with pytest.raises(SystemExit) as stopped:
            cli.main()
        out, err = capsys.readouterr()
        return int(stopped.value.code or 0), out, err

    yield run_command
    gc.enable()
