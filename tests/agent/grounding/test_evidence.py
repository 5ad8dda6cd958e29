"""True sentences of many kinds about several results, and what evidence besides the rows supports."""

from statistics import fmean, median
from typing import Any

import pytest

from agent.grounding.claims import unsupported_claims
from agent.grounding.evidence import Evidence
from agent.types import Result
from tests.benchmarks.small_figures import accepted, orders, returns, survey
from tests.cases import all_cases
from tests.heavy import sample

SIZES = {"rows": frozenset({4393}), "columns": frozenset({12}), "sheets": frozenset({3}), "files": frozenset({2})}
EVIDENCE = Evidence(
    filters=("status = open", "price > 300"),
    stated=("300", "2024-01-01", "2024-06-30", "5", "beta", "500"),
    sizes=SIZES,
)


def table(columns: list[str], *rows: list[Any]) -> Result:
    return Result(columns=columns, types=["other"] * len(columns), rows=list(rows), truncated=False)


ACCOUNTS = table(["账号", "returns"], ["海蓝服饰", 820], ["优品数码", 774], ["安心母婴", 714], ["云上家居", 230])
MONTHS = table(
    ["month", "revenue", "orders"],
    ["2024-01", 1200.5, 30], ["2024-02", 980.25, 24], ["2024-03", 1530.0, 41],
    ["2024-04", 1710.75, 45], ["2024-05", 1650.0, 39], ["2024-06", 2101.4, 52],
)  # fmt: skip
RUSSIAN = table(["поставщик", "сумма"], ["Альфа", "1 234,50 ₽"], ["Бета", "12 000,00 ₽"], ["Гамма", "980,10 ₽"])
GERMAN = table(["supplier", "amount"], ["Alpha", "€ 1.234,50"], ["Beta", "€ 12.000,00"], ["Gamma", "€ 980,10"])
SWISS = table(["supplier", "amount"], ["Alpha", "CHF 1'234.50"], ["Beta", "CHF 12'000.00"], ["Gamma", "CHF 980.10"])
SHARES = table(["region", "share"], ["North", "42.5 %"], ["South", "37.5 %"], ["West", "20.0 %"])
TOTAL = table(["total"], [4393])


def objections(text: str, result: Result | list[Result], question: str) -> list[str]:
    return [f"{text} -> {each.claim}" for each in unsupported_claims(text, result, question, EVIDENCE)]


def about_raw_rows() -> dict[str, list[str]]:
    """True sentences about three results of 180 rows, by question."""
    raw, answers, sent = orders(), survey(), returns()
    rows = raw.result["rows"]
    quantities, prices, ages = raw.column("quantity"), raw.column("price"), answers.column("возраст")
    anna, lamps = ([row for row in rows if name in row] for name in ("Anna", "lamp"))
    north = sum("North" in row for row in rows)
    first = rows[0]
    stock = answers.column("подразделение").count("склад")
    numbers, problems = sent.column("退货数量"), sent.column("质量问题")
    account = sum(row[2] for row in sent.result["rows"] if row[0] == "账号03")
    return {
        raw.question: [
            f"The average quantity is {fmean(quantities):.1f}.",
            f"The median price is {median(prices):g}.",
            f"Quantities range from {min(quantities)} to {max(quantities)}.",
            f"{north} of the 180 orders are from the North.",
            f"The North has {100 * north / 180:.1f}% of the orders.",
            f"Anna ordered {len(anna)} times.",
            f"Anna bought {sum(row[4] for row in anna)} pieces in total.",
            f"The total quantity is {sum(quantities):,}.",
            f"Lamps cost {fmean(row[5] for row in lamps):.1f} on average.",
            "There are 5 products and 10 customers.",
            f"The highest price is {max(prices)}.",
            f"On {first[0]} {first[1]} ordered {first[4]} pieces of {first[2]}.",
            "The data covers 180 orders from January to December 2024.",
        ],
        answers.question: [
            f"Средний возраст — {fmean(ages):.1f} года.".replace(".", ",", 1),
            f"У склада {stock} анкет.",
            f"Медианная оценка равна {median(answers.column('оценка')):g}.",
            "Всего 180 анкет из 3 подразделений.",
            f"Возраст от {min(ages)} до {max(ages)} лет.",
            f"Доля склада — {100 * stock / 180:.1f}%.".replace(".", ",", 1),
        ],
        sent.question: [
            f"账号03的退货总数为{account}。",
            f"平均退货数量为{fmean(numbers):.1f}。",
            "共有12个账号。",
            f"退货总数为{sum(numbers)}。",
            f"最高退货数量为{max(numbers)}。",
            f"质量问题占退货的{100 * sum(problems) / sum(numbers):.1f}%。",
        ],
    }


def test_true_sentences_about_long_results_are_accepted() -> None:
    raw = {each.question: each.result for each in (orders(), survey(), returns())}

    for question, texts in about_raw_rows().items():
        assert [claim for text in texts for claim in objections(text, raw[question], question)] == []


@pytest.mark.heavy
def test_a_long_result_vouches_for_few_invented_small_figures() -> None:
    counts = accepted(step=sample(23, 47)).values()

    assert sum(passed for passed, _ in counts) <= 0.1 * sum(figures for _, figures in counts)


@all_cases(
    "result, question, texts",
    [
        (
            ACCOUNTS,
            "Which accounts have the most returns?",
            [
                "海蓝服饰 has the most returns, 820; 优品数码 follows with 774.",
                "Together the four accounts have 2,538 returns.",
                "海蓝服饰 accounts for 32.3% of all returns.",
                "云上家居 has 590 fewer returns than 海蓝服饰.",
                "The top three accounts have 2,308 returns, 90.9% of the total.",
                "On average an account has 634.5 returns.",
                "云上家居 has only 230 returns, less than a third of 海蓝服饰's 820.",
                "The four accounts range from 230 to 820 returns.",
                "Of the 2,538 returns, 230 belong to 云上家居.",
            ],
        ),
        (
            ACCOUNTS,
            "哪些账号退货最多？",
            [
                "海蓝服饰退货最多，共820件，占总数的32.3%。",
                "四个账号合计退货2538件。",
                "优品数码比安心母婴多60件。",
                "前三名合计2308件，占90.9%。",
                "平均每个账号退货634.5件。",
            ],
        ),
        (
            ACCOUNTS,
            "У каких аккаунтов больше всего возвратов?",
            [
                "Больше всего возвратов у 海蓝服饰 — 820, это 32,3 % от общего числа.",
                "Всего у четырёх аккаунтов 2 538 возвратов.",
                "У 云上家居 на 590 возвратов меньше, чем у 海蓝服饰.",
            ],
        ),
        (
            MONTHS,
            "Revenue by month in 2024",
            [
                "Revenue rose from 1,200.50 in January to 2,101.40 in June, an increase of 75%.",
                "The best month was June with 2,101.40.",
                "Revenue fell by 18.3% in February and recovered to 1,530 in March.",
                "In total, 231 orders brought 9,172.90.",
                "The average order was worth 39.71.",
                "The monthly average was 1,528.82.",
                "June had 28 more orders than February.",
            ],
        ),
        (
            RUSSIAN,
            "Суммы по поставщикам",
            [
                "У Беты сумма 12 000 рублей.",
                "Альфа получила 1 234,50 ₽, Гамма — 980,10 ₽.",
                "Всего 14 214,60 рубля.",
                "Доля Беты — 84,4 %.",
            ],
        ),
        (
            GERMAN,
            "Amounts by supplier",
            [
                "Beta was paid €12,000, Alpha €1,234.50.",
                "Together the suppliers were paid €14,214.60.",
                "Beta accounts for 84.4% of the total.",
            ],
        ),
        (SWISS, "Amounts by supplier", ["Beta was paid CHF 12,000, Alpha CHF 1,234.50.", "In total CHF 14,214.60."]),
        (SHARES, "Share by region", ["The North has a share of 42.5%.", "North and South together have 80%."]),
        (
            [ACCOUNTS, TOTAL],
            "How large is the file?",
            [
                "The file has 4,393 rows and 12 columns on 3 sheets.",
                "Of 4,393 records, 海蓝服饰 has 820 returns.",
                "The two files have 12 columns each.",
                "В файле 12 столбцов и 3 листа.",
                "文件有12列，3个工作表。",
            ],
        ),
        (
            ACCOUNTS,
            "Returns of expensive items",
            [
                "Only items with price > 300 were counted; 海蓝服饰 has 820 returns.",
                "For items above 300, 海蓝服饰 leads with 820 returns.",
                "Between 1 January and 30 June 2024, 海蓝服饰 had 820 returns.",
                "Three accounts exceed the limit of 500.",
                "These are the top 5 accounts.",
            ],
        ),
    ],
)  # fmt: skip
def test_true_sentences_are_accepted(result: Result | list[Result], question: str, texts: list[str]) -> None:
    assert [claim for text in texts for claim in objections(text, result, question)] == []


@all_cases(
    "result, text",
    [
        (TOTAL, "The file has 4,394 rows."),
        (ACCOUNTS, "The file has 13 columns."),
        (ACCOUNTS, "海蓝服饰 has 12 returns."),
        (ACCOUNTS, "海蓝服饰 has 4,393 rows."),
        (ACCOUNTS, "An account has 12 returns."),
        (ACCOUNTS, "Only items with price > 400 were counted."),
        (GERMAN, "Beta was paid €12,500."),
        (GERMAN, "Beta was paid $12,000."),
        (GERMAN, "Together the suppliers were paid €14,314.60."),
        (RUSSIAN, "Всего 15 214,60 рубля."),
        (SHARES, "The North has a share of 52.5%."),
    ],
)
def test_evidence_supports_nothing_else(result: Result, text: str) -> None:
    assert objections(text, result, "What is in the file?")


def test_a_number_of_the_question_with_its_noun_needs_no_row() -> None:
    rows: Result = {"columns": ["product"], "types": ["string"], "rows": [["Tea"], ["Rum"]], "truncated": False}
    question = "Which products were sold in none of the three regions?"

    assert not unsupported_claims("Tea and Rum were sold in none of the 3 regions.", rows, question)
    assert not unsupported_claims("三个地区都没有卖出过的商品有 Tea 和 Rum。", rows, "哪些商品在三个地区都没有卖出过?")
    assert unsupported_claims("Tea and Rum were sold in none of the five regions.", rows, question)
    assert unsupported_claims("Three products were sold in no region.", rows, question)
