"""How often the index finds all tables of a question, and how fast: `python -m benchmarks.recall`.

Recall is the share of questions with ALL tables of their gold SQL among the first so many. Every schema of Spider is
one schema of 837 tables; which database a question is about is not told. `--part train` asks a fixed sample of the
training questions, to which weights are fitted; `--sizes 837 10000 100000` adds tables that distract; `--ablation`
leaves out one part after the other; `--joined` writes the names of every second database without separators,
and then with a prefix of two letters, as in `sbcustomer`.

`--prompts 110` combines the schemas into sources of about 110 tables each and prints what the prompts of a question
contain: with a list of all tables, and with a call in which the model selects tables from that list. The model of this
comparison selects the tables of the gold SQL.
"""

import argparse
import gc
import json
import random
import statistics
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from os.path import commonprefix
from pathlib import Path

from langchain_core.messages import BaseMessage
from pydantic import SecretStr

from benchmarks import spider
from benchmarks.common import peak_mb, percentile_95, timed
from benchmarks.spider import Linked, catalog_of, one_database
from datasphinx import prompts
from datasphinx.agent.generation.prompt import question_messages
from datasphinx.agent.generation.question import Question
from datasphinx.agent.linking import LinkedTables
from datasphinx.agent.llm.scripted import ScriptedModel
from datasphinx.agent.retrieval.index import SchemaIndex
from datasphinx.agent.retrieval.semantic import packaged_embedder
from datasphinx.agent.schema.catalog import Catalog, Table
from datasphinx.agent.schema.describe import estimate_tokens
from datasphinx.agent.services import Services
from datasphinx.agent.settings import SourceSettings, load_settings
from datasphinx.agent.sources.source import Source, open_source
from datasphinx.agent.types import Limits
from tests.support.databases import make_database, url

_COUNTS = (5, 10, 15, 20)
_SAMPLE = 1_500
_SHOWN = 100
_CACHED = 20
"""Number of prompts that a provider is assumed to keep."""


def main() -> None:
    """Print the figures as JSON, one line for each setting."""
    given = _arguments()
    if not spider.SCHEMAS.is_file():
        sys.exit(f"{spider.SCHEMAS} is missing: the benchmark needs Spider's schemas and questions")
    tables = spider.read_tables()
    questions = _questions(given.part, tables)
    if given.prompts:
        for name, figures in in_prompts(tables, questions, given.prompts):
            _print(setting=f"{given.part}, sources of about {given.prompts} tables, {name}", **figures)
        return
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
    index, built = timed(lambda: SchemaIndex(catalog, embedder))
    index.rank("how many customers are there in each city")
    ranks, milliseconds = [], []
    for linked in questions:
        found, took = timed(lambda linked=linked: index.rank(linked.question, limit=_SHOWN))
        milliseconds.append(1000 * took.wall)
        ranks.append(_last(found, linked.gold))
    gc.collect()
    return {
        "questions": len(questions),
        **_recall(ranks),
        "median_ms": round(statistics.median(milliseconds), 2),
        "p95_ms": round(percentile_95(milliseconds), 2),
        "build_s": round(built.wall, 2),
        "peak_mb": peak_mb(),
    }


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


def in_prompts(
    tables: Mapping[str, Table], questions: Sequence[Linked], size: int
) -> list[tuple[str, dict[str, object]]]:
    """Return figures for prompts with a list of all tables, and for prompts after a call that selects tables.

    Each has the share of questions with ALL gold tables in the prompt, and in detail, in percent; and the mean numbers
    of calls until the statement, of prompt tokens, and of those that begin an earlier prompt on the source as well.
    """
    listed, selected = _Prompts(), _Prompts()
    with tempfile.TemporaryDirectory() as folder:
        for number, group in enumerate(spider.combined(tables, size)):
            statements = spider.create_statements(group.values())
            path = make_database(Path(folder), *statements, name=f"{number}.sqlite")
            settings = SourceSettings(url=SecretStr(url(path)))
            source = open_source(settings, Limits(1, 10), embedder=packaged_embedder())
            services = Services(load_settings(), model=ScriptedModel())
            listed.begin_source()
            selected.begin_source()
            for linked in questions:
                if not linked.gold <= group.keys():
                    continue
                gold = {group[key].name for key in linked.gold}
                names = set(map(source.database.quote, gold))
                outcome = services.roles.linker.link_tables(linked.question, source, 1)
                listed.add([_generation_prompt(linked.question, source, outcome)], names, gold <= set(outcome.keys))
                limit = 2 * services.settings.schema_token_budget
                variables = {"tables": source.table_list(limit), "question": linked.question, "reason": ""}
                selection = _text(prompts.render("select_tables", **variables))
                outcome = LinkedTables([key for key in source.catalog.tables if key in gold])
                generation = _generation_prompt(linked.question, source, outcome)
                selected.add([selection, generation], names, gold <= set(outcome.keys))
            source.close()
    return [("all tables listed", listed.figures()), ("tables selected by a perfect model", selected.figures())]


class _Prompts:
    """Prompts of many questions, and their figures."""

    def __init__(self) -> None:
        self._earlier: list[str] = []
        self._in_prompt, self._in_detail = list[bool](), list[bool]()
        self._calls, self._tokens, self._cached = list[int](), list[int](), list[int]()

    def begin_source(self) -> None:
        """Forget the earlier prompts: those about another source begin with another schema."""
        self._earlier = []

    def add(self, texts: Sequence[str], gold: set[str], in_detail: bool) -> None:
        """Add a question with its prompts; `gold` has the quoted names of its tables."""
        self._in_detail.append(in_detail)
        self._in_prompt.append(all(f"\n{name}(" in texts[-1] or f"\ntable {name}" in texts[-1] for name in gold))
        self._calls.append(len(texts))
        self._tokens.append(sum(map(estimate_tokens, texts)))
        beginnings = [max((len(commonprefix([text, other])) for other in self._earlier), default=0) for text in texts]
        self._cached.append(sum(estimate_tokens(" " * length) for length in beginnings))
        # Providers keep prompts for minutes.
        self._earlier = [*self._earlier, *texts][-_CACHED:]

    def figures(self) -> dict[str, object]:
        """Return the figures of all questions."""
        return {
            "questions": len(self._calls),
            "gold_in_prompt": round(100 * statistics.mean(self._in_prompt), 1),
            "gold_in_detail": round(100 * statistics.mean(self._in_detail), 1),
            "calls": round(statistics.mean(self._calls), 2),
            "prompt_tokens": round(statistics.mean(self._tokens)),
            "of_these_cached": round(statistics.mean(self._cached)),
        }


def _generation_prompt(question: str, source: Source, outcome: LinkedTables) -> str:
    columns = {key: list(source.catalog.tables[key].column_names) for key in outcome.keys}
    asked = Question(question, columns, columns, outcome.list_tokens)
    return _text(question_messages("generate_sql", asked, source, date(2026, 1, 1), examples=""))


def _text(messages: Sequence[BaseMessage]) -> str:
    return "\n".join(str(message.content) for message in messages)


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


def _print(**figures: object) -> None:
    print(json.dumps(figures), flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", choices=("dev", "train"), default="dev")
    parser.add_argument("--sizes", type=int, nargs="*", default=[837])
    parser.add_argument("--ablation", action="store_true")
    parser.add_argument("--joined", action="store_true")
    parser.add_argument("--prompts", type=int, metavar="TABLES")
    return parser.parse_args()


if __name__ == "__main__":
    main()
