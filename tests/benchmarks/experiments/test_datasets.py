"""Spider, BIRD and KaggleDBQA in their published layouts, with a shop of two tables as the database."""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from benchmarks.experiments.datasets import DatasetName, open_dataset
from datasphinx.agent.errors import DatasetInvalid
from datasphinx.agent.evals.datasets import Dataset, Question, find_databases

SQL = "SELECT COUNT(*) FROM product"


def write(path: Path, content: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content), encoding="utf-8")


def schemas(*db_ids: str) -> list[dict[str, Any]]:
    """What tables.json says of each database, cut to what it says first."""
    return [{"db_id": db_id, "table_names_original": ["product"], "column_types": ["text"]} for db_id in db_ids]


def database(folder: Path, db_id: str) -> None:
    (folder / db_id).mkdir(parents=True)
    with closing(sqlite3.connect(folder / db_id / f"{db_id}.sqlite")) as connection:
        connection.executescript("CREATE TABLE product (name TEXT); INSERT INTO product VALUES ('tea'), ('jam')")


def spider(folder: Path) -> None:
    write(
        folder / "dev.json",
        [
            {"db_id": "shop", "query": SQL, "question": "How many products?", "query_toks": [], "sql": {"from": {}}},
            {"db_id": "city", "query": "SELECT 1", "question": "How many cities?", "question_toks": []},
        ],
    )
    write(folder / "tables.json", schemas("shop", "city", "a database of the train split"))
    for db_id in ("shop", "city"):
        database(folder / "database", db_id)


def bird(folder: Path, name: str = "dev.json") -> None:
    hinted = {"question_id": 7, "db_id": "shop", "question": "How many?", "evidence": "of products", "SQL": SQL}
    plain = {"question_id": 9, "db_id": "shop", "question": "Which?", "evidence": "", "SQL": "SELECT name FROM product"}
    write(folder / name, [{**hinted, "difficulty": "simple"}, {**plain, "difficulty": "challenging"}])
    write(folder / "dev_tables.json", schemas("shop"))
    database(folder / "dev_databases", "shop")


def kaggledbqa(folder: Path) -> None:
    shop = [{"db_id": "Shop", "query": SQL, "question": f"How many, {asked}?", "sql": {}} for asked in ("all", "now")]
    write(folder / "examples" / "Shop.json", shop)
    write(folder / "examples" / "Shop_test.json", shop[:1])
    write(folder / "examples" / "Shop_fewshot.json", shop[1:])
    write(folder / "examples" / "City.json", [{"db_id": "City", "query": "SELECT 1", "question": "How many cities?"}])
    write(folder / "KaggleDBQA_tables.json", schemas("Shop", "City"))
    for db_id in ("Shop", "City"):
        database(folder / "databases", db_id)


def jsonl(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    line = {"id": "q1", "db_id": "shop", "question": "How many?", "sql": SQL}
    (folder / "questions.jsonl").write_text(json.dumps(line), encoding="utf-8")
    database(folder / "databases", "shop")


LAYOUTS: dict[DatasetName, Callable[[Path], None]] = {
    DatasetName.SPIDER: spider,
    DatasetName.BIRD: bird,
    DatasetName.KAGGLEDBQA: kaggledbqa,
    DatasetName.JSONL: jsonl,
}


def opened(name: DatasetName, folder: Path, **given: Any) -> Dataset:
    LAYOUTS[name](folder)
    return open_dataset(name, folder, **given)


def refusal(path: Path, *reasons: str) -> Any:
    """The error that names `path` and says all `reasons`."""

    def says(error: DatasetInvalid) -> bool:
        return error.path == str(path) and all(each in error.reason for each in reasons)

    return pytest.raises(DatasetInvalid, check=says)


@pytest.mark.parametrize(
    ("name", "files"),
    [
        (DatasetName.SPIDER, ["database/shop/shop.sqlite", "database/city/city.sqlite"]),
        (DatasetName.BIRD, ["dev_databases/shop/shop.sqlite"]),
        (DatasetName.KAGGLEDBQA, ["databases/City/City.sqlite", "databases/Shop/Shop.sqlite"]),
        (DatasetName.JSONL, ["databases/shop/shop.sqlite"]),
    ],
)
def test_the_databases_of_every_layout_are_found(tmp_path: Path, name: DatasetName, files: list[str]) -> None:
    assert list(find_databases(opened(name, tmp_path)).values()) == [tmp_path / file for file in files]


def test_spiders_questions_are_called_by_their_place(tmp_path: Path) -> None:
    assert opened(DatasetName.SPIDER, tmp_path).questions == [
        Question("dev-0", "shop", "How many products?", SQL),
        Question("dev-1", "city", "How many cities?", "SELECT 1"),
    ]


@pytest.mark.parametrize("name", ["dev.json", "mini_dev_sqlite.json"])
def test_birds_questions_come_with_their_evidence_or_without(tmp_path: Path, name: str) -> None:
    bird(tmp_path, name)
    hinted, plain = open_dataset(DatasetName.BIRD, tmp_path).questions
    bare = open_dataset(DatasetName.BIRD, tmp_path, evidence=False).questions

    assert (hinted.id, hinted.sql, hinted.question) == ("7", SQL, "How many?\nHint: of products")
    assert (plain.id, plain.question) == ("9", "Which?")
    assert [question.question for question in bare] == ["How many?", "Which?"]


def test_kaggledbqas_questions_are_those_of_the_whole_files(tmp_path: Path) -> None:
    assert [(each.id, each.question) for each in opened(DatasetName.KAGGLEDBQA, tmp_path).questions] == [
        ("City-0", "How many cities?"),
        ("Shop-0", "How many, all?"),
        ("Shop-1", "How many, now?"),
    ]


def test_with_both_files_of_birds_questions_none_is_taken(tmp_path: Path) -> None:
    bird(tmp_path)
    write(tmp_path / "mini_dev_sqlite.json", [])
    with refusal(tmp_path, "dev.json", "mini_dev_sqlite.json"):
        open_dataset(DatasetName.BIRD, tmp_path)


@pytest.mark.parametrize("place", [".", "minidev/MINIDEV"])
def test_bird_is_found_in_the_folder_of_its_archive(tmp_path: Path, place: str) -> None:
    bird(tmp_path / place, "mini_dev_sqlite.json")
    assert len(open_dataset(DatasetName.BIRD, tmp_path).questions) == 2


def test_ids_that_repeat_in_bird_are_numbered(tmp_path: Path) -> None:
    bird(tmp_path)
    entry = {"question_id": 7, "db_id": "shop", "question": "How many?", "evidence": "", "SQL": SQL}
    write(tmp_path / "dev.json", [entry, {**entry, "question": "Which?"}, {**entry, "question_id": 8}])
    questions = open_dataset(DatasetName.BIRD, tmp_path).questions
    assert [(each.id, each.question) for each in questions] == [
        ("7", "How many?"),
        ("7-2", "Which?"),
        ("8", "How many?"),
    ]
