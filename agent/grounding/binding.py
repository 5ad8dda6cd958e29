"""Which rows and columns a place of a sentence may be of, and the values of those."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
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
_MEASURED = {
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
_NOUNS = re.compile(rf"[\s\u00a0]*({_PREPOSITION}[^\W\d_]+(?: {_PREPOSITION}[^\W\d_]+)?)")
"""One or two words behind a figure."""
_CHINESE = re.compile(r"[\u3400-\u9fff]")
_ALONE = re.compile(r"\s*(?:$|[.,;:)]|(?:in|among|on|at|during|since)\b)", re.IGNORECASE)
_VALUED = re.compile(r"value|amount|worth|sum|price|cost|total|сумм|стоимост|цен|руб|额|值|价|金", re.IGNORECASE)
_SCALED = re.compile(r"pct|percent|perc\b|проц|%|百分", re.IGNORECASE)
MOST_ROWS = 400


@dataclass(frozen=True)
class Objection:
    """A claim that the rows do not support: its words, where they stand, and why."""

    start: int
    end: int
    claim: str
    reason: str


@dataclass(frozen=True)
class Fact:
    """A value that follows from rows.

    `kind` is "value" in the unit of `column`, "percent", "points", "ratio" or "count".

    `change` is its sign where it is a difference, 0 where either sign will do.
    """

    value: float
    kind: str
    column: Column | None = None
    compares: str = ""


class Binding:
    """A sentence bound to the rows and columns of one table. The checks are built on it."""

    def __init__(
        self, reading: Reading, said: set[tuple[str, float]], stated: dict[tuple[int, int], list[float]]
    ) -> None:
        self.reading = reading
        self.table = reading.table
        self.words = reading.words
        self.text = reading.text
        self.said = said
        self.stated = stated

    def _objection(self, start: int, end: int, reason: str) -> Objection:
        return Objection(start, end, self.text[start:end].strip(), reason)

    def contexts(self, figure: Figure) -> Iterator[tuple[int, frozenset[int], bool]]:
        """Yield the rows and columns that a figure may be of, and whether the sentence names rows."""
        columns = self._columns(figure)
        for rows, family, bound in self.rows_for(figure.start, figure.end, figure):
            timeless = frozenset(at for at in columns if not self.table.columns[at].periods)
            yield rows, (columns & family) | timeless if family else columns, bound
        if self.reading.is_whole(figure):
            yield self.table.all, columns, False
        if self.words.rest.search(self.reading.part(figure.start)):
            named = 0
            for name in self.reading.names:
                named |= name.rows
            if named and self.table.all & ~named:
                yield self.table.all & ~named, columns, True

    def _columns(self, figure: Figure) -> frozenset[int]:
        every = frozenset(column.index for column in self.table.metrics)
        named = (
            None
            if self.reading.is_whole(figure) or (self.reading.paired(figure) and not self.reading.owned(figure.end))
            else self.reading.columns_for(figure.start, figure.end)
        )
        columns = every if named is None else named
        behind = self._kinds_behind(figure)
        if behind and self.reading.owned(figure.end) is None:
            alike = frozenset(
                column.index
                for column in self.table.metrics
                if not column.kinds or column.is_change or column.kinds & behind
            )
            columns = columns & alike or alike
        if named is not None and (self.words.up.search(self.text) or self.words.down.search(self.text)):
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
        whole_only = named is not None and all(
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
        fact = [at for at in columns if self._scale(figure, Fact(0.0, "value", self.table.columns[at]), unit)]
        if named is not None and not fact and figure.kind in {"plain", "percent"}:
            return columns | {
                at for at in every if self._scale(figure, Fact(0.0, "value", self.table.columns[at]), unit)
            }
        return columns

    def _kinds_behind(self, figure: Figure) -> frozenset[str]:
        """Return the kinds that the word behind a figure names, where no column and no question has that word."""
        match = _NOUNS.match(self.text, figure.end)
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
        found = measures_of(word)
        known = {measure for column in self.table.columns for measure in column.measures}
        labels = {each for column in self.table.labels for each in column.stems}
        if found & (known | measures_of(self.table.question)) or any(stem(each) in labels for each in word.split()):
            return frozenset()
        kinds = kinds_of(found)
        return kinds if "count" in kinds else kinds & _MONEY

    def rows_for(
        self, start: int, end: int, figure: Figure | None = None, without: frozenset[int] = frozenset()
    ) -> Iterator[tuple[int, frozenset[int], bool]]:
        """Yield the rows that a place may be of, the columns of its period, and whether the sentence names rows."""
        options: list[list[tuple[int, frozenset[int]]]] = []
        inherited: list[int] = []
        named = False
        for dimension in self.reading.dimensions:
            if dimension in without:
                continue
            groups = self.reading.governing(start, end, dimension, figure)
            if groups:
                named = True
                if (
                    figure is not None
                    and self.reading.paired(figure)
                    and not any(self._beside(group, figure) for group in groups)
                ):
                    groups = self.reading.in_dimension(dimension)
                    every = [Group((member,)) for group in groups for member in group.members]
                    alone = len(every) == 1 and self.reading.figures.index(figure) > 0
                    groups = [*groups, *every]
                else:
                    alone = False
                near = any(self.reading.segment(group.start) == self.reading.segment(start) for group in groups)
                ahead = (
                    not near
                    and all(group.start >= end for group in groups)
                    and groups[0] is not self.reading.following(end, groups)
                )
                chosen = [(self._range_rows(group), group.columns) for group in groups]
                if alone or ahead:
                    chosen.append((self.table.all, frozenset()))
                if (
                    dimension < 0
                    and figure is not None
                    and self.reading.paired(figure)
                    and not any(self._beside(group, figure) for group in groups)
                ):
                    chosen.append((self.table.all, frozenset()))
                if not near:
                    inherited.append(len(options))
                part = self.reading.part(start)
                moved = (
                    dimension < 0
                    and (self.words.up.search(part) or self.words.down.search(part) or self.words.since.search(part))
                    and not any(self.reading.segment(group.start) == self.reading.segment(start) for group in groups)
                )
                if dimension == -1 and self.words.previous.search(self.text):
                    chosen += [(mask, frozenset()) for group in groups for mask in self._before(group.rows)]
                if moved or (dimension < 0 and self.words.previous.search(self.text)):
                    chosen.append((self.table.all, frozenset()))
                options.append(chosen)
        before = self.reading.before
        if before is not None:
            pronoun = bool(self.words.pronoun.match(self.text))
            for dimension in before.dimensions:
                if dimension in self.reading.dimensions or dimension in without:
                    continue
                carried = [(self._range_rows(group), group.columns) for group in before.in_dimension(dimension)]
                if carried and (pronoun or dimension < 0):
                    named = named or pronoun
                    options.append(carried if pronoun and dimension >= 0 else [*carried, (self.table.all, frozenset())])
        for combination in list(product(*options))[:24]:
            rows, columns = self.table.all, frozenset[int]()
            for mask, family in combination:
                rows &= mask
                columns |= family
            if not rows and len(combination) > 1:
                rows = self.table.all
                for at, (mask, _) in enumerate(combination):
                    rows &= self.table.all if at in inherited else mask
            if rows:
                yield rows, columns, named

    def _beside(self, group: Group, figure: Figure) -> bool:
        """Return whether a name stands right before or behind a figure."""
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

    def _scale(self, figure: Figure, fact: Fact, unit: str | None) -> list[float]:
        """Return by what a figure is to be multiplied to be a value like that of `fact`; nothing where it cannot be."""
        if fact.kind == "percent":
            return [1.0] if figure.kind == "percent" else []
        if fact.kind == "points":
            return [1.0] if figure.kind == "points" else []
        if fact.kind == "ratio":
            fraction = figure.kind == "times" or (figure.kind == "plain" and self._says_ratio())
            return [1.0] if fraction else []
        if fact.kind == "count":
            return [1.0] if figure.kind == "plain" and figure.factor == 1 and unit is None else []
        column = fact.column
        if column is not None and figure.kind == "times" and figure.value < 1 and column.is_rate and not fact.compares:
            return [100.0 if scale == 1 else 1.0 for scale in self._percent_scale(column)]
        if column is None or figure.kind == "ordinal" or (figure.kind == "times" and not self._is_frequency(figure)):
            return []
        if figure.kind == "points" and not fact.compares:
            return [1.0, 0.01] if column.is_rate else []
        if figure.kind in {"percent", "points"}:
            return self._percent_scale(column)
        factors = [figure.factor / factor for factor in column.factors] or [
            *(figure.factor / factor for factor in column.question_factors),
            figure.factor,
        ]
        counted = self.text[figure.end : figure.end + 1]
        names = f"{column.name} {self.table.question}"
        scaled = re.search(rf"[万亿千]{counted}(?![\u3400-\u9fff])", names) if _CHINESE.match(counted) else None
        if scaled and not column.factors and figure.factor == 1:
            factors = factors[:-1]
        if (
            column.factors
            and figure.factor == 1
            and unit not in CURRENCIES
            and not scaled
            or figure.factor in column.question_factors
        ):
            factors.append(1.0)
        return [factor * ratio for factor in factors for ratio in self._unit_ratio(unit, column)]

    def _is_frequency(self, figure: Figure) -> bool:
        """Return whether "times" counts how often something was and compares nothing."""
        if figure.value < 1:
            return False
        if figure.text.lower() == "twice" and _ALONE.match(self.text, figure.end):
            return True
        return not self.words.multiple.search(self.text[max(0, figure.start - 12) : figure.end + 24])

    @staticmethod
    def _percent_scale(column: Column) -> list[float]:
        if not column.is_rate and (column.unit or (column.kinds and column.kinds <= _MONEY | {"count"} | _MEASURED)):
            return []
        if column.unit in CURRENCIES:
            return []
        values = [abs(value) for value in column.values if value is not None]
        if _SCALED.search(column.name):
            return [1.0, 0.01] if max(values, default=0) <= 1 else [1.0]
        highest = max(values, default=0)
        return [0.01] if column.is_rate and 0.2 < highest <= 1 else [0.01, 1.0] if highest <= 1.5 else [1.0]

    @staticmethod
    def _unit_ratio(unit: str | None, column: Column) -> list[float]:
        """Return by what a figure in `unit` is to be multiplied to be in that of a column; nothing where it cannot."""
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
        if _SCALED.search(column.name):
            return []
        if dimension in {"celsius", "calendar"}:
            return [1.0]
        counted = column.kinds and column.kinds == {"count"} and not _VALUED.search(column.name)
        if dimension in CURRENCIES:
            return [] if counted else [1.0]
        return [] if counted or (column.kinds and column.kinds <= _MONEY) else [1.0]

    def _says_ratio(self) -> bool:
        return bool(self.words.ratio.search(self.text))

    def _one_value(self, rows: int, column: Column) -> float | None:
        """Return the value of rows: that of one, the total of several; the average of rates."""
        values = self.table.values(rows, column.index)
        if not values:
            return None
        return fmean(values) if len(values) > 1 and (column.is_rate or column.has("average")) else sum(values)

    def _open_totals(self, rows: int) -> bool:
        """Return whether what is computed of `rows` would have to count rows that were cut off."""
        return self.table.truncated and rows == self.table.all and not self.words.shown.search(self.text)

    def _superlative_columns(self, start: int, end: int) -> frozenset[int]:
        metrics = self.reading.metrics
        segment = self.reading.segment(start)
        inside = [m for m in metrics if m.start >= start and m.start < end]
        if inside:
            named = [
                m
                for m in metrics
                if m.by_name and 0 <= m.start - end <= 16 and self.reading.segment(m.start) == segment
            ]
            chosen = inside if any(m.by_name for m in inside) else [*inside, *named[:1]]
            return frozenset(column for metric in chosen for column in metric.columns)
        after = inside or [
            m for m in metrics if m.start >= end and m.start - end <= 40 and self.reading.segment(m.start) == segment
        ]
        before = [m for m in metrics if m.end <= start and self.reading.segment(m.start) == segment]
        if after or before:
            return frozenset(c for m in (*after[:1], *before[-1:]) for c in m.columns)
        anywhere = [m for m in metrics if m.end <= start][-1:]
        following = next((figure for figure in self.reading.figures if figure.start >= end), None)
        owned = self.reading.owned(following.end) if following and not anywhere else None
        if owned:
            return owned.columns
        return anywhere[0].columns if anywhere else self.table.metric_indexes

    @staticmethod
    def _is_better_low(column: Column) -> bool:
        return any(words.better_low.search(column.name) for words in all_vocabularies())

    def _time_pairs(
        self, start: int, end: int, rows: int, figure: Figure | None = None
    ) -> Iterator[tuple[int, int, str]]:
        """Yield later and earlier rows that a change may be between."""
        steps = self.table.time_steps
        if len(steps) < 2:
            return
        base = next((mask for mask, _, _ in self.rows_for(start, end, None, frozenset({-1}))), self.table.all)
        base_steps = [mask & base for _, mask in steps if mask & base]
        mentions = self._in_time(
            {
                member.rows
                for group in self.reading.in_dimension(-1)
                for member in group.members
                if member.rows and member.rows & base
            }
        )
        carried = False
        if not mentions and self.reading.before is not None:
            mentions = self._in_time(
                {
                    member.rows
                    for group in self.reading.before.in_dimension(-1)
                    for member in group.members
                    if member.rows
                }
            )
            carried = True
        mentions = [mask for mask in mentions if mask != self.table.all]
        governing = {member.rows for group in self.reading.governing(start, end, -1) for member in group.members}
        if len(mentions) > 1:
            for at, early in enumerate(mentions):
                for late in mentions[at + 1 :]:
                    if base & late and base & early and not late & early:
                        yield base & late, base & early, "time"
        ranges = [group for group in self.reading.in_dimension(-1) if group.is_range and len(group.members) == 2]
        if len(mentions) == 2 and ranges and figure is None:
            return
        for mask in mentions:
            if len(mentions) > 1 and mask not in governing and not self.words.previous.search(self.text):
                continue
            for earlier in self._before(mask):
                if base & mask and base & earlier:
                    yield base & mask, base & earlier, "time"
            if self.words.following.search(self.text):
                for later in self._after(mask):
                    if base & mask and base & later:
                        yield base & later, base & mask, "time"
            if len(mentions) > 1:
                continue
            last, first = steps[-1][1], steps[0][1]
            if (
                base & last
                and not last & mask
                and base & mask
                and (
                    figure is not None
                    or not any(base & earlier for earlier in self._before(mask))
                    or self.words.since.search(self.text[: end + 16])
                )
            ):
                yield base & last, base & mask, "time"
            if (
                figure
                and base & first
                and base & mask
                and not first & mask
                and not self.words.previous.search(self.text)
            ):
                yield base & mask, base & first, "time"
            inside = [step & mask for step in base_steps if step & mask]
            if len(inside) > 1:
                yield inside[-1], inside[0], "time"
        if (not mentions or carried) and len(base_steps) > 1:
            yield base_steps[-1], base_steps[0], "time"
            if not self.words.always.search(self.text):
                yield base_steps[-1], base_steps[-2], "time"

    def _in_time(self, masks: set[int]) -> list[int]:
        """Return sets of rows by the time of their first."""
        orders = [
            (next((at for at, (_, rows) in enumerate(self.table.time_steps) if rows & mask), 0), mask) for mask in masks
        ]
        return [mask for _, mask in sorted(orders)]

    def _before(self, mask: int) -> Iterator[int]:
        """Yield the rows of the period before one, and those of the same period of the year before."""
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
        """Yield the rows of the period after one."""
        inside = [at for at, (_, rows) in enumerate(self.table.time_steps) if rows & mask]
        later = 0
        for _, rows in self.table.time_steps[inside[-1] + 1 : inside[-1] + 1 + len(inside)] if inside else ():
            later |= rows
        if later:
            yield later

    def _column_pairs(self, figure: Figure | None, family: Sequence[Column]) -> Iterator[tuple[Column, Column]]:
        """Yield earlier and later columns that a change may be between."""
        mentioned = [
            column for column in family if any(column.index in group.columns for group in self.reading.in_dimension(-2))
        ]
        if len(mentioned) > 1:
            yield from (
                (one, two) for one, two in product(mentioned, mentioned) if family.index(one) < family.index(two)
            )
            yield from ((family[at - 1], family[at]) for at in map(family.index, mentioned) if at)
        elif len(mentioned) == 1:
            at = family.index(mentioned[0])
            if at:
                yield family[at - 1], mentioned[0]
            if at < len(family) - 1 and (self.words.since.search(self.text) or not at):
                yield mentioned[0], family[-1]
        else:
            yield family[0], family[-1]
            if len(family) > 2:
                yield family[-2], family[-1]
