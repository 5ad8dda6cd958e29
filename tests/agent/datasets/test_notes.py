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
from datasphinx.agent.datasets.notes import guesses_of, notes_of, option_for
from datasphinx.agent.datasets.options import LoadOptions
from datasphinx.agent.messages.en import TEXTS
from tests.agent.datasets.conftest import Loaded
from tests.agent.datasets.files import text
from tests.agent.datasets.workbooks import book, rows, workbook
from tests.support.heavy import heavy

CODES = {code.removeprefix("data_") for code in TEXTS if code.startswith("data_") and code != "data_missing"}
FACTS = {name: "x" for name in re.findall(r"\{(\w+)", " ".join(TEXTS[f"data_{code}"] for code in CODES))}


def dataset(*warnings: Warning) -> Dataset:
    return Dataset("ds_0", "csv", (), 1, "a.csv", "file_0", Report(warnings=warnings))


def test_every_warning_has_a_place_in_the_order() -> None:
    warnings = [Warning(code, "c", FACTS) for code in sorted(CODES)]

    assert len(guesses_of(dataset(*warnings), len(CODES))) == len(CODES)


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


def test_guesses_name_all_their_columns_and_their_rest_is_counted() -> None:
    codes = ["percent", "codes", "months", "currency", "marks"]
    warnings = [Warning(code, name, FACTS) for code in codes for name in ("a", "b")]

    guesses = guesses_of(dataset(*warnings), 3)

    assert [guess["guess"].endswith(" (+ b)") for guess in guesses] == [True, True, True, False]
    assert guesses[3] == {"guess": "and 2 more"}
    assert len(guesses_of(dataset(*warnings), 5)) == 5


JAN, NOTES = [["account", "amount"], ["rent", 100], ["food", 50]], [["to do"], ["call"], ["pay"]]


def xls_book(**sheets: list[list[object]]) -> bytes:
    made, stream = xlwt.Workbook(), io.BytesIO()
    for name, content in sheets.items():
        page = made.add_sheet(name)
        for at, row in enumerate(content):
            for column, cell in enumerate(row):
                page.write(at, column, cell)
    made.save(stream)
    return stream.getvalue()


@pytest.mark.parametrize(("name", "make"), [("a.xlsx", book), pytest.param("a.xls", xls_book, marks=pytest.mark.heavy)])
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


def test_a_shared_note_tells_the_greatest_count_and_those_that_differ() -> None:
    counts = {"a": 2, "b": 15, "c": 2, "d": 15}
    data = dataset(*(Warning("misfits", name, {**FACTS, "count": count}) for name, count in counts.items()))
    (note,) = notes_of(data, "en")

    assert note.startswith("b: ") and ": 15, " in note and note.endswith("(+ d, a: 2, c: 2)")
    assert guesses_of(data, 9)[0]["option"] == {"types": {"b": "text"}}


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
        rows(["a", "n"], ["x", 1], ["y", "#DIV/0!"], ["z", 4])(page)
        page.row_dimensions[3].hidden = True

    loaded = load("a.xlsx", workbook(build))

    assert loaded.rows == [["x", 1], ["y", None], ["z", 4]]
    assert {("hidden_rows", ""), ("errors", "")} <= loaded.warnings


def test_blank_rows_of_a_file_too_large_for_several_tables_are_noted(load, monkeypatch: pytest.MonkeyPatch) -> None:
    content = text(["a", "b"], ["x", 1], ["y", 2], [], ["c", "d"], ["z", 3])
    assert ("tables_unknown", "") not in load("a.csv", content).warnings
    monkeypatch.setattr(text_file, "_MAX_SCANNED_BYTES", 10)
    assert ("tables_unknown", "") in load("b.csv", content + b"z,4\n").warnings


TOTALS = {
    "at the end": "shop,q1,q2\nA,12,31\nB,25,7\nC,8,19\n{total},45,57\n",
    "of two rows": "shop,sold\nA,125\nB,231\n{total},356\n",
    "of groups": "region,shop,sold\nN,A,12\nN,B,25\nN,{total},37\nS,C,8\nS,D,19\nS,{total},27\n{total},,64\n",
    "above": "shop,q1,q2\n{total},145,570\nA,112,310\nB,25,70\nC,8,190\n",
    "within": "name,sold\na,1712\nb,2545\n{total},4257\nc,31\nd,8\n",
    "below dates": "date,sold\n2024-01-01,5\n2024-01-02,7\n2024-01-03,9\n{total},21\n",
    "with an average": "shop,sold\nA,10\nB,25\nC,19\n{total},54\nKeskiarvo,18\n",
    "below an average": "shop,sold\nA,10\nB,25\nC,19\nKeskiarvo,18\n{total},54\n",
    "with the mean of prices": "item,qty,price\na,2,10\nb,3,12\nc,5,14\n{total},10,12\n",
}
NO_TOTALS = {
    "ids": "order_id,customer\n7,x\n9,y\n16,\n20,z\n",
    "ids beside names": "name,id\nx,7\ny,9\n,16\nz,20\n",
    "numbers of rows": "id,email\n1,a@x.org\n2,b@x.org\n3,\n",
    "a word list": "word,count\ntotal,9\nsum,4\nthe,120\nall,8\n",
    "rates": "year,age,rate\n20,Total,5.1\n20,young,11.2\n20,old,6.3\n21,Total,5.4\n21,young,11.9\n21,old,6.9\n",
    "another quarter": "quarter,sold\nQ1,5\nQ2,7\nQ3,12\nQ4,24\n",
    "another month": "month,sold\nJan,5\nFeb,7\nMar,12\nApr,24\n",
    "another category": "region,item,sold\nN,tea,2\nN,milk,3\nS,tea,5\nS,milk,10\n",
    "growth": "day,new,all\n2024-01-01,5,5\n2024-01-02,5,10\n2024-01-03,3,13\n",
    "doubling": "name,number\na,1\nb,2\nc,4\nd,8\n",
    "points": "x,y\n1,10\n2,20\n3,30\n4,60\n",
}


@pytest.mark.heavy
@pytest.mark.parametrize("total", ["Összesen", *heavy("المجموع", "Tổng cộng", "Разом", "合計")])
def test_a_row_that_adds_up_is_left_out_whatever_it_is_called(load: Callable[..., Loaded], total: str) -> None:
    left = {name: load(f"{name}.csv", text.format(total=total).encode()).rows for name, text in TOTALS.items()}
    assert {name: rows for name, rows in left.items() if any(total in row for row in rows)} == {}
    expected = [3, 2, 4, 3, 4, 3, 3, 3, 3]
    assert [len(rows) for rows in left.values()] == expected


@pytest.mark.parametrize("name", NO_TOTALS)
def test_rows_that_add_up_by_chance_or_not_at_all_stay(load: Callable[..., Loaded], name: str) -> None:
    text = NO_TOTALS[name]
    assert len(load("a.csv", text.encode()).rows) == text.count("\n") - 1


def test_a_row_called_a_total_that_does_not_add_up_is_noted(load: Callable[..., Loaded]) -> None:
    assert load("a.csv", NO_TOTALS["rates"].encode()).warnings == {("totals", "")}


@pytest.mark.parametrize(
    ("numbers", "codes"),
    [
        ([1, 2, 3, 6], {"totals"}),
        ([10, 20, 30, 60], {"totals_dropped"}),
        ([1.25, 2.5, 3.05, 6.8], {"totals_dropped"}),
    ],
)
def test_a_sum_of_one_digit_under_an_unknown_word_may_be_chance_and_is_told(
    load: Callable[..., Loaded], numbers: list[float], codes: set[str]
) -> None:
    content = text(["drink", "sold"], *zip(["tea", "milk", "rum", "gin"], numbers, strict=True))
    found, without = load("a.csv", content), load("a.csv", content, drop_totals=True)

    assert len(found.rows) == (4 if codes == {"totals"} else 3)
    assert found.warnings == {(code, "") for code in codes}
    assert (len(without.rows), without.warnings) == (3, {("totals_dropped", "")})


@pytest.mark.parametrize("footer", ["3 rows exported", "Lähde: kassa", "Endsaldo"])
def test_a_last_row_of_words_below_dates_is_a_note(load: Callable[..., Loaded], footer: str) -> None:
    found = load("a.csv", f"date,shop,sold\n2024-01-05,a,5\n2024-01-06,b,6\n2024-02-01,a,7\n{footer},,\n".encode())
    assert [row[0] for row in found.rows] == ["2024-01-05", "2024-01-06", "2024-02-01"]
    assert ("notes_below", "") in found.warnings
