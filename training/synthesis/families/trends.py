"""Questions for trends: a quantity per month, quarter or year, running totals, moving averages, previous values."""

from dataclasses import replace

from training.synthesis.draft import Draft, Wordings, same, words
from training.synthesis.nouns import Term
from training.synthesis.periods import year_of
from training.synthesis.quantities import some_quantity
from training.synthesis.subject import Subject, dated, dated_name, timed
from training.synthesis.view import Field, Reader

_TREND: Wordings = {
    "en": (
        "What was the {what} in each {step}?",
        "{what} by {step}",
        "{what} per {step}",
        "Show the {what} per {step}.",
        "How did the {what} develop by {step}?",
        "Show the {step}ly trend of the {what}.",
        "Give me the {what} for every {step}.",
        "Break down the {what} by {step}.",
        "What does the {what} look like {step} by {step}?",
    ),
    "ru": (
        "{what} по {step:D}",
        "Покажи {what:a} по {step:D}.",
        "Как менялось значение по {step:D}: {what}?",
        "Динамика по {step:D}: {what}",
        "Сколько составляет {what} за каждый {step}?",
    ),
    "zh": (
        "每{step}的{what}是多少？",
        "按{step}统计{what}。",
        "{what}的{step}度趋势",
        "按{step}列出{what}。",
        "各{step}的{what}",
    ),
}
_RUNNING: Wordings = {
    "en": (
        "Show the {what} per {step} and its running total.",
        "What is the running total of the {what} by {step}?",
        "Cumulative {what} by {step}, next to the value of each {step}",
        "For each {step}, give the {what} and the cumulative value so far.",
        "Running total of the {what} per {step}",
        "How does the {what} accumulate {step} by {step}?",
    ),
    "ru": (
        "Покажи {what:a} по {step:D} и нарастающий итог.",
        "Нарастающий итог по {step:D}: {what}",
        "{what} по {step:D} с накоплением",
        "Посчитай {what:a} по {step:D} и накопленную сумму.",
    ),
    "zh": (
        "按{step}统计{what}及其累计值。",
        "每{step}的{what}和累计总数",
        "{what}按{step}累计是多少？",
        "列出各{step}的{what}和截至当{step}的累计值。",
    ),
}
_MOVING: Wordings = {
    "en": (
        "What is the {n}-month moving average of the {what}?",
        "Show the {what} per month with its moving average over {n} months.",
        "{n}-month rolling average of the {what}, by month",
        "For each month, give the {what} and the average of the last {n} months.",
        "Smooth the monthly {what} with a {n}-month moving average.",
        "Monthly {what} and its rolling {n}-month mean",
    ),
    "ru": (
        "Покажи {what:a} по месяцам и скользящее среднее за {n} месяца.",
        "Скользящее среднее за {n} месяца: {what}",
        "{what} по месяцам со скользящим средним за {n} месяца",
        "Посчитай по месяцам {what:a} и среднее за последние {n} месяца.",
    ),
    "zh": (
        "按月统计{what}及其{n}个月移动平均。",
        "{what}的{n}个月滚动平均是多少？",
        "每月{what}和最近{n}个月的平均值",
        "列出每月的{what}及{n}个月移动平均值。",
    ),
}
_BEFORE: Wordings = {
    "en": (
        "Show the {what} per {step} with the value of the {step} before.",
        "For each {step}, what was the {what} and what was it the {step} before?",
        "{what} by {step} next to the previous {step}",
        "Compare the {what} of every {step} with the previous one.",
        "List {what} per {step} and the prior {step}'s value.",
        "{step} over {step}: {what} and the previous value",
    ),
    "ru": (
        "Покажи {what:a} по {step:D} и значение за предыдущий {step}.",
        "{what} по {step:D} рядом с предыдущим значением",
        "Сравни {what:a} за каждый {step} с предыдущим.",
        "По {step:D}: {what} и значение за прошлый {step}",
    ),
    "zh": (
        "按{step}列出{what}和上一{step}的值。",
        "每{step}的{what}与上一{step}相比",
        "各{step}的{what}及前一{step}的{what}",
        "比较每{step}与前一{step}的{what}。",
    ),
}


def _step(name: str, plural_dative: str, russian: str, chinese: str) -> Term:
    term = dict(words(name, russian, chinese))
    term["ru"] = replace(term["ru"], D=plural_dative)
    return term


_STEPS = {
    "month": _step("month", "месяцам", "месяц", "月"),
    "quarter": _step("quarter", "кварталам", "квартал", "季"),
    "year": _step("year", "годам", "год", "年"),
}


def trend(reader: Reader) -> Draft:
    """Ask for a quantity per month, quarter or year, over all time or one year."""
    rows, column = timed(reader)
    step = reader.rng.choice(["month", "month", "quarter", "year"])
    rows = rows if step == "year" else _in_a_year(rows, column, reader)
    what = some_quantity(rows, reader)
    keys = _keys(column, step, all_years=not rows.conditions)
    query = replace(rows.query(*keys, what.sql), group=keys, order=keys)
    return Draft(query, _TREND, {"what": dated_name(what.of, rows, column), "step": _STEPS[step]}, min_rows=2)


def running(reader: Reader) -> Draft:
    """Ask for a quantity per month or year with its running total."""
    rows, column = timed(reader)
    step = reader.rng.choice(["month", "month", "year"])
    rows = rows if step == "year" else _in_a_year(rows, column, reader)
    what = some_quantity(rows, reader, additive=True)
    [key] = _keys(column, step, all_years=True)
    query = replace(rows.query(key, what.sql, f"SUM({what.sql}) OVER (ORDER BY {key})"), group=(key,), order=(key,))
    return Draft(query, _RUNNING, {"what": dated_name(what.of, rows, column), "step": _STEPS[step]}, min_rows=3)


def moving(reader: Reader) -> Draft:
    """Ask for a quantity per month with its average over the last months."""
    rows, column = timed(reader)
    months = reader.rng.choice([3, 3, 4, 2])
    rows = _in_a_year(rows, column, reader)
    what = some_quantity(rows, reader, additive=True)
    [key] = _keys(column, "month", all_years=True)
    window = f"AVG({what.sql}) OVER (ORDER BY {key} ROWS BETWEEN {months - 1} PRECEDING AND CURRENT ROW)"
    query = replace(rows.query(key, what.sql, window), group=(key,), order=(key,))
    return Draft(query, _MOVING, {"what": dated_name(what.of, rows, column), "n": same(months)}, min_rows=3)


def with_the_one_before(reader: Reader) -> Draft:
    """Ask for a quantity per year or month with its previous value."""
    rows, column = timed(reader)
    step = reader.rng.choice(["month", "year", "year"])
    rows = rows if step == "year" else _in_a_year(rows, column, reader)
    what = some_quantity(rows, reader)
    [key] = _keys(column, step, all_years=True)
    query = replace(rows.query(key, what.sql, f"LAG({what.sql}) OVER (ORDER BY {key})"), group=(key,), order=(key,))
    return Draft(query, _BEFORE, {"what": dated_name(what.of, rows, column), "step": _STEPS[step]}, min_rows=3)


def _in_a_year(rows: Subject, column: Field, reader: Reader) -> Subject:
    return dated(rows.entity, reader, year_of, column) if reader.rng.random() < 0.65 else rows


def _keys(column: Field, step: str, *, all_years: bool) -> tuple[str, ...]:
    if step == "quarter":
        quarter = f"(strftime('%m', {column.sql}) + 2) / 3"
        return (f"strftime('%Y', {column.sql})", quarter) if all_years else (quarter,)
    return (f"strftime('{'%Y' if step == 'year' else '%Y-%m'}', {column.sql})",)
