"""Reads what an evaluation runs on: questions and predictions as JSON lines, and a folder of SQLite databases."""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from agent.errors import DatasetInvalid

Record = TypeVar("Record")


@dataclass(frozen=True)
class Question:
    """A question on a database, with the reference statement that answers it."""

    id: str
    db_id: str
    question: str
    sql: str


def read_questions(path: Path) -> list[Question]:
    """Return the questions of a file with `id, db_id, question, sql` on each line; further fields are ignored.

    Raises:
        DatasetInvalid: the file cannot be read or is empty, or a line is broken, lacks a field or repeats an id.
    """

    def read(record: dict[str, Any]) -> Question:
        return Question(_id(record), *(_text(record, name) for name in ("db_id", "question", "sql")))

    questions = list(_records(path, read))
    _refuse_repeated([question.id for question in questions], path)
    if not questions:
        raise DatasetInvalid(str(path), "there is no question in it")
    return questions


def read_predictions(path: Path, questions: list[Question]) -> dict[str, str]:
    """Return the statements of a file with `id, sql` on each line, by id. An empty one stands for no answer.

    Raises:
        DatasetInvalid: as `read_questions`, or there is no question with the id of a line.
    """

    def read(record: dict[str, Any]) -> tuple[str, str]:
        return _id(record), _text(record, "sql", may_be_empty=True)

    predictions = list(_records(path, read))
    _refuse_repeated([name for name, _ in predictions], path)
    known = {question.id for question in questions}
    unknown = [name for name, _ in predictions if name not in known]
    if unknown:
        raise DatasetInvalid(str(path), f"there is no question for {_some(unknown)}")
    return dict(predictions)


def require_predictions(questions: list[Question], predictions: dict[str, str], path: Path) -> None:
    """Let only questions pass that all have a prediction; `path` is where these came from.

    Raises:
        DatasetInvalid: with the ids of those that have none.
    """
    missing = [question.id for question in questions if question.id not in predictions]
    if missing:
        raise DatasetInvalid(str(path), f"there is no statement for {_some(missing)}")


def find_databases(folder: Path, questions: list[Question]) -> dict[str, Path]:
    """Return the file of each database that `questions` ask, by its id.

    It is `<id>.sqlite` in `folder`, or `<id>/<id>.sqlite` as Spider itself has it.

    Raises:
        DatasetInvalid: the folder or one of the files does not exist.
    """
    if not folder.is_dir():
        raise DatasetInvalid(str(folder), "there is no such folder")
    return {db_id: _database(folder, db_id) for db_id in dict.fromkeys(question.db_id for question in questions)}


def _database(folder: Path, db_id: str) -> Path:
    name = f"{db_id}.sqlite"
    # The id comes out of a file, so it may name a file in the folder and nothing outside.
    if Path(name).name != name or "\\" in name:
        raise DatasetInvalid(str(folder), f"{db_id!r} is no name of a database")
    for path in (folder / name, folder / db_id / name):
        if path.is_file():
            return path
    raise DatasetInvalid(str(folder), f"there is neither {name} nor {db_id}/{name}")


def _records(path: Path, read: Callable[[dict[str, Any]], Record]) -> Iterator[Record]:
    """Yield what `read` makes of each line; an error it raises gets the number of the line."""
    try:
        content = path.read_bytes()
    except FileNotFoundError as error:
        raise DatasetInvalid(str(path), "there is no such file") from error
    except OSError as error:
        raise DatasetInvalid(str(path), f"it cannot be read ({error.strerror})") from error
    # Bytes, since text would also be split at the line separators that JSON allows inside its strings.
    for number, line in enumerate(content.splitlines(), start=1):
        if line.strip():
            try:
                yield read(_object(line))
            except ValueError as error:
                raise DatasetInvalid(str(path), f"line {number}: {error}") from error


def _object(line: bytes) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"it is not JSON ({error})") from error
    if not isinstance(record, dict):
        raise ValueError("it is not a JSON object")
    return record


def _id(record: dict[str, Any]) -> str:
    given = record.get("id")
    return str(given) if type(given) is int else _text(record, "id")


def _text(record: dict[str, Any], name: str, *, may_be_empty: bool = False) -> str:
    value = record.get(name)
    if value is None:
        raise ValueError(f"the field {name!r} is missing")
    if not isinstance(value, str):
        raise ValueError(f"the field {name!r} is not text")
    if not value.strip() and not may_be_empty:
        raise ValueError(f"the field {name!r} is empty")
    return value


def _refuse_repeated(ids: list[str], path: Path) -> None:
    repeated = [name for name, count in Counter(ids).items() if count > 1]
    if repeated:
        raise DatasetInvalid(str(path), f"the same id stands on several lines: {_some(repeated)}")


def _some(ids: list[str], shown: int = 5) -> str:
    more = f" and {len(ids) - shown} more" if len(ids) > shown else ""
    return ", ".join(ids[:shown]) + more
