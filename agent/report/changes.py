"""A question of a report for why a metric changed: what each member of a dimension contributed, computed by code."""

from collections.abc import Callable
from dataclasses import asdict
from datetime import date
from typing import Any

from pydantic import ValidationError

from datasphinx.agent.analysis.contribution import Breakdown, explain_change
from datasphinx.agent.core.failure import error_info, failure_of
from datasphinx.agent.errors import DatasphinxError, Unanswered
from datasphinx.agent.formatting.formats import column_formats, format_single
from datasphinx.agent.knowledge.entries import MetricEntry
from datasphinx.agent.knowledge.metric_rows import Period
from datasphinx.agent.knowledge.references import Unresolved
from datasphinx.agent.messages import Language, render
from datasphinx.agent.sources.source import Source
from datasphinx.agent.types import PlannedChange, PlannedQuestion, ReportPart, Result

_COLUMNS = ("before", "after", "contribution", "mix", "rate")


def change_part(
    planned: PlannedQuestion, change: PlannedChange, open_source: Callable[[], Source], language: Language
) -> ReportPart:
    """Return the contributions of the members of the dimension that explains `change` best, as a part.

    They sum to the change. An error is part of the outcome.
    """
    result, sql, text, error = None, None, "", None
    try:
        source = open_source()
        best = _best(change, source)
        result, sql, text = _result(best, language), best.sql, _text(best, language)
    except (Unresolved, ValidationError, ValueError) as problem:
        error = error_info(failure_of(Unanswered("question_failed", reason=str(problem))), language)
    except DatasphinxError as problem:
        error = error_info(failure_of(problem), language)
    return ReportPart(
        **planned,
        trace_id="",
        status="error" if error else "ok",
        answer=error["message"] if error else text,
        sql=sql,
        result=result,
        chart=None,
        filters=[],
        remarks=[],
        clarification=None,
        error=error,
    )


def _best(change: PlannedChange, source: Source) -> Breakdown:
    """Return the breakdown in which fewest members stand out.

    Raises:
        Unresolved, ValueError: the metric, a period or a dimension does not fit the source.
        DatasphinxError: errors of `Source.execute`.
    """
    metric = change["metric"] or MetricEntry(expression=change["expression"], date_column=change["date_column"] or None)
    first, second = (Period(*map(date.fromisoformat, change[name])) for name in ("first", "second"))
    return explain_change(source, metric, first, second, dimensions=change["dimensions"], filters=change["filters"])[0]


def _result(best: Breakdown, language: Language) -> Result:
    """Return a row for each member: its values, what it contributed, and of a ratio the parts of that."""
    is_ratio = best.parts[0].mix is not None
    columns = _COLUMNS if is_ratio else _COLUMNS[:3]
    rows: list[list[Any]] = []
    for part in best.parts:
        values = [getattr(part, name) for name in columns]
        # A sum over no rows adds nothing; a ratio without rows has no value.
        numbers = [(None if is_ratio else 0) if value is None else float(value) for value in values]
        rows.append([part.member, *numbers])
    names = [best.dimension.rpartition(".")[2], *(render(f"change_{name}", language) for name in columns)]
    result = Result(columns=names, types=["text", *("float" for _ in columns)], rows=rows, truncated=False)
    additive = [at for at, name in enumerate(columns, 1) if not is_ratio or name not in ("before", "after")]
    return {**result, "formats": [asdict(each) for each in column_formats(result, {})], "additive": additive}


def _text(best: Breakdown, language: Language) -> str:
    before, after, change = (format_single(float(each), language) for each in (best.before, best.after, best.change))
    dimension = best.dimension.rpartition(".")[2].replace("_", " ")
    return render("change_broken_down", language, before=before, after=after, change=change, dimension=dimension)
