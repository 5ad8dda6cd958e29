"""A question of a report for why a metric changed: what each member of a dimension contributed, computed by code."""

from dataclasses import asdict
from datetime import date
from typing import NamedTuple

from datasphinx.agent.analysis.contribution import Breakdown, explain_change
from datasphinx.agent.errors import Unanswered
from datasphinx.agent.formatting.formats import column_formats, format_single, format_value, formats_of
from datasphinx.agent.knowledge.entries import MetricEntry
from datasphinx.agent.knowledge.metric_rows import Period
from datasphinx.agent.knowledge.references import Unresolved
from datasphinx.agent.messages import Language, render
from datasphinx.agent.sources.source import Source
from datasphinx.agent.types import PlannedChange, Result


class Explained(NamedTuple):
    """The contributions to a change: a text, the rows, and the statement that they are computed from."""

    text: str
    result: Result
    sql: str


def explained(change: PlannedChange, source: Source, language: Language) -> Explained:
    """Return what the members of the dimension that explains `change` best contributed; they sum to the change.

    Raises:
        Unanswered: the metric, a period or a dimension does not fit the source.
    """
    try:
        metric = change["metric"] or MetricEntry(
            expression=change["expression"], date_column=change["date_column"] or None
        )
        first, second = (Period(*map(date.fromisoformat, change[name])) for name in ("first", "second"))
        best = explain_change(
            source, metric, first, second, dimensions=change["dimensions"], filters=change["filters"]
        )[0]
    except Unresolved as error:
        raise Unanswered("question_failed", reason=f"{error}. {error.suggestion}".rstrip()) from None
    *way, column = (name.strip('"`[]') for name in best.dimension.split("."))
    is_only = sum(column in table.column_names for table in source.shown_catalog.tables.values()) == 1
    dimension = (column if is_only else " ".join([*way, column])).replace("_", " ")
    result = _result(best, dimension, language)
    contributed = formats_of(result)[3]
    before, after, difference = (
        format_value(each, contributed, language) if contributed.kind == "fraction" else format_single(each, language)
        for each in (best.before, best.after, best.after - best.before)
    )
    text = render("change_broken_down", language, before=before, after=after, change=difference, dimension=dimension)
    return Explained(text, result, best.sql)


def _result(best: Breakdown, dimension: str, language: Language) -> Result:
    """Return a row for each member of `dimension`: its values, its contribution, and of a ratio the parts of that."""
    columns = best.columns[1:]
    # A sum over no rows adds nothing; a ratio without rows has no value.
    empty = None if best.is_ratio else 0
    rows = [[member, *(empty if cell is None else cell for cell in cells)] for member, *cells in best.rows]
    names = [dimension, *(render(f"change_{name}", language) for name in columns)]
    result = Result(columns=names, types=["text", *("float" for _ in columns)], rows=rows, truncated=False)
    values = [cell for row in rows for cell in row[1:3] if cell is not None]
    is_share = best.is_ratio and all(0 <= value <= 1 for value in values)
    formats = column_formats(result, dict.fromkeys(names[1:], "fraction") if is_share else {})
    additive = [at for at, name in enumerate(columns, 1) if not best.is_ratio or name not in ("before", "after")]
    return {**result, "formats": [asdict(each) for each in formats], "additive": additive}
