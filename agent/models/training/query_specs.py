"""Training examples of query specs: the schema of one table and a question; answered by a spec in JSON, on one line.

A spec has these keys, in this order; one that would be empty is left out:

- `filters`: conditions that all hold, `{"col", "op", "value"}`. `op` is one of `=` `!=` `>` `>=` `<` `<=`; `in`, with a
  list as its value; `between`, with a list of the lowest and the highest value, both included; `contains`, in whatever
  case; `is_null`, whose value is true, or false for a column that has a value.
- `group_by`: names of columns, or `{"col", "by"}` for a date by `month` (`2024-03`), `quarter` (`2024-Q1`) or `year`
  (`2024`). Each group is a row. Without aggregations these are the distinct rows of the columns that are asked for.
- `aggregations`: `{"as", "agg", "col"}`. `agg` is `sum`, `avg`, `min`, `max`, `count` (of rows where `col` is `*`, else
  of values that are not NULL) or `nunique` (distinct ones). `as` is `{agg}_{col}` in lower case, `count` for rows.
- `sort`: `{"by", "desc"}`. `by` is a name in `group_by`, `{col}_{by}` for a date, or the `as` of an aggregation.
- `limit`: how many rows.

The result has the columns of `group_by`, then the aggregations; with neither, the rows as they are. What is sorted by
is therefore in the result, also where the gold statement sorts by what it does not show.
"""

import json
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

import sqlglot
from sqlglot import exp

from agent.catalog.brief import describe_briefly
from agent.catalog.linked_values import linked_values
from agent.catalog.schema import Catalog
from agent.catalog.source import Source
from agent.errors import StatementError
from agent.models.embedded_jobs import query_spec_messages
from agent.models.training.dataset import Asked
from agent.models.training.gold import tables_of
from agent.models.training.groups import Group, grouped
from agent.models.training.spec_of_sql import spec_of
from agent.sql.compact_nodes import column_of, table_of


def query_specs(
    source: Source, database: str, asked: Sequence[Asked], rng: Random, *, size: int, most: int
) -> Iterator[Group]:
    """Return at most `most` of `asked` that a spec over one table can say, in groups of at most `size` on one table."""
    left = most
    by_table: dict[str, list[tuple[Asked, str]]] = {}
    for each in rng.sample(list(asked), len(asked)):
        tables = tables_of(each.sql, source.catalog)
        spec = spec_of(each.sql, source.catalog) if left and len(tables) == 1 else None
        if spec is not None and _keeps_rows(each.sql, spec, tables[0], source):
            by_table.setdefault(tables[0], []).append((each, as_json(spec)))
            left -= 1
    for table, pairs in by_table.items():
        for start in range(0, len(pairs), size):
            yield _group(source, database, table, pairs[start : start + size])


def as_json(spec: dict[str, Any]) -> str:
    """Return `spec` as the model writes it."""
    return json.dumps(spec, ensure_ascii=False, separators=(",", ":"))


def _group(source: Source, database: str, table: str, pairs: Sequence[tuple[Asked, str]]) -> Group:
    selection = {table: list(source.catalog.tables[table].column_names)}
    exchanges = []
    for each, answer in pairs:
        values = linked_values(each.question, source.values, selection)
        exchanges.append((query_spec_messages(source.catalog, table, each.question, values), answer))
    return grouped(database, "query_spec", describe_briefly(source.catalog, selection), exchanges)


def _keeps_rows(sql: str, spec: dict[str, Any], table: str, source: Source) -> bool:
    """False where rows that the gold statement repeats would be one row of the spec."""
    if "aggregations" in spec or "group_by" not in spec:
        return True
    select = sqlglot.parse_one(sql, read="sqlite")
    if select.args.get("group") or select.args.get("distinct"):
        return True
    rows = _every_row(spec["group_by"], table, source) if all(isinstance(e, str) for e in spec["group_by"]) else None
    return rows is not None and len({json.dumps(row) for row in rows}) == len(rows)


def _every_row(columns: Sequence[str], table: str, source: Source) -> list[list[Any]] | None:
    """Return the values of `columns` in all rows of `table`; None where they cannot be had."""
    try:
        result = source.execute(_listing(columns, table, source.catalog))
    except StatementError:
        return None
    return None if result["truncated"] else result["rows"]


def _listing(columns: Sequence[str], table: str, catalog: Catalog) -> str:
    outputs = [column_of(catalog, table, name, qualified=False) for name in columns]
    return exp.select(*outputs).from_(table_of(catalog, table)).sql(dialect=catalog.dialect)
