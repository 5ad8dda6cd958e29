"""Evaluation datasets: questions with reference SQL, their databases, and the files that hold them."""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from datasphinx.agent.errors import DatasetInvalid


@dataclass(frozen=True)
class Question:
    """A question about a database, with its reference SQL."""

    id: str
    db_id: str
    question: str
    sql: str


@dataclass(frozen=True)
class Dataset:
    """The questions of a dataset in order, and the folder with a SQLite file for each `db_id`."""

    questions: list[Question]
    databases: Path

    def first(self, limit: int | None) -> "Dataset":
        """Return this dataset with only its first `limit` questions; None means all."""
        return Dataset(self.questions[:limit], self.databases)


def find_databases(dataset: Dataset) -> dict[str, Path]:
    """Return the file of each database used by the questions, by its id.

    The file is `<id>.sqlite` in the folder, or `<id>/<id>.sqlite` as in Spider, BIRD and KaggleDBQA.

    Raises:
        DatasetInvalid: The folder or one of the files does not exist.
    """
    folder = dataset.databases
    if not folder.is_dir():
        raise DatasetInvalid(str(folder), "there is no such folder")
    return {
        db_id: _database(folder, db_id) for db_id in dict.fromkeys(question.db_id for question in dataset.questions)
    }


def _database(folder: Path, db_id: str) -> Path:
    name = f"{db_id}.sqlite"
    # The id comes from a file, so it must not name a path outside the folder.
    if Path(name).name != name or "\\" in name:
        raise DatasetInvalid(str(folder), f"{db_id!r} is not a valid database name")
    for path in (folder / name, folder / db_id / name):
        if path.is_file():
            return path
    raise DatasetInvalid(str(folder), f"there is neither {name} nor {db_id}/{name}")


Made = TypeVar("Made")
Record = dict[str, Any]


def read_lines(path: Path, make: Callable[[Record], Made]) -> Iterator[Made]:
    """Yield the result of `make` for the JSON object on each line.

    Raises:
        DatasetInvalid: The file cannot be read, a line is not a JSON object, or `make` raised a ValueError for it.
    """
    # Split bytes: text would also be split at line separators that JSON allows inside strings.
    for number, line in enumerate(read_content(path).splitlines(), start=1):
        if line.strip():
            try:
                yield make(object_of(json_of(line)))
            except ValueError as error:
                raise DatasetInvalid(str(path), f"line {number}: {error}") from error


def text_field(record: Record, name: str, *, may_be_empty: bool = False) -> str:
    """Return the text of a field.

    Raises:
        ValueError: The field is missing, not text, or empty without `may_be_empty`.
    """
    value = record.get(name)
    if value is None:
        raise ValueError(f"the field {name!r} is missing")
    if not isinstance(value, str):
        raise ValueError(f"the field {name!r} is not text")
    if not value.strip() and not may_be_empty:
        raise ValueError(f"the field {name!r} is empty")
    return value


def id_field(record: Record, name: str = "id") -> str:
    """Return a field with text or an integer, as text.

    Raises:
        ValueError: The field is missing, empty or of another type.
    """
    value = record.get(name)
    return str(value) if type(value) is int else text_field(record, name)


def require_unique_ids(ids: list[str], path: Path) -> None:
    """Check that no id is repeated.

    Raises:
        DatasetInvalid: With the repeated ids and `path`, their file.
    """
    repeated = [name for name, count in Counter(ids).items() if count > 1]
    if repeated:
        raise DatasetInvalid(str(path), f"it contains the same id several times: {shorten(repeated)}")


def shorten(ids: list[str]) -> str:
    """Return the first five ids, and the number of the remaining ones."""
    names = ", ".join(ids[:5])
    return f"{names} and {len(ids) - 5} more" if len(ids) > 5 else names


def read_content(path: Path) -> bytes:
    """Return the bytes of a file.

    Raises:
        DatasetInvalid: it cannot be read.
    """
    try:
        return path.read_bytes()
    except FileNotFoundError as error:
        raise DatasetInvalid(str(path), "there is no such file") from error
    except OSError as error:
        raise DatasetInvalid(str(path), f"it cannot be read ({error.strerror})") from error


def json_of(content: bytes) -> Any:
    """Return the value of a JSON text.

    Raises:
        ValueError: it is not JSON.
    """
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"it is not JSON ({error})") from error


def object_of(record: Any) -> Record:
    """Return `record`, a JSON object.

    Raises:
        ValueError: it is another value.
    """
    if not isinstance(record, dict):
        raise ValueError("it is not a JSON object")
    return record


def read_questions(path: Path) -> list[Question]:
    """Return the questions of a file with `id, db_id, question, sql` on each line; other fields are ignored.

    Raises:
        DatasetInvalid: The file cannot be read or is empty, or a line is invalid or repeats an id.
    """

    def read(record: Record) -> Question:
        return Question(id_field(record), *(text_field(record, name) for name in ("db_id", "question", "sql")))

    questions = list(read_lines(path, read))
    require_unique_ids([question.id for question in questions], path)
    if not questions:
        raise DatasetInvalid(str(path), "it contains no questions")
    return questions


def read_predictions(path: Path, questions: list[Question]) -> dict[str, str]:
    """Return the SQL of a file with `id, sql` on each line, by id. Empty SQL means no answer.

    Raises:
        DatasetInvalid: As `read_questions`, or a line has the id of no question.
    """

    def read(record: Record) -> tuple[str, str]:
        return id_field(record), text_field(record, "sql", may_be_empty=True)

    predictions = list(read_lines(path, read))
    require_unique_ids([name for name, _ in predictions], path)
    ids = {question.id for question in questions}
    unknown = [name for name, _ in predictions if name not in ids]
    if unknown:
        raise DatasetInvalid(str(path), f"there is no question for {shorten(unknown)}")
    return dict(predictions)


def require_predictions(questions: list[Question], predictions: dict[str, str], path: Path) -> None:
    """Check that each question has a prediction; `path` is the file of the predictions.

    Raises:
        DatasetInvalid: With the ids of questions without one.
    """
    missing = [question.id for question in questions if question.id not in predictions]
    if missing:
        raise DatasetInvalid(str(path), f"there is no statement for {shorten(missing)}")
