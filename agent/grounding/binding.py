"""Map positions in a sentence to the rows and columns that they may refer to."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, islice, product
from statistics import fmean

from agent.grounding.facts import Column, bits
from agent.grounding.measures import kinds_of, measures_of
from agent.grounding.numbers import Figure
from agent.grounding.reading import Group, Reading
from agent.grounding.stems import stem
from agent.grounding.vocabulary import all_vocabularies

_UNITS = {
    "mg": ("mass", 1e-3),
    "g": ("mass", 1.0),
    "kg": ("mass", 1e3),
    "t": ("mass", 1e6),
    "jin": ("mass", 500.0),
    "ms": ("time", 1e-3),
    "s": ("time", 1.0),
    "min": ("time", 60.0),
    "h": ("time", 3600.0),
    "d": ("time", 86400.0),
    "week": ("time", 604800.0),
    "month": ("calendar", 1.0),
    "year": ("calendar", 12.0),
    "mm": ("length", 1e-3),
    "cm": ("length", 0.01),
    "m": ("length", 1.0),
    "km": ("length", 1e3),
    "mi": ("length", 1609.34),
    "ml": ("volume", 1e-3),
    "l": ("volume", 1.0),
    "gal": ("volume", 3.785),
    "m3": ("volume", 1e3),
    "kb": ("data", 1e3),
    "mb": ("data", 1e6),
    "gb": ("data", 1e9),
    "tb": ("data", 1e12),
    "kwh": ("energy", 1.0),
    "mwh": ("energy", 1e3),
    "gwh": ("energy", 1e6),
    "twh": ("energy", 1e9),
    "c": ("celsius", 1.0),
    "f": ("fahrenheit", 1.0),
    **{currency: (currency, 1.0) for currency in ("usd", "eur", "gbp", "rub", "cny", "jpy", "kzt")},
    "cent": ("usd", 0.01),
    "kopeck": ("rub", 0.01),
}
CURRENCIES = {"usd", "eur", "gbp", "rub", "cny", "jpy", "kzt"}
_MONEY = {"money", "price"}
_PHYSICAL_KINDS = {
    "duration",
    "distance",
    "weight",
    "volume",
    "area",
    "energy",
    "power",
    "temperature",
    "speed",
    "age",
    "score",
}
_PREPOSITION = r"(?!(?:from|in|of|at|for|by|on|with|to|were|was|are|is|and|в|на|из|у|с|по|за|от|для)(?!\w))"
_NOUN = re.compile(rf"[\s\u00a0]*({_PREPOSITION}[^\W\d_]+(?: {_PREPOSITION}[^\W\d_]+)?)")
"""One or two words after a figure."""
_CHINESE = re.compile(r"[\u3400-\u9fff]")
_NO_NOUN = re.compile(r"\s*(?:$|[.,;:)]|(?:in|among|on|at|during|since)\b)", re.IGNORECASE)
_VALUE_NAME = re.compile(r"value|amount|worth|sum|price|cost|total|сумм|стоимост|цен|руб|额|值|价|金", re.IGNORECASE)
_PERCENT_NAME = re.compile(r"pct|percent|perc\b|проц|%|百分", re.IGNORECASE)
MAX_ROWS_PER_CHECK = 400
_MAX_COMBINATIONS = 24

_Choices = list[tuple[int, frozenset[int]]]
"""Rows as bits, and the columns of a period; no columns mean all."""


@dataclass(frozen=True)
class Objection:
    """A claim that the rows do not support: its position, its words and the reason."""

    start: int
    end: int
    claim: str
    reason: str


@dataclass(frozen=True)
class Fact:
    """A value that follows from rows.

    `kind` is "value" in the unit of `column`, "percent", "points", "ratio" or "count". `compares` is the kind of a
    difference: "time", "compare", "columns" or "any"; it is empty for other values.
    """

    value: float
    kind: str
    column: Column | None = None
    compares: str = ""


class Binding:
    """A sentence and the table that it describes; base class of the checks."""

    def __init__(
        self,
        reading: Reading,
        question_figures: set[tuple[str, float]],
        stated_values: dict[tuple[int, int], list[float]],
    ) -> None:
        self.reading = reading
        self.table = reading.table
        self.words = reading.words
        self.text = reading.text
        self.question_figures = question_figures
        self.stated_values = stated_values

    def _objection(self, start: int, end: int, reason: str) -> Objection:
        return Objection(start, end, self.text[start:end].strip(), reason)

    def contexts(self, figure: Figure) -> Iterator[tuple[int, frozenset[int], bool]]:
        """Yield the rows and columns that a figure may refer to, and whether the sentence names rows."""
        columns = self._columns(figure)
        for rows, family, bound in self.rows_for(figure.start, figure.end, figure):
            timeless = frozenset(at for at in columns if not self.table.columns[at].periods)
            yield rows, (columns & family) | timeless if family else columns, bound
        if self.reading.is_whole(figure):
            yield self.table.all, columns, False
        if self.words.rest.search(self.reading.part(figure.start)):
            named_rows = 0
            for name in self.reading.names:
                named_rows |= name.rows
            if named_rows and self.table.all & ~named_rows:
                yield self.table.all & ~named_rows, columns, True

    def _columns(self, figure: Figure) -> frozenset[int]:
        every = frozenset(column.index for column in self.table.metrics)
        named_columns = (
            None
            if self.reading.is_whole(figure) or (self.reading.paired(figure) and not self.reading.owned(figure.end))
            else self.reading.columns_for(figure.start, figure.end)
        )
        columns = every if named_columns is None else named_columns
        behind = self._kinds_after(figure)
        if behind and self.reading.owned(figure.end) is None:
            similar_kinds = frozenset(
                column.index
                for column in self.table.metrics
                if not column.kinds or column.is_change or column.kinds & behind
            )
            columns = columns & similar_kinds or similar_kinds
        if named_columns is not None and (self.words.up.search(self.text) or self.words.down.search(self.text)):
            columns |= {
                column.index
                for column in self.table.metrics
                if column.is_change
                and (
                    not column.stems & self.reading.table.metric_stems
                    or column.stems & {"change", "growth", "изменен", "рост", "прирост"}
                    or re.search("增|变|同比|环比", column.name)
                )
            }
        whole_only = named_columns is not None and all(
            value == int(value) for at in columns for value in self.table.columns[at].values if value is not None
        )
        if (
            whole_only
            and figure.kind == "plain"
            and figure.factor == 1
            and figure.readings
            and all(decimals for _, decimals in figure.readings)
        ):
            columns = every
        unit = self.reading.unit_of(figure)
        fitting = [at for at in columns if self._scale(figure, Fact(0.0, "value", self.table.columns[at]), unit)]
        if named_columns is not None and not fitting and figure.kind in {"plain", "percent"}:
            return columns | {
                at for at in every if self._scale(figure, Fact(0.0, "value", self.table.columns[at]), unit)
            }
        return columns

    def _kinds_after(self, figure: Figure) -> frozenset[str]:
        """Return the kinds of measures that the word after a figure names, unless a column or the question has it."""
        match = _NOUN.match(self.text, figure.end)
        if (
            not match
            or figure.kind != "plain"
            or self.reading.unit_of(figure)
            or self.words.per.search(self.text[figure.end : match.start(1)])
        ):
            return frozenset()
        word = match.group(1)
        if _CHINESE.match(word):
            word = word[: 5 if word[0] in "名位" else 3]
        measures = measures_of(word)
        column_measures = {measure for column in self.table.columns for measure in column.measures}
        label_stems = {item for column in self.table.labels for item in column.stems}
        if measures & (column_measures | measures_of(self.table.question)) or any(
            stem(item) in label_stems for item in word.split()
        ):
            return frozenset()
        kinds = kinds_of(measures)
        return kinds if "count" in kinds else kinds & _MONEY

    def rows_for(
        self, start: int, end: int, figure: Figure | None = None, without: frozenset[int] = frozenset()
    ) -> Iterator[tuple[int, frozenset[int], bool]]:
        """Yield the rows to which a position may refer, columns of its period, and whether the sentence names rows."""
        options: list[_Choices] = []
        inherited: list[int] = []
        for dimension in self.reading.dimensions:
            groups = self._groups_for(start, end, dimension, figure) if dimension not in without else []
            if groups and not self._in_segment(groups, start):
                inherited.append(len(options))
            if groups:
                options.append(self._choices(start, end, groups, figure))
        carried = self._choices_before(without)
        names_rows = bool(options) or (bool(carried) and self.words.pronoun.match(self.text) is not None)
        for combination in islice(product(*options, *carried), _MAX_COMBINATIONS):
            rows, columns = self.table.all, frozenset[int]()
            for mask, family in combination:
                rows &= mask
                columns |= family
            if not rows and len(combination) > 1:
                rows = self.table.all
                for at, (mask, _) in enumerate(combination):
                    rows &= self.table.all if at in inherited else mask
            if rows:
                yield rows, columns, names_rows

    def _groups_for(self, start: int, end: int, dimension: int, figure: Figure | None) -> Sequence[Group]:
        """Return the groups of a column that a position may refer to; for a list, also each name by itself."""
        groups = self.reading.governing(start, end, dimension, figure)
        if not groups or figure is None or not self._is_apart(groups, figure):
            return groups
        groups = self.reading.in_dimension(dimension)
        return [*groups, *(Group((member,)) for group in groups for member in group.members)]

    def _is_apart(self, groups: Sequence[Group], figure: Figure) -> bool:
        """Return whether a figure is paired with names by their order and next to none of them."""
        return self.reading.paired(figure) and not any(self._beside(group, figure) for group in groups)

    def _in_segment(self, groups: Sequence[Group], start: int) -> bool:
        """Return whether one of `groups` is in the same part of the sentence as `start`."""
        return any(self.reading.segment(group.start) == self.reading.segment(start) for group in groups)

    def _choices(self, start: int, end: int, groups: Sequence[Group], figure: Figure | None) -> _Choices:
        """Return the rows and columns of `groups`, and all rows if the position may refer to them."""
        dimension = groups[0].dimension
        near = self._in_segment(groups, start)
        is_apart = figure is not None and self._is_apart(groups, figure)
        is_before_groups = (
            not near
            and all(group.start >= end for group in groups)
            and groups[0] is not self.reading.following(end, groups)
        )
        choices: _Choices = [(self._range_rows(group), self._range_columns(group)) for group in groups]
        members = {member for group in groups for member in group.members}
        is_single_name = is_apart and len(members) == 1 and figure is not self.reading.figures[0]
        every: _Choices = [(self.table.all, frozenset())]
        if is_single_name or is_before_groups or (is_apart and dimension < 0):
            choices += every
        previous = dimension < 0 and self.words.previous.search(self.text)
        if dimension == -1 and previous:
            choices += [(mask, frozenset()) for group in groups for mask in self._before(group.rows)]
        part = self.reading.part(start)
        has_change = any(pattern.search(part) for pattern in (self.words.up, self.words.down, self.words.since))
        return choices + every if previous or (dimension < 0 and has_change and not near) else choices

    def _choices_before(self, without: frozenset[int]) -> list[_Choices]:
        """Return the choices of the previous sentence: its periods, and its names if a pronoun refers to them."""
        before = self.reading.before
        if before is None:
            return []
        pronoun = self.words.pronoun.match(self.text)
        options: list[_Choices] = []
        for dimension in before.dimensions:
            groups = before.in_dimension(dimension)
            if dimension in self.reading.dimensions or dimension in without or not groups:
                continue
            choices: _Choices = [(self._range_rows(group), self._range_columns(group)) for group in groups]
            if dimension < 0:
                options.append([*choices, (self.table.all, frozenset())])
            elif pronoun:
                options.append(choices)
        return options

    def _beside(self, group: Group, figure: Figure) -> bool:
        """Return whether a name is directly before or after a figure."""
        between = self.text[group.end : figure.start]
        before = (
            len(between) <= 6
            and figure.start >= group.end
            and not self.words.starts.search(between)
            and not any(group.end <= other.start < figure.start for other in self.reading.figures)
        )
        behind = (
            0 <= group.start - figure.end <= 6
            or self.words.after_figure.fullmatch(self.text, figure.end, group.start) is not None
        )
        return self.reading.segment(group.start) == self.reading.segment(figure.start) and (before or behind)

    def _range_rows(self, group: Group) -> int:
        if not group.is_range or group.dimension != -1:
            return group.rows
        orders = [order for at in bits(group.rows) if (order := self.table.order_of(at))]
        if not orders:
            return group.rows
        between = group.rows
        for order, rows in self.table.time_steps:
            if min(orders) <= order <= max(orders):
                between |= rows
        return between

    def _range_columns(self, group: Group) -> frozenset[int]:
        """Return the columns of the periods of a group; of a range also those within it, as Q2 in April to June."""
        columns = [self.table.columns[at] for at in group.columns]
        if not group.is_range or not columns:
            return group.columns
        periods = [period for column in columns for period in column.periods]
        first, last = min(period.begin for period in periods), max(period.order for period in periods)
        return frozenset(
            column.index
            for column in self.table.metrics
            if any(first <= period.begin and period.order <= last for period in column.periods)
        )

    def _scale(self, figure: Figure, fact: Fact, unit: str | None) -> list[float]:
        """Return the factors that convert a figure to the unit of `fact`; empty if the units are incompatible."""
        column = fact.column
        if fact.kind != "value":
            fits = {
                "percent": figure.kind == "percent",
                "points": figure.kind == "points",
                "ratio": figure.kind == "times" or (figure.kind == "plain" and self._says_ratio()),
                "count": figure.kind == "plain" and figure.factor == 1 and unit is None,
            }
            return [1.0] if fits[fact.kind] else []
        if column is not None and figure.kind == "times" and figure.value < 1 and column.is_rate and not fact.compares:
            return [100.0 if scale == 1 else 1.0 for scale in self._percent_scale(column)]
        if column is None or figure.kind == "ordinal" or (figure.kind == "times" and not self._is_frequency(figure)):
            return []
        if figure.kind == "points" and not fact.compares:
            return [1.0, 0.01] if column.is_rate else []
        if figure.kind in {"percent", "points"}:
            return self._percent_scale(column)
        ratios = self._unit_ratio(unit, column)
        return [factor * ratio for factor in self._factors(figure, column, unit) for ratio in ratios]

    def _factors(self, figure: Figure, column: Column, unit: str | None) -> list[float]:
        """Return the ratios of the scale of a figure, such as 1e6, to the possible scales of a column."""
        factors = [figure.factor / factor for factor in column.factors] or [
            *(figure.factor / factor for factor in column.question_factors),
            figure.factor,
        ]
        character = self.text[figure.end : figure.end + 1]
        names = f"{column.name} {self.table.question}"
        has_scale = re.search(rf"[万亿千]{character}(?![\u3400-\u9fff])", names) if _CHINESE.match(character) else None
        if has_scale and not column.factors and figure.factor == 1:
            factors = factors[:-1]
        plain = column.factors and figure.factor == 1 and unit not in CURRENCIES and not has_scale
        return [*factors, 1.0] if plain or figure.factor in column.question_factors else factors

    def _is_frequency(self, figure: Figure) -> bool:
        """Return whether "times" counts occurrences instead of comparing values."""
        if figure.value < 1:
            return False
        if figure.text.lower() == "twice" and _NO_NOUN.match(self.text, figure.end):
            return True
        return not self.words.multiple.search(self.text[max(0, figure.start - 12) : figure.end + 24])

    @staticmethod
    def _percent_scale(column: Column) -> list[float]:
        if not column.is_rate and (
            column.unit or (column.kinds and column.kinds <= _MONEY | {"count"} | _PHYSICAL_KINDS)
        ):
            return []
        if column.unit in CURRENCIES:
            return []
        if column.cell_unit == "%":
            return [1.0]
        values = [abs(value) for value in column.values if value is not None]
        if _PERCENT_NAME.search(column.name):
            return [1.0, 0.01] if max(values, default=0) <= 1 else [1.0]
        highest = max(values, default=0)
        return [0.01] if column.is_rate and 0.2 < highest <= 1 else [0.01, 1.0] if highest <= 1.5 else [1.0]

    @staticmethod
    def _unit_ratio(unit: str | None, column: Column) -> list[float]:
        """Return the factor that converts `unit` to the unit of a column; empty if the units are incompatible."""
        if unit is None or unit not in _UNITS and unit != "yen":
            return [1.0]
        if unit == "yen":
            return [1.0] if column.unit in {None, "cny", "jpy"} else []
        dimension, size = _UNITS[unit]
        if column.unit in _UNITS:
            own, own_size = _UNITS[column.unit]
            if own == dimension:
                return [size / own_size]
            return []
        if _PERCENT_NAME.search(column.name):
            return []
        if dimension in {"celsius", "calendar"}:
            return [1.0]
        is_count = column.kinds and column.kinds == {"count"} and not _VALUE_NAME.search(column.name)
        if dimension in CURRENCIES:
            return [] if is_count else [1.0]
        return [] if is_count or (column.kinds and column.kinds <= _MONEY) else [1.0]

    def _says_ratio(self) -> bool:
        return bool(self.words.ratio.search(self.text))

    def _one_value(self, rows: int, column: Column) -> float | None:
        """Return the value of one row, or the total of several; of rates the average."""
        values = self.table.values(rows, column.index)
        if not values:
            return None
        return fmean(values) if len(values) > 1 and (column.is_rate or column.has("average")) else sum(values)

    def _open_totals(self, rows: int) -> bool:
        """Return whether a total of `rows` would have to include rows that were cut off."""
        return self.table.truncated and rows == self.table.all and not self.words.shown.search(self.text)

    def _superlative_columns(self, start: int, end: int) -> frozenset[int]:
        metrics = self.reading.metrics
        segment = self.reading.segment(start)
        inside = [m for m in metrics if m.start >= start and m.start < end]
        if inside:
            metrics_by_name = [
                m
                for m in metrics
                if m.by_name and 0 <= m.start - end <= 16 and self.reading.segment(m.start) == segment
            ]
            metrics_used = inside if any(m.by_name for m in inside) else [*inside, *metrics_by_name[:1]]
            return frozenset(column for metric in metrics_used for column in metric.columns)
        after = inside or [
            m for m in metrics if m.start >= end and m.start - end <= 40 and self.reading.segment(m.start) == segment
        ]
        before = [m for m in metrics if m.end <= start and self.reading.segment(m.start) == segment]
        if after or before:
            return frozenset(c for m in (*after[:1], *before[-1:]) for c in m.columns)
        anywhere = [m for m in metrics if m.end <= start][-1:]
        following = next((figure for figure in self.reading.figures if figure.start >= end), None)
        metric_of_next = self.reading.owned(following.end) if following and not anywhere else None
        if metric_of_next:
            return metric_of_next.columns
        return anywhere[0].columns if anywhere else self.table.metric_indexes

    @staticmethod
    def _is_better_low(column: Column) -> bool:
        return any(words.better_low.search(column.name) for words in all_vocabularies())

    def _time_pairs(
        self, start: int, end: int, rows: int, figure: Figure | None = None
    ) -> Iterator[tuple[int, int, str]]:
        """Yield pairs of later and earlier rows between which a change may be stated."""
        steps = [mask for _, mask in self.table.time_steps]
        if len(steps) < 2:
            return
        base = next((mask for mask, _, _ in self.rows_for(start, end, None, frozenset({-1}))), self.table.all)
        periods = self._periods_of(self.reading, base)
        carried = not periods and self.reading.before is not None
        if not periods and self.reading.before is not None:
            periods = self._periods_of(self.reading.before)
        periods = [mask for mask in periods if mask != self.table.all]
        pairs = [(late, early) for early, late in combinations(periods, 2) if not late & early]
        ranges = [group for group in self.reading.in_dimension(-1) if group.is_range and len(group.members) == 2]
        is_range = len(periods) == 2 and bool(ranges) and figure is None
        if not is_range:
            pairs += self._pairs_beside(periods, start, end)
        if len(periods) == 1:
            pairs += self._pairs_with_ends(periods[0], base, end, figure)
        base_steps = [mask & base for mask in steps if mask & base]
        if (not periods or (carried and not is_range)) and len(base_steps) > 1:
            pairs.append((base_steps[-1], base_steps[0]))
            if not self.words.always.search(self.text):
                pairs.append((base_steps[-1], base_steps[-2]))
        yield from ((base & late, base & early, "time") for late, early in pairs if base & late and base & early)

    def _periods_of(self, reading: Reading, base: int = -1) -> list[int]:
        """Return the rows of the periods that a sentence names, in order of time, if they share rows with `base`."""
        members = [member for group in reading.in_dimension(-1) for member in group.members]
        return self._sort_by_time({member.rows for member in members if member.rows & base})

    def _pairs_beside(self, periods: Sequence[int], start: int, end: int) -> Iterator[tuple[int, int]]:
        """Yield each period and the one before it, and the one after it if the sentence mentions it."""
        governing = {member.rows for group in self.reading.governing(start, end, -1) for member in group.members}
        for mask in periods:
            if len(periods) == 1 or mask in governing or self.words.previous.search(self.text):
                yield from ((mask, earlier) for earlier in self._before(mask))
                if self.words.following.search(self.text):
                    yield from ((later, mask) for later in self._after(mask))

    def _pairs_with_ends(self, mask: int, base: int, end: int, figure: Figure | None) -> Iterator[tuple[int, int]]:
        """Yield the only period of the sentence with the first and the last period of the table, and its own ends."""
        steps = [step for _, step in self.table.time_steps]
        since = self.words.since.search(self.text[: end + 16])
        if not steps[-1] & mask and (figure or since or not any(base & earlier for earlier in self._before(mask))):
            yield steps[-1], mask
        if figure and not steps[0] & mask and not self.words.previous.search(self.text):
            yield mask, steps[0]
        inside = [step & mask for step in steps if step & mask & base]
        if len(inside) > 1:
            yield inside[-1], inside[0]

    def _sort_by_time(self, masks: set[int]) -> list[int]:
        """Return sets of rows sorted by their first period."""
        orders = [
            (next((at for at, (_, rows) in enumerate(self.table.time_steps) if rows & mask), 0), mask) for mask in masks
        ]
        return [mask for _, mask in sorted(orders)]

    def _before(self, mask: int) -> Iterator[int]:
        """Yield the rows of the previous period, and of the same period of the previous year."""
        steps = self.table.time_steps
        inside = [at for at, (_, rows) in enumerate(steps) if rows & mask]
        if not inside:
            return
        size = len(inside)
        if inside[0] > 0:
            earlier = 0
            for _, rows in steps[max(0, inside[0] - size) : inside[0]]:
                earlier |= rows
            yield earlier
        year_before = 0
        for at in inside:
            own = steps[at][0]
            for other, rows in steps:
                if other[0] == own[0] - 1 and other[1:] == own[1:] and own[0]:
                    year_before |= rows
        if year_before:
            yield year_before

    def _after(self, mask: int) -> Iterator[int]:
        """Yield the rows of the next period."""
        inside = [at for at, (_, rows) in enumerate(self.table.time_steps) if rows & mask]
        later = 0
        for _, rows in self.table.time_steps[inside[-1] + 1 : inside[-1] + 1 + len(inside)] if inside else ():
            later |= rows
        if later:
            yield later

    def _column_pairs(self, figure: Figure | None, family: Sequence[Column]) -> Iterator[tuple[Column, Column]]:
        """Yield pairs of earlier and later columns between which a change may be stated."""
        named_columns = [
            column for column in family if any(column.index in group.columns for group in self.reading.in_dimension(-2))
        ]
        if len(named_columns) > 1:
            yield from (
                (one, two)
                for one, two in product(named_columns, named_columns)
                if family.index(one) < family.index(two)
            )
            yield from ((family[at - 1], family[at]) for at in map(family.index, named_columns) if at)
        elif len(named_columns) == 1:
            at = family.index(named_columns[0])
            if at:
                yield family[at - 1], named_columns[0]
            if at < len(family) - 1 and (self.words.since.search(self.text) or not at):
                yield named_columns[0], family[-1]
        else:
            yield family[0], family[-1]
            if len(family) > 2:
                yield family[-2], family[-1]
