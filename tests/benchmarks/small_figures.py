"""How many invented small figures the check accepts because a long raw result has them in some row.

`python -m tests.benchmarks.small_figures` prints the share by template, and that of all.
"""

import json
import random
from collections.abc import Callable, Sequence
from statistics import fmean, median
from typing import Any, NamedTuple

from agent.grounding.claims import unsupported_claims
from agent.types import Result

ROWS = 180
_NAMES = ("Anna", "Boris", "Chen", "Dora", "Egor", "Fang", "Gleb", "Hana", "Ivan", "Jing")
_PLACES = ("North", "South", "East", "West")
_PRODUCTS = ("desk", "lamp", "chair", "shelf", "stool")


class Template(NamedTuple):
    """A sentence with `{n}` in place of a figure, and the figures that would be true."""

    text: str
    true: Callable[["Raw"], Sequence[float]]


class Raw(NamedTuple):
    """A raw result and its columns by name."""

    result: Result
    question: str

    def column(self, name: str) -> list[Any]:
        """The cells of a column."""
        at = self.result["columns"].index(name)
        return [row[at] for row in self.result["rows"]]


def orders() -> Raw:
    """Orders with small quantities and prices."""
    chance = random.Random(7)
    rows = [
        [
            f"2024-{1 + at // 15:02}-{1 + at % 28:02}",
            chance.choice(_NAMES),
            chance.choice(_PRODUCTS),
            chance.choice(_PLACES),
            chance.randint(1, 60),
            chance.randint(5, 95),
            round(chance.uniform(0, 30), 1),
        ]
        for at in range(ROWS)
    ]
    columns = ["ordered_on", "customer", "product", "region", "quantity", "price", "discount_pct"]
    types = ["date", "string", "string", "string", "integer", "integer", "float"]
    return Raw(Result(columns=columns, types=types, rows=rows, truncated=False), "What do the orders look like?")


def survey() -> Raw:
    """Answers of a survey in Russian, with ages and scores."""
    chance = random.Random(11)
    rows = [
        [at + 1, chance.choice(["отдел продаж", "склад", "бухгалтерия"]), chance.randint(18, 66), chance.randint(1, 10)]
        for at in range(ROWS)
    ]
    columns, types = ["анкета", "подразделение", "возраст", "оценка"], ["integer", "string", "integer", "integer"]
    return Raw(Result(columns=columns, types=types, rows=rows, truncated=False), "Что в анкетах?")


def returns() -> Raw:
    """Returns in Chinese, with small numbers."""
    chance = random.Random(13)
    rows = [
        [f"账号{at % 12 + 1:02}", f"2024-{at // 15 + 1:02}", chance.randint(0, 80), chance.randint(0, 40)]
        for at in range(ROWS)
    ]
    columns, types = ["账号", "月份", "退货数量", "质量问题"], ["string", "string", "integer", "integer"]
    return Raw(Result(columns=columns, types=types, rows=rows, truncated=False), "退货情况如何？")


def _count(name: str, test: Callable[[Any], bool]) -> Callable[[Raw], Sequence[float]]:
    return lambda raw: [sum(map(test, raw.column(name)))]


def _of(name: str, function: Callable[[list[Any]], float]) -> Callable[[Raw], Sequence[float]]:
    return lambda raw: [function(raw.column(name))]


def _usual(name: str) -> Callable[[Raw], Sequence[float]]:
    return lambda raw: [fmean(raw.column(name)), median(raw.column(name))]


def _share(name: str, value: str) -> Callable[[Raw], Sequence[float]]:
    return lambda raw: [100 * raw.column(name).count(value) / ROWS]


def _of_name(value: str, name: str, function: Callable[[list[Any]], float]) -> Callable[[Raw], Sequence[float]]:
    return lambda raw: [
        function([cell for row, cell in zip(raw.result["rows"], raw.column(name), strict=True) if value in row])
    ]


def _ratio(raw: Raw) -> Sequence[float]:
    return [100 * sum(raw.column("质量问题")) / sum(raw.column("退货数量"))]


def _monthly(raw: Raw) -> Sequence[float]:
    numbers = raw.column("退货数量")
    return [fmean(numbers), median(numbers), sum(numbers) / 12]


def _none(raw: Raw) -> Sequence[float]:
    return []


TEMPLATES: dict[Callable[[], Raw], list[Template]] = {
    orders: [
        Template("The average quantity is {n}.", _of("quantity", fmean)),
        Template("The median price is {n}.", _of("price", median)),
        Template("The typical order has a quantity of {n}.", _usual("quantity")),
        Template("The highest quantity is {n}.", _of("quantity", max)),
        Template("The lowest price is {n}.", _of("price", min)),
        Template("There are {n} orders from the North.", _count("region", lambda cell: cell == "North")),
        Template("There are {n} customers.", lambda raw: [len(set(raw.column("customer")))]),
        Template("Anna ordered {n} times.", _count("customer", lambda cell: cell == "Anna")),
        Template("Orders rose by {n}% in March.", _none),
        Template("About {n}% of the orders are for lamps.", _share("product", "lamp")),
        Template("Overall the quantity was {n}.", _of("quantity", sum)),
        Template("Chairs cost {n} on average.", _of_name("chair", "price", fmean)),
        Template("The data shows a quantity of {n}.", _none),
        Template("Customers usually pay {n}.", _usual("price")),
        Template("{n} orders have a discount above 20 percent.", _count("discount_pct", lambda cell: cell > 20)),
        Template("The difference between the best and the worst region is {n}.", _none),
    ],
    survey: [
        Template("Средний возраст — {n}.", _of("возраст", fmean)),
        Template("Медианная оценка равна {n}.", _of("оценка", median)),
        Template("В отделе продаж {n} анкет.", _count("подразделение", lambda cell: cell == "отдел продаж")),
        Template("Старшему участнику {n} лет.", _of("возраст", max)),
        Template("Доля склада составляет {n}%.", _share("подразделение", "склад")),
        Template("Оценку 10 поставили {n} человек.", _count("оценка", lambda cell: cell == 10)),
        Template("В основном участникам {n} лет.", _usual("возраст")),
        Template("Всего {n} подразделений.", lambda raw: [3]),
    ],
    returns: [
        Template("平均退货数量为{n}。", _of("退货数量", fmean)),
        Template("最高退货数量为{n}。", _of("退货数量", max)),
        Template("共有{n}个账号。", lambda raw: [12]),
        Template("退货数量增长了{n}%。", _none),
        Template("质量问题占退货的{n}%。", _ratio),
        Template("一般每月退货{n}件。", _monthly),
        Template("退货数量中位数是{n}。", _of("退货数量", median)),
        Template("账号03的退货总数为{n}。", _of_name("账号03", "退货数量", sum)),
    ],
}  # fmt: skip


def accepted(step: int = 3) -> dict[str, tuple[int, int]]:
    """Return for each template how many invented figures were accepted, of how many.

    The figures are 2, 2 + `step` and so on below 100.
    """
    counts = {}
    for build, templates in TEMPLATES.items():
        raw = build()
        for template in templates:
            true = template.true(raw)
            figures = [n for n in range(2, 100, step) if all(abs(n - value) > 0.51 for value in true)]
            passed = [n for n in figures if not unsupported_claims(template.text.format(n=n), raw.result, raw.question)]
            counts[template.text] = (len(passed), len(figures))
    return counts


def main() -> None:
    """Print the counts as JSON lines."""
    counts = accepted()
    for text, (passed, figures) in counts.items():
        print(json.dumps({"template": text, "accepted": passed, "figures": figures}, ensure_ascii=False))
    passed, figures = (sum(pair[at] for pair in counts.values()) for at in (0, 1))
    print(json.dumps({"accepted": passed, "figures": figures, "share": round(passed / figures, 3)}))


if __name__ == "__main__":
    main()
