"""Strictness of verified answers: equivalent questions that are answered, and near misses, which must not be.

python -m tests.benchmarks.verified
"""

import json
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple, cast

from pydantic import SecretStr

from agent.knowledge.entries import VerifiedEntry
from agent.knowledge.folder import read_folder
from agent.knowledge.knowledge import Item
from agent.knowledge.verified import VerifiedMatch
from agent.retrieval.semantic import packaged_embedder
from agent.sample.shop import shop_url
from agent.settings import SourceSettings
from agent.sources.source import open_source
from agent.types import Limits
from tests.generated_docs import ROOT

FOLDERS = (ROOT / "tests/fixtures/verified", ROOT / "tests/fixtures/verified_later")
"""The questions of the first folder were written after the first version of the rules, which they changed; those of the
second one after the last version."""


class Measured(NamedTuple):
    """The outcome for the set of questions."""

    equivalents: int
    near_misses: int
    missed: list[str]
    """Equivalent questions without a verified answer."""
    wrong: list[str]
    """Near misses with a verified answer, and equivalent questions with another statement than the expected one."""


def measure(folder: Path, cache_dir: Path) -> Measured:
    """Return the outcome for the questions in `folder`, over the sample shop in `cache_dir`."""
    lines = (folder / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    cases: list[dict[str, Any]] = [json.loads(line) for line in lines]
    settings = SourceSettings(url=SecretStr(shop_url(cache_dir)))
    knowledge = read_folder(folder, "verified")
    source = open_source(settings, Limits(60, 100), cache_dir=cache_dir, knowledge=knowledge)
    entries = {cast(VerifiedEntry, item.entry).question: item for item in knowledge.of_kind("verified")}
    embedder, missed, wrong = packaged_embedder(), [], []
    try:
        assert not [problem for item in knowledge.items for problem in source.knowledge.problems_of(item)]
        for case in cases:
            question, expected = str(case["question"]), case.get("equivalent")
            match = source.knowledge.find_verified(question, source.complete_values, embedder, lambda _: True)
            if match is None:
                missed += [question] if expected else []
            elif not expected or match.statement("sqlite") != _statement(entries[str(expected)], case["parameters"]):
                wrong.append(f"{question} -> {match.entry.question} {json.dumps({**match.parameters})}")
    finally:
        source.close()
    kinds = Counter("equivalent" in case for case in cases)
    return Measured(kinds[True], kinds[False], missed, wrong)


def _statement(item: Item, parameters: Any) -> str:
    return VerifiedMatch(item, cast(VerifiedEntry, item.entry), parameters).statement("sqlite")


def main() -> None:
    """Print the figures, and the questions behind them."""
    with tempfile.TemporaryDirectory() as cache_dir:
        for folder in FOLDERS:
            print(f"\n{folder.name}")
            _print(measure(folder, Path(cache_dir)))


def _print(result: Measured) -> None:
    answered = result.equivalents - len(result.missed)
    print(f"equivalent questions answered: {answered} of {result.equivalents} ({answered / result.equivalents:.0%})")
    print(f"wrong answers, with those to {result.near_misses} near misses: {len(result.wrong)}")
    for name, questions in (("not answered", result.missed), ("wrong", result.wrong)):
        print(f"{name}:", *(f"  {question}" for question in questions), sep="\n")


if __name__ == "__main__":
    main()
