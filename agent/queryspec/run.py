"""Runs a spec on a source, through the choke point."""

from contextlib import suppress
from datetime import datetime
from typing import Any

from agent.catalog.source import Source
from agent.catalog.type_class import TypeClass
from agent.queryspec.compile import compile_spec
from agent.queryspec.datasets import Datasets
from agent.queryspec.dialect import spec_dialect
from agent.queryspec.outputs import TIMES, Output
from agent.queryspec.spec import DEFAULT_LIMIT, QuerySpec
from agent.sql.limits import Cancellation
from agent.sql.result import Result


def run(spec: QuerySpec, datasets: Datasets, source: Source, cancellation: Cancellation | None = None) -> Result:
    """Return the rows of `spec` from `source`, whose catalog has the tables of `datasets`.

    The columns have the names that the spec gives them; truth values, dates and times are such on every engine.
    `truncated` is True where the spec has no limit and there are more rows than the default, or where the source allows
    fewer.

    Raises:
        QuerySpecInvalid: the spec does not fit the datasets.
        ConfigurationError: specs are not compiled to the SQL of the source.
        DatasphinxError: as `agent.sql.execute.execute` says.
    """
    compiled = compile_spec(spec, datasets, spec_dialect(source.catalog.dialect))
    result = source.execute(compiled.sql, cancellation, parameters=compiled.parameters)
    limit = spec.limit or DEFAULT_LIMIT
    return {
        **result,
        "columns": [output.name for output in compiled.columns],
        "types": [_type(output, kind) for output, kind in zip(compiled.columns, result["types"], strict=True)],
        "rows": [_row(row, compiled.columns) for row in result["rows"][:limit]],
        "truncated": result["truncated"] or len(result["rows"]) > limit,
    }


def _type(output: Output, kind: str) -> str:
    if output.type_class == "boolean" and kind == "integer":
        return "boolean"
    return output.type_class if output.type_class in TIMES and kind == "string" else kind


def _row(row: list[Any], columns: tuple[Output, ...]) -> list[Any]:
    return [_value(value, output.type_class) for value, output in zip(row, columns, strict=True)]


def _value(value: Any, kind: TypeClass) -> Any:
    """Return a truth value in place of the 0 or 1 that engines may have for it, and a time as ISO 8601 has it."""
    if kind == "boolean" and value in (0, 1):
        return bool(value)
    if kind == "datetime" and isinstance(value, str):
        with suppress(ValueError):
            return datetime.fromisoformat(value).isoformat()
    return value
