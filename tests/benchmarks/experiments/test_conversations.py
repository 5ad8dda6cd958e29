"""Whole conversations through the graph, compared with expected logs."""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from benchmarks.experiments.log import EventCapture, QuestionLog
from benchmarks.experiments.options import Method, OracleName
from benchmarks.experiments.rounds import METHODS
from benchmarks.experiments.run import Plan, run_with
from datasphinx.agent.evals.datasets import Dataset, Question
from datasphinx.agent.llm.scripted import Scripted, ScriptedModel
from datasphinx.agent.record.recorder import Recorder
from datasphinx.agent.services import Services
from datasphinx.agent.settings import Settings
from tests.support.heavy import heavy

pytestmark = pytest.mark.heavy

FOLDER = Path(__file__).parent / "fixtures"
FILES = sorted(FOLDER.glob("*.json"))
VALID = {"is_valid": True, "reason": "", "issues": [], "corrected_sql": None}
LOGS = ("sql_log", "cq_log", "feedback_log")


def generator(statements: list[dict[str, str]]) -> Callable[[Any], dict[str, str]]:
    """A model that writes the first statement that was not refused so far and whose time has come."""

    def write(messages: Any) -> dict[str, str]:
        prompt = "\n".join(str(message.content) for message in messages)
        fitting = (each for each in statements if each.get("when", "") in prompt)
        return {"sql": next(each["sql"] for each in fitting if each["sql"] not in prompt)}

    return write


@pytest.fixture
def library(tmp_path: Path) -> Path:
    with closing(sqlite3.connect(tmp_path / "library.sqlite")) as connection:
        connection.executescript((FOLDER / "library.sql").read_text(encoding="utf-8"))
    return tmp_path


@pytest.fixture
def played(library: Path, settings: Settings) -> Callable[..., list[QuestionLog]]:
    """Plays a conversation by a method, as often as there are to be questions; the logs."""

    def play(conversation: dict[str, Any], method: Method, *, questions: int = 1, parallel: int = 1) -> Any:
        answers: dict[str, list[Scripted]] = {
            "GeneratedSQL": [generator(conversation["generator"])],
            "SQLValidation": [VALID],
            "AmbiguityReview": conversation["reviews"],
            "OracleAnswer": conversation["oracle"] or [],
        }
        model = ScriptedModel(answers, repeat_last=True)
        services = Services(settings, model=model, recorder=Recorder(EventCapture()))
        asked = [
            Question(f"q{number}", "library", conversation["question"], conversation["sql"])
            for number in range(questions)
        ]
        oracle = OracleName.MODEL if conversation["oracle"] else OracleName.RULE
        plan = Plan(library / "out", method, oracle, rounds=4, parallel=parallel)
        dataset = Dataset(asked, library)
        return run_with(services, dataset, plan, method.value, METHODS[method], lambda *_: None)[1]

    return play


@pytest.mark.parametrize("method", Method)
@pytest.mark.parametrize("file", [*FILES[:2], *heavy(*FILES[2:])], ids=lambda file: file.stem)
def test_the_log_is_the_one_that_was_written_by_hand(played: Any, file: Path, method: Method) -> None:
    conversation = json.loads(file.read_text(encoding="utf-8"))
    expected = conversation["methods"][method]
    (log,) = played(conversation, method)

    for name in LOGS:
        entries, wanted = getattr(log, name), expected[name]
        assert [[order, output] for order, _, output, _ in entries] == [[order, output] for order, _, output in wanted]
        for (_, prompt, _, _), (_, pieces, _) in zip(entries, wanted, strict=True):
            assert [piece for piece in pieces if piece not in prompt] == []
    assert (log.num_cq_asked, log.questions_asked) == (expected["num_cq_asked"], expected["questions_asked"])
    assert log.match is (expected["num_cq_asked"] != "Failed")


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_the_oracle_tells_no_sql(played: Any, file: Path) -> None:
    conversation = json.loads(file.read_text(encoding="utf-8"))
    (log,) = played(conversation, Method.CLARIFY)

    assert not any("SELECT" in output or "ORDER BY" in output for _, _, output, _ in log.feedback_log)
    assert not any(conversation["sql"] in prompt for _, prompt, _, _ in log.cq_log)


def test_conversations_in_parallel_do_not_hear_each_other(played: Any) -> None:
    conversation = json.loads((FOLDER / "reading_with_statement.json").read_text(encoding="utf-8"))
    logs = played(conversation, Method.CLARIFY, questions=8, parallel=4)

    assert len({json.dumps([log.sql_log, log.cq_log, log.feedback_log]) for log in logs}) == 1
    assert [log.num_cq_asked for log in logs] == [1] * 8
