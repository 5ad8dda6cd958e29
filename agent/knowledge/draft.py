"""Proposals of knowledge from a catalog: comments, codes, units, personal columns and inferred joins."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from agent.knowledge.entries import SCHEMA_URL
from agent.knowledge.knowledge import Knowledge
from agent.knowledge.yaml_text import dump_yaml
from agent.schema.catalog import Catalog, Column, Table
from agent.schema.personal import personal_kind

_HEAD = f"""# yaml-language-server: $schema={SCHEMA_URL}
# Proposals of `datasphinx knowledge draft`. They are not used: correct an entry, and move it to a file without
# `origin: proposal`, or write `origin: hand-written` in it.
"""
_CODE = re.compile(r"(?<!\w)(\w{1,10})\s*(?:=|:|->|–)\s*([^,;|()]+?)\s*(?=[,;|()]|\.?$)")
"""A code with its name in a comment: `W = web`."""
_MAX_CODES = 30
_MAX_CODE_CHARS = 3
_UNIT = re.compile(
    r"US dollars?|dollars?|euros?|pounds?|roubles?|rubles?|yuan|рубл\w+|元|USD|EUR|GBP|RUB|CNY|percent|%|kilograms?|kg|"
    r"metres|meters|kilomet(?:re|er)s|km|seconds|minutes|hours|days",
    re.IGNORECASE,
)


def draft(catalog: Catalog, knowledge: Knowledge) -> dict[str, str]:
    """Return the texts of the proposed files by name; files without an entry are left out.

    Entries that `knowledge` has are not proposed again.

    Raises:
        DriverMissing: the package `pyyaml` is not installed.
    """
    defined = {item.id.lower() for item in knowledge.items}
    tables = {key: body for key, table in catalog.tables.items() if (body := _table(catalog, table, defined))}
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


def _table(catalog: Catalog, table: Table, defined: set[str]) -> dict[str, Any]:
    body: dict[str, Any] = {}
    if table.comment and f"table:{table.key}".lower() not in defined:
        body["description"] = table.comment
    columns = {}
    for column in table.columns:
        if f"column:{table.key}.{column.name}".lower() not in defined:
            facts = _column(catalog, table, column)
            if facts:
                columns[column.name] = facts
    return {**body, "columns": columns} if columns else body


def _column(catalog: Catalog, table: Table, column: Column) -> dict[str, Any]:
    samples = catalog.values.get((table.key, column.name), ())
    facts: dict[str, Any] = {}
    if column.comment:
        facts["description"] = column.comment
        unit = _UNIT.search(column.comment)
        if unit and column.type_class == "number":
            facts["unit"] = unit[0]
    labels = _labels(table, column, samples)
    if labels:
        facts["labels"] = labels
    if personal_kind(table.name, column.name, samples or column.examples):
        facts["personal"] = True
    return facts


def _labels(table: Table, column: Column, samples: tuple[str, ...]) -> dict[str, str]:
    """Return the stored codes with their names in the comment; without a comment, short codes with themselves."""
    stored = dict.fromkeys(samples or column.examples)
    if not stored or (column.distinct or 0) > _MAX_CODES or table.primary_key == (column.name,):
        return {}
    named = {code: name for code, name in _CODE.findall(column.comment or "") if code in stored}
    if named:
        return named
    is_coded = column.type_class == "text" and len(stored) > 1 and all(len(code) <= _MAX_CODE_CHARS for code in stored)
    return {code: code for code in stored} if is_coded and len(stored) <= _MAX_CODES else {}


def _joins(table: Table) -> Iterator[dict[str, str]]:
    for foreign in table.foreign_keys:
        if foreign.inferred and len(foreign.columns) == 1:
            yield {
                "from": f"{table.key}.{foreign.columns[0]}",
                "to": f"{foreign.target}.{foreign.target_columns[0]}",
                "cardinality": "many-to-one",
            }
