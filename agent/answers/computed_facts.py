"""Numbers computed from results, with ids, for texts about rows: `{f3}` refers to the third of them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from itertools import islice

from datasphinx.agent.answers.result_facts import ColumnFacts, ResultFacts, average_format
from datasphinx.agent.formatting.formats import ColumnFormat, format_computed

_MAX_FACTS, _MAX_GROUPS = 60, 12
_PER_CENT = ColumnFormat("percent", 1)


@dataclass(frozen=True)
class Fact:
    """A computed number: what it is, in English with names of columns, and its value in the language of the text."""

    id: str
    text: str
    value: str
    number: Decimal
    name: str = ""
    """The name of rows that it is about, which has to stand beside it; empty for a fact about all rows."""


def computed_facts(results: Mapping[str, ResultFacts]) -> list[Fact]:
    """Return sums, averages, shares and changes of `results`, at most 60, with ids from "f1".

    A result whose rows are cut, or sum up others, has none, and neither has one of a single row.
    """
    found = (
        (f"{name}, {text}" if len(results) > 1 else text, number, shown, facts.language, about)
        for name, facts in results.items()
        if len(facts.rows) > 1 and not (facts.is_cut or facts.has_totals)
        for column in facts.columns
        if column.numbers and not column.is_name and not column.is_period
        for text, number, shown, about in _facts_of(facts, column)
    )
    return [
        Fact(f"f{at}", text, format_computed(number, shown, language), number, about)
        for at, (text, number, shown, language, about) in enumerate(islice(found, _MAX_FACTS), 1)
    ]


_Found = tuple[str, Decimal, ColumnFormat, str]


def _facts_of(facts: ResultFacts, column: ColumnFacts) -> Iterator[_Found]:
    numbers = column.numbers or []
    if column.is_additive:
        total = sum(numbers, Decimal())
        yield f"{column.name}, total", total, column.format, ""
        yield f"{column.name}, average of the rows", total / len(numbers), average_format(column.format), ""
        for names in facts.columns:
            if names.is_name and not names.is_period:
                yield from _by_name(column, names, total)
    yield from _change(facts, column)


def _by_name(column: ColumnFacts, names: ColumnFacts, total: Decimal) -> Iterator[_Found]:
    """Yield the total of each name that has several rows, and its share of all; rows without a name have none."""
    groups: dict[str | None, list[Decimal]] = {}
    for cell, number in zip(names.cells, column.numbers or [], strict=True):
        groups.setdefault(None if cell is None else str(cell), []).append(number)
    if not 1 < len(groups) <= _MAX_GROUPS:
        return
    has_shares = total > 0 and min(column.numbers or []) >= 0
    for name, numbers in groups.items():
        if name is None:
            continue
        if len(groups) < len(names.cells):
            yield f"{column.name} of {name}, total", sum(numbers, Decimal()), column.format, name
        if has_shares:
            yield f"{column.name} of {name}, share of the total", 100 * sum(numbers, Decimal()) / total, _PER_CENT, name


def _change(facts: ResultFacts, column: ColumnFacts) -> Iterator[_Found]:
    """Yield the size of the change from the first period to the last, and its direction in words."""
    periods = [one for one in facts.columns if one.is_period]
    ranks = periods[0].ranks if len(periods) == 1 else None
    if not ranks or not column.numbers or len(set(ranks)) < len(ranks):
        return
    start, end = (ranks.index(pick(ranks)) for pick in (min, max))
    first, last = column.numbers[start], column.numbers[end]
    change, span = last - first, f"from {periods[0].cells[start]} to {periods[0].cells[end]}"
    direction = "rise" if change > 0 else "fall" if change < 0 else "change"
    if column.is_share:
        points = abs(change) * (100 if column.format.kind == "fraction" else 1)
        shown = ColumnFormat("number", column.format.decimals)
        yield f"{column.name}, {direction} {span} in percentage points", points, shown, ""
        return
    yield f"{column.name}, {direction} {span}", abs(change), column.format, ""
    if first > 0 and change:
        yield f"{column.name}, {direction} {span} in per cent", abs(100 * change / first), _PER_CENT, ""
