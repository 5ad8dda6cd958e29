"""How many wrong figures the check of narrated answers catches, and how many right answers it refuses.

`python -m tests.benchmarks.grounding`
"""

import json

from agent.grounding.claims import unsupported_claims
from agent.grounding.numbers import figures_of
from tests.agent.grounding.test_answers import RIGHT, WRONG, Written


def one_digit_off(answer: Written) -> list[str]:
    """Return `answer` with each digit of each figure changed into each other one; none begins with a new zero."""
    spots = [
        (at, at == figure.start)
        for figure in figures_of(answer.answer)
        for at in range(figure.start, figure.start + len(figure.text))
        if answer.answer[at].isdecimal()
    ]
    return [
        f"{answer.answer[:at]}{digit}{answer.answer[at + 1 :]}"
        for at, first in spots
        for digit in "0123456789"
        if digit != answer.answer[at] and not (first and digit == "0")
    ]


def main() -> None:
    """Print the counts as one JSON object."""
    changed = [(text, answer) for answer in RIGHT for text in one_digit_off(answer)]
    caught = [text for text, answer in changed if unsupported_claims(text, answer.result, answer.question)]
    counts = {
        "planted": len(WRONG),
        "caught": sum(answer.planted in answer.named for answer in WRONG),
        "right": len(RIGHT),
        "refused": sum(bool(answer.named) for answer in RIGHT),
        "one_digit_off": len(changed),
        "one_digit_off_caught": len(caught),
    }
    print(json.dumps(counts))


if __name__ == "__main__":
    main()
