"""Answers written one by one: right ones, and the same with one figure changed, which `[[ ]]` marks."""

import json
import re
from pathlib import Path
from typing import Any, NamedTuple

from agent.grounding.claims import unsupported_claims
from agent.types import Result
from tests.cases import all_cases

FIXTURE = Path(__file__).parents[2] / "fixtures" / "grounding" / "answers.jsonl"
MOST_REFUSED = 2


class Written(NamedTuple):
    """An answer, what it speaks of, and the wrong figure in it; the figure is empty where the answer is right."""

    answer: str
    question: str
    result: Result
    planted: str

    @property
    def named(self) -> list[str]:
        """The claims that the check does not find supported."""
        return [objection.claim for objection in unsupported_claims(self.answer, self.result, self.question)]


def result_of(case: dict[str, Any]) -> Result:
    return Result(columns=case["columns"], types=["other"] * len(case["columns"]), rows=case["rows"], truncated=False)


def written() -> list[Written]:
    lines = FIXTURE.read_text(encoding="utf-8").splitlines()
    answers = []
    for case in map(json.loads, lines):
        for text in [*case["right"], *case["wrong"]]:
            planted = "".join(re.findall(r"\[\[(.*?)\]\]", text))
            plain = text.replace("[[", "").replace("]]", "")
            answers.append(Written(plain, case["question"], result_of(case), planted))
    return answers


WRONG = [answer for answer in written() if answer.planted]
RIGHT = [answer for answer in written() if not answer.planted]


def test_there_are_enough_answers_and_all_differ() -> None:
    assert len({answer.answer for answer in WRONG}) >= 100
    assert len({answer.answer for answer in RIGHT}) >= 100
    assert not {answer.answer for answer in WRONG} & {answer.answer for answer in RIGHT}


@all_cases("answer", WRONG, ids=lambda answer: answer.planted)
def test_wrong_figure_is_caught_by_name(answer: Written) -> None:
    assert any(named in answer.planted or answer.planted in named for named in answer.named)


def test_right_answers_are_refused_at_most_twice() -> None:
    refused = [(answer.answer, answer.named) for answer in RIGHT if answer.named]

    assert len(refused) <= MOST_REFUSED, refused
