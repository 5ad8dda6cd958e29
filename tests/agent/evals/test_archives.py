"""BIRD, KaggleDBQA and the user study of Sphinteract with the file names, encodings and quirks of their archives."""

import json
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from datasphinx.agent.errors import DatasetInvalid
from datasphinx.agent.evals.datasets import Dataset, find_databases
from datasphinx.agent.evals.published_datasets import DatasetName, open_dataset, read_kaggledbqa
from datasphinx.agent.evals.run import evaluate
from datasphinx.agent.llm.scripted import ScriptedModel
from datasphinx.agent.services import Services
from datasphinx.agent.settings import load_settings

SCHOOLS = """
CREATE TABLE frpm (
    CDSCode TEXT not null primary key, `County Name` TEXT null, `Charter School (Y/N)` INTEGER null,
    `Enrollment (K-12)` REAL null, `Free Meal Count (K-12)` REAL null,
    `2013-14 CALPADS Fall 1 Certification Status` INTEGER
);
CREATE TABLE schools (CDSCode TEXT not null primary key, School TEXT null, OpenDate DATE null);
INSERT INTO frpm VALUES ('01', 'Alameda', 1, 1087, 565, 1), ('02', 'Fresno', 0, 0, 0, 1);
INSERT INTO schools VALUES ('01', CAST(x'4A6F73E9' AS TEXT), '1980-07-01'), ('02', 'Ocón', NULL);
"""
PLANTS = """
CREATE TABLE nuclear_power_plants ("Id", "Name", "Latitude", "Country", "Status", "LastUpdatedAt");
INSERT INTO nuclear_power_plants VALUES (1, 'Ågesta', '59.206', 'Sweden', 'Shutdown', '2017-02-10T23:58:52.000Z');
"""
RATE = "SELECT `Free Meal Count (K-12)` / `Enrollment (K-12)` FROM frpm WHERE `County Name` = 'Alameda'"
NAMES = "SELECT School FROM schools"
BIRD = [
    {
        "question_id": 0, "db_id": "california_schools", "difficulty": "simple", "SQL": RATE,
        "question": "What is the eligible free rate for K-12 students in Alameda County?",
        "evidence": "Eligible free rate for K-12 = `Free Meal Count (K-12)` / `Enrollment (K-12)`",
    },
    {
        "question_id": 1, "db_id": "california_schools", "difficulty": "moderate", "SQL": NAMES,
        "question": "Which schools are there? \u2019Ocón\u2019 is one.", "evidence": "",
    },
]  # fmt: skip
COUNT = 'SELECT count(*) FROM nuclear_power_plants WHERE Country = "Sweden"'
KAGGLE = [
    {
        "db_id": "GeoNuclearData", "query": COUNT, "question": "How many plants are in  Sweden?",
        "query_toks": ["SELECT"], "sql": {"where": []},
    },
    {
        "db_id": "GeoNuclearData", "query": "SELECT Name FROM nuclear_power_plants", "question": "Name all plants.",
        "sql": {},
    },
]  # fmt: skip


def database(folder: Path, db_id: str, script: str) -> None:
    (folder / db_id).mkdir(parents=True)
    with closing(sqlite3.connect(folder / db_id / f"{db_id}.sqlite")) as connection:
        connection.executescript(script)


def write(path: Path, content: Any, encoding: str = "utf-8") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(json.dumps(content, ensure_ascii=False, indent=4).encode(encoding))


def bird(folder: Path, name: str = "dev.json", encoding: str = "utf-8") -> None:
    """Write the archive of the dev split or of mini-dev as it is unpacked."""
    write(folder / name, BIRD, encoding)
    write(folder / "dev_tables.json", [{"db_id": "california_schools", "table_names_original": ["frpm", "schools"]}])
    write(folder / "dev_tied_append.json", [])
    (folder / "dev.sql").write_text(f"{RATE}\tcalifornia_schools\n", encoding="utf-8")
    (folder / "dev_databases.zip").write_bytes(b"PK")
    (folder / "dev_databases").mkdir()
    (folder / "dev_databases" / ".DS_Store").write_bytes(b"\0")
    database(folder / "dev_databases", "california_schools", SCHOOLS)
    descriptions = folder / "dev_databases" / "california_schools" / "database_description"
    descriptions.mkdir()
    (descriptions / "frpm.csv").write_bytes(
        "original_column_name,column_name\nCDSCode,\u2019code\u2019\n".encode("cp1252")
    )
    (descriptions / "schools.csv").write_bytes("original_column_name\nCDSCode\n".encode("utf-8-sig"))


def kaggledbqa(folder: Path) -> None:
    write(folder / "examples" / "GeoNuclearData.json", KAGGLE)
    write(folder / "examples" / "GeoNuclearData_test.json", KAGGLE[1:])
    write(folder / "examples" / "GeoNuclearData_fewshot.json", KAGGLE[:1])
    (folder / "examples" / "._GeoNuclearData.json").write_bytes(b"\0\5\x16\7")
    write(folder / "KaggleDBQA_tables.json", [{"db_id": "GeoNuclearData", "column_descriptions": []}])
    database(folder / "databases", "GeoNuclearData", PLANTS)


@pytest.mark.parametrize(
    ("place", "name"),
    [
        (".", "dev.json"),
        ("dev_20240627", "dev.json"),
        ("minidev/MINIDEV", "mini_dev_sqlite.json"),
        ("mini_dev_data", "mini_dev_sqlite.json"),
    ],
)
def test_bird_is_found_in_the_folder_of_its_archive(tmp_path: Path, place: str, name: str) -> None:
    bird(tmp_path / place, name)
    bird(tmp_path / "__MACOSX" / place, name)
    dataset = open_dataset(DatasetName.BIRD, tmp_path)

    assert [(question.id, question.sql) for question in dataset.questions] == [("0", RATE), ("1", NAMES)]
    assert dataset.questions[0].prompt.endswith(
        "\nHint: Eligible free rate for K-12 = `Free Meal Count (K-12)` / `Enrollment (K-12)`"
    )
    assert "\n" not in dataset.questions[1].prompt and "Ocón" in dataset.questions[1].prompt
    assert list(find_databases(dataset).values()) == [
        tmp_path / place / "dev_databases/california_schools/california_schools.sqlite"
    ]


def test_questions_may_begin_with_a_byte_order_mark_and_must_be_utf_8(tmp_path: Path) -> None:
    bird(tmp_path / "marked", encoding="utf-8-sig")
    bird(tmp_path / "western", encoding="cp1252")

    assert len(open_dataset(DatasetName.BIRD, tmp_path / "marked").questions) == 2
    with pytest.raises(DatasetInvalid, check=lambda error: error.path.endswith("western/dev.json")):
        open_dataset(DatasetName.BIRD, tmp_path / "western")


def test_two_archives_in_one_folder_are_not_confused(tmp_path: Path) -> None:
    bird(tmp_path / "dev_20230922")
    bird(tmp_path / "dev_20240627")

    with pytest.raises(DatasetInvalid, check=lambda error: error.path == str(tmp_path)):
        open_dataset(DatasetName.BIRD, tmp_path)


def evaluated(dataset: Dataset, cache_dir: Path, statements: Iterable[str]) -> list[bool]:
    """Return for each question whether the statement of the same place is a match."""
    model = ScriptedModel(
        {"GeneratedSQL": [{"sql": sql} for sql in statements], "SQLValidation": [{"is_valid": True}] * 9}
    )
    services = Services(load_settings(cache_dir=cache_dir, enable_sql_validation=False, effort="low"), model=model)
    report = evaluate(dataset.questions, find_databases(dataset), lambda _: services, lambda *_: None)
    return [outcome.match for outcome in report.outcomes]


def test_statements_of_the_archives_run(tmp_path: Path, cache_dir: Path) -> None:
    """Names with spaces, signs and leading digits, strings in double quotes, and text that is not UTF-8."""
    bird(tmp_path / "bird")
    kaggledbqa(tmp_path / "kaggle")

    for folder, name in (("bird", DatasetName.BIRD), ("kaggle", DatasetName.KAGGLEDBQA)):
        dataset = open_dataset(name, tmp_path / folder)
        assert evaluated(dataset, cache_dir, [question.sql for question in dataset.questions]) == [True, True]


def test_kaggledbqa_without_the_metadata_of_macos(tmp_path: Path) -> None:
    kaggledbqa(tmp_path / "KaggleDBQA")
    questions = read_kaggledbqa(tmp_path).questions

    assert [(question.id, question.sql) for question in questions] == [
        ("GeoNuclearData-0", COUNT),
        ("GeoNuclearData-1", "SELECT Name FROM nuclear_power_plants"),
    ]
