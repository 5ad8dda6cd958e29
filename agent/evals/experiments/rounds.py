"""The methods: what is done, round by round, until an answer is right or the rounds are over.

They are those of Sphinteract (Zhao et al., VLDB 2025). `simple_feedback` is the paper's self-debugging, in which the
model sees its wrong statements and nothing else; `clarify` is its Summarize, Review, Ask; `clarify_early_stop` stops at
NO AMBIGUITY. Where the published program stops at once, a statement is generated once more here.
"""

from collections.abc import Callable
from dataclasses import dataclass

from agent.clarify.types import Clarify
from agent.evals.experiments.entries import Chosen, Said, last_call, review_in, shown, statements_in
from agent.evals.experiments.log import QuestionLog, Round
from agent.evals.experiments.method import NO_AMBIGUITY, Method
from agent.evals.experiments.oracle import Feedback
from agent.evals.experiments.session import Session, Turn
from agent.evals.report import Outcome
from agent.exit_codes import UNREACHABLE, exit_code_of


@dataclass
class Play:
    """One question at work: the conversation, who judges and who answers in it, and the log that it fills."""

    session: Session
    judge: Callable[[Turn], Outcome]
    """Says whether an answer is right."""
    oracle: Callable[[Turn], Feedback]
    """Answers the question that a turn came back with."""
    rounds: int
    log: QuestionLog
    chosen: Chosen = last_call

    def is_over(self, number: int, turn: Turn, *, asked: bool = False) -> bool:
        """Write down how round `number` ended; return whether the answer is right, or nobody can be asked any more."""
        self._hear(turn)
        outcome = self.judge(turn)
        log = self.log
        log.count(outcome)
        log.rounds.append(Round(number, outcome.match, outcome.sql, outcome.error, asked))
        if outcome.match:
            log.num_cq_asked = number
        return outcome.match or (outcome.error is not None and exit_code_of(outcome.error) == UNREACHABLE)

    def clarified(self, turn: Turn, clarify: Clarify = "never") -> tuple[Turn, bool]:
        """Return the turn after the oracle has answered what `turn` came back with, and whether there was anything."""
        review, clarification = review_in(turn.events), turn.output.get("clarification")
        if review or clarification or not turn.output.get("error"):
            put = shown(clarification) if clarification else NO_AMBIGUITY
            self.log.add("cq", Said(review.prompt if review else "", put, review.perplexity if review else None))
        if not clarification:
            return turn, False
        self.log.count(self.judge(turn))
        feedback = self.oracle(turn)
        self.log.add("feedback", feedback.said)
        self.log.count_feedback(feedback.spent)
        return self.session.answer(feedback.answer, clarify), True

    def _hear(self, turn: Turn) -> None:
        for said in statements_in(turn.events, self.chosen):
            self.log.add("sql", said)


def baseline(play: Play) -> None:
    """Generate, with what the agent does about errors by itself, and leave it at that."""
    play.is_over(0, play.session.ask())


def simple_feedback(play: Play) -> None:
    """Say that the answer is wrong, and no more, until it is right."""
    number, turn = 0, play.session.ask()
    while not play.is_over(number, turn) and number < play.rounds:
        number, turn = number + 1, play.session.reject()


def clarify(play: Play, *, early_stop: bool = False) -> None:
    """Say that the answer is wrong, answer what is asked back, until it is right; NO AMBIGUITY counts as a round."""
    if play.is_over(0, play.session.ask()):
        return
    for number in range(1, play.rounds + 1):
        turn, asked = play.clarified(play.session.reject("always"))
        if play.is_over(number, turn, asked=asked) or (early_stop and not asked):
            return


def clarify_early_stop(play: Play) -> None:
    """Do as `clarify`, and stop after the first round in which nothing was asked."""
    clarify(play, early_stop=True)


def ask_when_it_matters(play: Play, when: Clarify = "auto") -> None:
    """Ask before the first answer, where readings differ in result, as the agent does by default; then leave it."""
    turn, asked = play.clarified(play.session.ask(when), when)
    again = asked
    while again and play.log.questions_asked < play.rounds:
        turn, again = play.clarified(turn, when)
    play.is_over(play.log.questions_asked, turn, asked=asked)


METHODS: dict[Method, Callable[[Play], None]] = {
    Method.BASELINE: baseline,
    Method.SIMPLE_FEEDBACK: simple_feedback,
    Method.CLARIFY: clarify,
    Method.CLARIFY_EARLY_STOP: clarify_early_stop,
}
