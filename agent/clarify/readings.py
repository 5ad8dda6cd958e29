"""Whether the readings of a question differ in result: what is equal is one reading."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

from agent.audit.step import note
from agent.catalog.source import Source
from agent.clarify.types import Option, Preview
from agent.errors import StatementError, StatementTimeout, StatementTooCostly
from agent.models.schemas import ReadingOption
from agent.sql.equal_rows import content_of, is_ordered
from agent.sql.repair import repair
from agent.sql.result import Result

ROW_LIMIT = 200
"""Rows of a reading that are compared; of longer results it is not said that they are equal."""

_TIMEOUT_S = 5.0


@dataclass(frozen=True)
class Reading:
    """An option with its statement, None where there is none, and what that leads to."""

    option: Option
    sql: str | None
    content: Hashable = None


def distinct_readings(options: Sequence[ReadingOption], source: Source) -> list[Reading]:
    """Return the readings that differ in result, with previews, in the order of `options`.

    Each statement runs through the choke point with a small limit of rows and time. One that is refused, or that names
    what is not there, is no reading of this data. One without a statement, too long or too slow stands for itself.
    """
    limits = replace(source.limits, row_limit=ROW_LIMIT, timeout_s=min(source.limits.timeout_s, _TIMEOUT_S))
    quick = replace(source, limits=limits)
    readings: list[Reading] = []
    for option in options:
        reading = _reading(option, quick)
        if reading and not any(_equal(reading, other) for other in readings):
            readings.append(reading)
    return readings


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
    except StatementError as error:
        note(f"left out the reading {given.label!r}: {error}")
        return None
    content = None if result["truncated"] else content_of(result, ordered=is_ordered(sql, source.catalog.dialect))
    return Reading(Option(label=given.label, reading=given.reading, preview=_preview(result)), sql, content)


def _equal(one: Reading, other: Reading) -> bool:
    return one.content is not None and one.content == other.content


def _preview(result: Result) -> Preview:
    rows = result["rows"]
    return Preview(rows=len(rows), more=result["truncated"], first=rows[0][0] if rows and rows[0] else None)
