"""Business knowledge: what prompts get for a set of questions, and the time to read and to look up many entries.

The questions of `tests/fixtures/knowledge_questions.jsonl` each need some of the entries in
`tests/fixtures/knowledge/shop`. The folder for the times has 5,000 terms and 2,000 verified queries.

python -m benchmarks.knowledge
"""

import statistics
import tempfile
from pathlib import Path
from random import Random

from pydantic import SecretStr

from benchmarks.common import percentile_95, read_lines, timed
from datasphinx.agent.knowledge.folder import read_folder
from datasphinx.agent.knowledge.prompt import knowledge_paragraphs, shown_entries
from datasphinx.agent.sample.shop import shop_url
from datasphinx.agent.schema.describe import estimate_tokens
from datasphinx.agent.settings import SourceSettings
from datasphinx.agent.sources.source import open_source
from datasphinx.agent.types import Limits

FIXTURES = Path(__file__).parents[1] / "tests/fixtures"
TERMS, VERIFIED, QUESTIONS = 5000, 2000, 300

_FIRST = "active late new large small open paid returned loyal seasonal regional frozen overdue inactive".split()
_SECOND = "customer order invoice shipment contract supplier product visit claim payment ticket lead account".split()


def main() -> None:
    """Print the figures of the prompts, and the times in milliseconds."""
    measure_prompts()
    measure_times()


def measure_prompts() -> None:
    """Print the tokens of the entries in prompts, and the share of questions whose prompt has all that they need."""
    cases = read_lines(FIXTURES / "knowledge_questions.jsonl")
    with tempfile.TemporaryDirectory() as cache:
        knowledge = read_folder(FIXTURES / "knowledge" / "shop", "knowledge/shop")
        settings = SourceSettings(url=SecretStr(shop_url(Path(cache))))
        source = open_source(settings, Limits(60, 100), cache_dir=Path(cache), knowledge=knowledge)
        for problem in source.check_knowledge():
            print(problem)
        tokens, complete, extra = [], 0, 0
        for case in cases:
            relevant = source.knowledge.relevant(case["question"])
            paragraphs = knowledge_paragraphs(relevant, source.knowledge, relevant.tables)
            tokens.append(sum(map(estimate_tokens, paragraphs)))
            shown = {item.id for item in shown_entries(relevant)}
            missing = [entry for entry in case["entries"] if entry not in shown]
            extra += len(shown.difference(case["entries"]))
            complete += not missing
            if missing:
                print(f"missing: {', '.join(missing)}: {case['question']}")
        source.close()
    tokens.sort()
    share = 100 * complete / len(cases)
    print(f"entries: {len(knowledge.items)}; questions: {len(cases)}")
    print(f"tokens of the entries in a prompt: median {statistics.median(tokens):.0f}, maximum {tokens[-1]}")
    print(f"questions with all needed entries: {complete} of {len(cases)} ({share:.0f} %)")
    print(f"further entries: {extra / len(cases):.2f} for each question")


def measure_times() -> None:
    """Print the times to read many entries and to look them up."""
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
        knowledge, reading = timed(lambda: read_folder(Path(folder), "knowledge"))
        _, indexing = timed(lambda: knowledge.matches(""))
    print(f"entries: {len(knowledge.items)}, problems: {len(knowledge.problems)}")
    wall, used = 1000 * (reading.wall + indexing.wall), 1000 * (reading.cpu + indexing.cpu)
    print(f"reading and indexing: {wall:.0f} ms, {used:.0f} ms of CPU time")
    times, hits = [], 0
    for _ in range(QUESTIONS):
        question = f"How many {random.choice(words)} were there last year in the north by month and segment?"
        found, took = timed(lambda question=question: knowledge.matches(question))
        hits += bool(found)
        times.append(1000 * took.wall)
    print(f"lookup: median {statistics.median(times):.2f} ms, 95th percentile {percentile_95(times):.2f} ms")
    print(f"questions whose term was found: {hits} of {QUESTIONS}")


if __name__ == "__main__":
    main()
