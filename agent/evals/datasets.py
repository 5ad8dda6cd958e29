"""Evaluation datasets: questions with reference SQL, their databases, and the files that hold them."""

from codecs import BOM_UTF8
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, TypeVar

from pydantic import Field, StringConstraints, TypeAdapter, ValidationError

from datasphinx.agent.datasets.options import problem_of
from datasphinx.agent.errors import DatasetInvalid

Made = TypeVar("Made")
_Text = Annotated[str, StringConstraints(pattern=r"\S")]
_Id = Annotated[str, Field(coerce_numbers_to_str=True), StringConstraints(pattern=r"\S")]


@dataclass(frozen=True)
class Question:
    """A question about a database, with its reference SQL."""

    id: _Id
    db_id: _Text
    question: _Text
    sql: _Text


@dataclass(frozen=True)
class _Prediction:
    id: _Id
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


def require_unique_ids(ids: list[str], path: Path) -> None:
    """Raise DatasetInvalid, with the ids and `path`, their file, if ids are repeated."""
    repeated = [name for name, count in Counter(ids).items() if count > 1]
    if repeated:
        raise DatasetInvalid(str(path), f"it contains the same id several times: {shorten(repeated)}")


def shorten(ids: list[str]) -> str:
    """Return the first five ids, and the number of the remaining ones."""
    names = ", ".join(ids[:5])
    return f"{names} and {len(ids) - 5} more" if len(ids) > 5 else names


def read_content(path: Path) -> bytes:
    """Return the bytes of a file. Raise DatasetInvalid if it cannot be read."""
    try:
        return path.read_bytes()
    except FileNotFoundError as error:
        raise DatasetInvalid(str(path), "there is no such file") from error
    except OSError as error:
        raise DatasetInvalid(str(path), f"it cannot be read ({error.strerror})") from error


def read_lines(path: Path, kind: TypeAdapter[Made]) -> list[Made]:
    """Return the value of the JSON on each line.

    Raises:
        DatasetInvalid: The file cannot be read, or a line does not fit.
    """
    values = []
    # Split bytes: text would also be split at line separators that JSON allows inside strings.
    for number, line in enumerate(read_content(path).removeprefix(BOM_UTF8).splitlines(), start=1):
        if line.strip():
            try:
                values.append(kind.validate_json(line))
            except ValidationError as error:
                raise DatasetInvalid(str(path), f"line {number}: {problem_of(error)}") from error
    return values


def read_questions(path: Path) -> list[Question]:
    """Return the questions of a file with `id, db_id, question, sql` on each line; other fields are ignored.

    Raises:
        DatasetInvalid: The file cannot be read or is empty, or a line is invalid or repeats an id.
    """
    questions = read_lines(path, TypeAdapter(Question))
    require_unique_ids([question.id for question in questions], path)
    if not questions:
        raise DatasetInvalid(str(path), "it contains no questions")
    return questions


def read_predictions(path: Path, questions: list[Question]) -> dict[str, str]:
    """Return the SQL of a file with `id, sql` on each line, by id. Empty SQL means no answer; see `read_questions`."""
    predictions = read_lines(path, TypeAdapter(_Prediction))
    require_unique_ids([each.id for each in predictions], path)
    ids = {question.id for question in questions}
    unknown = [each.id for each in predictions if each.id not in ids]
    if unknown:
        raise DatasetInvalid(str(path), f"there is no question for {shorten(unknown)}")
    return {each.id: each.sql for each in predictions}


def require_predictions(questions: list[Question], predictions: dict[str, str], path: Path) -> None:
    """Raise DatasetInvalid, with `path`, the file of the predictions, if a question has no prediction."""
    missing = [question.id for question in questions if question.id not in predictions]
    if missing:
        raise DatasetInvalid(str(path), f"there is no statement for {shorten(missing)}")
