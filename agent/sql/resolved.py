"""A statement with its names resolved: which column of which table of the catalog each name means."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from string import ascii_lowercase, ascii_uppercase
from typing import NamedTuple

from sqlglot import exp
from sqlglot.errors import OptimizeError, SqlglotError
from sqlglot.optimizer.qualify import qualify
from sqlglot.optimizer.scope import Scope, traverse_scope
from sqlglot.schema import MappingSchema

from agent.catalog.schema import Catalog, Column, Table

_ASCII_CASE = str.maketrans(ascii_uppercase, ascii_lowercase)


class Place(NamedTuple):
    """A column of a table of the catalog."""

    table: Table
    column: Column

    def __str__(self) -> str:
        return f"{self.table.key}.{self.column.name}"


@dataclass(frozen=True)
class Resolved:
    """A qualified query with its scopes, innermost first."""

    catalog: Catalog
    scopes: tuple[Scope, ...]

    @property
    def dialect(self) -> str:
        """The SQL that it is written in."""
        return self.catalog.dialect

    def selects(self) -> Iterator[tuple[Scope, exp.Select]]:
        """Return each SELECT with its scope."""
        return ((scope, scope.expression) for scope in self.scopes if isinstance(scope.expression, exp.Select))

    def table(self, source: exp.Expr | Scope | None) -> Table | None:
        """Return the table of the catalog that a source of a scope is; None for subqueries and the like."""
        return table_of(source, self.catalog) if isinstance(source, exp.Table) else None

    def place(self, node: exp.Expr | None, scope: Scope) -> Place | None:
        """Return the column of a table that `node`, which stands in `scope`, is; None where it is anything else."""
        around: Scope | None = scope
        if not isinstance(node, exp.Column) or not node.table:
            return None
        while around is not None and node.table not in around.sources:
            around = around.parent
        table = self.table(around.sources[node.table]) if around else None
        columns = table.columns if table else ()
        found = next((column for column in columns if column.name.lower() == node.name.lower()), None)
        return Place(table, found) if table and found else None


def resolved(tree: exp.Expr, catalog: Catalog, *, expand_stars: bool = False) -> Resolved | None:
    """Return `tree` with every name said by its table, which sqlglot's `qualify` does; None where it cannot follow.

    With `expand_stars` the columns of tables in the catalog stand in place of a star. The scopes, aliases, common table
    expressions and correlated subqueries are those of the dialect.
    """
    if any(isinstance(subquery.this, exp.Pivot) for subquery in tree.find_all(exp.Subquery)):
        # A PIVOT in parentheses has no scope in sqlglot.
        return None
    default = catalog.default_schema if catalog.has_schemas else None
    try:
        qualified = qualify(
            tree.copy(),
            dialect=catalog.dialect,
            # A table without a schema is the one that the session finds, where another schema has one of its name.
            db=default,
            schema=_mapping(tree, catalog),
            expand_stars=expand_stars,
            quote_identifiers=False,
            validate_qualify_columns=False,
            allow_partial_qualification=True,
        )
        return Resolved(catalog, tuple(traverse_scope(qualified)))
    except (OptimizeError, SqlglotError, RecursionError):
        return None


def table_of(source: exp.Table, catalog: Catalog) -> Table | None:
    """Return the table of the catalog that `source` names, in any case."""
    key = key_of(source, catalog)
    return None if key is None else catalog.tables[key]


def key_of(source: exp.Table, catalog: Catalog) -> str | None:
    """Return the key of the table of the catalog that `source` names, in any case."""
    name, schema = source.name.lower(), source.db.lower()
    return catalog.key_of(name if schema in {"", (catalog.default_schema or "").lower()} else f"{schema}.{name}")


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
        columns = {_folded(column) if folds else column: "text" for column in table.column_names}
        name = exp.table_(_folded(table.name) if folds else table.name, db=table.schema or default, quoted=True)
        schema.add_table(name, columns, match_depth=False)
    return schema


def _folded(name: str) -> str:
    """Return `name` as SQLite and DuckDB fold it: they know the case of ASCII letters alone."""
    return name.translate(_ASCII_CASE)
