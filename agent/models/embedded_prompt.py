"""The prompt of the embedded model, the same where it is trained and where it is asked."""

import re
from collections.abc import Iterator, Mapping, Sequence

from langchain_core.messages import BaseMessage
from sqlglot import exp

import prompts
from agent.catalog.brief import describe_briefly
from agent.catalog.describe import one_line
from agent.catalog.linked_values import LinkedValue
from agent.catalog.schema import Catalog
from agent.sql.compact_nodes import column_of

_ERROR_CHARS = 160
_NOW = re.compile(
    r"\b(?:today|tomorrow|yesterday|now|nowadays|currently|current|recent|recently|lately|so far|to date|ago|"
    r"(?:this|last|past|previous|next|coming) (?:\d+ |few |two |three |six |twelve )?"
    r"(?:day|week|month|quarter|year|decade|hour|monday|tuesday|wednesday|thursday|friday|saturday|sunday)s?)\b|"
    r"\b(?:сегодня\w*|завтра\w*|вчера\w*|сейчас|ныне\w*|текущ\w+|недавн\w+|назад|"
    r"(?:эт\w{1,3}|прошл\w+|последн\w+|следующ\w+|предыдущ\w+) (?:\d+ )?"
    r"(?:дн\w*|день|недел\w+|месяц\w*|квартал\w*|год\w*|лет))\b|"
    r"今天|今日|明天|昨天|现在|目前|当前|最近|近期|迄今|至今|"
    r"(?:今|本|这|去|上|前|明|下)(?:个)?(?:年|月|周|季度|星期|季)|(?:过去|近)[\d一二三四五六七八九十两几]+(?:个)?(?:天|年|月|周)",
    re.IGNORECASE,
)


def statement_messages(
    catalog: Catalog,
    selection: Mapping[str, Sequence[str]],
    question: str,
    values: Sequence[LinkedValue],
    *,
    today: str | None = None,
    failed: tuple[str, str] | None = None,
) -> list[BaseMessage]:
    """Return the messages that ask the embedded model for a compact statement.

    Args:
        catalog: the source.
        selection: the columns that are shown, by table key.
        question: as the user asked it.
        values: stored values that words of the question mean.
        today: the date (ISO 8601), shown where the question speaks of now.
        failed: the compact statement that was tried before, and its error.
    """
    now = today if speaks_of_now(question) else None
    links = [_condition(catalog, link) for link in values if link.table in catalog.tables]
    return prompts.render(
        "generate_sql",
        "embedded",
        schema=describe_briefly(catalog, selection),
        question=" ".join(question.split()),
        context="".join(f"\n{line}" for line in _context(links, now, failed)),
    )


def speaks_of_now(question: str) -> bool:
    """True where what `question` means depends on the day: "this year", "прошлый месяц", "今年"."""
    return _NOW.search(question) is not None


def _context(links: Sequence[str], today: str | None, failed: tuple[str, str] | None) -> Iterator[str]:
    if links:
        yield f"values: {', '.join(links)}"
    if today:
        yield f"today: {today}"
    if failed:
        yield f"failed: {' '.join(failed[0].split())}"
        yield f"error: {one_line(failed[1], _ERROR_CHARS)}"


def _condition(catalog: Catalog, link: LinkedValue) -> str:
    value = exp.Literal.string(" ".join(link.value.split()))
    return exp.EQ(this=column_of(catalog, link.table, link.column, qualified=True), expression=value).sql()
