"""A question of a report for why a metric changed: what each member of a dimension contributed, computed by code."""

from dataclasses import asdict
from datetime import date
from typing import NamedTuple

from datasphinx.agent.analysis.contribution import Breakdown, explain_change
from datasphinx.agent.errors import Unanswered
from datasphinx.agent.formatting.formats import column_formats, format_single
from datasphinx.agent.knowledge.entries import MetricEntry
from datasphinx.agent.knowledge.metric_rows import Period
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
        DatasphinxError: errors of `Source.execute`.
    """
    try:
        metric = change["metric"] or MetricEntry(
            expression=change["expression"], date_column=change["date_column"] or None
        )
        first, second = (Period(*map(date.fromisoformat, change[name])) for name in ("first", "second"))
        best = explain_change(
            source, metric, first, second, dimensions=change["dimensions"], filters=change["filters"]
        )[0]
    except ValueError as error:
        raise Unanswered("question_failed", reason=str(error)) from None
    before, after, difference = (
        format_single(each, language) for each in (best.before, best.after, best.after - best.before)
    )
    dimension = best.dimension.rpartition(".")[2].replace("_", " ")
    text = render("change_broken_down", language, before=before, after=after, change=difference, dimension=dimension)
    return Explained(text, _result(best, language), best.sql)


def _result(best: Breakdown, language: Language) -> Result:
    """Return a row for each member: its values, what it contributed, and of a ratio the parts of that."""
    columns = best.columns[1:]
    # A sum over no rows adds nothing; a ratio without rows has no value.
    empty = None if best.is_ratio else 0
    rows = [[member, *(empty if cell is None else cell for cell in cells)] for member, *cells in best.rows]
    names = [best.dimension.rpartition(".")[2], *(render(f"change_{name}", language) for name in columns)]
    result = Result(columns=names, types=["text", *("float" for _ in columns)], rows=rows, truncated=False)
    additive = [at for at, name in enumerate(columns, 1) if not best.is_ratio or name not in ("before", "after")]
    return {**result, "formats": [asdict(each) for each in column_formats(result, {})], "additive": additive}
