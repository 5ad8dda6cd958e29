"""Names in a statement, resolved against the catalog before the database sees it."""

from collections.abc import Iterator
from difflib import get_close_matches
from itertools import islice

from rapidfuzz import fuzz, process
from sqlglot import exp
from sqlglot.errors import OptimizeError, SqlglotError
from sqlglot.optimizer.qualify import qualify
from sqlglot.optimizer.scope import Scope, traverse_scope
from sqlglot.schema import MappingSchema

from agent.catalog.schema import Catalog
from agent.errors import NamesUnknown
from agent.sql.guard import parse

_ROW_IDS = {"rowid", "oid", "_rowid_"}
_CANDIDATES = 200
_COMPARISONS = (exp.Binary, exp.In, exp.Between)


def resolve(sql: str, catalog: Catalog) -> None:
    """Check that every column of one parsable query exists in the tables that the query reads.

    Resolution is sqlglot's `qualify`: scopes, aliases, common table expressions and correlated subqueries included.
    A construct that `qualify` cannot follow is left to the database.

    Raises:
        NamesUnknown: with each unknown column and the nearest real names, and each ambiguous one.
    """
    (tree,) = parse(sql, catalog.dialect)
    try:
        qualified = qualify(
            tree,
            dialect=catalog.dialect,
            schema=_mapping(tree, catalog),
            expand_stars=False,
            quote_identifiers=False,
            validate_qualify_columns=False,
            allow_partial_qualification=True,
        )
        unknown = [
            _explain(column, scope, catalog)
            for scope in traverse_scope(qualified)
            for column in _unresolved(scope, catalog)
        ]
    except (OptimizeError, SqlglotError, RecursionError):
        return
    if unknown:
        raise NamesUnknown("; ".join(dict.fromkeys(unknown)))


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


def _mapping(tree: exp.Expr, catalog: Catalog) -> MappingSchema:
    """Return the tables that `tree` names as sqlglot's schema; names in the case that `qualify` folds them to."""
    names = dict.fromkeys(table.name.lower() for table in tree.find_all(exp.Table))
    # In an empty schema sqlglot would infer columns; any table keeps it from that.
    named = [key for name in names for key in catalog.keys_named(name)] or list(islice(catalog.tables, 1))
    folds = catalog.dialect in {"sqlite", "duckdb"}
    schema = MappingSchema(dialect=catalog.dialect, normalize=False)
    # One depth for all names: where some tables have a schema, those of the default one are given it too.
    default = catalog.default_schema if catalog.has_schemas else None
    for table in map(catalog.tables.__getitem__, named):
        columns = {column.lower() if folds else column: "text" for column in table.column_names}
        name = exp.table_(table.name.lower() if folds else table.name, db=table.schema or default, quoted=True)
        schema.add_table(name, columns, match_depth=False)
    return schema


def _unresolved(scope: Scope, catalog: Catalog) -> Iterator[exp.Column]:
    if not isinstance(scope.expression, exp.Select):
        return
    outside = scope.external_columns if not scope.is_correlated_subquery and not scope.pivots else []
    for column in [*scope.unqualified_columns, *outside, *_missing_in_source(scope, catalog)]:
        if not _is_tolerated(column, catalog.dialect):
            yield column


def _missing_in_source(scope: Scope, catalog: Catalog) -> Iterator[exp.Column]:
    """Columns that say which table they are of, where that table has no such column."""
    for column in scope.columns:
        known = _columns_of(scope.sources.get(column.table), catalog)
        if known and "*" not in known and column.name.lower() not in known:
            yield column


def _columns_of(source: exp.Table | Scope | None, catalog: Catalog) -> set[str]:
    """Return the columns of a table or subquery in lower case; none where they are not known."""
    if isinstance(source, Scope):
        query = source.expression
        return {name.lower() for name in query.named_selects} if isinstance(query, exp.Query) else set()
    name, schema = (source.name.lower(), source.db.lower()) if source else ("", "")
    key = catalog.key_of(name if schema in {"", (catalog.default_schema or "").lower()} else f"{schema}.{name}")
    return set() if key is None else {column.lower() for column in catalog.tables[key].column_names}


def _is_tolerated(column: exp.Column, dialect: str) -> bool:
    """True for what SQLite accepts beyond columns: row ids, and a string in double quotes where a value is compared."""
    if dialect != "sqlite":
        return False
    as_string = not column.table and bool(column.this.args.get("quoted")) and isinstance(column.parent, _COMPARISONS)
    return as_string or column.name.lower() in _ROW_IDS


def _explain(column: exp.Column, scope: Scope, catalog: Catalog) -> str:
    having = [name for name, source in scope.sources.items() if column.name.lower() in _columns_of(source, catalog)]
    if not column.table and len(having) > 1:
        return f"the column {column.name} is ambiguous: it is in {', '.join(having)}"
    nearest = nearest_names(column.name, catalog)
    hint = f" (nearest: {', '.join(nearest)})" if nearest else ""
    return f"there is no column {column.sql(dialect=catalog.dialect)}{hint}"
