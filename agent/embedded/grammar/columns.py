"""Rules of column names, by the operations that their values allow."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from datasphinx.agent.embedded.compact import quoted
from datasphinx.agent.embedded.grammar.gbnf import choice, literal
from datasphinx.agent.embedded.grammar.literals import may_mention, quotable
from datasphinx.agent.schema.catalog import Catalog, Column, Table
from datasphinx.agent.schema.words import stem, words

Kind = Literal["n", "k", "t", "s", "d", "b", "o", "u", "m", "c"]
"""Number, numeric key, text, text with dates, date, boolean, unknown that may be a date, other unknown; and columns
that stand for metrics: those of a sum or other expression, and those that count."""

KINDS: tuple[Kind, ...] = ("n", "k", "t", "s", "d", "b", "o", "u", "m", "c")
METRIC_KINDS: tuple[Kind, ...] = ("m", "c")
"""The kinds of columns that stand for metrics."""
OWN = "own"
"""The kind of the rules that compare a column with its own example values."""

NULLABLE = "nil"
"""The kind of the rules for columns that may be NULL; keys may be NULL after a LEFT JOIN."""

_BY_CLASS: Mapping[str, Kind] = {"number": "n", "text": "t", "date": "d", "datetime": "d", "boolean": "b"}
_DATE_NAME = re.compile(r"date|time|day|month|year|since|until|_at$|_on$| at$| on$|[a-z](At|On)$")
_DATES = ("d", "s", "o")
_GENERIC_DATE_WORDS = words("date time day month year on at of")
_DATE_NOUN = re.compile(r"\b(?:date|day|time|month|year)s?\b")
_BEGINNING = 5
"""Words with the same first letters are taken for forms of one word: "departure" and "departed"."""

_MAX_CATEGORIES, _MIN_REPETITION = 12, 2
"""Of a column of categories: the maximum number of its values, and the least number of rows for each."""

_NUMBER = re.compile(r"-?\d+(\.\d+)?")
_DATE_VALUE = re.compile(r"\d{4}-\d{2}(-\d{2}([ T].*)?)?")


def kind_of(column: Column) -> Kind:
    """Return the kind of `column`."""
    kind = _BY_CLASS.get(column.type_class)
    if kind == "t" and column.examples and all(_NUMBER.fullmatch(value) for value in column.examples):
        return "u"
    if kind == "t":
        return "s" if _looks_like_dates(column) else "t"
    return kind or ("o" if column.type_class == "time" or _looks_like_dates(column) else "u")


def table_rules(
    scope: str,
    catalog: Catalog,
    table: Table,
    names: Sequence[str],
    question: str,
    keys: Mapping[str, str],
    metrics: Mapping[str, Kind] | None = None,
) -> dict[str, str]:
    """Return the rules of the columns `names` of `table` by kind; rule names have the prefix `scope`.

    `keys` maps the names of key columns to their kinds, and `metrics` those of columns that stand for metrics.
    """
    columns = _relevant_columns(table, names, question)
    names_of: dict[Kind, list[str]] = {}
    for column in columns:
        # Numeric keys have their own kind, because sums of them are meaningless.
        kind = "k" if kind_of(column) == "n" and column.name in table.key_columns else kind_of(column)
        kind = (metrics or {}).get(column.name, kind)
        names_of.setdefault(kind, []).append(quoted(column.name))
    rules: dict[str, str] = {kind: choice(names_of[kind]) for kind in KINDS if kind in names_of}
    for column in columns:
        if column.name in keys:
            rules[keys[column.name]] = " | ".join(
                filter(None, (rules.get(keys[column.name]), literal(quoted(column.name))))
            )
    examples = {
        quoted(column.name): f"{scope}v{number}"
        for number, column in enumerate(columns)
        if _examples(catalog, table, column, question)
    }
    nullable = [quoted(column.name) for column in columns if column.nullable or column.name in table.key_columns]
    return rules | ({OWN: choice(examples)} if examples else {}) | ({NULLABLE: choice(nullable)} if nullable else {})


def example_rules(scope: str, catalog: Catalog, table: Table, names: Sequence[str], question: str) -> Iterable[str]:
    """Yield the rules of the comparisons with example values to which `table_rules` refers."""
    columns = _relevant_columns(table, names, question)
    for number, column in enumerate(columns):
        values = _examples(catalog, table, column, question)
        if values:
            value = f"{scope}e{number}"
            yield f"{value} ::= {literal(chr(39))} ({choice(values)}) {literal(chr(39))}"
            yield (
                f'{scope}v{number} ::= (" = " | " != ") {value} | '
                f'" " "NOT "? "IN (" ({value} | string) (", " ({value} | string)){{0,19}} ")"'
            )


def _relevant_columns(table: Table, names: Sequence[str], question: str) -> list[Column]:
    """Return the columns `names` of `table`; if `question` names some of its date columns, without the others.

    All are returned if the question mentions more dates than it names columns.
    """
    columns = [column for column in table.columns if column.name in set(names)]
    beginnings = {word[:_BEGINNING] for word in words(question)}
    dates = [column for column in columns if kind_of(column) in _DATES]
    named_dates = [
        column
        for column in dates
        if any(word[:_BEGINNING] in beginnings for word in words(column.name) - _GENERIC_DATE_WORDS)
    ]
    mentions = sum(stem(word) in _GENERIC_DATE_WORDS for word in _DATE_NOUN.findall(question.lower()))
    if not named_dates or mentions > len(named_dates):
        return columns
    return [column for column in columns if column in named_dates or column not in dates]


def _examples(catalog: Catalog, table: Table, column: Column, question: str) -> list[str]:
    """Return the stored values with which a statement may compare `column`: all of a category, else those mentioned."""
    if kind_of(column) == "n":
        return []
    distinct = column.distinct
    has_few_values = distinct is not None and 0 < distinct <= _MAX_CATEGORIES
    if has_few_values and (table.rows is None or table.rows >= _MIN_REPETITION * (distinct or 0)):
        return quotable(dict.fromkeys((*column.examples, *catalog.values.get((table.key, column.name), ()))))
    return quotable(value for value in column.examples if may_mention(value, question))


def _looks_like_dates(column: Column) -> bool:
    name = column.name if re.search(r"[a-z](At|On)$", column.name) else column.name.lower()
    return bool(_DATE_NAME.search(name)) or any(_DATE_VALUE.fullmatch(value) for value in column.examples)
