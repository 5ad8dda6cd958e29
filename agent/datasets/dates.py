"""Read dates, months and times written as text in any style and language.

A cell is recognised by its shape, the text with each digit as 9, in Python; DuckDB converts the cells.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any, Literal

from datasphinx.agent.core.duckdb_text import literal
from datasphinx.agent.datasets.locale_words import english_words, locale_words, months_of, plain_word
from datasphinx.agent.datasets.numbers import ascii_of

Order = Literal["day", "month", "year"]
ORDERS: tuple[Order, ...] = ("day", "month", "year")
STYLES: dict[Order, str] = {"day": "DD.MM.YYYY", "month": "MM/DD/YYYY", "year": "YY-MM-DD"}
COMPACT_SQL = r"^([0-9]{4})([0-9]{2})([0-9]{2})(?:T?([0-9]{2})([0-9]{2})([0-9]{2})?)?(Z?)$"
"""`20240131`, `20240131T103000Z`."""
_COMPACT = re.compile(r"9{8}(T9{4}(99)?Z?)?")
_CLOCK = re.compile(
    r"(?P<start>^|[T\s,.])\s*(?P<before>[^\W\d]+\s*)?(?P<hour>9{1,4})(?P<rest>(:99){1,2}([.,]9{1,9})?)\s*"
    r"(?P<after>[^\W\d]\.?\s?[^\W\d]*\.?)?$"
)
ZONE_SQL = (
    r"(?i):[0-9]{2}(?:[.,][0-9]+)?(?: ?[ap]\.?m\.?)? ?(Z|UTC|GMT|MSK|МСК|(?:UTC|GMT) ?[+-][0-9]{1,2}(?::?[0-9]{2})?|"
    r"[+-][0-9]{2}(?::?[0-9]{2})?)$"
)
"""The zone of a time, in the notation that Python and DuckDB share."""

_ZONE = re.compile(ZONE_SQL)
_TOKEN = re.compile(r"9+|[^\W\d_]+\.?|.", re.DOTALL)
_SEPARATORS = set("-/., '’")
_CJK = {"年": "year", "月": "month", "日": "day", "号": "day", "년": "year", "월": "month", "일": "day"}
_PIVOT = 69
"""Two-digit years below mean 20xx, the others 19xx (POSIX strptime, %y)."""
_EXCEL_PIVOT = 30
"""The same in Excel."""


@dataclass(frozen=True)
class DateForm:
    """What the shape of a date or time shows.

    `kind` is `date`, `month` (a month with its year) or `time`. `parts` names the groups of digits of the date, from
    the left: `year`, `month`, `day`; `1`, `2`, `3` if their order is open. `word` is the name of the month.
    """

    kind: Literal["date", "month", "time"]
    parts: tuple[str, ...] = ()
    lengths: tuple[int, ...] = ()
    word: str = ""
    separator: str = ""
    has_time: bool = False
    hour_digits: int = 0
    has_seconds: bool = False
    half: str = ""
    has_zone: bool = False
    is_compact: bool = False
    has_minutes_first: bool = False
    """Whether a time has no hours, but fractions of a second."""

    @property
    def is_open(self) -> bool:
        """Whether the order of day and month is open."""
        return self.parts == ("1", "2", "3")


@lru_cache(maxsize=20_000)
def read_date(shape: str) -> DateForm | None:
    """Return what the shape of a date or time shows; None if it is neither."""
    text = re.sub(r"\d", "9", "".join(map(ascii_of, shape))).strip()
    if not 3 < len(text) < 50 or "9" not in text:
        return None
    if _COMPACT.fullmatch(text):
        return DateForm("date", ("year", "month", "day"), (4, 2, 2), has_time="T" in text, is_compact=True)
    zone = _ZONE.search(text)
    clock = _CLOCK.search(text[: zone.start(1)].rstrip() if zone else text)
    times: dict[str, Any] = {}
    day = text
    if clock:
        half = _half_of(clock)
        day = text[: clock.start()]
        if half is None or (zone and not day):
            return None
        seconds = clock["rest"].count(":") > 1
        times = {"has_time": True, "hour_digits": len(clock["hour"]), "has_seconds": seconds, "half": half}
        has_minutes_first = not seconds and len(clock["rest"]) > len(":99")
        if not day.strip(" ,"):
            return DateForm("time", **times, has_minutes_first=has_minutes_first)
        if has_minutes_first:
            return None
        times["has_zone"] = bool(zone)
    found_day = _day_of(day.strip(" ,"))
    if not found_day or (clock and found_day.kind == "month"):
        return None
    return DateForm(**{**found_day.__dict__, **times})


def _half_of(clock: re.Match[str]) -> str | None:
    """Return the word for the half of the day beside a time, empty without one; None for another word."""
    words = [word for word in (clock["before"], clock["after"]) if word and word.strip()]
    if not words:
        return ""
    word = re.sub(r"[.\s]", "", plain_word(words[0]))
    is_known = word in english_words().halves or (not word.isascii() and word in locale_words().halves)
    return words[0].strip() if len(words) == 1 and is_known else None


def _day_of(text: str) -> DateForm | None:
    tokens = _TOKEN.findall(text)
    runs = [token for token in tokens if token[0] == "9"]
    lengths = tuple(map(len, runs))
    others = [token for token in tokens if not (token[0].isalnum() or token in _SEPARATORS or token.isspace())]
    if not 1 <= len(runs) <= 3 or max(lengths) > 4 or 3 in lengths or others:
        return None
    first = next(at for at, token in enumerate(tokens) if token[0] == "9")
    separator = next((token for token in tokens[first:] if token in "-/."), "")
    marks = tuple(_CJK.get(after, "") for token, after in pairwise([*tokens, ""]) if token[0] == "9")
    words = [(at, token) for at, token in enumerate(tokens) if token[0].isalpha() and token not in "ºª"]
    if any(marks):
        kind = {("year", "month", "day"): "date", ("year", "month"): "month"}.get(marks)
        is_pure = kind and len(words) == len(marks)
        return DateForm(kind, marks, lengths, separator="年") if is_pure else None  # type: ignore[arg-type]
    month_at = _month_at(words, has_year=4 in lengths or len(runs) > 1) if words else -1
    if month_at is None:
        return None
    if month_at >= 0:
        return _named(lengths, plain_word(tokens[month_at]), tokens, separator)
    return _numeric(lengths, separator, tokens, bool(words))


def _month_at(words: Sequence[tuple[int, str]], *, has_year: bool) -> int | None:
    """Return the place of the name of a month, -1 if there are only other words of dates; None for any other word."""
    place = -1
    for at, token in words:
        word = plain_word(token)
        languages = (english_words(), locale_words()) if has_year else (english_words(),)
        for known in languages:
            if word in known.months and place < 0:
                place = at
            elif not (word in known.weekdays or word in known.fillers or word in ("st", "nd", "rd", "th", "er")):
                continue
            break
        else:
            return None
    return place


def _named(lengths: tuple[int, ...], month: str, tokens: Sequence[str], separator: str) -> DateForm | None:
    """Return the form of a date with the name of a month."""
    if len(lengths) == 2:
        parts = ("year", "day") if lengths[0] == 4 else ("day", "year")
        if lengths[0] == 4 and lengths[1] == 4:
            return None
        return DateForm("date", parts, lengths, month, separator)
    names = [at for at, token in enumerate(tokens) if token[0].isalpha() and plain_word(token) == month]
    if len(lengths) != 1 or (lengths[0] != 4 and (lengths[0] != 2 or tokens[0][0] == "9" or not names)):
        return None
    return DateForm("month", ("year",), lengths, month, separator)


def _numeric(lengths: tuple[int, ...], separator: str, tokens: Sequence[str], has_words: bool) -> DateForm | None:
    """Return the form of a date in digits."""
    marks = "".join(token for token in tokens if token[0] != "9" and not token[0].isalpha()).replace(" ", "")
    if len(lengths) == 3:
        if not separator or marks.rstrip(".,").strip(separator) or max(lengths[1:2]) > 2:
            return None
        if lengths[0] == 4 and lengths[2] <= 2:
            return DateForm("date", ("year", "month", "day"), lengths, separator=separator)
        if lengths[0] <= 2 and lengths[2] in (2, 4):
            return DateForm("date", ("1", "2", "3"), lengths, separator=separator)
        return None
    if len(lengths) == 2 and not has_words and len(marks) == 1 and marks in "-/.":
        if lengths[0] == 4 and lengths[1] <= 2 and marks != ".":
            return DateForm("month", ("year", "month"), lengths, separator=separator)
        if lengths[0] == 2 and lengths[1] == 4:
            return DateForm("month", ("month", "year"), lengths, separator=separator)
    return None


def open_orders(limits: Sequence[tuple[int, int]], *, is_long: bool) -> list[Order]:
    """Return the orders that the least and greatest values of the three numbers allow, the likeliest first.

    `is_long`: the year, which is last, has four digits. With two digits the order with the fewest years is likeliest.
    """
    months, days = range(1, 13), range(1, 32)

    def allowed(month: int, day: int) -> bool:
        return all(value in months for value in limits[month]) and all(value in days for value in limits[day])

    places: dict[Order, tuple[int, int, int]] = {"day": (1, 0, 2), "month": (0, 1, 2), "year": (1, 2, 0)}
    orders = [order for order in (ORDERS[:2] if is_long else ORDERS) if allowed(*places[order][:2])]
    if is_long:
        return orders

    def span(order: Order) -> int:
        first, last = limits[places[order][2]]
        return last - first

    return sorted(orders, key=span)


def date_sql(text: str, forms: Iterable[DateForm], order: Order) -> str:
    """Return SQL of the timestamp in the cell `text` without its zone, for cells of these forms; NULL for others."""
    forms = list(dict.fromkeys(forms))
    if all(
        form.parts == ("year", "month", "day") and form.separator == "-" and not form.half and not form.is_compact
        for form in forms
    ):
        return f"TRY_CAST({text} AS TIMESTAMP)"
    if any(form.is_compact for form in forms):
        text = rf"regexp_replace({text}, '{COMPACT_SQL}', '\1-\2-\3 \4:\5:\6')"
    runs = f"regexp_extract_all({text}, '[0-9]+')"
    words = months_of({form.word for form in forms if form.word})
    name, cases = "NULL", _cases_of_formats(text, forms, order)
    if words:
        listed = "|".join(sorted(map(re.escape, words), key=len, reverse=True))
        numbers = " ".join(f"WHEN {literal(word)} THEN {number}" for word, number in words.items())
        name = f"CASE regexp_extract(lower({text}), {literal(f'({listed})')}, 1) {numbers} END"
    for is_first, has_word, count in {_key(form) for form in forms}:
        of_key = [form for form in forms if _key(form) == (is_first, has_word, count)]
        parts = _parts_of(of_key[0], order)
        values = {part: f"{runs}[{place}]" for place, part in enumerate(parts, 1)}
        year = values["year"]
        if any(2 in form.lengths and form.lengths[parts.index("year")] == 2 for form in of_key):
            century = f"CASE WHEN {year} < '{_PIVOT}' THEN '20' ELSE '19' END"
            year = f"CASE WHEN length({year}) = 2 THEN {century} ELSE '' END || {year}"
        day = f"concat_ws('-', {year}, {name if has_word else values['month']}, {values.get('day', '1')})"
        moment = day
        if any(form.has_time for form in of_key):
            moment = f"{day} || ' ' || {clock_sql(text, runs, len(parts), of_key)}"
        value = f"TRY_CAST({moment} AS TIMESTAMP)"
        condition = f"length({runs}[1]) {'=' if is_first else '<'} 4" + (
            f" AND {name} IS {'NOT ' if has_word else ''}NULL" if words else ""
        )
        cases.append(f"WHEN {condition} THEN {value}")
    return f"CASE {' '.join(cases)} END"


def is_late_sql(value: str) -> str:
    """Return SQL that is true for a date from two-digit years that others read as a hundred years earlier.

    Excel reads 30 to 68 as 1930 to 1968.
    """
    return f"year({value}) BETWEEN {_EXCEL_PIVOT} + 2000 AND {_PIVOT} + 1999"


def earlier_sql(value: str) -> str:
    """Return SQL of a date from two-digit years as Excel reads it."""
    earlier = f"CASE WHEN {is_late_sql('late')} THEN late - INTERVAL 100 YEAR ELSE late END"
    # The value is long SQL, which is planned once this way.
    return f"list_transform([{value}], lambda late: {earlier})[1]"


def _cases_of_formats(text: str, forms: Sequence[DateForm], order: Order) -> list[str]:
    """Return the case for the usual spellings of dates in digits; a format is read faster than groups are found."""
    formats = set()
    for form in forms:
        if form.separator not in tuple("-/.") or 4 not in form.lengths or form.word or form.half or form.is_compact:
            return []
        day = form.separator.join({"day": "%d", "month": "%m", "year": "%Y"}[part] for part in _parts_of(form, order))
        formats.add(literal(day + (" %H:%M:%S" if form.has_seconds else " %H:%M" if form.has_time else "")))
    value = f"try_strptime({text}, [{', '.join(sorted(formats))}])"
    return [f"WHEN {value} IS NOT NULL THEN {value}"]


def _key(form: DateForm) -> tuple[bool, bool, int]:
    return form.lengths[0] == 4, bool(form.word), len(form.parts)


def _parts_of(form: DateForm, order: Order) -> tuple[str, ...]:
    if not form.is_open:
        return form.parts
    return {"day": ("day", "month", "year"), "month": ("month", "day", "year"), "year": ("year", "month", "day")}[order]


def clock_sql(text: str, runs: str, before: int, forms: Sequence[DateForm]) -> str:
    """Return SQL of the time of day in a cell, whose groups of digits are `runs`, `before` of them of the date."""
    hour = f"{runs}[{before + 1}]"
    halves = {form.half for form in forms if form.half}
    if halves:
        known = locale_words().halves
        is_after = {half: known[re.sub(r"[.\s]", "", plain_word(half))] for half in halves}
        hour12 = f"(TRY_CAST({hour} AS INT) % 12)"
        cases = " ".join(
            f"WHEN contains(lower({text}), {literal(half.lower())}) THEN {hour12} + {12 if is_after[half] else 0}"
            for half in sorted(halves, key=len, reverse=True)
        )
        hour = f"CASE {cases} ELSE TRY_CAST({hour} AS INT) END"
    parts = [f"coalesce({hour}, '0')" if not halves else f"coalesce({hour}, 0)"]
    parts += [f"coalesce(nullif({runs}[{before + at}], ''), '0')" for at in (2, 3)]
    return f"concat_ws(':', {', '.join(parts)}) || coalesce('.' || {runs}[{before + 4}], '')"


def with_hours_sql(text: str) -> str:
    """Return SQL of the time in the cell `text` with hours before minutes that come first: 0:01:30.5 for 01:30.5."""
    minutes = f"TRY_CAST(split_part({text}, ':', 1) AS INTEGER)"
    return (
        f"CASE WHEN regexp_matches({text}, '^[0-9]+:[0-9]+[.,]') "
        f"THEN concat_ws(':', {minutes} // 60, {minutes} % 60, split_part({text}, ':', 2)) ELSE {text} END"
    )


def offset_sql(text: str) -> str:
    """Return SQL of the minutes by which the zone of the cell `text` is ahead of UTC; NULL without a zone."""
    zone = f"nullif(regexp_extract({text}, '{ZONE_SQL}', 1), '')"
    sign = f"CASE WHEN contains({zone}, '-') THEN -1 ELSE 1 END"
    digits = rf"regexp_extract({zone}, '[+-](\d{{1,2}}):?(\d{{2}})?$', %d)"
    hours, minutes = (f"coalesce(TRY_CAST(nullif({digits % group}, '') AS INTEGER), 0)" for group in (1, 2))
    named = f"CASE WHEN upper({zone}) IN ('MSK', 'МСК') THEN 180 ELSE {sign} * ({hours} * 60 + {minutes}) END"
    return f"CASE WHEN {zone} IS NOT NULL THEN {named} END"


def without_zone_sql(text: str) -> str:
    """Return SQL of the cell `text` without the zone of its time."""
    zone = f"regexp_extract({text}, '{ZONE_SQL}', 1)"
    return f"rtrim(left({text}, length({text}) - length({zone})))"
