"""Tool: run a query spec. The only source of figures in an answer."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pydantic import Field, field_validator

from datasphinx.agent.core.cancellation import Cancellation
from datasphinx.agent.engines import FILES_ENGINE
from datasphinx.agent.errors import QuerySpecInvalid, SpecProblem, ToolCallInvalid
from datasphinx.agent.formatting.checks import with_formats
from datasphinx.agent.queryspec.check_sources import all_sources, results_read, union_notes, unknown_sources
from datasphinx.agent.queryspec.columns import Datasets
from datasphinx.agent.queryspec.compile import compile_spec, find_fan_out, run
from datasphinx.agent.queryspec.keys import converted_keys
from datasphinx.agent.queryspec.schema import with_flat_filters
from datasphinx.agent.queryspec.spec import QuerySpec, read_spec
from datasphinx.agent.schema.catalog import Catalog, Table
from datasphinx.agent.sql.layout import in_lines
from datasphinx.agent.sql.summary import summarize_query
from datasphinx.agent.tools.tool import Arguments, Outcome, Tool, Workbench, check_known
from datasphinx.agent.types import KeptResult, QuerySummary, Result, masked

SHOWN_ROWS = 50
"""Rows of a result that the model sees; all rows are kept."""
_SHOWN_NAMES = 12


class RunQuery(Arguments):
    """A query spec, and the dataset that it reads."""

    dataset_id: str | None = Field(None, description="The main dataset, in place of `from` in the query.")
    query: QuerySpec

    @classmethod
    def shown_schema(cls) -> dict[str, Any]:
        """Return the JSON schema that a model is shown."""
        return with_flat_filters(super().shown_schema())

    @field_validator("query", mode="before")
    @classmethod
    def _read_spec(cls, data: Any) -> Any:
        return data if isinstance(data, QuerySpec) else read_spec(data)


def run_query(arguments: RunQuery, bench: Workbench, cancellation: Cancellation) -> Outcome:
    """Return the first rows, types, `truncated`, and the `result_id` under which the result is kept.

    A result that the query reads is computed again from its own query, so that no row of it is missing.

    Raises:
        ToolCallInvalid: the dataset is not among those of the question.
        QuerySpecInvalid: the spec does not fit the datasets, or reads a dataset or result that does not exist.
    """
    spec = _with_source(arguments, bench)
    kept_results = {**bench.earlier_results, **bench.results}
    results = {name: read_spec(kept["query"]) for name, kept in kept_results.items() if kept.get("query")}
    repeated = {name: frozenset(kept.get("repeated", ())) for name, kept in kept_results.items()}
    source = bench.open_source(_datasets_read(spec, results, bench))
    tables = {name: table for name, table in source.shown_catalog.tables.items() if name in bench.dataset_ids}
    datasets = Datasets(bench.dataset_ids[0], tables, results, repeated, source.catalog.values)
    result = run(spec, datasets, source, cancellation)
    repeated_columns = sorted(() if spec.is_grouped else find_fan_out(spec, datasets, source, cancellation))
    compiled = compile_spec(spec, datasets, source.catalog.dialect)
    result_id = bench.next_result_id
    query = spec.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    kept = KeptResult(
        sql=in_lines(compiled.sql_with_values, compiled.dialect),
        result=with_formats(result, compiled.sql_with_values, source.catalog),
        summary=_summarize(spec, datasets, source.catalog),
        query=query,
        repeated=repeated_columns,
    )
    content = result_content(result_id, result)
    left_out = _left_out(spec, results, bench)
    messages = [*converted_keys(spec, datasets), *union_notes(spec, datasets)]
    notes = [message.in_language(bench.language) for message in messages]
    warnings = [*notes]
    if repeated_columns:
        names = ", ".join(repeated_columns[:_SHOWN_NAMES])
        warnings.append(f"the join repeats rows: the values of {names} occur several times and cannot be aggregated")
    content |= {"notes": warnings} if warnings else {}
    content |= {"not_read": left_out[:_SHOWN_NAMES]} if left_out else {}
    return Outcome(content, len(result["rows"]), kept=kept, notes=tuple(notes))


def _left_out(spec: QuerySpec, results: Mapping[str, QuerySpec], bench: Workbench) -> list[str]:
    """Return the names of the files of the question that neither this query nor an earlier one of it reads."""
    if bench.asks_database:
        return []
    read = {
        name
        for each in (spec, *(results[name] for name in bench.results if name in results))
        for name in _datasets_read(each, results, bench)
    }
    known = [bench.registry.dataset(name) for name in bench.dataset_ids]
    files = {dataset.file_id for dataset in known if dataset.dataset_id in read}
    return list(dict.fromkeys(dataset.name for dataset in known if dataset.file_id not in files))


def result_content(result_id: str, result: Result) -> dict[str, Any]:
    """Return the part of a result that the model sees: its first rows, with values of secret columns masked."""
    rows = masked(result)["rows"]
    content: dict[str, Any] = {"result_id": result_id, "columns": result["columns"], "types": result["types"]}
    content |= {"row_count": len(rows), "truncated": result["truncated"]}
    if len(rows) > SHOWN_ROWS:
        content["shown"] = f"{SHOWN_ROWS} of {len(rows)} rows"
    return {**content, "rows": rows[:SHOWN_ROWS]}


def _with_source(arguments: RunQuery, bench: Workbench) -> QuerySpec:
    """Return the query with its `from`, which is the dataset of the call unless the query has one."""
    if arguments.query.source is not None:
        return arguments.query
    if arguments.dataset_id is None:
        reason = "a dataset is needed here, or a dataset or result as from in the query"
        names = (*bench.dataset_ids, *bench.earlier_results, *bench.results)
        raise ToolCallInvalid(TOOL.name, (SpecProblem("dataset_id", reason, names),))
    if arguments.dataset_id not in {**bench.earlier_results, **bench.results}:
        check_known(TOOL.name, "dataset_id", arguments.dataset_id, bench.dataset_ids)
    return arguments.query.model_copy(update={"source": arguments.dataset_id})


def _summarize(spec: QuerySpec, datasets: Datasets, catalog: Catalog) -> QuerySummary:
    """Return the summary of the query, from its SQL for datasets: that of others has more queries and functions."""
    compiled = compile_spec(spec, datasets, FILES_ENGINE)
    summary = summarize_query(compiled.sql_with_values, replace(catalog, dialect=FILES_ENGINE), names_tables=False)
    read = [spec, *(datasets.results[name] for name in results_read(spec, datasets))]
    has_where = any(aggregation.where for each in read for aggregation in each.aggregations)
    return {**summary, "more_conditions": summary["more_conditions"] or has_where}


def _datasets_read(spec: QuerySpec, results: Mapping[str, QuerySpec], bench: Workbench) -> list[str]:
    """Return the datasets that the query reads, directly or through earlier results."""
    known = Datasets("", {name: Table(name, ()) for name in bench.dataset_ids}, results)
    problems = [*unknown_sources(spec, known)]
    if problems:
        raise QuerySpecInvalid(tuple(problems))
    return [name for name in all_sources(spec, known) if name in bench.dataset_ids]


TOOL = Tool(
    "run_query",
    "Compute from datasets and earlier results, which are named by their ids.",
    RunQuery,
    run_query,
)
