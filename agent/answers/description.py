"""Descriptions of data: ranges, gaps and outliers of columns, as tables of the statistics of the rows."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from datasphinx.agent.answers.text import markdown_table
from datasphinx.agent.formatting.formats import format_single
from datasphinx.agent.grounding.vocabulary import vocabulary_of
from datasphinx.agent.messages import CONVENTIONS, Language, language_of, render
from datasphinx.agent.schema.catalog import Catalog
from datasphinx.agent.schema.describe import one_line
from datasphinx.agent.schema.words import normal_form
from datasphinx.agent.sql.column_statistics import (
    COLUMN_STATISTICS,
    MAX_COLUMNS,
    MAX_TABLES,
    column_statistics,
    table_statistics,
)
from datasphinx.agent.types import Result

_NAME_CHARS = 60


def names_described(question: str, names: Iterable[str]) -> list[str] | None:
    """Return the tables of `names` that `question` asks to describe; [] for the data as a whole.

    Returns None unless the question has no other words than those for a description, for data, and such names.

    >>> names_described("Describe the orders table", ["orders", "customers"]), names_described("描述一下数据特征", [])
    (['orders'], [])
    >>> names_described("Describe the orders by month", ["orders"])
    """
    language, text, found = language_of(question), f" {normal_form(question)} ", []
    words = vocabulary_of(language).questions
    has_spaces = bool(CONVENTIONS[language].space)
    if not re.search(rf"\b(?:{words.describe})\b" if has_spaces else words.describe, text):
        return None
    for name in sorted(names, key=len, reverse=True):
        in_name = normal_form(name.rpartition(".")[2])
        if in_name and in_name in text:
            # A Chinese name has no spaces around it.
            pattern = rf"(?<![a-z\d]){re.escape(in_name)}(?![a-z\d])" if in_name.isascii() else re.escape(in_name)
            text, count = re.subn(pattern, " ", text)
            found += [name] if count else []
    if not has_spaces:
        rest, verbs = re.subn(words.describe, "", text)
        rest, data = re.subn(words.data, "", rest)
        rest = re.sub(rf"{words.fillers}|\s", "", rest)
        return found if verbs and (data or found) and not rest else None
    counts = {"verbs": 0, "data": 0}
    for word in text.split():
        if re.fullmatch(words.describe, word):
            counts["verbs"] += 1
        elif re.fullmatch(words.data, word):
            counts["data"] += 1
        elif not re.fullmatch(words.fillers, word):
            return None
    return found if counts["verbs"] and (counts["data"] or found) else None


def description_statement(question: str, catalog: Catalog) -> tuple[str, list[str]] | None:
    """Return the statement for a description of the data, and the keys of its tables; None for other questions.

    It describes the columns of the only table, or of one that `question` names, otherwise the tables. A question for
    the tables that exist is one for a description, unless a table is itself called "tables" or the like.
    """
    words = vocabulary_of(language_of(question)).questions
    asks_for_tables = re.fullmatch(words.tables, normal_form(question)) is not None
    if asks_for_tables and not any(
        re.fullmatch(words.data, normal_form(table.name)) for table in catalog.tables.values()
    ):
        named: list[str] | None = []
    else:
        named = names_described(question, catalog.full_names)
    if named is None:
        return None
    keys = (named or list(catalog.full_names))[:MAX_TABLES]
    tables = [catalog.tables[key] for key in keys]
    if len(tables) > 1:
        return table_statistics(tables, catalog.dialect), keys
    if all(column.secret for column in tables[0].columns):
        return None
    return column_statistics(tables[0], catalog.dialect), keys


def description_of(results: Iterable[Result], names: Mapping[str, str], language: Language) -> str:
    """Return the statistics of tables as Markdown tables, those of columns below the name and the size of their table.

    `results` are those of the statements of `datasphinx.agent.sql.column_statistics`, and `names` the words for tables
    by key.
    """
    paragraphs: list[str] = []
    for result in results:
        rows = [dict(zip(result["columns"], row, strict=True)) for row in result["rows"]]
        if tuple(result["columns"]) == COLUMN_STATISTICS and rows:
            name = one_line(names.get(rows[0]["table_name"]) or rows[0]["table_name"], _NAME_CHARS)
            size = {"rows": format_single(rows[0]["row_count"], language), "columns": rows[0]["column_count"]}
            paragraphs.append(render("describe_table_size", language, name=name, **size))
        paragraphs.append(markdown_table(_shown(result), language, MAX_COLUMNS))
    return "\n\n".join(paragraphs)


def _shown(result: Result) -> Result:
    """Return `result` without the columns that are told above it, or that have no value."""
    told = {"position"}
    if "column_name" in result["columns"]:
        told |= {"table_name", "row_count", "column_count"}
    kept = [
        at
        for at, name in enumerate(result["columns"])
        if name not in told and any(row[at] is not None for row in result["rows"])
    ]
    return {
        "columns": [result["columns"][at].replace("_", " ") for at in kept],
        "types": [result["types"][at] for at in kept],
        "rows": [[_plain(row[at]) for at in kept] for row in result["rows"]],
        "truncated": False,
    }


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        # A date without a time of midnight.
        return re.sub(r"[T ]00:00(:00)?$", "", value)
    return int(value) if isinstance(value, float) and value.is_integer() else value
