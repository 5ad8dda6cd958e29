"""The subquery that stands for a table with a row rule, written so that the engine filters its rows first.

An optimiser may evaluate the conditions of a statement in any order, and moves them into subqueries. A condition that
raises an error on a hidden row then reveals what is in it. Each engine has a construct that conditions are not moved
into:

- PostgreSQL: a materialised CTE. The planner calls operators of the statement on values that ANALYZE sampled, through
  OFFSET 0 in every version and through a CTE since version 17. It does not look for statistics below a UNION ALL, which
  is what the second, empty arm is for; the planner removes that arm.
- SQLite: a materialised CTE, which the documentation calls an optimisation fence.
- DuckDB, MySQL, MariaDB, ClickHouse and Trino: a LIMIT of the largest number. A condition is not moved below a LIMIT,
  since that would change the result. DuckDB moves conditions into materialised CTEs; ClickHouse and Trino merge CTEs.
- Spark: a sample of 100 per cent, below which Spark moves no condition. A LIMIT would gather all rows in one partition
  and ends at 2,147,483,647 rows.
"""

from sqlglot import exp

_CTE_DIALECTS = {"postgres", "sqlite"}
_SIGNED_MAX = 2**63 - 1
_UNSIGNED_MAX = 2**64 - 1
_LIMITS = {"duckdb": _SIGNED_MAX, "trino": _SIGNED_MAX, "mysql": _UNSIGNED_MAX, "clickhouse": _UNSIGNED_MAX}


def permitted_rows(
    table: exp.Table, predicate: exp.Expr, dialect: str, cte: str, *, needs_barrier: bool = True
) -> exp.Select:
    """Return a query of all rows of `table` that meet `predicate`.

    `cte` names the common table expression where the dialect needs one; nothing else in the statement has that name.
    Without a barrier it is `SELECT * FROM table WHERE (predicate)`, into which an engine may move other conditions.

    Raises:
        KeyError: no barrier is known for `dialect`.
    """
    rows = _filtered(table, exp.Paren(this=predicate.copy()))
    if not needs_barrier:
        return rows
    if dialect in _CTE_DIALECTS:
        body: exp.Query = rows
        if dialect == "postgres":
            body = exp.Union(this=rows, expression=_filtered(table, exp.false()), distinct=False)
        definition = exp.CTE(this=body, alias=exp.TableAlias(this=exp.to_identifier(cte)), materialized=True)
        outer = exp.Select(expressions=[exp.Star()], from_=exp.From(this=exp.table_(cte)))
        outer.set("with_", exp.With(expressions=[definition]))
        return outer
    if dialect == "spark":
        sample = exp.TableSample(percent=exp.Literal.number(100))
        source = exp.Subquery(this=rows, sample=sample)
        return exp.Select(expressions=[exp.Star()], from_=exp.From(this=source))
    rows.set("limit", exp.Limit(expression=exp.Literal.number(_LIMITS[dialect])))
    return rows


def filtered_table(query: exp.Expr) -> exp.Table | None:
    """Return the table that `query` reads, if it has the outline of what `permitted_rows` returns."""
    clause = query.args.get("with_")
    body = clause.expressions[0].this if clause else query
    if isinstance(body, exp.Union):
        body = body.this
    source = body.args.get("from_")
    if source and isinstance(source.this, exp.Subquery) and source.this.args.get("sample"):
        source = source.this.this.args.get("from_")
    return source.this if source and isinstance(source.this, exp.Table) else None


def cte_name(tree: exp.Expr) -> str:
    """Return a name for the common table expressions of barriers that no identifier in `tree` has."""
    taken = {identifier.name.lower() for identifier in tree.find_all(exp.Identifier)}
    name, number = "permitted_rows", 0
    while name in taken:
        number += 1
        name = f"permitted_rows_{number}"
    return name


def _filtered(table: exp.Table, condition: exp.Expr) -> exp.Select:
    source = exp.From(this=table.copy())
    return exp.Select(expressions=[exp.Star()], from_=source, where=exp.Where(this=condition))
