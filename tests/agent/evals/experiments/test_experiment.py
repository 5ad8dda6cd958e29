"""Experiments over scripted conversations, on a real database."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from datasphinx.agent.errors import ModelUnreachable
from datasphinx.agent.evals.datasets import Question
from datasphinx.agent.evals.experiments.folder import ExperimentFolder, read_logs
from datasphinx.agent.evals.experiments.log import QuestionLog
from datasphinx.agent.evals.experiments.oracles import RuleOracle
from datasphinx.agent.evals.experiments.rounds import Turn, clarify, simple_feedback
from datasphinx.agent.evals.experiments.run import Experiment
from datasphinx.agent.evals.options import MatchRule
from datasphinx.agent.evals.report import Report
from datasphinx.agent.llm.scripted import ScriptedModel
from datasphinx.agent.services import Services
from datasphinx.agent.settings import Settings
from datasphinx.agent.sources.source import Source
from tests.agent.evals.experiments.turns import FakeSession, asked, made, written

Ask = Callable[..., Question]
GOLD, WRONG = "SELECT name FROM product WHERE price > 2.9", "SELECT name FROM product"


@pytest.fixture
def by(shop: Source) -> Callable[[str], Turn]:
    """A turn that ends in the rows of a statement."""

    def make(sql: str) -> Turn:
        result = shop.execute(sql)
        tables = [{"name": "result", "columns": result["columns"], "rows": result["rows"]}]
        return Turn(made(sql=sql, tables=tables), written(sql), 0.5)

    return make


@pytest.fixture
def ran(databases: Path, settings: Settings, tmp_path: Path) -> Callable[..., tuple[list[QuestionLog], list[str]]]:
    """Runs questions over turns by the question's id; the logs, and which questions were begun."""

    def run(questions: list[Question], turns: dict[str, Any], method: Any = clarify, **given: Any) -> Any:
        begun: list[str] = []

        def converse(services: Services, question: Question, url: str) -> Any:
            begun.append(question.id)
            if isinstance(turns[question.id], Exception):
                raise turns[question.id]
            return FakeSession(*turns[question.id])

        folder = ExperimentFolder(tmp_path / "out", {"method": "any"})
        services = Services(settings, model=ScriptedModel())
        progress = given.pop("on_progress", lambda *_: None)
        options = {"parallel": 1, "converse": converse, **given}
        experiment = Experiment(services, method, RuleOracle(MatchRule.PROJECT), 4, MatchRule.PROJECT, **options)
        files = {"shop": databases / "shop.sqlite"}
        return experiment.run(questions, files, folder, progress), begun

    return run


def test_rows_are_judged_and_the_oracle_sees_the_reference(ran: Any, by: Any, question: Ask) -> None:
    turns = [by(WRONG), asked("By what?", "by stock", "by price"), by(GOLD)]
    (log,), _ = ran([question(GOLD)], {"q": turns})

    assert [each.match for each in log.rounds] == [False, True]
    assert log.feedback_log == [(2, "", "2) by price", None)]
    assert (log.num_cq_asked, log.outcome.tables.recall, log.outcome.seconds) == (1, 1.0, 1.0)


def test_what_is_done_is_not_done_again(ran: Any, by: Any, question: Ask, tmp_path: Path) -> None:
    both = [question(GOLD, name="a"), question(GOLD, name="b")]
    first, _ = ran(both[:1], {"a": [by(GOLD)]})
    logs, begun = ran(both, {"b": [by(GOLD)]})

    assert begun == ["b"]
    assert [log.id for log in logs] == ["a", "b"]
    assert logs[0] == first[0]
    assert list(read_logs(tmp_path / "out")) == ["a", "b"]


def test_a_question_for_which_nobody_could_be_reached_is_asked_again(ran: Any, by: Any, question: Ask) -> None:
    gone = ModelUnreachable("there", "no answer")
    (cut,), _ = ran([question(GOLD)], {"q": gone})
    (log,), begun = ran([question(GOLD)], {"q": [by(GOLD)]})

    assert (cut.outcome.error, cut.num_cq_asked) == ("model_unreachable", "Failed")
    assert (begun, log.match) == (["q"], True)


def test_a_defect_ends_the_question_alone(ran: Any, by: Any, question: Ask, caplog: pytest.LogCaptureFixture) -> None:
    both = [question(GOLD, name="a"), question(GOLD, name="b")]
    logs, _ = ran(both, {"a": ZeroDivisionError("broken"), "b": [by(GOLD)]})

    assert [log.outcome.error for log in logs] == ["internal_error", None]
    assert "ZeroDivisionError" in caplog.text


def test_a_question_that_broke_in_the_middle_keeps_what_it_cost(ran: Any, by: Any, question: Ask) -> None:
    (log,), _ = ran([question(GOLD)], {"q": [by(WRONG)]}, simple_feedback)

    assert (log.outcome.error, log.outcome.llm_calls, len(log.rounds)) == ("internal_error", 1, 1)


def test_the_order_of_questions_holds_however_many_are_at_work(ran: Any, by: Any, question: Ask) -> None:
    names = [str(number) for number in range(12)]
    turns = {name: [by(GOLD if int(name) % 3 else WRONG)] for name in names}
    seen: list[tuple[int, int]] = []

    def show(report: Report, total: int) -> None:
        seen.append((report.n, total))

    asked_for = [question(GOLD, name=name) for name in names]
    logs, begun = ran(
        asked_for, turns, lambda run: run.finish_round(0, run.session.ask()), parallel=4, on_progress=show
    )

    assert [log.id for log in logs] == names
    assert sorted(begun) == sorted(names)
    assert [log.match for log in logs] == [int(name) % 3 > 0 for name in names]
    assert seen == [(number, 12) for number in range(13)]
