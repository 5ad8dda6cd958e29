"""The chart that is drawn of a stored answer without a request, on the page and in notebooks."""

from collections.abc import Callable, Collection, Mapping
from typing import Any

from datasphinx.agent.charts.default import default_chart
from datasphinx.agent.charts.echarts import answer_chart
from datasphinx.agent.charts.select import Selection
from datasphinx.agent.errors import DatasphinxError
from datasphinx.agent.generation.attempts import current
from datasphinx.agent.messages import language_in
from datasphinx.agent.sources.source import Source
from datasphinx.agent.sql.summary import summarize_query
from datasphinx.agent.types import AnswerChart, Result

SourceOf = Callable[[str | None], Source]
MAX_CHARTED_ROWS = 20_000


def first_result(state: Mapping[str, Any]) -> Result | None:
    """Return the result of the first table of an answer."""
    tables = state.get("tables") or []
    kept = (state.get("results") or {}).get(tables[0]["name"]) if tables else None
    result: Result | None = kept["result"] if kept else state.get("result")
    return result


def named_source(state: Mapping[str, Any]) -> str | None:
    """Return the source of an answer; None for the default one. A stored state has it among the inputs of its run."""
    source: str | None = state.get("source") or (state.get("given") or {}).get("source")
    return source


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
    result = first_result(state)
    if not result:
        return None
    try:
        return result, summarize_query(state["sql_request"], source_of(named_source(state)).catalog)["keys"]
    except DatasphinxError:
        # The source may have been removed since; the rows are stored.
        return result, ()


def selected_by_default(state: Mapping[str, Any], result: Result, keys: Collection[int]) -> Selection | None:
    """Return the chart of the rows of an answer that are a ranking, a trend or shares; None for all others.

    None as well if the answer is no table or has a chart, or if a model gave it a form without a chart.
    """
    form = current(state.get("attempts")).get("form")
    if state.get("charts") or state.get("output_type") != "dataframe" or (form and not form.get("chart")):
        return None
    return default_chart(result, str(state.get("question") or ""), keys, language_in(state))


def drawn_by_default(state: Mapping[str, Any], source_of: SourceOf) -> AnswerChart | None:
    """Return the chart of an answer; see `selected_by_default`."""
    found = charted_result(state, source_of)
    selection = selected_by_default(state, *found) if found else None
    return answer_chart(selection, language_in(state)) if selection else None
