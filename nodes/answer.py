"""Node: turn rows, a failure, or a question to the user into the answer."""

from typing import Any

from agent.answers.asked import answer_asked
from agent.answers.compose import compose
from agent.answers.failed import answer_failure
from agent.audit.bodies import LOGGED_ANSWER
from agent.audit.step import assume, note
from agent.charts.echarts import chart_of
from agent.clarify.assumed import assumptions_of
from agent.clarify.types import Turn
from agent.errors import SqlNotGenerated
from agent.failure import failure_of
from agent.messages import language_of, render
from agent.services import Services
from agent.sql.redact import without_password
from agent.state import State


def answer(state: State, services: Services) -> dict[str, Any]:
    """Give text, form, value, table and chart; a model narrates only what is too long to be shown whole.

    What was assumed stands in the answer, and the answer among the turns of the conversation: in place of one that the
    user rejected, or wanted in another form.
    """
    failure, result, asked = state.get("failure"), state.get("result"), state.get("clarification")
    if asked and not failure:
        return answer_asked(asked)
    if failure or not result:
        return answer_failure(failure or failure_of(SqlNotGenerated("there is no result")), state)
    wanted, sql = state.get("output_type"), state["sql_request"]
    chart = chart_of(result, state["question"], state["forms"][-1]) if state.get("forms") and wanted == "plot" else None
    drawn = [chart] if chart else []
    output = compose(state["question"], {"result": result}, services, wanted=wanted, sql=sql, drawn=drawn)
    if services.model.profile == "embedded":
        note("a small embedded model wrote the SQL, and it is often wrong: read it before you rely on the answer")
    assumed = _assumed(state, services)
    output["answer"] += assumed
    output[LOGGED_ANSWER] += assumed
    return {**output, "turns": _turns(state, output[LOGGED_ANSWER], services.settings.memory_size)}


def _assumed(state: State, services: Services) -> str:
    """Return what was assumed as an end of the answer, and put it on the audit."""
    catalog, language = services.source(state.get("source")).catalog, language_of(state["question"])
    said, open_ = state.get("clarifications") or [], state.get("ambiguities") or []
    assumed = assumptions_of(state.get("assumptions") or (), open_, said, state["sql_request"], catalog, language)
    for assumption in assumed:
        assume(assumption)
    return f"\n\n{render('assumed', language, assumptions=assumed)}" if assumed else ""


def _turns(state: State, answer: str, memory_size: int) -> list[Turn]:
    turns, forms = list(state.get("turns") or ()), state.get("forms") or []
    if forms or state.get("feedback") is not None:
        turns = turns[:-1]
    said, source = state.get("clarifications") or [], without_password(state.get("source") or "")
    turn = Turn(
        question=state["question"],
        sql=state["sql_request"],
        answer=answer,
        clarifications=said,
        source=source,
        forms=forms,
    )
    return [*turns, turn][-memory_size:]
