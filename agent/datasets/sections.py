"""Find rows that are no data: headings of sections above groups of rows, and notes below a table."""

import re
from collections.abc import Sequence, Set
from itertools import pairwise
from typing import NamedTuple

from datasphinx.agent.datasets.cells import STAGING, Cells
from datasphinx.agent.datasets.dataset import Warning
from datasphinx.agent.datasets.workspace import Workspace

_MAX_SHARE = 0.5
"""Maximum share of the rows that are headings."""

_MAX_FOUND = 10_000
_MAX_COLUMNS = 300
_MIN_NOTED_COLUMNS = 3
_MAX_NOTES = 400
"""Number of characters of all notes that a reader sees."""
_LONG = 60
"""Length in characters of a text that is a note, whatever it says."""

_NOTE = re.compile(r"[^\w\s]|[¹²³⁴⁵]|\d+\)|[^:：]{1,40}[:：]")
"""The start of a note below a table: a mark, a number in brackets, or words before a colon."""
_TIMES_LONGER = 2
"""A note is at least this many times as long as the longest label of the table."""


class LoneRow(NamedTuple):
    """A row of the staging table in which only the first column is filled, and its text."""

    rowid: int
    text: str


def notes_below(texts: Sequence[str]) -> Warning:
    """Return the warning about the notes below a table, which are no rows of it."""
    return Warning("notes_below", "", {"count": len(texts), "example": "; ".join(texts)[:_MAX_NOTES]})


class Sections(NamedTuple):
    """Headings of sections, in their order, and notes below the table.

    `has_own_column` is true if the other rows leave the first column blank, so that it holds the names of the sections.
    """

    headings: list[LoneRow]
    notes: list[LoneRow]
    has_own_column: bool


def find_sections(work: Workspace, columns: Sequence[Cells], merged_rows: Set[int]) -> Sections:
    """Return the headings and notes of the table; `merged_rows` are the rows with a cell merged across columns.

    Headings divide the table: the first row is one, at least two have rows below them, and these rows fill other
    columns. A single heading must be merged across columns. With two columns the labels below the headings must repeat,
    since a label without a number may be a row of the table. A row of data without values is thus kept in most tables.
    """
    if not 2 <= len(columns) <= _MAX_COLUMNS:
        return Sections([], [], False)
    first, others = columns[0], columns[1:]
    # CASE stops at the first filled cell.
    filled = " ".join(f"WHEN {cells.is_filled} THEN false" for cells in others)
    is_lone = f"CASE WHEN {first.text} IS NULL THEN false {filled} ELSE NOT coalesce({first.is_total}, false) END"
    lone = work.run(f"SELECT rowid FROM {STAGING} WHERE {is_lone} LIMIT {_MAX_FOUND + 1}")
    if not lone or len(lone) > _MAX_FOUND:
        return Sections([], [], False)
    lone_ids = [row[0] for row in lone]
    rows, unnamed = work.run(f"SELECT count(*), count(*) FILTER (NOT {first.is_filled}) FROM {STAGING}")[0]
    found = work.run(
        f"SELECT number, rowid, word FROM (SELECT rowid, {first.text} AS word, row_number() OVER (ORDER BY rowid) AS "
        f"number FROM {STAGING}) WHERE rowid IN (SELECT unnest(?::BIGINT[])) ORDER BY rowid",
        [lone_ids],
    )
    trailing = _trailing(found, rows)
    longest = work.run(
        f"SELECT max(length({first.text})) FROM {STAGING} WHERE rowid NOT IN (SELECT unnest(?::BIGINT[]))", [lone_ids]
    )[0][0]
    is_apart = trailing == len(found) and len(columns) >= _MIN_NOTED_COLUMNS
    least = min(_LONG, _TIMES_LONGER * (longest or _LONG)) if is_apart else _LONG
    notes = _notes(found[len(found) - trailing :], len(columns), least)
    if len(notes) < trailing:
        # The table ends in a row that may be one of its data.
        return Sections([], notes, False)
    found = found[: len(found) - trailing]
    rows -= trailing
    has_own_column = 0 < unnamed == rows - len(found)
    headings = [LoneRow(rowid, word) for _, rowid, word in found]
    if not found or found[0][0] != 1 or len(found) > _MAX_SHARE * rows:
        return Sections([], notes, False)
    groups = 1 + sum(number - before > 1 for before, number in pairwise(number for number, _, _ in found))
    is_marked = all(rowid in merged_rows or word[-1] in ":：" for rowid, word in headings)
    is_certain = has_own_column or is_marked
    if not is_certain and (groups < 2 or (len(columns) == 2 and not _repeats(work, first, headings))):
        return Sections([], notes, False)
    return Sections(headings, notes, has_own_column)


def fill_sections(work: Workspace, raw: str, place: int, headings: Sequence[LoneRow]) -> None:
    """Write the heading above each row into the text column `place` of the table `raw`; adjacent ones are joined."""
    names: list[str] = []
    for at, heading in enumerate(headings):
        is_below = at > 0 and heading.rowid == headings[at - 1].rowid + 1
        names.append(f"{names[-1]} / {heading.text}" if is_below else heading.text)
    work.run(
        f"UPDATE {raw} AS target SET t{place} = found.name FROM (SELECT r.rowid AS id, h.name FROM {raw} AS r "
        "ASOF JOIN (SELECT unnest(?::BIGINT[]) AS start, unnest(?::VARCHAR[]) AS name) AS h ON r.rowid >= h.start "
        "WHERE r.filled) AS found WHERE target.rowid = found.id",
        [[heading.rowid for heading in headings], names],
    )


def _trailing(found: Sequence[tuple[int, int, str]], rows: int) -> int:
    """Return how many of the rows stand at the end of the table."""
    count = 0
    while count < len(found) and found[-1 - count][0] == rows - count:
        count += 1
    return count


def _notes(rows: Sequence[tuple[int, int, str]], columns: int, least: int) -> list[LoneRow]:
    """Return the rows from the first that begins as a note does, or has at least `least` characters, on."""
    for at, (_, _, word) in enumerate(rows):
        if _NOTE.match(word) or (len(word) >= least and columns >= _MIN_NOTED_COLUMNS):
            return [LoneRow(rowid, text) for _, rowid, text in rows[at:]]
    return []


def _repeats(work: Workspace, first: Cells, headings: Sequence[LoneRow]) -> bool:
    """Return whether a label occurs below two headings."""
    return bool(
        work.run(
            f"SELECT 1 FROM (SELECT rowid, {first.text} AS word FROM {STAGING}) AS r "
            "ASOF JOIN (SELECT unnest(?::BIGINT[]) AS start) AS h ON r.rowid > h.start "
            "GROUP BY word HAVING count(DISTINCT start) > 1 LIMIT 1",
            [[heading.rowid for heading in headings]],
        )
    )
