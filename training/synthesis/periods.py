"""Periods of time as conditions, with their wording in three languages."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from random import Random

from training.synthesis.nouns import Language
from training.synthesis.view import Field

_MONTHS = "January February March April May June July August September October November December".split()
_IN = "январе феврале марте апреле мае июне июле августе сентябре октябре ноябре декабре".split()
_OF = "января февраля марта апреля мая июня июля августа сентября октября ноября декабря".split()
_IS = "январь февраль март апрель май июнь июль август сентябрь октябрь ноябрь декабрь".split()
_QUARTERS = {
    "en": ("first", "second", "third", "fourth"),
    "ru": ("первом", "втором", "третьем", "четвёртом"),
    "zh": ("一", "二", "三", "四"),
}


@dataclass(frozen=True)
class Period:
    """A condition on a date and its wording as an adverbial, such as "in March 2024"."""

    condition: str
    wording: dict[Language, str]


def period(field: Field, near: date, rng: Random) -> Period:
    """Return a random period around `near` for the date column `field`."""
    kinds: tuple[tuple[Callable[[Field, date, Random], Period], int], ...] = (
        (year_of, 4),
        (_month, 4),
        (_quarter, 3),
        (_since, 2),
        (_before, 2),
        (_months, 2),
        (_days, 2),
        (_after, 1),
        (_half, 1),
    )
    [make] = rng.choices([kind for kind, _ in kinds], [weight for _, weight in kinds])
    return make(field, near, rng)


def year_number(field: Field, year: int, rng: Random) -> Period:
    """Return a period for a column that holds years as numbers."""
    kind = rng.choice(["=", "=", ">", ">=", "<"])
    wording: dict[str, dict[Language, str]] = {
        "=": {"en": f"in {year}", "ru": f"в {year} году", "zh": f"{year}年"},
        ">": {"en": f"after {year}", "ru": f"после {year} года", "zh": f"{year}年之后"},
        ">=": {"en": f"since {year}", "ru": f"начиная с {year} года", "zh": f"{year}年以来"},
        "<": {"en": f"before {year}", "ru": f"до {year} года", "zh": f"{year}年之前"},
    }
    return Period(f"{field.sql} {kind} {year}", wording[kind])


def year_of(field: Field, near: date, rng: Random) -> Period:
    """Return the calendar year of `near` for a date column."""
    y = near.year
    wording: dict[Language, str] = {
        "en": rng.choice([f"in {y}", f"in {y}", f"during {y}", f"in the year {y}"]),
        "ru": rng.choice([f"в {y} году", f"за {y} год"]),
        "zh": f"{y}年",
    }
    return Period(f"strftime('%Y', {field.sql}) = '{y}'", wording)


def _month(field: Field, near: date, rng: Random) -> Period:
    y, m = near.year, near.month
    wording: dict[Language, str] = {
        "en": rng.choice([f"in {_MONTHS[m - 1]} {y}", f"in {_MONTHS[m - 1]} {y}", f"in {_MONTHS[m - 1][:3]} {y}"]),
        "ru": rng.choice([f"в {_IN[m - 1]} {y} года", f"за {_IS[m - 1]} {y}"]),
        "zh": f"{y}年{m}月",
    }
    return Period(f"strftime('%Y-%m', {field.sql}) = '{y}-{m:02}'", wording)


def _quarter(field: Field, near: date, rng: Random) -> Period:
    y, q = near.year, (near.month + 2) // 3
    wording: dict[Language, str] = {
        "en": rng.choice([f"in Q{q} {y}", f"in the {_QUARTERS['en'][q - 1]} quarter of {y}", f"in quarter {q} of {y}"]),
        "ru": rng.choice([f"в{'о' * (q == 2)} {_QUARTERS['ru'][q - 1]} квартале {y} года", f"за {q} квартал {y} года"]),
        "zh": rng.choice([f"{y}年第{_QUARTERS['zh'][q - 1]}季度", f"{y}年Q{q}"]),
    }
    first = date(y, 3 * q - 2, 1)
    return Period(_between(field, first, _later(first, 3)), wording)


def _half(field: Field, near: date, rng: Random) -> Period:
    y, second = near.year, near.month > 6
    wording: dict[Language, str] = {
        "en": f"in the {'second' if second else 'first'} half of {y}",
        "ru": f"в{'о втором' if second else ' первом'} полугодии {y} года",
        "zh": f"{y}年{'下' if second else '上'}半年",
    }
    first = date(y, 7 if second else 1, 1)
    return Period(_between(field, first, _later(first, 6)), wording)


def _since(field: Field, near: date, rng: Random) -> Period:
    y, m = near.year, near.month
    if rng.random() < 0.4:
        wording: dict[Language, str] = {"en": f"since {y}", "ru": f"начиная с {y} года", "zh": f"{y}年以来"}
        return Period(f"{field.sql} >= '{y}-01-01'", wording)
    wording = {
        "en": rng.choice([f"since {_MONTHS[m - 1]} {y}", f"from {_MONTHS[m - 1]} {y} on"]),
        "ru": f"с {_OF[m - 1]} {y} года",
        "zh": f"{y}年{m}月以来",
    }
    return Period(f"{field.sql} >= '{y}-{m:02}-01'", wording)


def _before(field: Field, near: date, rng: Random) -> Period:
    y, m = near.year, near.month
    if rng.random() < 0.5:
        wording: dict[Language, str] = {"en": f"before {y}", "ru": f"до {y} года", "zh": f"{y}年之前"}
        return Period(f"{field.sql} < '{y}-01-01'", wording)
    wording = {"en": f"before {_MONTHS[m - 1]} {y}", "ru": f"до {_OF[m - 1]} {y} года", "zh": f"{y}年{m}月之前"}
    return Period(f"{field.sql} < '{y}-{m:02}-01'", wording)


def _months(field: Field, near: date, rng: Random) -> Period:
    y, m = near.year, min(near.month, 10)
    last = rng.randint(m + 1, 12)
    wording: dict[Language, str] = {
        "en": rng.choice(
            [
                f"between {_MONTHS[m - 1]} and {_MONTHS[last - 1]} {y}",
                f"from {_MONTHS[m - 1]} to {_MONTHS[last - 1]} {y}",
            ]
        ),
        "ru": f"с {_OF[m - 1]} по {_IS[last - 1]} {y} года",
        "zh": f"{y}年{m}月到{last}月",
    }
    return Period(_between(field, date(y, m, 1), _later(date(y, last, 1), 1)), wording)


def _days(field: Field, near: date, rng: Random) -> Period:
    last = near + timedelta(days=rng.choice([30, 60, 90, 120]))
    wording: dict[Language, str] = {
        "en": rng.choice(
            [f"between {near} and {last}", f"from {near} to {last}", f"from {_day_en(near)} to {_day_en(last)}"]
        ),
        "ru": rng.choice([f"с {_day_ru(near)} по {_day_ru(last)}", f"между {near} и {last}"]),
        "zh": f"{_day_zh(near)}至{_day_zh(last)}",
    }
    if field.column.type_class == "date":
        return Period(f"{field.sql} BETWEEN '{near}' AND '{last}'", wording)
    return Period(_between(field, near, last + timedelta(days=1)), wording)


def _after(field: Field, near: date, rng: Random) -> Period:
    next_day = near + timedelta(days=1)
    wording: dict[Language, str] = {
        "en": rng.choice([f"after {near}", f"after {_day_en(near)}"]),
        "ru": f"после {_day_ru(near)}",
        "zh": f"{_day_zh(near)}之后",
    }
    is_date = field.column.type_class == "date"
    return Period(f"{field.sql} > '{near}'" if is_date else f"{field.sql} >= '{next_day}'", wording)


def _between(field: Field, first: date, after: date) -> str:
    return f"{field.sql} >= '{first}' AND {field.sql} < '{after}'"


def _later(first: date, months: int) -> date:
    month = first.month - 1 + months
    return date(first.year + month // 12, month % 12 + 1, 1)


def _day_en(day: date) -> str:
    return f"{_MONTHS[day.month - 1]} {day.day}, {day.year}"


def _day_ru(day: date) -> str:
    return f"{day.day} {_OF[day.month - 1]} {day.year} года"


def _day_zh(day: date) -> str:
    return f"{day.year}年{day.month}月{day.day}日"
