"""Variants of databases whose categories are stored as codes, with a table that has the meanings of the codes."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

import sqlglot
from sqlglot import exp

from training.dataset import GoldQuestion
from training.rows import Place, TextTable, place_of
from training.spider import SpiderColumn, SpiderSchema, SpiderTable

_SHARE = 0.8
"""Share of the categories of a database that become codes."""

_LISTS = (
    ("code_list", "field", "code", "meaning"),
    ("lookup", "column_name", "value", "description"),
    ("ref_codes", "domain", "code", "label"),
    ("dictionary", "attribute", "short", "long_text"),
    ("CodeTable", "FieldName", "Code", "Meaning"),
)
_FIELDS = ("{table}.{column}", "{column}", "{table}_{column}")


@dataclass(frozen=True)
class Coded:
    """A schema with codes in place of categories, the questions that use these, and the tables of meanings."""

    schema: SpiderSchema
    questions: Sequence[GoldQuestion]
    listings: Sequence[TextTable]


def coded(schema: SpiderSchema, questions: Sequence[GoldQuestion], rng: Random) -> Coded | None:
    """Return `schema` with codes for most of its categories; None if no question compares with one of these."""
    codes = {
        (table.name.lower(), column.name.lower()): _codes(column.values, rng)
        for table in schema.tables
        for column in table.columns
        if column.type == "text" and len(column.values) > 1 and rng.random() < _SHARE
    }
    kept = [
        replace(question, sql=sql, kind="coded")
        for question in questions
        if (sql := _with_codes(question.sql, schema, codes)) is not None
    ]
    if not kept:
        return None
    tables = tuple(
        replace(table, columns=tuple(_coded_column(table, column, codes) for column in table.columns))
        for table in schema.tables
    )
    listings = _one_list(schema, codes, rng) if rng.random() < 0.7 else _lists(schema, codes)
    return Coded(replace(schema, db_id=f"{schema.db_id}_coded", tables=tables), kept, listings)


def _codes(values: Sequence[str], rng: Random) -> dict[str, str]:
    """Return a distinct code for each value: numbers, initials, or the first or the main letters."""
    style = rng.choice(["number", "initial", "initial", "short", "short", "consonants"])
    codes: dict[str, str] = {}
    for number, value in enumerate(values, 1):
        letters = re.sub(r"\W", "", value).upper()
        main = letters[:1] + re.sub(r"[AEIOU]", "", letters[1:])
        initials = "".join(word[0] for word in re.findall(r"\w+", value)).upper()
        wanted = {"number": str(number), "initial": initials, "short": letters[:3], "consonants": main[:3]}[style]
        tries = (wanted, letters[:2], letters[:4], f"{letters[:1]}{number}")
        codes[value] = next(code for code in tries if code and code not in codes.values())
    return codes


def _coded_column(table: SpiderTable, column: SpiderColumn, codes: Mapping[Place, Mapping[str, str]]) -> SpiderColumn:
    own = codes.get((table.name.lower(), column.name.lower()))
    return replace(column, values=tuple(own.values())) if own else column


def _one_list(schema: SpiderSchema, codes: Mapping[Place, Mapping[str, str]], rng: Random) -> list[TextTable]:
    name, *columns = rng.choice(_LISTS)
    template = rng.choice(_FIELDS)
    rows = [
        (template.format(table=table, column=column), code, value)
        for table, column, meanings in _named(schema, codes)
        for value, code in meanings.items()
    ]
    return [(name, columns, rows)]


def _lists(schema: SpiderSchema, codes: Mapping[Place, Mapping[str, str]]) -> list[TextTable]:
    return [
        (f"{table}_{column}_codes", ("code", "label"), [(code, value) for value, code in meanings.items()])
        for table, column, meanings in _named(schema, codes)
    ]


def _named(
    schema: SpiderSchema, codes: Mapping[Place, Mapping[str, str]]
) -> Iterator[tuple[str, str, Mapping[str, str]]]:
    for table in schema.tables:
        for column in table.columns:
            if meanings := codes.get((table.name.lower(), column.name.lower())):
                yield table.name, column.name, meanings


def _with_codes(sql: str, schema: SpiderSchema, codes: Mapping[Place, Mapping[str, str]]) -> str | None:
    """Return `sql` with codes in its comparisons with categories; None without one, or with one of another kind."""
    tree = sqlglot.parse_one(sql, dialect="sqlite")
    columns = {table.name.lower(): {column.name.lower() for column in table.columns} for table in schema.tables}
    is_changed = False
    for column in tree.find_all(exp.Column):
        meanings = codes.get(place_of(column, columns) or ("", ""))
        if meanings is None:
            continue
        comparison = column.parent
        if not isinstance(comparison, exp.EQ | exp.NEQ | exp.In):
            if isinstance(comparison, exp.Predicate | exp.Func) and not isinstance(comparison, exp.AggFunc):
                return None
            continue
        for literal in comparison.find_all(exp.Literal):
            if literal.name not in meanings:
                return None
            literal.replace(exp.Literal.string(meanings[literal.name]))
            is_changed = True
    return tree.sql(dialect="sqlite") if is_changed else None
