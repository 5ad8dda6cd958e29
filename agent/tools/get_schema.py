"""Tool: describe the columns of a dataset."""

from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

from sqlglot import exp

from datasphinx.agent.core.cancellation import Cancellation
from datasphinx.agent.datasets.dataset import Dataset
from datasphinx.agent.datasets.notes import guesses_of
from datasphinx.agent.schema.catalog import TIMES, Column, Table
from datasphinx.agent.schema.personal import personal_content
from datasphinx.agent.sources.source import Source
from datasphinx.agent.sql.rows import json_safe
from datasphinx.agent.tools.tool import Arguments, Outcome, Tool, Workbench, select, type_name

MAX_COLUMNS = 100
"""Maximum number of described columns; `resolve_fields` searches the rest of a wider dataset."""

_COLUMNS_PER_STATEMENT = 25
_EXAMPLES = 3
_SHOWN = 20


class GetSchema(Arguments):
    """A dataset."""

    dataset_id: str


def get_schema(arguments: GetSchema, bench: Workbench, cancellation: Cancellation) -> Outcome:
    """Return for each column `name, type, null_ratio, example_values`, and minimum and maximum of numbers and dates.

    For a file, `loaded` tells how it was read, and which option of `create_dataset` changes each guess.

    Ratios and ranges cover all rows. A secret column has only name and type, and one whose values look personal has
    what they are in place of examples. For a table of a database, foreign keys to
    other tables of the question are included.

    Raises:
        ToolCallInvalid: the dataset is not among those of the question.
    """
    source, table = bench.table(TOOL.name, arguments.dataset_id)
    columns_to_describe = table.columns[:MAX_COLUMNS]
    starts = range(0, len(columns_to_describe), _COLUMNS_PER_STATEMENT)
    batches = (columns_to_describe[start : start + _COLUMNS_PER_STATEMENT] for start in starts)
    parts = [_describe(batch, table, source, cancellation) for batch in batches]
    columns = [description for _, part in parts for description in part]
    content: dict[str, Any] = {"dataset_id": arguments.dataset_id}
    if not bench.asks_database:
        dataset = bench.registry.dataset(arguments.dataset_id)
        file_id = {"file_id": dataset.file_id} if dataset.file_id in bench.file_ids else {}
        content |= {"file": dataset.name, **file_id, **_loaded(dataset)}
    content |= {"row_count": parts[0][0], "columns": columns}
    keys = [key for key in table.foreign_keys if key.target in bench.dataset_ids]
    if keys:
        content["foreign_keys"] = [
            {"columns": list(key.columns), "dataset_id": key.target, "target_columns": list(key.target_columns)}
            for key in keys
        ]
    if len(table.columns) > MAX_COLUMNS:
        content["more_columns"] = len(table.columns) - MAX_COLUMNS
    return Outcome(content, len(columns))


def _loaded(dataset: Dataset) -> dict[str, Any]:
    """Return how the file was read: options, place of the table, and guesses with the options that change them."""
    report = dataset.report
    facts = {
        "options": dict(report.options),
        "sheet": report.sheet,
        "other_sheets": [sheet for sheet in report.sheets if sheet != report.sheet][:_SHOWN],
        "tables": list(report.tables[:_SHOWN]),
        "header_row": report.header_row,
        "header_rows": report.header_rows,
        "guesses": guesses_of(dataset, _SHOWN),
    }
    loaded = {name: value for name, value in facts.items() if value not in (None, [], {})}
    return {"loaded": loaded} if loaded else {}


def _describe(
    columns: Sequence[Column], table: Table, source: Source, cancellation: Cancellation
) -> tuple[int, list[dict[str, Any]]]:
    """Return the number of rows and a description of each column; one statement computes all figures."""
    open_names = {column.name for column in source.open_columns(table)}
    columns = [column if column.name in open_names else column._replace(secret=True) for column in columns]
    nodes: list[exp.Expr] = [exp.Count(this=exp.Star())]
    for column in columns:
        nodes += _figures(column)
    aliased = [exp.alias_(node, f"f{at}") for at, node in enumerate(nodes)]
    (row,) = select(aliased, table, source, cancellation)["rows"]
    total, rest, descriptions = row[0], iter(row[1:]), []
    for column in columns:
        description: dict[str, Any] = {"name": column.name, "type": type_name(column.type)}
        figures = [next(rest) for _ in _figures(column)]
        if figures:
            description["null_ratio"] = round(1 - figures[0] / total, 4) if total else 0.0
            if kind := personal_content(source.catalog, table, column):
                description["values_like"] = kind
            else:
                description["example_values"] = [_example(text, column) for text in column.examples[:_EXAMPLES]]
        if len(figures) > 1:
            description |= {"min": figures[1], "max": figures[2]}
        descriptions.append(description)
    return total, descriptions


def _example(text: str, column: Column) -> Any:
    """Return an example value in JSON: numbers as numbers, as far as a double has all their digits."""
    if column.type_class != "number":
        return text
    try:
        return json_safe(Decimal(text))
    except InvalidOperation:
        return text


def _figures(column: Column) -> list[exp.Expr]:
    """Return the aggregates of a column: the count of values, and minimum and maximum of numbers and dates."""
    if column.secret:
        return []
    node = exp.column(column.name, quoted=True)
    ends = [exp.Min(this=node.copy()), exp.Max(this=node.copy())]
    return [exp.Count(this=node), *(ends if column.type_class in {"number", *TIMES} else [])]


TOOL = Tool(
    "get_schema",
    "Tell the columns of a dataset: type, share of empty cells, examples, range; and how its file was read.",
    GetSchema,
    get_schema,
)
