"""Names in a statement, resolved against the catalog before the database sees it."""

from collections.abc import Iterator
from difflib import get_close_matches

from rapidfuzz import fuzz, process
from sqlglot import exp
from sqlglot.optimizer.scope import Scope

from agent.catalog.schema import Catalog
from agent.errors import NamesUnknown
from agent.sql.guard import parse
from agent.sql.resolved import Resolved, resolved, table_of

_ROW_IDS = {"rowid", "oid", "_rowid_"}
_CANDIDATES = 200
_COMPARISONS = (exp.Binary, exp.In, exp.Between)


def resolve(sql: str, catalog: Catalog) -> Resolved | None:
    """Check that every column of one parsable query exists in the tables that the query reads; return it resolved.

    A construct that sqlglot cannot follow is left to the database, and None returned.

    Raises:
        NamesUnknown: with each unknown column and the nearest real names, and each ambiguous one.
    """
    (tree,) = parse(sql, catalog.dialect)
    query = examined = resolved(tree, catalog)
    if catalog.dialect == "postgres" and any(
        not isinstance(star.parent, exp.Count) for star in tree.find_all(exp.Star)
    ):
        # Behind a star, PostgreSQL takes a name that is no column for a function of the row.
        examined = resolved(tree, catalog, expand_stars=True)
    unknown = [_explain(column, scope, catalog) for scope, column in unresolved(examined)] if examined else []
    if unknown:
        raise NamesUnknown("; ".join(dict.fromkeys(unknown)))
    return query if examined else None


def unresolved(query: Resolved) -> Iterator[tuple[Scope, exp.Column]]:
    """Return the columns of `query` that no table in sight has, or that more than one has, each with its scope."""
    for scope in query.scopes:
        for column in _unresolved(scope, query.catalog):
            yield scope, column


def nearest_names(name: str, catalog: Catalog, limit: int = 3) -> list[str]:
    """Return up to `limit` columns (`table.column`) and tables whose name is closest to `name`, best first."""
    known: dict[str, list[str]] = {}
    for key, columns in catalog.selection().items():
        known.setdefault(catalog.full_names[key].name.lower(), []).append(key)
        for column in columns:
            known.setdefault(column.lower(), []).append(f"{key}.{column}")
    # A quick bound first: what difflib finds alike is by rapidfuzz's ratio at least as much so.
    alike = process.extract(name.lower(), known.keys(), scorer=fuzz.ratio, score_cutoff=50, limit=_CANDIDATES)
    close = get_close_matches(name.lower(), [found for found, _, _ in alike], n=limit, cutoff=0.5)
    return [full for match in close for full in known[match]][:limit]


def _unresolved(scope: Scope, catalog: Catalog) -> Iterator[exp.Column]:
    if not isinstance(scope.expression, exp.Select):
        return
    outside = scope.external_columns if not scope.is_correlated_subquery and not scope.pivots else []
    # The columns of a subquery with a star are not known here.
    has_star = any(isinstance(each, Scope) and "*" in columns_of(each, catalog) for each in scope.sources.values())
    for column in [*scope.unqualified_columns, *outside, *_missing_in_source(scope, catalog)]:
        if not _is_tolerated(column, catalog.dialect) and not (has_star and not column.table):
            yield column


def _missing_in_source(scope: Scope, catalog: Catalog) -> Iterator[exp.Column]:
    """Columns that say which table they are of, where that table has no such column."""
    for column in scope.columns:
        known = columns_of(scope.sources.get(column.table), catalog)
        if known and "*" not in known and column.name.lower() not in known:
            yield column


def columns_of(source: exp.Table | Scope | None, catalog: Catalog) -> set[str]:
    """Return the columns of a table or subquery in lower case; none where they are not known."""
    if isinstance(source, Scope):
        query = source.expression
        return {name.lower() for name in query.named_selects} if isinstance(query, exp.Query) else set()
    table = table_of(source, catalog) if source else None
    return {column.lower() for column in table.column_names} if table else set()


def _is_tolerated(column: exp.Column, dialect: str) -> bool:
    """True for what SQLite accepts beyond columns: row ids, and a string in double quotes where a value is compared."""
    if dialect != "sqlite":
        return False
    as_string = not column.table and bool(column.this.args.get("quoted")) and isinstance(column.parent, _COMPARISONS)
    return as_string or column.name.lower() in _ROW_IDS


def _explain(column: exp.Column, scope: Scope, catalog: Catalog) -> str:
    having = [name for name, source in scope.sources.items() if column.name.lower() in columns_of(source, catalog)]
    if not column.table and len(having) > 1:
        return f"the column {column.name} is ambiguous: it is in {', '.join(having)}"
    nearest = nearest_names(column.name, catalog)
    hint = f" (nearest: {', '.join(nearest)})" if nearest else ""
    return f"there is no column {column.sql(dialect=catalog.dialect)}{hint}"
