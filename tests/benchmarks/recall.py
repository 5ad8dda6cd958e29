"""How often the index finds all tables of a question, and how fast: `python -m tests.benchmarks.recall`.

Recall is the share of questions with ALL tables of their gold SQL among the first so many. Every schema of Spider is
one schema of 837 tables; which database a question is about is not told. `--part train` asks a fixed sample of the
training questions, to which weights are fitted; `--sizes 837 10000 100000` adds tables that distract; `--ablation`
leaves out one part after the other; `--joined` writes the names of every second database without separators,
and then with a prefix of two letters, as in `sbcustomer`.
"""

import argparse
import gc
import json
import random
import resource
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence

from agent.retrieval.index import SchemaIndex
from agent.retrieval.semantic import packaged_embedder
from agent.schema.catalog import Catalog, Table
from tests.benchmarks import spider
from tests.benchmarks.spider import Linked, catalog_of, one_database

_COUNTS = (5, 10, 15, 20)
_SAMPLE = 1_500
_SHOWN = 100


def main() -> None:
    """Print the figures as JSON, one line for each setting."""
    given = _arguments()
    tables = spider.read_tables()
    questions = _questions(given.part, tables)
    for size in given.sizes:
        widened = spider.with_distractors(tables, size)
        _print(setting=f"{given.part}, {size} tables", **union(catalog_of(widened), questions))
    _print(setting=f"{given.part}, one database each", **per_database(tables, questions))
    if given.joined:
        for name in ("joined", "prefixed"):
            renamed = spider.with_joined_names(tables, prefixed=name == "prefixed")
            _print(setting=f"{given.part}, {name} names, {len(tables)} tables", **union(catalog_of(renamed), questions))
            _print(setting=f"{given.part}, {name} names, one database each", **per_database(renamed, questions))
    for name, figures in ablation(tables, questions, given.part) if given.ablation else ():
        _print(setting=f"{given.part}, {name}", **figures)


def union(catalog: Catalog, questions: Sequence[Linked], *, meaning: bool = True) -> dict[str, object]:
    """Return recall in percent, milliseconds per question and seconds to build, over one catalog."""
    embedder = packaged_embedder() if meaning else None
    started = time.perf_counter()
    index = SchemaIndex(catalog, embedder)
    built = time.perf_counter() - started
    index.rank("how many customers are there in each city")
    ranks, seconds = [], []
    for linked in questions:
        started = time.perf_counter()
        found = index.rank(linked.question, limit=_SHOWN)
        seconds.append(time.perf_counter() - started)
        ranks.append(_last(found, linked.gold))
    return {"questions": len(questions), **_recall(ranks), **_times(seconds), "build_s": round(built, 2), **_memory()}


def per_database(
    tables: Mapping[str, Table],
    questions: Sequence[Linked],
    values: Mapping[tuple[str, str], tuple[str, ...]] | None = None,
    *,
    meaning: bool = True,
) -> dict[str, object]:
    """Return recall in percent where only the tables of the question's database are indexed.

    Tables that the index does not meet follow in the order of the schema.
    """
    embedder = packaged_embedder() if meaning else None
    catalogs = {
        name: catalog_of(one_database(tables, name), values) for name in {linked.database for linked in questions}
    }
    indexes = {name: SchemaIndex(catalog, embedder) for name, catalog in catalogs.items()}
    ranks = []
    for linked in questions:
        found = indexes[linked.database].rank(linked.question)
        ranks.append(_last(list(dict.fromkeys([*found, *catalogs[linked.database].tables])), linked.gold))
    return {"questions": len(questions), **_recall(ranks)}


def ablation(
    tables: Mapping[str, Table], questions: Sequence[Linked], part: str
) -> Iterator[tuple[str, dict[str, object]]]:
    """Yield figures without meaning, without foreign keys, without both, and with values where there are rows."""
    yield "without meaning", union(catalog_of(tables), questions, meaning=False)
    bare = {key: Table(table.name, table.columns) for key, table in tables.items()}
    yield "without foreign keys", union(catalog_of(bare), questions)
    yield "words alone", union(catalog_of(bare), questions, meaning=False)
    yield "one database each, words alone", per_database(bare, questions, meaning=False)
    yield "one database each, without meaning", per_database(tables, questions, meaning=False)
    if part == "dev":
        values = spider.dev_values(tables)
        yield "with values (of these ten databases alone)", union(catalog_of(tables, values), questions)
        yield "one database each, with values", per_database(tables, questions, values)


def _questions(part: str, tables: Mapping[str, Table]) -> list[Linked]:
    if part == "dev":
        return spider.read_dev(tables)
    return random.Random(0).sample(spider.read_train(tables), _SAMPLE)


def _last(found: Sequence[str], gold: frozenset[str]) -> int:
    """Return how many tables have to be taken until all of `gold` are among them."""
    places = {key: place for place, key in enumerate(found, 1)}
    return max(places.get(key, 10**9) for key in gold)


def _recall(ranks: Sequence[int]) -> dict[str, float]:
    return {f"at_{count}": round(100 * statistics.mean(rank <= count for rank in ranks), 1) for count in _COUNTS}


def _times(seconds: Sequence[float]) -> dict[str, float]:
    ordered = sorted(1000 * second for second in seconds)
    return {"median_ms": round(statistics.median(ordered), 2), "p95_ms": round(ordered[int(0.95 * len(ordered))], 2)}


def _memory() -> dict[str, int]:
    gc.collect()
    return {"peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024}


def _print(**figures: object) -> None:
    print(json.dumps(figures), flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", choices=("dev", "train"), default="dev")
    parser.add_argument("--sizes", type=int, nargs="*", default=[837])
    parser.add_argument("--ablation", action="store_true")
    parser.add_argument("--joined", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    main()
