"""How often catalog and values show that a question is ambiguous: `python -m tests.benchmarks.ambiguity`.

It asks no model. The questions are those of `tests/fixtures/clarification` over the databases of Spider's dev part.
"""

import json
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from agent.clarify.ambiguity import find_ambiguities
from agent.types import Limits
from tests.benchmarks.spider import DEV
from tests.databases import open_url, url

QUESTIONS = Path(__file__).resolve().parents[1] / "fixtures" / "clarification" / "questions.jsonl"


class Found(NamedTuple):
    """Questions of a type: how many there are, how many show anything, and how many something of their type."""

    questions: int
    shown: int
    of_its_type: int


def measure() -> dict[str, Found]:
    """Return what is found by type; the clear questions are of the type "clear"."""
    counts: dict[str, Counter[str]] = {}
    sources = {}
    for line in QUESTIONS.read_text(encoding="utf-8").splitlines():
        asked = json.loads(line)
        name, kind = asked["db_id"], asked.get("type") or "clear"
        if name not in sources:
            sources[name] = open_url(url(next(DEV.rglob(f"{name}.sqlite"))), Limits(30, 10_000))
        source = sources[name]
        found = find_ambiguities(asked["question"], source, source.catalog.selection())
        counted = counts.setdefault(kind, Counter())
        counted.update(questions=1, shown=bool(found), of_its_type=any(each["type"] == kind for each in found))
    return {kind: Found(each["questions"], each["shown"], each["of_its_type"]) for kind, each in counts.items()}


def main() -> None:
    """Print a line for each type."""
    for kind, found in measure().items():
        print(f"{kind:15} {found.shown:3} of {found.questions} show an ambiguity, {found.of_its_type} of that type")


if __name__ == "__main__":
    main()
