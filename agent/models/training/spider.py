"""Reads what training learns from: schemas in Spider's `tables.json` form and questions with their gold statements."""

import gzip
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

SpiderType = Literal["text", "number", "time", "boolean", "others"]

_NO_WORD = re.compile(r"[^\w]+", re.UNICODE)


@dataclass(frozen=True)
class SpiderColumn:
    """A column; `values` are all it may hold, where the schema says so (Spider's own never do)."""

    name: str
    type: SpiderType
    values: tuple[str, ...] = ()


@dataclass(frozen=True)
class SpiderTable:
    """A table with the names of its primary key's columns."""

    name: str
    columns: tuple[SpiderColumn, ...]
    primary_key: tuple[str, ...] = ()


@dataclass(frozen=True)
class SpiderForeignKey:
    """`column` of `table` points to `target_column` of `target`."""

    table: str
    column: str
    target: str
    target_column: str


@dataclass(frozen=True)
class SpiderSchema:
    """The tables and foreign keys of one database."""

    db_id: str
    tables: tuple[SpiderTable, ...]
    foreign_keys: tuple[SpiderForeignKey, ...] = ()


@dataclass(frozen=True)
class TrainingQuestion:
    """A question on a database, with the gold statement that answers it."""

    id: str
    db_id: str
    question: str
    sql: str


@dataclass(frozen=True)
class HeldOut:
    """What a measurement is made on and training must therefore not see."""

    db_ids: frozenset[str]
    questions: frozenset[str]
    """Normalised, as `normalised` gives them."""

    def holds(self, question: TrainingQuestion) -> bool:
        """Return True where the database or the wording of `question` is held out."""
        return question.db_id in self.db_ids or normalised(question.question) in self.questions


def read_schemas(path: Path) -> dict[str, SpiderSchema]:
    """Return the schemas of a `tables.json`, gzipped or not, by database id.

    Raises:
        OSError: the file cannot be read.
        KeyError, ValueError: it has not the form of Spider's `tables.json`.
    """
    return {record["db_id"]: _schema(record) for record in json.loads(_text(path))}


def read_training(path: Path) -> list[TrainingQuestion]:
    """Return the questions of a file with `id, db_id, question, sql` on each line, gzipped or not.

    Raises:
        OSError: the file cannot be read.
        KeyError, ValueError: a line is broken or lacks a field.
    """
    records = (json.loads(line) for line in _text(path).splitlines() if line.strip())
    return [TrainingQuestion(*(record[name] for name in ("id", "db_id", "question", "sql"))) for record in records]


def read_held_out(path: Path) -> HeldOut:
    """Return the databases and wordings of a questions file that is for measuring only.

    Raises:
        OSError, KeyError, ValueError: as `read_training`.
    """
    questions = read_training(path)
    texts = frozenset(normalised(question.question) for question in questions)
    return HeldOut(frozenset(question.db_id for question in questions), texts)


def refuse_held_out(questions: Iterable[TrainingQuestion], held_out: HeldOut) -> None:
    """Check that no question is held out.

    Raises:
        ValueError: one is; the text names the first of them.
    """
    found = [question.id for question in questions if held_out.holds(question)]
    if found:
        raise ValueError(f"{len(found)} training questions are held out for measuring, the first is {found[0]}")


def normalised(question: str) -> str:
    """Return `question` without case, punctuation and surplus blanks."""
    return _NO_WORD.sub(" ", question.casefold()).strip()


def _text(path: Path) -> str:
    data = path.read_bytes()
    return (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8")


def _schema(record: dict[str, Any]) -> SpiderSchema:
    names: Sequence[str] = record["table_names_original"]
    columns: Sequence[tuple[int, str]] = [(table, name) for table, name in record["column_names_original"]]
    keys = _primary_keys(record["primary_keys"])
    tables = tuple(_table(number, name, record, keys) for number, name in enumerate(names))
    pairs = ((columns[own], columns[target]) for own, target in record["foreign_keys"])
    foreign = tuple(SpiderForeignKey(names[a], column, names[b], target) for (a, column), (b, target) in pairs)
    return SpiderSchema(record["db_id"], tables, foreign)


def _table(number: int, name: str, record: dict[str, Any], keys: set[int]) -> SpiderTable:
    described = zip(record["column_names_original"], record["column_types"], strict=True)
    own = [(at, column, kind) for at, ((table, column), kind) in enumerate(described) if table == number]
    columns = tuple(SpiderColumn(column, cast("SpiderType", kind)) for _, column, kind in own)
    return SpiderTable(name, columns, tuple(column for at, column, _ in own if at in keys))


def _primary_keys(given: Sequence[int | Sequence[int]]) -> set[int]:
    """Spider's later releases list the columns of a composite key in a list of their own."""
    return {at for key in given for at in ([key] if isinstance(key, int) else key)}
