"""Time to read and to look up business knowledge: 5,000 terms and 2,000 verified queries in one folder.

python -m tests.benchmarks.knowledge
"""

import statistics
import tempfile
import time
from pathlib import Path
from random import Random

from agent.knowledge.folder import read_folder
from agent.knowledge.verified import VerifiedIndex
from agent.retrieval.semantic import packaged_embedder
from agent.retrieval.value_index import ValueIndex
from agent.schema.catalog import Catalog

TERMS, VERIFIED, QUESTIONS = 5000, 2000, 300

_FIRST = "active late new large small open paid returned loyal seasonal regional frozen overdue inactive".split()
_SECOND = "customer order invoice shipment contract supplier product visit claim payment ticket lead account".split()


def main() -> None:
    """Print the times in milliseconds."""
    random = Random(1)
    words = [f"{random.choice(_FIRST)} {random.choice(_SECOND)} group {number}" for number in range(TERMS)]
    terms = "".join(
        f"  {name}:\n    synonyms: [{name} type, вид {number} {name}]\n    definition: Rows above {number}\n"
        f"    tables: [orders]\n    condition: orders.order_id > {number}\n"
        for number, name in enumerate(words)
    )
    verified = "".join(
        f"  - question: How many {words[number]} were there in {2000 + number % 25}?\n"
        f"    sql: SELECT COUNT(*) FROM orders WHERE order_id > {number} AND ordered_on LIKE :year || '%'\n"
        f"    parameters: {{year: {{example: {2000 + number % 25}}}}}\n    author: Ann\n    date: 2026-01-01\n"
        for number in range(VERIFIED)
    )
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "terms.yml").write_text(f"terms:\n{terms}", encoding="utf-8")
        (Path(folder) / "verified.yml").write_text(f"verified:\n{verified}", encoding="utf-8")
        started, cpu = time.perf_counter(), time.process_time()
        knowledge = read_folder(Path(folder), "knowledge")
        knowledge.matches("")
        wall, used = time.perf_counter() - started, time.process_time() - cpu
    print(f"entries: {len(knowledge.items)}, problems: {len(knowledge.problems)}")
    print(f"reading and indexing: {1000 * wall:.0f} ms, {1000 * used:.0f} ms of CPU time")
    times, hits = [], 0
    for _ in range(QUESTIONS):
        question = f"How many {random.choice(words)} were there last year in the north by month and segment?"
        started = time.perf_counter()
        hits += bool(knowledge.matches(question))
        times.append(1000 * (time.perf_counter() - started))
    times.sort()
    print(f"lookup: median {statistics.median(times):.2f} ms, 95th percentile {times[int(0.95 * QUESTIONS)]:.2f} ms")
    print(f"questions whose term was found: {hits} of {QUESTIONS}")
    catalog = Catalog("sqlite", {})
    index, embedder = VerifiedIndex(knowledge, catalog), packaged_embedder()

    def find(question: str) -> bool:
        return index.find(question, lambda: ValueIndex.of({}), embedder, lambda _: True) is not None

    started, cpu = time.perf_counter(), time.process_time()
    find("How many orders were there?")
    wall, used = time.perf_counter() - started, time.process_time() - cpu
    print(f"index of the verified questions: {1000 * wall:.0f} ms, {1000 * used:.0f} ms of CPU time")
    times, answered = [], 0
    for number in range(QUESTIONS):
        question = f"Show me the number of {words[random.randrange(VERIFIED)]} in {2000 + number % 25}"
        question = question if number % 2 else f"{question} by region and month of the last order"
        started = time.perf_counter()
        answered += find(question)
        times.append(1000 * (time.perf_counter() - started))
    times.sort()
    print(f"verified: median {statistics.median(times):.2f} ms, 95th percentile {times[int(0.95 * QUESTIONS)]:.2f} ms")
    print(f"questions with a verified answer: {answered}, of which {QUESTIONS // 2} are equivalent to one")


if __name__ == "__main__":
    main()
