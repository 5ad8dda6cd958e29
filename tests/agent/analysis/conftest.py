"""An analyst over a scripted model, with the two sample files."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from datasphinx.agent.analyst import Analyst, build_analyst
from datasphinx.agent.llm.scripted import Scripted, ScriptedModel
from datasphinx.agent.record.recorder import Recorder
from datasphinx.agent.services import Services
from datasphinx.agent.settings import load_settings
from datasphinx.agent.types import EmbeddedOptions
from tests.agent.conftest import Keep
from tests.agent.tools.conftest import RETURNS, SALES
from tests.conftest import EventCheck

BY_ACCOUNT = {"group_by": ["账号"], "aggregations": [{"as": "returns", "agg": "sum", "col": "退货数量"}]}
TOTAL = {"aggregations": [{"as": "returns", "agg": "sum", "col": "退货数量"}]}
QUESTION = "How many returns has each account?"


class ScriptedAnalyst(NamedTuple):
    """A graph with the scripted model that plans in it."""

    graph: Analyst
    model: ScriptedModel
    services: Services

    def ask(self, question: str = QUESTION, **given: Any) -> dict[str, Any]:
        """The output of one question, or of an answer to the user's, on the one thread of its checkpointer."""
        asked = {} if "clarification_answer" in given else {"question": question}
        return self.graph.invoke({**asked, **given}, {"configurable": {"thread_id": "1"}})

    def prompts(self, schema: str = "AnalystStep") -> list[str]:
        """The prompts that asked for `schema`, in order."""
        return [call.prompt for call in self.model.calls if call.schema_name == schema]


MakeAnalyst = Callable[..., ScriptedAnalyst]
"""The fixture `analyst`."""


def step(tool: str, **arguments: Any) -> dict[str, Any]:
    """What the model says to call a tool."""
    return {"tool": tool, "arguments": arguments}


def query(dataset: str, spec: dict[str, Any] = BY_ACCOUNT) -> dict[str, Any]:
    """What the model says to run a query."""
    return step("run_query", dataset_id=dataset, query=spec)


def tools(output: Mapping[str, Any]) -> list[str]:
    """The tools that were called, in order."""
    return [each["tool"] for each in output["audit"]["steps"] if "tool" in each]


def calls(output: Mapping[str, Any], tool: str) -> list[dict[str, Any]]:
    """The audit's steps of one tool."""
    return [each for each in output["audit"]["steps"] if each.get("tool") == tool]


@pytest.fixture(scope="module")
def shared_data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory for all tests of a file: what one has read of a file need not be read again."""
    return tmp_path_factory.mktemp("data")


@pytest.fixture
def data_dir(shared_data_dir: Path, stored_record: bool, tmp_path: Path) -> Path:
    """The shared data directory, or one of its own for a test that reads its event log."""
    return tmp_path / "data" if stored_record else shared_data_dir


@pytest.fixture
def analyst(cache_dir: Path, stored_record: bool, data_dir: Path) -> MakeAnalyst:
    """A maker of analysts: the model's steps, checks and layouts, a checkpointer, and settings by name.

    Their event log is checked, and stored where `stored_record` says so.
    """

    def make(
        steps: Iterable[Scripted] = (),
        checks: Iterable[Scripted] = (),
        checkpointer: Any = None,
        layouts: Iterable[Scripted] = (),
        embedded: EmbeddedOptions | None = None,
        **overrides: Any,
    ) -> ScriptedAnalyst:
        model = ScriptedModel({"AnalystStep": steps, "CheckedText": checks, "FileLayout": layouts})
        settings = load_settings(cache_dir=cache_dir, data_dir=data_dir, **overrides)
        is_checked = settings.record and settings.record_url is None and not stored_record
        recorder = Recorder(EventCheck()) if is_checked else None
        services = Services(settings, model=model, embedded=embedded, recorder=recorder)
        return ScriptedAnalyst(build_analyst(services, checkpointer), model, services)

    return make


@pytest.fixture
def returns(tmp_path: Path) -> str:
    """The path of a CSV with Chinese headers."""
    path = tmp_path / "returns.csv"
    path.write_text(RETURNS, encoding="utf-8")
    return str(path)


@pytest.fixture
def sales(tmp_path: Path) -> str:
    """The path of a CSV with English headers, a Russian one, and a secret."""
    path = tmp_path / "sales.csv"
    path.write_text(SALES, encoding="utf-8")
    return str(path)


@pytest.fixture
def dataset(keep: Keep, data_dir: Path) -> str:
    """The id of the dataset that `returns` becomes."""
    return keep(data_dir, "returns.csv", RETURNS)
