"""Read dates written as text in several styles, and Excel day numbers, as DuckDB SQL."""

import re
from collections.abc import Mapping
from typing import Literal

from agent.datasets.cells import Cells, Layer, PendingWarning, Plan
from agent.datasets.months import MONTH_MAP

Order = Literal["day", "month"]

_CLOCK = r"([ T]+\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?( ?[AaPp][Mm]|Z)?)?"
_YEAR_FIRST = r"\d{4}[-/.年]\d{1,2}[-/.月]\d{1,2}日?" + _CLOCK
_YEAR_LAST = r"\d{1,2}[-/.]\d{1,2}[-/.](\d{4}|\d{2})" + _CLOCK
_NAMED = r"(?i)(\d{1,2}[ -])?[a-z]{3,9}\.?[ -](\d{1,2},? )?(\d{4}|\d{2})"
_NAMED_FORMATS = (
    "%d %b %Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y", "%b %d %Y", "%B %d %Y", "%d-%b-%Y", "%d-%B-%Y", "%d-%b-%y",
)  # fmt: skip
_HALF_DAY_FORMATS = ("%Y-%m-%d %I:%M %p", "%Y-%m-%d %I:%M:%S %p", "%Y-%m-%d %I:%M%p")
_WITH_RUSSIAN_NAME = r"(\d{1,2}) ([А-Яа-я]{3,9})\.? (\d{4})(?: ?г\.?| года)?"
_COMPACT = r"(19|20)\d{2}(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])"
_ZONE = r"(?i):\d{2}(?:\.\d+)?(?: ?[ap]m)? ?(Z|UTC|GMT|MSK|МСК|(?:UTC|GMT)? ?[+-]\d{1,2}(?::?\d{2})?)$"
_SPAN = (
    r"(?i)((19|20)\d\d[ -/]*)?(q[1-4]|[1-4]q|h[12]|w(eek|k)? ?\d{1,2}|kw ?\d{1,2}|[1-4][-й]* ?кв(артал|\.)?|"
    r"\d{1,2}[-я]* ?нед(еля|\.)?|第?[一二三四1-4]季度?|第?\d{1,2}周)([ -/]*(19|20)?\d\d( ?г\.?)?)?"
)
"""A quarter, half-year or week."""

_STYLE: dict[Order, str] = {"day": "DD.MM.YYYY", "month": "MM/DD/YYYY"}
_FIRST_SERIAL, _LAST_SERIAL = 20_000, 80_000
"""Day numbers from 1954 to 2119; numbers outside are rarely dates."""

_HINT = re.compile(r"(?i)\bdate\b|(^|_)date|date$|дата|日期|时间")


def _list(formats: tuple[str, ...]) -> str:
    return "[" + ", ".join(f"'{item}'" for item in formats) + "]"


def _parse(iso: str) -> str:
    # DuckDB 2.0 casts "5:30 PM" to half past five in the morning, so formats with AM and PM come first.
    return f"coalesce(try_strptime({iso}, {_list(_HALF_DAY_FORMATS)}), TRY_CAST({iso} AS TIMESTAMP))"


def _year_last(text: str, order: Order) -> str:
    """Return SQL that parses the time. Two-digit years up to 69 mean 20xx, the others 19xx (POSIX strptime, %y)."""
    head = r"^(\d{1,2}[-/.]\d{1,2}[-/.])"
    full = rf"regexp_replace({text}, '{head}([0-6]\d)( |$)', '\120\2\3')"
    full = rf"regexp_replace({full}, '{head}([7-9]\d)( |$)', '\119\2\3')"
    iso = r"\3-\2-\1" if order == "day" else r"\3-\1-\2"
    return _parse(rf"regexp_replace({full}, '^(\d{{1,2}})[-/.](\d{{1,2}})[-/.](\d{{4}})', '{iso}')")


def layers(cells: Cells) -> tuple[Layer, ...]:
    """Return the layers that parse each cell.

    `zone`: the time zone written after a time. `local`: the text without it. `year_last`: whether the year is written
    last. `day` and `month`: the time, with day or month first, in the zone of the cell. `serial`: the time that a day
    number of Excel or a number like 20240131 stands for. `minutes`: the offset of the zone from UTC.
    """
    text, certain, is_last, number = cells("local"), cells("certain"), cells("year_last"), cells("number")
    # Days since 1899-12-30 (ECMA-376, part 1, 18.17.4.1).
    time = f"TIMESTAMP '1899-12-30' + to_seconds(round({number} * 86400))"
    compact = f"CASE WHEN {cells('compact')} THEN try_strptime({cells.trimmed}, '%Y%m%d') END"
    serial = f"CASE WHEN {number} BETWEEN {_FIRST_SERIAL} AND {_LAST_SERIAL} THEN {time} ELSE {compact} END"
    orders: tuple[Order, ...] = ("day", "month")
    by_order = {
        cells(order): f"CASE WHEN {is_last} THEN {_year_last(text, order)} ELSE {certain} END" for order in orders
    }
    zone = f"CASE WHEN contains({cells.text}, ':') THEN nullif(regexp_extract({cells.text}, '{_ZONE}', 1), '') END"
    local = f"coalesce(rtrim(left({cells.text}, length({cells.text}) - length({cells('zone')}))), {cells.text})"
    return (
        *cells.base,
        {cells("zone"): zone},
        {
            text: local,
            number: f"TRY_CAST({cells.trimmed} AS DOUBLE)",
            cells("compact"): f"length({cells.trimmed}) = 8 AND regexp_full_match({cells.trimmed}, '{_COMPACT}')",
        },
        {
            certain: _unambiguous(cells),
            is_last: f"coalesce(regexp_full_match({text}, '{_YEAR_LAST}'), false)",
            cells("minutes"): _offset(cells("zone")),
        },
        {**by_order, cells("serial"): serial},
    )


def _offset(zone: str) -> str:
    """Return SQL of the minutes by which a zone is ahead of UTC; NULL without a zone."""
    sign = rf"CASE WHEN contains({zone}, '-') THEN -1 ELSE 1 END"
    digits = rf"regexp_extract({zone}, '[+-](\d{{1,2}}):?(\d{{2}})?$', %d)"
    hours, minutes = (f"coalesce(TRY_CAST(nullif({digits % group}, '') AS INTEGER), 0)" for group in (1, 2))
    named = f"CASE WHEN upper({zone}) IN ('MSK', 'МСК') THEN 180 ELSE {sign} * ({hours} * 60 + {minutes}) END"
    return f"CASE WHEN {zone} IS NOT NULL THEN {named} END"


def _unambiguous(cells: Cells) -> str:
    """Return SQL of the date and time if the cell has only one possible reading; else NULL."""
    text, value = cells("local"), cells.value
    year_first = rf"regexp_replace({text}, '^(\d{{4}})[-/.年](\d{{1,2}})[-/.月](\d{{1,2}})日?', '\1-\2-\3')"
    native = f"CASE WHEN {value} LIKE '____-__-__%' THEN TRY_CAST({value} AS TIMESTAMP) END"
    day, name, year = (f"regexp_extract({text}, '{_WITH_RUSSIAN_NAME}', {group})" for group in (1, 2, 3))
    russian = f"TRY_CAST(concat_ws('-', {year}, {MONTH_MAP}[lower({name})], {day}) AS TIMESTAMP)"
    return (
        f"CASE WHEN {value} IS NOT NULL THEN {native} "
        f"WHEN regexp_full_match({text}, '{_YEAR_FIRST}') THEN {_parse(year_first)} "
        f"WHEN regexp_full_match({text}, '{_NAMED}') THEN try_strptime({text}, {_list(_NAMED_FORMATS)}) "
        f"WHEN regexp_full_match({text}, '{_WITH_RUSSIAN_NAME}') THEN {russian} END"
    )


def is_span(cells: Cells) -> str:
    """Return SQL that is true if the cell names a quarter, a half-year or a week."""
    return f"CASE WHEN length({cells.text}) < 20 THEN regexp_full_match({cells.text}, '{_SPAN}') END"


def sample_conditions(cells: Cells) -> dict[str, str]:
    """Return the conditions over `layers` to count in the sample."""
    names = {"fits_day": "day", "fits_month": "month", "serial": "serial"}
    return {count: f"{cells(name)} IS NOT NULL" for count, name in names.items()}


def count_conditions(cells: Cells) -> dict[str, str]:
    """Return the conditions over `layers` to count before a column is read as dates."""
    midnight = {
        f"midnight_{name}": f"date_trunc('day', {cells(name)}) = {cells(name)}" for name in ("day", "month", "serial")
    }
    is_date = f"coalesce({cells('day')}, {cells('month')}) IS NOT NULL"
    return {
        **sample_conditions(cells),
        **midnight,
        "year_last": f"{cells('year_last')} AND {is_date}",
        "zoned": f"{cells('zone')} IS NOT NULL AND {is_date}",
        "compact": cells("compact"),
    }


def is_named_as_date(name: str) -> bool:
    """Return whether the name of a column suggests dates."""
    return _HINT.search(name) is not None


def count_fitting(counts: Mapping[str, int], name: str, filled: int) -> int:
    """Return the number of dates. Day numbers count if they accompany dates or the column name suggests dates."""
    dates = max(counts["fits_day"], counts["fits_month"])
    with_serials = dates * 2 >= filled or (dates == 0 and is_named_as_date(name))
    return dates + (counts["serial"] if with_serials else 0)


def plan(
    cells: Cells, counts: Mapping[str, int], name: str, filled: int, order: Order | None = None, zone: str | None = None
) -> Plan:
    """Return the conversion to dates, or to timestamps if any cell has a time.

    The order of day and month that fits more cells is used, unless `order` is given. Times with a zone are converted to
    UTC; `zone`, such as `+02:00`, is that of the times without one, by default UTC.
    """
    is_given = order is not None
    order = order or ("day" if counts["fits_day"] >= counts["fits_month"] else "month")
    fitting, midnight, value = counts[f"fits_{order}"], counts[f"midnight_{order}"], cells(order)
    fitting_with_serials = count_fitting(counts, name, filled)
    pending = []
    if fitting_with_serials > fitting and counts["serial"]:
        midnight += counts["midnight_serial"]
        value = f"coalesce({value}, {cells('serial')})"
        fitting += counts["serial"]
        if counts["serial"] > counts["compact"]:
            pending.append(PendingWarning("date_serials", {"count": counts["serial"]}))
        else:
            pending.append(PendingWarning("date_style", {"style": "YYYYMMDD"}))
    if counts["year_last"] and not is_given:
        decided = counts["fits_day"] != counts["fits_month"]
        code = "date_style" if decided else "date_ambiguous"
        pending.append(PendingWarning(code, {"style": _STYLE[order]}, "" if decided else cells("year_last")))
    if counts["zoned"] or zone:
        default = (-1 if zone[0] == "-" else 1) * (int(zone[1:3]) * 60 + int(zone[4:6])) if zone else 0
        value = f"({value} - to_minutes(coalesce({cells('minutes')}, {default})))"
        facts = {"count": counts["zoned"], "without": fitting - counts["zoned"], "zone": zone or "UTC"}
        code = "zones_mixed" if counts["zoned"] < fitting else "zones"
        pending.append(PendingWarning(code, facts, f"{cells('zone')} IS NOT NULL"))
        midnight = 0
    kind = "DATE" if midnight == fitting else "TIMESTAMP"
    return Plan(layers(cells), f"CAST({value} AS {kind})", kind, fitting, tuple(pending))
