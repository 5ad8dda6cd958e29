"""Columns of names of months, weekdays or quarters sort by the calendar: `1月` to `12月`, `Jan`, `Mon`, `Q1 2024`."""

from datasphinx.agent.charts.calendar_names import calendar_places, may_be_calendar_name
from datasphinx.agent.core.duckdb_text import literal, quote_name
from datasphinx.agent.datasets.workspace import Workspace

_MAX_NAMES = 400


def order_calendar_names(work: Workspace, table: str) -> bool:
    """Make text columns whose values are all such names enumerations in the order of the calendar; return if any is."""
    place = quote_name(table)
    texts = [quote_name(name) for name, kind in work.columns(place) if kind == "VARCHAR"]
    if not texts:
        return False
    samples = work.run(f"SELECT {', '.join(f'any_value({column})' for column in texts)} FROM {place}")[0]
    named = [column for column, value in zip(texts, samples, strict=True) if value and may_be_calendar_name(value)]
    ordered = [column for column in named if _order(work, place, column)]
    return bool(ordered)


def _order(work: Workspace, place: str, column: str) -> bool:
    """Make `column` an enumeration if all its values are names of one cycle; return whether it became one."""
    found = work.run(f"SELECT DISTINCT {column} FROM {place} WHERE {column} IS NOT NULL LIMIT {_MAX_NAMES + 1}")
    places = calendar_places([value for (value,) in found])
    if not places or len(places) < 2:
        return False
    names = ", ".join(literal(value) for value in sorted(places, key=lambda value: (places[value], value)))
    work.run(f"ALTER TABLE {place} ALTER {column} TYPE ENUM ({names})")
    return True
