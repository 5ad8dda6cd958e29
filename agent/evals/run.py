"""Run questions with known SQL through the whole graph, and compare the rows."""

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

from langchain_core.messages import BaseMessage
from sqlalchemy import URL

from datasphinx.agent.errors import DatasphinxError, InternalError
from datasphinx.agent.evals.datasets import Dataset, Question, find_databases, read_predictions, require_predictions
from datasphinx.agent.evals.match import Match, results_match
from datasphinx.agent.evals.report import Outcome, Progress, Report, overlaps, progress_bar
from datasphinx.agent.graph import Graph, build_graph
from datasphinx.agent.llm.schemas import GeneratedSQL
from datasphinx.agent.llm.scripted import Scripted, ScriptedModel
from datasphinx.agent.services import Services
from datasphinx.agent.settings import Settings
from datasphinx.agent.sources.source import Source
from datasphinx.agent.sql.validation import find_problem
from datasphinx.agent.state import Input, Output
from datasphinx.agent.types import EmbeddedOptions

STATEMENT_TIMEOUT_S = 120.0
"""Time limit of a statement in an evaluation, in seconds."""
ROW_LIMIT = 1_000_000
"""Row limit in an evaluation, high enough that no result is truncated."""


_UNLIMITED = 10**9


REFERENCE_FAILED = "reference_failed"
"""Error code of a question whose reference SQL fails."""
ASKED_BACK = "needs_clarification"
"""Error code of a question that was answered with a clarifying question."""


def evaluation_settings(settings: Settings) -> Settings:
    """Return `settings` for an evaluation: higher limits, and no recording."""
    limits = {"statement_timeout_s": STATEMENT_TIMEOUT_S, "row_limit": ROW_LIMIT}
    return settings.model_copy(update={**limits, "record": False})


__all__ = ["Outcome", "Progress", "Report", "evaluate", "progress_bar", "replay", "run"]

logger = logging.getLogger("datasphinx")


def replay(
    dataset: Dataset,
    predictions: Path,
    limit: int | None,
    settings: Settings,
    on_progress: Progress,
) -> Report:
    """Run the recorded SQL in `predictions` through the graph as the model's answers, for the first questions."""
    recorded = read_predictions(predictions, dataset.questions)
    part = dataset.first(limit)
    require_predictions(part.questions, recorded, predictions)
    services_for = _recorded_services(recorded, settings)
    return evaluate(part.questions, find_databases(part), services_for, on_progress)


def run(
    dataset: Dataset,
    settings: Settings,
    on_progress: Progress,
    embedded: EmbeddedOptions | None = None,
) -> Report:
    """Run the questions with the configured model, the embedded one with `embedded`, and compare the rows."""
    files = find_databases(dataset)
    services = Services(evaluation_settings(settings), embedded=embedded)
    # Fail once at the start if the model is unavailable, not for each question.
    _ = services.roles
    return evaluate(dataset.questions, files, lambda _: services, on_progress)


def evaluate(
    questions: list[Question],
    databases: Mapping[str, Path],
    services_for: Callable[[Question], Services],
    on_progress: Progress,
) -> Report:
    """Return the outcomes of `questions`, each run in the graph over its services.

    A failed question does not end the run. `databases` has a SQLite file for each `db_id`.
    """
    report = Report()
    graph_over = lru_cache(maxsize=1)(build_graph)
    on_progress(report, len(questions))
    for question in questions:
        services = services_for(question)
        url = URL.create("sqlite", database=str(databases[question.db_id].absolute())).render_as_string()
        report.outcomes.append(_outcome(question, url, services, graph_over(services)))
        on_progress(report, len(questions))
    return report


def _recorded_services(recorded: Mapping[str, str], settings: Settings) -> Callable[[Question], Services]:
    """Return a function that gives services whose model answers with the recorded SQL of a question.

    Other model calls are not recorded: the whole schema is shown, so no tables are chosen; a validation, which the
    settings decide about, confirms the statement; and the rows themselves are the answer.
    """
    current_sql = ""

    def statement(messages: list[BaseMessage]) -> dict[str, Any]:
        return {"sql": current_sql}

    answers: dict[str, list[Scripted]] = {
        "GeneratedSQL": [statement],
        "SQLValidation": [{"is_valid": True}],
        "NarratedAnswer": [{"answer": "", "output_type": "dataframe"}],
    }
    model = ScriptedModel(answers, repeat_last=True)
    # Recorded answers are free, so no cost limit may end a question.
    free = dict.fromkeys(("schema_token_budget", "max_llm_calls", "max_llm_tokens", "max_question_s"), _UNLIMITED)
    services = Services(evaluation_settings(settings).model_copy(update=free), model=model)

    def services_for(question: Question) -> Services:
        nonlocal current_sql
        current_sql = recorded[question.id]
        model.calls.clear()
        return services

    return services_for


def _outcome(question: Question, url: str, services: Services, graph: Graph) -> Outcome:
    try:
        source = services.source(url)
        graph_input = Input(question=question.question, source=url, clarify="never")
        started = time.perf_counter()
        output = cast(Output, graph.invoke(graph_input))
        seconds = time.perf_counter() - started
        return replace(judge(question, source, output), seconds=seconds)
    except DatasphinxError as error:
        return Outcome(question.id, error=error.code, reason=str(error))
    except Exception as error:
        # Any failure is the outcome of this question, so that the other outcomes are kept.
        logger.exception("[EVAL] question %s failed", question.id)
        return Outcome(question.id, error=InternalError.code, reason=f"{type(error).__name__}: {error}")


def judge(question: Question, source: Source, output: Output, match: Match = results_match) -> Outcome:
    """Compare the graph's answer with the rows of the reference query, by default by the project's rule."""
    audit = output["audit"]
    tokens = audit["prompt_tokens"] + audit["completion_tokens"]
    calls_by_step = [
        [call for call in step["calls"] if call["schema"] == GeneratedSQL.__name__] for step in audit["steps"]
    ]
    calls = [call for calls in calls_by_step for call in calls]
    tables, columns = overlaps(output.get("sql"), question.sql, source.catalog)
    confidence = output.get("confidence")
    outcome = Outcome(
        question.id,
        sql=output.get("sql"),
        llm_calls=audit["llm_calls"],
        tokens=tokens,
        generations=sum(map(bool, calls_by_step)),
        written_tokens=sum(call["completion_tokens"] for call in calls),
        writing_s=sum(call["latency_ms"] for call in calls) / 1000,
        cost_usd=audit["llm_cost_usd"],
        confidence=confidence["value"] if confidence else None,
        tables=tables,
        columns=columns,
    )
    code, reason = _failure(output, source)
    if code:
        return replace(outcome, error=code, reason=reason)
    try:
        reference = source.execute(question.sql)
    except DatasphinxError as error:
        return replace(outcome, error=REFERENCE_FAILED, reason=str(error))
    return replace(outcome, match=match(reference, output["tables"][0], question.sql, source.catalog.dialect))


def _failure(output: Output, source: Source) -> tuple[str | None, str | None]:
    """Return code and reason of an output without rows; None twice if there is an answer.

    The graph reports each failed statement as `sql_not_generated`. The guard and the catalog are asked again for the
    specific problem, which is deterministic, instead of parsing the error message.
    """
    error, sql = output.get("error"), output.get("sql")
    if not error:
        return (None, None) if output.get("tables") else (ASKED_BACK, output.get("answer"))
    code = error["code"]
    if code == "sql_not_generated" and sql:
        problem = find_problem(sql, source.catalog)
        code = problem.code if problem else code
    return code, output["answer"]
