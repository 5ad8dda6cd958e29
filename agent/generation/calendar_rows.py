"""Rows in the order of the calendar where a statement sorts names of months or other periods as text, or not at all."""

from collections.abc import Sequence

from sqlglot import exp

from datasphinx.agent.charts.calendar_names import calendar_places
from datasphinx.agent.schema.words import normal_form
from datasphinx.agent.sql.guard import shared_trees
from datasphinx.agent.sql.summary import sort_key
from datasphinx.agent.types import Result


def in_calendar_order(result: Result, sql: str, dialect: str) -> Result:
    """Return `result` with its rows in the order of the calendar, if a column names their months or other periods.

    The statement either groups without ORDER BY, and the names differ, or it sorts by that column alone, and the rows
    have the order of its texts. Rows that LIMIT or the row limit has selected stay as they are.
    """
    if len(result["rows"]) < 2 or result["truncated"]:
        return result
    tree = shared_trees(sql, dialect)[0]
    if not isinstance(tree, exp.Select) or len(tree.selects) != len(result["columns"]):
        return result
    if any(tree.args.get(part) for part in ("limit", "offset", "fetch")):
        return result
    order, key = tree.args.get("order"), sort_key(tree)
    if order and len(order.expressions) > 1 or not (order or tree.args.get("group")):
        return result
    sorted_at, is_descending = key or (None, False)
    for at in range(len(tree.selects)) if key is None else () if sorted_at is None else (sorted_at,):
        cells = [row[at] for row in result["rows"]]
        if not _are_names(cells) or not (
            _sorts_as_text(cells, is_descending=is_descending) if key else len(set(cells)) == len(cells)
        ):
            continue
        places = calendar_places([cell for cell in cells if cell is not None])
        if places and len(places) > 1:
            sign = -1 if is_descending else 1
            rows = sorted(result["rows"], key=lambda row: (row[at] is None, sign * places.get(row[at], 0)))
            return {**result, "rows": rows}
    return result


def _are_names(cells: Sequence[object]) -> bool:
    return all(cell is None or isinstance(cell, str) for cell in cells)


def _sorts_as_text(cells: Sequence[str | None], *, is_descending: bool) -> bool:
    """Return whether the texts are in order by code points, or without case and accents as in a collation."""
    texts = [cell for cell in (reversed(cells) if is_descending else cells) if cell is not None]
    plain = list(map(normal_form, texts))
    return texts == sorted(texts) or plain == sorted(plain)
