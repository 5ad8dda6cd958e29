"""Whether the readings of a question differ in result: what is equal is one reading."""

from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass, replace

from agent.audit.step import note
from agent.catalog.describe import one_line
from agent.catalog.source import Source
from agent.clarify.types import Option, Preview
from agent.errors import (
    NotPermitted,
    PermissionDenied,
    RowRuleNotApplied,
    RowRuleParameterMissing,
    StatementError,
    StatementTimeout,
    StatementTooCostly,
    SystemCatalogRefused,
)
from agent.models.schemas import ReadingOption
from agent.sql.equal_rows import content_of, is_ordered
from agent.sql.repair import repair
from agent.sql.result import Result
from agent.sql.same import same_form

ROW_LIMIT = 200
"""Rows of a reading that are compared; of longer results it is not said that they are equal."""

_TIMEOUT_S = 5.0
_SHOWN_CHARS = 100
_REFUSALS = (
    StatementError,
    SystemCatalogRefused,
    PermissionDenied,
    NotPermitted,
    RowRuleParameterMissing,
    RowRuleNotApplied,
)
"""What is wrong with one statement, and may be right with the next."""


@dataclass(frozen=True)
class Reading:
    """An option with its statement, None where there is none, and what that leads to."""

    option: Option
    sql: str | None
    content: Hashable = None
    order: Hashable = None
    """The same with the order of its rows, where it has one."""


def distinct_readings(options: Sequence[ReadingOption], source: Source, rejected: Collection[str]) -> list[Reading]:
    """Return the readings that differ in result, with previews, in the order of `options`.

    Each statement runs through the choke point with a small limit of rows and time. One that is refused, or that names
    what is not there, is no reading of this data, nor is one of the statements that the user `rejected`. One without a
    statement, too long or too slow stands for itself. Of equal ones that with an order stands for the others.
    """
    limits = replace(source.limits, row_limit=ROW_LIMIT, timeout_s=min(source.limits.timeout_s, _TIMEOUT_S))
    quick = replace(source, limits=limits)
    found = [reading for option in options if (reading := _reading(option, quick))]
    distinct: list[Reading] = []
    for reading in sorted(found, key=lambda each: each.order is None):
        if not any(_equal(reading, other) for other in distinct):
            distinct.append(reading)
    dialect = source.catalog.dialect
    refused = {same_form(sql, dialect) for sql in rejected}
    return [each for each in found if each in distinct and not (each.sql and same_form(each.sql, dialect) in refused)]


def _reading(given: ReadingOption, source: Source) -> Reading | None:
    option = Option(label=given.label, reading=given.reading, preview=None)
    if not given.sql:
        return Reading(option, None)
    mended = repair(given.sql, source.catalog)
    sql = mended.sql if mended else given.sql
    try:
        result = source.execute(sql)
    except (StatementTimeout, StatementTooCostly):
        return Reading(option, sql)
    except _REFUSALS as error:
        note(f"left out the reading {given.label!r}: {error}")
        return None
    seen = Reading(Option(label=given.label, reading=given.reading, preview=_preview(result)), sql)
    if result["truncated"]:
        return seen
    order = content_of(result, ordered=True) if is_ordered(sql, source.catalog.dialect) else None
    return replace(seen, content=content_of(result, ordered=False), order=order)


def _equal(one: Reading, other: Reading) -> bool:
    if one.content is None or one.content != other.content:
        return False
    return one.order is None or other.order is None or one.order == other.order


def _preview(result: Result) -> Preview:
    rows = result["rows"]
    # The preview is on the record, and an oracle may read it.
    is_secret = 0 in result.get("secret", ())
    first = rows[0][0] if rows and rows[0] and not is_secret else None
    shown = one_line(first, _SHOWN_CHARS) if isinstance(first, str) else first
    return Preview(rows=len(rows), more=result["truncated"], first=shown)
