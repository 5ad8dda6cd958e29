"""Reads the schema of a database into a `Catalog`."""

import warnings
from collections import defaultdict
from typing import Any

from sqlalchemy import Inspector
from sqlalchemy.engine.interfaces import ReflectedForeignKeyConstraint
from sqlalchemy.engine.reflection import ObjectKind
from sqlalchemy.exc import SAWarning, SQLAlchemyError

from agent.catalog.schema import Catalog, Column, ForeignKey, Table
from agent.sql.database import Database


def reflect(database: Database) -> Catalog:
    """Return tables and views of the default schema, with columns, keys and comments.

    Raises:
        SourceUnreachable: the database does not answer.
    """
    with database.inspector() as inspector, warnings.catch_warnings():
        # A foreign key that a database declares and does not keep is nothing that a user has to hear of.
        warnings.simplefilter("ignore", SAWarning)
        return Catalog(database.dialect, _tables(inspector), inspector.default_schema_name)


def _tables(inspector: Inspector) -> dict[str, Table]:
    columns = inspector.get_multi_columns(kind=ObjectKind.ANY)
    primary = inspector.get_multi_pk_constraint(kind=ObjectKind.ANY)
    foreign = inspector.get_multi_foreign_keys(kind=ObjectKind.ANY)
    comments = _comments(inspector)
    tables = {}
    for name in sorted(columns):
        targets = {reference["referred_table"] for reference in foreign.get(name, ())}
        key_of = {target: _key(primary, (None, target)) for target in targets}
        tables[name[1]] = Table(
            name=name[1],
            columns=tuple(_column(column) for column in columns[name]),
            primary_key=_key(primary, name),
            foreign_keys=tuple(_foreign_key(reference, key_of) for reference in foreign.get(name, ())),
            comment=comments[name[1]],
        )
    return tables


def _key(primary: Any, name: tuple[str | None, str]) -> tuple[str, ...]:
    constraint = primary.get(name)
    return tuple(constraint["constrained_columns"]) if constraint else ()


def _column(column: Any) -> Column:
    return Column(column["name"], str(column["type"]), column["nullable"], column.get("comment"))


def _foreign_key(reference: ReflectedForeignKeyConstraint, key_of: dict[str, tuple[str, ...]]) -> ForeignKey:
    """SQLite leaves out the target columns where they are the primary key of the target."""
    target = reference["referred_table"]
    columns = tuple(reference["referred_columns"]) or key_of[target]
    return ForeignKey(tuple(reference["constrained_columns"]), target, columns)


def _comments(inspector: Inspector) -> dict[str, str | None]:
    try:
        found = inspector.get_multi_table_comment(kind=ObjectKind.ANY)
    except (NotImplementedError, SQLAlchemyError):
        return defaultdict(lambda: None)
    return defaultdict(lambda: None, {name[1]: comment["text"] for name, comment in found.items()})
