"""Infer the type of each column from the shapes of its cells; DuckDB counts and converts, Python decides.

A sample of rows tells which columns are plain numbers, plain dates or text. Whether that holds for all rows is counted
for all columns at once; only of other columns the shapes of all cells are counted.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from datasphinx.agent.core.duckdb_text import literal
from datasphinx.agent.datasets import dates, numbers
from datasphinx.agent.datasets.cells import STAGING, Cells, is_missing
from datasphinx.agent.datasets.dataset import Warning
from datasphinx.agent.datasets.dates import DateForm, Order, read_date
from datasphinx.agent.datasets.numbers import Mark, NumberForm, read_number
from datasphinx.agent.datasets.periods import is_period
from datasphinx.agent.datasets.shapes import (
    PLAIN_DECIMAL,
    PLAIN_INTEGER,
    Shape,
    count_shapes,
    examples_of,
    foreign_characters,
    shape_sql,
)
from datasphinx.agent.datasets.workspace import Workspace

_SAMPLE_ROWS = 4_000
_SAMPLE_CELLS = 200_000
_SAMPLE = "scratch.sample"
_FEW_ROWS = 1000
_FITTING = 0.9
"""Minimum share of cells that fit the type if the others are words; they become NULL."""
_MARKED = 0.5
"""Maximum share of cells that are marks of a missing value, such as `:` or `(D)`."""
_NOTEWORTHY = 0.5
_SHOWN_CODES = 6
_MARKS: dict[str, Mark] = {"number_point": ".", "number_comma": ","}
_GIVEN_ORDERS: dict[str, Order] = {"date_day_first": "day", "date_month_first": "month"}
_TRUTH_WORDS = {
    "true": ("true", "yes", "y", "t", "1", "+", "x", "да", "д", "истина", "是", "有", "对", "真", "✓", "✔"),
    "false": ("false", "no", "n", "f", "0", "-", "нет", "н", "ложь", "否", "无", "没有", "错", "假", "✗", "✘"),
}
"""Words for a column that the options make a truth value."""
_PLAIN = {"9", "-9", "9.9", "-9.9"}
_ISO = re.compile("9999-99-99( 99:99(:99)?)?")
_MARK = re.compile(r"\W+|[(\[]\w{1,3}[)\]]|\W+ ?[^\W\d]{1,2}|#\S*|[^\W\d_]+:9{3}")
"""A text that stands for a missing value or an error, rather than for a word: `..`, `(D)`, `: c`, `#BEZUG!`."""
_AMOUNT = re.compile(r"(?:[^\W\d_]{2,4}\.? ?|[^\W\d_] )9[9.,' ]*")
"""A number behind an abbreviation, such as that of a currency: `KSh 9,999`."""
_MEASURES = re.compile(r"[A-Z]{0,2}(?:9+\W*[^\W\d_]{1,7}\W*)+(?:9+:99(?::99)?)?")
"""Numbers with a word behind each, or a clock, as in durations: `9 h 99 min`, `PT9H99M`, `9 d 99:99`."""
_MAX_WORDS = 4
"""Maximum number of words that are units of a column."""
_HINT = re.compile(r"(?i)\bdate\b|(^|_)date|date$|дата|日期|时间")
_FIRST_SERIAL, _LAST_SERIAL = 20_000, 80_000
"""Day numbers from 1954 to 2119; numbers outside are rarely dates."""
_FIRST_DAY, _LAST_DAY = 19_000_101, 21_001_231
_TIME_SCALE = 1_000_000
"""Factor between numbers like 20240131 and those with a time like 20240131103000."""
_MIN_DAYS = 3
"""Minimum number of cells that make numbers like 20240131 dates whatever the name of the column."""
_LONGEST_DOUBLE = 1e15
_SAFE_DIGITS = 15
"""Number of digits that a double always keeps."""
_MAX_DECIMAL = 38
"""Number of digits of the longest DECIMAL."""
_MAX_BAD = 300
_EXAMPLES = 3
_MAX_EXAMPLE = 40


@dataclass(frozen=True)
class ColumnPlan:
    """A column of the dataset: its cells, their conversion, warnings, and the decimal mark if a cell shows one."""

    cells: Cells
    sql: str
    """SQL of the value in the type `type`."""
    type: str
    filled: int
    warnings: tuple[Warning, ...] = ()
    mark: Mark | None = None
    code: str | None = None
    """SQL of the currency code, if that becomes a column."""
    repeats: bool = False
    """Whether cells repeat, so that different spellings of a word are noteworthy."""


def _total(shapes: Sequence[Shape]) -> int:
    return sum(shape.number for shape in shapes)


def infer_columns(
    work: Workspace,
    columns: Sequence[Cells],
    names: Sequence[str],
    rows: int,
    usual: Mark,
    kinds: Mapping[int, str],
) -> list[ColumnPlan]:
    """Return the type of each column; `usual` is the decimal mark to use if no cell of the file shows one.

    `kinds` are the types that the options set, by place.
    """
    sampled = min(_SAMPLE_ROWS, max(_FEW_ROWS, _SAMPLE_CELLS // len(columns)))
    found = [_Column(work, cells, name, kinds.get(cells.place)) for cells, name in zip(columns, names, strict=True)]
    if rows <= sampled:
        _count(work, found, STAGING, ("examine", 0.0, 0.7))
        filled = {column.cells.place: column.filled for column in found}
        repeated = set(filled)
    else:
        step = max(1, rows // sampled)
        work.run(f"CREATE OR REPLACE TABLE {_SAMPLE} AS SELECT * FROM {STAGING} WHERE rowid % {step} = 0")
        _count(work, found, _SAMPLE, ("examine", 0.0, 0.2))
        counts = ", ".join(f"approx_count_distinct({cells.trimmed}), count({cells.trimmed})" for cells in columns)
        row = work.run(f"SELECT {counts} FROM {_SAMPLE}")[0]
        repeated = {cells.place for at, cells in enumerate(columns) if 2 * row[2 * at] <= row[2 * at + 1]}
        filled, partial = _check_all(work, found)
        for are_repeated, first in ((True, 0.4), (False, 0.6)):
            group = [column for column in partial if (column.cells.place in repeated) == are_repeated]
            _count(work, group, STAGING, ("examine", first, first + 0.2), are_repeated=are_repeated)
    for column in found:
        column.read(filled[column.cells.place])
    has_flags = any(column.flags for column in found)
    for column in found:
        if has_flags:
            column.take_flags()
        column.find_candidate()
    marks = [mark for column in found if column.kind == "number" and (mark := column.mark)]
    is_shown = marks.count(".") != marks.count(",")
    if is_shown:
        usual = "." if marks.count(".") > marks.count(",") else ","
    dated = [column for column in found if column.kind == "date"]
    _find_orders(work, [column for column in dated if column.open_dates()])
    orders = {column.orders[0] for column in dated if len(column.orders) == 1} - {"year"}
    order = orders.pop() if len(orders) == 1 else None
    _convert_dates(work, dated, order)
    plans = [column.plan(usual if is_shown else column.mark_of_amounts(usual)) for column in found]
    plans = [replace(plan, repeats=plan.cells.place in repeated) for plan in plans]
    return _with_spellings(work, plans, names)


def _count(
    work: Workspace,
    columns: Sequence["_Column"],
    source: str,
    stage: tuple[str, float, float],
    *,
    are_repeated: bool = False,
) -> None:
    """Set the shapes of columns; digits of other scripts count as ASCII digits."""
    cells = [column.cells for column in columns]
    shapes = count_shapes(work, cells, source, stage, are_repeated=are_repeated)
    again = []
    for column in columns:
        column.take(shapes[column.cells.place])
        if foreign := foreign_characters(column.shapes):
            column.cells = replace(column.cells, foreign=column.cells.foreign + foreign)
            again.append(column)
    if again:
        _count(work, again, source, stage, are_repeated=are_repeated)


def _check_all(work: Workspace, columns: Sequence["_Column"]) -> tuple[dict[int, int], list["_Column"]]:
    """Return the number of filled cells of each column, and the columns whose shapes the sample does not settle."""
    expressions = []
    for column in columns:
        text = column.cells.trimmed
        shapes = {shape.text for shape in column.known}
        if shapes and shapes <= _PLAIN:
            pattern = PLAIN_INTEGER if shapes <= {"9", "-9"} else f"{PLAIN_INTEGER}|{PLAIN_DECIMAL}"
            fits = f"regexp_full_match({text}, '{pattern}')"
        elif len(shapes) == 1 and _ISO.fullmatch(shape := next(iter(shapes))):
            fits = f"regexp_full_match({text}, '{shape.replace('9', '[0-9]')}')"
        else:
            # Text stays text whatever the other rows hold.
            fits = "true" if not any(map(_is_typed, column.known)) else "false"
        missing = _total(column.shapes) - _total(column.known)
        expressions += [f"count({text})", f"count({text}) FILTER ({fits})" if not missing else "0"]
    row = work.run(f"SELECT {', '.join(expressions)} FROM {STAGING}", stage=("examine", 0.2, 0.4))[0]
    filled = {column.cells.place: row[2 * at] for at, column in enumerate(columns)}
    settled = {column.cells.place for at, column in enumerate(columns) if row[2 * at] == row[2 * at + 1]}
    partial = []
    for column in columns:
        known = column.known
        if column.cells.place in settled and len(column.shapes) == 1:
            column.take([column.shapes[0]._replace(number=filled[column.cells.place])])
        elif column.cells.place not in settled or (
            any(map(_is_typed, known)) and not {shape.text for shape in known} <= _PLAIN
        ):
            partial.append(column)
    return filled, partial


def _find_orders(work: Workspace, columns: Sequence["_Column"]) -> None:
    """Set the orders of day and month that the cells of each column allow."""
    if not columns:
        return
    pattern = r"^\D*([0-9]{1,2})[-/. ]+([0-9]{1,2})[-/. ]+([0-9]{2,4})"
    found = ", ".join(
        f"regexp_extract({column.text}, '{pattern}', ['a', 'b', 'c']) AS found{at}" for at, column in enumerate(columns)
    )
    numbers = [f"TRY_CAST(found{at}.{part} AS INTEGER)" for at in range(len(columns)) for part in "abc"]
    limits = ", ".join(f"[min({number}), max({number})]" for number in numbers)
    row = work.run(f"SELECT {limits} FROM (SELECT {found} FROM {STAGING})")[0]
    for at, column in enumerate(columns):
        column.limits = [(low or 0, high or 0) for low, high in row[3 * at : 3 * at + 3]]
        is_long = all(form.lengths[2] == 4 for form in column.open_dates().values())
        column.orders = dates.open_orders(column.limits, is_long=is_long)


def _convert_dates(work: Workspace, columns: Sequence["_Column"], usual: Order | None) -> None:
    """Count the cells of each column that are dates, and those with a time."""
    if not columns:
        return
    values = ", ".join(f"{column.convert_dates(usual)} AS value{at}" for at, column in enumerate(columns))
    counts = [
        f"[count(value{at}), count(*) FILTER (date_trunc('day', value{at}) <> value{at})"
        f"{_century_counts(f'value{at}') if column.has_short_years else ''}]"
        for at, column in enumerate(columns)
    ]
    row = work.run(f"SELECT {', '.join(counts)} FROM (SELECT {values} FROM {STAGING})")[0]
    for column, (converted, with_time, *centuries) in zip(columns, row, strict=True):
        column.converted, column.with_time = converted, with_time
        if any(centuries[:1]):
            late, span, earlier_span = centuries
            column.settle_century(late, is_earlier=earlier_span < span)


def _century_counts(value: str) -> str:
    """Return SQL of the number of dates of either century, and of the years between the dates as either."""
    earlier = dates.earlier_sql(value)
    return (
        f", count(*) FILTER ({dates.is_late_sql(value)}), max(year({value})) - min(year({value})), "
        f"max(year({earlier})) - min(year({earlier}))"
    )


def _is_typed(shape: Shape) -> bool:
    """Return whether cells of this shape may be something else than words."""
    return shape.text in ("true", "false") or (
        shape.has_digit and (read_number(shape.text) is not None or read_date(shape.text) is not None)
    )


class _Column:
    """A column while its type is decided."""

    def __init__(self, work: Workspace, cells: Cells, name: str, given: str | None) -> None:
        self.work, self.cells, self.name, self.given = work, cells, name, given
        self.kind = "text"
        self.mark: Mark | None = None
        self.serials: list[Shape] = []
        self.limits: list[tuple[int, int]] = []
        self.orders: list[Order] = []
        """The orders of day and month that the cells allow, the likeliest first."""
        self.converted = self.with_time = 0
        """The numbers of cells that are dates, and of those with a time."""

    def take(self, shapes: list[Shape]) -> None:
        """Set the shapes of the cells; those that are `known` are no words for a missing value."""
        self.shapes, self.filled = shapes, _total(shapes)
        self.known = [shape for shape in shapes if not (is_missing(shape.text) and not shape.is_value)]

    @property
    def text(self) -> str:
        return self.cells.ascii_text

    def warn(self, code: str, facts: Mapping[str, Any], shapes: Sequence[Shape] = ()) -> Warning:
        return Warning(code, self.name, {**facts, **(examples_of(shapes, _EXAMPLES, _MAX_EXAMPLE) if shapes else {})})

    def read(self, filled: int) -> None:
        """Read the shapes of `filled` cells; `kind` and `mark` are found by `find_candidate`."""
        self.filled = filled
        self.expected = max(_total(self.known), 1)
        self.numbers = {shape: form for shape in self.known if (form := read_number(shape.text))}
        self.dates = {shape: date for shape in self.known if (date := read_date(shape.text))}
        self._settle_units()

    def _settle_units(self) -> None:
        """Keep numbers with a unit only if the options ask for numbers, or if the units are flags of a few cells."""
        self.units = {shape: form for shape, form in self.numbers.items() if form.unit}
        self.flags: list[Shape] = []
        if self.given in (*_MARKS, "number", "currency"):
            self.units = {}
        self.numbers = {shape: form for shape, form in self.numbers.items() if shape not in self.units}
        if _total(list(self.units)) <= _MARKED * self.expected:
            self.take_flags()

    def take_flags(self) -> None:
        """Leave out units that are single letters or combine them: they are flags, such as `e` for an estimate."""
        letters = {form.flag for form in self.units.values() if len(form.flag) == 1}
        if self.units and all(form.flag and set(form.flag) <= letters for form in self.units.values()):
            self.flags = list(self.units)
            self.numbers |= self.units
            self.units = {}

    def find_candidate(self) -> None:
        """Set `kind` to the type that most cells fit, and `mark` to the decimal mark that they show."""
        texts = [(form, shape.number) for shape, form in self.numbers.items() if not shape.is_value]
        self.mark = numbers.decimal_mark(texts)
        self.kind = self._candidate()

    def mark_of_amounts(self, usual: Mark) -> Mark:
        """Return `usual`, or the mark of the countries of the currency if `₦5,000` would have three decimals."""
        codes = {form.currency for form in self.numbers.values()} - {""}
        known = {numbers.mark_of_currency(code) for code in codes}
        mark = known.pop() if len(known) == 1 else None
        return mark if mark and any(form.fraction(usual) for form in self.numbers.values()) else usual

    def _candidate(self) -> str:
        given = self.given
        months = [shape for shape, form in self.dates.items() if form.kind == "month"]
        are_months = bool(months) and len(months) == len(self.known) and self._are_months(months)
        if given:
            base = {"boolean": "boolean", "time": "time", "text": "text"}.get(given)
            base = base or ("number" if given in (*_MARKS, "number", "currency") else "date")
            if base == "date":
                self._find_serials(True)
            return "month" if base == "date" and are_months else base
        if are_months:
            return "month"
        days = [shape for shape, form in self.dates.items() if form.kind == "date"]
        counts = {
            "number": _total(list(self.numbers)),
            "date": _total(days),
            "time": _total([shape for shape, form in self.dates.items() if form.kind == "time"]),
            "boolean": _total([shape for shape in self.known if shape.text in ("true", "false")]),
        }
        self._find_serials(
            2 * counts["date"] >= self.expected or (not counts["date"] and bool(_HINT.search(self.name)))
        )
        if self.serials and not counts["date"] and len(self.serials) == len(self.known):
            return "date"
        if self.serials and counts["date"]:
            counts["date"] += _total(self.serials)
        best = max(counts, key=lambda kind: counts[kind])
        return best if counts[best] and counts[best] >= _NOTEWORTHY * self.expected else "text"

    def _are_months(self, shapes: Sequence[Shape]) -> bool:
        forms = [self.dates[shape] for shape in shapes]
        if any(form.lengths == (2,) for form in forms):
            # `Jan-24` may be a day: as years, the numbers are close together.
            year = f"TRY_CAST(regexp_extract({self.text}, '[0-9]+') AS INTEGER)"
            least, greatest = self.work.run(f"SELECT min({year}), max({year}) FROM {STAGING}")[0]
            return int(greatest) - int(least) <= 15
        value = dates.date_sql(self.text, forms, "day")
        fits: int = self.work.run(f"SELECT count({value}) FROM {STAGING}")[0][0]
        return fits == self.expected

    def _find_serials(self, is_wanted: bool) -> None:
        """Find the numbers that stand for days: day numbers of Excel, and numbers like 20240131."""
        integers = [shape for shape in self.known if shape.text in ("9", "9.9", "9.999")]
        if not integers:
            return
        low, high = (
            pick(value for shape in integers for value in (shape.low, shape.high) if value is not None)
            for pick in (min, max)
        )
        is_serial = _FIRST_SERIAL <= low and high <= _LAST_SERIAL
        is_compact = all(shape.text == "9" for shape in integers) and any(
            _FIRST_DAY * scale <= low and high < (_LAST_DAY + 1) * scale for scale in (1, _TIME_SCALE)
        )
        if is_compact and (is_wanted or (_total(integers) >= _MIN_DAYS and len(integers) == len(self.known))):
            moments = _compact_sql(self.text)
            fits = self.work.run(f"SELECT count({moments}) FROM {STAGING}")[0][0]
            self.serials = integers if fits == _total(integers) or (self.given and fits) else []
        elif is_wanted and (is_serial or self.given):
            self.serials = integers

    def open_dates(self) -> dict[Shape, DateForm]:
        """Return the shapes of dates in which the order of day and month is open."""
        return {shape: form for shape, form in self.dates.items() if form.is_open}

    def plan(self, usual: Mark) -> ColumnPlan:
        """Return the conversion; `usual` is the decimal mark of other columns, for cells that show none."""
        if not self.filled:
            return self._text(self.warn("no_values", {}))
        self.usual = usual
        plan: Callable[[], ColumnPlan] = {
            "number": self._number_plan,
            "month": self._month_plan,
            "time": self._time_plan,
            "boolean": self._boolean_plan,
            "date": self._date_plan,
            "text": lambda: self._text(*([] if self.given else self._text_warnings())),
        }[self.kind]
        return plan()

    def _text(self, *warnings: Warning) -> ColumnPlan:
        return ColumnPlan(self.cells, self.cells.words, "VARCHAR", self.filled, warnings)

    def _misfits(self, fitting: Sequence[Shape], type_name: str) -> tuple[bool, list[Warning]]:
        """Return whether the column can have the type although other cells do not fit, and the warnings about those.

        Cells without digits may become NULL if they are rare, or marks of a missing value. Cells with digits keep the
        column text, since they may be values too.
        """
        others = [shape for shape in self.known if shape not in fitting]
        missing = [shape for shape in self.shapes if shape not in self.known]
        if not others and not missing:
            return True, []
        count = _total(others)
        with_digits = [shape for shape in others if shape.has_digit and not _is_mark(shape)]
        are_marks = all(map(_is_mark, others)) and count <= _MARKED * self.expected
        is_fitting = bool(self.given) or (
            not with_digits and (are_marks or _total(fitting) >= _FITTING * self.expected)
        )
        if not is_fitting:
            facts = {"count": _total(fitting), "filled": self.filled, "type": type_name}
            return False, [self.warn("mixed", facts, others)]
        unfit = [*others, *missing]
        return True, [self.warn("misfits", {"count": _total(unfit), "type": type_name}, unfit)]

    def _guarded(self, sql: str, fitting: Sequence[Shape]) -> str:
        """Return `sql` for cells of the fitting shapes only."""
        others = [shape for shape in self.shapes if shape not in fitting]
        text = self.text
        if not others:
            return sql
        bad = [shape.text for shape in others if shape.has_digit][:_MAX_BAD]
        guard = f" AND {shape_sql(text)} NOT IN ({', '.join(map(literal, bad))})" if bad else ""
        return f"CASE WHEN regexp_matches({text}, '[0-9]'){guard} THEN {sql} END"

    def _number_plan(self) -> ColumnPlan:
        given = self.given
        forms = self.numbers
        mark: Mark = _MARKS.get(given or "") or self.mark or self.usual
        fitting = list(forms)
        if not given:
            codes = [
                shape for shape, form in forms.items() if form.is_code or shape.leading_zero and _is_zero_code(form)
            ]
            codes += self._too_long(mark)
            if codes:
                return self._text(self.warn("codes", {"count": _total(codes)}, codes))
        elif given in _MARKS:
            fitting = [shape for shape, form in forms.items() if mark in form.fits]
        used = [forms[shape] for shape in fitting if not shape.is_value]
        values = [forms[shape] for shape in fitting if shape.is_value]
        types = {numbers.number_type(each, m) for each, m in ((used, mark), (values, ".")) if each}
        type_name = "BIGINT" if types == {"BIGINT"} else "DOUBLE"
        is_ok, warnings = self._misfits(fitting, type_name)
        if not is_ok:
            return self._text(*warnings)
        type_name, lossy = self._exact_type(used or values, fitting, mark if used else ".", type_name)
        text = self.text if not values or self.cells.foreign else self.cells.text
        sql = numbers.number_sql(text, used, mark, type_name) if used else ""
        if values:
            value = numbers.number_sql(self.cells.value if used else self.text, values, ".", type_name)
            sql = f"coalesce({value}, {sql})" if used else value
        sql = self._guarded(sql, fitting)
        rounded = [self.warn("rounded", {"count": lossy})] if lossy else []
        warnings = [*self._number_warnings(fitting, mark), *rounded, *warnings]
        code = None
        currencies = [shape for shape in fitting if forms[shape].currency]
        if currencies or given == "currency":
            names = sorted(
                {forms[shape].currency for shape in currencies},
                key=lambda name: (-_total([s for s in currencies if forms[s].currency == name]), name),
            )
            is_split = len(names) > 1 or given == "currency"
            facts: dict[str, Any] = {"count": _total(currencies), "codes": ", ".join(names[:_SHOWN_CODES])}
            if is_split:
                code = numbers.currency_sql(self.text, [(shape.text, forms[shape]) for shape in currencies])
                facts["column"] = code_name(self.name)
            warnings.insert(0, self.warn("currencies" if is_split else "currency", facts))
        return ColumnPlan(self.cells, sql, type_name, self.filled, tuple(warnings), self.mark, code)

    def _too_long(self, mark: Mark) -> list[Shape]:
        """Return the shapes of whole numbers with more digits than 64 bits hold; they are identifiers."""
        long = [shape for shape, form in self.numbers.items() if form.digits > 18 and form.is_whole(mark)]
        if not long:
            return []
        text = self.text
        over = self.work.run(
            f"SELECT count(*) FROM {STAGING} WHERE length({text}) > 18 AND TRY_CAST({text} AS BIGINT) IS NULL "
            f"AND regexp_full_match({text}, '[-+]?[0-9]{{19,}}')"
        )[0][0]
        return long if over else []

    def _exact_type(
        self, forms: Sequence[NumberForm], shapes: Sequence[Shape], mark: Mark, type_name: str
    ) -> tuple[str, int]:
        """Return a DECIMAL in place of DOUBLE if a double would lose digits and a DECIMAL holds all.

        Otherwise the type stays, with the number of cells that lose digits.
        """
        largest = max(
            (abs(value) for shape in shapes for value in (shape.low, shape.high) if value is not None), default=0
        )
        is_suspect = largest >= _LONGEST_DOUBLE or any(form.may_be_lossy(mark) for form in forms)
        if type_name != "DOUBLE" or not is_suspect:
            return type_name, 0
        digits = f"(SELECT {numbers.digits_sql(self.text, forms, mark)} AS digits FROM {STAGING})"
        written, kept = (
            f"trim(regexp_replace({number}, '[eE].*|[^0-9]', '', 'g'), '0')"
            for number in ("digits", "CAST(TRY_CAST(digits AS DOUBLE) AS VARCHAR)")
        )
        lossy, whole, scale = self.work.run(
            f"SELECT count(*) FILTER (length(digits) > {_SAFE_DIGITS} AND {written} <> {kept}), "
            f"max(length(regexp_extract(digits, '^-?([0-9]*)', 1))), "
            rf"max(length(regexp_extract(digits, '\.([0-9]+)$', 1))) FROM {digits}"
        )[0]
        is_simple = not any(form.percent or form.scale or form.has_exponent for form in forms)
        if lossy and is_simple and (whole or 0) + (scale or 0) <= _MAX_DECIMAL:
            return f"DECIMAL({_MAX_DECIMAL},{scale or 0})", 0
        return type_name, lossy

    def _number_warnings(self, fitting: Sequence[Shape], mark: Mark) -> list[Warning]:
        forms = self.numbers
        warnings = []
        texts = [shape for shape in fitting if not shape.is_value]
        if self.cells.paired and texts:
            warnings.append(self.warn("text_converted", {"count": _total(texts)}))
        percent = [shape for shape in fitting if forms[shape].percent]
        if percent:
            bare = [shape for shape in fitting if not forms[shape].percent and (shape.low, shape.high) != (0, 0)]
            if bare:
                facts = {"count": _total(percent), "without": _total(bare)}
                warnings.append(self.warn("percent_mixed", facts, bare))
            else:
                warnings.append(self.warn("percent", {"count": _total(percent)}))
        footnotes = [shape for shape in fitting if forms[shape].footnote or shape in self.flags]
        if footnotes:
            warnings.append(self.warn("footnotes", {"count": _total(footnotes)}, footnotes))
        scaled = [shape for shape in fitting if forms[shape].scale]
        if scaled:
            warnings.append(self.warn("scaled", {"count": _total(scaled)}, scaled))
        other = [shape for shape in texts if mark not in forms[shape].fits]
        ambiguous = [shape for shape in texts if forms[shape].is_ambiguous]
        separators = " ,'_" if mark == "." else " ,.'_"
        marked = [shape for shape in texts if any(char in forms[shape].core for char in separators)]
        if self.mark is None and ambiguous and self.given not in _MARKS:
            warnings.append(self.warn("marks_ambiguous", {"decimal": mark}, ambiguous))
        elif marked:
            warnings.append(self.warn("marks", {"decimal": mark}, marked))
        if other:
            warnings.append(self.warn("marks_mixed", {"count": _total(other)}, other))
        return warnings

    def _month_plan(self) -> ColumnPlan:
        shapes = [shape for shape in self.known if shape in self.dates]
        sql = dates.date_sql(self.text, [self.dates[shape] for shape in shapes], "day")
        warning = self.warn("months", {"count": _total(shapes)}, shapes)
        _, others = self._misfits(shapes, "DATE")
        sql = f"CAST({self._guarded(sql, shapes)} AS DATE)"
        return ColumnPlan(self.cells, sql, "DATE", self.filled, (warning, *others))

    def convert_dates(self, usual: Order | None) -> str:
        """Return SQL of the timestamps; `usual` is the order of other columns, for cells that do not decide it."""
        days = self._days
        self.order = _GIVEN_ORDERS.get(self.given or "") or self._chosen_order(usual)
        zones = [shape for shape, form in days.items() if form.has_zone]
        text = dates.without_zone_sql(self.text) if zones else self.text
        value = (
            self._guarded(dates.date_sql(text, days.values(), self.order), list(days)) if days else "NULL::TIMESTAMP"
        )
        if self.serials:
            value = f"coalesce({value}, {_serial_sql(self.text, self.cells.epoch)})"
        self.value, zone_warnings = self._in_utc(value, zones, days)
        self.date_warnings = [*self._date_warnings(usual), *zone_warnings]
        return self.value

    @property
    def has_short_years(self) -> bool:
        """Whether all years have two digits; then none of a date's numbers has four."""
        return bool(self._days) and not self.serials and all(4 not in form.lengths for form in self._days.values())

    def settle_century(self, count: int, *, is_earlier: bool) -> None:
        """Take the century that brings the years closer together, and add a warning about these dates."""
        if is_earlier:
            self.value = dates.earlier_sql(self.value)
        self.date_warnings.append(
            self.warn("date_century", {"count": count, "style": "1930-1968" if is_earlier else "2030-2068"})
        )

    @property
    def _days(self) -> dict[Shape, DateForm]:
        return {shape: form for shape, form in self.dates.items() if form.kind == "date"}

    def _date_plan(self) -> ColumnPlan:
        given, value, fits = self.given, self.value, self.converted
        days = self._days
        has_zones = any(form.has_zone for form in days.values())
        kind = "TIMESTAMP" if self.with_time or has_zones or (given or "").startswith("timestamp") else "DATE"
        typed = [*days, *self.serials]
        is_ok, warnings = self._misfits(typed, kind)
        invalid = _total(typed) - fits
        if invalid and not given and fits < _FITTING * self.expected:
            facts = {"count": fits, "filled": self.filled, "type": kind}
            return self._text(self.warn("mixed", facts, self._invalid(value)))
        if not is_ok:
            return self._text(*warnings)
        if invalid and not warnings:
            warnings = [self.warn("misfits", {"count": invalid, "type": kind}, self._invalid(value))]
        sql = f"CAST({value} AS {kind})"
        return ColumnPlan(self.cells, sql, kind, self.filled, (*self.date_warnings, *warnings))

    def _invalid(self, value: str) -> list[Shape]:
        """Return the cells that look like dates and are none, as shapes."""
        text = self.cells.trimmed
        rows = self.work.run(
            f"SELECT {text}, min(rowid) FROM {STAGING} WHERE {text} IS NOT NULL AND {value} IS NULL "
            f"GROUP BY ALL ORDER BY 2 LIMIT {_EXAMPLES}"
        )
        return [Shape(text, False, False, 1, first, text, None, None) for text, first in rows]

    def _chosen_order(self, usual: Order | None) -> Order:
        opened = self.open_dates()
        if len(self.orders) < 2:
            return self.orders[0] if self.orders else "day"
        if usual and usual in self.orders:
            return usual
        if any(form.lengths[2] == 2 for form in opened.values()):
            return self.orders[0]
        # Whoever writes slashes without leading zeros mostly writes the month first.
        is_short = any(form.lengths[0] == 1 or form.lengths[1] == 1 for form in opened.values())
        has_zeros = any(shape.leading_zero for shape in opened)
        is_slashed = all(form.separator == "/" for form in opened.values())
        return "month" if is_short and is_slashed and not has_zeros else "day"

    def _date_warnings(self, usual: Order | None) -> list[Warning]:
        warnings, opened = [], self.open_dates()
        if self.serials:
            is_compact = any((shape.low or 0) >= _FIRST_DAY for shape in self.serials)
            has_time = any((shape.low or 0) > _LAST_DAY for shape in self.serials)
            style = "YYYYMMDDHHMMSS" if has_time else "YYYYMMDD"
            facts = {"style": style} if is_compact else {"count": _total(self.serials)}
            warnings.append(self.warn("date_style" if is_compact else "date_serials", facts))
        if opened and self.given not in _GIVEN_ORDERS:
            is_decided = len(self.orders) < 2 or usual in self.orders or self._has_one_span()
            facts = {"style": dates.STYLES[self.order]}
            warnings.append(
                self.warn("date_style", facts) if is_decided else self.warn("date_ambiguous", facts, list(opened))
            )
        return warnings

    def _has_one_span(self) -> bool:
        """Return whether only one order of two-digit years gives years that are close together."""
        places = [0 if order == "year" else 2 for order in self.orders]
        spans = sorted(self.limits[place][1] - self.limits[place][0] for place in places)
        return len(places) == 2 and set(places) != {2} and spans[0] <= 1 and spans[1] > 3

    def _in_utc(self, value: str, zones: Sequence[Shape], days: Mapping[Shape, DateForm]) -> tuple[str, list[Warning]]:
        """Return the value in UTC, and the warnings about zones."""
        given = self.given or ""
        zone = given.removeprefix("timestamp") if given.startswith("timestamp") else ""
        if not zones and not zone:
            return value, []
        default = (-1 if zone[0] == "-" else 1) * (int(zone[1:3]) * 60 + int(zone[4:6])) if zone else 0
        value = f"({value} - to_minutes(coalesce({dates.offset_sql(self.text)}, {default})))"
        without = _total(list(days)) + _total(self.serials) - _total(zones)
        facts = {"count": _total(zones), "without": without, "zone": zone or "UTC"}
        return value, [self.warn("zones_mixed" if without else "zones", facts, zones)]

    def _time_plan(self) -> ColumnPlan:
        """Return the conversion to times of day, or to durations if hours exceed a day."""
        times = {shape: form for shape, form in self.dates.items() if form.kind == "time"}
        has_minutes_first = any(form.has_minutes_first for form in times.values())
        text = dates.with_hours_sql(self.text) if has_minutes_first else self.text
        runs = f"regexp_extract_all({text}, '[0-9]+')"
        clock = dates.clock_sql(text, runs, 0, list(times.values()))
        guarded = self._guarded(clock, list(times))
        fits, total = self.work.run(f"SELECT count(TRY_CAST({guarded} AS TIME)), count({guarded}) FROM {STAGING}")[0]
        is_long = any(shape.is_value and form.hour_digits != 2 for shape, form in times.items())
        is_duration = fits < total or has_minutes_first or is_long
        kind = "TIME" if self.given or not is_duration else "INTERVAL"
        is_ok, warnings = self._misfits(list(times), kind)
        if not is_ok:
            return self._text(*warnings)
        return ColumnPlan(self.cells, f"TRY_CAST({guarded} AS {kind})", kind, self.filled, tuple(warnings))

    def _boolean_plan(self) -> ColumnPlan:
        words = _TRUTH_WORDS if self.given else {"true": ("true",), "false": ("false",)}
        listed = {word for each in words.values() for word in each}
        fitting = [shape for shape in self.shapes if shape.text in listed or (shape.text == "9" and self.given)]
        self.known = [shape for shape in self.shapes if shape in self.known or shape in fitting]
        cases = " ".join(
            f"WHEN lower({self.text}) IN ({', '.join(map(literal, each))}) THEN {truth}"
            for truth, each in words.items()
        )
        is_ok, warnings = self._misfits(fitting, "BOOLEAN")
        if not is_ok:
            return self._text(*warnings)
        return ColumnPlan(self.cells, f"(CASE {cases} END)", "BOOLEAN", self.filled, tuple(warnings))

    def _have_units(self, shapes: Sequence[Shape]) -> bool:
        """Return whether the cells are numbers with the same few words: amounts, one with a mark, or measures."""
        words = {word for shape in shapes for word in re.findall(r"[^\W\d_]+", shape.text)}
        if not shapes or len(words) > _MAX_WORDS or _total(shapes) < _FITTING * self.expected:
            return False
        texts = [shape.text for shape in shapes]
        are_amounts = all(map(_AMOUNT.fullmatch, texts)) and any(re.search("9[.,]9", text) for text in texts)
        return are_amounts or all(map(_MEASURES.fullmatch, texts))

    def _text_warnings(self) -> list[Warning]:
        """Return the warning about a column that stays text although most cells look like numbers or dates."""
        facts = {"filled": self.expected}
        named = {form.unit for form in self.units.values()}
        # Several words of several cells, such as those of addresses, are no units.
        are_units = len(named) == 1 or (len(named) <= _MAX_WORDS and not any(" " in unit for unit in named))
        if named and are_units and _total([*self.units, *self.numbers]) >= _FITTING * self.expected:
            return [self.warn("units", facts, list(self.units))]
        if _total(list(self.dates)) >= _NOTEWORTHY * self.expected:
            return [self.warn("not_dates", facts, list(self.dates))]
        marks = [shape for shape in self.known if _is_mark(shape)]
        if self.numbers and _total([*marks, *self.numbers]) == self.expected:
            return [
                self.warn(
                    "mixed", {"count": _total(list(self.numbers)), "filled": self.filled, "type": "DOUBLE"}, marks
                )
            ]
        with_digits = [shape for shape in self.known if shape.has_digit]
        spans = [shape for shape in with_digits if is_period(shape.example)]
        if _HINT.search(self.name) and _total(with_digits) >= _NOTEWORTHY * self.expected:
            return [self.warn("not_dates", facts, with_digits)]
        if spans and _total(spans) >= _FITTING * self.expected:
            return [self.warn("not_dates", facts, spans)]
        if self._have_units(with_digits):
            return [self.warn("units", facts, with_digits)]
        digital = [shape for shape in with_digits if not any(char.isalpha() for char in shape.text)]
        if digital and _total(digital) >= _FITTING * self.expected:
            return [self.warn("codes", {"count": _total(digital)}, digital)]
        return []


def _is_mark(shape: Shape) -> bool:
    return not shape.is_value and _MARK.fullmatch(shape.text) is not None


def _is_zero_code(form: NumberForm) -> bool:
    """Return whether a number with a zero before other digits is an identifier."""
    return form.core.lstrip("9")[:1] not in ("", *".,") or len(re.match("9*", form.core)[0]) > 1  # type: ignore[index]


def _serial_sql(text: str, epoch: str) -> str:
    """Return SQL of the time that a day number of Excel, or a number like 20240131, stands for."""
    number = f"TRY_CAST({text} AS DOUBLE)"
    serial = f"TIMESTAMP '{epoch}' + to_seconds(round({number} * 86400))"
    return f"CASE WHEN {number} BETWEEN {_FIRST_SERIAL} AND {_LAST_SERIAL} THEN {serial} ELSE {_compact_sql(text)} END"


def _compact_sql(text: str) -> str:
    """Return SQL of the time that a number like 20240131 or 20240131103000 stands for."""
    # Without the length, shorter numbers would be dates too.
    return f"CASE WHEN length({text}) IN (8, 14) THEN try_strptime({text}, ['%Y%m%d%H%M%S', '%Y%m%d']) END"


def code_name(name: str) -> str:
    """Return the name of the column with the currency codes of the column `name`."""
    return f"{name} currency"


def _with_spellings(work: Workspace, plans: Sequence[ColumnPlan], names: Sequence[str]) -> list[ColumnPlan]:
    """Return the plans with warnings about words that differ only in case or in spaces."""
    texts = [plan for plan in plans if plan.type == "VARCHAR" and plan.filled and plan.repeats]
    if not texts:
        work.run("SELECT 1", stage=("examine", 0.9, 1.0))
        return list(plans)
    words = ", ".join(plan.cells.words for plan in texts)
    places = [plan.cells.place for plan in texts]
    rows = work.run(
        f"SELECT place, min(word), max(word), count(*) OVER (PARTITION BY place) FROM (SELECT DISTINCT "
        f"unnest([{words}]) AS word, unnest({places}) AS place FROM {STAGING}) WHERE word IS NOT NULL "
        r"GROUP BY place, lower(regexp_replace(word, '\s+', ' ', 'g')) HAVING count(*) > 1 ORDER BY 1, 2",
        stage=("examine", 0.8, 1.0),
    )
    found: dict[int, list[Any]] = {}
    for row in rows:
        found.setdefault(row[0], []).append(row)
    marked = []
    for plan, name in zip(plans, names, strict=True):
        if rows_of_column := found.get(plan.cells.place):
            examples = "; ".join(
                f"{first[:_MAX_EXAMPLE]} / {last[:_MAX_EXAMPLE]}" for _, first, last, _ in rows_of_column[:_EXAMPLES]
            )
            warning = Warning("spellings", name, {"count": rows_of_column[0][3], "examples": examples})
            plan = replace(plan, warnings=(*plan.warnings, warning))
        marked.append(plan)
    return marked
