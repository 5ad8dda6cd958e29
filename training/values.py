"""Generate the values of one column from its name and type, including given literals."""

import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from random import Random

from training.spider import SpiderColumn
from training.vocabulary import BY_NAME, PEOPLE, PEOPLE_TABLES

Value = str | int | float | None

FIRST_DAY = datetime(2022, 1, 1)
DAYS = 4 * 365 + 1

_REAL = re.compile(
    r"price|rate|avg|average|weight|gpa|height|salary_|score|cost|amount|total|percent|ratio|fee|balance|tax|latitude|"
    r"longitude|temperature|billion|million|discount|kwh|_km$|distance_km|litres|premium|refund|revenue"
)
_WHOLE = re.compile(r"(_|\b)(id|no|num|number|code|count|year|passengers)$|id$|^(num|number)_")
_YEAR = re.compile(r"(^|_|\b)(year|season|founded|founded_in)$|year(_|\b)|year$|^opened_in$")
_DATETIME_NAME = re.compile(r"_at$|At$|datetime|timestamp|time_stamp")
_TIME_NAME = re.compile(r"time$|_time_|^time")
_DATE_NAME = re.compile(r"date|_on$|_day$")
_RANGES = (
    (re.compile(r"\bage$|_age$|^age"), 18, 75),
    (re.compile(r"salary|income|wage"), 2000, 12000),
    (re.compile(r"quantity|qty|units|seats|guests|nights|count$|^num|copies"), 1, 12),
    (re.compile(r"percent|share|humidity"), 0, 100),
    (re.compile(r"gpa"), 1, 4),
    (re.compile(r"rating|stars|grade|rank|position"), 1, 10),
    (re.compile(r"price|fee|cost|rate"), 5, 400),
    (re.compile(r"amount|total|balance|premium|revenue|payment"), 20, 3000),
    (re.compile(r"population|attendance|capacity|budget|sales"), 500, 90000),
    (re.compile(r"height|weight"), 50, 210),
    (re.compile(r"month$"), 1, 12),
    (re.compile(r"day$"), 1, 28),
)


def declared(column: SpiderColumn, literals: Sequence[str], is_text: bool) -> str:
    """Return the declared SQL type of `column`, which statements compare with `literals`."""
    name = column.name.lower()
    if column.type == "number":
        if is_text:
            return "TEXT"
        is_real = (_REAL.search(name) and not _WHOLE.search(name)) or any("." in literal for literal in literals)
        return "REAL" if is_real else "INTEGER"
    if column.type == "boolean":
        return "BOOLEAN"
    if column.type == "time":
        if _YEAR.search(name):
            return "INTEGER"
        if _DATETIME_NAME.search(column.name):
            return "DATETIME"
        return "TEXT" if _TIME_NAME.search(name) and not _DATE_NAME.search(name) else "DATE"
    return "TEXT"


def make_values(
    table: str, column: SpiderColumn, kind: str, literals: Sequence[str], rows: int, unique: bool, rng: Random
) -> list[Value]:
    """Return `rows` values of the declared type `kind`, distinct if `unique`, including `literals`."""
    chosen_literals = [_of_kind(literal.strip("%"), kind) for literal in literals if literal.lower() != "null"][:rows]
    if unique:
        return _distinct(table, column, kind, chosen_literals, rows, rng)
    name = column.name.lower()
    if kind in ("INTEGER", "REAL"):
        return _spread(chosen_literals, _numbers(name, kind, chosen_literals, rows, rng), rng)
    if kind == "BOOLEAN":
        return [int(rng.random() < 0.6) for _ in range(rows)]
    if _is_dated(name, kind, chosen_literals):
        return _spread(chosen_literals, [_date_or_datetime(kind, rng) for _ in range(rows)], rng)
    if _TIME_NAME.search(name):
        return _spread(chosen_literals, [f"{rng.randrange(24):02}:{rng.randrange(60):02}:00" for _ in range(rows)], rng)
    words, many = words_for(table, column)
    if column.values or not many:
        sample = [*chosen_literals, *rng.sample(words, min(len(words), max(3, 8 - len(chosen_literals))))]
        values: Sequence[Value] = list(column.values) or sample
        return _skewed(values, rows, rng)
    return _spread(chosen_literals, [rng.choice(words) for _ in range(rows)], rng)


def words_for(table: str, column: SpiderColumn) -> tuple[tuple[str, ...], bool]:
    """Return words that match the column name, and whether most rows have a distinct one."""
    name = column.name.lower()
    if column.values:
        return column.values, False
    if re.search(PEOPLE_TABLES, table.lower()) and name in ("name", "full_name", "fullname"):
        return PEOPLE, True
    for pattern, words, many in BY_NAME:
        if re.search(pattern, name):
            return words, many
    if re.search(r"mail", name):
        return tuple(f"{person.lower().replace(' ', '.')}@example.com" for person in PEOPLE), True
    if re.search(r"phone|fax|mobile", name):
        return tuple(f"+1 555 {number:04}" for number in range(100, 9000, 37)), True
    if re.search(r"address|street|line_1", name):
        return tuple(f"{number} {street}" for number in range(3, 90, 11) for street in BY_NAME[3][1][:9]), True
    if re.search(r"quantity|amount|number|count|price|age$|_1$|_2$", name):
        return tuple(str(number) for number in range(1, 60)), True
    prefix = re.sub(r"[^a-z]", "", name)[:3].upper() or "X"
    return tuple(f"{prefix}{number:03}" for number in range(1, 120, 7)), True


def skewed_choice(parents: Sequence[Value], rows: int, rng: Random) -> list[Value]:
    """Return `rows` random elements of `parents` with a skewed distribution; a fifth of the parents is never chosen."""
    candidates = list(parents)
    rng.shuffle(candidates)
    candidates = candidates[: max(1, round(len(candidates) * 0.8))] if len(candidates) > 4 else candidates
    return _skewed(candidates, rows, rng)


def _skewed(values: Sequence[Value], rows: int, rng: Random) -> list[Value]:
    distinct = list(dict.fromkeys(values))
    weights = [1 / (place + 1.5) for place in range(len(distinct))]
    picked = rng.choices(distinct, weights, k=rows)
    sure = distinct[: rows // 2]
    picked[: len(sure)] = sure
    rng.shuffle(picked)
    return picked


def _spread(literals: Sequence[Value], values: list[Value], rng: Random) -> list[Value]:
    """Return `values` with each of `literals` in about three rows."""
    places = rng.sample(range(len(values)), min(len(values) * 2 // 3, 3 * len(literals)))
    for turn, place in enumerate(places):
        values[place] = literals[turn % len(literals)]
    return values


def _distinct(
    table: str, column: SpiderColumn, kind: str, chosen_literals: Sequence[Value], rows: int, rng: Random
) -> list[Value]:
    values = dict.fromkeys(chosen_literals)
    if kind in ("INTEGER", "REAL"):
        supply: list[Value] = list(range(1, rows * 2 + len(values)))
    else:
        words, many = words_for(table, column)
        pool = rng.sample(words, len(words)) if many or column.values else list(words)
        supply = [*pool, *(f"{word} {number}" for number in range(2, rows + 2) for word in pool)]
    for value in supply:
        if len(values) >= rows:
            break
        values.setdefault(value)
    return list(values)


def _numbers(name: str, kind: str, chosen_literals: Sequence[Value], rows: int, rng: Random) -> list[Value]:
    figures = [value for value in chosen_literals if isinstance(value, int | float)]
    if _YEAR.search(name):
        first, last = min([2015, *map(int, figures)]), max([2025, *map(int, figures)])
        return [rng.randint(first, last) for _ in range(rows)]
    low, high = next(((float(a), float(b)) for pattern, a, b in _RANGES if pattern.search(name)), (1.0, 100.0))
    if figures:
        low, high = min(figures) - abs(min(figures)) / 2, max(figures) * 1.5 + 2
    if kind == "REAL":
        return [round(low + (high - low) * rng.random() ** 1.5, 2) for _ in range(rows)]
    return [rng.randint(int(low), int(high)) for _ in range(rows)]


def _date_or_datetime(kind: str, rng: Random) -> str:
    day = FIRST_DAY + timedelta(days=rng.randrange(DAYS), minutes=rng.randrange(24 * 60))
    return day.isoformat(" ", "seconds") if kind == "DATETIME" else day.date().isoformat()


def _is_dated(name: str, kind: str, chosen_literals: Sequence[Value]) -> bool:
    if kind != "TEXT":
        return True
    return bool(_DATE_NAME.search(name)) and all(re.match(r"\d{4}", str(value)) for value in chosen_literals)


def _of_kind(literal: str, kind: str) -> Value:
    if kind not in ("INTEGER", "REAL", "BOOLEAN"):
        return literal
    try:
        number = float(literal)
    except ValueError:
        return literal
    return int(number) if number.is_integer() else number
