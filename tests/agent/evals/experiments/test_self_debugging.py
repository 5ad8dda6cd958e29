"""The baseline and the simple feedback work as the published program: a failing statement is repaired once a round."""

import json
from pathlib import Path
from typing import Any

import pytest

from datasphinx.agent.evals.datasets import Dataset, Question
from datasphinx.agent.evals.experiments.folder import read_logs
from datasphinx.agent.evals.experiments.run import Plan, run_method
from datasphinx.agent.evals.options import Method
from datasphinx.agent.settings import load_settings
from tests.fake_openai import FakeOpenAI

RIGHT = "SELECT name FROM product"
WRONG = "SELECT COUNT(*) FROM product"
FAILING = [f"SELECT name FROM nothing_{number}" for number in range(6)]


def statement(sql: str) -> dict[str, Any]:
    return {"sql": sql, "assumptions": [], "off_topic": False}


def played(
    databases: Path, tmp_path: Path, method: Method, *statements: str, recorded: str | None = None
) -> tuple[Any, list[str]]:
    """Return the log of one question, and the prompts of the statements; `recorded` is the first one, if given."""
    with FakeOpenAI(answers=[statement(sql) for sql in statements]) as fake:
        settings = load_settings(
            cache_dir=tmp_path / "cache", llm_base_url=fake.base_url, llm_model="fake", enable_sql_validation=True
        )
        plan = Plan(tmp_path / "out", method, rounds=2, recorded={"q": recorded} if recorded else {})
        question = Question("q", "shop", "Which products are there?", RIGHT)
        run_method(Dataset([question], databases), settings, plan, lambda *_: None)
        assert set(fake.schemas) == {"GeneratedSQL"}, "nothing else is asked of the model"
        prompts = [json.dumps(request["messages"], ensure_ascii=False) for request in fake.requests]
    return read_logs(tmp_path / "out")["q"], prompts


def test_the_baseline_repairs_a_failing_statement_once_from_its_error(databases: Path, tmp_path: Path) -> None:
    log, prompts = played(databases, tmp_path, Method.BASELINE, FAILING[0], RIGHT)

    assert (log.match, len(log.rounds), len(prompts)) == (True, 1, 2)
    assert FAILING[0] in prompts[1] and "nothing_0" in prompts[1]


def test_the_baseline_does_not_repair_twice(databases: Path, tmp_path: Path) -> None:
    log, prompts = played(databases, tmp_path, Method.BASELINE, FAILING[0], FAILING[1])

    assert (log.match, log.outcome.error is not None, len(prompts)) == (False, True, 2)


@pytest.mark.parametrize("first", [[WRONG], [FAILING[0], FAILING[1]]], ids=["wrong", "failing"])
def test_simple_feedback_shows_the_wrong_statements_also_those_that_fail(
    databases: Path, tmp_path: Path, first: list[str]
) -> None:
    log, prompts = played(databases, tmp_path, Method.SIMPLE_FEEDBACK, *first, FAILING[2], FAILING[3], RIGHT)

    assert [each.match for each in log.rounds] == [False, False, True]
    assert first[-1] in prompts[len(first)], "the first round is told what was wrong"
    assert first[-1] in prompts[-1] and FAILING[3] in prompts[-1], "the second round is told both"


def test_a_recorded_statement_is_the_first_answer_and_the_model_writes_the_others(
    databases: Path, tmp_path: Path
) -> None:
    log, prompts = played(databases, tmp_path, Method.SIMPLE_FEEDBACK, RIGHT, recorded=WRONG)

    assert [(each.match, each.sql) for each in log.rounds] == [(False, WRONG), (True, RIGHT)]
    assert len(prompts) == 1 and WRONG in prompts[0]


def test_a_recorded_statement_that_fails_is_repaired_once(databases: Path, tmp_path: Path) -> None:
    log, prompts = played(databases, tmp_path, Method.BASELINE, RIGHT, recorded=FAILING[0])

    assert (log.match, len(log.rounds), len(prompts)) == (True, 1, 1)
    assert FAILING[0] in prompts[0] and "nothing_0" in prompts[0]
