"""Plug-ins of another package: the example in docs/plugins.md as an installed distribution."""

import io
import sqlite3
import tomllib
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path

import pytest
from pydantic import SecretStr

from datasphinx.agent.datasets.readers import readers
from datasphinx.agent.datasets.registry import Registry
from datasphinx.agent.engines import engine_called, engine_of, engines
from datasphinx.agent.errors import FileUnreadable, StatementRefused
from datasphinx.agent.knowledge import importers as knowledge
from datasphinx.agent.sample.shop import shop_url
from datasphinx.agent.settings import SourceSettings
from datasphinx.agent.sources.source import Source, open_source
from datasphinx.agent.sql.dialects import exact_dialect
from datasphinx.agent.types import Limits
from tests.agent.datasets.conftest import rows_of
from tests.support.commands import Run

pytestmark = pytest.mark.integration

ROOT = Path(__file__).resolve().parents[2]
CACHES = (engines, engine_of, engine_called, exact_dialect, readers, knowledge.importers)


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The example is installed."""
    monkeypatch.syspath_prepend(str(ROOT / "tests/plugin"))
    for function in CACHES:
        function.cache_clear()
    yield
    for function in CACHES:
        function.cache_clear()


def test_our_importers_are_registered_as_those_of_others() -> None:
    registered = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["entry-points"]
    assert registered[knowledge.GROUP] == knowledge.OWN
    assert set(knowledge.importers()) == {*knowledge.OWN, "words"}


@pytest.fixture
def books(tmp_path: Path) -> Iterator[Source]:
    """A source of the engine of the example, after one of SQLite over the same file."""
    with sqlite3.connect(tmp_path / "books.db") as connection:
        connection.executescript(
            "CREATE TABLE books (title TEXT, year INTEGER); INSERT INTO books VALUES ('Emma', 1815)"
        )
    for scheme in ("sqlite", "littlesql"):
        settings = SourceSettings(url=SecretStr(f"{scheme}:///{tmp_path}/books.db"))
        source = open_source(settings, Limits(10, 10), cache_dir=tmp_path / "cache")
        assert source.execute("SELECT title, year FROM books")["rows"] == [["Emma", 1815]]
        if scheme == "sqlite":
            source.close()
    yield source
    source.close()


def test_an_engine_is_opened_by_its_scheme(books: Source) -> None:
    assert type(books.catalog.engine).__name__ == "LittleSQL"
    assert books.execute("SELECT UPPER(title) AS t FROM books")["rows"] == [["EMMA"]]


def test_the_functions_and_columns_of_an_engine_are_obeyed(books: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = books.catalog.engine
    monkeypatch.setattr(engine, "allowed_functions", frozenset({"lower"}))
    monkeypatch.setattr(engine, "system_columns", frozenset({"hidden"}))

    assert books.execute("SELECT LOWER(title) AS t FROM books")["rows"] == [["emma"]]
    with pytest.raises(StatementRefused, match="unicode"):
        books.execute("SELECT UNICODE(title) AS t FROM books")
    with pytest.raises(StatementRefused, match="hidden is a system column"):
        books.execute("SELECT title FROM books WHERE hidden = 1")


def test_an_engine_in_a_module_of_its_own_has_the_functions_of_its_base() -> None:
    engine = engine_called("littlesql")
    assert engine is not None
    assert engine.allowed_functions == engine_of("sqlite").allowed_functions != frozenset()


def test_a_reader_yields_the_rows_of_a_file(tmp_path: Path) -> None:
    registry = Registry(tmp_path)
    content = b"[web]\nport = 80\n[mail]\nport = 25\nhost = m\n"
    dataset = registry.create(registry.add_stream(io.BytesIO(content), "servers.ini"))

    assert [column.name for column in dataset.schema] == ["section", "port", "host"]
    assert rows_of(registry, dataset) == [["web", "80", None], ["mail", "25", "m"]]


def test_a_file_that_a_reader_refuses_is_not_kept(tmp_path: Path) -> None:
    registry = Registry(tmp_path)
    with pytest.raises(FileUnreadable, match="not an INI file"):
        registry.create(registry.add_stream(io.BytesIO(b"port = 80\n"), "servers.ini"))
    with pytest.raises(FileUnreadable, match=".ini"):
        registry.create(registry.add_stream(io.BytesIO(b"port = 80\n"), "servers.xyz"))
    assert registry.datasets() == []


class _Reader:
    """Stands for the entry point of a reader with its suffix in upper case."""

    name = "LOG"

    def __init__(self, value: object) -> None:
        self.value = value

    def load(self) -> Callable[[Path], Iterator[dict[str, object]]]:
        return lambda path: iter([{"a": 1, "v": self.value}])


@pytest.mark.parametrize("name", ["z.log", "q.LOG"])
def test_the_suffix_of_a_reader_is_found_in_any_case(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr("datasphinx.agent.plugins.entry_points", lambda group: [_Reader([date(2026, 1, 2)])])
    registry = Registry(tmp_path)
    dataset = registry.create(registry.add_stream(io.BytesIO(b"x"), name))

    assert [column.name for column in dataset.schema] == ["a", "v"]


@pytest.mark.parametrize("value", [b"x", {1}, [{2}]], ids=["bytes", "set", "set in a list"])
def test_a_value_that_no_reader_may_yield_is_an_error_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: object
) -> None:
    monkeypatch.setattr("datasphinx.agent.plugins.entry_points", lambda group: [_Reader(value)])
    registry = Registry(tmp_path)
    with pytest.raises(FileUnreadable, match=r"z\.log.*(bytes|set)"):
        registry.create(registry.add_stream(io.BytesIO(b"x"), "z.log"))


def test_an_importer_writes_checked_entries(
    run: Run, tmp_path: Path, cache_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATASPHINX_CACHE_DIR", str(cache_dir))
    (tmp_path / "datasphinx.toml").write_text(f'[sources.shop]\nurl = "{shop_url(cache_dir)}"\nknowledge = "words/"\n')
    (tmp_path / "words").mkdir()
    (tmp_path / "own.txt").write_text(
        "large; above 1,000; orders.total_amount > 1000\nlost; never paid; orders.nothing = 1\n"
    )
    code, out, _ = run("knowledge", "import", "words", str(tmp_path / "own.txt"))

    assert code == 0
    assert "imported: term:large" in out and "not imported: lost: " in out
    assert "large" in (tmp_path / "words" / "imported_words_own.yml").read_text()


def test_an_unknown_format_names_those_that_are_installed(run: Run, tmp_path: Path) -> None:
    code, _, err = run("knowledge", "import", "other", str(tmp_path))

    assert code == 2 and "dbt, osi, words" in " ".join(err.split())
