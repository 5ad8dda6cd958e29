"""Few-shot examples that are chosen for questions: `python -m benchmarks.examples [HOW_MANY]`."""

import json
import statistics
import sys
import tempfile
from itertools import islice, product
from pathlib import Path

from benchmarks.catalog import timed
from datasphinx.agent.examples.example import checked_example
from datasphinx.agent.examples.selection import StoredExamples
from datasphinx.agent.examples.store import ExampleStore
from datasphinx.agent.retrieval.semantic import packaged_embedder
from datasphinx.agent.services import Services
from datasphinx.agent.settings import load_settings

_ASKED = 30


def main(how_many: str = "5000") -> None:
    """Print the figures as JSON: seconds until the first question has its examples, milliseconds of later ones."""
    ways = ("How many", "List the", "Count all", "Show the newest", "Which are the")
    things = ("orders", "customers", "products", "categories", "channels")
    asked = (f"{way} {thing} of group {group}?" for group, way, thing in product(range(10**6), ways, things))
    with tempfile.TemporaryDirectory() as folder:
        source = Services(load_settings(data_dir=Path(folder))).source("sample")
        kept = [checked_example(text, "SELECT COUNT(*) FROM orders", source) for text in islice(asked, int(how_many))]
        store = ExampleStore(Path(folder))
        figures = {"examples": len(kept), "keep_s": timed(lambda: store.add(kept))[0]}
        for name in ("first_s", "first_of_another_process_s"):
            examples = StoredExamples(store, packaged_embedder(), 3)
            figures[name] = timed(lambda chosen=examples: chosen.select(next(asked), source))[0]
        later = [timed(lambda: examples.select(next(asked), source), 4)[0] for _ in range(_ASKED)]
        figures["later_median_ms"] = round(statistics.median(later) * 1000, 1)
    print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main(*sys.argv[1:])
