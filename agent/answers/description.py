"""Descriptions of data: ranges, gaps and outliers of columns, as tables of the statistics of the rows."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from datasphinx.agent.answers.markdown import markdown_table
from datasphinx.agent.formatting.formats import format_single
from datasphinx.agent.messages import Language, render
from datasphinx.agent.schema.catalog import Catalog
from datasphinx.agent.schema.describe import one_line
from datasphinx.agent.sql.column_statistics import (
    COLUMN_STATISTICS,
    MAX_COLUMNS,
    MAX_TABLES,
    column_statistics,
    table_statistics,
)
from datasphinx.agent.types import Result

_NAME_CHARS = 60


def description_statement(named: Sequence[str], catalog: Catalog) -> tuple[str, list[str]] | None:
    """Return the statement that describes the tables `named`, or all without names, and the keys of its tables.

    It describes the columns of the only table, otherwise the tables. None if all columns of the only one are secret.
    """
    keys = list(named or catalog.full_names)[:MAX_TABLES]
    tables = [catalog.tables[key] for key in keys]
    if len(tables) > 1:
        return table_statistics(tables, catalog.dialect), keys
    if all(column.secret for column in tables[0].columns):
        return None
    return column_statistics(tables[0], catalog.dialect), keys


def description_of(results: Iterable[Result], names: Mapping[str, str], language: Language) -> str:
    """Return the statistics of tables as Markdown tables, those of columns below the name and the size of their table.

    `results` are those of the statements of `datasphinx.agent.sql.column_statistics`, and `names` the words for tables
    by key.
    """
    paragraphs: list[str] = []
    for result in results:
        rows = [dict(zip(result["columns"], row, strict=True)) for row in result["rows"]]
        if tuple(result["columns"]) == COLUMN_STATISTICS and rows:
            name = one_line(names.get(rows[0]["table_name"]) or rows[0]["table_name"], _NAME_CHARS)
            size = {"rows": format_single(rows[0]["row_count"], language), "columns": rows[0]["column_count"]}
            paragraphs.append(render("describe_table_size", language, name=name, **size))
        paragraphs.append(markdown_table(_shown(result), language, MAX_COLUMNS))
    return "\n\n".join(paragraphs)


def _shown(result: Result) -> Result:
    """Return `result` without the columns that are told above it, or that have no value."""
    told = {"position"}
    if "column_name" in result["columns"]:
        told |= {"table_name", "row_count", "column_count"}
    kept = [
        at
        for at, name in enumerate(result["columns"])
        if name not in told and any(row[at] is not None for row in result["rows"])
    ]
    return {
        "columns": [result["columns"][at] for at in kept],
        "types": [result["types"][at] for at in kept],
        "rows": [[_plain(row[at]) for at in kept] for row in result["rows"]],
        "truncated": False,
    }


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        # A date without a time of midnight.
        return re.sub(r"[T ]00:00(:00)?$", "", value)
    return int(value) if isinstance(value, float) and value.is_integer() else value
