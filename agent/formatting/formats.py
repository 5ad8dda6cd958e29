"""Values as text: the one formatter of the values of a result, for every output and in every language.

The web page applies the same rules to the formats that the server sends with each table; see `agent/web/js/numbers.js`.
"""

import json
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import asdict, dataclass, replace
from datetime import date, datetime
from decimal import ROUND_HALF_UP, Context, Decimal, localcontext
from functools import lru_cache
from math import isfinite
from typing import Any, cast

from babel import Locale
from babel.dates import format_date, get_month_names
from babel.numbers import NumberPattern, get_currency_precision, get_currency_symbol
from babel.units import format_unit

from datasphinx.agent.messages import CONVENTIONS, Language, render
from datasphinx.agent.schema.describe import one_line
from datasphinx.agent.sql.rows import result_of, type_of
from datasphinx.agent.sql.summary import YEARS
from datasphinx.agent.types import AnswerTable, Result

_TEXT_CHARS = 80
_NUMERIC = {"integer", "float", "decimal"}
CALENDAR = {"year", "quarter", "month", "date", "datetime"}
DURATION_UNITS = ("days", "hours", "minutes", "seconds")
_SURE_DIGITS = 15
"""Decimal digits that a double holds for sure; those after them come from computing."""
EXACT_DECIMALS = 4
"""Most decimals of a column that are all shown; values with more were computed."""
_MOST_DECIMALS = 9
FEW_DECIMALS = 2
_NO_CENTS_FROM, _CENTS_BELOW = 10_000, 100
_AMOUNTS = {"number", "currency", "duration"}
_DIGITS = Context(prec=400, rounding=ROUND_HALF_UP)
"""More digits than any value has: nothing is rounded but to the decimals of a format."""
_UNGROUPED = "ungrouped"
_DATE = re.compile(
    r"(\d{4})-(\d{2})(?:-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:\.\d+)?)?(?:Z|[+-]\d{2}(?::?\d{2})?)?)?)?"
)
_QUARTER = re.compile(r"(\d{4})-?Q([1-4])")
_DURATION = re.compile(
    r"(-?)P(?:(-?\d+)Y)?(?:(-?\d+)M)?(?:(-?\d+)W)?(?:(-?\d+)D)?(?:T(?:(-?\d+)H)?(?:(-?\d+)M)?(?:(-?\d+(?:\.\d+)?)S)?)?"
)
_INTERVAL_UNITS = ("year", "month", "week", "day", "hour", "minute", "second")
_SECONDS = {"days": 86_400, "hours": 3_600, "minutes": 60, "seconds": 1}
"""The seconds of each unit of a duration, the longest first."""
INTERVALS = {"interval", "hours"}
"""The kinds of formats of ISO 8601 intervals."""


@dataclass(frozen=True)
class ColumnFormat:
    """The format of all values of a column.

    `kind` is `number`, `currency`, `percent` (12.5 is 12.5 %), `fraction` (0.125 is 12.5 %), `scientific`, `duration`,
    `interval` (ISO 8601), `hours` (intervals of a column without days, as working hours are), `intervals` (lists and
    objects of intervals), `year`, `quarter`, `month`, `date`, `datetime`, `code`, `boolean` or `text`.
    """

    kind: str = "text"
    decimals: int = 0
    unit: str = ""
    """The code of a currency, `days`, `hours`, `minutes` or `seconds`, or `ungrouped` for numbers like years.

    Of an interval, it is the smallest unit that is shown; without one, its parts are shown as they are.
    """

    @property
    def is_quantity(self) -> bool:
        """Whether the values are quantities, which tables align to the right."""
        return self.kind in {"number", "currency", "percent", "fraction", "scientific", "duration"}

    @property
    def is_amount(self) -> bool:
        """Whether the values are quantities that may add up: no percentages, and no numbers that may be years."""
        return (
            self.kind in INTERVALS or self.is_quantity and self.kind not in {"percent", "fraction"} and self.is_grouped
        )

    @property
    def is_grouped(self) -> bool:
        """Whether numbers have separators."""
        return self.unit != _UNGROUPED


def column_formats(result: Result, formats: Mapping[str, str]) -> list[ColumnFormat]:
    """Return the format of each column: that of `formats` by its name if its values have it, else that of its type.

    `formats` are checked; see `datasphinx.agent.formatting.checks`.
    """
    return [
        column_format(formats.get(name, ""), kind, [row[at] for row in result["rows"] if row[at] is not None])
        for at, (name, kind) in enumerate(zip(result["columns"], result["types"], strict=True))
    ]


def answer_table(name: str, result: Result) -> AnswerTable:
    """Return `result` as a table of an answer, with the formats of its columns."""
    formats = result.get("formats") or [asdict(each) for each in column_formats(result, {})]
    table = AnswerTable(name=name, columns=result["columns"], rows=result["rows"], formats=formats)
    if result.get("additive"):
        table["additive"] = result["additive"]
    if result.get("secret"):
        table["secret"] = result["secret"]
    return table


def formats_of(table: AnswerTable | Result) -> list[ColumnFormat]:
    """Return the formats that `table` has; for one without, those of its values."""
    if "formats" in table:
        return [ColumnFormat(**each) for each in table["formats"]]
    return column_formats(result_of(cast(AnswerTable, table)), {})


def format_rows(table: AnswerTable | Result, language: Language, most: int) -> list[list[str]]:
    """Return the text of each cell of the first `most` rows."""
    formats = formats_of(table)
    return [
        [format_value(value, fmt, language) for value, fmt in zip(row, formats, strict=True)]
        for row in table["rows"][:most]
    ]


def format_constant(value: Any, language: Language, *, may_be_year: bool = True) -> str:
    """Return a constant of a statement as a table shows it; a number has all its digits, years no separators."""
    number = None if isinstance(value, str) else number_of(value)
    if number is None:
        return format_value(value, column_format("", type_of(value), [value]), language)
    is_year = may_be_year and number in YEARS
    return format_value(value, ColumnFormat("year") if is_year else ColumnFormat("number", _decimals(number)), language)


def format_single(value: Any, language: Language) -> str:
    """Return a value that belongs to no column, as it is in a sentence."""
    fmt = ColumnFormat() if value is None else column_format("", type_of(value), [value])
    number = number_of(value) if fmt.is_quantity else None
    return format_value(value, spoken(fmt, [number]) if number else fmt, language, in_sentence=True)


def column_format(spec: str, kind: str, cells: Sequence[Any]) -> ColumnFormat:
    """Return the format of `cells`, without NULL, of a column of the type `kind`: `spec` if they have it."""
    if not cells:
        return ColumnFormat()
    numbers = [number_of(cell) for cell in cells] if kind in _NUMERIC else []
    exact = [number for number in numbers if number is not None]
    if exact and len(exact) == len(cells):
        return _number_format(spec, exact)
    if kind == "boolean":
        return ColumnFormat("boolean")
    if kind == "interval":
        return _interval_format(cells)
    if kind in {"array", "json"} and (texts := [*_texts_in(cells)]) and all(map(_is_interval, texts)):
        return replace(_interval_format(texts), kind="intervals")
    return ColumnFormat("text" if spec == "code" else _calendar_kind(spec, kind, cells))


def _is_interval(text: str) -> bool:
    match = _DURATION.fullmatch(text)
    return match is not None and any(match.groups()[1:])


def _texts_in(value: Any) -> Iterator[str]:
    """Yield the texts in lists and objects."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for each in value if isinstance(value, list) else value.values():
            yield from _texts_in(each)


def _calendar_kind(spec: str, kind: str, cells: Sequence[Any]) -> str:
    """Return `year`, `quarter`, `month`, `date` or `datetime` for texts in ISO 8601 or such as 2024-Q1, else `text`.

    Days that are all the first of a month are months, and first days of years are years: databases truncate so.
    """
    if spec == "year" and all(isinstance(cell, str) and len(cell) == 4 and cell.isdecimal() for cell in cells):
        return "year"
    quarters = [isinstance(cell, str) and bool(_QUARTER.fullmatch(cell)) for cell in cells]
    if any(quarters):
        return "quarter" if all(quarters) else "text"
    parts = [_moment(cell) for cell in cells]
    known = [part for part in parts if part]
    if len(known) < len(parts):
        return "text"
    precision = max(len(part) for part in known)
    if precision == 2:
        return "month"
    if spec in {"year", "month", "date", "week"}:
        return "date" if spec == "week" else spec
    if spec == "quarter" and all(part[1] % 3 == 1 and part[2] == 1 for part in known):
        return spec
    if any(any(part[3:]) for part in known):
        return "datetime"
    days = {part[:3] for part in known}
    if len(days) < (2 if kind == "datetime" else 3) or any(day != 1 for *_, day in days):
        return "date"
    return "year" if all(month == 1 for _, month, _ in days) else "month"


def _moment(cell: Any) -> tuple[int, ...]:
    """Return the parts of an ISO 8601 month, date or time that exists, or of the last month of a quarter; else none."""
    quarter = _QUARTER.fullmatch(cell) if isinstance(cell, str) else None
    if quarter:
        return int(quarter[1]), 3 * int(quarter[2])
    match = _DATE.fullmatch(cell) if isinstance(cell, str) else None
    if match is None:
        return ()
    parts = tuple(int(part) for part in match.groups() if part is not None)
    try:
        datetime(*(parts if len(parts) > 2 else (*parts, 1)))  # type: ignore[arg-type]
    except ValueError:
        return ()
    return parts


def number_of(value: Any) -> Decimal | None:
    """Return a number, or a text of its digits, exactly; a double with the digits that it holds for sure."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = Decimal(repr(sure_digits(value)).removesuffix(".0") if isinstance(value, float) else value)
    except ArithmeticError:
        return None
    return number if number.is_finite() else None


def quantity_of(value: Any, fmt: ColumnFormat) -> Decimal | None:
    """Return the number that `value`, of a column with the format `fmt`, is; of an interval without months its seconds.

    >>> quantity_of("PT1H30M", ColumnFormat("interval"))
    Decimal('5400')
    """
    match = _DURATION.fullmatch(value) if fmt.kind in INTERVALS and isinstance(value, str) else None
    if match is None:
        return number_of(value)
    years, months, weeks, *parts = (Decimal(part or 0) for part in match.groups()[1:])
    if years or months:
        return None
    seconds = sum((part * size for part, size in zip(parts, _SECONDS.values(), strict=True)), weeks * 7 * 86_400)
    return -seconds if match[1] else seconds


def sure_digits(value: float) -> float:
    """Return a double without the digits that come from computing; a whole number below 2 to the 53rd is exact.

    >>> sure_digits(0.1 + 0.2), sure_digits(9007199254740991.0)
    (0.3, 9007199254740991.0)
    """
    is_exact = value.is_integer() and abs(value) < 2**53
    sure = value if is_exact else float(f"{value:.{_SURE_DIGITS}g}")
    # The greatest double would be rounded to infinity.
    return sure if isfinite(sure) else value


def _number_format(spec: str, numbers: Sequence[Decimal]) -> ColumnFormat:
    largest = max(map(abs, numbers))
    if label := _label_kind(spec, numbers):
        return ColumnFormat(label)
    match spec.split():
        case ["integer"]:
            return ColumnFormat("number", 0)
        case [unit] if unit == _UNGROUPED:
            return ColumnFormat("number", _precision(numbers), unit)
        case ["decimal", digits]:
            fmt = ColumnFormat("number", _usual_or_needed(int(digits), numbers))
            is_flat = len(set(numbers)) > 1 and len({rounded(number, fmt) for number in numbers}) == 1
            return replace(fmt, decimals=_precision(numbers)) if is_flat else fmt
        case ["currency", code]:
            return ColumnFormat("currency", _usual_or_needed(get_currency_precision(code), numbers), code)
        case ["fraction"]:
            return ColumnFormat("fraction", _few_decimals([100 * number for number in numbers]))
        case ["percent"]:
            return ColumnFormat("percent", _few_decimals(numbers))
        case ["duration", unit]:
            return ColumnFormat("duration", _few_decimals(numbers), unit)
    if 0 < largest < Decimal(10) ** -_MOST_DECIMALS:
        return ColumnFormat("scientific", 3)
    return ColumnFormat("number", _precision(numbers))


def _interval_format(cells: Sequence[Any]) -> ColumnFormat:
    """Return the format of intervals; computed ones have fractions of seconds, or 26 hours beside days: two units.

    Without any time, an interval is written as P0D.
    """
    matches = [_DURATION.fullmatch(str(cell)) for cell in cells]
    has_days = any(match is None or int(match[4] or 0) or int(match[5] or 0) for match in matches)
    own = ColumnFormat("interval" if has_days else "hours")
    found = [quantity_of(cell, own) for cell in cells]
    numbers = [number for number in found if number is not None]
    is_computed = any(_decimals(number) for number in numbers) or any(map(_has_other_days, matches))
    return _in_two_units(own.kind, numbers) if is_computed else own


def _has_other_days(interval: re.Match[str] | None) -> bool:
    """Return whether an interval has further days in its hours, or hours that are taken from its days."""
    if interval is None:
        return False
    days, hours, minutes, seconds = (Decimal(part or 0) for part in interval.groups()[4:])
    time = 3600 * hours + 60 * minutes + seconds
    return bool(days) and (abs(time) >= _SECONDS["days"] or days * time < 0)


def _in_two_units(kind: str, numbers: Sequence[Decimal]) -> ColumnFormat:
    """Return the format of intervals in seconds: in the unit of the longest one and the next, or that of the least."""
    units, sizes = list(_units(kind).items()), sorted(abs(number) for number in numbers if number) or [Decimal()]
    last = len(units) - 1
    longest, least = (
        next((at for at, (_, seconds) in enumerate(units) if seconds <= size), last) for size in (sizes[-1], sizes[0])
    )
    at = min(max(longest + 1, least), last)
    is_short = longest == last or sizes[0] < 1
    return ColumnFormat(kind, _few_decimals(numbers) if is_short else 0, units[at][0])


def _units(kind: str) -> dict[str, int]:
    """Return the units that intervals of this kind are shown in, with their seconds."""
    return {unit: seconds for unit, seconds in _SECONDS.items() if kind == "interval" or unit != "days"}


def in_unit(kind: str, seconds: Sequence[Decimal | None]) -> tuple[str, list[float | None]]:
    """Return the longest unit of intervals of this kind of which one of them has two, and all of them in it."""
    longest = max((abs(one) for one in seconds if one is not None), default=Decimal())
    unit, size = next(((unit, size) for unit, size in _units(kind).items() if 2 * size <= longest), ("seconds", 1))
    # Quotients have digits that nobody can see in a chart.
    return unit, [None if one is None else float(one / size if size == 1 else round(one / size, 4)) for one in seconds]


def _label_kind(spec: str, numbers: Sequence[Decimal]) -> str:
    """Return `spec` if it is the format of numbers that name something and all of `numbers` are such; else nothing."""
    allowed = {
        "boolean": range(2),
        "month": range(1, 13),
        "quarter": range(1, 5),
        "week": range(1, 54),
        "year": range(1, 10_000),
        "code": None,
    }
    if spec not in allowed or any(map(_decimals, numbers)):
        return ""
    values = allowed[spec]
    kind = "code" if spec in {"quarter", "week"} else spec
    return kind if values is None or all(number in values for number in numbers) else ""


def _usual_or_needed(usual: int, numbers: Sequence[Decimal]) -> int:
    """Return the decimals of amounts: none, the usual ones, or those that the least of them needs to be more than 0."""
    needed = max(map(_decimals, numbers))
    is_visible = min((abs(number) for number in numbers if number), default=1) >= Decimal(1).scaleb(-usual)
    return min(needed, usual) and usual if is_visible else _precision(numbers)


def _decimals(number: Decimal) -> int:
    return len(f"{number:f}".partition(".")[2].rstrip("0"))


def _precision(numbers: Sequence[Decimal]) -> int:
    """Return the decimals of a column: those of its values, or of computed values as many as tell them apart."""
    needed = max(map(_decimals, numbers))
    if needed <= EXACT_DECIMALS:
        return needed
    sizes = [abs(number) for number in numbers if number]
    if max(sizes) >= 1:
        return 2 if min(sizes) >= Decimal("0.1") else EXACT_DECIMALS
    return min(3 - max(sizes).adjusted(), needed, _MOST_DECIMALS + 3)


def _few_decimals(numbers: Sequence[Decimal]) -> int:
    """Return the decimals of percentages and durations: of computed ones one, if that tells as many apart as two."""
    is_near = any(0 < abs(number) < Decimal("0.1") or Decimal("99.9") < number < 100 for number in numbers)
    if is_near or max(map(_decimals, numbers)) <= FEW_DECIMALS:
        return _precision(numbers)
    one, two = (len({round(number, digits) for number in numbers}) for digits in (1, FEW_DECIMALS))
    return 1 if one == two else FEW_DECIMALS


def format_value(value: Any, fmt: ColumnFormat, language: Language, *, in_sentence: bool = False) -> str:
    r"""Return `value`, of a column with the format `fmt`, as text in `language`; NULL is a dash.

    In a sentence, a date is written out; for numbers see `spoken`.

    >>> format_value(1234.5, ColumnFormat("currency", 2, "EUR"), "de"), format_value(None, ColumnFormat(), "de")
    ('1.234,50\xa0€', '–')
    """
    if value is None:
        return "–"
    if isinstance(value, bool) or (fmt.kind == "boolean" and value in (0, 1)):
        return render("answer_yes" if value else "answer_no", language).lower()
    if fmt.kind in CALENDAR:
        return _calendar_text(value, fmt.kind, language, in_sentence)
    if fmt.kind in INTERVALS:
        return _interval_text(value, fmt, language)
    if fmt.kind == "intervals":
        value = _with_interval_texts(value, replace(fmt, kind="interval"), language)
    number = number_of(value) if fmt.is_quantity else None
    if number is not None:
        return _number_text(number, fmt, language)
    return _list_text(value, language, in_sentence) if isinstance(value, list) else _plain(value)


def _with_interval_texts(value: Any, fmt: ColumnFormat, language: Language) -> Any:
    if isinstance(value, list):
        return [_with_interval_texts(each, fmt, language) for each in value]
    if isinstance(value, dict):
        return {name: _with_interval_texts(each, fmt, language) for name, each in value.items()}
    return _interval_text(value, fmt, language) if isinstance(value, str) else value


def _list_text(values: list[Any], language: Language, in_sentence: bool) -> str:
    """Return the values of an array as a list; those of nested ones as JSON."""
    if any(isinstance(value, list | dict) for value in values):
        return _plain(values)
    texts = [format_value(value, ColumnFormat(), language) for value in values]
    text = joined(texts, language) if in_sentence else CONVENTIONS[language].list_comma.join(texts)
    return one_line(text, _TEXT_CHARS) or "–"


def common_year(values: Sequence[Any], fmt: ColumnFormat) -> int | None:
    """Return the year of `values`, of a column with the format `fmt`, if they are months or quarters of one alone."""
    years = {_moment(value)[:1] for value in values} if fmt.kind in {"month", "quarter"} else set()
    return next(iter(years.pop()), None) if len(years) == 1 else None


def place_in_year(value: Any, fmt: ColumnFormat) -> int | None:
    """Return the number of a month or quarter in its year, of a column with this format; None for other values."""
    if fmt.kind == "month" and isinstance(value, int):
        return value if 1 <= value <= 12 else None
    parts = _moment(value)
    month = parts[1] if parts and fmt.kind in {"month", "quarter"} else None
    return (month + 2) // 3 if month and fmt.kind == "quarter" else month


def format_part_of_year(value: Any, kind: str, language: Language) -> str:
    """Return a month or quarter, as `kind` says, without its year.

    >>> format_part_of_year("2025-03", "month", "de"), format_part_of_year("2025-Q3", "quarter", "zh")
    ('März', '第3季度')
    """
    year, month = _moment(value)[:2]
    conventions = CONVENTIONS[language]
    pattern = conventions.month_of_year if kind == "month" else conventions.quarter_of_year
    return format_date(date(year, month, 1), pattern, language)


def format_listed(
    values: Sequence[Any], fmt: ColumnFormat, language: Language, *, are_alone: bool, year: int | None = None
) -> list[str]:
    """Return different values as the items of a list in a sentence, which names the year of months and quarters once.

    If the items `are_alone`, it stands with the last one where the language writes a year behind its month; else it is
    with the first one. It is left out if it is `year`, which the sentence has named.

    >>> format_listed(["2025-01", "2025-02"], ColumnFormat("month"), "en", are_alone=True)
    ['January', 'February 2025']
    >>> format_listed(["2025-Q1", "2025-Q2"], ColumnFormat("quarter"), "de", are_alone=True)
    ['Q1', 'Q2 2025']
    """
    texts = [format_value(value, fmt, language, in_sentence=True) for value in values]
    common = common_year(values, fmt)
    if common is None:
        return texts
    dated = len(values) - 1 if are_alone and not CONVENTIONS[language].month.startswith("y") else 0
    return [
        text if at == dated and common != year else format_part_of_year(value, fmt.kind, language)
        for at, (text, value) in enumerate(zip(texts, values, strict=True))
    ]


def joined(names: Sequence[str], language: Language, most: int | None = None) -> str:
    """Return `names` as a list in words, the first `most` of them if there are more.

    >>> joined(["a", "b", "c"], "en"), joined(["a", "b", "c"], "en", 2), joined(["a, 1", "b, 2"], "en")
    ('a, b and c', 'a, b and others', 'a, 1; and b, 2')
    >>> joined(["a", "b and c", "d"], "en")
    'a, b and c, and d'
    """
    mark, conventions = list_mark(names, language), CONVENTIONS[language]
    if most is not None and len(names) > most:
        return render("answer_and_others", language, names=mark.join(names[:most]))
    if len(names) < 2:
        return "".join(names)
    has_and = any(render("answer_and", language, names="", last="") in name for name in names)
    if mark == conventions.list_comma and not (has_and and conventions.has_serial_comma):
        return render("answer_and", language, names=mark.join(names[:-1]), last=names[-1])
    if conventions.clause_comma:
        return mark.join(names)
    return render("answer_and", language, names=mark.join(names[:-1]) + mark.rstrip(), last=names[-1])


def list_mark(names: Sequence[str], language: Language) -> str:
    """Return what separates `names` in a list: a semicolon if one of them has a comma."""
    conventions = CONVENTIONS[language]
    has_mark = any(mark in name for name in names for mark in (conventions.comma, conventions.list_comma))
    return conventions.semicolon if has_mark else conventions.list_comma


def format_tick(value: float, fmt: ColumnFormat, language: Language) -> str:
    """Return a number beside an axis or a scale in the format of its values, with the decimals that it needs."""
    rounded = float(f"{value:.10g}")
    if fmt.is_quantity and fmt.kind != "scientific":
        fmt = replace(fmt, decimals=_decimals(number_of(rounded) or Decimal(0)))
    return format_value(rounded, fmt, language)


def _plain(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return one_line(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), _TEXT_CHARS)


def _number_text(number: Decimal, fmt: ColumnFormat, language: Language) -> str:
    number, decimals = rounded(number, fmt), fmt.decimals
    with localcontext(_DIGITS):
        match fmt.kind:
            case "scientific" | "currency":
                return _digits(number, fmt.kind, decimals, language, fmt.unit or None)
            case "duration":
                return _in_units(number, fmt.unit[:-1], decimals, language)
            case "percent":
                return _digits(number / 100, "percent", decimals, language)
            case "fraction":
                return _digits(number, "percent", decimals, language)
        return _digits(number, "number", decimals, language, is_grouped=fmt.is_grouped)


def rounded(number: Decimal, fmt: ColumnFormat) -> Decimal:
    """Return a number as `format_value` shows it with the format `fmt` of a quantity."""
    if fmt.kind == "scientific" or (fmt.kind in INTERVALS and not fmt.unit):
        return number
    if fmt.kind in INTERVALS:
        size = Decimal(_SECONDS[fmt.unit])
        return size * rounded(number / size, ColumnFormat("number", fmt.decimals))
    with localcontext(_DIGITS):
        return number.quantize(Decimal(1).scaleb(-fmt.decimals - (2 if fmt.kind == "fraction" else 0)))


def _digits(
    number: Decimal,
    kind: str,
    decimals: int,
    language: Language,
    currency: str | None = None,
    *,
    is_grouped: bool = True,
) -> str:
    pattern = _pattern(language, kind, decimals)
    text = str(pattern.apply(number, language, currency=currency, currency_digits=False, group_separator=is_grouped))
    return _spaced(text, get_currency_symbol(currency, language)) if currency else text


def _spaced(text: str, sign: str) -> str:
    """Return an amount with a space between the sign of its currency and a digit behind it, as CLDR has it.

    Signs that end with a symbol, such as US$, need none.
    """
    end = text.find(sign) + len(sign)
    is_symbol = unicodedata.category(sign[-1])[0] in "SZ"
    return text if is_symbol or not text[end : end + 1].isdigit() else f"{text[:end]}\u00a0{text[end:]}"


def _in_units(number: Decimal, unit: str, decimals: int, language: Language) -> str:
    pattern: Any = _pattern(language, "number", decimals)
    return str(format_unit(number, f"duration-{unit}", format=pattern, locale=language))


def spoken(fmt: ColumnFormat, numbers: Sequence[Decimal]) -> ColumnFormat:
    """Return the format of amounts in a sentence: no cents from 10,000 up, if that tells as many values apart.

    All values of a column have the same decimals, so that those below 100 keep the cents of all. Intervals of a day and
    more have no minutes. Without `numbers`, as of intervals with months, it is `fmt`.
    """
    if not numbers:
        return fmt
    if fmt.kind == "interval":
        coarse = _in_two_units(fmt.kind, numbers)
        is_long = coarse.unit == "hours" and len({rounded(one, coarse) for one in numbers}) == len({*numbers})
        return coarse if is_long else fmt
    whole, sizes = replace(fmt, decimals=0), [abs(number) for number in numbers if number]
    if fmt.kind not in _AMOUNTS or max(sizes, default=0) < _NO_CENTS_FROM or min(sizes) < _CENTS_BELOW:
        return fmt
    found, shown = ({rounded(number, each) for number in numbers} for each in (whole, fmt))
    return whole if len(found) == len(shown) else fmt


def format_computed(number: Decimal, fmt: ColumnFormat, language: Language) -> str:
    """Return a number that was computed of values with the format `fmt`, which no table shows, without idle decimals.

    >>> [format_computed(Decimal(share), ColumnFormat("percent", 1), "en") for share in ("250", "33.333")]
    ['250%', '33.3%']
    """
    if fmt.kind in INTERVALS:
        return format_value(str(number), _in_two_units(fmt.kind, [number]), language)
    fmt = spoken(fmt, [number])
    needed = _decimals(rounded(number, ColumnFormat("number", fmt.decimals)))
    kept = fmt.decimals if fmt.kind == "currency" and needed else needed
    return format_value(str(number), replace(fmt, decimals=kept), language)


@lru_cache(maxsize=256)
def _pattern(language: Language, kind: str, decimals: int) -> NumberPattern:
    locale = Locale.parse(language)
    patterns = {
        "number": locale.decimal_formats[None],
        "percent": locale.percent_formats[None],
        "currency": locale.currency_formats["standard"],
        "scientific": locale.scientific_formats[None],
    }
    pattern: NumberPattern = copy(patterns[kind])
    pattern.frac_prec = (0 if kind == "scientific" else decimals, decimals)
    return pattern


def _calendar_text(value: Any, kind: str, language: Language, in_sentence: bool) -> str:
    if kind == "month" and isinstance(value, int) and 1 <= value <= 12:
        return str(get_month_names("wide", "stand-alone", language)[value])
    conventions = CONVENTIONS[language]
    parts = _moment(value)
    if kind == "year":
        text = str(parts[0]) if parts else _plain(value)
        return conventions.year.format(text) if in_sentence else text
    if not parts:
        return _plain(value)
    day = date(*(*parts, 1)[:3]) if len(parts) == 2 else date(*parts[:3])
    if kind in {"month", "quarter"}:
        return format_date(day, conventions.month if kind == "month" else conventions.quarter, language)
    text = format_date(day, conventions.long_date if in_sentence else conventions.date, language)
    if kind == "date":
        return text
    hour, minute, second = (*parts[3:], 0, 0, 0)[:3]
    clock = f"{hour:02}:{minute:02}" + (f":{second:02}" if second else "")
    return str(Locale.parse(language).datetime_formats["medium"]).format(clock, text)


def _interval_text(value: Any, fmt: ColumnFormat, language: Language) -> str:
    """Return an interval, or a sum of intervals in seconds, in its units."""
    number = quantity_of(value, fmt)
    if number is not None and (fmt.unit or number_of(value) is not None):
        amounts = _units_of(number, fmt if fmt.unit else replace(fmt, unit="seconds", decimals=_decimals(number)))
    else:
        match = _DURATION.fullmatch(str(value))
        if match is None:
            return one_line(str(value), _TEXT_CHARS)
        sign, parts = -1 if match[1] else 1, zip(match.groups()[1:], _INTERVAL_UNITS, strict=True)
        amounts = [(sign * Decimal(part), unit) for part, unit in parts if part]
    smallest = "hour" if (fmt.kind, amounts[-1][1]) == ("hours", "day") else amounts[-1][1]
    shown = [(amount, unit) for amount, unit in amounts if amount] or [(Decimal(), smallest)]
    # Of months and fractions of seconds, which come from computing, the two longest units are shown.
    is_computed = number is None and shown[-1][0] != int(shown[-1][0])
    words = [
        _in_units(amount, unit, _decimals(amount), language) for amount, unit in shown[: 2 if is_computed else None]
    ]
    return CONVENTIONS[language].space.join(words)


def _units_of(number: Decimal, fmt: ColumnFormat) -> list[tuple[Decimal, str]]:
    """Return an interval in seconds as amounts of the units down to that of `fmt`; the first one has its sign."""
    left, amounts = abs(rounded(number, fmt)), []
    for unit, size in _units(fmt.kind).items():
        amount, rest = (left, Decimal()) if unit == fmt.unit == "seconds" else divmod(left, size)
        amounts.append((Decimal(int(amount)) if amount == int(amount) else amount, unit.removesuffix("s")))
        left = rest
        if unit == fmt.unit:
            break
    at = next((at for at, (amount, _) in enumerate(amounts) if amount), 0)
    if number < 0:
        amounts[at] = (-amounts[at][0], amounts[at][1])
    return amounts
