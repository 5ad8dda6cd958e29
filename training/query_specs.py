"""Examples of the query spec task: the schema of one table and a question, answered by a spec in JSON, on one line.

A spec has these keys, in this order; empty ones are left out:

- `filters`: conditions that all hold, `{"col", "op", "value"}`. `op` is one of `=` `!=` `>` `>=` `<` `<=`; `in`, with a
  list as its value; `between`, with a list of the lowest and the highest value, both included; `contains`, ignoring
  case; `is_null`, whose value is true, or false for NOT NULL.
- `group_by`: names of columns, or `{"col", "by"}` for a date by `month` (`2024-03`), `quarter` (`2024-Q1`) or `year`
  (`2024`). Each group is a row. Without aggregations, the result is the distinct rows of the columns.
- `aggregations`: `{"as", "agg", "col"}`. `agg` is `sum`, `avg`, `min`, `max`, `count` (of rows where `col` is `*`, else
  of values that are not NULL) or `nunique` (distinct ones). `as` is `{agg}_{col}` in lower case, `count` for rows.
- `sort`: `{"by", "desc"}`. `by` is a name in `group_by`, `{col}_{by}` for a date, or the `as` of an aggregation.
- `limit`: the number of rows.

The result has the columns of `group_by`, then the aggregations; with neither, all columns of the rows. Sort keys are
therefore part of the result, even if the gold statement does not select them.
"""

import json
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

import sqlglot
from sqlglot import exp

from datasphinx.agent.embedded.compact import column_of, table_of
from datasphinx.agent.embedded.prompts import describe_briefly, query_spec_messages
from datasphinx.agent.errors import StatementError
from datasphinx.agent.retrieval.linked_values import linked_values
from datasphinx.agent.sources.source import Source
from training.dataset import GoldQuestion, tables_of
from training.groups import Group, grouped
from training.spec_of_sql import spec_of


def query_specs(
    source: Source, database: str, questions: Sequence[GoldQuestion], rng: Random, *, size: int, limit: int
) -> Iterator[Group]:
    """Yield at most `limit` of `questions` that have a spec, in groups of at most `size` over one table."""
    left = limit
    by_table: dict[str, list[tuple[GoldQuestion, str]]] = {}
    for gold in rng.sample(list(questions), len(questions)):
        spec = spec_with_rows(gold.sql, source) if left else None
        if spec is not None:
            (table,) = tables_of(gold.sql, source.catalog)
            by_table.setdefault(table, []).append((gold, as_json(spec)))
            left -= 1
    for table, pairs in by_table.items():
        for start in range(0, len(pairs), size):
            yield _group(source, database, table, pairs[start : start + size])


def spec_with_rows(sql: str, source: Source) -> dict[str, Any] | None:
    """Return the query spec equivalent to `sql`, with as many rows; None if there is none."""
    tables = tables_of(sql, source.catalog)
    spec = spec_of(sql, source.catalog) if len(tables) == 1 else None
    return spec if spec is not None and _keeps_rows(sql, spec, tables[0], source) else None


def as_json(spec: dict[str, Any]) -> str:
    """Return `spec` as JSON in the format of the model output."""
    return json.dumps(spec, ensure_ascii=False, separators=(",", ":"))


def _group(source: Source, database: str, table: str, pairs: Sequence[tuple[GoldQuestion, str]]) -> Group:
    selection = {table: list(source.catalog.tables[table].column_names)}
    exchanges = []
    for gold, answer in pairs:
        values = linked_values(gold.question, source.values, selection)
        exchanges.append((query_spec_messages(source.catalog, table, gold.question, values), answer))
    return grouped(database, "query_spec", describe_briefly(source.catalog, selection), exchanges)


def _keeps_rows(sql: str, spec: dict[str, Any], table: str, source: Source) -> bool:
    """Return whether the spec returns as many rows as the gold statement; grouping would merge duplicate rows."""
    if "aggregations" in spec or "group_by" not in spec:
        return True
    select = sqlglot.parse_one(sql, read="sqlite")
    if select.args.get("group") or select.args.get("distinct"):
        return True
    columns = spec["group_by"]
    rows = _all_rows(columns, table, source) if all(isinstance(name, str) for name in columns) else None
    return rows is not None and len({json.dumps(row) for row in rows}) == len(rows)


def _all_rows(columns: Sequence[str], table: str, source: Source) -> list[list[Any]] | None:
    """Return `columns` of all rows of `table`; None if the statement fails or its result is truncated."""
    catalog = source.catalog
    outputs = [column_of(catalog, table, name, qualified=False) for name in columns]
    try:
        result = source.execute(exp.select(*outputs).from_(table_of(catalog, table)).sql(dialect=catalog.dialect))
    except StatementError:
        return None
    return None if result["truncated"] else result["rows"]
