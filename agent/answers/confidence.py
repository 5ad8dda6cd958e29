"""The confidence in an answer, in words and with its reasons."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from agent.answers.readings import difference
from agent.generation.confidence import ConfidenceEstimator
from agent.llm.schemas import GeneratedSQL
from agent.messages import CONVENTIONS, Language, language_of, render
from agent.record.step import note
from agent.retrieval.linked_values import codes_in
from agent.run_events import LOGGED_ANSWER
from agent.schema.catalog import Catalog
from agent.schema.describe import one_line
from agent.schema.words import content_words, words
from agent.sql.compare import gives_rows
from agent.sql.names import referenced_names
from agent.state import State
from agent.types import Confidence, Evidence, Result

_HIGH = 0.7
_LOW_AGREEMENT, _FULL_AGREEMENT = 0.7, 0.9
"""An agreement below the second one is a reason only against an answer with a low confidence."""
_LOW_LOGPROB = -2.0
_MAX_REASONS = 2
_COMMENT_CHARS = 60


def statement_evidence(state: State) -> Evidence:
    """Return what is known about the statement of `state`, with the log probability of the model call that wrote it."""
    evidence = state.get("evidence") or Evidence()
    if "logprob" in evidence or state.get("judged_sql"):
        return evidence
    calls = [call for step in state["audit"]["steps"] for call in step["calls"]]
    logprobs = [call.get("logprob") for call in calls if call["schema"] == GeneratedSQL.__name__]
    if len(logprobs) == 1 and logprobs[0] is not None:
        return {**evidence, "logprob": logprobs[0]}
    return evidence


def with_result(evidence: Evidence, rows: Sequence[Sequence[Any]]) -> Evidence:
    """Return `evidence` with that of the result `rows`."""
    return Evidence({**evidence, "gives_rows": gives_rows(rows)})


def with_confidence(output: dict[str, Any], confidence: Confidence | None, threshold: float) -> dict[str, Any]:
    """Return the output of a graph with `confidence` and its status; below `threshold` the text ends with the reason.

    A confidence that is not high is noted in the audit of the current step.
    """
    is_unsure = confidence is not None and confidence["value"] < threshold
    output = {**output, "confidence": confidence, "status": "unsure" if is_unsure else "ok"}
    if confidence and confidence["value"] < max(threshold, _HIGH):
        language = language_of(confidence["word"])
        note(render("confidence_in_words", language, word=confidence["word"], why=confidence["reason"]))
        if is_unsure:
            text = f"\n\n{render('draft', language, why=confidence['reason'])}"
            output["answer"] += text
            output[LOGGED_ANSWER] += text
    return output


def confidence_of(
    question: str,
    sql: str,
    result: Result,
    evidence: Evidence,
    estimator: ConfidenceEstimator,
    threshold: float,
    catalog: Catalog | None = None,
    warnings_about: Callable[[str], Sequence[str]] | None = None,
) -> Confidence | None:
    """Return the confidence in `result`, the answer of `sql` to `question`; None if there is no estimate.

    The words are "not sure" below `threshold`, "confident" from 0.7 on, and "fairly confident" in between. The comments
    in `catalog` explain codes, and `warnings_about` returns the warnings of the static checks about a statement.
    """
    evidence = with_result(evidence, result["rows"])
    value = estimator.estimate(evidence)
    if value is None:
        return None
    language = language_of(question)
    level = "low" if value < threshold else "high" if value >= _HIGH else "medium"
    warnings = warnings_about(sql) if warnings_about and evidence.get("findings") else ()
    agreement = _FULL_AGREEMENT if level == "low" else _LOW_AGREEMENT
    found = list(_reasons(question, sql, evidence, catalog, warnings, agreement, language))[:_MAX_REASONS]
    if not found:
        is_unlikely = level == "low" or evidence.get("logprob", 0.0) < _LOW_LOGPROB
        found = [("model_uncertain" if is_unlikely else "nothing_against", {})]
    reason = CONVENTIONS[language].semicolon.join(render(code, language, **facts) for code, facts in found)
    return Confidence(value=value, word=render(f"confidence_{level}", language), reason=reason)


def _reasons(
    question: str,
    sql: str,
    evidence: Evidence,
    catalog: Catalog | None,
    warnings: Sequence[str],
    agreement: float,
    language: Language,
) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the reasons against a statement as messages with their facts, the most specific first.

    Other statements count as a reason if the agreement is less than `agreement`.
    """
    for word, column, comment in _coded_words(question, sql, catalog) if catalog else ():
        yield "word_is_coded", {"word": word, "column": column, "comment": one_line(comment, _COMMENT_CHARS)}
    left_out = [*evidence.get("unused_values", ()), *evidence.get("ignored", ())]
    if left_out:
        yield "question_part_ignored", {"part": ", ".join(dict.fromkeys(left_out))}
    elif evidence.get("violations"):
        yield "question_not_followed", {}
    if not evidence.get("is_confirmed", True):
        yield "validation_objected", {}
    if not evidence.get("gives_rows", True):
        yield "query_gives_nothing", {}
    for warning in warnings[:1]:
        yield "query_warning", {"warning": warning}
    if evidence.get("findings") and not warnings:
        yield "query_has_findings", {}
    if evidence.get("agreement", 1.0) < agreement:
        rival = evidence.get("rival")
        found = difference(sql, rival, catalog, language) if catalog and rival else ""
        yield ("rival_query", {"difference": found}) if found else ("queries_disagree", {})


def _coded_words(question: str, sql: str, catalog: Catalog) -> list[tuple[str, str, str]]:
    """Return words of `question` that a comment explains as a code of a column which `sql` does not use."""
    question_words = words(question)
    coded = [
        (meaning, f"{key}.{column.name}", f"{code} = {meaning}")
        for key, table in catalog.tables.items()
        for column in table.columns
        for code, meaning in (codes_in(column.comment) if column.comment else {}).items()
        if (meaning_words := content_words(meaning)) and meaning_words <= question_words
    ]
    used = {name.lower() for name in referenced_names(sql, catalog).columns} if coded else set()
    return [word for word in coded if word[1].lower() not in used]
