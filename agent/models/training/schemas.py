"""Schemas of ordinary business databases to train on, beside Spider's: with dates, amounts and states of things."""

import re
from collections.abc import Iterator
from importlib.resources import files

from agent.models.training.spider import SpiderColumn, SpiderForeignKey, SpiderSchema, SpiderTable, SpiderType

_COLUMN = re.compile(r"(?P<name>\w+)(?P<marks>[*#@?]*)(?:\{(?P<values>[^}]*)\})?(?:>(?P<target>\w+)\.(?P<column>\w+))?")
_TYPES: tuple[tuple[str, SpiderType], ...] = (("#", "number"), ("@", "time"), ("?", "boolean"))


def business_schemas() -> dict[str, SpiderSchema]:
    """Return the schemas by their name; `values` of a column are what it may hold."""
    text = files("agent.models.training").joinpath("business_schemas.txt").read_text(encoding="utf-8")
    parts = re.split(r"^= (\w+)\n", text, flags=re.MULTILINE)[1:]
    return {name: _schema(name, body) for name, body in zip(parts[::2], parts[1::2], strict=True)}


def _schema(name: str, body: str) -> SpiderSchema:
    described = [line.split(": ", 1) for line in body.splitlines() if line]
    tables = tuple(_table(table, columns) for table, columns in described)
    keys = tuple(key for table, columns in described for key in _foreign_keys(table, columns))
    return SpiderSchema(name, tables, keys)


def _table(name: str, columns: str) -> SpiderTable:
    found = list(_COLUMN.finditer(columns))
    key = tuple(match["name"] for match in found if "*" in match["marks"])
    return SpiderTable(name, tuple(map(_column, found)), key)


def _column(match: re.Match[str]) -> SpiderColumn:
    kind: SpiderType = next((kind for mark, kind in _TYPES if mark in match["marks"]), "text")
    values = tuple(match["values"].split("|")) if match["values"] else ()
    return SpiderColumn(match["name"], kind, values)


def _foreign_keys(table: str, columns: str) -> Iterator[SpiderForeignKey]:
    for match in _COLUMN.finditer(columns):
        if match["target"]:
            yield SpiderForeignKey(table, match["name"], match["target"], match["column"])
