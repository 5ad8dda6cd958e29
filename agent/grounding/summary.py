"""Facts computed from rows, as lines of a prompt: a model that is given them need not compute."""

from collections.abc import Iterator, Sequence

from agent.grounding.facts import Column, Table, aggregates, bits
from agent.types import Result

_MOST_METRICS = 6
_MOST_GROUPS = 12
_MOST_CHARS = 2_000


def computed_facts(results: Sequence[Result], question: str) -> str:
    """Return totals, averages, medians, extremes, shares and changes of `results`, at most 2,000 characters.

    Results of one row have none. Of a result that was cut off only the number of rows shown is given.
    """
    lines: list[str] = []
    size = 0
    for result in results:
        for line in _facts_of(Table(result, question)):
            size += len(line) + 1
            if size > _MOST_CHARS:
                return "\n".join(lines)
            lines.append(line)
    return "\n".join(lines)


def _facts_of(table: Table) -> Iterator[str]:
    rows = table.all.bit_count()
    if len(table.rows) < 2:
        return
    if table.truncated:
        yield f"{len(table.rows)} rows are shown, more exist: totals, counts and extremes of all rows are not known"
        return
    yield f"rows: {rows}"
    for column in table.metrics[:_MOST_METRICS]:
        values = table.values(table.all, column.index)
        if len(values) < 2:
            continue
        computed = aggregates(values)
        parts = [f"total {_shown(computed['total'])}"] if column.is_additive else []
        parts += [f"average {_shown(computed['average'])}", f"median {_shown(computed['median'])}"]
        ordered = sorted(
            (at for at in bits(table.all) if column.values[at] is not None), key=lambda at: column.values[at] or 0.0
        )
        parts += [f"highest {_cell(table, column, ordered[-1])}", f"lowest {_cell(table, column, ordered[0])}"]
        yield f"{column.name}: {'; '.join(parts)}"
    for column in table.metrics[:_MOST_METRICS]:
        yield from _by_group(table, column)
        yield from _over_time(table, column)


def _by_group(table: Table, column: Column) -> Iterator[str]:
    """Yield the totals of the names that have several rows, and the share of each name."""
    whole = sum(table.values(table.all, column.index))
    if not column.is_additive or not whole or min(table.values(table.all, column.index)) < 0:
        return
    for label in table.labels:
        groups = table.groups(label.index)
        if not 1 < len(groups) <= _MOST_GROUPS:
            continue
        totals = {name: sum(table.values(rows, column.index)) for name, rows in groups.items()}
        shares = ", ".join(
            f"{name} {_shown(total) + ' = ' if len(groups) < len(table.rows) else ''}{100 * total / whole:.1f}%"
            for name, total in totals.items()
        )
        yield f"{column.name} by {label.name}, share of the total: {shares}"


def _over_time(table: Table, column: Column) -> Iterator[str]:
    """Yield the change from the first period to the last."""
    if len(table.time_steps) < 2:
        return
    (_, first), (_, last) = table.time_steps[0], table.time_steps[-1]
    early, late = sum(table.values(first, column.index)), sum(table.values(last, column.index))
    if column.is_additive or first.bit_count() == last.bit_count() == 1:
        change = f", {100 * (late - early) / abs(early):+.1f}%" if early else ""
        yield f"{column.name}, first period to last: {_shown(early)} to {_shown(late)}, {late - early:+,.6g}{change}"


def _cell(table: Table, column: Column, row: int) -> str:
    names = [str(table.rows[row][each.index]) for each in table.columns if each.kind in {"label", "period"}]
    value = _shown(column.values[row] or 0.0)
    return f"{value} ({', '.join(names[:2])})" if names else value


def _shown(value: float) -> str:
    """Return a number without exponent, with at most four decimals."""
    return f"{value:,.4f}".rstrip("0").rstrip(".") if abs(value) < 1e15 else f"{value:.6g}"
