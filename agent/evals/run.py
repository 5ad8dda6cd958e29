"""Runs questions with known statements through the whole graph and compares the rows."""

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

from langchain_core.messages import BaseMessage
from sqlalchemy import URL

from agent.errors import DatasphinxError, InternalError
from agent.evals.datasets.dataset import Dataset, Question, find_databases
from agent.evals.datasets.jsonl import read_predictions, require_predictions
from agent.evals.judge import judge
from agent.evals.limits import measuring
from agent.evals.match_rule import MatchRule
from agent.evals.report import Outcome, Progress, Report, progress_bar
from agent.graph import Graph, build_graph
from agent.models.embedded import EmbeddedOptions
from agent.models.scripted import Scripted, ScriptedModel
from agent.services import Services
from agent.settings import Settings
from agent.state import Input, Output

__all__ = ["Outcome", "Progress", "Report", "evaluate", "progress_bar", "replay", "run"]

logger = logging.getLogger("datasphinx")

_UNLIMITED = 10**9


def replay(
    dataset: Dataset,
    predictions: Path,
    limit: int | None,
    settings: Settings,
    on_progress: Progress,
    rule: MatchRule = MatchRule.PROJECT,
) -> Report:
    """Run the recorded statements of `predictions` through the graph as the model's answers, on the first `limit`.

    Raises:
        DatasetInvalid: a file is missing or broken, or does not fit the others.
    """
    recorded = read_predictions(predictions, dataset.questions)
    asked = dataset.first(limit)
    require_predictions(asked.questions, recorded, predictions)
    services_for = _recorded_services(recorded, settings)
    return evaluate(asked.questions, find_databases(asked), services_for, on_progress, rule)


def run(
    dataset: Dataset,
    settings: Settings,
    on_progress: Progress,
    embedded: EmbeddedOptions | None = None,
    rule: MatchRule = MatchRule.PROJECT,
) -> Report:
    """Run the questions through the graph with the model that `settings` name, and compare the rows by `rule`.

    `embedded` says how the embedded model is decoded; without repair it gets one try at a statement.

    Raises:
        DatasetInvalid: a database is missing.
        ConfigurationError, DriverMissing, EmbeddedModelUnavailable: there is no such model.
    """
    files = find_databases(dataset)
    services = Services(measuring(settings, embedded), embedded=embedded)
    # A model that cannot be had is one error at the start, and not one for each question.
    _ = services.model
    return evaluate(dataset.questions, files, lambda _: services, on_progress, rule)


def evaluate(
    questions: list[Question],
    databases: Mapping[str, Path],
    services_for: Callable[[Question], Services],
    on_progress: Progress,
    rule: MatchRule = MatchRule.PROJECT,
) -> Report:
    """Return how `questions` end, each in the graph over its services. No question that fails ends the run.

    `databases` has a SQLite file for each `db_id`; rows are compared by `rule`.
    """
    report = Report(rule=rule)
    graph_over = lru_cache(maxsize=1)(build_graph)
    on_progress(report, len(questions))
    for question in questions:
        services = services_for(question)
        url = URL.create("sqlite", database=str(databases[question.db_id].absolute())).render_as_string()
        report.outcomes.append(_outcome(question, url, services, graph_over(services), rule))
        on_progress(report, len(questions))
    return report


def _recorded_services(recorded: Mapping[str, str], settings: Settings) -> Callable[[Question], Services]:
    """Return services whose model says the recorded statement of the question at hand, however often it is asked.

    Nothing else is recorded: the model chooses no tables, since the schema is shown whole, judges no statement, and
    narrates nothing, so that the rows themselves are the answer.
    """
    said = ""

    def statement(messages: list[BaseMessage]) -> dict[str, Any]:
        return {"sql": said}

    answers: dict[str, list[Scripted]] = {
        "GeneratedSQL": [statement],
        "NarratedAnswer": [{"answer": "", "output_type": "dataframe"}],
    }
    model = ScriptedModel(answers, repeat_last=True)
    # What a recording says costs nothing, so no limit on cost may end a question.
    free = dict.fromkeys(("schema_token_budget", "max_llm_calls", "max_llm_tokens", "max_question_s"), _UNLIMITED)
    services = Services(measuring(settings).model_copy(update={**free, "enable_sql_validation": False}), model=model)

    def services_for(question: Question) -> Services:
        nonlocal said
        said = recorded[question.id]
        model.calls.clear()
        return services

    return services_for


def _outcome(question: Question, url: str, services: Services, graph: Graph, rule: MatchRule) -> Outcome:
    try:
        source = services.source(url)
        given = Input(question=question.asked, source=url, clarify="never")
        started = time.perf_counter()
        output = cast(Output, graph.invoke(given))
        seconds = time.perf_counter() - started
        return replace(judge(question, source, output, rule), seconds=seconds)
    except DatasphinxError as error:
        return Outcome(question.id, error=error.code, reason=str(error))
    except Exception as error:
        # Whatever breaks is this question's result: the figures of all the others must not be lost with it.
        logger.exception("[EVAL] question %s failed", question.id)
        return Outcome(question.id, error=InternalError.code, reason=f"{type(error).__name__}: {error}")
