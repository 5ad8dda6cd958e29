"""Prompts of the embedded model, shared by training and inference.

Besides statements, the model writes query specs: JSON in one line, as defined in `training.query_specs`.
"""

import re
from collections.abc import Mapping, Sequence

from langchain_core.messages import BaseMessage
from sqlglot import exp

from datasphinx import prompts
from datasphinx.agent.embedded.compact import column_of, join_condition, keys_of, quoted
from datasphinx.agent.retrieval.linked_values import LinkedValue
from datasphinx.agent.schema.catalog import Catalog, Column, Table
from datasphinx.agent.schema.describe import one_line, prompt_line, quoted_key

_VALUE_CHARS = 16
_MAX_VALUES = 2
_MAX_DISTINCT = 20
_RELATIVE_DATE = re.compile(
    r"\b(?:today|tomorrow|yesterday|now|nowadays|currently|current|recent|recently|lately|so far|to date|ago|"
    r"(?:this|last|past|previous|next|coming) (?:\d+ |few |two |three |six |twelve )?"
    r"(?:day|week|month|quarter|year|decade|hour|monday|tuesday|wednesday|thursday|friday|saturday|sunday)s?)\b|"
    r"\b(?:сегодня\w*|завтра\w*|вчера\w*|сейчас|ныне\w*|текущ\w+|недавн\w+|назад|"
    r"(?:эт\w{1,3}|прошл\w+|последн\w+|следующ\w+|предыдущ\w+) (?:\d+ )?"
    r"(?:дн\w*|день|недел\w+|месяц\w*|квартал\w*|год\w*|лет))\b|"
    r"\b(?:heute|gestern|morgen|derzeit|aktuell\w*|kürzlich|neulich|bisher|"
    r"(?:diese|letzte|vergangene|vorige|nächste|kommende)[nrsm]? (?:\w+ )?"
    r"(?:tage?n?|woche\w*|monat\w*|quartal\w*|jahr\w*))\b|"
    r"今天|今日|明天|昨天|现在|目前|当前|最近|近期|迄今|至今|"
    r"(?:今|本|这|去|上|前|明|下)(?:个)?(?:年|月|周|季度|星期|季)|(?:过去|近)[\d一二三四五六七八九十两几]+(?:个)?(?:天|年|月|周)",
    re.IGNORECASE,
)


def describe_briefly(catalog: Catalog, selection: Mapping[str, Sequence[str]]) -> str:
    """Return one line for each table of `selection`, in the catalog's order, then the foreign keys between them.

    Names are written as in compact statements. A column is shown with its type or, if it has few distinct texts, with
    some of them. Tables that no longer exist are omitted.
    """
    tables = {key: catalog.tables[key] for key in selection if key in catalog.tables}
    lines = []
    for key, table in tables.items():
        columns = [column for column in table.columns if column.name in selection[key]]
        shown = ", ".join(f"{quoted(column.name)} {_type_or_values(table, column)}" for column in columns)
        lines.append(f"{quoted_key(table, quoted)}({shown})")
    pairs = [pair for key in tables for pair in keys_of(catalog, key) if pair.right in tables]
    joins = dict.fromkeys(join_condition(catalog, pair).sql() for pair in pairs)
    return "\n".join(map(prompt_line, [*lines, *joins]))


def _type_or_values(table: Table, column: Column) -> str:
    if table.primary_key == (column.name,):
        return "key"
    has_few_values = column.type_class == "text" and column.distinct is not None and column.distinct <= _MAX_DISTINCT
    examples = (
        [value for value in column.examples if 0 < len(value) <= _VALUE_CHARS][:_MAX_VALUES] if has_few_values else []
    )
    return " ".join("'" + one_line(value).replace("'", "''") + "'" for value in examples) or column.type_class


def statement_messages(
    catalog: Catalog,
    selection: Mapping[str, Sequence[str]],
    question: str,
    values: Sequence[LinkedValue],
    *,
    today: str | None = None,
) -> list[BaseMessage]:
    """Return the messages that ask the embedded model for a compact statement.

    Args:
        catalog: the source.
        selection: the columns shown, by table key.
        question: the question of the user.
        values: stored values that the question refers to.
        today: the date (ISO 8601), shown if the question depends on it.
    """
    return _messages("generate_sql", catalog, selection, question, values, today)


def query_spec_messages(
    catalog: Catalog, table: str, question: str, values: Sequence[LinkedValue], *, today: str | None = None
) -> list[BaseMessage]:
    """Return the messages that ask for a query spec over the table with the key `table`; see `statement_messages`."""
    return _messages("query_spec", catalog, {table: catalog.tables[table].column_names}, question, values, today)


def _messages(
    prompt: str,
    catalog: Catalog,
    selection: Mapping[str, Sequence[str]],
    question: str,
    values: Sequence[LinkedValue],
    today: str | None,
) -> list[BaseMessage]:
    links = [_condition(catalog, link) for link in values if link.table in catalog.tables]
    context = [f"values: {', '.join(links)}"] if links else []
    context += [f"today: {today}"] if today and depends_on_date(question) else []
    return prompts.render(
        prompt,
        "embedded",
        schema=describe_briefly(catalog, selection),
        question=" ".join(question.split()),
        context="".join(f"\n{line}" for line in context),
    )


def depends_on_date(question: str) -> bool:
    """Return whether the meaning of `question` depends on the date: "this year", "прошлый месяц", "今年"."""
    return _RELATIVE_DATE.search(question) is not None


def _condition(catalog: Catalog, link: LinkedValue) -> str:
    column = next((column for column in catalog.tables[link.table].columns if column.name == link.column), None)
    is_number = column is not None and column.type_class == "number"
    value = exp.Literal.number(link.value) if is_number else exp.Literal.string(" ".join(link.value.split()))
    return prompt_line(exp.EQ(this=column_of(catalog, link.table, link.column, qualified=True), expression=value).sql())
