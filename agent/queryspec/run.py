"""Run a spec on a source, through the choke point."""

from contextlib import suppress
from datetime import datetime
from typing import Any

from agent.core.cancellation import Cancellation
from agent.queryspec.columns import TIMES, Datasets
from agent.queryspec.compile import compile_spec
from agent.queryspec.dialect import spec_dialect
from agent.queryspec.spec import DEFAULT_LIMIT, QuerySpec
from agent.schema.catalog import TypeClass
from agent.sources.source import Source
from agent.types import Result


def run(spec: QuerySpec, datasets: Datasets, source: Source, cancellation: Cancellation | None = None) -> Result:
    """Return the rows of `spec` from `source`, whose catalog has the tables of `datasets`.

    The columns have the spec's names. Truth values, dates and times have the same form on every engine. `truncated` is
    True if the spec has no limit and there are more rows than the default, or if the source's row limit cut them.

    Raises:
        QuerySpecInvalid: The spec does not fit the datasets.
        ConfigurationError: Specs cannot be compiled to the SQL of the source.
        DatasphinxError: Any error of `agent.sql.execute.execute`.
    """
    compiled = compile_spec(spec, datasets, spec_dialect(source.catalog.dialect))
    result = source.execute(compiled.sql, cancellation, parameters=compiled.parameters)
    limit = spec.limit or DEFAULT_LIMIT
    classes = [output.type_class for output in compiled.columns]
    # Engines that lack these types return truth values as integers, and dates and times as text.
    stored_as = {"boolean": "integer", **dict.fromkeys(TIMES, "string")}
    types = [
        kind if engine_type == stored_as.get(kind) else engine_type
        for kind, engine_type in zip(classes, result["types"], strict=True)
    ]
    return {
        **result,
        "columns": [output.name for output in compiled.columns],
        "types": types,
        "rows": [list(map(_value, row, classes)) for row in result["rows"][:limit]],
        "truncated": result["truncated"] or len(result["rows"]) > limit,
    }


def _value(value: Any, kind: TypeClass) -> Any:
    """Return a truth value for an engine's 0 or 1, and a time in ISO 8601; other values unchanged."""
    if kind == "boolean" and value in (0, 1):
        return bool(value)
    if kind == "datetime" and isinstance(value, str):
        with suppress(ValueError):
            return datetime.fromisoformat(value).isoformat()
    return value
