"""Find rows with totals and subtotals: by their labels, and by adding up the rows above or below them."""

from collections.abc import Sequence
from itertools import accumulate
from typing import Any, NamedTuple

from agent.datasets.cells import STAGING, Cells, select_layers
from agent.datasets.columns import ColumnPlan
from agent.datasets.workspace import Workspace

_LABEL_PLACES = 3
"""The label of a totals row is in one of the first columns, or is the first cell of its row."""

_INDENTED_PLACES = 12
"""Number of columns in which the first cell of a row may be a label."""

_MAX_CANDIDATES = 10_000
_MAX_NUMBERS = 60
_TOLERANCE = 1e-4
"""Maximum relative difference between a total and the sum."""

_MIN_TOLERANCE = 0.011
"""Difference that is always accepted: one unit of the second decimal."""

_MAX_UNVERIFIED = 0.2
"""Maximum share of the rows that count as totals by their label alone."""

_MAX_PARTS = 50
"""Maximum number of parts, between two candidates, whose sum is a total."""

_MIN_ROWS = 3
"""Minimum number of rows above a total without a label."""

_AVERAGES = r"(?i)(average|avg\.?|mean|среднее|в среднем|平均|平均值|均值)\s*[:：]?"


class TotalRow(NamedTuple):
    """A row of the staging table that holds totals, and its label."""

    rowid: int
    label: str


class _Candidate(NamedTuple):
    rowid: int
    label: str
    is_certain: bool
    numbers: list[float | None]


def find_totals(work: Workspace, plans: Sequence[ColumnPlan], rows: int) -> list[TotalRow]:
    """Return the rows with totals, in their order.

    A row whose label is a word for a total is one, unless such rows are frequent and do not add up. A row whose label
    only contains the word, or a last row without a label, has to add up.
    """
    summed = [plan for plan in plans if plan.plan.type in ("BIGINT", "DOUBLE")][:_MAX_NUMBERS]
    columns = [plan.cells for plan in plans]
    candidates = _candidates(work, columns, summed, rows)
    if not candidates:
        return []
    sums = _sums_between(work, candidates, summed)
    verified = {at for at, candidate in enumerate(candidates) if _adds_up(at, candidate, sums)}
    labelled = [at for at, item in enumerate(candidates) if item.is_certain and at not in verified]
    if len(labelled) <= max(_MIN_ROWS, _MAX_UNVERIFIED * rows):
        verified |= {at for at in labelled if any(value is not None for value in candidates[at].numbers) or not summed}
    totals = [TotalRow(candidates[at].rowid, candidates[at].label) for at in sorted(verified)]
    return sorted({*totals, *_averages(work, columns, totals)}) if totals else []


def _candidates(work: Workspace, columns: Sequence[Cells], summed: Sequence[ColumnPlan], rows: int) -> list[_Candidate]:
    labels = " UNION ALL ".join(
        f"SELECT rowid, {cells.place} AS place, {cells.text} AS word, coalesce({cells.is_total}, false) AS certain "
        f"FROM {select_layers([cells.base])} "
        f"WHERE ({cells.is_total} OR {cells.may_be_total}){_after_blanks(columns, at)}"
        for at, cells in enumerate(columns[:_INDENTED_PLACES])
    )
    found = work.run(
        f"SELECT rowid, min_by(word, place), bool_or(certain) FROM ({labels}) GROUP BY rowid ORDER BY rowid "
        f"LIMIT {_MAX_CANDIDATES + 1}"
    )
    if len(found) > _MAX_CANDIDATES:
        return []
    last = work.run(f"SELECT max(rowid) FROM {STAGING}")[0][0]
    if rows > _MIN_ROWS and summed and last not in {row[0] for row in found}:
        found.append((last, "", False))
    work.run("CREATE OR REPLACE TABLE scratch.totals AS SELECT unnest(?::BIGINT[]) AS id", [[row[0] for row in found]])
    values = {row[0]: list(row[1:]) for row in work.run(_values(summed, "rowid IN (FROM scratch.totals)"))}
    is_blank = _has_blank_labels(work, columns, summed, last)
    return [_Candidate(rowid, label, certain, values[rowid]) for rowid, label, certain in found if label or is_blank]


def _after_blanks(columns: Sequence[Cells], at: int) -> str:
    """Return the condition that all cells before a column are blank, for a column that is not one of the first."""
    if at < _LABEL_PLACES:
        return ""
    filled = " OR ".join(f"coalesce({cells.is_filled}, false)" for cells in columns[:at])
    return f" AND NOT ({filled})"


def _values(summed: Sequence[ColumnPlan], where: str) -> str:
    expressions = "".join(f", CAST({plan.plan.sql} AS DOUBLE) AS n{at}" for at, plan in enumerate(summed))
    source = select_layers([plan.plan.layers for plan in summed], f"(SELECT * FROM {STAGING} WHERE {where})")
    return f"SELECT rowid{expressions} FROM {source} ORDER BY rowid"


def _has_blank_labels(work: Workspace, columns: Sequence[Cells], summed: Sequence[ColumnPlan], last: int) -> bool:
    """Return whether the last row has no cell outside of the columns of numbers, though other rows have."""
    places = {plan.cells.place for plan in summed}
    words = [cells.is_filled for cells in columns if cells.place not in places]
    if not words:
        return False
    filled = " OR ".join(f"coalesce({condition}, false)" for condition in words)
    return not work.run(f"SELECT {filled} FROM {STAGING} WHERE rowid = ?", [last])[0][0]


def _sums_between(work: Workspace, candidates: Sequence[_Candidate], summed: Sequence[ColumnPlan]) -> list[list[float]]:
    """Return the sums of the rows before each candidate and after the one before it, and after the last."""
    ids = [candidate.rowid for candidate in candidates]
    work.run(
        "CREATE OR REPLACE TABLE scratch.totals AS SELECT id, row_number() OVER (ORDER BY id) AS part "
        "FROM (SELECT unnest(?::BIGINT[]) AS id)",
        [ids],
    )
    sums = "".join(f", coalesce(sum(n{at}), 0)" for at in range(len(summed)))
    rows = _values(summed, "rowid NOT IN (SELECT id FROM scratch.totals)")
    found = work.run(
        f"SELECT coalesce(c.part, 0) AS segment{sums} FROM ({rows}) AS r "
        "ASOF LEFT JOIN scratch.totals AS c ON r.rowid >= c.id GROUP BY segment"
    )
    by_part: dict[int, list[float]] = {int(row[0]): list(row[1:]) for row in found}
    nothing = [0.0] * len(summed)
    return [by_part.get(part, nothing) for part in range(len(candidates) + 1)]


def _adds_up(at: int, candidate: _Candidate, sums: Sequence[list[float]]) -> bool:
    """Return whether a number of the row is the sum of rows next to it: of one part, of several, or of all.

    A row without a label has to hold the sum of all rows.
    """
    for place, value in enumerate(candidate.numbers):
        if not value:
            continue
        near = [sum(part[place] for part in sums)]
        if candidate.label:
            near += accumulate(part[place] for part in reversed(sums[max(0, at - _MAX_PARTS) : at + 1]))
            near += accumulate(part[place] for part in sums[at + 1 : at + 1 + _MAX_PARTS])
        if any(abs(each - value) <= max(_MIN_TOLERANCE, _TOLERANCE * abs(value)) for each in near):
            return True
    return False


def _averages(work: Workspace, columns: Sequence[Cells], totals: Sequence[TotalRow]) -> list[TotalRow]:
    """Return the rows of averages directly above or below a total."""
    labels = " UNION ALL ".join(
        f"SELECT rowid, {cells.text} AS word FROM {select_layers([cells.base])} "
        f"WHERE CASE WHEN {cells.text} >= 'A' THEN regexp_full_match({cells.text}, '{_AVERAGES}') END"
        for cells in columns[:_LABEL_PLACES]
    )
    found: list[Any] = work.run(f"SELECT rowid, min(word) FROM ({labels}) GROUP BY rowid LIMIT {_MAX_CANDIDATES}")
    rowids = {total.rowid for total in totals}
    return [TotalRow(rowid, word) for rowid, word in found if {rowid - 1, rowid + 1} & rowids]
