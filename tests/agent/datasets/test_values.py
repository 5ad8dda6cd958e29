"""Cells of any notation and language become dates, times, numbers or stay text with a note."""

import csv
import io
import re
from typing import Any, NamedTuple

import pytest

from datasphinx.agent.datasets.locale_words import months_of
from tests.agent.datasets.workbooks import changed, rows, workbook


class Values(NamedTuple):
    """Cells of a column, with its type, its values as text, and the warnings about it."""

    cells: str
    type: str
    values: str = ""
    codes: str = ""


DATES = {
    "two-digit year": Values("7-FEB-25|30-NOV-24", "DATE", "2025-02-07|2024-11-30"),
    "year of the past century": Values("7-FEB-85|30-NOV-99", "DATE", "1985-02-07|1999-11-30"),
    "years of two centuries": Values(
        "15.01.48|12.03.55|29.12.99", "DATE", "1948-01-15|1955-03-12|1999-12-29", "date_century date_style"
    ),
    "years to come": Values("7-FEB-24|30-NOV-52", "DATE", "2024-02-07|2052-11-30", "date_century"),
    "French": Values("1er août 2023|14 févr. 2023", "DATE", "2023-08-01|2023-02-14"),
    "Portuguese": Values("3 de março de 2022|9 de outubro de 2022", "DATE", "2022-03-03|2022-10-09"),
    "Polish": Values("3 marca 2022|9 listopada 2022", "DATE", "2022-03-03|2022-11-09"),
    "Croatian": Values("3. srpnja 2022|9. listopada 2022", "DATE", "2022-07-03|2022-10-09"),
    "Turkish": Values("3 Şubat 2022|9 Ağustos 2022", "DATE", "2022-02-03|2022-08-09"),
    "Greek": Values("3 Μαρτίου 2022|9 Αυγούστου 2022", "DATE", "2022-03-03|2022-08-09"),
    "Korean": Values("2022년 3월 3일|2022년 12월 9일", "DATE", "2022-03-03|2022-12-09"),
    "Hungarian": Values("2022. 03. 03.|2022. 12. 09.", "DATE", "2022-03-03|2022-12-09"),
    "ordinals": Values("March 3rd, 2022|December 21st, 2022", "DATE", "2022-03-03|2022-12-21"),
    "weekdays": Values("Thu, 3 Mar 2022|Friday, 9 Dec 2022", "DATE", "2022-03-03|2022-12-09"),
    "before 1900": Values("03.03.1822|09.12.1899", "DATE", "1822-03-03|1899-12-09", "date_ambiguous"),
    "basic format": Values("20220303|20221209|20221210", "DATE", "2022-03-03|2022-12-09|2022-12-10", "date_style"),
    "basic times": Values("20220303T081500|20221209T231530", "TIMESTAMP", "2022-03-03 08:15:00|2022-12-09 23:15:30"),
    "half days": Values(
        "3/20/2022 1:05 PM|12/9/2022 12:30 am", "TIMESTAMP", "2022-03-20 13:05:00|2022-12-09 00:30:00", "date_style"
    ),
    "names and times": Values(
        "03 Mar 2022 8:15|09 Dec 2022 23:15", "TIMESTAMP", "2022-03-03 08:15:00|2022-12-09 23:15:00"
    ),
    "year first and short": Values("24/02/07|25/11/30", "DATE", "2024-02-07|2025-11-30", "date_style"),
    "month first, short": Values("2/7/24|11/30/24", "DATE", "2024-02-07|2024-11-30", "date_style"),
    "no zeros and slashes": Values(
        "3/1/2022|3/2/2022|3/3/2022", "DATE", "2022-03-01|2022-03-02|2022-03-03", "date_ambiguous"
    ),
    "months": Values("Mar-22|Dec-23", "DATE", "2022-03-01|2023-12-01", "months"),
    "Spanish months": Values("marzo 2022|diciembre 2023", "DATE", "2022-03-01|2023-12-01", "months"),
    "no such day": Values("31.02.2022|30.02.2022", "VARCHAR", "31.02.2022|30.02.2022", "mixed"),
    "one impossible day": Values("2022-01-01|" * 19 + "2022-02-31", "DATE", "2022-01-01|" * 19 + "None", "misfits"),
    "times": Values("9:05|17:30", "TIME", "09:05:00|17:30:00"),
    "half days alone": Values("9:05 p.m.|12:00 a.m.", "TIME", "21:05:00|00:00:00"),
    "durations": Values("31:05|7:30", "INTERVAL", "1 day, 7:05:00|7:30:00"),
    "measures of time": Values("1 h 30 min|2 h 5 min", "VARCHAR", codes="units"),
    "measures of time, some of one unit": Values("1h 30m|45m|2h 5m", "VARCHAR", codes="units"),
    "durations of ISO 8601": Values("PT1H30M|PT45M", "VARCHAR", codes="units"),
    "minutes first": Values("01:30.5|75:05.25", "INTERVAL", "0:01:30.500000|1:15:05.250000"),
    "minutes first, and hours": Values("1:02:03.5|02:03.5", "INTERVAL", "1:02:03.500000|0:02:03.500000"),
    "digits with a time": Values(
        "20240131103000|20240201235959|20240202000000",
        "TIMESTAMP",
        "2024-01-31 10:30:00|2024-02-01 23:59:59|2024-02-02 00:00:00",
        "date_style",
    ),
    "digits that are no time": Values("20240131103000|20240201235959|20240202996100", "BIGINT"),
    "days and a clock": Values("1 day 02:03:04|12 days 05:00:00", "VARCHAR", codes="units"),
    "weeks are no dates": Values("Q1 2024|Q2 2024", "ENUM('Q1 2024', 'Q2 2024')", "Q1 2024|Q2 2024", "not_dates"),
    "words and numbers": Values("Bolt 2024|Nut 2023", "VARCHAR", "Bolt 2024|Nut 2023"),
}

NUMBERS = {
    "Indian groups": Values("12,34,567.5|1,00,000", "DOUBLE", "1234567.5|100000.0", "marks"),
    "reais": Values("R$ 1.234,50|R$ 7,00", "DOUBLE", "1234.5|7.0", "currency marks"),
    "lira": Values("₺ 500|₺ 1.250,75", "DOUBLE", "500.0|1250.75", "currency marks"),
    "a sign without a code": Values("₿1,250|₿3", "BIGINT", "1250|3", "currency marks_ambiguous"),
    "billions": Values("2B|1.5M", "DOUBLE", "2000000000.0|1500000.0", "scaled"),
    "millions in lower case": Values(
        "$1.2bn|$800m|$3k", "DOUBLE", "1200000000.0|800000000.0|3000.0", "currency scaled"
    ),
    "below a limit": Values("<5|7|12|9", "VARCHAR", "<5|7|12|9", "mixed"),
    "German millions": Values("3 Mio. €|1,5 Mrd. €", "DOUBLE", "3000000.0|1500000000.0", "currency scaled marks"),
    "Arabic digits": Values("١٢٣|٤٥٦", "BIGINT", "123|456"),
    "Devanagari digits": Values("१२३|४,५६७", "BIGINT", "123|4567", "marks_ambiguous"),
    "Arabic thousands": Values("١٬٢٣٤|٥٦٧", "BIGINT", "1234|567", "marks"),
    "whole rupees": Values("₹500/-|₹2,00,000/-", "BIGINT", "500|200000", "currency marks"),
    "an unknown currency": Values("KSh 500|KSh 1,200.50", "VARCHAR", codes="units"),
    "addresses": Values("12 Main St|5 Oak Ave|7 Elm Rd", "VARCHAR"),
    "versions": Values("v1.5|v2.5", "VARCHAR"),
    "underscores": Values("1_000|2_500_000", "BIGINT", "1000|2500000", "marks"),
    "apostrophes": Values("1'000|2’500’000.5", "DOUBLE", "1000.0|2500000.5", "marks"),
    "figure spaces": Values("1\u2007000|2\u202f500", "BIGINT", "1000|2500", "marks"),
    "negative amounts": Values("(1,250.00)|-3|7-|−5", "DOUBLE", "-1250.0|-3.0|-7.0|-5.0", "marks"),
    "negative currencies": Values("-$3|($7)|$ -5", "BIGINT", "-3|-7|-5", "currency"),
    "percent before": Values("%12,5|%25", "DOUBLE", "0.125|0.25", "percent marks"),
    "percents whose hundredth is no quotient of doubles": Values(
        "53.3%|(1,200.7%)|.7%", "DOUBLE", "0.533|-12.007|0.007", "marks percent"
    ),
    "percents with a minus and a space": Values("-12.5 %|7%|0.5 %", "DOUBLE", "-0.125|0.07|0.005", "percent"),
    "percents with exponents": Values("5e1%|2.5%", "DOUBLE", "0.5|0.025", "percent"),
    "percents and others": Values("12.5%|30|7%", "DOUBLE", "0.125|30.0|0.07", "percent_mixed"),
    "exact decimals": Values("98765432109876543.21|0.5", "DECIMAL(38,2)", "98765432109876543.21|0.50"),
    "exact decimals with groups": Values(
        "98,765,432,109,876,543.21|0.5", "DECIMAL(38,2)", "98765432109876543.21|0.50", "marks"
    ),
    "more digits than a decimal has": Values(
        f"0.{'1234567890' * 4}|0.5", "DOUBLE", "0.12345678901234568|0.5", "rounded"
    ),
    "digits behind an exponent": Values("1.234567890123456789e5|2.5", "DOUBLE", "123456.78901234567|2.5", "rounded"),
    "zeros that a double need not keep": Values("1.50000000000000000000|0.5", "DOUBLE", "1.5|0.5"),
    "digits of a double": Values("0.1234567890123456|0.5", "DOUBLE", "0.1234567890123456|0.5"),
    "signs for missing values": Values("5|:|7|..|9|8", "BIGINT", "5|None|7|None|9|8", "misfits"),
    "withheld values": Values("5|(D)|7|[x]|9", "BIGINT", "5|None|7|None|9", "misfits"),
    "error values": Values("5|#BEZUG!|7|#####|9", "BIGINT", "5|None|7|None|9", "misfits"),
    "error values with a number": Values("5|Fehler:502|7|8", "BIGINT", "5|None|7|8", "misfits"),
    "mostly error values": Values("#DIV/0!|#DIV/0!|#DIV/0!|8", "VARCHAR", codes="mixed"),
    "a rare word": Values("5|" * 19 + "unknown", "BIGINT", "5|" * 19 + "None", "misfits"),
    "not a number": Values(
        "1.5|NaN|inf|2.5|" + "3.5|" * 16 + "3.5", "DOUBLE", "1.5|None|None|2.5|" + "3.5|" * 16 + "3.5", "misfits"
    ),
    "flags": Values("5|6 e|7|8", "BIGINT", "5|6|7|8", "footnotes"),
    "units": Values("5 kg|6 kg|7 lb", "VARCHAR", "5 kg|6 kg|7 lb", "units"),
    "a few other identifiers": Values("20001|" * 24 + "20002-6303", "VARCHAR", "20001|" * 24 + "20002-6303", "mixed"),
    "leading zeros": Values("007|123|4567", "VARCHAR", "007|123|4567", "codes"),
    "hyphenated": Values("555-1234|555-9876", "VARCHAR", "555-1234|555-9876", "codes"),
}


def content_of(columns: dict[str, Values]) -> bytes:
    """A file in which each column is shown by a row for each of its cells, since columns differ in length."""
    stream = io.StringIO()
    cells = [values.cells.split("|") for values in columns.values()]
    rows = [[each[at] if at < len(each) else "" for each in cells] for at in range(max(map(len, cells)))]
    csv.writer(stream, delimiter="\t").writerows([[f"v {at}" for at in range(len(cells))], *rows])
    return stream.getvalue().encode()


@pytest.mark.parametrize("columns", [DATES, NUMBERS], ids=["dates", "numbers"])
@pytest.mark.parametrize("copies", [1, pytest.param(6000, marks=pytest.mark.heavy)])
def test_each_notation_is_read(columns: dict[str, Values], copies: int, registry: Any, load: Any) -> None:
    import duckdb

    header, *lines = content_of(columns).splitlines(keepends=True)
    options = {"header_row": 1, "sections": False, "drop_totals": False}
    loaded = load("a.tsv", header + b"".join(lines) * copies, **options)
    wrong = {}
    with duckdb.connect(str(registry.path_of(loaded.dataset.dataset_id)), read_only=True) as connection:
        for at, (name, expected) in enumerate(columns.items()):
            count = len(expected.cells.split("|"))
            sql = f'SELECT "v {at}" FROM "{loaded.dataset.table}" LIMIT {count}'
            found = "|".join(str(row[0]) for row in connection.execute(sql).fetchall())
            codes = " ".join(code for code, column in sorted_codes(loaded) if column == f"v {at}")
            made = (loaded.schema[f"v {at}"], found, codes)
            if made != (expected.type, expected.values or expected.cells, " ".join(sorted(expected.codes.split()))):
                wrong[name] = made

    assert wrong == {}


def sorted_codes(loaded: Any) -> list[tuple[str, str]]:
    return sorted(warning for warning in loaded.warnings if warning[0] != "spellings")


def test_a_month_that_languages_name_differently_follows_the_other_months() -> None:
    assert months_of({"listopad", "srpen"}) == {"listopad": 11, "srpen": 8}
    assert months_of({"listopad", "srpanj"}) == {"listopad": 10, "srpanj": 7}


def test_the_order_of_one_column_decides_for_the_others(load: Any) -> None:
    loaded = load("a.csv", b"opened,closed\n02/01/2024,02/13/2024\n03/04/2024,03/05/2024\n")

    assert loaded.rows == [["2024-02-01", "2024-02-13"], ["2024-03-04", "2024-03-05"]]


@pytest.mark.parametrize(
    ("cells", "amounts"),
    [
        ("₦5,000;₦750", [5000, 750]),
        ("$5,000;$1,200", [5000, 1200]),
        ("5.000 €;3.250 €", [5000, 3250]),
        ("5,000 €;3,250 €", [5, 3.25]),
        ("R$ 5.000;R$ 3.250", [5000, 3250]),
    ],
)
def test_amounts_with_one_mark_are_read_as_in_the_countries_of_their_currency(
    cells: str, amounts: list[float], load: Any
) -> None:
    lines = "".join(f"{at};{cell}\n" for at, cell in enumerate(cells.split(";")))
    loaded = load("a.csv", f"id;amount\n{lines}".encode())

    assert [row[1] for row in loaded.rows] == amounts
    assert ("marks_ambiguous", "amount") in loaded.warnings


def test_the_mark_of_another_column_is_stronger_than_that_of_the_currency(load: Any) -> None:
    loaded = load("a.csv", b"id;price;quantity\n1;$5,000;1,5\n2;$1,200;2,5\n")

    assert [row[1] for row in loaded.rows] == [5, 1.2]


def test_a_late_cell_of_another_kind_keeps_the_column_text(load: Any) -> None:
    lines = "".join(f"{at % 50 + 10},{at % 9 + 1},2024-01-0{at % 9 + 1}\n" for at in range(30_000))
    loaded = load("a.csv", f"zip,n,day\n{lines}007,12.75,2024-01-05 13:45:00\n".encode())

    assert loaded.schema == {"zip": "VARCHAR", "n": "DOUBLE", "day": "TIMESTAMP"}


def sheet_of(cells: str, *, number_format: str = "") -> bytes:
    """A workbook with the columns `id` and `x`; `cells` are the ends of the cells of `x` as XML, split by blanks."""
    parts = cells.split()

    def build(page: Any) -> None:
        rows(["id", "x"], *([at, 77_000 + at] for at in range(1, len(parts) + 1)))(page)
        for cell in page["B"][1:]:
            cell.number_format = number_format or "General"

    def with_cells(name: str, content: bytes) -> bytes:
        for at, part in enumerate(parts if name.endswith("sheet1.xml") else (), 1):
            stored = re.compile(rf'<c r="B{at + 1}"([^>]*?)( t="n")?><v>{77_000 + at}</v></c>'.encode())
            content = stored.sub(rb'<c r="B%d"\1%s</c>' % (at + 1, part.replace("_", " ").encode()), content)
        return content

    return changed(workbook(build), with_cells)


def test_error_values_of_later_versions_are_empty_and_noted(load: Any) -> None:
    loaded = load("a.xlsx", sheet_of('_t="e"><v>#BLOCKED!</v> ><v>5</v> _t="e"><v>#UNKNOWN!</v> ><v>7</v>'))

    assert loaded.rows == [[1, None], [2, 5], [3, None], [4, 7]]
    assert ("errors", "") in loaded.warnings


def test_formulas_without_results_are_noted(load: Any) -> None:
    loaded = load("a.xlsx", sheet_of("><f>A2+1</f><v></v> ><f>A3+1</f><v/> ><v>5</v>"))
    zeros = load("b.xlsx", sheet_of("><f>A2+1</f><v>0</v> ><f>A3+1</f><v>0</v> ><v>5</v>"))
    stored = load("c.xlsx", sheet_of("><f>A2+1</f><v>2</v> ><f>A3+1</f><v>3</v> ><v>5</v>"))

    assert [("formulas", "") in each.warnings for each in (loaded, zeros, stored)] == [True, True, False]


def test_numbers_shown_with_leading_zeros_are_identifiers(load: Any) -> None:
    loaded = load("a.xlsx", sheet_of("><v>501</v> ><v>98765</v> ><v>1234</v>", number_format="00000"))

    assert [row[1] for row in loaded.rows] == ["00501", "98765", "01234"]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.xls", b"id\tx\n1\t5\n2\t6\n"),
        ("a.xlsx", b"id,x\n1,5\n2,6\n"),
        ("a.csv", sheet_of("><v>5</v> ><v>6</v>")),
        ("a.xls", sheet_of("><v>5</v> ><v>6</v>")),
    ],
)
def test_the_content_tells_the_format_of_a_file_with_another_name(name: str, content: bytes, load: Any) -> None:
    loaded = load(name, content)

    assert loaded.rows == [[1, 5], [2, 6]]
    assert (("renamed_type", "") in loaded.warnings) == (name != "a.xls" or content[:2] != b"PK")


def test_rows_of_a_sheet_need_not_be_in_order(load: Any) -> None:
    content = sheet_of(" ".join([f"><v>{at / 1000}</v>" for at in range(600)]), number_format="0.0%")

    def with_last_row_first(name: str, part: bytes) -> bytes:
        return re.sub(rb"(<sheetData>)(.*)(<row .*?</row>)(</sheetData>)", rb"\1\3\2\4", part, flags=re.DOTALL)

    loaded = load("a.xlsx", changed(content, with_last_row_first))

    assert [row[1] for row in loaded.rows] == [at / 1000 for at in range(600)]
