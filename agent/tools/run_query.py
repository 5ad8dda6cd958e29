"""Tool: run a query spec. The only source of figures in an answer."""

from typing import Any

from pydantic import Field, field_validator

from agent.core.cancellation import Cancellation
from agent.errors import QuerySpecInvalid, SpecProblem
from agent.queryspec.columns import Datasets
from agent.queryspec.compile import compile_spec, run
from agent.queryspec.dialect import spec_dialect
from agent.queryspec.spec import QuerySpec, read_spec
from agent.sql.summary import summarize_query
from agent.tools.tool import Arguments, Outcome, Tool, Workbench, check_known
from agent.types import KeptResult, Result, masked

SHOWN_ROWS = 50
"""Rows of a result that the model sees; all rows are kept."""


class RunQuery(Arguments):
    """A dataset and a query spec."""

    dataset_id: str = Field(description="The id of the main dataset.")
    query: QuerySpec = Field(description="The query spec. Joined datasets are named by their ids.")

    @field_validator("query", mode="before")
    @classmethod
    def _read_spec(cls, data: Any) -> Any:
        return data if isinstance(data, QuerySpec) else read_spec(data)


def run_query(arguments: RunQuery, bench: Workbench, cancellation: Cancellation) -> Outcome:
    """Return the first rows, types, `truncated`, and the `result_id` under which all rows are kept.

    Raises:
        ToolCallInvalid: the dataset is not among those of the question.
        QuerySpecInvalid: the spec does not fit the datasets.
        DatasphinxError: an error of `Workbench.open_source` or `agent.sql.execute.execute`.
    """
    main = arguments.dataset_id
    check_known(TOOL.name, "dataset_id", main, bench.dataset_ids)
    source = bench.open_source([main, *_joined_datasets(arguments, bench)])
    tables = {name: table for name, table in source.catalog.tables.items() if name in bench.dataset_ids}
    datasets = Datasets(main, tables)
    result = run(arguments.query, datasets, source, cancellation)
    compiled = compile_spec(arguments.query, datasets, spec_dialect(source.catalog.dialect))
    summary = summarize_query(compiled.sql, source.catalog, compiled.parameters)
    result_id = f"r{len(bench.results) + 1}"
    kept = KeptResult(dataset_id=main, sql=compiled.sql, result=result, summary=summary)
    return Outcome(result_content(result_id, result), len(result["rows"]), kept=kept)


def result_content(result_id: str, result: Result) -> dict[str, Any]:
    """Return the part of a result that the model sees: its first rows, with values of secret columns masked."""
    rows = masked(result)["rows"]
    content: dict[str, Any] = {"result_id": result_id, "columns": result["columns"], "types": result["types"]}
    content |= {"row_count": len(rows), "truncated": result["truncated"], "rows": rows[:SHOWN_ROWS]}
    return content


def _joined_datasets(arguments: RunQuery, bench: Workbench) -> list[str]:
    names = [join.dataset for join in arguments.query.joins]
    problems = [
        SpecProblem(
            f"joins[{at}].dataset",
            "there is no such dataset in this question",
            tuple(name for name in bench.dataset_ids if name != arguments.dataset_id),
        )
        for at, name in enumerate(names)
        if name not in bench.dataset_ids
    ]
    if problems:
        raise QuerySpecInvalid(tuple(problems))
    return names


TOOL = Tool(
    "run_query",
    "Compute from a dataset: filter, group, aggregate, derive, sort, join. Every figure of an answer comes from here.",
    RunQuery,
    run_query,
)
