"""The chart that is drawn of a stored answer without a request, on the page and in notebooks."""

from collections.abc import Callable, Collection, Mapping
from typing import Any

from datasphinx.agent.charts.default import default_chart
from datasphinx.agent.charts.echarts import draw
from datasphinx.agent.errors import DatasphinxError
from datasphinx.agent.messages import language_in
from datasphinx.agent.sources.source import Source
from datasphinx.agent.sql.summary import summarize_query
from datasphinx.agent.types import AnswerChart, Result

SourceOf = Callable[[str | None], Source]
MAX_CHARTED_ROWS = 20_000


def charted_result(state: Mapping[str, Any], source_of: SourceOf) -> tuple[Result, Collection[int]] | None:
    """Return the result of the first table of an answer, and the positions of its columns that name groups.

    Returns None if the answer has no rows, or more than 20,000.
    """
    tables = state.get("tables") or []
    if not tables or not 0 < len(tables[0]["rows"]) <= MAX_CHARTED_ROWS or state.get("error"):
        return None
    kept = (state.get("results") or {}).get(tables[0]["name"])
    if kept:
        return kept["result"], kept["summary"]["keys"]
    result: Result | None = state.get("result")
    if not result:
        return None
    try:
        return result, summarize_query(state["sql_request"], source_of(state.get("source")).catalog)["keys"]
    except DatasphinxError:
        # The source may have been removed since; the rows are stored.
        return result, ()


def drawn_by_default(state: Mapping[str, Any], source_of: SourceOf) -> AnswerChart | None:
    """Return the chart of an answer that is a table with a ranking, a trend or shares; None for all others."""
    if state.get("charts") or state.get("output_type") != "dataframe":
        return None
    found = charted_result(state, source_of)
    if found is None:
        return None
    language = language_in(state)
    selection = default_chart(found[0], str(state.get("question") or ""), found[1], language)
    if selection is None:
        return None
    drawn = draw(selection.result, selection.spec, language, selection.notes)
    return AnswerChart(type=drawn.type, option=drawn.option)
