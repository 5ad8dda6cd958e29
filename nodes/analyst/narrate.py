"""Node: turn results, a question to the user, or a failure into the output."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from datasphinx.agent.analysis.analysis import Analysis, analysis_of
from datasphinx.agent.analysis.earlier_results import keep_results, sources_of_results
from datasphinx.agent.answers.answer import Answer
from datasphinx.agent.answers.confidence import confidence_of, tell_confidence
from datasphinx.agent.answers.outputs import compose_answer, question_text, reopened_clarification, text_answer
from datasphinx.agent.core.failure import error_info
from datasphinx.agent.formatting.formats import answer_table
from datasphinx.agent.generation.follow_ups import REMEMBERED_TURNS
from datasphinx.agent.messages import render
from datasphinx.agent.record.step import note
from datasphinx.agent.services import Services
from datasphinx.agent.state import AnalystState
from datasphinx.agent.types import Turn


def narrate(state: AnalystState, services: Services) -> dict[str, Any]:
    """Return text, output type, value, tables and charts; the text of the model has been checked."""
    analysis, conclusion = analysis_of(state), state.get("conclusion")
    if failure := state.get("failure"):
        _note_readings(state, analysis.results or state.get("dataset_ids") or ())
        return {**_failed(failure, analysis).output(), "failure": failure, **reopened_clarification(state["given"])}
    if clarification := state.get("clarification"):
        _note_readings(state, analysis.results)
        partial = _partial(question_text(clarification), analysis)
        return replace(partial, status="clarification", clarification=clarification).output()
    if reply := state.get("reply"):
        return text_answer(reply, analysis.language).output()
    if not conclusion:
        raise ValueError("the analysis has not ended")
    ids = conclusion["result_ids"]
    main = analysis.results[ids[0]]
    _note_readings(state, [*ids, *(drawing["result_id"] for drawing in state["drawn"])])
    asked = services.roles.follow_ups.asked_form(analysis.question)
    name = state.get("source")
    catalog = (services.source(name) if name else services.datasets(state["dataset_ids"])).catalog
    results = analysis.formatted_results(catalog, conclusion.get("formats") or {})
    answer = compose_answer(
        analysis.question,
        {result_id: results[result_id] for result_id in ids},
        language=analysis.language,
        requested=analysis.output_type,
        proposed=conclusion.get("output_type") or asked.output_type,
        sql=main["sql"],
        summary=main["summary"],
        chart_form=asked.form.get("chart"),
        charts=analysis.charts,
        narrated=lambda: conclusion["answer"],
        has_text=bool(conclusion["answer"]),
    )
    estimator = services.roles.spec_confidence
    threshold = services.threshold(estimator)
    evidence, language = state["evidence"], analysis.language
    confidence = confidence_of(main["sql"], main["result"], evidence, estimator, threshold, language)
    tell_confidence(answer, confidence, threshold)
    failed_to_draw = any(each["tool"] == "plot" and each["failed"] for each in analysis.observations)
    if not answer.charts and (conclusion.get("output_type") == "plot" or failed_to_draw):
        answer.add(render("no_chart", language))
    if unused := _files_not_used(analysis):
        answer.add(render("files_not_used", language, names=", ".join(unused)))
    turn = Turn(
        question=analysis.question,
        sql=main["sql"],
        answer=answer.logged_answer,
        clarifications=list(analysis.clarifications),
        language=language,
    )
    turns = [*analysis.turns, turn][-REMEMBERED_TURNS:]
    kept = keep_results(state.get("earlier_results") or {}, analysis.results, analysis.question)
    return {**answer.output(), "turns": turns, "earlier_results": kept}


def _failed(failure: dict[str, Any], analysis: Analysis) -> Answer:
    """Return the answer for `failure`: its text, with the results so far, or the reason why the data cannot answer."""
    error = error_info(failure, analysis.language)
    text, is_refused = error["message"], failure["code"] == "cannot_answer"
    if is_refused:
        # Results of queries that only showed what the data lack are no part of the answer.
        analysis = replace(analysis, results={}, charts=())
        text = failure["facts"]["reason"] or text
    return replace(_partial(text, analysis), status="error", error=error)


def _partial(text: str, analysis: Analysis) -> Answer:
    """Return the answer `text` with the results and charts computed so far."""
    results = analysis.results
    return Answer(
        text,
        analysis.language,
        sql=list(results.values())[-1]["sql"] if results else None,
        tables=[answer_table(name, kept["result"]) for name, kept in results.items()],
        charts=list(analysis.charts),
    )


def _note_readings(state: AnalystState, names: Iterable[str]) -> None:
    """Note what the calls noted about the datasets and results `names`, and about those that they read, each once."""
    known = sources_of_results({**(state.get("earlier_results") or {}), **(state.get("results") or {})})
    read = {source for name in names for source in (name, *known.get(name, ()))}
    texts = (text for about, noted in (state.get("notes") or {}).items() if about in read for text in noted)
    for text in dict.fromkeys(texts):
        note(text)


def _files_not_used(analysis: Analysis) -> Sequence[str]:
    """Return the names of files that no query of the question reads, as its last query told the model."""
    queries = [each["content"] for each in analysis.observations if each["tool"] == "run_query"]
    told = [content.get("not_read", ()) for content in queries if "result_id" in content]
    return told[-1] if told else ()
