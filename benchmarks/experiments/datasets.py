"""Read the published datasets Spider, BIRD and KaggleDBQA, and a folder of own questions."""

import json
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar

from datasphinx.agent.errors import DatasetInvalid
from datasphinx.agent.evals.datasets import (
    Dataset,
    Question,
    read_content,
    read_questions,
    require_unique_ids,
    shorten,
)

_QUESTIONS = ("dev.json", "mini_dev_sqlite.json")
_PARTS = ("_test", "_fewshot")
"""Name endings of files that repeat questions of another file."""


Made = TypeVar("Made")
Record = dict[str, Any]


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


def read_list(path: Path, make: Callable[[int, Record], Made]) -> list[Made]:
    """Return the result of `make` for each object of a JSON list and its index.

    Raises:
        DatasetInvalid: The file cannot be read, is not a JSON list of objects, or `make` raised a ValueError.
    """
    try:
        entries = json_of(read_content(path))
    except ValueError as error:
        raise DatasetInvalid(str(path), str(error)) from error
    if not isinstance(entries, list):
        raise DatasetInvalid(str(path), "it is not a JSON list")
    items = []
    for number, entry in enumerate(entries):
        try:
            items.append(make(number, object_of(entry)))
        except ValueError as error:
            raise DatasetInvalid(str(path), f"entry {number}, counted from 0: {error}") from error
    return items


def read_jsonl(folder: Path) -> Dataset:
    """Return the dataset of a folder with `questions.jsonl` and the databases in `databases`.

    Raises:
        DatasetInvalid: As `read_questions`.
    """
    return Dataset(read_questions(folder / "questions.jsonl"), folder / "databases")


@dataclass(frozen=True)
class Layout:
    """The paths of the schemas and the databases in a dataset's folder."""

    schemas: str
    databases: str

    def dataset(self, folder: Path, questions: list[Question]) -> Dataset:
        """Return `questions` with the databases of `folder`.

        Raises:
            DatasetInvalid: There are no questions, an id is repeated, the list of schemas is missing, invalid or
                incomplete, or the folder of databases is missing.
        """
        if not questions:
            raise DatasetInvalid(str(folder), "it contains no questions")
        require_unique_ids([question.id for question in questions], folder)
        schema_ids = set(read_list(folder / self.schemas, lambda _, record: text_field(record, "db_id")))
        unknown = [
            db_id for db_id in dict.fromkeys(question.db_id for question in questions) if db_id not in schema_ids
        ]
        if unknown:
            raise DatasetInvalid(str(folder / self.schemas), f"there is no schema of {shorten(unknown)}")
        databases = folder / self.databases
        if not databases.is_dir():
            raise DatasetInvalid(str(databases), "there is no such folder; unpack the databases there")
        return Dataset(questions, databases)


def part_of(dataset: Dataset, limit: int | None, seed: int | None) -> Dataset:
    """Return `dataset` with `limit` of its questions: the first ones, or a random sample if `seed` is set."""
    if limit is None or seed is None:
        return dataset.first(limit)
    indices = random.Random(seed).sample(range(len(dataset.questions)), min(limit, len(dataset.questions)))
    return Dataset([dataset.questions[index] for index in sorted(indices)], dataset.databases)


def find_one_file(folder: Path, names: tuple[str, ...]) -> Path:
    """Return the only file of `folder` with one of `names`.

    Raises:
        DatasetInvalid: None of the files exists, or more than one.
    """
    paths = [folder / name for name in names if (folder / name).exists()]
    if len(paths) == 1:
        return paths[0]
    raise DatasetInvalid(str(folder), f"it contains {'more than one' if paths else 'none'} of {', '.join(names)}")


def unpacked(folder: Path, names: tuple[str, ...]) -> Path:
    """Return `folder`, or the only folder below it with one of the files `names` if `folder` has none of them.

    Archives contain a folder of their own, such as `dev_20240627` or `minidev/MINIDEV`; `__MACOSX` is left out.
    """
    if any((folder / name).exists() for name in names):
        return folder
    below = [path for pattern in ("*", "*/*") for path in sorted(folder.glob(pattern)) if "__MACOSX" not in path.parts]
    found = [path for path in below if any((path / name).is_file() for name in names)]
    return found[0] if len(found) == 1 else folder


_BIRD = Layout("dev_tables.json", "dev_databases")


def read_bird(folder: Path, *, evidence: bool) -> Dataset:
    """Return BIRD's dev split or mini-dev, with or without the `evidence` of its questions.

    `folder`, or a folder of the archive in it, has `dev.json` or `mini_dev_sqlite.json`, and `dev_tables.json` and
    `dev_databases/<id>/<id>.sqlite`. The descriptions of columns beside the databases are not read. Of questions with
    the same id, as in the published mini-dev, the second has the id `<id>-2`, and so on.

    Raises:
        DatasetInvalid: A file is missing, invalid or inconsistent with another, or both files of questions exist.
    """
    uses: Counter[str] = Counter()

    def question(_: int, record: Record) -> Question:
        question_id = id_field(record, "question_id")
        uses[question_id] += 1
        suffix = f"-{uses[question_id]}" if uses[question_id] > 1 else ""
        db_id, text, sql = (text_field(record, name) for name in ("db_id", "question", "SQL"))
        hint = text_field(record, "evidence", may_be_empty=True).strip() if evidence else ""
        return Question(question_id + suffix, db_id, f"{text}\nHint: {hint}" if hint else text, sql)

    folder = unpacked(folder, _QUESTIONS)
    return _BIRD.dataset(folder, read_list(find_one_file(folder, _QUESTIONS), question))


_KAGGLEDBQA = Layout("KaggleDBQA_tables.json", "databases")


def read_kaggledbqa(folder: Path) -> Dataset:
    """Return all questions of KaggleDBQA.

    `folder` has `examples/<id>.json`, `KaggleDBQA_tables.json` and `databases/<id>/<id>.sqlite`; `<id>_test.json` and
    `<id>_fewshot.json` repeat questions of `<id>.json` and are not read. The questions have no ids; their database and
    their index in the file identify them.

    Raises:
        DatasetInvalid: A file is missing, invalid or inconsistent with another.
    """
    folder = unpacked(folder, (_KAGGLEDBQA.schemas,))
    examples = folder / "examples"
    if not examples.is_dir():
        raise DatasetInvalid(str(examples), "there is no such folder")
    # Files named ._* are metadata of macOS.
    names = sorted(path for path in examples.glob("*.json") if not path.name.startswith("."))
    files = [path for path in names if not path.stem.endswith(_PARTS)]
    if not files:
        raise DatasetInvalid(str(examples), "there is no file of questions, such as Pesticide.json")

    def question(number: int, record: Record) -> Question:
        db_id = text_field(record, "db_id")
        return Question(f"{db_id}-{number}", db_id, text_field(record, "question"), text_field(record, "query"))

    return _KAGGLEDBQA.dataset(folder, [item for path in files for item in read_list(path, question)])


_SPIDER = Layout("tables.json", "database")


def read_spider(folder: Path) -> Dataset:
    """Return the dev split of Spider: `dev.json`, `tables.json` and `database/<id>/<id>.sqlite` in `folder`.

    The questions have no ids; they are numbered `dev-0` and so on, in order.

    Raises:
        DatasetInvalid: A file is missing, invalid or inconsistent with another.
    """

    def question(number: int, record: Record) -> Question:
        return Question(f"dev-{number}", *(text_field(record, name) for name in ("db_id", "question", "query")))

    return _SPIDER.dataset(folder, read_list(folder / "dev.json", question))


class DatasetName(StrEnum):
    """The supported datasets."""

    JSONL = "jsonl"
    KAGGLEDBQA = "kaggledbqa"
    BIRD = "bird"
    SPIDER = "spider"


def open_dataset(name: DatasetName, folder: Path, *, evidence: bool = True) -> Dataset:
    """Return the dataset in `folder`; the questions of BIRD with or without `evidence`.

    Raises:
        DatasetInvalid: A file is missing, invalid or inconsistent with another.
    """
    if name is DatasetName.BIRD:
        return read_bird(folder, evidence=evidence)
    if name is DatasetName.KAGGLEDBQA:
        return read_kaggledbqa(folder)
    return read_spider(folder) if name is DatasetName.SPIDER else read_jsonl(folder)
