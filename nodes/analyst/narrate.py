"""Node: turn results, a question to the user, or a failure, into what comes out."""

from typing import Any

from agent.analyst_state import AnalystState
from agent.answers.analysis import analysis_failure, analysis_question
from agent.answers.compose import compose
from agent.audit.bodies import LOGGED_ANSWER
from agent.clarify.types import Turn
from agent.services import Services


def narrate(state: AnalystState, services: Services) -> dict[str, Any]:
    """Give text, form, value, tables and charts; every figure of the model's words is checked against the results."""
    failure, asked, conclusion = state.get("failure"), state.get("clarification"), state.get("conclusion")
    if failure:
        return analysis_failure(failure, state)
    if asked:
        return analysis_question(asked, state)
    if not conclusion:
        raise ValueError("the analysis has not ended")
    ids = conclusion["result_ids"]
    output = compose(
        state["question"],
        {result_id: state["results"][result_id]["result"] for result_id in ids},
        services,
        wanted=state.get("output_type"),
        sql=state["results"][ids[0]]["sql"],
        drawn=[each["chart"] for each in state["drawn"]],
        draft=conclusion["answer"],
    )
    said = state.get("clarifications") or []
    turn = Turn(question=state["question"], sql=output["sql"], answer=output[LOGGED_ANSWER], clarifications=said)
    return {**output, "turns": [*(state.get("turns") or ()), turn][-services.settings.memory_size :]}
