"""How engines are found: ours with old metadata too, and those of other packages."""

import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from datasphinx.agent.engines import GROUP, OWN, engine_called, engine_of, engines
from datasphinx.agent.engines.base import Engine

ROOT = Path(__file__).resolve().parents[3]


def test_our_engines_are_registered_as_those_of_others() -> None:
    registered = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["entry-points"]

    assert registered[GROUP] == OWN
    assert {name: engine.name for name, engine in engines().items() if name in OWN} == {name: name for name in OWN}


def test_an_engine_is_found_by_dialect_and_by_scheme() -> None:
    assert engine_of("mysql") is engines()["mysql"]
    assert engine_called("postgres+psycopg") is engines()["postgresql"]
    assert engine_called("hive") is engines()["spark"]
    assert engine_of("oracle").name == "" and engine_called("oracle") is None


class Oracle(Engine):
    """An engine of another package."""

    name = "oracle"
    dialect = "oracle"


class _Installed:
    """Stands for the entry points of an installed package."""

    def __init__(self, name: str) -> None:
        self.name = name

    def load(self) -> type[Engine]:
        return Oracle


@pytest.fixture
def caches() -> Iterator[None]:
    for function in (engines, engine_of, engine_called):
        function.cache_clear()
    yield
    for function in (engines, engine_of, engine_called):
        function.cache_clear()


@pytest.mark.usefixtures("caches")
def test_engines_of_other_packages_are_added_and_replace_none_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    installed = [_Installed("oracle"), _Installed("postgresql")]
    monkeypatch.setattr("datasphinx.agent.plugins.entry_points", lambda group: installed)

    assert isinstance(engine_called("oracle+oracledb"), Oracle) and isinstance(engine_of("oracle"), Oracle)
    assert engines()["postgresql"].dialect == "postgres"
