"""Proposals of knowledge: comments, codes with their names, personal columns and inferred joins."""

from collections.abc import Iterator, Mapping
from typing import Any

from sqlglot import exp

from datasphinx.agent.knowledge.check import Run
from datasphinx.agent.knowledge.entries import SCHEMA_URL
from datasphinx.agent.knowledge.knowledge import Knowledge
from datasphinx.agent.knowledge.yaml_text import dump_yaml
from datasphinx.agent.schema.catalog import Catalog, Column, Table
from datasphinx.agent.schema.personal import personal_content
from datasphinx.agent.sql.dialects import print_statement

_HEAD = f"""# yaml-language-server: $schema={SCHEMA_URL}
# Proposals of `datasphinx knowledge draft`. They are not used: correct an entry, and move it to a file without
# `origin: proposal`, or write `origin: hand-written` in it.
"""
_MAX_CODES = 30


def draft(catalog: Catalog, knowledge: Knowledge, run: Run) -> dict[str, str]:
    """Return the texts of the proposed files by name; files without an entry are left out.

    Entries that `knowledge` has are not proposed again. `run` executes a statement: the names of codes are read from
    the small tables to which they refer.

    Raises:
        DriverMissing: the package `pyyaml` is not installed.
        DatasphinxError: a statement failed.
    """
    defined = {item.id.lower() for item in knowledge.items}
    tables = {key: body for key, table in catalog.tables.items() if (body := _table(catalog, table, defined, run))}
    joins = [
        join
        for table in catalog.tables.values()
        for join in _joins(table)
        if f"join:{join['from']} = {join['to']}".lower() not in defined
    ]
    parts: dict[str, Mapping[str, Any]] = {}
    if tables:
        parts["draft_tables.yml"] = {"tables": tables}
    if joins:
        parts["draft_joins.yml"] = {"joins": joins}
    return {name: _HEAD + dump_yaml({"origin": "proposal", **part}) for name, part in parts.items()}


def _table(catalog: Catalog, table: Table, defined: set[str], run: Run) -> dict[str, Any]:
    body: dict[str, Any] = {}
    if table.comment and f"table:{table.key}".lower() not in defined:
        body["description"] = table.comment
    columns = {}
    for column in table.columns:
        if f"column:{table.key}.{column.name}".lower() not in defined:
            facts = _column(catalog, table, column, run)
            if facts:
                columns[column.name] = facts
    return {**body, "columns": columns} if columns else body


def _column(catalog: Catalog, table: Table, column: Column, run: Run) -> dict[str, Any]:
    facts: dict[str, Any] = {}
    if column.comment:
        facts["description"] = column.comment
    if labels := _listed_codes(catalog, table, column, run):
        facts["labels"] = labels
    if personal_content(catalog, table, column):
        facts["personal"] = True
    return facts


def _listed_codes(catalog: Catalog, table: Table, column: Column, run: Run) -> dict[str, str]:
    """Return the codes and names of the small table to which the column refers, if it has just these two columns."""
    # A number is an id rather than a code, and its table is better joined.
    for foreign in table.foreign_keys if column.type_class == "text" else ():
        target = catalog.tables.get(foreign.target)
        if foreign.columns != (column.name,) or target is None or len(target.columns) != 2:
            continue
        (key,) = foreign.target_columns
        name = next(each for each in target.columns if each.name != key)
        if name.type_class != "text" or name.secret or personal_content(catalog, target, name):
            continue
        full = catalog.full_names[target.key]
        query = exp.select(*(exp.column(each, quoted=True) for each in (key, name.name)))
        query = query.from_(exp.table_(full.name, db=full.schema, quoted=True)).order_by("1").limit(_MAX_CODES + 1)
        rows = run(print_statement(query, catalog.dialect))["rows"]
        if len(rows) <= _MAX_CODES:
            return {str(code): str(label) for code, label in rows if code is not None and label}
    return {}


def _joins(table: Table) -> Iterator[dict[str, str]]:
    for foreign in table.foreign_keys:
        if foreign.inferred and len(foreign.columns) == 1:
            yield {
                "from": f"{table.key}.{foreign.columns[0]}",
                "to": f"{foreign.target}.{foreign.target_columns[0]}",
                "cardinality": "many-to-one",
            }
