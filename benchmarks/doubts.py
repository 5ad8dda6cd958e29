"""The doubts about Spider's reference statements, which are right, and about the same with a wrong value or output.

Run `python -m benchmarks.doubts`. Databases of the training part have no rows, so that stored values are unknown.
"""

import random
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import date
from functools import cache
from pathlib import Path

from pydantic import SecretStr
from sqlglot import exp

from benchmarks import spider
from datasphinx.agent.generation.doubts import Mentions, doubts_on_rows
from datasphinx.agent.settings import SourceSettings
from datasphinx.agent.sources.source import Source, open_source
from datasphinx.agent.sql.guard import parse
from datasphinx.agent.types import Limits
from training.spider import TrainingQuestion, read_training

TODAY = date(2026, 5, 4)
TRAINING_QUESTIONS = 1500
_EMPTY_ROWS = {"value_not_stored", "aggregate_of_text", "exclusion_with_null"}
"""Warnings that only the missing rows and types of the training part cause."""


def altered(sql: str, source: Source) -> Iterator[tuple[str, str]]:
    """Yield wrong statements, each with what is wrong: another literal, or a missing output."""
    (tree,) = parse(sql, source.catalog.dialect)
    for at, literal in enumerate(tree.find_all(exp.Literal)):
        other = _other_value(literal, source)
        if other:
            copy = tree.copy()
            list(copy.find_all(exp.Literal))[at].replace(other)
            yield "value", copy.sql(source.catalog.dialect)
    if isinstance(tree, exp.Select) and len(tree.expressions) > 1:
        for at, output in enumerate(tree.expressions):
            copy = tree.copy()
            copy.set("expressions", [item for other, item in enumerate(copy.expressions) if other != at])
            names = {column.name.lower() for column in copy.find_all(exp.Column)}
            if isinstance(output, exp.Column) and output.name.lower() not in names:
                yield "output", copy.sql(source.catalog.dialect)


def _other_value(literal: exp.Literal, source: Source) -> exp.Literal | None:
    text = literal.name
    if text[:4].isdecimal() and len(text) >= 4:
        changed = f"{int(text[:4]) - 1}{text[4:]}"
    elif text.isdecimal():
        changed = str(int(text) + 7)
    else:
        values = [value for stored in source.catalog.values.values() if text in stored for value in stored]
        changed = next((value for value in sorted(values) if value != text), "")
    if not changed or isinstance(literal.parent, exp.Limit):
        return None
    return exp.Literal(this=changed, is_string=literal.is_string)


def measure(questions: Sequence[TrainingQuestion], open_database: Callable[[str], Source]) -> dict[str, float]:
    """Return the shares of right statements with a doubt, a warning, and either, and of wrong ones with a doubt."""
    counts: Counter[str] = Counter()
    for asked in questions:
        source = open_database(asked.db_id)
        selection = source.catalog.selection()
        said = Mentions(asked.question, values=source.linked_values(asked.question, selection))
        found = doubts_on_rows(asked.sql, said, source, TODAY)
        warnings = [one for one in source.warnings_about(asked.sql) if getattr(one, "code", "") not in _EMPTY_ROWS]
        counts.update(right=1, doubtful=bool(found), warned=bool(warnings), validated=bool(found or warnings))
        for kind, wrong in altered(asked.sql, source) if not found else ():
            counts[kind] += 1
            counts[f"{kind} caught"] += bool(doubts_on_rows(wrong, said, source, TODAY))
    shares = {name: counts[name] / counts["right"] for name in ("doubtful", "warned", "validated")}
    caught = {f"{kind} caught": counts[f"{kind} caught"] / counts[kind] for kind in ("value", "output")}
    return {name: round(share, 3) for name, share in (shares | caught).items()}


def main() -> None:
    """Print the shares for the ten databases with rows, and for a sample of the training part."""

    @cache
    def opened(path: Path) -> Source:
        source = open_source(SourceSettings(url=SecretStr(f"sqlite:///{path}")), Limits(10, 1000))
        source.complete_values()
        return source

    shown = read_training(spider.DEV / "questions.jsonl")
    print("shown", measure(shown, lambda name: opened(spider.DEV / "databases" / f"{name}.sqlite")))
    tables = spider.read_tables()
    unseen = random.Random(3).sample(read_training(spider.TRAIN), TRAINING_QUESTIONS)
    with tempfile.TemporaryDirectory() as folder:
        for name in {asked.db_id for asked in unseen}:
            with sqlite3.connect(Path(folder, f"{name}.sqlite")) as database:
                own = spider.one_database(tables, name).values()
                for statement in spider.create_statements(table for table in own if table.name != "sqlite_sequence"):
                    database.execute(statement.replace(f'"{name}.', '"'))
        print("unseen", measure(unseen, lambda name: opened(Path(folder, f"{name}.sqlite"))))


if __name__ == "__main__":
    main()
