"""Run a whole experiment with the configured model, from the questions to the report."""

import logging
import queue
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import URL

from benchmarks.experiments.folder import ExperimentFolder, read_logs, settings_of
from benchmarks.experiments.log import Body, ChooseCall, EventCapture, QuestionLog, last_call
from benchmarks.experiments.match import MATCH_BY
from benchmarks.experiments.options import MAX_ROUNDS, MatchRule, Method, OracleName
from benchmarks.experiments.oracles import Feedback, ModelOracle, Oracle, RuleOracle, option_statements
from benchmarks.experiments.report import write_report
from benchmarks.experiments.rounds import (
    METHODS,
    GraphSession,
    QuestionRun,
    Session,
    Turn,
)
from datasphinx.agent.embedded.candidates import read_candidate
from datasphinx.agent.errors import UNREACHABLE, DatasphinxError, InternalError, exit_code_of
from datasphinx.agent.evals.datasets import Dataset, Question, find_databases
from datasphinx.agent.evals.report import Outcome, Progress, Report
from datasphinx.agent.evals.run import evaluation_settings, judge
from datasphinx.agent.llm.client import ModelClient, WrittenText
from datasphinx.agent.llm.logprobs import Logprobs
from datasphinx.agent.record.recorder import Recorder
from datasphinx.agent.services import Services
from datasphinx.agent.settings import Settings
from datasphinx.agent.sources.source import Source
from datasphinx.agent.types import EmbeddedOptions

Task = TypeVar("Task")
Result = TypeVar("Result")


def in_parallel(work: Callable[[Task], Result], tasks: Iterable[Task], workers: int) -> Iterator[Result]:
    """Yield the results of `work` for each of `tasks`, in order of completion; with one worker, in order.

    An error of `work` is raised here, and no further task is started. The threads are daemons, so Ctrl-C ends the
    process without waiting for a model.
    """
    if workers == 1:
        yield from map(work, tasks)
        return
    waiting: queue.SimpleQueue[Task] = queue.SimpleQueue()
    done: queue.SimpleQueue[Result | BaseException] = queue.SimpleQueue()
    count = 0
    for task in tasks:
        waiting.put(task)
        count += 1
    stopped = threading.Event()

    def run() -> None:
        while not stopped.is_set():
            try:
                task = waiting.get_nowait()
            except queue.Empty:
                return
            try:
                done.put(work(task))
            except BaseException as error:
                stopped.set()
                done.put(error)

    for _ in range(min(workers, count)):
        threading.Thread(target=run, daemon=True).start()
    try:
        for _ in range(count):
            result = done.get()
            if isinstance(result, BaseException):
                raise result
            yield result
    finally:
        stopped.set()


logger = logging.getLogger("datasphinx")

Converse = Callable[[Services, Question, str], Session]
"""Starts the conversation about a question to the database with a URL."""


@dataclass(frozen=True)
class Experiment:
    """The configuration of an experiment."""

    services: Services
    method: Callable[[QuestionRun], None]
    oracle: Oracle
    rounds: int
    rule: MatchRule
    parallel: int
    converse: Converse

    def run(
        self,
        questions: Sequence[Question],
        databases: Mapping[str, Path],
        folder: ExperimentFolder,
        on_progress: Progress,
    ) -> list[QuestionLog]:
        """Return the logs of all `questions` in order, including those finished in an earlier run.

        `databases` has a SQLite file for each `db_id`. A failed question does not end the run. A question that failed
        because the model or the database was unreachable is run again.

        Raises:
            DatasetInvalid: The folder has a line that is not a log.
        """
        logs = read_logs(folder.path)

        def is_finished(question_id: str) -> bool:
            error = logs[question_id].outcome.error if question_id in logs else None
            return question_id in logs and (error is None or exit_code_of(error) != UNREACHABLE)

        done = {question.id: logs[question.id] for question in questions if is_finished(question.id)}
        report = Report([log.outcome for log in done.values()])
        on_progress(report, len(questions))

        def work(question: Question) -> QuestionLog:
            log = self._run_question(question, databases[question.db_id])
            folder.append(log)
            return log

        for log in in_parallel(work, [question for question in questions if question.id not in done], self.parallel):
            done[log.id] = log
            report.outcomes.append(log.outcome)
            on_progress(report, len(questions))
        return [done[question.id] for question in questions]

    def _run_question(self, question: Question, database: Path) -> QuestionLog:
        log = QuestionLog(question.id, question.db_id, question.question)
        url = URL.create("sqlite", database=str(database.absolute())).render_as_string()
        try:
            source = self.services.source(url)
            self.method(self._question_run(question, url, source, log))
        except DatasphinxError as error:
            log.count(Outcome(question.id, error=error.code, reason=str(error)))
        except Exception as error:
            # Any failure is the outcome of this question, so that the other outcomes are kept.
            logger.exception("[EVAL] question %s failed", question.id)
            log.count(Outcome(question.id, error=InternalError.code, reason=f"{type(error).__name__}: {error}"))
        return log

    def _question_run(self, question: Question, url: str, source: Source, log: QuestionLog) -> QuestionRun:
        def verdict(turn: Turn) -> Outcome:
            return replace(judge(question, source, turn.output, MATCH_BY[self.rule]), seconds=turn.seconds)

        def feedback(turn: Turn) -> Feedback:
            clarification = turn.output["clarification"]
            assert clarification is not None, "the oracle is called only for a question"
            statements = option_statements(clarification, turn.events)
            return self.oracle.answer(question, clarification, statements, source)

        session = self.converse(self.services, question, url)
        return QuestionRun(session, verdict, feedback, self.rounds, log, self._choose_call(question, source))

    def _choose_call(self, question: Question, source: Source) -> ChooseCall:
        if self.services.models.embedded is None:
            return last_call

        def candidate(calls: Sequence[Body], statement: str) -> Body:
            """Return the call of the selected candidate; the first one if a repair changed its text."""
            for call in calls:
                written = WrittenText(call["output"])
                read = read_candidate(written, source, question=question.question)
                if read.sql == statement:
                    return call
            return calls[0]

        return candidate


SELF_DEBUGGING: dict[str, Any] = {"effort": "low", "enable_sql_validation": False, "max_sql_generations": 1}
"""Settings under which the agent works as the published program: a failing statement is repaired once by the model from
the text of its error, and nothing else is checked by the model."""


@dataclass(frozen=True)
class Plan:
    """How to run an experiment. By default the oracle is the model, or the rule for the embedded model.

    `recorded` has by the id of a question the statement of its first answer, which the model does not write then.
    """

    out: Path
    method: Method = Method.BASELINE
    oracle: OracleName | None = None
    oracle_model: ModelClient | None = None
    """The model of the oracle, by default that of the experiment."""
    rounds: int = MAX_ROUNDS
    parallel: int = 1
    rule: MatchRule = MatchRule.PROJECT
    recorded: Mapping[str, str] = field(default_factory=dict)


def run_method(
    dataset: Dataset, settings: Settings, plan: Plan, on_progress: Progress, embedded: EmbeddedOptions | None = None
) -> tuple[dict[str, Any], str]:
    """Run `plan.method` on `dataset`; return the report and its table, and write the logs to `plan.out`.

    The baseline and the simple feedback run with `SELF_DEBUGGING`.

    Raises:
        DatasetInvalid: A database is missing, or `plan.out` has another experiment.
        ConfigurationError, DriverMissing, Unavailable: The model is unavailable.
    """
    if plan.method in (Method.BASELINE, Method.SIMPLE_FEEDBACK):
        settings = settings.model_copy(update=SELF_DEBUGGING)
    services = services_for(settings, embedded)
    method = METHODS[plan.method]
    folder, logs = run_with(services, dataset, plan, plan.method.value, method, on_progress)
    return write_report(folder, logs)


def run_with(
    services: Services,
    dataset: Dataset,
    plan: Plan,
    name: str,
    method: Callable[[QuestionRun], None],
    on_progress: Progress,
) -> tuple[ExperimentFolder, list[QuestionLog]]:
    """Run `method`, called `name`, over `services` from `services_for`; return the folder and the logs.

    Raises:
        DatasetInvalid: A database is missing, or `plan.out` has another experiment.
    """
    files = find_databases(dataset)
    uses_oracle = name not in (Method.BASELINE, Method.SIMPLE_FEEDBACK)
    has_model = plan.oracle_model or not services.models.embedded
    kind = plan.oracle or (OracleName.MODEL if has_model else OracleName.RULE)
    oracle: Oracle = RuleOracle(plan.rule)
    if uses_oracle and kind is OracleName.MODEL:
        oracle = ModelOracle(plan.oracle_model or services.models.of())
    settings = settings_of(
        services,
        dataset.questions,
        method=name,
        oracle=oracle.name if uses_oracle else None,
        rounds=plan.rounds,
        rule=plan.rule,
        recorded=plan.recorded,
    )

    def converse_from(services: Services, question: Question, url: str) -> Session:
        return GraphSession(services, question.question, url, plan.recorded.get(question.id))

    folder = ExperimentFolder(plan.out, settings)
    experiment = Experiment(services, method, oracle, plan.rounds, plan.rule, plan.parallel, converse_from)
    return folder, experiment.run(dataset.questions, files, folder, on_progress)


def services_for(settings: Settings, embedded: EmbeddedOptions | None = None) -> Services:
    """Return services for experiments: perplexity if the endpoint supports it, and events captured, not stored.

    Raises:
        ConfigurationError, DriverMissing, Unavailable: The model is unavailable.
    """
    update = {"max_clarifications": MAX_ROUNDS}
    run_settings = evaluation_settings(settings).model_copy(update=update)
    services = Services(run_settings, embedded=embedded, recorder=Recorder(EventCapture()))
    if embedded is None:
        services.models.of("generate").logprobs = Logprobs(True)
    # Fail once at the start if the model is unavailable, not for each question.
    _ = services.roles
    return services
