"""Questions with the statements that answer them, and where their databases are."""

import random
from dataclasses import dataclass
from pathlib import Path

from agent.errors import DatasetInvalid


@dataclass(frozen=True)
class Question:
    """A question on a database, with the reference statement that answers it."""

    id: str
    db_id: str
    question: str
    sql: str
    evidence: str = ""
    """What the dataset says to understand the question by; empty where it says nothing."""

    @property
    def asked(self) -> str:
        """The question as it is put, the evidence below it."""
        return f"{self.question}\nHint: {self.evidence}" if self.evidence else self.question


@dataclass(frozen=True)
class Dataset:
    """The questions of a dataset in their order, and the folder with a SQLite file for each `db_id`."""

    questions: list[Question]
    databases: Path

    def first(self, limit: int | None) -> "Dataset":
        """Return this dataset with its first `limit` questions; with all of them where that is None."""
        return Dataset(self.questions[:limit], self.databases)

    def part(self, limit: int | None, seed: int | None) -> "Dataset":
        """Return this dataset with `limit` of its questions in their order: the first, or with `seed` drawn by it."""
        if limit is None or seed is None:
            return self.first(limit)
        places = random.Random(seed).sample(range(len(self.questions)), min(limit, len(self.questions)))
        return Dataset([self.questions[at] for at in sorted(places)], self.databases)


def find_databases(dataset: Dataset) -> dict[str, Path]:
    """Return the file of each database that the questions ask, by its id.

    It is `<id>.sqlite` in the folder, or `<id>/<id>.sqlite` as Spider, BIRD and KaggleDBQA have it.

    Raises:
        DatasetInvalid: the folder or one of the files does not exist.
    """
    folder = dataset.databases
    if not folder.is_dir():
        raise DatasetInvalid(str(folder), "there is no such folder")
    return {db_id: _database(folder, db_id) for db_id in dict.fromkeys(asked.db_id for asked in dataset.questions)}


def _database(folder: Path, db_id: str) -> Path:
    name = f"{db_id}.sqlite"
    # The id comes out of a file, so it may name a file in the folder and nothing outside.
    if Path(name).name != name or "\\" in name:
        raise DatasetInvalid(str(folder), f"{db_id!r} is no name of a database")
    for path in (folder / name, folder / db_id / name):
        if path.is_file():
            return path
    raise DatasetInvalid(str(folder), f"there is neither {name} nor {db_id}/{name}")
