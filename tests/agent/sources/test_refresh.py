"""Start from the cache, refresh in the background, and refresh after a change of the schema."""

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from agent.errors import NamesUnknown, StatementError
from agent.sources import background
from agent.sources import catalog_loader as loader
from agent.sources.background import start_once, stop_all
from agent.sources.source import Source
from tests.databases import make_database, open_url, url

Opener = Callable[..., Source]


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return make_database(
        tmp_path, "CREATE TABLE shops (id INTEGER PRIMARY KEY, state TEXT)", "INSERT INTO shops VALUES (1, 'TX')"
    )


@pytest.fixture
def opener(database: Path, tmp_path: Path) -> Iterator[Opener]:
    opened: list[Source] = []

    def make(**given: Any) -> Source:
        opened.append(open_url(url(database), **({"cache_dir": tmp_path / "cache"} | given)))
        return opened[-1]

    yield make
    for source in opened:
        source.close()
    assert not [thread for thread in threading.enumerate() if thread.name == "datasphinx-catalog"]
    assert not list(tmp_path.rglob("*.part"))


def alter(database: Path, *statements: str) -> None:
    with closing(sqlite3.connect(database)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()


def settled(source: Source) -> Source:
    """The source once its background work has ended without an error."""
    if source.background:
        assert source.background.wait(30)
        assert source.background.error is None
    return source


def forbid_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise AssertionError("the database was read")

    for name in ("reflect", "profile", "read_values", "SchemaIndex"):
        monkeypatch.setattr(loader, name, fail)


def test_a_second_start_reads_nothing(opener: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    first = settled(opener())
    forbid_reading(monkeypatch)
    second = opener()
    assert second.background is None
    assert second.catalog == first.catalog
    assert second.catalog.values["shops", "state"] == ("TX",)
    assert second.index.scores("shops in TX") == first.index.scores("shops in TX") != {}
    assert [match.value for match in second.values.find("Texas")] == ["TX"]
    assert second.execute("SELECT state FROM shops")["rows"] == [["TX"]]


def test_without_a_folder_nothing_is_kept(opener: Opener, tmp_path: Path) -> None:
    source = opener(cache_dir=None)
    assert source.background is None
    assert [match.value for match in source.values.find("Texas")] == ["TX"]
    assert not (tmp_path / "cache").exists()


def test_a_file_that_changed_is_read_again_beside_the_questions(opener: Opener, database: Path) -> None:
    settled(opener())
    alter(database, "CREATE TABLE staff (name TEXT)", "INSERT INTO shops VALUES (2, 'CA')")
    stale = settled(opener())
    assert "staff" not in stale.catalog.tables
    fresh = opener()
    assert fresh.background is None
    assert "staff" in fresh.catalog.tables
    assert fresh.index.rank("the staff") == ["staff"]
    assert fresh.catalog.values["shops", "state"] == ("CA", "TX")
    assert [match.value for match in fresh.values.find("California")] == ["CA"]


def test_a_broken_cache_is_built_again(opener: Opener, tmp_path: Path) -> None:
    first = settled(opener())
    for path in (tmp_path / "cache").rglob("*.*"):
        path.write_bytes(b"broken" * 100)
    again = settled(opener())
    assert again.catalog == first.catalog
    assert [match.value for match in again.values.find("Texas")] == ["TX"]


def test_the_index_of_a_refresh_is_kept(opener: Opener, database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settled(opener())
    alter(database, "CREATE TABLE staff (name TEXT)", "INSERT INTO shops VALUES (2, 'Dakota')")
    assert settled(opener()).index.rank("staff in Dakota") == []
    forbid_reading(monkeypatch)
    assert opener().index.rank("staff in Dakota") == ["staff", "shops"]


def test_an_index_that_is_gone_is_built_again(opener: Opener, tmp_path: Path) -> None:
    first = settled(opener())
    for path in (tmp_path / "cache").rglob("*.index"):
        path.unlink()
    again = opener()
    assert again.background is None
    assert again.index.scores("shops in TX") == first.index.scores("shops in TX")
    assert list((tmp_path / "cache").rglob("*.index"))


def test_a_schema_that_changed_between_catalog_and_query(opener: Opener, database: Path) -> None:
    source = settled(opener())
    alter(database, "ALTER TABLE shops RENAME COLUMN state TO region", "CREATE TABLE staff (name TEXT)")
    with pytest.raises(NamesUnknown):
        source.execute("SELECT region FROM shops")
    with pytest.raises(StatementError):
        source.execute("SELECT name FROM staff")
    refreshed = source.refresh()
    assert refreshed is not None
    assert refreshed.execute("SELECT region FROM shops")["rows"] == [["TX"]]
    assert refreshed.execute("SELECT name FROM staff")["rows"] == []
    assert refreshed.values.contains("shops", "region", "TX") is True
    assert refreshed.values.contains("shops", "state", "TX") is None
    refreshed.close()
    assert opener().catalog == refreshed.catalog


def test_a_schema_that_did_not_change_gives_no_other_source(opener: Opener, database: Path) -> None:
    source = settled(opener())
    alter(database, "INSERT INTO shops VALUES (2, 'CA')")
    assert source.refresh() is None


def test_two_refreshes_never_run_at_once(opener: Opener, database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settled(opener())
    alter(database, "CREATE TABLE staff (name TEXT)")
    begun, may_go_on, runs = threading.Event(), threading.Event(), []
    reflect = loader.reflect

    def slow(*given: Any, **named: Any) -> Any:
        runs.append(1)
        begun.set()
        assert may_go_on.wait(30)
        return reflect(*given, **named)

    monkeypatch.setattr(loader, "reflect", slow)
    first = opener()
    assert begun.wait(30)
    second = opener()
    assert second.background is first.background
    assert second.execute("SELECT COUNT(*) FROM shops")["rows"] == [[1]]
    may_go_on.set()
    settled(second)
    assert runs == [1]


def test_an_error_in_the_background_is_kept(opener: Opener, database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settled(opener())
    alter(database, "CREATE TABLE staff (name TEXT)")

    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("lost")

    with monkeypatch.context() as patched:
        patched.setattr(loader, "reflect", fail)
        source = opener()
        assert source.background is not None and source.background.wait(30)
    assert str(source.background.error) == "lost"
    assert source.execute("SELECT COUNT(*) FROM shops")["rows"] == [[1]]


def test_closing_stops_what_goes_on(opener: Opener, database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settled(opener())
    alter(database, "CREATE TABLE staff (name TEXT)")
    begun = threading.Event()

    def until_stopped(*_: object, stop: Callable[[], bool], **__: object) -> Any:
        begun.set()
        while not stop():
            pass
        return source.catalog

    monkeypatch.setattr(loader, "profile", until_stopped)
    source = opener()
    assert begun.wait(30)
    source.close()
    assert source.background is not None and not source.background.is_running


def test_the_process_stops_it_too() -> None:
    begun = threading.Event()

    def until_stopped(stop: Callable[[], bool]) -> None:
        begun.set()
        while not stop():
            pass

    work = start_once("a test", until_stopped)
    assert begun.wait(30)
    stop_all()
    assert not work.is_running
    assert "a test" not in background._by_name


def test_a_cache_that_cannot_be_written_costs_nothing_but_time(opener: Opener, tmp_path: Path) -> None:
    (tmp_path / "in_the_way").write_text("")
    source = opener(cache_dir=tmp_path / "in_the_way")
    assert source.background is not None and source.background.wait(30)
    assert [match.value for match in source.values.find("Texas")] == ["TX"]


def test_a_locked_file_is_no_crash(opener: Opener, database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settled(opener())
    with closing(sqlite3.connect(database, isolation_level=None)) as writer:
        writer.execute("BEGIN EXCLUSIVE")
        source = opener()
        writer.execute("ROLLBACK")
    assert settled(source).execute("SELECT COUNT(*) FROM shops")["rows"] == [[1]]
