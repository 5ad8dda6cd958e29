import gzip
import json
from pathlib import Path

import pytest

from training.spider import (
    SpiderForeignKey,
    TrainingQuestion,
    normalised,
    read_held_out,
    read_schemas,
    read_training,
)

RECORD = {
    "db_id": "club",
    "table_names_original": ["Member", "fee"],
    "column_names_original": [[-1, "*"], [0, "id"], [0, "name"], [1, "fee_no"], [1, "part"], [1, "member"]],
    "column_types": ["text", "number", "text", "number", "number", "number"],
    "primary_keys": [1, [3, 4]],
    "foreign_keys": [[5, 1]],
}
DEV = {"id": "dev-1", "db_id": "shop", "question": "How many shops are there?", "sql": "SELECT COUNT(*) FROM shop"}


def write(path: Path, text: str) -> Path:
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


@pytest.mark.parametrize("name", ["tables.json", "tables.json.gz"])
def test_a_schema_is_read_with_its_keys(tmp_path: Path, name: str) -> None:
    schema = read_schemas(write(tmp_path / name, json.dumps([RECORD])))["club"]

    assert [(table.name, table.primary_key) for table in schema.tables] == [("Member", ("id",)), ("fee", ("fee_no", "part"))]  # fmt: skip # noqa: E501
    assert [(column.name, column.type) for column in schema.tables[0].columns] == [("id", "number"), ("name", "text")]
    assert schema.foreign_keys == (SpiderForeignKey("fee", "member", "Member", "id"),)


@pytest.mark.parametrize(
    ("db_id", "question", "is_held_out"),
    [
        ("shop", "Name the owner.", True),
        ("club", "how many  shops are there", True),
        ("club", "How many fees are there?", False),
    ],
)
def test_questions_are_held_out_by_database_and_by_wording(
    tmp_path: Path, db_id: str, question: str, is_held_out: bool
) -> None:
    held_out = read_held_out(write(tmp_path / "dev.jsonl", json.dumps(DEV) + "\n"))
    training = TrainingQuestion("train-7", db_id, question, "SELECT 1")

    assert held_out.holds(training) is is_held_out


def test_questions_are_read_and_a_broken_line_is_an_error(tmp_path: Path) -> None:
    assert read_training(write(tmp_path / "train.jsonl.gz", json.dumps(DEV))) == [TrainingQuestion(**DEV)]
    with pytest.raises(KeyError):
        read_training(write(tmp_path / "broken.jsonl", '{"id": "1"}'))


def test_normal_form_keeps_words_of_every_script() -> None:
    assert normalised(" How MANY,  shops? ") == "how many shops"
    assert normalised("Сколько ёлок — всего?") == "сколько ёлок всего"
    assert normalised("有多少订单？") == "有多少订单"
