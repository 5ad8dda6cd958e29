"""How many wrong sentences the check of narrated answers rejects, and how many correct ones.

`python -m tests.benchmarks.claims [FILE]`; FILE has a line for each sentence, as the files of `tests/fixtures/claims`.
"""

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from agent.grounding.binding import Objection
from agent.grounding.claims import unsupported_claims
from agent.types import Result

FOLDER = Path(__file__).parents[1] / "fixtures" / "claims"


class Sentence(NamedTuple):
    """A sentence about rows, whether it is correct, and what the check objects to."""

    text: str
    language: str
    kind: str
    is_true: bool
    case: dict[str, Any]

    def objections(self) -> list[Objection]:
        result = Result(
            columns=self.case["columns"],
            types=["other"] * len(self.case["columns"]),
            rows=self.case["rows"],
            truncated=bool(self.case.get("truncated")),
        )
        return unsupported_claims(self.text, result, self.case["question"])


def sentences(path: Path) -> list[Sentence]:
    """Return the sentences of a file."""
    cases = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return [
        Sentence(case["sentence"], case["language"], case["class"], case["verdict"] == "true", case) for case in cases
    ]


def rates(judged: Iterable[tuple[Sentence, bool]]) -> dict[str, float]:
    """Return the shares of wrong and of correct sentences that are rejected."""
    counts = Counter((sentence.is_true, rejected) for sentence, rejected in judged)
    wrong, correct = counts[False, True] + counts[False, False], counts[True, True] + counts[True, False]
    return {
        "wrong": wrong,
        "wrong_rejected": round(counts[False, True] / max(wrong, 1), 4),
        "correct": correct,
        "correct_rejected": round(counts[True, True] / max(correct, 1), 4),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the rates as one JSON object: of all sentences, by language and by class."""
    parser = argparse.ArgumentParser()
    parser.add_argument("file", nargs="?", type=Path, default=FOLDER / "evaluation.jsonl")
    parser.add_argument("--show", action="store_true", help="print the sentences that are judged wrongly")
    options = parser.parse_args(arguments)
    started = time.perf_counter()
    judged = [(sentence, bool(sentence.objections())) for sentence in sentences(options.file)]
    seconds = time.perf_counter() - started
    report = {"all": rates(judged), "ms_per_sentence": round(1000 * seconds / len(judged), 2)}
    for field in ("language", "kind"):
        names = sorted({getattr(sentence, field) for sentence, _ in judged})
        report |= {name: rates(each for each in judged if getattr(each[0], field) == name) for name in names}
    for sentence, rejected in judged if options.show else ():
        if rejected == sentence.is_true:
            claims = [(each.claim, each.reason) for each in sentence.objections()]
            print(sentence.language, sentence.kind, "|", sentence.text, claims, file=sys.stderr)
    print(json.dumps(report, ensure_ascii=False, indent=1))


if __name__ == "__main__":
    main()
