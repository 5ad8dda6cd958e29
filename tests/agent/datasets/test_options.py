"""Options: what is refused, and that names and separators of a file or an option never become SQL."""

import pytest
from pydantic import ValidationError

from datasphinx.agent.datasets.options import LoadOptions
from datasphinx.agent.errors import FileNotLoaded
from tests.agent.datasets.files import text
from tests.agent.datasets.workbooks import book, sheet
from tests.support.errors import of_code

HOSTILE = ["a'); DROP TABLE x; --", 'b" FROM y; --', "c?$1{}%s\\"]


@pytest.mark.parametrize(
    "given",
    [
        {"sheet": "a", "sheets": ["b"]},
        {"tables": [1], "sheets": ["a"]},
        {"tables": [1], "header_row": 2},
        {"tables": [0]},
        {"header_row": 0, "header_rows": 2},
        {"header_row": -1},
        {"header_rows": 0},
        {"types": {"a": "colour"}},
        {"types": {"a": "timestamp+2"}},
        {"unpivot": {"columns": []}},
        {"colour": "red"},
    ],
)
def test_options_that_contradict_or_do_not_exist_are_refused(given) -> None:
    with pytest.raises(ValidationError):
        LoadOptions.model_validate(given)


def test_only_options_that_are_set_are_stored() -> None:
    assert LoadOptions().content() == {}
    assert LoadOptions(header_row=0, drop_totals=False).content() == {"header_row": 0, "drop_totals": False}


@pytest.mark.parametrize(
    "given", [{"sheet": "a"}, {"header_row": 1}, {"types": {"a": "text"}}, {"fill_down": ["a"]}, {"tables": [1]}]
)
def test_typed_files_have_no_cells_to_read_otherwise(given, load) -> None:
    with pytest.raises(FileNotLoaded, check=of_code("load_option_invalid")):
        load("a.jsonl", b'{"a": 1, "b": "x"}\n', **given)


def test_typed_files_are_reshaped(load) -> None:
    lines = b'{"who": "Ann", "tags": "x;y", "2023": 1, "2024": 2}\n'
    split = load("a.jsonl", lines, split={"tags": ";"})
    tall = load("a.jsonl", lines, unpivot={"columns": ["2023", "2024"], "name": "year", "value": "n"})

    assert [row[:3] for row in split.rows] == [[1, "Ann", "x"], [1, "Ann", "y"]]
    assert [row[2:] for row in tall.rows] == [[2023, 1], [2024, 2]]
    assert len({split.dataset.dataset_id, tall.dataset.dataset_id, load("a.jsonl", lines).dataset.dataset_id}) == 3


def test_hostile_names_and_separators_are_only_text(load) -> None:
    first, second, third = HOSTILE
    content = text([first, second, third, "n"], ["x'y", "1", "2", "3"], ["", "3", "4", "5"])
    tall = load("a.csv", content, unpivot={"columns": [second, third], "name": "k'\"", "value": "v;--"})
    split = load("a.csv", content, split={first: "'"}, types={second: "text"})
    filled = load("a.csv", content, fill_down=[first], types={third: "number_comma"})

    assert list(tall.schema) == [first, "n", "k'\"", "v;--"]
    assert [row[2:] for row in tall.rows][:2] == [[second, 1], [third, 2]]
    assert [row[1] for row in split.rows] == ["x", "y", None]
    assert [row[0] for row in filled.rows] == ["x'y", "x'y"]


def test_hostile_names_of_sheets_and_tables_are_only_text(load) -> None:
    first = "x'); DROP--"
    union = load("a.xlsx", book(**{first: [["a", "n"], ["p", 1]], "two": [["a", "n"], ["q", 2]]}), sheets=["*"])
    tables = load(
        "b.xlsx",
        sheet([first], ["a", "n"], ["p", 1], ["r", 4], [None], ["two"], ["a", "n"], ["q", 2], ["s", 5]),
        tables=[1, 2],
    )

    assert [row[2] for row in union.rows] == [first, "two"]
    assert [row[2] for row in tables.rows] == [first, first, "two", "two"]


def test_merged_cells_beyond_the_rows_are_harmless(load) -> None:
    loaded = load("a.xlsx", sheet(["a", "b"], ["x", 1], [None, 2], merge=("A2:A1048576",)))

    assert loaded.rows == [["x", 1], ["x", 2]]


def test_the_column_of_a_union_does_not_hide_another(load) -> None:
    rows = [["sheet", "n"], ["p", 1]]

    assert load("a.xlsx", book(one=rows, two=rows), sheets=["*"]).rows == [["p", 1, "one"], ["p", 1, "two"]]


def test_each_sheet_of_a_union_has_totals_of_its_own(load) -> None:
    header = ["item", "pieces", "price"]
    sheets = {
        "May": [header, ["nails", 120, 31.5], ["screws", 75, 18.25], ["screws", 4, 1.0]],
        "June": [header, ["nails", 60, 15.75], ["bolts", 11, 40.1], ["Total", 71, 55.85]],
        "July": [header, ["hooks", 4, 9.2]],
    }

    union = load("a.xlsx", book(**sheets), sheets=["*"])

    assert [row[0] for row in union.rows] == ["nails", "screws", "screws", "nails", "bolts", "hooks"]
