"""Start from the cache, refresh in the background, and refresh after a change of the schema."""

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import datasphinx.agent.services
from datasphinx.agent.errors import NamesUnknown, StatementError, StatementTimeout
from datasphinx.agent.services import Services
from datasphinx.agent.settings import load_settings
from datasphinx.agent.sources import background, profile
from datasphinx.agent.sources import catalog_loader as loader
from datasphinx.agent.sources.background import start_once, stop_all
from datasphinx.agent.sources.profile import is_profiled
from datasphinx.agent.sources.source import Source, open_source
from tests.support.databases import make_database, open_url, url

pytestmark = pytest.mark.integration

Opener = Callable[..., Source]


@pytest.fixture(autouse=True)
def alone() -> None:
    """Stop what the agents of earlier tests still read in the background."""
    stop_all()


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


def many_tables(tmp_path: Path, count: int) -> Path:
    path = tmp_path / "many.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        for number in range(count):
            connection.execute(f"CREATE TABLE shop{number} (id INTEGER, town TEXT, colour TEXT)")
            rows = [(row, f"town {row}", "red") for row in range(3 if number else 2000)]
            connection.executemany(f"INSERT INTO shop{number} VALUES (?, ?, ?)", rows)
        connection.commit()
    return path


@pytest.fixture
def sampled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The statements that read samples and values."""
    statements: list[str] = []
    execute = profile.execute

    def counted(sql: str, *arguments: Any, **options: Any) -> Any:
        statements.append(sql)
        return execute(sql, *arguments, **options)

    monkeypatch.setattr(profile, "execute", counted)
    return statements


def test_complete_samples_are_not_read_again_for_the_values(tmp_path: Path, sampled: list[str]) -> None:
    source = settled(open_url(url(many_tables(tmp_path, 5)), profile_budget_s=60, cache_dir=tmp_path / "cache"))
    sampled.clear()
    values = source.loader.read_values(source.catalog)
    source.close()
    assert len(sampled) == 1, "the one table that is larger than a sample"
    assert values.contains("shop0", "town", "town 1999") is True
    assert values.contains("shop0", "town", "town 2000") is False
    assert values.contains("shop4", "town", "town 2") is True
    assert values.contains("shop4", "town", "town 3") is False


def test_a_question_does_not_wait_for_all_values(
    opener: Opener, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started, continued = threading.Event(), threading.Event()
    read_values = loader.read_values

    def blocked(*arguments: Any, **options: Any) -> Any:
        if threading.current_thread().name == "datasphinx-catalog":
            started.set()
            assert continued.wait(30)
        return read_values(*arguments, **options)

    monkeypatch.setattr(loader, "read_values", blocked)
    source = opener()
    assert started.wait(30)
    first = source.values
    assert [match.value for match in first.find("Texas")] == ["TX"]
    assert source.values is first
    continued.set()
    settled(source)
    assert source.values is not first
    assert [match.value for match in source.values.find("Texas")] == ["TX"]


def test_values_are_kept_in_memory_if_the_cache_cannot_be_written(opener: Opener, tmp_path: Path) -> None:
    (tmp_path / "blocked").write_text("a file, no folder")
    source = settled(opener(cache_dir=tmp_path / "blocked"))
    full = source.values
    assert not full.is_stored
    assert full.contains("shops", "state", "TX") is True
    assert full is source.loader.cached_values()


def test_tables_that_the_question_mentions_are_sampled_first(tmp_path: Path, sampled: list[str]) -> None:
    path = many_tables(tmp_path, 5)
    alter(path, "CREATE TABLE suppliers (id INTEGER)", "INSERT INTO suppliers VALUES (1)")
    open_url(url(path), profile_budget_s=60, question="How many suppliers are there?").close()
    tables = [sql.partition("FROM ")[2] for sql in sampled if sql.startswith('SELECT "id"')]
    assert tables[0].startswith('"suppliers" ')


def test_of_many_tables_those_are_sampled_that_fit_the_question_best(tmp_path: Path, sampled: list[str]) -> None:
    path = tmp_path / "records.sqlite"
    alter(path, *(f"CREATE TABLE record_{number} (id INTEGER, town TEXT)" for number in range(30)))
    asked = "How many records of table 17 are there?"
    open_url(url(path), profile_budget_s=60, question=asked, cache_dir=tmp_path / "cache").close()
    tables = [sql.partition("FROM ")[2].split()[0] for sql in sampled if sql.startswith('SELECT "id"')]
    assert tables[0] == '"record_17"'
    assert len(tables) == 3


def test_the_values_of_a_large_table_are_read_in_one_statement(
    tmp_path: Path, sampled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(profile, "_MAX_READ_CELLS", 1000)
    source = settled(open_url(url(many_tables(tmp_path, 5)), profile_budget_s=60, cache_dir=tmp_path / "cache"))
    assert sum("DISTINCT" in sql for sql in sampled) == 2, "one for the samples and one for the values of shop0"
    assert source.values.contains("shop0", "town", "town 1999") is True
    assert source.values.contains("shop0", "town", "town 2000") is False
    assert source.values.contains("shop0", "colour", "red") is True
    source.close()


def test_a_failed_statement_for_several_columns_is_replaced_by_one_for_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    execute = profile.execute

    def failing(sql: str, *arguments: Any, **options: Any) -> Any:
        if "UNION" in sql:
            raise StatementTimeout(1.0)
        return execute(sql, *arguments, **options)

    monkeypatch.setattr(profile, "execute", failing)
    monkeypatch.setattr(profile, "_MAX_READ_CELLS", 1000)
    source = settled(open_url(url(many_tables(tmp_path, 1)), profile_budget_s=60, cache_dir=tmp_path / "cache"))
    assert source.values.contains("shop0", "town", "town 1999") is True
    assert source.values.contains("shop0", "town", "town 2000") is False
    source.close()


def test_the_statements_before_the_first_answer_do_not_grow_with_the_schema(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    statements: list[str] = []
    execute = profile.execute

    def counted(sql: str, *arguments: Any, **options: Any) -> Any:
        if threading.current_thread() is threading.main_thread():
            statements.append(sql)
        return execute(sql, *arguments, **options)

    monkeypatch.setattr(profile, "execute", counted)
    counts = []
    for number, tables in enumerate((25, 60)):
        folder = tmp_path / str(number)
        folder.mkdir()
        statements.clear()
        source = open_url(url(many_tables(folder, tables)), profile_budget_s=60, cache_dir=folder / "cache")
        assert source.values.contains("shop1", "town", "town 1") is True
        counts.append(len(statements))
        later = settled(source).loader.load()
        source.close()
        assert later is not None and is_profiled(later.catalog)
    assert counts[0] == counts[1] < 30


def test_no_table_is_sampled_twice(tmp_path: Path, sampled: list[str]) -> None:
    settled(open_url(url(many_tables(tmp_path, 40)), profile_budget_s=60, cache_dir=tmp_path / "cache")).close()
    tables = [sql.partition(" FROM ")[2] for sql in sampled if sql.startswith('SELECT "id"')]
    assert len(tables) == len(set(tables)) == 40


def test_a_column_that_timed_out_is_read_again_later(
    tmp_path: Path, opener: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = url(many_tables(tmp_path, 2))
    execute = profile.execute

    def slow(sql: str, database: Any, catalog: Any, limits: Any, **options: Any) -> Any:
        # The samples are read within a second, the values within five.
        if limits.timeout_s > 1:
            raise StatementTimeout(limits.timeout_s)
        return execute(sql, database, catalog, limits, **options)

    def contains(refresh_after_s: float) -> bool | None:
        source = open_url(path, cache_dir=tmp_path / "cache", refresh_after_s=refresh_after_s)
        with closing(settled(source)):
            return source.values.contains("shop0", "town", "town 1999")

    with monkeypatch.context() as patched:
        patched.setattr(profile, "execute", slow)
        assert contains(300) is None
    assert contains(300) is None, "not at once: the statement would slow down each command"
    assert contains(0) is True
    with monkeypatch.context() as patched:
        patched.setattr(profile, "execute", slow)
        assert contains(0) is True, "all columns are read, so nothing is read again"


def test_completed_samples_are_used_without_a_restart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = many_tables(tmp_path, 5)
    services = Services(load_settings(cache_dir=tmp_path / "cache"))
    monkeypatch.setattr(datasphinx.agent.services, "open_source", partial(open_source, profile_budget_s=1e-9))
    first = settled(services.source(url(path), "How many towns?"))
    second = services.source(url(path))
    third = services.source(url(path))
    services.close()
    assert first.is_superseded
    assert first.catalog.tables["shop4"].rows is None
    assert second.catalog.tables["shop4"].rows == 3
    assert third is second


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


@pytest.mark.heavy
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


@pytest.mark.heavy
def test_closing_stops_what_goes_on(opener: Opener, database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settled(opener())
    alter(database, "CREATE TABLE staff (name TEXT)")
    begun = threading.Event()

    def until_stopped(sampler: profile.Sampler, _: object) -> Any:
        begun.set()
        while not sampler.is_finished:
            pass
        return sampler.catalog

    monkeypatch.setattr(loader, "profile", until_stopped)
    source = opener()
    assert begun.wait(30)
    source.close()
    assert source.background is not None and not source.background.is_running


@pytest.mark.heavy
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
