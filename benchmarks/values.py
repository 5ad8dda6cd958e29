"""The index of values on a million values: `python -m benchmarks.values [HOW_MANY]`.

Memory is the peak of the process, as the system counts it, with the interpreter and libraries.
"""

import json
import random
import statistics
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.common import peak_mb, percentile_95, timed
from datasphinx.agent.retrieval.value_index import ValueIndex
from datasphinx.agent.retrieval.value_store import ColumnValues


def main(how_many: str = "1000000") -> None:
    """Print the figures as JSON."""
    print(json.dumps(on_values(how_many), indent=2))


def on_values(how_many: str) -> dict[str, Any]:
    """An index in a file of names made of syllables, and phrases with and without errors."""
    chance = random.Random(5)
    values = list(_names(chance, int(how_many)))
    parts = [ColumnValues(f"table_{n}", "name", tuple(values[n::20]), True) for n in range(20)]
    states = ColumnValues("places", "state", ("TX", "CA", "NY"), True)
    asked = chance.sample(values, 300)
    phrases = {
        "as stored": asked,
        "in capitals": [value.upper() for value in asked],
        "two letters swapped": [_swapped(chance, value) for value in asked],
        "one word of it": [max(value.split(), key=len) for value in asked],
        "not there": [value[::-1] + " qx" for value in asked],
        "a state's name": ["Texas", "California", "New York"] * 100,
    }
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "index.values"
        index, took = timed(lambda: ValueIndex.build([*parts, states], path))
        figures: dict[str, Any] = {
            "values": len(values),
            "build_s": round(took.wall, 2),
            "file_mb": round(path.stat().st_size / 1e6),
        }
        index.find("Germany")
        for name, texts in phrases.items():
            figures[name] = _latencies(index, texts)
        figures["found again with two letters swapped"] = sum(
            value in {match.value for match in index.find(phrase)}
            for value, phrase in zip(asked, phrases["two letters swapped"], strict=True)
        ) / len(asked)
        figures["peak_mb"] = peak_mb()
        index.close()
    return figures


def _names(chance: random.Random, how_many: int) -> Iterator[str]:
    onsets, vowels, ends = (
        "b br c ch d f g gr h k l m n p r s st t tr v w".split(),
        "aeiou",
        ["", "n", "r", "s", "l", "ck"],
    )
    seen: set[str] = set()

    def word() -> str:
        syllables = chance.choice((1, 2, 2, 3))
        made = (chance.choice(onsets) + chance.choice(vowels) + chance.choice(ends) for _ in range(syllables))
        return "".join(made).capitalize()

    while len(seen) < how_many:
        name = " ".join(word() for _ in range(chance.choice((1, 2, 2, 3))))
        if name not in seen:
            seen.add(name)
            yield name


def _swapped(chance: random.Random, value: str) -> str:
    at = chance.randrange(len(value) - 1)
    return value[:at] + value[at + 1] + value[at] + value[at + 2 :]


def _latencies(index: ValueIndex, texts: list[str]) -> dict[str, float]:
    seconds = [timed(lambda phrase=phrase: index.find(phrase))[1].wall for phrase in texts]
    return {
        "median_ms": round(statistics.median(seconds) * 1000, 2),
        "p95_ms": round(percentile_95(seconds) * 1000, 2),
    }


if __name__ == "__main__":
    main(*sys.argv[1:])
