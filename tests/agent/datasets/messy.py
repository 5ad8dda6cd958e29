"""Messy spreadsheets with the expected dataset: types, rows, warnings by code and column, and the report."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta

from openpyxl.worksheet.worksheet import Worksheet

from tests.agent.datasets.workbooks import Cells, rows

SHOPS: Cells = [[f"S{at}", at, at % 3] for at in range(1, 21)]


@dataclass(frozen=True)
class Messy:
    build: Callable[[Worksheet], None]
    schema: dict[str, str]
    rows: Cells
    warnings: set[tuple[str, str]] = field(default_factory=set)
    report: dict[str, object] = field(default_factory=dict)
    given: dict[str, object] = field(default_factory=dict)


def several_sheets(sheet: Worksheet) -> None:
    sheet.title = "empty"
    rows(["a", "b"], [1, 2])(sheet.parent.create_sheet("data"))
    rows(["c", "d"], [3, 4])(sheet.parent.create_sheet("more"))


def after(*first: list[object]) -> Callable[[Worksheet], None]:
    """A sheet of `first`, then two sheets with the same columns."""

    def fill(sheet: Worksheet) -> None:
        rows(*first)(sheet)
        for number, name in enumerate(("may", "june")):
            rows(["shop", "sold"], ["A", 1 + number], ["B", 3 + number])(sheet.parent.create_sheet(name))

    return fill


def before_data(*first: list[object], is_hidden: bool = False) -> Callable[[Worksheet], None]:
    """A sheet of `first`, then one with 20 rows of data."""

    def fill(sheet: Worksheet) -> None:
        rows(*first)(sheet)
        data = sheet.parent.create_sheet("data")
        rows(["shop", "sold", "back"], *SHOPS)(data)
        data.sheet_state = "hidden" if is_hidden else "visible"

    return fill


def hidden_first(sheet: Worksheet) -> None:
    sheet.title, sheet.sheet_state = "hidden", "hidden"
    rows(["x", "y"], [1, 2])(sheet)
    rows(["a", "b"], [3, 4])(sheet.parent.create_sheet("shown"))
    sheet.parent.active = 1


def percent_cells(sheet: Worksheet) -> None:
    rows(["city", "share"], ["Kazan", 0.125], ["Tver", 0.5])(sheet)
    for cell in sheet["B"][1:]:
        cell.number_format = "0.0%"


def percent_and_number(sheet: Worksheet) -> None:
    percent_cells(sheet)
    sheet.append(["Omsk", 30])


MESSY = {
    "plain": Messy(
        rows(["name", "count", "price", "since", "active"], ["Ann", 1, 1.5, date(2024, 1, 2), True],
             ["Bob", 2, 2.0, date(2024, 1, 3), False]),
        {"name": "VARCHAR", "count": "BIGINT", "price": "DOUBLE", "since": "DATE", "active": "BOOLEAN"},
        [["Ann", 1, 1.5, "2024-01-02", True], ["Bob", 2, 2.0, "2024-01-03", False]],
        report={"header_row": 1, "sheet": "Sheet", "encoding": None},
    ),
    "titles above": Messy(
        rows(["Sales report"], [None], ["for", "2024"], [None], ["region", "city", "units", "price"],
             ["North", "Tver", 3, 1.5], ["South", "Sochi", 4, 2.5]),
        {"region": "VARCHAR", "city": "VARCHAR", "units": "BIGINT", "price": "DOUBLE"},
        [["North", "Tver", 3, 1.5], ["South", "Sochi", 4, 2.5]], {("rows_above", "")},
        {"header_row": 5, "header_rows": 1},
    ),
    "two rows of headers": Messy(
        rows(["region", "sales", None, "returns", None], [None, "Q1", "Q2", "Q1", "Q2"],
             ["North", 1, 2, 3, 4], ["South", 5, 6, 7, 8], merge=("A1:A2", "B1:C1", "D1:E1")),
        {"region": "VARCHAR", "sales Q1": "BIGINT", "sales Q2": "BIGINT", "returns Q1": "BIGINT",
         "returns Q2": "BIGINT"},
        [["North", 1, 2, 3, 4], ["South", 5, 6, 7, 8]],
        {("merged_header", name) for name in ("sales Q1", "sales Q2", "returns Q1", "returns Q2")},
        {"header_row": 1, "header_rows": 2},
    ),
    "one merged header": Messy(
        rows(["id", "contact", None], [1, "Ann", "ann@x.org"], [2, "Bob", "bob@x.org"], merge=("B1:C1",)),
        {"id": "BIGINT", "contact": "VARCHAR", "contact_2": "VARCHAR"},
        [[1, "Ann", "ann@x.org"], [2, "Bob", "bob@x.org"]],
        {("merged_header", "contact"), ("merged_header", "contact_2"), ("renamed", "contact_2")},
    ),
    "empty rows and columns": Messy(
        rows(["a", None, "b"], [1, None, 2], [None, None, None], [3, None, 4], [None, None, " "]),
        {"a": "BIGINT", "b": "BIGINT"}, [[1, 2], [3, 4]], report={"empty_rows": 2, "empty_columns": 1},
    ),
    "begins in C5": Messy(
        rows(["city", "people"], ["Kazan", 5], ["Tver", 7], at=(5, 3)),
        {"city": "VARCHAR", "people": "BIGINT"}, [["Kazan", 5], ["Tver", 7]], report={"header_row": 5},
    ),
    "several sheets": Messy(
        several_sheets, {"a": "BIGINT", "b": "BIGINT"}, [[1, 2]],
        {("other_sheets", "")}, {"sheet": "data", "sheets": ("empty", "data", "more")},
    ),
    "a cover before the table": Messy(
        after(["Sales of 2026"], [None], ["Prepared by", "Ann"], ["On", date(2026, 1, 5)], ["Version", 3]),
        {"shop": "VARCHAR", "sold": "BIGINT"}, [["A", 1], ["B", 3]],
        {("other_sheets", "")}, {"sheet": "may", "sheets": ("Sheet", "may", "june")},
    ),
    "a page of notes before the table": Messy(
        after(["Field", "Meaning"], ["shop", "where it was sold"], ["sold", "pieces"], ["Ask Ann before use."]),
        {"shop": "VARCHAR", "sold": "BIGINT"}, [["A", 1], ["B", 3]], {("other_sheets", "")}, {"sheet": "may"},
    ),
    "a table of texts first": Messy(
        after(["name", "city", "team"], ["Ann", "Riga", "red"], ["Bob", "Oslo", "blue"]),
        {"name": "VARCHAR", "city": "VARCHAR", "team": "VARCHAR"}, [["Ann", "Riga", "red"], ["Bob", "Oslo", "blue"]],
        {("other_sheets", "")}, {"sheet": "Sheet"},
    ),
    "a list of sheets before the table": Messy(
        before_data(["Inhalt"], ["Nr.", "Blatt"], [1, "data"], [2, "Hinweise"]),
        {"shop": "VARCHAR", "sold": "BIGINT", "back": "BIGINT"}, SHOPS, {("other_sheets", "")}, {"sheet": "data"},
    ),
    "a list of changes before the table": Messy(
        before_data(["version", "since", "by"], ["1.0", date(2024, 1, 1), "Ann"], ["1.1", date(2024, 2, 1), "Bob"]),
        {"shop": "VARCHAR", "sold": "BIGINT", "back": "BIGINT"}, SHOPS, {("other_sheets", "")}, {"sheet": "data"},
    ),
    "a short table before one with the same columns": Messy(
        before_data(["shop", "sold", "back"], ["A", 1, 0], ["B", 2, 1]),
        {"shop": "VARCHAR", "sold": "BIGINT", "back": "BIGINT"}, [["A", 1, 0], ["B", 2, 1]],
        {("other_sheets", "")}, {"sheet": "Sheet"},
    ),
    "a short table before a hidden sheet": Messy(
        before_data(["item", "count"], ["A", 1], ["B", 2], is_hidden=True),
        {"item": "VARCHAR", "count": "BIGINT"}, [["A", 1], ["B", 2]], {("other_sheets", "")}, {"sheet": "Sheet"},
    ),
    "subtotals without results": Messy(
        rows(["регион", "отдел", "сумма"], ["Север", "A", 10], ["Север", "B", 20], ["Север", None, "=SUM(C2:C3)"],
             ["Юг", "A", 30], ["Юг", "B", 5], ["Юг", None, "=SUBTOTAL(9,C5:C6)"], ["Вместе", None, "=C4+C7"]),
        {"регион": "VARCHAR", "отдел": "VARCHAR", "сумма": "BIGINT"},
        [["Север", "A", 10], ["Север", "B", 20], ["Юг", "A", 30], ["Юг", "B", 5]],
        {("formulas", ""), ("totals_dropped", "")},
    ),
    "totals without results that are kept": Messy(
        rows(["Ort", "Summe"], ["Ulm", 10], ["Bonn", 20], ["Gesamtergebnis", "=SUM(B2:B3)"]),
        {"Ort": "VARCHAR", "Summe": "BIGINT"}, [["Ulm", 10], ["Bonn", 20], ["Gesamtergebnis", None]],
        {("formulas", "")}, given={"drop_totals": False},
    ),
    "formulas of data without results": Messy(
        rows(["no", "in", "out", "left"], [1, 5, 1, "=B2-C2"], ["=A2+1", 6, 2, "=D2+B3-C3"],
             ["=A3+1", 7, 3, "=SUM(B4:C4)"]),
        {"no": "BIGINT", "in": "BIGINT", "out": "BIGINT", "left": "VARCHAR"},
        [[1, 5, 1, None], [None, 6, 2, None], [None, 7, 3, None]], {("formulas", ""), ("no_values", "left")},
    ),
    "a cover alone": Messy(
        rows(["Sales of 2026"], ["Prepared by Ann"]), {"Sales of 2026": "VARCHAR"}, [["Prepared by Ann"]],
        report={"sheet": "Sheet"},
    ),
    "hidden sheet first": Messy(
        hidden_first, {"a": "BIGINT", "b": "BIGINT"}, [[3, 4]], {("other_sheets", "")}, {"sheet": "shown"},
    ),
    "numbers as text": Messy(
        rows(["item", "units"], ["x", "12"], ["y", " 7 "], ["z", 5]),
        {"item": "VARCHAR", "units": "BIGINT"}, [["x", 12], ["y", 7], ["z", 5]], {("text_converted", "units")},
    ),
    "Russian numbers": Messy(
        rows(["товар", "сумма"], ["а", "1 234,50"], ["б", "12\u00a0345,6"], ["в", "−7,25"], ["г", 1.5]),
        {"товар": "VARCHAR", "сумма": "DOUBLE"}, [["а", 1234.5], ["б", 12345.6], ["в", -7.25], ["г", 1.5]],
        {("text_converted", "сумма"), ("marks", "сумма")}, {"decimal_mark": ","},
    ),
    "percentages": Messy(
        rows(["city", "share"], ["Kazan", "12,5 %"], ["Tver", "7%"], ["Omsk", "100 %"]),
        {"city": "VARCHAR", "share": "DOUBLE"}, [["Kazan", 0.125], ["Tver", 0.07], ["Omsk", 1.0]],
        {("text_converted", "share"), ("percent", "share"), ("marks", "share")},
    ),
    "percentages as format": Messy(
        percent_cells, {"city": "VARCHAR", "share": "DOUBLE"}, [["Kazan", 0.125], ["Tver", 0.5]],
        {("percent", "share")},
    ),
    "percentages as format beside other numbers": Messy(
        percent_and_number,
        {"city": "VARCHAR", "share": "DOUBLE"}, [["Kazan", 0.125], ["Tver", 0.5], ["Omsk", 30.0]],
        {("percent_mixed", "share")},
    ),
    "dates in several styles": Messy(
        rows(["name", "when"], ["a", "2024-01-31"], ["b", "31.12.2024"], ["c", "2024年3月5日"], ["d", "5 Jan 2024"],
             ["e", datetime(2024, 2, 1)], ["f", "1/2/24"]),
        {"name": "VARCHAR", "when": "DATE"},
        [["a", "2024-01-31"], ["b", "2024-12-31"], ["c", "2024-03-05"], ["d", "2024-01-05"], ["e", "2024-02-01"],
         ["f", "2024-02-01"]],
        {("date_style", "when")},
    ),
    "Excel serials": Messy(
        rows(["name", "Дата"], ["a", 45292], ["b", 45293]),
        {"name": "VARCHAR", "Дата": "DATE"}, [["a", "2024-01-01"], ["b", "2024-01-02"]], {("date_serials", "Дата")},
    ),
    "serials among dates": Messy(
        rows(["name", "paid"], ["a", date(2024, 1, 1)], ["b", 45293.5], ["c", "03.01.2024"], ["d", date(2024, 1, 4)]),
        {"name": "VARCHAR", "paid": "TIMESTAMP"},
        [["a", "2024-01-01T00:00:00"], ["b", "2024-01-02T12:00:00"], ["c", "2024-01-03T00:00:00"],
         ["d", "2024-01-04T00:00:00"]],
        {("date_serials", "paid"), ("date_ambiguous", "paid")},
    ),
    "duplicate and blank names": Messy(
        rows(["name", "Sum", "sum", None, "sum_2"], ["a", 1, 2, 3, 4], ["b", 5, 6, 7, 8]),
        {"name": "VARCHAR", "Sum": "BIGINT", "sum_3": "BIGINT", "column_4": "BIGINT", "sum_2": "BIGINT"},
        [["a", 1, 2, 3, 4], ["b", 5, 6, 7, 8]], {("renamed", "sum_3"), ("unnamed", "column_4")},
    ),
    "codes": Messy(
        rows(["code", "card", "units"], ["007", "1234567890123456789012", 1], ["123", "9234567890123456789012", 2]),
        {"code": "VARCHAR", "card": "VARCHAR", "units": "BIGINT"},
        [["007", "1234567890123456789012", 1], ["123", "9234567890123456789012", 2]],
        {("codes", "code"), ("codes", "card")},
    ),
    "Chinese headers": Messy(
        rows(["客户反馈统计"], ["账号", "月份", "退货数量", "产品质量", "物流异常", "购买风险"],
             ["A001", "2024年1月", 3, "12.5%", "１２", "低"], ["A002", "2024年2月", "1,200", "7%", "5", "高"]),
        {"账号": "VARCHAR", "月份": "DATE", "退货数量": "BIGINT", "产品质量": "DOUBLE", "物流异常": "BIGINT",
         "购买风险": "VARCHAR"},
        [["A001", "2024-01-01", 3, 0.125, 12, "低"], ["A002", "2024-02-01", 1200, 0.07, 5, "高"]],
        {("rows_above", ""), ("months", "月份"), ("text_converted", "退货数量"), ("marks_ambiguous", "退货数量"),
         ("text_converted", "产品质量"), ("percent", "产品质量"), ("text_converted", "物流异常")},
        {"header_row": 2},
    ),
    "months without days": Messy(
        rows(["iso", "dotted", "named", "месяц", "月份"],
             ["2024-01", "01.2024", "Jan 2024", "Январь 2024", "2024年1月"],
             ["2024-12", "12.2024", "December 2024", "дек. 2024 г.", "2024年12月"],
             ["2025/3", "03/2025", "mar-2025", "марта 2025", "2025年03月"],
             ["Total", None, "n/a", None, None]),
        {"iso": "DATE", "dotted": "DATE", "named": "DATE", "месяц": "DATE", "月份": "DATE"},
        [["2024-01-01"] * 5, ["2024-12-01"] * 5, ["2025-03-01"] * 5],
        {*(("months", name) for name in ("iso", "dotted", "named", "месяц", "月份")), ("totals_dropped", "")},
    ),
    "months among others": Messy(
        rows(["days too", "words too", "a day each", "numbers"], ["2024-01", "Jan 2024", "2024-01-05", "1.2024"],
             ["2024-02-15", "marble 2024", "2024-02-05", "2.2024"], ["2024-03", "Mar 2024", "2024-03-05", "13.2024"]),
        {"days too": "VARCHAR", "words too": "VARCHAR", "a day each": "DATE", "numbers": "DOUBLE"},
        [["2024-01", "Jan 2024", "2024-01-05", 1.2024], ["2024-02-15", "marble 2024", "2024-02-05", 2.2024],
         ["2024-03", "Mar 2024", "2024-03-05", 13.2024]],
        {("text_converted", "numbers"), ("not_dates", "days too"), ("not_dates", "words too")}, {"decimal_mark": "."},
    ),
    "names with quotes and lines": Messy(
        rows(['say "hi"', "a;b--\nc", "'; DROP TABLE x; --"], ["x", 1, 2], ["y", 3, 4]),
        {'say "hi"': "VARCHAR", "a;b-- c": "BIGINT", "'; DROP TABLE x; --": "BIGINT"}, [["x", 1, 2], ["y", 3, 4]],
    ),
    "times and durations": Messy(
        rows(["name", "at", "took"], ["a", time(9, 30), timedelta(hours=30)], ["b", time(17, 0), timedelta(hours=41)]),
        {"name": "VARCHAR", "at": "TIME", "took": "INTERVAL"},
        [["a", "09:30:00", "P1DT6H"], ["b", "17:00:00", "P1DT17H"]],
    ),
    "a named column without values": Messy(
        rows(["a", "note", "b"], [1, None, 2], [3, None, 4]),
        {"a": "BIGINT", "note": "VARCHAR", "b": "BIGINT"}, [[1, None, 2], [3, None, 4]], {("no_values", "note")},
    ),
}  # fmt: skip
