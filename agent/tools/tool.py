"""The interface of a tool: its arguments, its outcome, and the workbench with the data of the question."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, ConfigDict
from sqlglot import exp

from datasphinx.agent.charts.plot_spec import PlotSpec
from datasphinx.agent.core.cancellation import Cancellation
from datasphinx.agent.datasets.limits import LoadProgress, ignore_progress
from datasphinx.agent.datasets.registry import Registry
from datasphinx.agent.errors import SpecProblem, ToolCallInvalid
from datasphinx.agent.llm.client import ModelClient
from datasphinx.agent.llm.formats import model_schema
from datasphinx.agent.messages import Language
from datasphinx.agent.schema.catalog import Table, type_class
from datasphinx.agent.sources.source import Source
from datasphinx.agent.sql.dialects import print_statement
from datasphinx.agent.types import EarlierResult, KeptResult, Result

_SHOWN_IDS = 12


class Arguments(BaseModel):
    """Base class of the arguments of a tool; unknown fields are rejected."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @classmethod
    def shown_schema(cls) -> dict[str, Any]:
        """Return the JSON schema that a model is shown."""
        return model_schema(cls)


@dataclass(frozen=True)
class Drawing:
    """A chart: the id of its result, its spec, and its ECharts option."""

    result_id: str
    spec: PlotSpec
    type: str
    option: dict[str, Any]


@dataclass(frozen=True)
class Outcome:
    """The outcome of a call: `content` is the JSON value that the model sees, the rest is kept for the answer."""

    content: Mapping[str, Any]
    rows: int = 0
    dataset_id: str | None = None
    """The id of a created dataset."""
    kept: KeptResult | None = None
    drawing: Drawing | None = None
    notes: tuple[str, ...] = ()
    """Notes for the reader of the answer."""


@dataclass(frozen=True)
class Workbench:
    """The data that the tools of one question may use: its files, datasets and results, and no others."""

    registry: Registry
    open_source: Callable[[Sequence[str]], Source]
    """Open a source with one table per dataset, named by its id."""
    file_ids: tuple[str, ...] = ()
    dataset_ids: tuple[str, ...] = ()
    results: Mapping[str, KeptResult] = field(default_factory=dict)
    earlier_results: Mapping[str, EarlierResult] = field(default_factory=dict)
    """Results of earlier questions over the same datasets."""
    earlier_number: int = 0
    """The largest number in the id of a result of an earlier question."""
    language: Language = "en"
    asks_database: bool = False
    """Whether the datasets are tables of a database rather than files."""
    layout_model: Callable[[], ModelClient | None] | None = None
    """Returns the model that proposes how to read a file, if there is one; None if the options are chosen already."""
    loading: LoadProgress = ignore_progress
    """Called with the progress of loading a file."""

    @property
    def next_result_id(self) -> str:
        """The id of the next result; it differs from those of earlier questions."""
        return f"r{self.earlier_number + len(self.results) + 1}"

    def table(self, tool: str, dataset_id: str) -> tuple[Source, Table]:
        """Return source and table of a dataset of the question. Raise ToolCallInvalid or NotFound without it."""
        check_known(tool, "dataset_id", dataset_id, self.dataset_ids)
        source = self.open_source([dataset_id])
        return source, source.shown_catalog.tables[dataset_id]


def type_name(sql_type: str) -> str:
    """Return the type that the model is told: string, int, float, bool, date, datetime, or another class of types."""
    kind = type_class(sql_type)
    if kind == "number":
        return "int" if "int" in sql_type.lower() else "float"
    return {"text": "string", "boolean": "bool"}.get(kind, kind)


def check_known(tool: str, path: str, name: str, names: Sequence[str]) -> None:
    """Raise ToolCallInvalid, with `path` and the valid names, if `name` is not one of `names`."""
    if name not in names:
        # Similarly spelled ids are unrelated, so the first ones are listed rather than the nearest.
        reason = f"there is no such {path.partition('[')[0].removesuffix('_id')} in this question"
        raise ToolCallInvalid(tool, (SpecProblem(path, reason, tuple(names[:_SHOWN_IDS])),))


def select(
    columns: Sequence[exp.Expr], table: Table, source: Source, cancellation: Cancellation, limit: int | None = None
) -> Result:
    """Select `columns` from the first `limit` rows of `table`, through the guarded execution of the source."""
    query = exp.select(*columns).from_(exp.table_(table.name, db=table.schema, quoted=True))
    if limit is not None:
        query = query.limit(limit)
    return source.execute(print_statement(query, source.catalog.dialect), cancellation)


@dataclass(frozen=True)
class Tool:
    """A tool: `run` takes validated `arguments`, the workbench and a cancellation, and returns the outcome."""

    name: str
    description: str
    arguments: type[Arguments]
    run: Callable[[Any, Workbench, Cancellation], Outcome]
