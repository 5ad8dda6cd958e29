"""Find rows with totals: rows whose numbers add up, whatever they are called.

A sum may be chance. What speaks for a total is the number of its digits, that it is the last row, that groups with
subtotals make up the table, that its row leaves cells blank which the rows above fill, and its label.
"""

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cache
from itertools import pairwise
from typing import NamedTuple

from datasphinx.agent.datasets.cells import STAGING, count_filled, has_total_word, is_total_word
from datasphinx.agent.datasets.columns import ColumnPlan
from datasphinx.agent.datasets.periods import month_of
from datasphinx.agent.datasets.workspace import Workspace

_LABEL_PLACES = 12
"""Number of columns in which the label of a total is looked for."""
_LABEL_CHARS = 100
_MAX_NUMBERS = 20
"""Number of columns whose sums are compared."""
_MAX_CELLS = 200_000
"""Number of cells up to which subtotals are looked for; above, a total is the last row and has blank cells."""

_TOLERANCE = 1e-4
"""Maximum relative difference between a total and the sum."""
_MIN_TOLERANCE = 0.011
"""Difference that is always accepted: one unit of the second decimal."""

_MIN_ROWS = 3
"""Number of rows whose sum below them is a total if it has two digits, and is noted if it has one."""
_FEW_DIGITS, _SOME_DIGITS, _MANY_DIGITS = 1.0, 2.0, 3.0
"""Number of digits that agree in a total within the table whose label or blank cells speak for it, in a total at an end
of the table, and in any other.
"""
_NEAR = 5
"""Maximum number of rows between two totals, such as tax."""
_SPARSE = 2
"""Number of columns that such a row leaves blank although the rows of data fill them."""


class TotalRow(NamedTuple):
    """A row of the staging table that holds totals, and its label."""

    rowid: int
    label: str


class FoundTotals(NamedTuple):
    """The rows with totals and averages, the rows between totals, and those that may be totals.

    These are called a total and do not add up, or add up in so few digits that it may be chance.
    """

    totals: list[TotalRow]
    beside: list[TotalRow]
    doubtful: list[TotalRow]


@dataclass(frozen=True, slots=True)
class _Row:
    rowid: int
    filled: int
    """Number of cells that are not blank."""
    has_moment: bool
    words: tuple[str | None, ...]
    """The texts of the first columns that are no numbers."""
    numbers: tuple[float | None, ...]

    @property
    def label(self) -> str:
        return next(filter(None, self.words), "")

    @property
    def found(self) -> TotalRow:
        return TotalRow(self.rowid, self.label)


@dataclass
class _Block:
    """Rows that may add up to a total, with their sums."""

    rows: list[_Row] = field(default_factory=list)
    sums: list[float] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    """Number of numbers other than 0 in each column."""
    known: list[set[float | None]] = field(default_factory=list)
    """The numbers of each column."""

    def add(self, row: _Row) -> None:
        if not self.rows:
            self.sums, self.counts = [0.0] * len(row.numbers), [0] * len(row.numbers)
            self.known = [set() for _ in row.numbers]
        self.rows.append(row)
        for at, value in enumerate(row.numbers):
            self.known[at].add(value)
            if value:
                self.sums[at] += value
                self.counts[at] += 1

    @classmethod
    def of(cls, rows: Iterable[_Row]) -> "_Block":
        block = cls()
        for row in rows:
            block.add(row)
        return block

    @property
    def averages(self) -> list[float]:
        return [
            value / max(1, sum(row.numbers[at] is not None for row in self.rows)) for at, value in enumerate(self.sums)
        ]


def find_totals(work: Workspace, plans: Sequence[ColumnPlan], rows: int) -> FoundTotals:
    """Return the rows with totals, and those beside them, in their order; each sheet or table has its own."""
    found = FoundTotals([], [], [])
    for (part,) in work.run(f"SELECT DISTINCT part FROM {STAGING} ORDER BY part"):
        for kind, more in zip(found, _find_in_part(work, plans, rows, f"part = {part}"), strict=True):
            kind.extend(more)
    return found


def _find_in_part(work: Workspace, plans: Sequence[ColumnPlan], rows: int, where: str) -> FoundTotals:
    summed = [plan for plan in plans if plan.type.startswith(("BIGINT", "DOUBLE", "DECIMAL"))][:_MAX_NUMBERS]
    if rows * len(plans) > _MAX_CELLS:
        return _find_last(work, plans, summed, where)
    table = _read(work, plans, summed, f"{STAGING} WHERE {where}")
    search = _Search(table, summed)
    totals = search.totals()
    doubtful = [
        row.found
        for row in table
        if row.found not in totals and (is_total_word(row.label) or row.rowid in search.uncertain)
    ]
    return FoundTotals(totals, _between(table, totals), doubtful)


def _find_last(work: Workspace, plans: Sequence[ColumnPlan], summed: Sequence[ColumnPlan], where: str) -> FoundTotals:
    """Return the last row if it leaves more cells blank than the one above, and has the sums of the table."""
    last = f"(FROM {STAGING} WHERE {where} ORDER BY rowid DESC LIMIT 2)"
    *above, row = _read(work, plans, summed, last)
    if not summed or not above or row.filled >= above[0].filled or row.has_moment:
        return FoundTotals([], [], [])
    sums = ", ".join(f"coalesce(sum(CAST({plan.sql} AS DOUBLE)), 0)" for plan in summed)
    found = work.run(f"SELECT {sums} FROM {STAGING} WHERE {where} AND rowid <> ?", [row.rowid])[0]
    pairs = [(value, total) for value, total in zip(row.numbers, found, strict=True) if value]
    is_total = bool(pairs) and all(_is_close(total, value) for value, total in pairs)
    return FoundTotals([row.found] if is_total else [], [], [])


def _read(work: Workspace, plans: Sequence[ColumnPlan], summed: Sequence[ColumnPlan], source: str) -> list[_Row]:
    moments = [plan.sql for plan in plans if plan.type.startswith(("DATE", "TIME"))]
    has_moment = f"coalesce({', '.join(f'({sql})::VARCHAR' for sql in moments)}) IS NOT NULL" if moments else "false"
    words = [_word(plan, is_number=plan in summed) for plan in plans[:_LABEL_PLACES]]
    numbers = [f"CAST({plan.sql} AS DOUBLE)" for plan in summed]
    filled = count_filled(plan.cells for plan in plans)
    expressions = ", ".join(["rowid", filled, has_moment, *words, *numbers])
    found = work.run(f"SELECT {expressions} FROM {source} ORDER BY rowid")
    end = 3 + len(words)
    return [_Row(row[0], row[1], row[2], tuple(row[3:end]), tuple(row[end:])) for row in found]


def _word(plan: ColumnPlan, *, is_number: bool) -> str:
    other = f" AND ({plan.sql}) IS NULL" if is_number else ""
    text = plan.cells.text
    return f"CASE WHEN regexp_matches({text}, '\\p{{L}}'){other} THEN left({text}, {_LABEL_CHARS}) END"


class _Search:
    """The search for totals among the rows of a table."""

    def __init__(self, table: Sequence[_Row], summed: Sequence[ColumnPlan]) -> None:
        self._table = table
        self._names = {place for place, plan in enumerate(summed) if plan.cells.place == 0 and plan.type == "BIGINT"}
        """A first column of whole numbers names the rows."""
        self._places = [place for place in range(len(summed)) if place not in self._names]
        self._unit = cache(lambda place: _unit(row.numbers[place] for row in table))
        self._at = {row.rowid: at for at, row in enumerate(table)}
        self.uncertain: set[int] = set()
        """Ids of rows whose sums may be chance."""

    def totals(self) -> list[TotalRow]:
        """Return the totals: of groups above them, of groups below them, and of the table."""
        for rows, is_upwards in ((self._table, False), (self._table[::-1], True)):
            groups = self._groups(rows) or [row for row, _ in self._sums(rows, self._is_certain)]
            found = [*groups, *self._of_table(rows, groups, is_upwards=is_upwards)]
            if found:
                return sorted(row.found for row in {row.rowid: row for row in found}.values())
        return []

    def _groups(self, rows: Sequence[_Row]) -> list[_Row]:
        """Return the totals of groups that make up the table, and its own; none if there are fewer than two."""
        hits = self._sums(rows, lambda digits, row, block: True)
        is_divided = len(hits) > 1 and hits[-1][0] is rows[-1]
        is_clear = sum(digits for _, digits in hits) >= _SOME_DIGITS or all(
            has_total_word(row.label) for row, _ in hits
        )
        return [row for row, _ in hits] if is_divided and is_clear else []

    def _sums(self, rows: Sequence[_Row], accepts: Callable[[float, _Row, _Block], bool]) -> list[tuple[_Row, float]]:
        """Return the rows with the sum of the rows since the total before or of all, and the digits that agree."""
        found: list[tuple[_Row, float]] = []
        everything = block = _Block()
        for row in rows:
            # They are one until the first total.
            blocks = (block, everything) if found else (block,)
            for each in blocks:
                digits = self._digits(row, each, each.sums) if each.rows else None
                if digits is not None and accepts(digits, row, each):
                    found.append((row, digits))
                    block = _Block()
                    break
            else:
                for each in blocks:
                    each.add(row)
        return found

    def _is_certain(self, digits: float, row: _Row, block: _Block) -> bool:
        is_named, is_sparse = has_total_word(row.label), _is_sparse(row, block)
        least = _FEW_DIGITS if is_named else _SOME_DIGITS if is_sparse else _MANY_DIGITS
        return (is_named and is_sparse) or digits >= least

    def _of_table(self, rows: Sequence[_Row], groups: Sequence[_Row], *, is_upwards: bool) -> list[_Row]:
        """Return the last row, and an average beside it, if it has the sum of all rows but `groups`."""
        ids = {row.rowid for row in groups}
        data = [row for row in rows if row.rowid not in ids]
        if len(rows) > 1 and rows[-2].rowid in ids and data and data[-1] is rows[-1]:
            block = _Block.of(data[:-1])
            is_average = block.rows and self._digits(rows[-1], block, block.averages) is not None
            return [rows[-1]] if is_average else []
        blocks: dict[int, _Block] = {}
        for total, average, count in ((-1, None, 1), (-1, -2, 2), (-2, -1, 2)):
            if len(data) <= count or (not average and rows[-1].rowid in ids):
                continue
            row = data[total]
            block = blocks[count] = blocks.get(count) or _Block.of(data[:-count])
            averages = block.averages
            digits = self._digits(row, block, block.sums, averages)
            mean = data[average] if average else None
            more_digits = self._digits(mean, block, averages) if mean else 0.0
            if digits is None or more_digits is None:
                continue
            stands_out = has_total_word(row.label) or _is_sparse(row, block) or _has_own_word(row, block)
            is_below = not is_upwards and len(block.rows) >= _MIN_ROWS
            if stands_out or digits + more_digits >= _SOME_DIGITS or (is_below and self._is_long(row, block)):
                return [row, *([mean] if mean else [])]
            if is_below:
                self.uncertain.add(row.rowid)
        last = data[-1] if data else None
        if last and is_total_word(last.label) and _is_sparse(last, _Block(data[:-1])) and not is_upwards:
            return [last]
        return []

    def _is_long(self, row: _Row, block: _Block) -> bool:
        """Return whether a sum in `row` is written with at least two digits."""
        return any(
            value and _is_close(total, value) and abs(value) >= 10 * min(1.0, self._unit(place))
            for place, (value, total) in enumerate(zip(row.numbers, block.sums, strict=True))
        )

    def _digits(self, row: _Row, block: _Block, *expected: Sequence[float]) -> float | None:
        """Return how many digits of `row` agree with one of the `expected` rows.

        None if `row` is no total of `block`; more of its numbers agree with the first expected row than with none.
        """
        is_named = has_total_word(row.label)
        if not is_named and self._has_own_number(row, block):
            return None
        agreeing, digits, others = 0, 0.0, 0
        for place in self._places:
            value = row.numbers[place]
            if value is None:
                continue
            rounding = self._unit(place) * (len(block.rows) + 1) / 2
            matches = [_is_close(each[place], value, rounding) for each in expected]
            if not any(matches):
                others += 1
                if 2 * others > len(self._places):
                    return None
            elif value and (is_named or (block.counts[place] > 1 and not self._is_in_series(row, place))):
                agreeing += matches[0]
                digits += math.log10(max(1.0, abs(value) / self._unit(place)))
        if not agreeing or others > agreeing or row.has_moment or (not is_named and _is_data(row, block)):
            return None
        return digits

    def _has_own_number(self, row: _Row, block: _Block) -> bool:
        """Return whether the number that names a row is neither that of a row of `block` nor their sum."""
        return any(
            (number := row.numbers[place]) is not None
            and number not in block.known[place]
            and not _is_close(block.sums[place], number)
            for place in self._names
        )

    def _is_in_series(self, row: _Row, place: int) -> bool:
        """Return whether a number continues those above or below it with equal steps, as those of rows do."""
        at = self._at[row.rowid]
        near = [
            [each.numbers[place] for each in self._table[max(0, start) : start + 3]] for start in (at - 2, at - 1, at)
        ]
        return any(
            len(three) == 3 and None not in three and three[1] - three[0] == three[2] - three[1]  # type: ignore[operator]
            for three in near
        )


def _is_data(row: _Row, block: _Block) -> bool:
    """Return whether a row names what the rows of `block` name: another month, period or category, or nothing."""
    if _is_sparse(row, block):
        return False
    others = [{other.words[place] for other in block.rows} for place in range(len(row.words))]
    new = [word for word, known in zip(row.words, others, strict=True) if word and word not in known]
    kinds = {re.sub(r"\d+", "0", word) for known in others for word in known if word and re.search(r"\d", word)}
    months = any(month_of(word) for known in others for word in known if word)
    return all(re.sub(r"\d+", "0", word) in kinds or (months and month_of(word)) for word in new)


def _is_sparse(row: _Row, block: _Block) -> bool:
    """Return whether a row leaves more cells blank than each row of `block`."""
    return all(row.filled < other.filled for other in block.rows)


def _has_own_word(row: _Row, block: _Block) -> bool:
    """Return whether a row has a word in a column in which the rows of `block` have none, such as one of dates."""
    return any(word and all(not other.words[place] for other in block.rows) for place, word in enumerate(row.words))


def _unit(values: Iterable[float | None]) -> float:
    """Return the power of ten of which all values are multiples, as far as a double tells."""
    exponents = (Decimal(f"{value:.12g}").normalize().as_tuple().exponent for value in values if value)
    return float(10.0 ** min((each if isinstance(each, int) else 0 for each in exponents), default=0))


def _is_close(total: float, value: float, rounding: float = math.inf) -> bool:
    """Return whether two sums differ no more than by rounding, which changes them by `rounding` at most."""
    return abs(total - value) <= max(_MIN_TOLERANCE, min(rounding, _TOLERANCE * abs(value)))


def _between(table: Sequence[_Row], totals: Sequence[TotalRow]) -> list[TotalRow]:
    """Return the rows between two totals if all leave columns blank that data fills, as tax and discounts do."""
    ids = {total.rowid for total in totals}
    places = [at for at, row in enumerate(table) if row.rowid in ids]
    if not places:
        return []
    filled = sorted(row.filled for row in table[: places[0]])
    beside: list[TotalRow] = []
    for first, last in pairwise(places):
        rows = table[first + 1 : last]
        usual = filled[len(filled) // 2] if filled else 0
        if len(rows) <= _NEAR and all(row.filled <= usual - _SPARSE for row in rows):
            beside += [row.found for row in rows]
    return beside
