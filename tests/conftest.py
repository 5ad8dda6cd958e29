"""What all tests share: an environment without the machine's settings, a sample shop, a graph over a scripted model."""

import atexit
import gc
import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import hypothesis
import pytest
from xdist.scheduler import LoadScopeScheduling

from tests.support.heavy import sample

# The process that distributes tests to workers runs none: fixtures import the agent when they are used.
if TYPE_CHECKING:
    from datasphinx.agent.graph import Graph
    from datasphinx.agent.llm.scripted import Scripted, ScriptedModel
    from datasphinx.agent.record.events import Event
    from datasphinx.agent.services import Services
    from datasphinx.agent.settings import Settings
    from datasphinx.agent.sources.source import Source
    from datasphinx.agent.types import EmbeddedOptions
    from tests.support.analyst import Analyst

# Modules and tests are not garbage: no collection until all are imported.
gc.disable()

# The time of one example depends on the machine.
hypothesis.settings.register_profile("steady", deadline=None, max_examples=sample(100, 25))
hypothesis.settings.load_profile("steady")

SHARED = {
    "browser": {"browser"},
    "databases": {"postgres", "mysql"},
    "spark": {"spark"},
    "clickhouse": {"clickhouse"},
    "model": {"embedded"},
}
"""Groups of tests that use one server, model or browser, by marker; pytest-xdist runs each group in one worker.

The one that takes longest is the first: a worker that began with another would run its tests alone in the end.
"""
IMPLIED = {
    "heavy": {"clickhouse", "spark", "studio_url", "training"},
    "process": {"studio_url", "on_terminal", "server_process"},
    "server": {"server", "page", "served"},
    "integration": {"analysis", "benchdata", "cli", "datasets", "engine", "keep", "tools"},
}
"""Markers that a test gets for the markers, fixtures and folders with these names."""

TESTS = Path(__file__).parent
_FOLDERS = count()
NO_AMBIGUITY = {"summary": "all is clear", "no_ambiguity": True}
VALID = {"is_valid": True, "reason": "it answers the question", "issues": [], "corrected_sql": None}


class ScriptedAgent(NamedTuple):
    """A graph with the scripted model that answers in it."""

    graph: "Graph"
    model: "ScriptedModel"
    services: "Services"

    def ask(self, question: str, **given: Any) -> dict[str, Any]:
        """Return the output state of one question."""
        return self.graph.invoke({"question": question, **given})


MakeAgent = Callable[..., ScriptedAgent]
"""The fixture `scripted`."""


@pytest.fixture(scope="session", autouse=True)
def clean_environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """No setting of the machine and no `.env` reaches a test, nor a fixture that several tests share.

    Gives the settings that are hidden. Models are not measured, so that a test counts the requests of a question only.
    """
    folder = tmp_path_factory.mktemp("shared")
    with pytest.MonkeyPatch.context() as monkeypatch:
        ours = ("DATASPHINX_", "OPENAI_", "LANGSMITH_", "LANGCHAIN_")
        hidden = {name: value for name, value in os.environ.items() if name.startswith(ours)}
        for name in hidden:
            monkeypatch.delenv(name)
        monkeypatch.setenv("DATASPHINX_DATA_DIR", str(folder / "data"))
        monkeypatch.setenv("DATASPHINX_LLM_PROFILE", "standard")
        monkeypatch.chdir(folder)
        yield hidden


@pytest.fixture
def tmp_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new folder for each test; pytest's own reads the names of all folders before it for each test."""
    return tmp_path_factory.mktemp(str(next(_FOLDERS)), numbered=False)


@pytest.fixture(autouse=True)
def own_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Each test has its own working directory and data directory."""
    monkeypatch.setenv("DATASPHINX_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="session")
def cache_dir(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A cache folder of this test session, with the sample shop built and its catalog sampled.

    Under load the time limit of the sampling is reached, and the prompts of the first questions differ from later ones.
    The tables of the shop that list codes are read once: for each agent anew it took a fifth of the time of questions.
    """
    from pydantic import SecretStr

    from datasphinx.agent.sample.shop import shop_url
    from datasphinx.agent.settings import SourceSettings
    from datasphinx.agent.sources.source import Source, open_source
    from datasphinx.agent.types import Limits

    folder = tmp_path_factory.mktemp("cache")
    settings = SourceSettings(url=SecretStr(shop_url(folder)))
    source = open_source(settings, Limits(60, 1), cache_dir=folder, profile_budget_s=600)
    if source.background:
        source.background.wait()
    source.release()
    shop, memoized, rows = source.database.url, Source.memoized, dict[Any, Any]()

    def shared(source: "Source", key: Any, compute: Callable[[], Any]) -> Any:
        kind, sql, *_ = key
        if kind != "codes" or not isinstance(sql, str) or source.database.url != shop or source.access:
            return memoized(source, key, compute)
        if (sql, source.limits) not in rows:
            rows[sql, source.limits] = compute()
        return rows[sql, source.limits]

    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(Source, "memoized", shared)
        yield folder


@pytest.fixture
def settings(cache_dir: Path) -> "Settings":
    """Settings as they are by default, with the session's cache folder."""
    from datasphinx.agent.settings import load_settings

    return load_settings(cache_dir=cache_dir)


@pytest.fixture(scope="session")
def empty_record(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a record without events. To copy it takes less time than to create its tables."""
    from datasphinx.agent.record.migrations import migrate
    from datasphinx.agent.record.store import create_store_engine, sqlite_url

    path = tmp_path_factory.mktemp("record") / "record.sqlite"
    engine = create_store_engine(sqlite_url(path.parent))
    migrate(engine)
    engine.dispose()
    return path


class EventCheck:
    """A sink of the event log that keeps nothing: events must be JSON. To write them took a quarter of each run."""

    def append(self, events: "Sequence[Event]") -> None:
        """Raise for an event that could not be stored."""
        for event in events:
            json.dumps(event.body, allow_nan=False).encode()


@pytest.fixture
def stored_record(request: pytest.FixtureRequest) -> bool:
    """Whether `scripted` agents store their event log, for tests with the mark `stored_record`, which read it."""
    return request.node.get_closest_marker("stored_record") is not None


@pytest.fixture
def scripted(cache_dir: Path, empty_record: Path, stored_record: bool, tmp_path: Path) -> MakeAgent:
    """A maker of agents: answers by schema name, options of the embedded model in its place, and settings by name.

    By default, every statement is validated.
    """
    from datasphinx.agent.graph import build_graph
    from datasphinx.agent.llm.scripted import ScriptedModel
    from datasphinx.agent.record.recorder import Recorder
    from datasphinx.agent.services import Services
    from datasphinx.agent.settings import load_settings

    def make(
        answers: "Mapping[str, Iterable[Scripted]] | None" = None,
        embedded: "EmbeddedOptions | None" = None,
        **overrides: Any,
    ) -> ScriptedAgent:
        model = ScriptedModel({"AmbiguityReview": [NO_AMBIGUITY] * 3, "SQLValidation": [VALID] * 3, **(answers or {})})
        settings = load_settings(cache_dir=cache_dir, **{"enable_sql_validation": True, **overrides})
        is_checked = settings.record and settings.record_url is None and not stored_record
        if (
            stored_record
            and settings.record
            and settings.data_dir == tmp_path / "data"
            and not settings.data_dir.exists()
        ):
            settings.data_dir.mkdir()
            shutil.copy(empty_record, settings.data_dir)
        recorder = Recorder(EventCheck()) if is_checked else None
        services = Services(settings, model=model, embedded=embedded, recorder=recorder)
        return ScriptedAgent(build_graph(services), model, services)

    return make


@pytest.fixture
def analyst(monkeypatch: pytest.MonkeyPatch) -> "Analyst":
    """The stand-in for the analyst, in its place."""
    from tests.support.analyst import Analyst

    standin = Analyst()
    monkeypatch.setattr("datasphinx.agent.analyst.build_analyst", standin.build)
    return standin


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out folders and modules all of whose tests `-m "not (...)"` deselects: their imports take seconds."""
    expression = re.fullmatch(r"not \(?(\w+(?: or \w+)*)\)?", config.option.markexpr)
    deselected = set(expression[1].split(" or ")) if expression else set()
    if not deselected:
        return None
    if collection_path.is_dir():
        return any(collection_path.name in IMPLIED.get(each, ()) for each in deselected) or None
    if collection_path.suffix != ".py":
        return None
    statement = re.search(r"^pytestmark = (?:\[[^]]*\]|.*)", collection_path.read_text(encoding="utf-8"), re.MULTILINE)
    markers = re.findall(r"pytest\.mark\.(\w+)", statement[0]) if statement else []
    return not deselected.isdisjoint(markers) or None


@cache
def _folders(path: Path) -> frozenset[str]:
    return frozenset(path.relative_to(TESTS).parts[:-1])


def _mark(item: pytest.Item) -> set[str]:
    """Add the implied markers to `item`; return the names of all that it then has."""
    markers = {marker.name for marker in item.iter_markers()}
    names = markers.union(_folders(item.path), getattr(item, "fixturenames", ()))
    implied = [marker for marker, implied_by in IMPLIED.items() if not names.isdisjoint(implied_by)]
    for marker in implied:
        item.add_marker(marker)
    return markers.union(implied)


ON_REQUEST = {"nightly", "warehouse"}
"""Markers of tests that run only if `-m` names them."""


@cache
def _file(path: Path) -> str:
    return "/".join(path.with_suffix("").parts[-2:])


def _group(item: pytest.Item, markers: set[str]) -> str:
    """Return the group of tests that `item` runs with: those of its server, or else those of its file."""
    return next((group for group, names in SHARED.items() if names & markers), _file(item.path))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Add implied markers; in a worker of pytest-xdist tell the scheduler the groups, those that take longest first."""
    marked = [(item, _mark(item)) for item in items]
    unasked = {marker for marker in ON_REQUEST if marker not in config.option.markexpr}
    if left_out := [item for item, markers in marked if markers & unasked]:
        marked = [(item, markers) for item, markers in marked if not markers & unasked]
        config.hook.pytest_deselected(items=left_out)
    if hasattr(config, "workerinput"):
        order = {name: number for number, name in enumerate(SHARED)}
        groups = {item.nodeid: _group(item, markers) for item, markers in marked}
        marked.sort(key=lambda each: order.get(groups[each[0].nodeid], len(order)))
        path = Path(config.workerinput["groups"])
        part = path.with_name(config.workerinput["workerid"])
        part.write_text(json.dumps(groups), encoding="utf-8")
        part.replace(path)
    items[:] = [item for item, _ in marked]


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell a worker of pytest-xdist where to write the groups of its tests; all workers write the same."""
    node.workerinput["groups"] = str(_groups_file(node.config))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling:
    """Run each group in one worker. Unlike `--dist loadgroup` this works with pytest 9.2 and leaves names alone."""

    class Scheduler(LoadScopeScheduling):
        @cached_property
        def groups(self) -> dict[str, str]:
            return json.loads(_groups_file(config).read_text(encoding="utf-8"))

        def _split_scope(self, nodeid: str) -> str:
            return self.groups[nodeid]

    config.option.loadscopereorder = False
    return Scheduler(config, log)


@cache
def _groups_file(config: pytest.Config) -> Path:
    folder = tempfile.TemporaryDirectory(prefix="datasphinx-tests-")
    config.add_cleanup(folder.cleanup)
    return Path(folder.name) / "groups.json"


def pytest_collection_finish() -> None:
    """Exclude modules and collected tests from garbage collection, and collect less often: it took a fifth of a run."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
    gc.enable()
    # DuckDB reports its objects that are not collected at exit.
    atexit.register(gc.unfreeze)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """In CI a lane that is skipped counts as failed: nothing there may go untested unseen."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if os.environ.get("CI") and reporter and reporter.stats.get("skipped") and session.exitstatus == 0:
        reporter.write_line("skipped tests count as failed in CI", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
