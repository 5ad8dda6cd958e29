"""Node: turn results, a question to the user, or a failure into the output."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from datasphinx.agent.analysis.earlier_results import keep_results
from datasphinx.agent.analysis.evidence import formatted_results
from datasphinx.agent.answers.confidence import confidence_of, tell_confidence
from datasphinx.agent.answers.outputs import (
    analysis_failure_output,
    compose_answer,
    partial_answer,
    question_text,
    text_answer,
)
from datasphinx.agent.generation.follow_ups import REMEMBERED_TURNS
from datasphinx.agent.messages import language_in, render
from datasphinx.agent.services import Services
from datasphinx.agent.state import AnalystState
from datasphinx.agent.types import Turn


def narrate(state: AnalystState, services: Services) -> dict[str, Any]:
    """Return text, output type, value, tables and charts; the text of the model has been checked."""
    failure, clarification, conclusion = state.get("failure"), state.get("clarification"), state.get("conclusion")
    if failure:
        # Results of queries that only showed what the data lack are no part of the answer.
        is_refused = failure["code"] == "cannot_answer"
        return analysis_failure_output(failure, {**state, "results": {}, "drawn": []} if is_refused else state)
    if clarification:
        partial = partial_answer(question_text(clarification), state)
        return replace(partial, status="clarification", clarification=clarification).output()
    if reply := state.get("reply"):
        return text_answer(reply, language_in(state)).output()
    if not conclusion:
        raise ValueError("the analysis has not ended")
    ids = conclusion["result_ids"]
    main = state["results"][ids[0]]
    asked = services.roles.follow_ups.asked_form(state["question"])
    name = state.get("source")
    catalog = (services.source(name) if name else services.datasets(state["dataset_ids"])).catalog
    results = formatted_results(state, catalog, conclusion.get("formats") or {})
    answer = compose_answer(
        state["question"],
        {result_id: results[result_id] for result_id in ids},
        language=language_in(state),
        requested=state.get("output_type"),
        proposed=conclusion.get("output_type") or asked.output_type,
        sql=main["sql"],
        summary=main["summary"],
        chart_form=asked.form.get("chart"),
        charts=[drawing["chart"] for drawing in state["drawn"]],
        narrated=lambda: conclusion["answer"],
        has_text=bool(conclusion["answer"]),
    )
    estimator = services.roles.spec_confidence
    threshold = services.threshold(estimator)
    confidence = confidence_of(main["sql"], main["result"], state["evidence"], estimator, threshold, language_in(state))
    tell_confidence(answer, confidence, threshold)
    if unused := _files_not_used(state):
        answer.add(render("files_not_used", answer.language, names=", ".join(unused)))
    turn = Turn(
        question=state["question"],
        sql=main["sql"],
        answer=answer.logged_answer,
        clarifications=state.get("clarifications") or [],
        language=answer.language,
    )
    turns = [*(state.get("turns") or ()), turn][-REMEMBERED_TURNS:]
    return {**answer.output(), "turns": turns, "earlier_results": keep_results(state)}


def _files_not_used(state: AnalystState) -> Sequence[str]:
    """Return the names of files that no query of the question reads, as its last query told the model."""
    queries = [each["content"] for each in state["observations"] if each["tool"] == "run_query"]
    told = [content.get("not_read", ()) for content in queries if "result_id" in content]
    return told[-1] if told else ()
