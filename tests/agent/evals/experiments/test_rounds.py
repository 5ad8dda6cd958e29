"""The methods round by round, over a scripted conversation."""

import json
from collections.abc import Callable

import pytest

from datasphinx.agent.evals.experiments.log import Exchange, QuestionLog, Usage, log_from_json
from datasphinx.agent.evals.experiments.oracles import Feedback
from datasphinx.agent.evals.experiments.rounds import (
    METHODS,
    QuestionRun,
    Turn,
    baseline,
    clarify,
    clarify_early_stop,
    simple_feedback,
)
from datasphinx.agent.evals.report import Outcome
from tests.agent.evals.experiments.turns import FakeSession, answered, asked, call, made

RIGHT, WRONG = "SELECT 'right'", "SELECT 'wrong'"
NOTHING = call("AmbiguityReview", '{"no_ambiguity": true}', "review")


def judged(turn: Turn) -> Outcome:
    error = turn.output["error"]["code"] if turn.output["error"] else None
    sql = turn.output["sql"]
    return Outcome("q", sql == RIGHT, error, None, sql, llm_calls=1, tokens=15, cost_usd=0.01, seconds=1.0)


def answering(turn: Turn) -> Feedback:
    return Feedback("2", Exchange("the oracle's prompt", "2"), Usage(1, 7, 0.5))


def played(method: Callable[[QuestionRun], None], *turns: Turn, rounds: int = 4) -> tuple[QuestionLog, FakeSession]:
    session = FakeSession(*turns)
    log = QuestionLog("q", "shop", "Which?")
    method(QuestionRun(session, judged, answering, rounds, log))
    return log, session


def orders(log: QuestionLog) -> str:
    """The kinds of entries in their order."""
    kinds = {entry[0]: kind for kind in ("sql", "cq", "feedback") for entry in getattr(log, f"{kind}_log")}
    assert sorted(kinds) == list(range(len(kinds)))
    return " ".join(kinds[at] for at in sorted(kinds))


def test_baseline_asks_once_whatever_comes() -> None:
    log, session = played(baseline, answered(WRONG))

    assert session.heard == [("ask", "never")]
    assert (log.num_cq_asked, log.match, orders(log)) == ("Failed", False, "sql")


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_a_first_answer_that_is_right_ends_every_method(method: Callable[[QuestionRun], None]) -> None:
    log, session = played(method, answered(RIGHT))

    assert session.heard == [("ask", "never")]
    assert (log.num_cq_asked, log.questions_asked, log.match) == (0, 0, True)


def test_simple_feedback_says_wrong_until_it_is_right() -> None:
    log, session = played(simple_feedback, answered(WRONG), answered(WRONG), answered(RIGHT))

    assert session.heard == [("ask", "never"), ("reject", "never"), ("reject", "never")]
    assert (log.num_cq_asked, log.questions_asked) == (2, 0)
    assert [(each.number, each.match) for each in log.rounds] == [(0, False), (1, False), (2, True)]


def test_simple_feedback_gives_up_after_the_rounds() -> None:
    log, session = played(simple_feedback, *[answered(WRONG)] * 4, rounds=3)

    assert (log.num_cq_asked, len(session.heard), orders(log)) == ("Failed", 4, "sql sql sql sql")


def test_clarify_asks_and_generates_with_the_answer() -> None:
    log, session = played(clarify, answered(WRONG), asked("Which one?", "a", "b"), answered(RIGHT))

    assert session.heard == [("ask", "never"), ("reject", "always"), ("answer", "2", "never")]
    assert orders(log) == "sql cq feedback sql"
    assert log.cq_log == [(1, "review", "Which one?\n1) a\n2) b", None)]
    assert log.feedback_log == [(2, "the oracle's prompt", "2", None)]
    assert (log.num_cq_asked, log.questions_asked, log.rounds[1].asked) == (1, 1, True)


def test_what_all_turns_and_the_oracle_cost_is_added_up() -> None:
    log, _ = played(clarify, answered(WRONG), asked("Which one?", "a", "b"), answered(RIGHT))

    assert (log.outcome.llm_calls, log.outcome.tokens, log.outcome.seconds) == (3, 45, 3.0)
    assert log.outcome.cost_usd == pytest.approx(0.03)
    assert log.oracle == Usage(1, 7, 0.5)


def test_clarify_goes_on_where_there_is_no_ambiguity_and_the_round_counts() -> None:
    turns = [answered(WRONG), answered(WRONG, NOTHING), asked("Which one?", "a", "b"), answered(RIGHT)]
    log, session = played(clarify, *turns)

    assert [said[0] for said in session.heard] == ["ask", "reject", "reject", "answer"]
    assert orders(log) == "sql cq sql cq feedback sql"
    assert [entry[2] for entry in log.cq_log] == ["NO AMBIGUITY", "Which one?\n1) a\n2) b"]
    assert (log.num_cq_asked, log.questions_asked) == (2, 1)


def test_early_stop_generates_once_more_and_stops() -> None:
    log, session = played(clarify_early_stop, answered(WRONG), answered(WRONG, NOTHING), answered(RIGHT))

    assert [said[0] for said in session.heard] == ["ask", "reject"]
    assert (log.num_cq_asked, orders(log), len(session.turns)) == ("Failed", "sql cq sql", 1)


def test_a_round_in_which_nobody_reviewed_has_its_entry_too() -> None:
    log, _ = played(clarify, answered(WRONG), answered(RIGHT))

    assert log.cq_log == [(1, "", "NO AMBIGUITY", None)]


def test_early_stop_may_come_right_with_the_last_statement() -> None:
    log, _ = played(clarify_early_stop, answered(WRONG), answered(RIGHT, NOTHING))

    assert (log.num_cq_asked, log.questions_asked, log.match) == (1, 0, True)


def test_clarify_ends_after_its_rounds() -> None:
    turns = [answered(WRONG), *[asked("Which one?", "a", "b"), answered(WRONG)] * 2]
    log, _ = played(clarify, *turns, rounds=2)

    assert (log.num_cq_asked, log.questions_asked, len(log.rounds)) == ("Failed", 2, 3)


def test_an_answer_that_failed_is_a_round_like_another() -> None:
    failed = Turn(made(error={"code": "sql_not_generated", "message": ""}), [])
    log, _ = played(simple_feedback, failed, answered(RIGHT))

    assert [(each.error, each.match) for each in log.rounds] == [("sql_not_generated", False), (None, True)]


def test_a_model_that_cannot_be_reached_ends_the_rounds() -> None:
    gone = Turn(made(error={"code": "model_unreachable", "message": ""}), [])
    log, session = played(clarify, answered(WRONG), gone, answered(RIGHT))

    assert (len(session.heard), log.outcome.error, log.num_cq_asked) == (2, "model_unreachable", "Failed")


def test_a_log_is_the_same_after_it_was_written_and_read() -> None:
    log, _ = played(clarify, answered(WRONG), asked("Which one?", "a", "b"), answered(RIGHT))

    assert log_from_json(json.loads(json.dumps(log.as_json()))) == log
