"""Small messy files as people produce them, with the table that a careful analyst reads from each."""

import csv
import io
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from tests.agent.datasets.workbooks import Cells, book, sheet


def text(*rows: list[object], delimiter: str = ",") -> bytes:
    stream = io.StringIO()
    csv.writer(stream, delimiter=delimiter).writerows(rows)
    return stream.getvalue().encode()


@dataclass(frozen=True)
class Case:
    content: bytes
    columns: list[str]
    rows: Cells
    codes: set[str] = field(default_factory=set)
    """Warnings that have to be there."""
    options: dict[str, Any] = field(default_factory=dict)
    name: str = "book.xlsx"
    check: Callable[[Any], bool] | None = None


MONTHS: Cells = [["产品", "1月", "2月", "3月"], ["茶", 10, 20, 30], ["咖啡", 5, 6, 7]]
SALES: Cells = [["region", "item", "sold"], ["North", "tea", 2], [None, "milk", 3], ["South", "tea", 5]]
JAN: Cells = [["account", "amount"], ["rent", 100], ["food", 50]]
FEB: Cells = [["amount", "account"], [120, "rent"], [60, "food"]]

AUTOMATIC = {
    "Chinese months as columns": Case(sheet(*MONTHS), MONTHS[0], MONTHS[1:], {"period_columns"}),
    "dates as columns": Case(
        sheet(["shop", date(2024, 1, 1), date(2024, 2, 1)], ["A1", 5, 6], ["B2", 7, 8]),
        ["shop", "2024-01", "2024-02"], [["A1", 5, 6], ["B2", 7, 8]],
    ),
    "years as columns of a text file": Case(
        text(["страна", "2022", "2023", "2024"], ["Чили", 5, 6, 7], ["Перу", 7, 8, 9]),
        ["страна", "2022", "2023", "2024"], [["Чили", 5, 6, 7], ["Перу", 7, 8, 9]], {"period_columns"}, name="a.csv",
    ),
    "days of a month": Case(
        sheet(["employee", 1, 2, 3, 4, 5], ["Ann", 8, 8, None, 8, 8], ["Bob", 7, 7, 7, 7, 4]),
        ["employee", "1", "2", "3", "4", "5"], [["Ann", 8, 8, None, 8, 8], ["Bob", 7, 7, 7, 7, 4]],
    ),
    "blank corner": Case(
        sheet([None, "Jan", "Feb"], ["tea", 1, 2], ["milk", 3, 4]),
        ["column_1", "Jan", "Feb"], [["tea", 1, 2], ["milk", 3, 4]], {"unnamed"},
    ),
    "years above quarters": Case(
        sheet(["Region", 2024, None, 2025, None], [None, "Q1", "Q2", "Q1", "Q2"], ["North", 1, 2, 3, 4],
              ["South", 5, 6, 7, 8]),
        ["Region", "2024 Q1", "2024 Q2", "2025 Q1", "2025 Q2"], [["North", 1, 2, 3, 4], ["South", 5, 6, 7, 8]],
        {"merged_header"},
    ),
    "one merged year above quarters": Case(
        sheet(["Region", 2024, None, None], [None, "Q1", "Q2", "Q3"], ["North", 1, 2, 3], ["South", 5, 6, 7],
              merge=("B1:D1", "A1:A2")),
        ["Region", "2024 Q1", "2024 Q2", "2024 Q3"], [["North", 1, 2, 3], ["South", 5, 6, 7]],
    ),
    "units below the header": Case(
        sheet(["sample", "mass", "volume"], [None, "mg", "mL"], ["s1", 1.5, 2], ["s2", 2.5, 3], ["s3", 3.5, 4]),
        ["sample", "mass mg", "volume mL"], [["s1", 1.5, 2], ["s2", 2.5, 3], ["s3", 3.5, 4]],
    ),
    "numbered columns of a form": Case(
        sheet(["Наименование", "Ед.", "План", "Факт", "Прим."], ["А", "Б", 1, 2, 3], ["Бетон", "м3", 5, 4, "да"],
              ["Сталь", "кг", 7, 9, "нет данных"]),
        ["Наименование", "Ед.", "План", "Факт", "Прим."],
        [["Бетон", "м3", 5, 4, "да"], ["Сталь", "кг", 7, 9, "нет данных"]],
    ),
    "merged cells": Case(
        sheet(["region", "item", "sold"], ["North", "tea", 2], [None, "milk", 3], ["South", "tea", 5], [None, "rum", 7],
              merge=("A2:A3", "A4:A5")),
        ["region", "item", "sold"], [["North", "tea", 2], ["North", "milk", 3], ["South", "tea", 5], ["South", "rum",
        7]],
        {"merged_cells"},
    ),
    "times with zones": Case(
        text(["id", "at"], ["a", "2024-01-01 10:00:00+02:00"], ["b", "2024-01-01T10:00:00Z"],
             ["c", "2024-01-01 10:00 UTC"], ["d", "2024-01-01 10:00:00 -0530"]),
        ["id", "at"], [["a", "2024-01-01T08:00:00"], ["b", "2024-01-01T10:00:00"], ["c", "2024-01-01T10:00:00"],
                       ["d", "2024-01-01T15:30:00"]], {"zones"}, name="a.csv",
    ),
    "times with and without zones": Case(
        text(["id", "at"], ["a", "01.02.2024 10:00 UTC+3"], ["b", "13.02.2024 10:00"]),
        ["id", "at"], [["a", "2024-02-01T07:00:00"], ["b", "2024-02-13T10:00:00"]], {"zones_mixed"}, name="a.csv",
    ),
    "several currencies": Case(
        sheet(["item", "price"], ["a", "CHF 1'000.00"], ["b", "€ 1.234,50"], ["c", "$7"], ["d", "1 500,00 руб."]),
        ["item", "price", "price currency"],
        [["a", 1000.0, "CHF"], ["b", 1234.5, "EUR"], ["c", 7.0, "USD"], ["d", 1500.0, "RUB"]], {"currencies"},
    ),
    "trailing minus and scales": Case(
        sheet(["item", "sum"], ["a", "100-"], ["b", "1.5k"], ["c", "2 млн"], ["d", "3万"], ["e", "-0.5M"],
              ["f", "5-"]),
        ["item", "sum"], [["a", -100.0], ["b", 1500.0], ["c", 2e6], ["d", 30000.0], ["e", -5e5], ["f", -5.0]],
        {"scaled"},
    ),
    "totals and subtotals": Case(
        sheet(["region", "item", "sold"], ["North", "tea", 2], ["North", "milk", 3], ["North Total", None, 5],
              ["South", "tea", 5], ["South", "rum", 7], ["South Total", None, 12], ["Grand Total", None, 17]),
        ["region", "item", "sold"], [["North", "tea", 2], ["North", "milk", 3], ["South", "tea", 5], ["South", "rum",
        7]],
        {"totals_dropped"},
    ),
    "Chinese subtotals": Case(
        sheet(["地区", "金额"], ["上海", 10], ["杭州", 20], ["华东小计", 30], ["广州", 5], ["华南小计", 5], ["总计",
        35]),
        ["地区", "金额"], [["上海", 10], ["杭州", 20], ["广州", 5]], {"totals_dropped"},
    ),
    "a total without a label": Case(
        sheet(["item", "sold"], ["a", 1], ["b", 2], ["c", 3], [None, 6]), ["item", "sold"],
        [["a", 1], ["b", 2], ["c", 3]], {"totals_dropped"},
    ),
    "a total among ids and texts": Case(
        text(["id", "size", "price"], ["1", "5", "9"], ["2", "x", "8"], ["3", "7", "7"], ["Total", "12", ""]),
        ["id", "size", "price"], [[1, "5", 9], [2, "x", 8], [3, "7", 7]], {"totals_dropped"}, name="a.csv",
    ),
    "a name with the word total": Case(
        sheet(["company", "revenue"], ["Shell", 10], ["Total Energies", 20], ["Eni", 50]), ["company", "revenue"],
        [["Shell", 10], ["Total Energies", 20], ["Eni", 50]],
    ),
    "the larger of two tables": Case(
        sheet(["Rates"], ["currency", "rate"], ["USD", 90], ["EUR", 99], [None], ["Orders"], ["id", "customer", "sum"],
              ["A-1", "Ann", 5], ["A-2", "Bob", 6], ["A-3", "Cy", 7], ["A-4", "Di", 8]),
        ["id", "customer", "sum"], [["A-1", "Ann", 5], ["A-2", "Bob", 6], ["A-3", "Cy", 7], ["A-4", "Di", 8]],
        {"other_tables"},
    ),
    "tables side by side": Case(
        sheet(["name", "sum", None, "code", "rate"], ["Ann", 1, None, "USD", 90], ["Bob", 2, None, "EUR", 99],
              ["Cy", 3], ["Di", 4]),
        ["name", "sum"], [["Ann", 1], ["Bob", 2], ["Cy", 3], ["Di", 4]], {"other_tables"},
    ),
    "blank columns within a table": Case(
        sheet(["no", "shop", None, "grade", None, "sold"], ["x", "S1", None, "A", None, 5],
              ["y", "S2", None, "B", None, None], ["z", "S3", None, "A", None, 7]),
        ["no", "shop", "grade", "sold"], [["x", "S1", "A", 5], ["y", "S2", "B", None], ["z", "S3", "A", 7]],
    ),
    "a summary beside the table": Case(
        sheet(["day", "sold", None, "Összesen", 30], ["Mo", 7, None, "Átlag", 7.5], ["Di", 8], ["Mi", 9], ["Do", 6]),
        ["day", "sold"], [["Mo", 7], ["Di", 8], ["Mi", 9], ["Do", 6]], {"notes_below"},
    ),
    "a blank row inside": Case(
        sheet(["name", "sum"], ["Ann", 1], ["Bob", 2], [None], ["Cy", 3], ["Di", 4]), ["name", "sum"],
        [["Ann", 1], ["Bob", 2], ["Cy", 3], ["Di", 4]],
    ),
    "a header on each page": Case(
        sheet(["name", "sum"], ["Ann", 1], ["Bob", 2], [None], ["name", "sum"], ["Cy", 3], ["Di", 4]), ["name", "sum"],
        [["Ann", 1], ["Bob", 2], ["Cy", 3], ["Di", 4]], {"header_repeated"},
    ),
    "notes below": Case(
        sheet(["name", "city", "sum"], ["Ann", "Rome", 1], ["Bob", "Oslo", 2], [None], ["Source: own survey"]),
        ["name", "city", "sum"], [["Ann", "Rome", 1], ["Bob", "Oslo", 2]],
    ),
    "no header": Case(
        sheet(["Ann", 5, 1.5], ["Bob", 6, 2.5], ["Cy", 7, 3.5], ["Di", 8, 4.5], at=(3, 2)), ["B", "C", "D"],
        [["Ann", 5, 1.5], ["Bob", 6, 2.5], ["Cy", 7, 3.5], ["Di", 8, 4.5]], {"no_header"},
    ),
    "dates that cannot be read": Case(
        sheet(["task", "due date"], ["a", "week 5"], ["b", "week 7"], ["c", "end of Q3"]), ["task", "due date"],
        [["a", "week 5"], ["b", "week 7"], ["c", "end of Q3"]], {"not_dates"},
    ),
    "years of birth below a year": Case(
        text(["k", "2020"], ["x", 2001], ["y", 1999]), ["k", "2020"], [["x", 2001], ["y", 1999]], name="a.csv",
    ),
    "a bank statement": Case(
        text(["Account", "DE89 3704"], [], ["Date", "Payee", "Amount", "Balance"],
             ["2024-01-02", "Rent", "-1,200.00", "3,800.00"], ["2024-01-05", "Salary", "2,500.00", "6,300.00"],
             ["2024-01-09", "Cafe", "-4.50", "6,295.50"], [], ["Closing balance", "", "", "6,295.50"]),
        ["Date", "Payee", "Amount", "Balance"],
        [["2024-01-02", "Rent", -1200.0, 3800.0], ["2024-01-05", "Salary", 2500.0, 6300.0],
         ["2024-01-09", "Cafe", -4.5, 6295.5]], {"notes_below"}, name="a.csv",
    ),
    "a trial balance": Case(
        sheet(["ООО «Ромашка»"], ["Ведомость за 1 квартал 2024 г."], [None],
              ["Счет", "Начало", None, "Оборот", None], [None, "Дебет", "Кредит", "Дебет", "Кредит"],
              ["01", 150, None, 20, None], ["10", 50, None, 15, 20], ["60", None, 30, 5, 10],
              ["Итого", 200, 30, 40, 30],
              merge=("A4:A5", "B4:C4", "D4:E4")),
        ["Счет", "Начало Дебет", "Начало Кредит", "Оборот Дебет", "Оборот Кредит"],
        [["01", 150, None, 20, None], ["10", 50, None, 15, 20], ["60", None, 30, 5, 10]], {"totals_dropped", "codes"},
    ),
    "results of a laboratory": Case(
        text(["Instrument: HPLC"], [], ["Sample", "RT", "Conc"], ["", "min", "mg/L"], ["Blank", "3,1", "<0,05"],
             ["S-01", "3,22", "2,10"], ["S-02", "n.d.", "<0,05"], ["S-03", "3,19", "1,50"], delimiter=";"),
        ["Sample", "RT min", "Conc mg/L"],
        [["Blank", 3.1, "<0,05"], ["S-01", 3.22, "2,10"], ["S-02", None, "<0,05"], ["S-03", 3.19, "1,50"]],
        {"mixed"}, name="a.csv",
    ),
    "a table of statistics": Case(
        sheet(["Table 3.2 Population, thousand"], [None], ["Region", 2021, 2022, "2023*"], ["Total", 610, 620, 631],
              ["North", 205, 210, 215], ["South", 405, 410, 416], [None], ["* Preliminary"], ["Source: office"]),
        ["Region", "2021", "2022", "2023*"], [["North", 205, 210, 215], ["South", 405, 410, 416]],
        {"totals_dropped", "period_columns"},
    ),
    "totals as a category": Case(
        text(["area", "sex", "pop"], ["North", "Male", 10], ["North", "Female", 12], ["North", "Total", 22],
             ["South", "Male", 20], ["South", "Female", 22], ["South", "Total", 42]),
        ["area", "sex", "pop"],
        [["North", "Male", 10], ["North", "Female", 12], ["South", "Male", 20], ["South", "Female", 22]],
        {"totals_dropped"}, name="a.csv",
    ),
}  # fmt: skip

WITH_OPTIONS = {
    "all like sheets": Case(
        book(Jan=JAN, Notes=[["to do"], ["call"], ["pay"]], Feb=FEB), ["account", "amount", "sheet"],
        [["rent", 100, "Jan"], ["food", 50, "Jan"], ["rent", 120, "Feb"], ["food", 60, "Feb"]], {"unlike_sheets"},
        {"sheets": ["*"]},
    ),
    "fill down without subtotals": Case(
        sheet(["region", "sold"], ["North", 2], [None, 3], ["North Total", 5], [None, 9], ["Total", 14]),
        ["region", "sold"], [["North", 2], ["North", 3], ["North", 9]], options={"fill_down": ["region"]},
    ),
    "dated months to rows": Case(
        sheet(["shop", "Jan 2024", "Feb 2024", "Mar 2024", "Total"], ["A1", 5, None, 6, 11], ["B2", 7, 8, 9, 24]),
        ["shop", "Total", "month", "value"],
        [["A1", 11, "2024-01-01", 5], ["A1", 11, "2024-03-01", 6], ["B2", 24, "2024-01-01", 7],
         ["B2", 24, "2024-02-01", 8], ["B2", 24, "2024-03-01", 9]],
        {"unpivoted", "unpivoted_blanks"}, {"unpivot": {"name": "month"}},
    ),
    "quarters to rows": Case(
        text(["shop", "Q1 2024", "2 кв. 2024", "2024年第三季度"], ["A1", 5, 6, 7]), ["shop", "quarter", "value"],
        [["A1", "2024-Q1", 5], ["A1", "2024-Q2", 6], ["A1", "2024-Q3", 7]],
        {"unpivoted"}, {"unpivot": {"name": "quarter"}}, "a.csv",
    ),
    "days with the month first to rows": Case(
        text(["shop", "1/31/2024", "2/3/2024", "3/31/2024"], ["A1", 5, 6, 7]), ["shop", "day", "value"],
        [["A1", "2024-01-31", 5], ["A1", "2024-02-03", 6], ["A1", "2024-03-31", 7]],
        {"unpivoted"}, {"unpivot": {"name": "day"}}, "a.csv",
    ),
    "answers of a survey": Case(
        sheet(["姓名", "水果(多选)", "月收入"], ["王", "苹果┋香蕉", "1.2万"], ["李", "香蕉", "9千"]),
        ["row", "姓名", "水果(多选)", "月收入"],
        [[1, "王", "苹果", 12000.0], [1, "王", "香蕉", 12000.0], [2, "李", "香蕉", 9000.0]], {"scaled"},
        {"split": {"水果(多选)": ""}},
    ),
}  # fmt: skip

GROUPED: Cells = [
    ["item", "sold", "price"],
    ["North"],
    ["tea", 2, 1.5],
    ["milk", 3, 2.5],
    ["South"],
    ["tea", 5, 1.5],
    ["rum", 7, 9.5],
]
INVOICE: Cells = [
    ["Description", "Qty", "Price", "Amount"],
    ["Bolt", 2, 5, 10],
    ["Nut", 4, 5, 20],
    ["Subtotal", None, None, 30],
    ["VAT 20%", None, None, 6],
    ["Total", None, None, 36],
]

AUTOMATIC |= {
    "headings of sections": Case(
        sheet(*GROUPED), ["item", "sold", "price", "section"],
        [["tea", 2, 1.5, "North"], ["milk", 3, 2.5, "North"], ["tea", 5, 1.5, "South"], ["rum", 7, 9.5, "South"]],
        {"sections"},
    ),
    "headings and subtotals": Case(
        sheet(["Статья", "План", "Факт"], ["Доходы"], ["Продажи", 100, 90], ["Услуги", 50, 60],
              ["Итого доходы", 150, 150], ["Расходы"], ["Аренда", 30, 30], ["Зарплата", 70, 75],
              ["Итого расходы", 100, 105]),
        ["Статья", "План", "Факт", "section"],
        [["Продажи", 100, 90, "Доходы"], ["Услуги", 50, 60, "Доходы"], ["Аренда", 30, 30, "Расходы"],
         ["Зарплата", 70, 75, "Расходы"]], {"sections", "totals_dropped"},
    ),
    "headings in a column of their own": Case(
        sheet(["地区", "品名", "数量"], ["华东"], [None, "茶", 2], [None, "糖", 3], ["华南"], [None, "茶", 5]),
        ["地区", "品名", "数量"], [["华东", "茶", 2], ["华东", "糖", 3], ["华南", "茶", 5]], {"sections"},
    ),
    "two levels of headings": Case(
        sheet(["item", "sold", "price"], ["Europe"], ["North"], ["tea", 2, 1.5], ["South"], ["rum", 7, 9.5],
              ["gin", 1, 8]),
        ["item", "sold", "price", "section"],
        [["tea", 2, 1.5, "Europe / North"], ["rum", 7, 9.5, "South"], ["gin", 1, 8, "South"]], {"sections"},
    ),
    "people without answers are no headings": Case(
        sheet(["name", "age", "city"], ["Ann", 5, "Rome"], ["Bob"], ["Cy", 7, "Oslo"], ["Di"]), ["name", "age", "city"],
        [["Ann", 5, "Rome"], ["Bob", None, None], ["Cy", 7, "Oslo"], ["Di", None, None]],
    ),
    "labels without a number are no headings": Case(
        sheet(["item", "sold"], ["rum"], ["tea", 2], ["gin"], ["milk", 3]), ["item", "sold"],
        [["rum", None], ["tea", 2], ["gin", None], ["milk", 3]],
    ),
    "notes directly below": Case(
        sheet(["имя", "город", "сумма"], ["А", "Рим", 1], ["Б", "Осло", 2], ["* предварительные данные"],
              ["Без учёта налога"]),
        ["имя", "город", "сумма"], [["А", "Рим", 1], ["Б", "Осло", 2]], {"notes_below"},
    ),
    "a note in a language without a known word": Case(
        sheet(["miasto", "ile", "zwrot"], ["Kraków", 10, 1], ["Gdańsk", 21, 2], ["Dane wstępne bez korekty podatku"]),
        ["miasto", "ile", "zwrot"], [["Kraków", 10, 1], ["Gdańsk", 21, 2]], {"notes_below"},
    ),
    "notes below a blank line": Case(
        sheet(["region", "year", "sales"], ["North", 2020, 1], ["South", 2021, 2], [], ["* without returns"],
              ["Source: ledger"]),
        ["region", "year", "sales"], [["North", 2020, 1], ["South", 2021, 2]], {"notes_below"},
    ),
    "tax between a subtotal and a total": Case(
        sheet(*INVOICE), INVOICE[0], INVOICE[1:3], {"totals_dropped", "beside_totals"},
    ),
    "a Russian invoice": Case(
        sheet(["№", "Товар", "Кол-во", "Цена", "Сумма"], [1, "Стол", 1, 100, 100], [2, "Стул", 4, 50, 200],
              [None, None, None, "Итого:", 300], [None, None, None, "НДС (20%):", 60],
              [None, None, None, "Всего к оплате:", 360]),
        ["№", "Товар", "Кол-во", "Цена", "Сумма"], [[1, "Стол", 1, 100, 100], [2, "Стул", 4, 50, 200]],
        {"totals_dropped", "beside_totals"},
    ),
    "shipping below the total of a group": Case(
        sheet(["item", "sum"], ["a", 10], ["b", 20], ["Subtotal", 30], ["Shipping", 5], ["c", 3], ["Total", 38]),
        ["item", "sum"], [["a", 10], ["b", 20], ["Shipping", 5], ["c", 3]], {"totals_dropped"},
    ),
    "delivery as an expense": Case(
        sheet(["expense", "sum"], ["rent", 10], ["food", 20], ["delivery", 5], ["Total", 35]),
        ["expense", "sum"], [["rent", 10], ["food", 20], ["delivery", 5]], {"totals_dropped"},
    ),
    "quarters among months": Case(
        sheet(["Месяц", "Выручка"], ["Январь", 1], ["Февраль", 2], ["Март", 3], ["1 квартал", 6], ["Апрель", 4],
              ["Май", 5], ["Июнь", 6], ["2 квартал", 15], ["Год", 21]),
        ["Месяц", "Выручка"],
        [["Январь", 1], ["Февраль", 2], ["Март", 3], ["Апрель", 4], ["Май", 5], ["Июнь", 6]], {"totals_dropped"},
    ),
    "quarters alone": Case(
        sheet(["Quarter", "Sold"], ["Q1", 5], ["Q2", 7], ["Q3", 12], ["Q4", 24]), ["Quarter", "Sold"],
        [["Q1", 5], ["Q2", 7], ["Q3", 12], ["Q4", 24]],
    ),
    "subtotals without labels": Case(
        sheet(["Region", "Store", "Sales"], ["North", "A", 5], [None, "B", 7], [None, None, 12], ["South", "C", 4],
              [None, "D", 6], [None, None, 10], [None, None, 22]),
        ["Region", "Store", "Sales"], [["North", "A", 5], [None, "B", 7], ["South", "C", 4], [None, "D", 6]],
        {"totals_dropped"},
    ),
    "three rows of header": Case(
        sheet(["Region", 2023, None, None, None, 2024, None, None, None],
              [None, "H1", None, "H2", None, "H1", None, "H2", None],
              [None, "Q1", "Q2", "Q3", "Q4", "Q1", "Q2", "Q3", "Q4"], ["N", 1, 2, 3, 4, 5, 6, 7, 8],
              ["S", 9, 10, 11, 12, 13, 14, 15, 16]),
        ["Region", *(f"{year} {half}" for year in (2023, 2024) for half in ("H1 Q1", "H1 Q2", "H2 Q3", "H2 Q4"))],
        [["N", 1, 2, 3, 4, 5, 6, 7, 8], ["S", 9, 10, 11, 12, 13, 14, 15, 16]],
    ),
    "a preamble with several cells": Case(
        text(["Отчёт", " за период"], ["с 01.01.2024 по 31.01.2024"], ["id", "имя", "сумма"], ["1", "а", "5,5"],
             ["2", "б", "6,5"], delimiter=";"),
        ["id", "имя", "сумма"], [[1, "а", 5.5], [2, "б", 6.5]], name="a.csv",
    ),
    "footnote marks": Case(
        text(["region", "pop", "area"], ["North", "1,234*", "5"], ["South", "2,345", "6†"], ["East", "3,456[1]", "7²"]),
        ["region", "pop", "area"], [["North", 1234, 5], ["South", 2345, 6], ["East", 3456, 7]], {"footnotes"},
        name="a.csv",
    ),
    "identifiers of digits": Case(
        text(["sku", "phone", "zip", "day"], ["1E10", "+79161234567", "'0123", "05.01"],
             ["12E3", "+79161234568", "4567", "31.12"]),
        ["sku", "phone", "zip", "day"],
        [["1E10", "+79161234567", "'0123", "05.01"], ["12E3", "+79161234568", "4567", "31.12"]], {"codes"},
        name="a.csv",
    ),
    "words that differ in case and spaces": Case(
        text(["город", "оплачен"], [" Москва ", "да"], ["Москва", "нет"], ["москва\u200b", "Да"],
             ["Нижний\u00a0Новгород", "да"], ["Нижний Новгород", "да"]),
        ["город", "оплачен"],
        [["Москва", "да"], ["Москва", "нет"], ["москва", "Да"], ["Нижний Новгород", "да"], ["Нижний Новгород", "да"]],
        {"spellings"}, name="a.csv",
    ),
    "a currency before and behind": Case(
        text(["名", "金额"], ["甲", "￥1,234.50元"], ["乙", "3.5万元"], ["丙", "¥7"]), ["名", "金额"],
        [["甲", 1234.5], ["乙", 35000.0], ["丙", 7.0]], {"currency", "scaled"}, name="a.csv",
    ),
    "roubles and kopecks stay text": Case(
        text(["a", "sum"], ["x", "5р.50"], ["y", "7р.25"]), ["a", "sum"], [["x", "5р.50"], ["y", "7р.25"]],
        name="a.csv",
    ),
    "cells that stay text are shown": Case(
        text(["id", "date"], ["1", "13/02/2024"], ["2", "02/14/2024"], ["3", "25/12/2023"]), ["id", "date"],
        [[1, "13/02/2024"], [2, "02/14/2024"], [3, "25/12/2023"]], {"mixed"}, name="a.csv",
        check=lambda loaded: "02/14/2024" in loaded.dataset.report.warnings[-1].message(),
    ),
}  # fmt: skip

AREAS: Cells = [["North", 10, 20, 31], ["South", 11, 21, 5], ["West", 12, 22, 40], ["East", 9, 2, 7]]


def named(*names: object, rows: Cells = AREAS, make: Callable[..., bytes] = text) -> Case:
    """A table whose columns have these names, which look like values."""
    name = "a.csv" if make is text else "a.xlsx"
    return Case(make(list(names), *rows), list(map(str, names)), rows, name=name)


AUTOMATIC |= {
    "ranges as names": named("area", "0-9", "10-19", "20-29"),
    "open ranges as names": named("area", "<18", "18-64", "65+"),
    "seasons as names": named("area", "2021/22", "2022/23", "2023/24"),
    "hours as names": named("area", "06:00", "12:00", "18:00"),
    "days as names": named("area", "1.1.2024", "1.2.2024", "1.3.2024"),
    "sizes with a comma as names": named("area", "37,5", "38", "38,5"),
    "percentiles as names": named("area", "10 %", "50 %", "90 %"),
    "sizes as names": named("area", "36", "38", "40"),
    "numbers as text above numbers": named("area", "5", "7", "9", make=sheet),
    "years alone as names": named(
        "2021", "2022", "2023", rows=[[10, 12, 15], [20, 22, 25], [5, 6, 7]], make=lambda *rows: sheet(
            [2021, 2022, 2023], *rows[1:])
    ),
    "a word and a percentage as names": named("area", "sold", "back", "50%"),
    "names with a value in each of two words": named("size 36", "size 38", rows=[[1, 2], [3, 4]]),
    "a header one name short": Case(
        text(["price", "qty"], ["a", 5, 2], ["b", 6, 3], ["c", 7, 4]), ["column_1", "price", "qty"],
        [["a", 5, 2], ["b", 6, 3], ["c", 7, 4]], {"unnamed"}, name="a.csv",
    ),
    "a line of dates above the header": Case(
        sheet(["From", date(2024, 1, 1), date(2024, 3, 31)], [None], ["day", "text", "sum"],
              [date(2024, 1, 5), "rent", -500], [date(2024, 2, 5), "pay", 900]),
        ["day", "text", "sum"], [["2024-01-05", "rent", -500], ["2024-02-05", "pay", 900]], {"rows_above"},
    ),
    "words in a later row are no header": Case(
        text([1, 2, 3], [4, 5, 6], ["red", "green", "blue"], [7, 8, 9], [1, 0, 2]), ["A", "B", "C"],
        [["1", "2", "3"], ["4", "5", "6"], ["red", "green", "blue"], ["7", "8", "9"], ["1", "0", "2"]], {"no_header"},
        name="a.csv",
    ),
    "a row that is filled late is no header": Case(
        text(["A1", "", ""], ["A2", "", ""], ["B1", "x", "y"], ["B2", "x", "y"]), ["A", "B", "C"],
        [["A1", None, None], ["A2", None, None], ["B1", "x", "y"], ["B2", "x", "y"]], {"no_header"}, name="a.csv",
    ),
    "repeated groups above ranges": Case(
        sheet(["area", "Male", "Male", "Female", "Female"], [None, "0-17", "18+", "0-17", "18+"], ["N", 1, 2, 3, 4],
              ["S", 5, 6, 7, 8]),
        ["area", "Male 0-17", "Male 18+", "Female 0-17", "Female 18+"], [["N", 1, 2, 3, 4], ["S", 5, 6, 7, 8]],
    ),
    "repeated groups above numbers": Case(
        sheet(["year", "cases", "part", "part"], ["month", "filed", 7, 11], [202401, 100, 60, 10],
              [202402, 110, 66, 11]),
        ["year month", "cases filed", "part 7", "part 11"], [[202401, 100, 60, 10], [202402, 110, 66, 11]],
    ),
    "a title merged beyond the table": Case(
        sheet(["Sales 2024"], ["shop", "sold"], ["Oslo", 1], ["Riga", 2], merge=("A1:H1",)), ["shop", "sold"],
        [["Oslo", 1], ["Riga", 2]], {"rows_above"},
    ),
    "dates that stand for years": Case(
        sheet(["area", date(2021, 1, 1), date(2022, 1, 1)], ["N", 1, 2], ["S", 3, 4]), ["area", "2021", "2022"],
        [["N", 1, 2], ["S", 3, 4]],
    ),
    "a header on each page in other letters": Case(
        text(["Id", "Net\nprice"], [1, 2], [3, 4], ["ID", "NET  PRICE"], [5, 6], ["\ufeffid", "net price"], [7, 8]),
        ["Id", "Net price"], [[1, 2], [3, 4], [5, 6], [7, 8]], {"header_repeated"}, name="a.csv",
    ),
    "a title and a header on each page": Case(
        text(["List, page 1"], ["id", "net price"], [1, 2], [3, 4], ["List, page 2"], ["id", "net\u00a0price"], [5, 6]),
        ["id", "net price"], [[1, 2], [3, 4], [5, 6]], {"header_repeated", "rows_above"}, name="a.csv",
    ),
    "numbers above a header on each page": Case(
        text([1, 2], ["id", "net price"], ["a", 1], [7, 2], ["id", "net price"], [5, 3], ["d", 5]),
        ["id", "net price"], [["a", 1], ["7", 2], ["5", 3], ["d", 5]], {"header_repeated", "rows_above"},
        name="a.csv",
    ),
    "a header of years on each page": Case(
        text(["area", 2021, 2022], ["N", 1, 2], ["S", 3, 4], ["area", 2021, 2022], ["E", 5, 6], ["W", 6, 7]),
        ["area", "2021", "2022"], [["N", 1, 2], ["S", 3, 4], ["E", 5, 6], ["W", 6, 7]], {"header_repeated"},
        name="a.csv",
    ),
    "a row with its own number is no total": Case(
        text(["room", "seats", "note"], [101, 20, "a"], [102, 30, "b"], [203, 50, ""], [204, 27, "c"]),
        ["room", "seats", "note"], [[101, 20, "a"], [102, 30, "b"], [203, 50, None], [204, 27, "c"]], name="a.csv",
    ),
    "two header rows on each page": Case(
        sheet(["area", 2024, None], [None, "sold", "back"], ["N", 1, 2], ["area", 2024, None], [None, "sold", "back"],
              ["S", 3, 4]),
        ["area", "2024 sold", "2024 back"], [["N", 1, 2], ["S", 3, 4]], {"header_repeated"},
    ),
}  # fmt: skip

WITH_OPTIONS |= {
    "tax kept": Case(
        sheet(*INVOICE), INVOICE[0], INVOICE[1:], {"totals"}, {"drop_totals": False},
    ),
    "words for truth": Case(
        text(["имя", "оплачен"], ["А", "да"], ["Б", "Нет"], ["В", "是"], ["Г", ""]), ["имя", "оплачен"],
        [["А", True], ["Б", False], ["В", True], ["Г", None]], options={"types": {"оплачен": "boolean"}}, name="a.csv",
    ),
}  # fmt: skip
