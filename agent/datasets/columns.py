"""Infer the type of each column: candidates from a sample of rows, the decision from all rows."""

from collections import ChainMap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, NamedTuple

from agent.datasets import dates, months, numbers
from agent.datasets.cells import STAGING, Cells, Layer, PendingWarning, Plan, select_layers
from agent.datasets.dataset import Warning
from agent.datasets.workspace import Workspace

_SAMPLE_ROWS = 20_000
_SAMPLE = "scratch.sample"
_FITTING = 0.9
"""Minimum share of cells that fit the type; the others become NULL."""

_NOTEWORTHY = 0.5
_EXAMPLES = 3
_MAX_EXAMPLE = 40


@dataclass(frozen=True)
class ColumnPlan:
    """A column of the dataset: its cells, their conversion, and the decimal mark if a cell shows one.

    `source` is the subquery that selects single cells.
    """

    cells: Cells
    plan: Plan
    filled: int
    source: str
    mark: numbers.Mark | None = None


Counts = Mapping[str, int]


class _ColumnCounts(NamedTuple):
    """The counts for a column, its candidate type `kind`, and the subquery that selects its cells."""

    cells: Cells
    kind: str
    counts: Counts
    source: str


class _CountQuery(NamedTuple):
    """SQL conditions to count for a column, and the layers they use."""

    layers: tuple[Layer, ...]
    conditions: dict[str, str]


def _single_notation(cells: Cells) -> dict[str, str]:
    """Return the conditions for types with only one notation."""
    clock = rf"regexp_full_match({cells.trimmed}, '\d{{1,2}}:\d{{2}}(:\d{{2}}(\.\d+)?)?')"
    return {
        "boolean": f"lower({cells.trimmed}) IN ('true', 'false')",
        "time": f"{clock} AND TRY_CAST({cells.trimmed} AS TIME) IS NOT NULL",
        "interval": rf"regexp_full_match({cells.value}, '\d+:\d{{2}}:\d{{2}}')",
    }


def _filled(cells: Cells) -> str:
    return f"{cells.original} IS NOT NULL"


def _basics(cells: Cells) -> dict[str, str]:
    return {"filled": _filled(cells), "missing": cells.is_missing_marker}


def _sample_query(cells: Cells) -> _CountQuery:
    above = len(cells.base)
    empty: Layer = {}
    layers_by_type = [kind.layers(cells)[above:] for kind in (numbers, dates, months)]
    layers = tuple(dict(ChainMap(*level)) for level in zip_longest(*layers_by_type, fillvalue=empty))
    marks = {"fits_dot": numbers.fits(cells, "."), "fits_comma": numbers.fits(cells, ",")}
    conditions = {
        **_basics(cells),
        **marks,
        **dates.sample_conditions(cells),
        **months.count_conditions(cells),
        **_single_notation(cells),
    }
    return _CountQuery((*cells.base, *layers), conditions)


_FULL_QUERY: dict[str, Callable[[Cells], _CountQuery]] = {
    "number": lambda cells: _CountQuery(numbers.layers(cells), {**_basics(cells), **numbers.count_conditions(cells)}),
    "date": lambda cells: _CountQuery(dates.layers(cells), {**_basics(cells), **dates.count_conditions(cells)}),
    "month": lambda cells: _CountQuery(months.layers(cells), {**_basics(cells), **months.count_conditions(cells)}),
    "simple": lambda cells: _CountQuery(cells.base, {**_basics(cells), **_single_notation(cells)}),
    "text": lambda cells: _CountQuery(cells.base, {"filled": _filled(cells)}),
}


def infer_columns(
    work: Workspace, columns: Sequence[Cells], names: Sequence[str], rows: int, usual: numbers.Mark
) -> list[ColumnPlan]:
    """Return the type of each column; `usual` is the decimal mark to use if no cell of the file shows one.

    Raises:
        FileTooLarge: The data does not fit into memory.
    """
    step = max(1, rows // _SAMPLE_ROWS)
    work.run(f"CREATE TABLE {_SAMPLE} AS SELECT * FROM {STAGING} WHERE rowid % {step} = 0")
    counts = []
    for at, (cells, name) in enumerate(zip(columns, names, strict=True)):
        sampled = _count(work, _sample_query(cells), cells.distinct(_SAMPLE, repeats=True))
        kind = _candidate(sampled, name)
        source = cells.distinct(STAGING, repeats=2 * sampled["distinct"] <= sampled["cells"])
        stage = ("examine", at / len(columns), (at + 1) / len(columns))
        counts.append(_ColumnCounts(cells, kind, _count(work, _FULL_QUERY[kind](cells), source, stage), source))
    marks = [numbers.decimal_mark(column.counts) for column in counts if column.kind == "number"]
    dots, commas = marks.count("."), marks.count(",")
    mark = usual if dots == commas else "." if dots > commas else ","
    return [_decide(column, name, mark) for column, name in zip(counts, names, strict=True)]


def _count(work: Workspace, look: _CountQuery, source: str, stage: tuple[str, float, float] | None = None) -> Counts:
    sums = [f"coalesce(sum(n) FILTER ({sql}), 0)" for sql in look.conditions.values()]
    sums += ["count(*)", "coalesce(sum(n), 0)"]
    row = work.run(f"SELECT {', '.join(sums)} FROM {select_layers([look.layers], source)}", stage=stage)[0]
    return dict(zip([*look.conditions, "distinct", "cells"], map(int, row), strict=True))


def _candidate(counts: Counts, name: str) -> str:
    """Return the type that most cells of the sample fit; text if fewer than half of them fit any type."""
    filled = counts["filled"] - counts["missing"]
    fitting = {
        "month": months.count_fitting(counts, filled),
        "date": dates.count_fitting(counts, name, filled),
        "number": max(counts["fits_dot"], counts["fits_comma"]),
        "simple": max(counts["boolean"], counts["time"], counts["interval"]),
    }
    best = max(fitting, key=lambda kind: fitting[kind])
    return best if fitting[best] and fitting[best] >= _NOTEWORTHY * filled else "text"


def _decide(column: _ColumnCounts, name: str, usual: numbers.Mark) -> ColumnPlan:
    cells, kind, counts, source = column
    filled, mark = counts["filled"], None
    expected = filled - counts.get("missing", 0)
    if kind == "number":
        plan, mark = numbers.plan(cells, counts, usual), numbers.decimal_mark(counts)
        codes = numbers.codes(cells, counts)
        if codes:
            return _text(column, codes)
    elif kind == "date":
        plan = dates.plan(cells, counts, name, expected)
    elif kind == "month":
        plan = months.plan(cells, counts, expected)
    elif kind == "simple":
        type_name = max(("boolean", "time", "interval"), key=lambda name: counts[name])
        sql = f"TRY_CAST({cells.trimmed} AS {type_name.upper()})"
        plan = Plan(cells.base, sql, type_name.upper(), counts[type_name])
    else:
        return _text(column)
    if plan.fits < _FITTING * expected:
        mixed = PendingWarning("mixed", {"count": plan.fits, "filled": filled, "type": plan.type})
        return _text(column, mixed)
    return ColumnPlan(cells, plan, filled, source, mark)


def _text(column: _ColumnCounts, *pending: PendingWarning) -> ColumnPlan:
    cells, filled = column.cells, column.counts["filled"]
    return ColumnPlan(cells, Plan(cells.base, cells.original, "VARCHAR", filled, pending), filled, column.source)


def warnings_of(work: Workspace, column: ColumnPlan, name: str) -> list[Warning]:
    """Return the warnings about a column, with some of its cells as examples."""
    plan, cells = column.plan, column.cells
    pending = list(plan.pending)
    if not column.filled:
        return [Warning("no_values", name)]
    if plan.fits < column.filled:
        facts = {"count": column.filled - plan.fits, "type": plan.type}
        pending.append(PendingWarning("misfits", facts, f"{cells.original} IS NOT NULL AND {plan.sql} IS NULL"))
    return [Warning(pending_warning.code, name, _facts(work, column, pending_warning)) for pending_warning in pending]


def _facts(work: Workspace, column: ColumnPlan, pending_warning: PendingWarning) -> dict[str, Any]:
    if not pending_warning.where:
        return dict(pending_warning.facts)
    original = column.cells.original
    sql = (
        f"SELECT {original} FROM {select_layers([column.plan.layers], column.source)} WHERE {pending_warning.where} "
        f"GROUP BY {original} ORDER BY min(rowid) LIMIT {_EXAMPLES}"
    )
    examples = [str(row[0])[:_MAX_EXAMPLE] for row in work.run(sql)]
    return {**pending_warning.facts, "example": examples[0] if examples else "", "examples": "; ".join(examples)}
