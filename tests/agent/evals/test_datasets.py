from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from datasphinx.agent.errors import DatasetInvalid, Retryable
from datasphinx.agent.evals.datasets import (
    Dataset,
    Question,
    find_databases,
    read_predictions,
    read_questions,
    require_predictions,
)

LINE = {"id": "q1", "db_id": "shop", "question": "How many products?", "sql": "SELECT count(*) FROM product"}
WriteLines = Callable[..., Path]


def question(id: str = "q1", db_id: str = "shop") -> Question:
    return Question(id, db_id, "How many?", "SELECT 1")


def refusal(path: Path, reason: str) -> Any:
    """The error that names `path` and says `reason`."""
    return pytest.raises(DatasetInvalid, check=lambda error: error.path == str(path) and reason in error.reason)


def test_questions_come_in_their_order(write_lines: WriteLines) -> None:
    path = write_lines("q.jsonl", LINE, {**LINE, "id": "q2", "gold_rows": 3})
    assert read_questions(path) == [Question(*LINE.values()), Question("q2", *list(LINE.values())[1:])]


def test_blank_lines_a_byte_order_mark_and_numbers_as_ids_are_read(tmp_path: Path) -> None:
    path = tmp_path / "q.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"id": 7, "db_id": "shop", "question": "q", "sql": "s"}\r\n\r\n  \n')
    assert read_questions(path) == [Question("7", "shop", "q", "s")]


def test_a_line_separator_inside_a_text_ends_no_line(tmp_path: Path) -> None:
    path = tmp_path / "q.jsonl"
    path.write_text('{"id": "1", "db_id": "d", "question": "a\u2028b\x85c", "sql": "s"}\n', encoding="utf-8")
    assert read_questions(path)[0].question == "a\u2028b\x85c"


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with refusal(tmp_path / "none.jsonl", "no such file"):
        read_questions(tmp_path / "none.jsonl")


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with refusal(tmp_path, "cannot be read"):
        read_questions(tmp_path)


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        ('{"id": "q2"', "line 2: Invalid JSON"),
        ("[" * 100_000, "line 2: Invalid JSON"),
        ('["q2"]', "line 2: "),
        ({**LINE, "id": None}, "line 2: id: "),
        ({**LINE, "id": True}, "line 2: id: "),
        ({**LINE, "id": "q2", "sql": 5}, "line 2: sql: "),
        ({**LINE, "id": "q2", "question": " "}, "line 2: question: "),
        ({"id": "q2", "question": "a", "sql": "b"}, "line 2: db_id: Field required"),
        ({**LINE, "sql": "SELECT 2"}, "it contains the same id several times: q1"),
    ],
)
def test_a_broken_line_is_named_by_its_number(write_lines: WriteLines, broken: Any, reason: str) -> None:
    path = write_lines("q.jsonl", LINE, broken)
    with refusal(path, reason):
        read_questions(path)


def test_bytes_that_are_no_text_are_a_broken_line(tmp_path: Path) -> None:
    path = tmp_path / "q.jsonl"
    path.write_bytes(b'\n\n{"id": "\xff\xfe"}\n')
    with refusal(path, "line 3: Invalid JSON"):
        read_questions(path)


def test_a_file_without_questions_is_refused(write_lines: WriteLines) -> None:
    path = write_lines("q.jsonl", "", "")
    with refusal(path, "no question"):
        read_questions(path)


def test_predictions_are_found_by_id(write_lines: WriteLines) -> None:
    path = write_lines("p.jsonl", {"id": "q2", "sql": ""}, {"id": "q1", "sql": "SELECT 1", "model": "any"})
    assert read_predictions(path, [question("q1"), question("q2")]) == {"q1": "SELECT 1", "q2": ""}


def test_a_prediction_without_a_question_is_refused(write_lines: WriteLines) -> None:
    path = write_lines("p.jsonl", {"id": "q1", "sql": "s"}, {"id": "q9", "sql": "s"})
    with refusal(path, "there is no question for q9"):
        read_predictions(path, [question("q1")])


def test_a_broken_prediction_is_named_by_its_number(write_lines: WriteLines) -> None:
    path = write_lines("p.jsonl", {"id": "q1"})
    with refusal(path, "line 1: sql: Field required"):
        read_predictions(path, [question("q1")])


def test_a_repeated_prediction_is_refused(write_lines: WriteLines) -> None:
    path = write_lines("p.jsonl", *[{"id": "q1", "sql": "s"}] * 3)
    with refusal(path, "several times: q1"):
        read_predictions(path, [question("q1")])


def test_a_question_without_a_prediction_is_refused() -> None:
    path = Path("p.jsonl")
    require_predictions([question("q1")], {"q1": "s", "q2": "s"}, path)
    with refusal(path, "no statement for q1, q2, q3, q4, q5 and 2 more"):
        require_predictions([question(f"q{number}") for number in range(1, 8)], {}, path)


def test_databases_lie_in_the_folder_or_in_one_of_their_own(databases: Path) -> None:
    asked = [question(db_id="shop"), question(db_id="city"), question(db_id="shop")]
    assert find_databases(Dataset(asked, databases)) == {
        "shop": databases / "shop.sqlite",
        "city": databases / "city" / "city.sqlite",
    }


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with refusal(tmp_path / "none", "no such folder"):
        find_databases(Dataset([question()], tmp_path / "none"))


def test_a_missing_database_is_named(databases: Path) -> None:
    with refusal(databases, "neither bank.sqlite nor bank/bank.sqlite"):
        find_databases(Dataset([question(db_id="bank")], databases))


@pytest.mark.parametrize("db_id", ["../shop", "city/city", "/shop", "..\\shop"])
def test_an_id_reaches_nothing_outside_the_folder(databases: Path, db_id: str) -> None:
    with refusal(databases, "is not a valid database name"):
        find_databases(Dataset([question(db_id=db_id)], databases / ""))


def test_the_error_is_typed_and_says_what_to_look_at_in_three_languages() -> None:
    error = DatasetInvalid("q.jsonl", "line 3: it is not JSON")
    assert not isinstance(error, Retryable)
    assert error.code == "dataset_invalid"
    for language in ("en", "ru", "zh"):
        assert "q.jsonl" in error.message(language)
        assert "line 3" in error.message(language)
