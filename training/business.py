"""Schemas of ordinary business databases and handwritten questions on them, in addition to those of Spider."""

import re
from collections import defaultdict
from collections.abc import Iterator
from importlib.resources import files

from training.dataset import GoldQuestion
from training.spider import SpiderColumn, SpiderForeignKey, SpiderSchema, SpiderTable, SpiderType

_COLUMN = re.compile(r"(?P<name>\w+)(?P<marks>[*#@?]*)(?:\{(?P<values>[^}]*)\})?(?:>(?P<target>\w+)\.(?P<column>\w+))?")
_TYPES: tuple[tuple[str, SpiderType], ...] = (("#", "number"), ("@", "time"), ("?", "boolean"))


def business_schemas() -> dict[str, SpiderSchema]:
    """Return the business schemas by name."""
    text = files("training").joinpath("business_schemas.txt").read_text(encoding="utf-8")
    parts = re.split(r"^= (\w+)\n", text, flags=re.MULTILINE)[1:]
    return {name: _schema(name, body) for name, body in zip(parts[::2], parts[1::2], strict=True)}


def _schema(name: str, body: str) -> SpiderSchema:
    described = [line.split(": ", 1) for line in body.splitlines() if line]
    tables = tuple(_table(table, columns) for table, columns in described)
    keys = tuple(key for table, columns in described for key in _foreign_keys(table, columns))
    return SpiderSchema(name, tables, keys)


def _table(name: str, columns: str) -> SpiderTable:
    matches = list(_COLUMN.finditer(columns))
    key = tuple(match["name"] for match in matches if "*" in match["marks"])
    return SpiderTable(name, tuple(map(_column, matches)), key)


def _column(match: re.Match[str]) -> SpiderColumn:
    kind: SpiderType = next((kind for mark, kind in _TYPES if mark in match["marks"]), "text")
    values = tuple(match["values"].split("|")) if match["values"] else ()
    return SpiderColumn(match["name"], kind, values)


def _foreign_keys(table: str, columns: str) -> Iterator[SpiderForeignKey]:
    for match in _COLUMN.finditer(columns):
        if match["target"]:
            yield SpiderForeignKey(table, match["name"], match["target"], match["column"])


def written_questions() -> dict[str, list[GoldQuestion]]:
    """Return the handwritten questions by schema name; statements are in the dialect of SQLite, some with QUALIFY."""
    text = files("training").joinpath("business_questions.tsv").read_text(encoding="utf-8")
    questions: dict[str, list[GoldQuestion]] = defaultdict(list)
    for line in text.splitlines():
        database, question, sql = line.split("\t")
        questions[database].append(GoldQuestion(question, sql, "written"))
    return questions
