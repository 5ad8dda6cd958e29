"""Runs the questions of an experiment, as many at once as is allowed, and goes on where an earlier run was stopped."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from sqlalchemy import URL

from agent.candidates import read_candidate
from agent.catalog.source import Source
from agent.errors import DatasphinxError, InternalError
from agent.evals.datasets.dataset import Question
from agent.evals.experiments.entries import Body, Chosen, last_call
from agent.evals.experiments.folder import ExperimentFolder, read_logs
from agent.evals.experiments.log import QuestionLog
from agent.evals.experiments.oracle import Feedback, Oracle, statements_of
from agent.evals.experiments.pool import in_parallel
from agent.evals.experiments.rounds import Play
from agent.evals.experiments.session import GraphSession, Session, Turn
from agent.evals.judge import judge
from agent.evals.match_rule import MatchRule
from agent.evals.report import Outcome, Progress, Report
from agent.exit_codes import UNREACHABLE, exit_code_of
from agent.services import Services

logger = logging.getLogger("datasphinx")

Converse = Callable[[Services, Question, str], Session]
"""Begins the conversation about a question to the database with a URL."""


def converse(services: Services, question: Question, url: str) -> Session:
    """Return a conversation with the graph over `services`."""
    return GraphSession(services, question.asked, url)


@dataclass(frozen=True)
class Experiment:
    """What is done with each question."""

    services: Services
    method: Callable[[Play], None]
    oracle: Oracle
    rounds: int
    rule: MatchRule
    parallel: int = 1
    converse: Converse = converse

    def run(
        self,
        questions: Sequence[Question],
        databases: Mapping[str, Path],
        folder: ExperimentFolder,
        on_progress: Progress,
    ) -> list[QuestionLog]:
        """Return the logs of all `questions` in their order, those that were done before among them.

        `databases` has a SQLite file for each `db_id`. No question that fails ends the run. One that ended because the
        model or the database could not be reached is asked again.

        Raises:
            DatasetInvalid: the folder has a line that is no log.
        """
        known = read_logs(folder.path)
        done = {each.id: known[each.id] for each in questions if each.id in known and not _was_cut_off(known[each.id])}
        report = Report([log.outcome for log in done.values()], self.rule)
        on_progress(report, len(questions))

        def work(question: Question) -> QuestionLog:
            log = self._worked(question, databases[question.db_id])
            folder.append(log)
            return log

        for log in in_parallel(work, [each for each in questions if each.id not in done], self.parallel):
            done[log.id] = log
            report.outcomes.append(log.outcome)
            on_progress(report, len(questions))
        return [done[question.id] for question in questions]

    def _worked(self, question: Question, database: Path) -> QuestionLog:
        log = QuestionLog(question.id, question.db_id, question.asked)
        url = URL.create("sqlite", database=str(database.absolute())).render_as_string()
        try:
            source = self.services.source(url)
            self.method(self._play(question, url, source, log))
        except DatasphinxError as error:
            log.count(Outcome(question.id, error=error.code, reason=str(error)))
        except Exception as error:
            # Whatever breaks is this question's result: the figures of all the others must not be lost with it.
            logger.exception("[EVAL] question %s failed", question.id)
            log.count(Outcome(question.id, error=InternalError.code, reason=f"{type(error).__name__}: {error}"))
        return log

    def _play(self, question: Question, url: str, source: Source, log: QuestionLog) -> Play:
        def verdict(turn: Turn) -> Outcome:
            return replace(judge(question, source, turn.output, self.rule), seconds=turn.seconds)

        def feedback(turn: Turn) -> Feedback:
            asked = turn.output["clarification"]
            assert asked is not None, "the oracle is asked where there is a question"
            return self.oracle.answer(question, asked, statements_of(asked, turn.events), source)

        session = self.converse(self.services, question, url)
        return Play(session, verdict, feedback, self.rounds, log, self._chosen(question, source))

    def _chosen(self, question: Question, source: Source) -> Chosen:
        options = self.services.embedded
        if options is None:
            return last_call

        def candidate(calls: Sequence[Body], statement: str) -> Body:
            """Return the candidate that was voted for; the likeliest where a repair hides which it was."""
            for call in calls:
                read = read_candidate(call["output"], source, may_repair=options.repair, question=question.asked)
                if read.sql == statement:
                    return call
            return calls[0]

        return candidate


def _was_cut_off(log: QuestionLog) -> bool:
    return log.outcome.error is not None and exit_code_of(log.outcome.error) == UNREACHABLE
