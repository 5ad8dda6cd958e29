"""Notes about a file: the important ones first, at most five, one for all columns with the same problem."""

import io
import re
from collections.abc import Callable
from pathlib import Path

import pytest
import xlwt

import datasphinx.agent.datasets
from datasphinx.agent.datasets import text_file
from datasphinx.agent.datasets.dataset import Dataset, Report, Warning
from datasphinx.agent.datasets.notes import guesses_of, notes_of, option_for, ordered
from datasphinx.agent.datasets.options import LoadOptions
from datasphinx.agent.messages.en import TEXTS
from tests.agent.datasets.conftest import Loaded
from tests.agent.datasets.files import book, place, text
from tests.agent.datasets.messy import workbook

CODES = {code.removeprefix("data_") for code in TEXTS if code.startswith("data_") and code != "data_missing"}
FACTS = {name: "x" for name in re.findall(r"\{(\w+)", " ".join(TEXTS[f"data_{code}"] for code in CODES))}


def dataset(*warnings: Warning) -> Dataset:
    return Dataset("ds_0", "csv", (), 1, "a.csv", "file_0", Report(warnings=warnings))


def test_every_warning_has_a_place_in_the_order() -> None:
    warnings = [Warning(code, "c", FACTS) for code in sorted(CODES)]

    assert {warning.code for warning in ordered(warnings)} == CODES


def test_every_warning_of_the_loader_has_a_text() -> None:
    folder = Path(datasphinx.agent.datasets.__file__).parent
    code = " ".join(path.read_text("utf-8") for path in folder.glob("*.py"))
    used = set(re.findall(r"(?:Pending)?Warning\(\s*\"(\w+)\"", code))

    assert used and used <= CODES


def test_the_important_notes_come_first_and_there_are_five() -> None:
    codes = ["unnamed", "text_converted", "date_style", "percent", "months", "totals_dropped", "mixed"]
    notes = notes_of(dataset(*(Warning(code, "c", FACTS) for code in codes)), "en")

    assert "totals" in notes[0] and "stays text" in notes[1]
    assert notes[5:] == ["and 2 more notes on how the file was read"]


def test_guesses_are_whole_and_their_rest_is_counted() -> None:
    warnings = [Warning("percent", name, {"count": 1}) for name in "abcde"]

    guesses = guesses_of(dataset(*warnings), 3)

    assert [guess["guess"].partition(":")[0] for guess in guesses] == ["a", "b", "c", "and 2 more"]
    assert len(guesses_of(dataset(*warnings), 5)) == 5


JAN, NOTES = [["account", "amount"], ["rent", 100], ["food", 50]], [["to do"], ["call"], ["pay"]]


def xls_book(**sheets: list[list[object]]) -> bytes:
    made, stream = xlwt.Workbook(), io.BytesIO()
    for name, rows in sheets.items():
        page = made.add_sheet(name)
        for at, row in enumerate(rows):
            for column, cell in enumerate(row):
                page.write(at, column, cell)
    made.save(stream)
    return stream.getvalue()


@pytest.mark.parametrize(("name", "make"), [("a.xlsx", book), ("a.xls", xls_book)])
def test_all_sheets_are_offered_only_where_another_one_has_the_same_columns(load, name, make) -> None:
    def option(**sheets: list[list[object]]) -> list[object]:
        loaded = load(name, make(**sheets)).dataset
        return [option_for(each) for each in loaded.report.warnings if each.code == "other_sheets"]

    assert option(Jan=JAN, Notes=NOTES, Feb=[[], ["Account ", "amount", "note"], ["rent", 120, "x"]]) == [
        {"sheets": ["*"]}
    ]
    assert option(Jan=JAN, Notes=NOTES) == [{"sheet": "Notes"}]
    assert option(Jan=JAN, Other=[["account", "price", "day"], ["rent", 1, 2]]) == [{"sheet": "Other"}]


def test_columns_with_the_same_problem_share_a_note() -> None:
    (note,) = notes_of(dataset(*(Warning("percent", name, {"count": 1}) for name in "abcdefg")), "en")

    assert note.startswith("a: ") and note.endswith("(+ b, c, d, e, ...)")


def test_each_option_that_is_named_is_one_of_the_loader() -> None:
    warnings = [Warning(code, "c", FACTS) for code in sorted(CODES)]
    options = [option for warning in warnings if (option := option_for(warning))]

    assert len(options) > 15
    for option in options:
        LoadOptions.model_validate(option)
    assert [guess["option"] for guess in guesses_of(dataset(*warnings), 99) if "option" in guess]


@pytest.mark.parametrize("blank", ["", "\n"], ids=["directly below", "after a blank line"])
def test_notes_below_a_table_are_told_whole(load: Callable[..., Loaded], blank: str) -> None:
    rows = f"region,year,sales\nNorth,2020,1\nSouth,2021,2\n{blank}* without returns\n* provisional\n"
    dataset = load("sales.csv", rows.encode()).dataset
    told = "notes below the table were left out: 2 (* without returns; * provisional)"

    assert dataset.row_count == 2
    assert notes_of(dataset, "en") == [told]
    assert guesses_of(dataset, 20)[0]["guess"] == told


def test_hidden_rows_and_errors_are_noted(load) -> None:
    def build(page) -> None:
        place(page, [["a", "n"], ["x", 1], ["y", "#DIV/0!"], ["z", 4]])
        page.row_dimensions[3].hidden = True

    loaded = load("a.xlsx", workbook(build))

    assert loaded.rows == [["x", 1], ["y", None], ["z", 4]]
    assert {("hidden_rows", ""), ("errors", "")} <= loaded.warnings


def test_blank_rows_of_a_file_too_large_for_several_tables_are_noted(load, monkeypatch: pytest.MonkeyPatch) -> None:
    content = text(["a", "b"], ["x", 1], ["y", 2], [], ["c", "d"], ["z", 3])
    assert ("tables_unknown", "") not in load("a.csv", content).warnings
    monkeypatch.setattr(text_file, "_MAX_SCANNED_BYTES", 10)
    assert ("tables_unknown", "") in load("b.csv", content + b"z,4\n").warnings


@pytest.mark.heavy
def test_subtotals_of_many_languages_are_left_out(load: Callable[..., Loaded]) -> None:
    labels = (
        "Zwischensumme Januar", "Summe Januar", "Gesamtsumme: Januar", "Sous-total janvier", "Subtotale gennaio",
        "Suma styczeń", "Razem styczeń", "Subtotaal januari", "Delsumma januari", "Subtotal January", "January total",
        "Итого за январь", "一月小计",
    )  # fmt: skip
    rows = "a,1\nb,2\n{label},3\nc,4\nd,5\n"
    kept = {label: len(load("sums.csv", f"name,number\n{rows.format(label=label)}".encode()).rows) for label in labels}

    assert {label: count for label, count in kept.items() if count != 4} == {}
    assert len(load("names.csv", b"name,number\na,1\nSumatra island,2\nSummer camp,3\nc,4\nd,5\n").rows) == 5
