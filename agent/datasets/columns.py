"""Infer the type of each column: candidates from a sample of rows, the decision from all rows."""

from collections import ChainMap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any, NamedTuple

from agent.datasets import dates, months, numbers
from agent.datasets.cells import STAGING, Cells, Layer, PendingWarning, Plan, select_layers
from agent.datasets.dataset import Warning
from agent.datasets.workspace import Workspace

_SAMPLE_ROWS = 10_000
_SAMPLE = "scratch.sample"
_FEW_ROWS = 1000
_FITTING = 0.9
"""Minimum share of cells that fit the type; the others become NULL."""

_NOTEWORTHY = 0.5
_SHOWN_CODES = 6
_GIVEN = {
    "number_point": "number", "number_comma": "number", "currency": "number", "date_day_first": "date",
    "date_month_first": "date", "boolean": "simple", "time": "simple",
}  # fmt: skip
"""Candidate types of the types in the options, where they differ."""

_MARKS: dict[str, numbers.Mark] = {"number_point": ".", "number_comma": ","}
_ORDERS: dict[str, dates.Order] = {"date_day_first": "day", "date_month_first": "month"}
_TRUTH_WORDS = {
    "true": ("true", "yes", "y", "t", "1", "+", "x", "да", "д", "истина", "是", "有", "对", "真", "✓", "✔"),
    "false": ("false", "no", "n", "f", "0", "-", "нет", "н", "ложь", "否", "无", "没有", "错", "假", "✗", "✘"),
}
"""Words for a column that the options make a truth value."""

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
    repeats: bool = False
    """Whether `source` groups equal cells."""
    mark: numbers.Mark | None = None
    code: str | None = None
    """SQL over the layers of the plan of the currency code, if that becomes a column."""


Counts = Mapping[str, int]


class _ColumnCounts(NamedTuple):
    """The counts for a column, its candidate type `kind`, and the subquery that selects its cells.

    `sampled` are the counts in the sample, `given` is the type that the options set.
    """

    cells: Cells
    kind: str
    counts: Counts
    source: str
    repeats: bool
    sampled: Counts
    given: str | None


class _CountQuery(NamedTuple):
    """SQL conditions to count for a column, and the layers they use."""

    layers: tuple[Layer, ...]
    conditions: dict[str, str]


def _truth(cells: Cells, given: str | None) -> str:
    """Return SQL of the truth value of a cell; words such as `yes` count only if the options say so."""
    words = {"true": ("true",), "false": ("false",)} if given != "boolean" else _TRUTH_WORDS
    listed = {truth: ", ".join(f"'{word}'" for word in words[truth]) for truth in words}
    cases = " ".join(f"WHEN lower({cells.trimmed}) IN ({texts}) THEN {truth}" for truth, texts in listed.items())
    return f"(CASE {cases} END)"


def _single_notation(cells: Cells, given: str | None = None) -> dict[str, str]:
    """Return the conditions for types with only one notation."""
    clock = rf"regexp_full_match({cells.trimmed}, '\d{{1,2}}:\d{{2}}(:\d{{2}}(\.\d+)?)?')"
    return {
        "boolean": f"{_truth(cells, given)} IS NOT NULL",
        "time": f"{clock} AND TRY_CAST({cells.trimmed} AS TIME) IS NOT NULL",
        "interval": rf"regexp_full_match({cells.value}, '\d+:\d{{2}}:\d{{2}}')",
    }


def _basic_conditions(cells: Cells) -> dict[str, str]:
    """Return the conditions that are counted for each type."""
    return {"filled": f"{cells.original} IS NOT NULL", "missing": cells.is_missing_marker}


def _sample_query(cells: Cells) -> _CountQuery:
    above = len(cells.base)
    empty: Layer = {}
    layers_by_type = [kind.layers(cells)[above:] for kind in (numbers, dates, months)]
    layers = tuple(dict(ChainMap(*level)) for level in zip_longest(*layers_by_type, fillvalue=empty))
    marks = {"fits_dot": numbers.fits(cells, "."), "fits_comma": numbers.fits(cells, ",")}
    conditions = {
        **_basic_conditions(cells),
        **marks,
        **dates.sample_conditions(cells),
        **months.count_conditions(cells),
        **_single_notation(cells),
        "units": numbers.has_unit(cells),
        "spans": dates.is_span(cells),
        "digits": rf"regexp_matches({cells.text}, '\d')",
    }
    return _CountQuery((*cells.base, *layers), conditions)


def _full_query(cells: Cells, kind: str, given: str | None) -> _CountQuery:
    """Return the counts over all rows that the decision on a candidate type needs."""
    if kind == "text":
        return _CountQuery(cells.base, _basic_conditions(cells))
    if kind == "simple":
        return _CountQuery(cells.base, {**_basic_conditions(cells), **_single_notation(cells, given)})
    if kind == "number":
        layers, conditions = numbers.layers(cells, with_units=bool(given)), numbers.count_conditions(cells)
    elif kind == "date":
        layers, conditions = dates.layers(cells), dates.count_conditions(cells)
    else:
        layers, conditions = months.layers(cells), months.count_conditions(cells)
    return _CountQuery(layers, {**_basic_conditions(cells), **conditions})


def infer_columns(
    work: Workspace,
    columns: Sequence[Cells],
    names: Sequence[str],
    rows: int,
    usual: numbers.Mark,
    kinds: Mapping[int, str],
) -> list[ColumnPlan]:
    """Return the type of each column; `usual` is the decimal mark to use if no cell of the file shows one.

    `kinds` are the types that the options set, by place.

    Raises:
        FileTooLarge: The data does not fit into memory.
    """
    step = max(1, rows // _SAMPLE_ROWS)
    work.run(f"CREATE OR REPLACE TABLE {_SAMPLE} AS SELECT * FROM {STAGING} WHERE rowid % {step} = 0")
    counts = []
    for at, (cells, name) in enumerate(zip(columns, names, strict=True)):
        sampled = _count(work, _sample_query(cells), cells.distinct(_SAMPLE, repeats=True))
        given = kinds.get(cells.place)
        kind = _candidate(sampled, name, given)
        repeats = 2 * sampled["distinct"] <= sampled["cells"] or rows <= _FEW_ROWS
        source = cells.distinct(STAGING, repeats=repeats)
        stage = ("examine", at / len(columns), (at + 1) / len(columns))
        full = _count(work, _full_query(cells, kind, given), source, stage)
        counts.append(_ColumnCounts(cells, kind, full, source, repeats, sampled, given))
    marks = [numbers.decimal_mark(column.counts) for column in counts if column.kind == "number"]
    dots, commas = marks.count("."), marks.count(",")
    mark = usual if dots == commas else "." if dots > commas else ","
    return [_with_code(work, column, _decide(column, name, mark)) for column, name in zip(counts, names, strict=True)]


def _with_code(work: Workspace, column: _ColumnCounts, plan: ColumnPlan) -> ColumnPlan:
    """Return the plan with a warning about the currencies of the column, and their codes as a column if they differ."""
    if column.kind != "number" or plan.plan.type == "VARCHAR":
        return plan
    if not column.counts["currency"] and column.given != "currency":
        return plan
    code = numbers.currency_code(column.cells)
    layers = plan.plan.layers
    found = work.run(
        f"SELECT code, sum(n) FROM (SELECT {code} AS code, n FROM {select_layers([layers], plan.source)}) "
        f"WHERE code IS NOT NULL GROUP BY code ORDER BY sum(n) DESC, code LIMIT {_SHOWN_CODES}"
    )
    codes = ", ".join(row[0] for row in found)
    is_split = len(found) > 1 or column.given == "currency"
    warning = PendingWarning(
        "currencies" if is_split else "currency", {"count": column.counts["currency"], "codes": codes}
    )
    pending = replace(plan.plan, pending=(*plan.plan.pending, warning))
    return replace(plan, plan=pending, code=code if is_split else None)


def _count(work: Workspace, query: _CountQuery, source: str, stage: tuple[str, float, float] | None = None) -> Counts:
    sums = [f"coalesce(sum(n) FILTER ({sql}), 0)" for sql in query.conditions.values()]
    sums += ["count(*)", "coalesce(sum(n), 0)"]
    row = work.run(f"SELECT {', '.join(sums)} FROM {select_layers([query.layers], source)}", stage=stage)[0]
    return dict(zip([*query.conditions, "distinct", "cells"], map(int, row), strict=True))


def _candidate(counts: Counts, name: str, given: str | None) -> str:
    """Return the type that most cells of the sample fit; text if fewer than half of them fit any type."""
    filled = counts["filled"] - counts["missing"]
    fitting = {
        "month": months.count_fitting(counts, filled),
        "date": dates.count_fitting(counts, name, filled),
        "number": max(counts["fits_dot"], counts["fits_comma"]),
        "simple": max(counts["boolean"], counts["time"], counts["interval"]),
    }
    if given:
        base = _GIVEN.get(given, "date" if given.startswith("timestamp") else given)
        return "month" if base == "date" and fitting["month"] > fitting["date"] else base
    best = max(fitting, key=lambda kind: fitting[kind])
    return best if fitting[best] and fitting[best] >= _NOTEWORTHY * filled else "text"


def _decide(column: _ColumnCounts, name: str, usual: numbers.Mark) -> ColumnPlan:
    cells, kind, counts, given = column.cells, column.kind, column.counts, column.given
    filled, mark = counts["filled"], None
    expected = filled - counts["missing"]
    if kind == "number":
        forced = _MARKS.get(given or "")
        plan, mark = numbers.plan(cells, counts, usual, forced, with_units=bool(given)), numbers.decimal_mark(counts)
        codes = None if given else numbers.codes(cells, counts)
        if codes:
            return _text(column, codes)
    elif kind == "date":
        zone = given.removeprefix("timestamp") if given and given.startswith("timestamp") else None
        plan = dates.plan(cells, counts, f"{name} date" if given else name, expected, _ORDERS.get(given or ""), zone)
    elif kind == "month":
        plan = months.plan(cells, counts, expected)
    elif kind == "simple":
        fitting = max(("boolean", "time", "interval"), key=lambda name: counts[name])
        type_name = given if given in ("boolean", "time") else fitting
        sql = f"TRY_CAST({cells.trimmed} AS {type_name.upper()})"
        if type_name == "boolean":
            sql = _truth(cells, given)
        plan = Plan(cells.base, sql, type_name.upper(), counts[type_name])
    else:
        return _text(column, *([] if given else _text_warnings(column, name, expected)))
    if not given and plan.fits < _FITTING * expected:
        where = f"{cells.original} IS NOT NULL AND NOT {cells.is_missing_marker} AND {plan.sql} IS NULL"
        facts = {"count": plan.fits, "filled": filled, "type": plan.type}
        return _text(column, PendingWarning("mixed", facts, where, plan.layers))
    return ColumnPlan(cells, plan, filled, column.source, column.repeats, mark)


def _text_warnings(column: _ColumnCounts, name: str, expected: int) -> list[PendingWarning]:
    """Return the warning about a column that stays text although it looks like numbers or dates."""
    cells, sampled = column.cells, column.sampled
    known = sampled["filled"] - sampled["missing"]
    numeric = sampled["units"] + max(sampled["fits_dot"], sampled["fits_comma"])
    if known and sampled["units"] and numeric >= _FITTING * known:
        return [PendingWarning("units", {"filled": expected}, f"{numbers.has_unit(cells)}")]
    is_named = dates.is_named_as_date(name) and sampled["digits"] >= _NOTEWORTHY * known
    if known and (is_named or sampled["spans"] >= _FITTING * known):
        return [PendingWarning("not_dates", {"filled": expected}, rf"regexp_matches({cells.text}, '\d')")]
    return []


def _text(column: _ColumnCounts, *pending: PendingWarning) -> ColumnPlan:
    cells, filled = column.cells, column.counts["filled"]
    plan = Plan(cells.base, cells.words, "VARCHAR", filled, pending)
    return ColumnPlan(cells, plan, filled, column.source, column.repeats)


def code_name(name: str) -> str:
    """Return the name of the column with the currency codes of the column `name`."""
    return f"{name} currency"


def warnings_of(work: Workspace, column: ColumnPlan, name: str) -> list[Warning]:
    """Return the warnings about a column, with some of its cells as examples."""
    plan, cells = column.plan, column.cells
    pending = list(plan.pending)
    if not column.filled:
        return [Warning("no_values", name)]
    found = _spellings(work, column, name) if plan.type == "VARCHAR" and column.repeats else []
    if plan.type != "VARCHAR" and plan.fits < column.filled:
        facts = {"count": column.filled - plan.fits, "type": plan.type}
        pending.append(PendingWarning("misfits", facts, f"{cells.original} IS NOT NULL AND {plan.sql} IS NULL"))
    if column.code:
        pending = [item._replace(facts={**item.facts, "column": code_name(name)}) for item in pending]
    return [*(Warning(item.code, name, _facts(work, column, item)) for item in pending), *found]


def _spellings(work: Workspace, column: ColumnPlan, name: str) -> list[Warning]:
    """Return the warning about words that differ only in case or in spaces."""
    word = column.plan.sql
    words = f"SELECT DISTINCT {word} AS word FROM {select_layers([column.plan.layers], column.source)}"
    found = work.run(
        f"SELECT min(word), max(word), count(*) OVER () FROM ({words}) WHERE word IS NOT NULL "
        rf"GROUP BY lower(regexp_replace(word, '\s+', ' ', 'g')) HAVING count(*) > 1 ORDER BY 1 LIMIT {_EXAMPLES}"
    )
    if not found:
        return []
    examples = "; ".join(f"{first[:_MAX_EXAMPLE]} / {last[:_MAX_EXAMPLE]}" for first, last, _ in found)
    return [Warning("spellings", name, {"count": found[0][2], "examples": examples})]


def _facts(work: Workspace, column: ColumnPlan, pending_warning: PendingWarning) -> dict[str, Any]:
    if not pending_warning.where:
        return dict(pending_warning.facts)
    original, layers = column.cells.original, pending_warning.layers or column.plan.layers
    sql = (
        f"SELECT {original} FROM {select_layers([layers], column.source)} WHERE {pending_warning.where} "
        f"GROUP BY {original} ORDER BY min(rowid) LIMIT {_EXAMPLES}"
    )
    examples = [str(row[0])[:_MAX_EXAMPLE] for row in work.run(sql)]
    return {**pending_warning.facts, "example": examples[0] if examples else "", "examples": "; ".join(examples)}
