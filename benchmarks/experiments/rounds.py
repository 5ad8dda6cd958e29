"""The methods: the procedure of each round, until an answer is right or the rounds are exhausted.

They follow Sphinteract (Zhao et al., VLDB 2025). `baseline` writes one statement and, if it fails, another one from the
text of the error. `simple_feedback` is the paper's self-debugging: the model sees only its wrong statements, of which
those that fail are repaired once in the same way. `clarify` is its Summarize, Review, Ask; `clarify_early_stop` stops
at NO AMBIGUITY. The published program then stops immediately; here one more statement is generated.
"""

import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, cast

from langgraph.checkpoint.memory import InMemorySaver

from benchmarks.experiments.log import (
    ChooseCall,
    Exchange,
    QuestionLog,
    Round,
    ambiguity_review,
    capture_events,
    format_clarification,
    generated_statements,
    last_call,
)
from benchmarks.experiments.options import NO_AMBIGUITY, Method
from benchmarks.experiments.oracles import Feedback
from datasphinx.agent.errors import UNREACHABLE, exit_code_of
from datasphinx.agent.evals.report import Outcome
from datasphinx.agent.generation.attempts import attempts_with
from datasphinx.agent.graph import build_graph
from datasphinx.agent.record.events import Event
from datasphinx.agent.services import Services
from datasphinx.agent.state import Output
from datasphinx.agent.types import Clarify
from datasphinx.agent.types import Turn as Answered


@dataclass(frozen=True)
class Turn:
    """The result of one run of the graph: its output, its recorded events, and its duration in seconds."""

    output: Output
    events: list[Event]
    seconds: float = 0.0


class Session(Protocol):
    """A conversation. Unless `clarify` is "never", a turn may end in a clarifying question."""

    def ask(self, clarify: Clarify = "never") -> Turn:
        """Send the question."""

    def reject(self, clarify: Clarify = "never") -> Turn:
        """Reject the last answer without a comment."""

    def answer(self, text: str, clarify: Clarify = "never") -> Turn:
        """Answer the clarifying question, by the number of an option or in words."""


class GraphSession:
    """A conversation on a thread of its own graph, with an in-memory checkpoint."""

    def __init__(self, services: Services, question: str, source: str, statement: str | None = None) -> None:
        """Set the question and the database URL; the recorder of `services` uses an `EventCapture`.

        The first answer is that of `statement`, which was recorded, in place of one that the model writes.
        """
        self._graph = build_graph(services, InMemorySaver())
        self._question, self._source, self._statement = question, source, statement
        self._thread = {"configurable": {"thread_id": uuid.uuid4().hex}}
        self._last: Output | None = None
        self._was_answered = False

    def ask(self, clarify: Clarify = "never") -> Turn:
        """Send the question."""
        graph_input = {"question": self._question, "source": self._source, "clarify": clarify}
        if self._statement is None:
            return self._run(graph_input)
        thread = cast(Any, self._thread)
        self._graph.invoke(cast(Any, graph_input), thread, interrupt_before=["generate_sql"])
        update = {"sql_request": self._statement, "attempts": attempts_with([], self._statement, "model")}
        self._graph.update_state(thread, update, as_node="generate_sql")
        self._statement = None
        return self._run(None)

    def reject(self, clarify: Clarify = "never") -> Turn:
        """Reject the last answer, or the last statement if it failed; without one, send the question again."""
        failed_sql = self._last.get("sql") if self._last and self._last.get("error") else None
        if failed_sql:
            # As in the published program, a statement that fails is one of the wrong statements that the model sees.
            turn = Answered(question=self._question, sql=failed_sql, answer="", clarifications=[])
            self._graph.update_state(cast(Any, self._thread), {"turns": [turn]}, as_node="answer")
            self._was_answered = True
        if not self._was_answered:
            return self.ask(clarify)
        return self._run({"feedback": {"accepted": False, "comment": ""}, "clarify": clarify})

    def answer(self, text: str, clarify: Clarify = "never") -> Turn:
        """Answer the clarifying question."""
        return self._run({"clarification_answer": text, "clarify": clarify})

    def _run(self, graph_input: dict[str, Any] | None) -> Turn:
        started = time.perf_counter()
        with capture_events() as events:
            output = cast(Output, self._graph.invoke(cast(Any, graph_input), cast(Any, self._thread)))
        self._last = output
        self._was_answered = self._was_answered or not (output.get("error") or output.get("clarification"))
        return Turn(output, events, time.perf_counter() - started)


@dataclass
class QuestionRun:
    """The run of one question: the conversation, its judge and oracle, and its log."""

    session: Session
    judge: Callable[[Turn], Outcome]
    """Compares the answer of a turn with the reference."""
    oracle: Callable[[Turn], Feedback]
    """Answers the clarifying question of a turn."""
    rounds: int
    log: QuestionLog
    choose: ChooseCall = last_call

    def finish_round(self, number: int, turn: Turn, *, was_asked: bool = False) -> bool:
        """Log the outcome of round `number`; return whether the run has to end.

        It ends with a match, or if the model or the database is unreachable.
        """
        for exchange in generated_statements(turn.events, self.choose):
            self.log.add("sql", exchange)
        outcome = self.judge(turn)
        log = self.log
        log.count(outcome)
        log.rounds.append(Round(number, outcome.match, outcome.sql, outcome.error, was_asked))
        if outcome.match:
            log.num_cq_asked = number
        return outcome.match or (outcome.error is not None and exit_code_of(outcome.error) == UNREACHABLE)

    def resolve_clarification(self, turn: Turn, clarify: Clarify = "never") -> tuple[Turn, bool]:
        """Let the oracle answer the clarifying question of `turn`.

        Returns the next turn and True; without a question, `turn` and False.
        """
        review, clarification = ambiguity_review(turn.events), turn.output.get("clarification")
        if review or clarification or not turn.output.get("error"):
            text = format_clarification(clarification) if clarification else NO_AMBIGUITY
            self.log.add("cq", Exchange(review.prompt if review else "", text, review.perplexity if review else None))
        if not clarification:
            return turn, False
        self.log.count(self.judge(turn))
        feedback = self.oracle(turn)
        self.log.add("feedback", feedback.exchange)
        self.log.count_feedback(feedback.usage)
        return self.session.answer(feedback.answer, clarify), True


def baseline(run: QuestionRun) -> None:
    """Generate one answer, with the agent's own error handling."""
    run.finish_round(0, run.session.ask())


def simple_feedback(run: QuestionRun) -> None:
    """Reject the answer without a comment until it is right."""
    number, turn = 0, run.session.ask()
    while not run.finish_round(number, turn) and number < run.rounds:
        number, turn = number + 1, run.session.reject()


def clarify(run: QuestionRun, *, early_stop: bool = False) -> None:
    """Reject the answer, and answer clarifying questions, until it is right; NO AMBIGUITY counts as a round."""
    if run.finish_round(0, run.session.ask()):
        return
    for number in range(1, run.rounds + 1):
        turn, was_asked = run.resolve_clarification(run.session.reject("always"))
        if run.finish_round(number, turn, was_asked=was_asked) or (early_stop and not was_asked):
            return


def clarify_early_stop(run: QuestionRun) -> None:
    """Like `clarify`, but stop after the first round without a question."""
    clarify(run, early_stop=True)


METHODS: dict[Method, Callable[[QuestionRun], None]] = {
    Method.BASELINE: baseline,
    Method.SIMPLE_FEEDBACK: simple_feedback,
    Method.CLARIFY: clarify,
    Method.CLARIFY_EARLY_STOP: clarify_early_stop,
}
