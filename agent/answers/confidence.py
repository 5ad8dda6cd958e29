"""The confidence in an answer, in words and with its reasons."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from datasphinx.agent.answers.answer import Answer
from datasphinx.agent.generation.estimator import ConfidenceEstimator
from datasphinx.agent.messages import CONVENTIONS, Language, Message, render
from datasphinx.agent.record.step import note
from datasphinx.agent.schema.catalog import Catalog
from datasphinx.agent.sql.compare import is_blank
from datasphinx.agent.types import Confidence, Evidence, Result

_HIGH = 0.7
_LOW_AGREEMENT, _FULL_AGREEMENT = 0.7, 0.9
"""An agreement below the second one is a reason only against an answer with a low confidence."""
_LOW_LOGPROB = -2.0
_MAX_REASONS = 2
_BELOW_THRESHOLD = 0.01
"""By how much the confidence in a statement with findings is below the threshold, at least."""


def with_result(evidence: Evidence, rows: Sequence[Sequence[Any]]) -> Evidence:
    """Return `evidence` with that of the result `rows`."""
    return Evidence({**evidence, "gives_rows": not is_blank(rows)})


def tell_confidence(
    answer: Answer, confidence: Confidence | None, threshold: float, *, has_doubts: bool = False
) -> None:
    """Set the confidence in `answer` and its status; below `threshold`, the text ends with the reason.

    Without a confidence, an answer with unresolved doubts is unsure. A confidence that is not high is noted in the
    audit of the current step.
    """
    is_unsure = confidence["value"] < threshold if confidence else has_doubts
    answer.confidence, answer.status = confidence, "unsure" if is_unsure else "ok"
    if confidence and confidence["value"] < max(threshold, _HIGH):
        note(f"{confidence['word']}: {confidence['reason']}")
        answer.add(render("draft", answer.language, why=confidence["reason"]) if is_unsure else "")


def trust_in_words(output: Mapping[str, Any], language: Language) -> str:
    """Return how far an answer can be trusted, as on the badge of the page; empty without rows of a statement."""
    if output.get("error") or not (output.get("sql") and output.get("output_type")):
        return ""
    kinds = {
        "verified": output.get("verified"),
        "unsure": output.get("status") == "unsure",
        "metric": output.get("metric"),
        "checked": output.get("checked"),
        "likely": output.get("confidence"),
        "chosen": output.get("chosen"),
    }
    kind = next((kind for kind, applies in kinds.items() if applies), "unchecked")
    return render(f"trust_{kind}", language)


def confidence_of(
    sql: str,
    result: Result,
    evidence: Evidence,
    estimator: ConfidenceEstimator,
    threshold: float,
    language: Language,
    catalog: Catalog | None = None,
    doubts: Callable[[], Sequence[Message]] = tuple,
    warnings: Callable[[], Sequence[str]] = tuple,
) -> Confidence | None:
    """Return the confidence in `result`, the answer of `sql`; None if there is no estimate.

    The reasons, in words of `language`, are `doubts` about the statement, `warnings` of the static checks, and what
    `evidence` shows.
    """
    evidence = with_result(evidence, result["rows"])
    value = estimator.estimate(evidence)
    if value is None:
        return None
    if evidence.get("findings"):
        # However likely the statement: hardly any right one has a finding.
        value = min(value, max(0.0, round(threshold - _BELOW_THRESHOLD, 4)))
    is_low = value < threshold
    against = [one.in_language(language) for one in doubts()]
    for warning in list(warnings())[:1] if evidence.get("findings") else ():
        against.append(render("query_warning", language, warning=warning))
    agreement = _FULL_AGREEMENT if is_low else _LOW_AGREEMENT
    against += [render(code, language, **facts) for code, facts in _shown(sql, evidence, catalog, agreement, language)]
    if not against:
        is_unlikely = is_low or evidence.get("logprob", 0.0) < _LOW_LOGPROB
        against = [render("model_uncertain" if is_unlikely else "nothing_against", language)]
    reason = CONVENTIONS[language].semicolon.join(against[:_MAX_REASONS])
    word = render("trust_unsure" if is_low else "trust_likely", language)
    return Confidence(value=value, word=word, reason=reason)


def _shown(
    sql: str, evidence: Evidence, catalog: Catalog | None, agreement: float, language: Language
) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield what `evidence` shows against a statement as messages with their facts.

    Other statements count as a reason if the agreement is less than `agreement`.
    """
    if evidence.get("violations"):
        yield "question_not_followed", {}
    if not evidence.get("gives_rows", True):
        yield "query_gives_nothing", {}
    if evidence.get("agreement", 1.0) < agreement:
        from datasphinx.agent.embedded.readings import difference

        rivals = evidence.get("rivals")
        found = difference(sql, rivals[0], catalog, language) if catalog and rivals else ""
        yield ("rival_query", {"difference": found}) if found else ("queries_disagree", {})
