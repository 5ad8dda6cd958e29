"""The benchmark of clarification: the prompts that it writes, and the figures of recorded answers."""

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.clarification import main
from tests.agent.walk import COUNT, HOW_MANY
from tests.support.best_customer import ASKS, BEST, BY_AMOUNT, BY_ORDERS

READINGS = [{"reading": "by orders", "sql": BY_ORDERS}, {"reading": "by amount", "sql": BY_AMOUNT}]
SAME = [READINGS[0], READINGS[0]]
AMBIGUOUS = {"id": "a1", "db": "sample", "question": BEST, "ambiguous": True, "readings": READINGS}
EQUAL = {**AMBIGUOUS, "id": "a2", "readings": SAME}
CLEAR = {"id": "c1", "db": "sample", "question": HOW_MANY, "ambiguous": False}


@pytest.fixture(autouse=True)
def sample(monkeypatch: pytest.MonkeyPatch, cache_dir: Path) -> None:
    monkeypatch.setenv("DATASPHINX_CACHE_DIR", str(cache_dir))


def written(path: Path, *lines: dict[str, Any]) -> str:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return str(path)


def test_the_prompts_of_all_questions_are_written(tmp_path: Path) -> None:
    main([written(tmp_path / "questions", AMBIGUOUS, CLEAR), "--write-prompts", str(tmp_path / "prompts")])

    prompts = [json.loads(line) for line in (tmp_path / "prompts").read_text().splitlines()]
    assert [prompt["id"] for prompt in prompts] == ["a1", "c1"]
    for prompt, question in zip(prompts, (BEST, HOW_MANY), strict=True):
        text = str(prompt["messages"])
        assert {message["role"] for message in prompt["messages"]} == {"system", "user"}
        assert f"Question: {question}" in text and "table customers" in text and "alternatives" in text


def test_recorded_answers_give_precision_recall_and_over_asking(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    questions = written(tmp_path / "questions", AMBIGUOUS, EQUAL, CLEAR, {**CLEAR, "id": "c2"})
    answers = [("a1", json.dumps(ASKS)), ("a2", {"sql": BY_ORDERS}), ("c1", COUNT), ("c2", ASKS)]
    main([questions, "--answers", written(tmp_path / "answers", *({"id": i, "answer": a} for i, a in answers))])

    figures = json.loads(capsys.readouterr().out)
    assert (figures["precision"], figures["recall"], figures["over_asking"]) == (0.5, 0.5, 0.5)
    assert (figures["differing"], figures["recall_of_differing"]) == (1, 1.0)
    assert (figures["missed"], figures["asked_of_clear_ids"], figures["errors"]) == ([], ["c2"], {})


def test_a_missing_database_ends_the_run_with_its_path(tmp_path: Path) -> None:
    questions = written(tmp_path / "questions", CLEAR, {**CLEAR, "db": "nowhere"})

    with pytest.raises(SystemExit, match=r"there is no database .*nowhere\.sqlite"):
        main([questions, "--databases", str(tmp_path), "--write-prompts", str(tmp_path / "prompts")])


def test_a_missing_answer_ends_the_run_with_its_id(tmp_path: Path) -> None:
    answers = written(tmp_path / "answers", {"id": "c1", "answer": COUNT})

    with pytest.raises(SystemExit, match="no answer for a1"):
        main([written(tmp_path / "questions", AMBIGUOUS, CLEAR), "--answers", answers])
