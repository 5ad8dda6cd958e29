"""What type each column has: candidates by a sample of rows, the decision by all of them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agent.datasets import dates, numbers
from agent.datasets.cells import STAGING, Cells, Plan, Remark
from agent.datasets.dataset import Warning
from agent.datasets.workspace import Workspace

_SAMPLE_ROWS = 20_000
_AT_ONCE = 50
_FITTING = 0.9
"""Share of the cells that have to fit a type; the others become NULL."""

_NOTEWORTHY = 0.5
_EXAMPLES = 3
_MAX_EXAMPLE = 40


@dataclass(frozen=True)
class ColumnPlan:
    """A column of the dataset: where its cells are, what they become, and its decimal mark where cells show one."""

    cells: Cells
    plan: Plan
    filled: int
    mark: numbers.Mark | None = None


Counts = Mapping[str, int]
_Count = Callable[[Cells], dict[str, str]]


def _simple(cells: Cells) -> dict[str, str]:
    """Return what is counted for types that are written in one way only."""
    clock = rf"regexp_full_match(coalesce({cells.value}, {cells.text}), '\d{{1,2}}:\d{{2}}(:\d{{2}}(\.\d+)?)?')"
    return {
        "boolean": f"lower(coalesce({cells.value}, {cells.text})) IN ('true', 'false')",
        "time": f"{clock} AND TRY_CAST(coalesce({cells.value}, {cells.text}) AS TIME) IS NOT NULL",
        "interval": rf"regexp_full_match({cells.value}, '\d+:\d{{2}}:\d{{2}}')",
    }


def _first_look(cells: Cells) -> dict[str, str]:
    return {
        "filled": cells.is_filled,
        "nothing": cells.is_nothing,
        "fits_dot": numbers.fits(cells, "."),
        "fits_comma": numbers.fits(cells, ","),
        "fits_day": dates.fits(cells, "day"),
        "fits_month": dates.fits(cells, "month"),
        "serial": dates.is_serial(cells),
        **_simple(cells),
    }


def _basics(cells: Cells) -> dict[str, str]:
    return {"filled": cells.is_filled, "nothing": cells.is_nothing}


_CLOSER: dict[str, _Count] = {
    "number": lambda cells: {**_basics(cells), **numbers.counters(cells)},
    "date": lambda cells: {**_basics(cells), **dates.counters(cells)},
    "simple": lambda cells: {**_basics(cells), **_simple(cells)},
    "text": _basics,
}


def examine(
    work: Workspace, columns: Sequence[Cells], names: Sequence[str], rows: int, usual: numbers.Mark
) -> list[ColumnPlan]:
    """Return what each column becomes; `usual` is the decimal mark where no cell of the file shows one.

    Raises:
        FileTooLarge: it does not fit into memory.
    """
    step = max(1, rows // _SAMPLE_ROWS)
    sampled = _count(work, columns, [_first_look] * len(columns), f"WHERE rowid % {step} = 0")
    kinds = [_candidate(counts, name) for counts, name in zip(sampled, names, strict=True)]
    counted = _count(work, columns, [_CLOSER[kind] for kind in kinds], "", ("examine", 0.0, 1.0))
    usual = _usual_mark(kinds, counted, usual)
    return [
        _decide(cells, kind, counts, name, usual)
        for cells, kind, counts, name in zip(columns, kinds, counted, names, strict=True)
    ]


def _count(
    work: Workspace,
    columns: Sequence[Cells],
    conditions: Sequence[_Count],
    where: str,
    stage: tuple[str, float, float] | None = None,
) -> list[Counts]:
    found: list[Counts] = []
    for start in range(0, len(columns), _AT_ONCE):
        some = [count(cells) for count, cells in zip(conditions, columns, strict=True)][start : start + _AT_ONCE]
        wanted = ", ".join(f"count(*) FILTER ({sql})" for each in some for sql in each.values())
        share = stage and (stage[0], start / len(columns), min(1.0, (start + _AT_ONCE) / len(columns)))
        values = iter(work.run(f"SELECT {wanted} FROM {STAGING} {where}", stage=share)[0])
        found += [{name: next(values) for name in each} for each in some]
    return found


def _candidate(counts: Counts, name: str) -> str:
    """Return the type that most cells of the sample fit, where few do not; else text."""
    filled = counts["filled"] - counts["nothing"]
    fitting = {
        "date": dates.found(counts, name, filled),
        "number": max(counts["fits_dot"], counts["fits_comma"]),
        "simple": max(counts["boolean"], counts["time"], counts["interval"]),
    }
    best = max(fitting, key=lambda kind: fitting[kind])
    return best if fitting[best] and fitting[best] >= _NOTEWORTHY * filled else "text"


def _usual_mark(kinds: Sequence[str], counted: Sequence[Counts], usual: numbers.Mark) -> numbers.Mark:
    marks = [numbers.mark_of(counts) for kind, counts in zip(kinds, counted, strict=True) if kind == "number"]
    dots, commas = marks.count("."), marks.count(",")
    return usual if dots == commas else "." if dots > commas else ","


def _decide(cells: Cells, kind: str, counts: Counts, name: str, usual: numbers.Mark) -> ColumnPlan:
    filled, text = counts["filled"], Plan(cells.either, "VARCHAR", counts["filled"])
    wanted = filled - counts["nothing"]
    mark = None
    if kind == "number":
        plan, mark = numbers.plan(cells, counts, usual), numbers.mark_of(counts)
        codes = numbers.codes(cells, counts)
        if codes:
            return ColumnPlan(cells, Plan(text.sql, text.type, filled, (codes,)), filled)
    elif kind == "date":
        plan = dates.plan(cells, counts, name, wanted)
    elif kind == "simple":
        plan = _simple_plan(cells, counts)
    else:
        return ColumnPlan(cells, text, filled)
    if plan.fits < _FITTING * wanted:
        mixed = Remark("mixed", {"count": plan.fits, "filled": filled, "type": plan.type})
        return ColumnPlan(cells, Plan(text.sql, text.type, filled, (mixed,)), filled)
    return ColumnPlan(cells, plan, filled, mark)


def _simple_plan(cells: Cells, counts: Counts) -> Plan:
    kind = max(("boolean", "time", "interval"), key=lambda kind: counts[kind])
    either = f"coalesce({cells.value}, {cells.text})"
    return Plan(f"TRY_CAST({either} AS {kind.upper()})", kind.upper(), counts[kind])


def warnings_of(work: Workspace, column: ColumnPlan, name: str) -> list[Warning]:
    """Return what has to be said of a column, with cells of it as examples."""
    plan, cells = column.plan, column.cells
    remarks = list(plan.remarks)
    if not column.filled:
        return [Warning("no_values", name)]
    if plan.fits < column.filled:
        facts = {"count": column.filled - plan.fits, "type": plan.type}
        remarks.append(Remark("misfits", facts, f"{cells.is_filled} AND {plan.sql} IS NULL"))
    return [Warning(remark.code, name, _facts(work, cells, remark)) for remark in remarks]


def _facts(work: Workspace, cells: Cells, remark: Remark) -> dict[str, Any]:
    if not remark.where:
        return dict(remark.facts)
    sql = (
        f"SELECT min({cells.either}) FROM {STAGING} WHERE {remark.where} "
        f"GROUP BY {cells.either} ORDER BY min(rowid) LIMIT {_EXAMPLES}"
    )
    found = [str(row[0])[:_MAX_EXAMPLE] for row in work.run(sql)]
    return {**remark.facts, "example": found[0] if found else "", "examples": "; ".join(found)}
