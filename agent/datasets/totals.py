"""Find rows with totals and subtotals: by their labels, and by adding up the rows above or below them."""

from collections.abc import Sequence
from itertools import accumulate, takewhile
from typing import Any, NamedTuple

from datasphinx.agent.datasets.cells import STAGING, Cells, select_layers
from datasphinx.agent.datasets.columns import ColumnPlan
from datasphinx.agent.datasets.periods import month_of
from datasphinx.agent.datasets.workspace import Workspace

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

_MAX_UNLABELLED = 0.5
"""Maximum share of rows with numbers only that may be totals."""

_MAX_PERIODS = 200
_USUAL_ROWS = 1000

_AVERAGES = r"(?i)(average|avg\.?|mean|среднее|в среднем|平均|平均值|均值)\s*[:：]?"


_NEAR = 5
"""Maximum number of rows beside a total, such as tax."""

_SPARSE = 2
"""Number of columns that such a row leaves blank although the rows above fill them."""

_BESIDE = (
    r"(?i)((sales )?tax(es)?|vat|gst|hst|pst|shipping|freight|delivery|handling|postage|discount|rounding|tips?|"
    r"gratuity|service (charge|fee)|deposit|prepayment|(amount |already )?paid|(balance|amount|total)? ?due|less|incl|"
    r"including|of which|(в т\. ?ч\.|в том числе|без) .*|ндс|налог.*|доставка|скидка|наценка|округление|аванс|"
    r"предоплата|(всего )?к оплате|оплачено|чаевые|(其中|含).*|增值税|税额|税费|税金|运费|折扣|优惠|手续费|服务费|"
    r"应付.*|已付.*|订金|定金)"
    r"([\s:：.(（%\d].*)?"
)
"""The label of a row beside a total that is neither a total nor data: tax, shipping, a discount."""

_COARSE = (
    r"(?i)(за )?(q[1-4]|[1-4] ?кв(артал|\.)?|[1-4]-?[йя]? квартал|(i{1,3}|iv) ?(кв(артал|\.)?|quarter)|"
    r"第?[一二三四1-4]季度?|h[12]|half.year|[12]-?е? ?полугодие|上半年|下半年|(full )?year|год|全年|9 месяцев|ytd)"
    r"( ?(19|20)\d\d.*)?"
)
"""A period longer than a month."""

_MIN_MONTHS = 3


class TotalRow(NamedTuple):
    """A row of the staging table that holds totals, and its label."""

    rowid: int
    label: str


class _Candidate(NamedTuple):
    rowid: int
    label: str
    place: int
    """The column of the label, from 0."""
    is_certain: bool
    numbers: list[float | None]

    @property
    def has_number(self) -> bool:
        return any(value is not None for value in self.numbers)


def find_totals(work: Workspace, plans: Sequence[ColumnPlan], rows: int) -> list[TotalRow]:
    """Return the rows with totals, in their order.

    A row whose label is a word for a total is one, unless such rows are frequent and do not add up. A row whose label
    only contains the word, or a last row without a label, has to add up.
    """
    summed = [plan for plan in plans if plan.plan.type.startswith(("BIGINT", "DOUBLE", "DECIMAL"))][:_MAX_NUMBERS]
    columns = [plan.cells for plan in plans]
    candidates = _candidates(work, columns, summed, rows)
    if not candidates:
        return []
    sums, counts = _sums_between(work, candidates, summed)
    verified = {at for at, candidate in enumerate(candidates) if _adds_up(at, candidate, sums, counts)}
    unlabelled = {at for at, candidate in enumerate(candidates) if not candidate.label}
    if len(unlabelled) > 1 and not unlabelled <= verified:
        verified -= unlabelled
    labelled = [at for at, item in enumerate(candidates) if item.is_certain and at not in verified]
    if len(labelled) <= max(_MIN_ROWS, _MAX_UNVERIFIED * rows):
        # Where the label stands among numbers, such as ids, its row is no data even without a number of its own.
        numeric = {plan.cells.place for plan in summed}
        verified |= {
            at for at in labelled if candidates[at].has_number or not summed or candidates[at].place in numeric
        }
    totals = [TotalRow(candidates[at].rowid, candidates[at].label) for at in sorted(verified)]
    return sorted({*totals, *_averages(work, columns, totals)}) if totals else []


def _candidates(work: Workspace, columns: Sequence[Cells], summed: Sequence[ColumnPlan], rows: int) -> list[_Candidate]:
    labels = " UNION ALL ".join(
        f"SELECT rowid, {cells.place} AS place, {cells.text} AS word, coalesce({cells.is_total}, false) AS certain "
        f"FROM {select_layers([cells.base])} "
        f"WHERE ({cells.is_total} OR {cells.may_be_total}){_after_blanks(columns, at)}"
        for at, cells in enumerate(columns[:_INDENTED_PLACES])
    )
    if periods := _coarse_periods(work, columns[0]):
        labels += f" UNION ALL {periods}"
    found = work.run(
        f"SELECT rowid, min_by(word, place), min(place), bool_or(certain) FROM ({labels}) "
        f"GROUP BY rowid ORDER BY rowid LIMIT {_MAX_CANDIDATES + 1}"
    )
    if len(found) > _MAX_CANDIDATES:
        return []
    blank = _unlabelled(work, columns, summed) if summed and rows > _MIN_ROWS else []
    last = work.run(f"SELECT max(rowid) FROM {STAGING}")[0][0]
    if found or len(blank) > _MAX_UNLABELLED * rows:
        # A blank label may also mean the value above.
        blank = [rowid for rowid in blank if rowid == last]
    known = {row[0] for row in found}
    found += [(rowid, "", 0, False) for rowid in blank if rowid not in known]
    work.run("CREATE OR REPLACE TABLE scratch.totals AS SELECT unnest(?::BIGINT[]) AS id", [[row[0] for row in found]])
    values = {row[0]: list(row[1:]) for row in work.run(_values(summed, "rowid IN (FROM scratch.totals)"))}
    return [_Candidate(rowid, label, place, certain, values[rowid]) for rowid, label, place, certain in sorted(found)]


def _coarse_periods(work: Workspace, first: Cells) -> str:
    """Return a query of the rows for quarters and years among rows for months, if the first column holds such names."""
    source = select_layers([first.base])
    words = work.run(f"SELECT DISTINCT {first.text} FROM {source} WHERE {first.text} IS NOT NULL LIMIT {_MAX_PERIODS}")
    if sum(month_of(word) is not None for (word,) in words) < _MIN_MONTHS:
        return ""
    return (
        f"SELECT rowid, {first.place} AS place, {first.text} AS word, false AS certain FROM {source} "
        f"WHERE regexp_full_match({first.text}, '{_COARSE}')"
    )


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


def _unlabelled(work: Workspace, columns: Sequence[Cells], summed: Sequence[ColumnPlan]) -> list[int]:
    """Return the rows with numbers only, if other rows have words."""
    places = {plan.cells.place for plan in summed}
    words = [cells.is_filled for cells in columns if cells.place not in places]
    if not words:
        return []
    # CASE stops at the first filled cell.
    is_blank = f"CASE {' '.join(f'WHEN {condition} THEN false' for condition in words)} ELSE true END"
    found = work.run(f"SELECT rowid FROM {STAGING} WHERE {is_blank} ORDER BY rowid DESC LIMIT {_MAX_CANDIDATES}")
    return sorted(row[0] for row in found)


def _sums_between(
    work: Workspace, candidates: Sequence[_Candidate], summed: Sequence[ColumnPlan]
) -> tuple[list[list[float]], list[int]]:
    """Return the sums and the number of the rows before each candidate and after the one before it, and after all."""
    ids = [candidate.rowid for candidate in candidates]
    work.run(
        "CREATE OR REPLACE TABLE scratch.totals AS SELECT id, row_number() OVER (ORDER BY id) AS part "
        "FROM (SELECT unnest(?::BIGINT[]) AS id)",
        [ids],
    )
    sums = "".join(f", coalesce(sum(n{at}), 0)" for at in range(len(summed)))
    rows = _values(summed, "rowid NOT IN (SELECT id FROM scratch.totals)")
    found = work.run(
        f"SELECT coalesce(c.part, 0) AS segment, count(*){sums} FROM ({rows}) AS r "
        "ASOF LEFT JOIN scratch.totals AS c ON r.rowid >= c.id GROUP BY segment"
    )
    by_part: dict[int, list[float]] = {int(row[0]): list(row[2:]) for row in found}
    counts = {int(row[0]): int(row[1]) for row in found}
    nothing = [0.0] * len(summed)
    parts = range(len(candidates) + 1)
    return [by_part.get(part, nothing) for part in parts], [counts.get(part, 0) for part in parts]


def _adds_up(at: int, candidate: _Candidate, sums: Sequence[list[float]], counts: Sequence[int]) -> bool:
    """Return whether a number of the row is the sum of rows next to it: of one part, of several, or of all.

    A row without a label has to hold the sum of all rows, or in each column that of at least two rows above.
    """
    if not candidate.label and counts[at] > 1:
        pairs = [(value, sums[at][place]) for place, value in enumerate(candidate.numbers) if value]
        if pairs and all(_is_close(total, value) for value, total in pairs):
            return True
    for place, value in enumerate(candidate.numbers):
        if not value:
            continue
        near = [sum(part[place] for part in sums)]
        if candidate.label:
            near += accumulate(part[place] for part in reversed(sums[max(0, at - _MAX_PARTS) : at + 1]))
            near += accumulate(part[place] for part in sums[at + 1 : at + 1 + _MAX_PARTS])
        if any(_is_close(each, value) for each in near):
            return True
    return False


def _is_close(total: float, value: float) -> bool:
    return abs(total - value) <= max(_MIN_TOLERANCE, _TOLERANCE * abs(value))


def find_beside_totals(work: Workspace, plans: Sequence[ColumnPlan], totals: Sequence[TotalRow]) -> list[TotalRow]:
    """Return rows beside totals that are neither totals nor data, such as tax, shipping and discounts of an invoice.

    Between two totals, all rows have to be named so or leave columns blank that data fills; elsewhere, both.
    """
    if not 0 < len(totals) <= _MAX_CANDIDATES or len(plans) > _MAX_NUMBERS:
        return []
    ids = [total.rowid for total in totals]
    cells = [plan.cells for plan in plans]
    filled = " + ".join(f"coalesce({each.is_filled}, false)::INT" for each in cells)
    words = ", ".join(each.text for each in cells[:_INDENTED_PLACES])
    is_named = " OR ".join(
        f"coalesce(regexp_full_match({each.text}, '{_BESIDE}'), false)" for each in cells[:_INDENTED_PLACES]
    )
    bases = select_layers([each.base for each in cells[:_INDENTED_PLACES]])
    usual = work.run(
        f"SELECT median(filled) FROM (SELECT {filled} AS filled FROM {STAGING} WHERE rowid < ? LIMIT {_USUAL_ROWS})",
        [ids[0]],
    )[0][0]
    near = work.run(
        f"SELECT rowid, coalesce({words}), {is_named}, {filled} FROM {bases} WHERE rowid IN ("
        "SELECT DISTINCT unnest(range(id - ?, id + ? + 1)) FROM (SELECT unnest(?::BIGINT[]) AS id)) ORDER BY rowid",
        [2 * _NEAR, 2 * _NEAR, ids],
    )
    if usual is None:
        return []
    beside: list[TotalRow] = []
    run: list[tuple[TotalRow, bool, bool]] = []
    is_below = False
    for rowid, word, named, count in [*near, (None, "", False, 0)]:
        if rowid is not None and rowid not in ids:
            run.append((TotalRow(rowid, word or ""), named, count <= usual - _SPARSE))
            continue
        if is_below and rowid is not None and len(run) <= _NEAR and all(named or sparse for _, named, sparse in run):
            beside += [row for row, _, _ in run]
        else:
            below = takewhile(lambda item: item[1] and item[2], run if is_below else [])
            above = takewhile(lambda item: item[1] and item[2], reversed(run) if rowid is not None else [])
            beside += {row for row, _, _ in [*below, *above]}
        run, is_below = [], True
    return sorted(beside)


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
