"""Whether what the graph said holds what the reference statement gives."""

from dataclasses import replace

from agent.catalog.source import Source
from agent.errors import DatasphinxError, SqlNotGenerated
from agent.evals.datasets.dataset import Question
from agent.evals.match import accepts
from agent.evals.match_rule import MatchRule
from agent.evals.naming import overlaps
from agent.evals.report import Outcome
from agent.models.schemas import GeneratedSQL
from agent.sql.preflight import objection
from agent.state import Output

REFERENCE_FAILED = "reference_failed"
"""Code of a question whose own reference statement does not run."""
ASKED_BACK = "needs_clarification"
"""Code of a question that was answered with a question."""


def judge(question: Question, source: Source, output: Output, rule: MatchRule) -> Outcome:
    """Return the outcome for what the graph said, by running the reference statement through the same choke point."""
    audit = output["audit"]
    tokens = audit["prompt_tokens"] + audit["completion_tokens"]
    writing = [[call for call in step["calls"] if call["schema"] == GeneratedSQL.__name__] for step in audit["steps"]]
    written = [call for calls in writing for call in calls]
    tables, columns = overlaps(output.get("sql"), question.sql, source.catalog)
    outcome = Outcome(
        question.id,
        sql=output.get("sql"),
        llm_calls=audit["llm_calls"],
        tokens=tokens,
        generations=sum(map(bool, writing)),
        written_tokens=sum(call["completion_tokens"] for call in written),
        writing_s=sum(call["latency_ms"] for call in written) / 1000,
        cost_usd=audit["llm_cost_usd"],
        tables=tables,
        columns=columns,
    )
    code, reason = _why_unanswered(output, source)
    if code:
        return replace(outcome, error=code, reason=reason)
    try:
        reference = source.execute(question.sql)
    except DatasphinxError as error:
        return replace(outcome, error=REFERENCE_FAILED, reason=str(error))
    match = accepts(rule, reference, output["tables"][0], sql=question.sql, dialect=source.catalog.dialect)
    return replace(outcome, match=match)


def _why_unanswered(output: Output, source: Source) -> tuple[str | None, str | None]:
    """Return code and reason of an output without rows; None twice where there is an answer.

    The graph ends every failed statement as `sql_not_generated`. What stopped the last one is asked of the guard and
    the catalog again, which say the same of the same statement, rather than read out of the error's text.
    """
    error, sql = output.get("error"), output.get("sql")
    if not error:
        return (None, None) if output.get("tables") else (ASKED_BACK, output.get("answer"))
    code = error["code"]
    if code == SqlNotGenerated.code and sql:
        problem = objection(sql, source.catalog)
        code = problem.code if problem else code
    return code, output["answer"]
