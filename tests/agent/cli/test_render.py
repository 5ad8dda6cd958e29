"""The progress bars of a file import and of the reading of a schema."""

import io
from pathlib import Path

import pytest
from rich.console import Console

from agent.cli import render
from agent.cli.render import LoadingBar, ReadingBar
from agent.sources.reflect import reflect
from agent.sql.database import Database
from tests.databases import many_tables, url


def shown(monkeypatch: pytest.MonkeyPatch, *, terminal: bool, slow: bool) -> str:
    monkeypatch.setattr(render, "_SLOW_LOAD_S", -1.0 if slow else 1e9)
    console = Console(file=io.StringIO(), force_terminal=terminal, width=100)
    with LoadingBar(console) as bar:
        for stage in ("read", "examine", "write"):
            for share in (0.0, 0.5, 1.0):
                bar(stage, share)
        bar("read", 0.25)
    return console.file.getvalue()  # type: ignore[attr-defined]


def test_a_long_load_shows_its_stages(monkeypatch: pytest.MonkeyPatch) -> None:
    text = shown(monkeypatch, terminal=True, slow=True)
    assert "reading the file" in text and "writing the dataset" in text and "25%" in text
    assert text.endswith("\x1b[2K")  # the line is gone in the end


@pytest.mark.parametrize(("terminal", "slow"), [(True, False), (False, True), (False, False)])
def test_a_short_load_and_a_pipe_show_nothing(monkeypatch: pytest.MonkeyPatch, terminal: bool, slow: bool) -> None:
    assert shown(monkeypatch, terminal=terminal, slow=slow) == ""


def test_the_reading_of_a_large_schema_has_a_bar(tmp_path: Path) -> None:
    texts = []
    for tables, terminal in ((2000, True), (2000, False), (150, True)):
        folder = tmp_path / f"{tables} {terminal}"
        folder.mkdir()
        console = Console(file=io.StringIO(), force_terminal=terminal, width=100)
        reflect(Database(url(many_tables(folder, tables))), progress=ReadingBar(console))
        texts.append(console.file.getvalue())  # type: ignore[attr-defined]
    assert "reading the schema" in texts[0] and "0/2001" in texts[0] and "2001/2001" in texts[0]
    assert texts[0].endswith("\x1b[2K") and texts[2] == "" and "\x1b" not in texts[1]
