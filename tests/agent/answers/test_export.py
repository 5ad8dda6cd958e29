"""Rows of an answer as files, read by other programs."""

import csv
from datetime import datetime
from pathlib import Path

import duckdb
import openpyxl
import pytest

from datasphinx.agent.answers.export import without_formula, write_table
from datasphinx.agent.types import AnswerTable

TABLE = AnswerTable(
    name="result",
    columns=["name", "n", "share", "is open", "code", "name"],
    rows=[["Zoë; =1+1", 3, 0.5, True, "007", None], ["=HYPERLINK(1)", None, 2, False, "-3.5", {"a": 1}]],
)


def test_csv_has_all_rows_and_no_formula(tmp_path: Path) -> None:
    write_table(TABLE, tmp_path / "rows.csv")

    with (tmp_path / "rows.csv").open(encoding="utf-8-sig", newline="") as file:
        assert list(csv.reader(file)) == [
            TABLE["columns"],
            ["Zoë; '=1+1", "3", "0.5", "true", "007", ""],
            ["'=HYPERLINK(1)", "", "2", "false", "-3.5", '{"a":1}'],
        ]


def test_excel_keeps_types_and_texts(tmp_path: Path) -> None:
    write_table(TABLE, tmp_path / "rows.xlsx")

    sheet = openpyxl.load_workbook(tmp_path / "rows.xlsx").active
    assert sheet is not None
    assert [[cell.value for cell in row] for row in sheet.rows] == [
        TABLE["columns"],
        ["Zoë; =1+1", 3, 0.5, True, "007", None],
        ["=HYPERLINK(1)", None, 2, False, "-3.5", '{"a":1}'],
    ]
    assert sheet["A3"].data_type == "s"


def test_excel_has_dates_as_dates(tmp_path: Path) -> None:
    rows = [["2025-12-31", "2025-12-31T08:30:00", 1899], ["1850-01-01", "2025-12-31T08:30:00+02:00", 2050]]
    table = AnswerTable(name="result", columns=["day", "at", "rent"], rows=rows)
    table["formats"] = [{"kind": kind, "decimals": 0, "unit": ""} for kind in ("date", "datetime", "number")]
    table["formats"][2]["unit"] = "ungrouped"
    write_table(table, tmp_path / "rows.xlsx")

    sheet = openpyxl.load_workbook(tmp_path / "rows.xlsx").active
    assert sheet is not None
    assert [[cell.value for cell in row] for row in list(sheet.rows)[1:]] == [
        [datetime(2025, 12, 31), datetime(2025, 12, 31, 8, 30), 1899],
        ["1850-01-01", "2025-12-31T08:30:00+02:00", 2050],
    ]
    assert [cell.number_format for cell in list(sheet.rows)[1]] == ["yyyy-mm-dd", "yyyy-mm-dd hh:mm:ss", "0"]


def test_parquet_keeps_types_and_distinguishes_equal_names(tmp_path: Path) -> None:
    write_table(TABLE, tmp_path / "rows.parquet")

    rows = duckdb.read_parquet(str(tmp_path / "rows.parquet"))
    assert rows.columns == ["name", "n", "share", "is open", "code", "name_2"]
    assert list(map(str, rows.types)) == ["VARCHAR", "BIGINT", "DOUBLE", "BOOLEAN", "VARCHAR", "VARCHAR"]
    assert rows.fetchall() == [
        ("Zoë; =1+1", 3, 0.5, True, "007", None),
        ("=HYPERLINK(1)", None, 2.0, False, "-3.5", '{"a":1}'),
    ]


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        (None, ""),
        (True, "true"),
        (2.0, "2"),
        (0.1 + 0.2, "0.3"),
        (1e16, "10000000000000000"),
        (0.00001, "0.00001"),
        (-1.5e-7, "-1.5e-7"),
        (-0.0, "0"),
        (1.7976931348623157e308, "1.7976931348623157e+308"),
        ("12345678901234567890.12", "12345678901234567890.12"),
        ("2025-12-31T08:30:00", "2025-12-31 08:30:00"),
        ("2025-12-31T08:30:00.125+02:00", "2025-12-31 08:30:00.125+02:00"),
        ("2025-12-31", "2025-12-31"),
        ([1, True, None, "é"], '[1,true,null,"é"]'),
    ],
)
def test_values_are_written_as_other_programs_read_them(value: object, cell: str) -> None:
    assert without_formula(value) == cell


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("a;\u200b =1", "a;\u200b '=1"),
        ("\u2060=1", "'\u2060=1"),
        ('a\n"@b', "a\n\"'@b"),
        ("a;- b", "a;- b"),
        ("a;-1;+2", "a;'-1;'+2"),
        ("\t1", "'\t1"),
        ("a = b; c", "a = b; c"),
    ],
)
def test_formulas_behind_separators_and_invisible_characters_are_texts(text: str, cell: str) -> None:
    assert without_formula(text) == cell


@pytest.mark.parametrize("suffix", ["csv", "xlsx", "parquet"])
def test_a_result_without_rows_has_its_columns(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"none.{suffix}"

    write_table(AnswerTable(name="result", columns=["a", "b"], rows=[]), path)

    assert path.stat().st_size > 0


def test_integers_beyond_64_bits_are_texts_in_parquet(tmp_path: Path) -> None:
    write_table(AnswerTable(name="result", columns=["n"], rows=[[2**70]]), tmp_path / "rows.parquet")

    assert duckdb.read_parquet(str(tmp_path / "rows.parquet")).fetchall() == [(str(2**70),)]


def test_another_suffix_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"rows.txt: rows are saved as .csv, .xlsx, .parquet"):
        write_table(TABLE, tmp_path / "rows.txt")
