"""Tables and columns of the catalog as sqlglot's nodes, written as compact statements write them."""

from sqlglot import exp

from agent.catalog.schema import Catalog
from agent.sql.compact_names import quoted


def table_of(catalog: Catalog, key: str) -> exp.Table:
    """Return the table with the catalog's `key`, with its schema where it needs one."""
    name = catalog.full_names[key]
    return exp.Table(this=_identifier(name.name), db=_identifier(name.schema) if name.schema else None)


def column_of(catalog: Catalog, key: str, name: str, *, qualified: bool) -> exp.Column:
    """Return the column `name` of the table `key`; `qualified` puts the table's name before it."""
    if not qualified:
        return exp.Column(this=_identifier(name))
    table = table_of(catalog, key)
    return exp.Column(this=_identifier(name), table=table.this, db=table.args.get("db"))


def _identifier(name: str) -> exp.Identifier:
    return exp.to_identifier(name, quoted=quoted(name) != name)
