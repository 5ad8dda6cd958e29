"""Read the training data: schemas in the `tables.json` format of Spider, and questions with gold statements."""

import gzip
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

SpiderType = Literal["text", "number", "time", "boolean", "others"]

_NON_WORD = re.compile(r"[^\w]+", re.UNICODE)


@dataclass(frozen=True)
class SpiderColumn:
    """A column; `values` are its possible values, empty if unrestricted (always so in Spider)."""

    name: str
    type: SpiderType
    values: tuple[str, ...] = ()


@dataclass(frozen=True)
class SpiderTable:
    """A table; `primary_key` has the names of its key columns."""

    name: str
    columns: tuple[SpiderColumn, ...]
    primary_key: tuple[str, ...] = ()


@dataclass(frozen=True)
class SpiderForeignKey:
    """A foreign key from `column` of `table` to `target_column` of `target`."""

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
    """A question on a database with its gold statement."""

    id: str
    db_id: str
    question: str
    sql: str


@dataclass(frozen=True)
class HeldOut:
    """Databases and questions reserved for evaluation, which must not be used in training."""

    db_ids: frozenset[str]
    questions: frozenset[str]
    """Texts normalised by `normalised`."""

    def holds(self, question: TrainingQuestion) -> bool:
        """Return whether the database or the wording of `question` is held out."""
        return question.db_id in self.db_ids or normalised(question.question) in self.questions


def read_schemas(path: Path) -> dict[str, SpiderSchema]:
    """Return the schemas of a `tables.json`, gzipped or not, by database id.

    Raises:
        OSError: the file cannot be read.
        KeyError, ValueError: the format is not that of `tables.json`.
    """
    return {record["db_id"]: _schema(record) for record in json.loads(_text(path))}


def read_training(path: Path) -> list[TrainingQuestion]:
    """Return the questions of a JSON Lines file with the fields `id, db_id, question, sql`, gzipped or not.

    Raises:
        OSError: the file cannot be read.
        KeyError, ValueError: a line is invalid or lacks a field.
    """
    records = (json.loads(line) for line in _text(path).splitlines() if line.strip())
    return [TrainingQuestion(*(record[name] for name in ("id", "db_id", "question", "sql"))) for record in records]


def read_held_out(path: Path) -> HeldOut:
    """Return the databases and wordings of a question file reserved for evaluation.

    Raises:
        OSError, KeyError, ValueError: as for `read_training`.
    """
    questions = read_training(path)
    texts = frozenset(normalised(question.question) for question in questions)
    return HeldOut(frozenset(question.db_id for question in questions), texts)


def normalised(question: str) -> str:
    """Return `question` in lower case without punctuation and extra spaces."""
    return _NON_WORD.sub(" ", question.casefold()).strip()


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


def _primary_keys(keys: Sequence[int | Sequence[int]]) -> set[int]:
    """Return the column indices of primary keys; later releases of Spider nest those of a composite key in a list."""
    return {at for key in keys for at in ([key] if isinstance(key, int) else key)}
