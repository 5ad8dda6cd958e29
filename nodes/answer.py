"""Node: turn rows, or a failure, into the answer."""

from typing import Any

from agent.answers.failed import answer_failure
from agent.answers.form import choose_output_type, value_of
from agent.answers.narration import narrate
from agent.answers.text import plain_text
from agent.audit.step import note
from agent.charts.echarts import chart_of
from agent.errors import SqlNotGenerated
from agent.failure import failure_of
from agent.messages import language_of, render
from agent.services import Services
from agent.state import AnswerTable, State


def answer(state: State, services: Services) -> dict[str, Any]:
    """Give text, form, value, table and chart; a model narrates only what is too long to be shown whole."""
    failure, result = state.get("failure"), state.get("result")
    if failure or not result:
        return answer_failure(failure or failure_of(SqlNotGenerated("there is no result")), state)
    question = state["question"]
    language, limit = language_of(question), services.settings.short_table_rows
    table = AnswerTable(name="result", columns=result["columns"], rows=result["rows"])
    chart = chart_of(result, question)
    output_type = choose_output_type(question, result, state.get("output_type"), chart)
    text = None
    if len(result["rows"]) > limit and services.model.profile != "embedded":
        text = narrate(question, result, output_type, language, services.model)
    text = text or plain_text(result, language, limit)
    _note_doubts(state, services)
    if result["truncated"]:
        cut = render("truncated", language, count=len(result["rows"]))
        note(cut)
        text = f"{text}\n\n{cut}"
    return {
        "answer": text,
        "output_type": output_type,
        "value": value_of(output_type, result, text, table, chart),
        "sql": state["sql_request"],
        "tables": [table],
        "charts": [chart] if chart and output_type == "plot" else [],
        "clarification": None,
        "error": None,
    }


def _note_doubts(state: State, services: Services) -> None:
    """Put on the audit what a reader of the answer has to know of how it came about."""
    if services.model.profile == "embedded":
        note("a small embedded model wrote the SQL, and it is often wrong: read it before you rely on the answer")
    for assumption in state.get("assumptions") or ():
        note(f"assumed: {assumption}")
