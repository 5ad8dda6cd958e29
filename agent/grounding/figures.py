"""Check figures: each must be a value of the rows that its sentence names, or be computed from such values."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import date
from itertools import chain, combinations, permutations
from statistics import fmean, median

from agent.grounding.binding import CURRENCIES, MAX_ROWS_PER_CHECK, Fact
from agent.grounding.counts import Counts
from agent.grounding.facts import ORDERED, Column, bits, noun_after, readable, stems_of
from agent.grounding.numbers import Figure, hedge_of, spans_of
from agent.grounding.reading import Group, nearest

_PERCENT_NAME = re.compile(r"pct|percent|perc\b|проц|%|百分", re.IGNORECASE)
_CLOCK = re.compile(
    r"\s?(?:[ap]\.?m\b|o'clock|час(?:а|ов)?\b|[点时]|in the (?:morning|afternoon|evening)"
    r"|(?:and|to|-|–)\s?\d+\s(?:in the|[ap]\.?m|o'clock))",
    re.IGNORECASE,
)
"""Words after an hour of the day."""
_ISO = re.compile(r"\d{4}-(?:0[1-9]|1[0-2])-\d{2}")
_PER_MANY = re.compile(r"(?:\bper|\bfor every|(?<!\w)на каждые|每)\s?$", re.IGNORECASE)
_MAX_INTERPRETATIONS = 3
_PER_PERIOD = re.compile(r"\b(?:daily|per day|monthly|weekly)\b|в день|суточн|日均|月均|每日", re.IGNORECASE)
"""Averages over time, which can be added over names."""
_PENALTY_AFTER = 3
"""Added to the distance of a word after a figure, in characters: a word before it takes precedence."""
_MAX_LIMIT_RATIO = 3
"""Maximum ratio of a value to its limit in a phrase such as "over 100"."""
_MAX_ROWS_IN_RUNS = 24
"""Maximum number of rows for which totals of consecutive rows are computed."""


_MAX_SHORT = 30
"""Maximum number of rows of a result whose every value supports a figure."""
_FEW_ROWS = 5
"""Number of rows of a longer result of which the same holds, as a sentence names them."""
_MAX_COVERED = 0.08


def _is_distinctive(low: float, high: float, values: Collection[float]) -> bool:
    """Return whether few of the figures like one from `low` to `high` have one of `values`, so that it is no chance.

    Figures from half to twice the value are compared, at least five on either side, with the same number of decimals.

    >>> _is_distinctive(19.5, 20.5, range(1, 60)), _is_distinctive(20044.5, 20045.5, [20045.1, 30010.2])
    (False, True)
    """
    width = max(high - low, 1e-9)
    middle = (low + high) / 2
    reach = max(abs(middle) / 2, 5 * width), max(abs(middle), 5 * width)
    covered = {round((value - middle) / width) for value in values if -reach[0] <= value - middle <= reach[1]}
    return len(covered - {0}) <= _MAX_COVERED * sum(reach) / width


def _day(text: str) -> date | None:
    """Return the day of an ISO date; None if it does not exist."""
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


class Figures(Counts):
    """The checks of figures."""

    def figure(self, figure: Figure) -> str | None:
        """Return the reason why a figure is not supported; None if it is."""
        if self._needs_no_fact(figure):
            return None
        if not figure.readings:
            return "no row has this"
        contexts = list(self.contexts(figure))
        if self._is_streak(figure):
            return None
        if self._counts_names(figure):
            return None if self._is_count(figure, contexts) else "the number of rows is another"
        if any(self._supports(figure, rows, columns, bound) for rows, columns, bound in contexts):
            return None
        if any(self._supports_other_column(figure, rows, columns, bound) for rows, columns, bound in contexts):
            return None
        if self._is_count(figure, contexts) or self._is_threshold(figure) or self._is_derived(figure):
            return None
        if self._is_duration(figure):
            return None
        owner = self._owner(figure)
        return f"the rows have it for {owner}" if owner else "it does not follow from the rows"

    def _supports_other_column(self, figure: Figure, rows: int, columns: frozenset[int], bound: bool) -> bool:
        """Return whether a figure is a value of another column, if all named columns have figures of their own."""
        explained = {
            at
            for at in columns
            for value in self.table.values(rows, at)
            for other in self.reading.figures
            if other is not figure and value in self.stated_values.get((other.start, other.end), ())
        }
        every = frozenset(column.index for column in self.table.metrics)
        return bound and columns <= explained and self._supports(figure, rows, every - explained, bound)

    def _is_streak(self, figure: Figure) -> bool:
        """Return whether the values rise or fall in this number of consecutive periods."""
        if not figure.is_whole or not self.words.streak.search(self.text[figure.end : figure.end + 32]):
            if not figure.is_whole or not self.words.streak.search(self.text[max(0, figure.start - 4) : figure.start]):
                return False
        columns = self.reading.columns_for(figure.start, figure.end) or self.table.metric_indexes
        signs = [sign for sign, words in ((1, self.words.up), (-1, self.words.down)) if words.search(self.text)]
        for at in columns if len(self.table.time_steps) > 2 else ():
            values = [self._one_value(mask, self.table.columns[at]) or 0.0 for _, mask in self.table.time_steps]
            for sign in signs:
                run = 0
                for one, two in zip(values, [*values[1:], None], strict=True):
                    if two is not None and (two - one) * sign > 0:
                        run += 1
                    elif run == figure.value:
                        return True
                    else:
                        run = 0
        return False

    def _is_duration(self, figure: Figure) -> bool:
        """Return whether a figure is the time between two dates of one row, in whole or fractional units."""
        size = {"d": 1.0, "week": 7.0, "month": 30.44, "year": 365.25}.get(self.reading.unit_of(figure) or "")
        if size is None or figure.kind != "plain":
            return False
        dated = [column.index for column in self.table.columns if column.kind == "period"]
        spans = spans_of(figure, self.text)
        for row in self.table.rows[:MAX_ROWS_PER_CHECK] if len(dated) > 1 else ():
            stated = [text[:10] for at in dated if _ISO.match(text := str(row[at]))]
            days = [day for text in stated if (day := _day(text))]
            for one, two in combinations(days, 2):
                value = abs((two - one).days) / size
                if any(low - 0.02 * value <= value <= high + 0.02 * value for low, high in spans):
                    return True
        return False

    def _needs_no_fact(self, figure: Figure) -> bool:
        """Return whether a figure repeats the question, or is a rank, a period or a unit instead of a value."""
        before = self.text[: figure.start]
        kinds = {figure.kind, "plain"} if figure.kind == "ordinal" else {figure.kind}
        counts = figure.is_word and not self.reading.unit_of(figure)
        if not counts and any(
            (kind, value * figure.factor) in self.question_figures for kind in kinds for value, _ in figure.readings
        ):
            return True
        if figure.is_whole and self._repeats_count(figure):
            return True
        if figure.is_whole and any(
            column.values[0] is not None
            and ORDERED.search(readable(column.name))
            and not self.reading.owned(figure.end)
            for column in self.table.labels
        ):
            return _CLOCK.match(self.text, figure.end) is not None
        if figure.is_word and figure.value == 0.5 and any(column.has("median") for column in self.table.metrics):
            return True
        if figure.value in {10, 100, 1000, 10_000} and _PER_MANY.search(before):
            return True
        rows = len(self.table.rows)
        if figure.kind == "ordinal":
            return bool(figure.readings) and 1 <= figure.readings[0][0] <= max(rows, 1)
        if figure.kind == "times" and figure.is_word and figure.value <= rows and self._is_frequency(figure):
            return True
        dated = self.words.dated.search(before) or self.words.dated_after.match(self.text, figure.end)
        if figure.is_whole and dated and self.table.years and 1900 <= figure.value <= 2100:
            return True
        return figure.is_whole and 1 <= figure.value <= rows and self._is_size_of_list(figure)

    def _repeats_count(self, figure: Figure) -> bool:
        """Return whether a number and its noun stand in the question, as in "the three regions", and are no rows."""
        noun = noun_after(self.text, figure.end)
        is_label = any(set(noun) & set(stems_of(readable(column.name))) for column in self.table.labels)
        return not is_label and (figure.value, noun) in self.table.question_counts

    def _is_size_of_list(self, figure: Figure) -> bool:
        """Return whether a number counts the first rows, as in "top 3", or all periods of the table."""
        before = self.text[: figure.start]
        behind = self.text[figure.end : figure.end + 24].lstrip(" 个家名")
        extremes = (self.words.highest, self.words.lowest, self.words.best, self.words.worst, self.words.first_last)
        if any(pattern.match(behind) for pattern in extremes):
            return True
        if self.words.top.search(before) or self.words.bottom.search(before):
            return True
        steps = len(self.table.time_steps) or max((len(family) for family in self.table.families), default=0)
        years = len(self.table.years)
        return (
            self.reading.unit_of(figure) in {"year", "month", "week", "d"}
            and not self._conditions()
            and figure.value in {steps, steps - 1, years, years - 1}
        )

    def _supports(self, figure: Figure, rows: int, columns: frozenset[int], bound: bool) -> bool:
        falls = bool(
            self.words.negative.search(self.text)
            or self.words.down.search(self.text)
            or self.words.less.search(self.text)
        )
        spans = self._range_spans(figure) or spans_of(figure, self.text, falls)
        unit = self.reading.unit_of(figure)
        currencies = self.table.currencies(rows)
        if unit in CURRENCIES and currencies and unit not in currencies:
            return False
        hedge = hedge_of(figure, self.text)
        open_ended = (
            (bound or len(self.table.rows) == 1)
            and hedge in {"over", "under", "at_least", "at_most"}
            and not self.words.nearly.search(self.text[max(0, figure.start - 30) : figure.start])
        )

        def fits(fact: Fact) -> bool:
            return any(
                any(low * factor - room <= fact.value <= high * factor + room for low, high in spans)
                or (open_ended and self._is_beyond(figure, fact, factor, rows, columns))
                for room in (1e-12 * abs(fact.value),)
                for factor in self._scale(figure, fact, unit)
            )

        if len(self.table.rows) <= _MAX_SHORT or rows.bit_count() <= _FEW_ROWS:
            return any(map(fits, self.facts(figure, rows, columns, bound)))
        if any(map(fits, self._certain_facts(figure, rows, columns))):
            return True
        for part in self._facts_by_kind(figure, rows, columns, bound):
            facts = list(part)
            if any(map(fits, facts)):
                scaled = {fact.value / factor for fact in facts for factor in self._scale(figure, fact, unit)}
                if any(_is_distinctive(low, high, scaled) for low, high in spans):
                    return True
        return False

    def _is_beyond(self, figure: Figure, fact: Fact, factor: float, rows: int, columns: frozenset[int]) -> bool:
        """Return whether a cell is beyond a limit such as "over 100", which a figure states, and near it."""
        if not fact.column or fact.value not in self.table.values(rows, fact.column.index):
            return False
        limit = figure.readings[0][0] * factor
        over = hedge_of(figure, self.text) in {"over", "at_least"}
        if over:
            near = limit < fact.value <= _MAX_LIMIT_RATIO * limit
        else:
            near = limit > fact.value >= limit / _MAX_LIMIT_RATIO
        beyond = fact.value > limit if over else fact.value < limit
        return near or (beyond and fact.column.index in columns and len(columns) <= 2)

    def _certain_facts(self, figure: Figure, rows: int, columns: frozenset[int]) -> Iterator[Fact]:
        """Yield the few values that summarise many rows: extremes, and totals and averages that the sentence names."""
        op = self._aggregate(figure)
        for at in columns:
            column, values = self.table.columns[at], self.table.values(rows, at)
            if not values:
                continue
            yield from (Fact(value, "value", column) for value in {min(values), max(values)})
            if self._open_totals(rows):
                continue
            if op == "total" or (not op and column.is_additive):
                yield Fact(sum(values), "value", column)
            if op == "average" or self.words.average.search(self.text):
                yield Fact(fmean(values), "value", column)
            if op == "median" or self.words.median.search(self.text):
                yield Fact(median(values), "value", column)
            if self._states_difference(figure):
                yield Fact(max(values) - min(values), "value", column, "any")
        if figure.kind in {"percent", "times"} and not self._open_totals(rows):
            yield from self._shares(rows, columns)

    def _range_spans(self, figure: Figure) -> list[tuple[float, float]]:
        """Return the interval of "42-43" if a figure is one of its ends; empty for other figures."""
        for one, two in zip(self.reading.figures, self.reading.figures[1:], strict=False):
            between = self.text[one.number_end : two.start]
            if figure in (one, two) and re.fullmatch(r"\s?[-–—~]\s?", between) and one.readings and two.readings:
                low, high = one.readings[0][0], two.readings[0][0]
                if low < high <= 1.2 * low:
                    return [(low, high)]
        return []

    def _aggregate(self, figure: Figure) -> str:
        """Return "total", "average" or "median" if the sentence calls a figure so, else an empty text."""
        best: tuple[int, str] = (40, "")
        for name in ("total", "average", "median"):
            for match in getattr(self.words, name).finditer(self.text):
                if any(metric.start <= match.start() < metric.end for metric in self.reading.metrics):
                    continue
                near = [
                    other
                    for other in self.reading.figures
                    if other is figure or (other.kind != "ordinal" and not self._counts_names(other))
                ]
                distances = {
                    other.start: other.start - match.end()
                    if other.start >= match.end()
                    else match.start() - other.end + _PENALTY_AFTER
                    for other in near
                }
                if not distances or self.reading.segment(match.start()) != self.reading.segment(figure.start):
                    continue
                distance = distances.get(figure.start, 99)
                if distance <= min(distances.values()) and distance < best[0]:
                    best = distance, name
        return best[1]

    def facts(self, figure: Figure, rows: int, columns: frozenset[int], bound: bool) -> Iterator[Fact]:
        """Yield the values that a figure of `rows` and `columns` may state."""
        return chain.from_iterable(self._facts_by_kind(figure, rows, columns, bound))

    def _facts_by_kind(
        self, figure: Figure, rows: int, columns: frozenset[int], bound: bool
    ) -> Iterator[Iterable[Fact]]:
        """Yield the same by the way in which they are computed."""
        op = self._aggregate(figure)
        several = rows & (rows - 1) != 0
        for at in columns:
            yield self._values(figure, rows, self.table.columns[at], op, bound)
        if self._open_totals(rows):
            return
        named_so = op == "average" and any(self.table.columns[at].has("average") for at in columns)
        combined = op and figure.kind == "plain" and not named_so and not self._states_difference(figure)
        if not (combined and several and op == "median"):
            yield self._across_columns(figure, rows, columns)
        if len(self.table.metrics) > 1 and 1 < rows.bit_count() <= _MAX_ROWS_IN_RUNS and not self._refers_to_all_rows():
            # The values computed from two columns of each row: one part, which is compared with a figure as a whole.
            yield chain.from_iterable(self._across_columns(figure, 1 << row, columns) for row in bits(rows))
        yield self._top_facts(figure, rows, columns)
        if several and self.words.weighted.search(self.text):
            yield self._weighted_means(rows, columns)
        if combined:
            return
        if figure.kind in {"percent", "times"}:
            yield self._shares(rows, columns)
        yield (
            fact
            for column, subject, object_, comparison in self._pairs(figure, rows, columns, bound)
            for fact in self._pair_facts(figure, column, subject, object_, comparison)
        )
        patterns = (self.words.rest, self.words.negation, self.words.complement)
        if figure.kind == "percent" and any(pattern.search(self.text) for pattern in patterns):
            scales = {at: 1 if _PERCENT_NAME.search(self.table.columns[at].name) else 100 for at in columns}
            shares = [scale * value for at, scale in scales.items() for value in self.table.values(rows, at)]
            yield (Fact(100 - share, "percent") for share in shares)

    def _weighted_means(self, rows: int, columns: frozenset[int]) -> Iterator[Fact]:
        """Yield the means of columns, weighted by another column."""
        for one, two in permutations(self.table.metrics, 2):
            pairs = [
                (value, weight)
                for at in bits(rows)
                if (value := one.values[at]) is not None and (weight := two.values[at]) is not None
            ]
            whole = sum(weight for _, weight in pairs)
            if one.index in columns and whole:
                yield Fact(sum(value * weight for value, weight in pairs) / whole, "value", one)

    def _values(self, figure: Figure, rows: int, column: Column, op: str, bound: bool) -> Iterator[Fact]:
        """Yield the values of a column, and its total, average and median if the sentence mentions them."""
        values = self.table.values(rows, column.index)
        groups = [
            group
            for group in self.reading.groups
            if len(group.members) > 1 and not group.is_range and group.dimension >= 0
        ]
        is_list = any(group.rows & rows == rows and rows & (rows - 1) for group in groups)
        single = len(values) == 1 or column.has("total") and op == "total" or column.has("average") and op == "average"
        differ = is_list and len(set(values)) > 1 and not self.words.every.search(self.text)
        if not differ and (single or not op or (op == "average" and column.is_rate and bound and not is_list)):
            yield from (Fact(value, "value", column) for value in values)
        if len(values) > 1 and not self._open_totals(rows):
            if op == "total" or (not op and column.is_additive and (bound or is_list or rows == self.table.all)):
                yield Fact(sum(values), "value", column)
            has_ratio_word = self.words.per.match(self.text, figure.end) or self.words.each.search(self.text)
            if (
                op == "average"
                or has_ratio_word
                or self.words.average.search(self.text)
                or self.words.ratio.search(self.text)
            ):
                yield Fact(fmean(values), "value", column)
            if op == "median" or self.words.median.search(self.text):
                yield Fact(median(values), "value", column)
        for group in groups if is_list and not op and column.is_additive else ():
            totals = {sum(self.table.values(member.rows & rows, column.index)) for member in group.members}
            if len(totals) == 1:
                yield Fact(totals.pop(), "value", column)
        if (op or bound) and not self.reading.in_dimension(-2):
            yield from self._over_families(rows, column, op)
        yield from self._group_totals(figure, rows, column)

    def _over_families(self, rows: int, column: Column, op: str) -> Iterator[Fact]:
        """Yield the total or average over all periods of a metric whose first period is `column`."""
        for family in self.table.families:
            if column is family[0]:
                sums = [sum(self.table.values(rows, member.index)) for member in family]
                yield Fact(fmean(sums) if op == "average" else sum(sums), "value", column)

    def _group_totals(self, figure: Figure, rows: int, column: Column) -> Iterator[Fact]:
        """Yield the totals of a name, a period or a run of consecutive rows, such as the last three months."""
        if rows != self.table.all or self._open_totals(rows):
            return
        masks = [mask for label in self.table.labels for mask in self.table.groups(label.index).values()]
        masks += [mask for _, mask in self.table.time_steps]
        signs = [
            sign for sign, words in ((1, self.words.positive), (-1, self.words.negative)) if words.search(self.text)
        ]
        for sign in signs if len(signs) == 1 else ():
            masks.append(sum(1 << at for at in bits(rows) if sign * (column.values[at] or 0.0) > 0))
        others = (other for other in self.reading.figures if other is not figure and other.is_whole)
        sizes = {int(other.value) for other in others if 2 <= other.value <= _MAX_ROWS_IN_RUNS}
        order = list(bits(rows)) if self.table.is_ordered and not self._refers_to_all_rows() else []
        masks += [
            sum(1 << row for row in order[at : at + size]) for size in sizes for at in range(len(order) - size + 1)
        ]
        for mask in dict.fromkeys(masks):
            values = self.table.values(mask, column.index)
            if len(values) > 1:
                if column.is_additive:
                    yield Fact(sum(values), "value", column)
                yield Fact(fmean(values), "value", column)

    def _refers_to_all_rows(self) -> bool:
        """Return whether the sentence refers to all rows, as in "over the six quarters"."""
        rows = len(self.table.rows)
        return any(figure.value == rows for figure in self.reading.figures) or bool(self.words.every.search(self.text))

    def _shares(self, rows: int, columns: frozenset[int]) -> Iterator[Fact]:
        wholes = {self.table.all}
        for group in self.reading.groups:
            if group.dimension >= -1 and group.rows & rows == rows and group.rows != rows:
                wholes.add(group.rows)
        parts = [(rows, mask) for mask in wholes]
        if len(self.table.time_steps) > 1:
            parts += [(rows & step, step) for _, step in self.table.time_steps]
        if rows & (rows - 1):
            yield from (Fact(100 * rows.bit_count() / mask.bit_count(), "percent") for mask in wholes if mask != rows)
        for at in columns:
            column = self.table.columns[at]
            if not column.is_additive and not _PER_PERIOD.search(readable(column.name)):
                continue
            for own, whole_rows in parts:
                part, whole = sum(self.table.values(own, at)), sum(self.table.values(whole_rows, at))
                if whole and own and whole_rows != own:
                    yield Fact(100 * part / whole, "percent")
                    yield Fact(part / whole, "ratio")

    def _across_columns(self, figure: Figure, rows: int, columns: frozenset[int]) -> Iterator[Fact]:
        """Yield ratios, shares, products, sums and differences of columns of the same rows."""
        metrics = [column for column in self.table.metrics if not column.periods or column.index in columns]
        if len(metrics) > 8:
            metrics = [column for column in metrics if column.index in columns][:8]
        sums = {column.index: sum(self.table.values(rows, column.index)) for column in metrics}
        yield from self._shares_of_columns(figure, metrics, sums)
        single = rows != 0 and rows & (rows - 1) == 0
        for one, two in permutations(metrics, 2):
            if one.index in columns or two.index in columns:
                yield from self._products(figure, rows, one, two, sums)
                if sums[two.index]:
                    yield from self._quotients(figure, single, one, two, sums)
                yield from self._sums_and_differences(figure, single, one, two, sums)

    @staticmethod
    def _shares_of_columns(figure: Figure, metrics: Sequence[Column], sums: Mapping[int, float]) -> Iterator[Fact]:
        """Yield the share of each column in all columns of its kind, and the total of all counts."""
        for column in metrics if figure.kind == "percent" else ():
            parts = [
                one for one in metrics if one.is_additive and one.unit == column.unit and one.kinds == column.kinds
            ]
            whole = sum(sums[part.index] for part in parts)
            if len(parts) > 2 and column in parts and whole:
                yield Fact(100 * sums[column.index] / whole, "percent")
        counted = [column for column in metrics if column.is_additive and not column.unit and not column.periods]
        if len(counted) > 2 and figure.kind == "plain":
            yield Fact(sum(sums[column.index] for column in counted), "count")

    def _products(
        self, figure: Figure, rows: int, one: Column, two: Column, sums: Mapping[int, float]
    ) -> Iterator[Fact]:
        """Yield the product of a price, a rate or an amount of money, `one`, and the column `two`."""
        single = rows != 0 and rows & (rows - 1) == 0
        in_currency = self.reading.unit_of(figure) in CURRENCIES
        if not single and "price" in one.kinds and two.is_additive and in_currency and not two.unit:
            yield Fact(sum((one.values[at] or 0.0) * (two.values[at] or 0.0) for at in bits(rows)), "value", one)
        if not single or figure.kind != "plain":
            return
        product = sums[one.index] * sums[two.index]
        if one.is_rate and two.is_additive:
            yield from (Fact(product * scale, "value", two) for scale in (1.0, 0.01))
        if {one.unit, two.unit} & CURRENCIES and one.index < two.index:
            yield Fact(product, "value", one if one.unit in CURRENCIES else two)

    def _quotients(
        self, figure: Figure, single: bool, one: Column, two: Column, sums: Mapping[int, float]
    ) -> Iterator[Fact]:
        """Yield the ratio of two columns, and the share of `one` in both, in the form of the figure."""
        above, below = sums[one.index], sums[two.index]
        value = above / below
        parts_of_whole = one.unit == two.unit and one.is_additive and two.is_additive
        if figure.kind == "percent":
            yield Fact(100 * value, "percent")
            if parts_of_whole and above + below:
                yield Fact(100 * above / (above + below), "percent")
            related = one.stems & two.stems or one.kinds & two.kinds or one.unit and one.unit == two.unit
            if related and self._states_difference(figure):
                yield Fact(100 * (value - 1), "percent")
                yield Fact(100 * (1 - value), "percent")
            return
        exact = self.reading.unit_of(figure) in CURRENCIES or any(decimals for _, decimals in figure.readings)
        if figure.kind != "times" and not self._says_ratio() and not (single and exact):
            return
        per_unit = Column(one.index, "", "metric")
        per_unit.unit = one.unit
        base_units = max(one.factors, default=1.0) / max(two.factors, default=1.0)
        yield from (Fact(value * scale, "value", per_unit) for scale in {1.0, base_units})
        yield Fact(value, "ratio")
        if parts_of_whole and above >= 0 < below:
            yield Fact(above / (above + below), "ratio")
        per = next((other.value for other in self.reading.figures if _PER_MANY.search(self.text[: other.start])), 1)
        if single and per in {10, 100, 1000, 10_000}:
            yield Fact(per * value, "value", per_unit)

    def _sums_and_differences(
        self, figure: Figure, single: bool, one: Column, two: Column, sums: Mapping[int, float]
    ) -> Iterator[Fact]:
        """Yield the sum and the difference of two columns of the same unit, if the sentence mentions them."""
        if one.unit != two.unit:
            return
        adds_up = self.words.total.search(self.text) or self.reading.is_whole(figure)
        additive = one.is_additive and two.is_additive
        if single and one.index < two.index and figure.kind == "plain" and adds_up and additive:
            yield Fact(sums[one.index] + sums[two.index], "value", one)
        same_metric = any(one in family and two in family for family in self.table.families)
        if figure.kind not in {"plain", "points"} or same_metric or not self._states_difference(figure):
            return
        is_same_kind = one.unit or one.stems & two.stems or one.kinds & two.kinds or not (one.kinds and two.kinds)
        if is_same_kind and one.is_rate == two.is_rate:
            difference = abs(sums[one.index] - sums[two.index])
            yield from (Fact(value, "value", one, "columns") for value in (difference, -difference))

    def _states_difference(self, figure: Figure) -> bool:
        """Return whether the words around a figure call it a difference or a change."""
        words = self.words
        if words.by.search(self.text[max(0, figure.start - 24) : figure.start]):
            return True
        after = self.text[figure.end : figure.end + 24]
        part = self.reading.part(figure.start)
        return (
            any(pattern.search(after) for pattern in (words.more, words.less))
            or any(pattern.search(part) for pattern in (words.up, words.down, words.exceeds, words.trails))
            or bool(words.difference.search(self.text))
        )

    def _is_change(self, figure: Figure) -> bool:
        """Return whether a percentage is a change and not a share."""
        words = self.words
        signed = bool(figure.readings) and (figure.readings[0][0] < 0 or self.text[: figure.start].endswith("+"))
        part = self.reading.part(figure.start) if words.share.search(self.text) else self.text
        return (
            signed
            or bool(words.previous.search(part) or words.than.search(part))
            or any(
                pattern.search(part)
                for pattern in (
                    words.up,
                    words.down,
                    words.more,
                    words.less,
                    words.exceeds,
                    words.trails,
                    words.improves,
                    words.worsens,
                    words.difference,
                )
            )
        )

    def _pair_facts(
        self, figure: Figure, column: Column, subject: float, object_: float, comparison: str
    ) -> Iterator[Fact]:
        """Yield the difference, change and ratio of two values, if the words match their sign."""
        sign = self._sign(figure, comparison)
        delta = subject - object_
        negative = bool(figure.readings) and figure.readings[0][0] < 0
        either = comparison == "any" or (comparison == "compare" and self._is_better_low(column))
        if not (sign == 0 or either or delta == 0 or (delta > 0) == (sign > 0)):
            return
        value = delta if negative else abs(delta)
        if figure.kind == "plain":
            yield Fact(value, "value", column, comparison)
        elif figure.kind == "points" and column.is_rate:
            scales = self._percent_scale(column) or [1.0]
            yield from (Fact(value / scale, "points") for scale in scales)
        elif figure.kind == "percent" and object_:
            falls = sign < 0 or negative
            change = 100 * delta / abs(object_)
            if not self._is_change(figure):
                yield Fact(100 * subject / object_, "percent")
                if comparison == "time" and subject:
                    yield Fact(100 * object_ / subject, "percent")
            elif comparison != "any" or not sign or (abs(object_) >= abs(subject)) == falls:
                yield Fact(change if negative else abs(change), "percent")
        elif figure.kind == "times" and object_:
            yield from self._multiples(figure, subject, object_, comparison)

    def _multiples(self, figure: Figure, subject: float, object_: float, comparison: str) -> Iterator[Fact]:
        """Yield the ratio of two values, the change as a fraction, and the inverse ratio if the words allow it."""
        if figure.value < 1 and self._is_change(figure):
            yield Fact(abs((subject - object_) / object_), "ratio")
        yield Fact(subject / object_, "ratio")
        less = self._sign(figure, comparison) < 0 or self._distance_of(self.words.less, figure) is not None
        if subject and (less or comparison == "any" or (comparison == "time" and self.words.than.search(self.text))):
            yield Fact(object_ / subject, "ratio")

    def _sign(self, figure: Figure, comparison: str) -> int:
        """Return 1 or -1 by the nearest word for a rise or fall, or for more or less; 0 without such a word."""
        words = self.words
        pairs = [(words.up, words.down), (words.more, words.less), (words.exceeds, words.trails)]
        if comparison == "time":
            pairs = (
                pairs[:1]
                if self._distance_of(words.up, figure) is not None or self._distance_of(words.down, figure) is not None
                else pairs[1:]
            )
        elif comparison == "compare":
            pairs = (
                pairs[1:]
                if any(self._distance_of(pattern, figure) is not None for pair in pairs[1:] for pattern in pair)
                else pairs[:1]
            )
        plus = min((d for up, _ in pairs if (d := self._distance_of(up, figure)) is not None), default=None)
        minus = min((d for _, down in pairs if (d := self._distance_of(down, figure)) is not None), default=None)
        if plus is None and minus is None:
            return 0
        if plus is None or minus is None:
            return 1 if minus is None else -1
        return 0 if plus == minus else 1 if plus < minus else -1

    def _distance_of(self, pattern: re.Pattern[str], figure: Figure) -> int | None:
        return nearest(pattern, self.text, figure.start, figure.end)

    def _pairs(
        self, figure: Figure, rows: int, columns: frozenset[int], bound: bool
    ) -> Iterator[tuple[Column, float, float, str]]:
        """Yield values that a difference, change or ratio may compare: column, subject, object, comparison."""
        if figure.kind in {"plain", "points"} and not self._states_difference(figure):
            return
        candidates = [self.table.columns[at] for at in columns]
        compared = [
            (column, subject, column, other, comparison)
            for subject, other, comparison in self._row_pairs(figure, rows, bound)
            for column in candidates
        ]
        compared += [
            (late, rows, early, rows, "time")
            for family in self.table.families
            for early, late in self._column_pairs(figure, family)
        ]
        for column, subject, other_column, other, comparison in compared:
            one, two = self._one_value(subject, column), self._one_value(other, other_column)
            if one is not None and two is not None:
                yield column, one, two, comparison
        if self.words.average.search(self.text) and rows != self.table.all:
            for column in candidates:
                values = self.table.values(self.table.all, column.index)
                one = self._one_value(rows, column)
                if one is not None and values:
                    yield column, one, fmean(values), "compare"

    def _row_pairs(self, figure: Figure, rows: int, bound: bool) -> Iterator[tuple[int, int, str]]:
        """Yield the rows of a subject and an object that a figure may compare, and the kind of comparison."""
        for dimension in self.reading.dimensions:
            if dimension >= 0:
                yield from self._pairs_of_names(figure, rows, dimension)
        has_change = self.words.up.search(self.text) or self.words.down.search(self.text)
        for late, early, comparison in self._time_pairs(figure.start, figure.end, rows, figure):
            yield late, early, comparison
            if figure.kind == "times" and not has_change:
                yield early, late, "any"
        if bound and rows != self.table.all:
            yield from self._pairs_with_others(figure, rows)
        elif not self._open_totals(rows):
            yield from self._pairs_in_order()

    def _pairs_of_names(self, figure: Figure, rows: int, dimension: int) -> Iterator[tuple[int, int, str]]:
        """Yield the pairs of the names of a column that the sentence mentions."""
        groups = self.reading.in_dimension(dimension)
        members = [Group((member,)) for group in groups for member in group.members]
        names = list(dict.fromkeys([*members, *(group for group in groups if len(group.members) > 1)]))
        base = self._without(dimension, figure) if len(names) > 1 else rows
        for one, two in permutations(names, 2):
            objects = self.reading.is_object(one), self.reading.is_object(two)
            if not one.rows & two.rows and objects != (True, False):
                comparison = "compare" if objects == (False, True) else "any"
                yield base & one.rows or one.rows, base & two.rows or two.rows, comparison

    def _pairs_with_others(self, figure: Figure, rows: int) -> Iterator[tuple[int, int, str]]:
        """Yield the pairs of the only name of the sentence with names that it does not mention."""
        names = [group for group in self.reading.groups if group.dimension >= 0]
        rest = self.words.rest.search(self.text)
        if not names or not (rest or len({group.rows for group in names}) == 1):
            return
        for other in self._neighbours(names[0], rows, figure):
            yield rows, other, "compare"
        if rest:
            yield rows, self.table.all & ~rows, "compare"

    def _pairs_in_order(self) -> Iterator[tuple[int, int, str]]:
        """Yield the pairs of the first, second, third and last rows by each metric."""
        for column in self.table.metrics:
            ordered = sorted(bits(self.table.all), key=lambda at: column.values[at] or 0.0, reverse=True)
            for first, second in ((0, -1), (0, 1), (1, 2), (-2, -1)) if len(ordered) > 1 else ():
                if second < len(ordered):
                    yield 1 << ordered[first], 1 << ordered[second], "any"

    def _neighbours(self, group: Group, rows: int, figure: Figure) -> Iterator[int]:
        """Yield the rows of other names with which a name may be compared if the sentence names no other."""
        words = self.words
        base = self._without(group.dimension, figure)
        others = [
            base & other
            for other in self.table.groups(group.dimension).values()
            if not other & group.rows and base & other
        ]
        every = bool(words.rest.search(self.text))
        for column in self.table.metrics if others else ():
            own = self._one_value(rows, column)
            ordered = sorted(others, key=lambda mask: self._one_value(mask, column) or 0.0)
            above = [mask for mask in ordered if (self._one_value(mask, column) or 0.0) >= (own or 0.0)]
            below = ordered[: len(ordered) - len(above)]
            yield from others[:60] if every else dict.fromkeys([ordered[0], ordered[-1], *above[:1], *below[-1:]])

    def _without(self, dimension: int, figure: Figure) -> int:
        """Return the rows to which a figure may refer if one column is ignored."""
        options = self.rows_for(figure.start, figure.end, figure, frozenset({dimension}))
        return next((rows for rows, _, _ in options), self.table.all)

    def _top_facts(self, figure: Figure, rows: int, columns: frozenset[int]) -> Iterator[Fact]:
        """Yield totals and shares of the first or last rows by value, if the sentence states their number."""
        sizes = {
            int(other.value)
            for other in self.reading.figures
            if other is not figure and other.readings and other.value in range(1, 21)
        }
        top = (
            self.words.highest.search(self.text)
            or self.words.best.search(self.text)
            or re.search(r"\btop\b|топ|перв|лидир|前|lead|first|лучш|крупнейш", self.text, re.IGNORECASE)
        )
        bottom = self.words.lowest.search(self.text) or re.search(
            r"bottom|last|последн|худш|后|末", self.text, re.IGNORECASE
        )
        if not top and not bottom:
            return
        for at in columns:
            values = sorted(self.table.values(rows, at), reverse=True)
            whole = sum(values)
            match = re.search(r"[前后]([二三四五六七八九十])", self.text)
            if match:
                sizes.add("二三四五六七八九十".index(match[1]) + 2)
            for size in sizes | {1}:
                if size >= len(values):
                    continue
                for part in ([sum(values[:size])] if top else []) + ([sum(values[-size:])] if bottom else []):
                    if size > 1:
                        yield Fact(part, "value", self.table.columns[at])
                        yield Fact(part / size, "value", self.table.columns[at])
                    if whole:
                        yield Fact(100 * part / whole, "percent")
                        yield Fact(part / whole, "ratio")

    def _is_derived(self, figure: Figure) -> bool:
        """Return whether a figure follows from two nearby values of the sentence."""
        values = self._stated_near(figure)
        if len(values) < 2:
            return False
        derived = [value for one, two in permutations(values, 2) for value in self._facts_of_values(figure, one, two)]
        if figure.kind == "plain" and self._aggregate(figure) == "total":
            derived.append(sum(values))
        spans = spans_of(figure, self.text, self._sign(figure, "any") < 0)
        factor = figure.factor if figure.kind == "plain" else 1.0
        factors = {factor, 1.0} if any(factor in column.factors for column in self.table.metrics) else {factor}
        return any(
            low * scale <= value <= high * scale for value in derived for low, high in spans for scale in factors
        )

    def _stated_near(self, figure: Figure) -> list[float]:
        """Return the values that the two previous and the two next figures state."""
        others = [
            other
            for other in self.reading.figures
            if other is not figure
            and 0 < len(self.stated_values.get((other.start, other.end), ())) <= _MAX_INTERPRETATIONS
        ]
        before = [other for other in others if other.start < figure.start][-2:]
        after = [other for other in others if other.start > figure.start][:2]
        values = {value for other in (*before, *after) for value in self.stated_values[(other.start, other.end)]}
        if figure.kind == "percent":
            at = self.reading.figures.index(figure)
            values |= {
                other.value
                for other in self.reading.figures[max(0, at - 2) : at + 3]
                if other is not figure and other.is_whole and not other.is_word
            }
        return sorted(values)

    def _facts_of_values(self, figure: Figure, one: float, two: float) -> Iterator[float]:
        """Yield the share, change, difference and ratio of two values."""
        difference = self._states_difference(figure)
        if figure.kind == "percent" and two:
            sign = self._sign(figure, "any")
            if difference and (sign == 0 or (abs(one) >= abs(two)) == (sign > 0)):
                yield 100 * (one - two) / abs(two)
            if not difference or self.words.share.search(self.text):
                yield 100 * one / two
        elif figure.kind == "points":
            yield from (one - two, 100 * (one - two))
        elif figure.kind == "plain" and difference:
            yield one - two
        if two and (figure.kind == "times" or (figure.kind == "plain" and self._says_ratio())):
            yield one / two

    def _owner(self, figure: Figure) -> str:
        """Return the row and column that have the value of a figure, as text for the objection."""
        factors = {1.0, 0.01} if figure.kind in {"percent", "points"} else {figure.factor}
        spans = spans_of(figure, self.text)
        for row in range(min(len(self.table.rows), MAX_ROWS_PER_CHECK)):
            for column in self.table.metrics:
                value = column.values[row]
                if value is not None and any(low * f <= value <= high * f for low, high in spans for f in factors):
                    names = [
                        str(self.table.rows[row][label.index])
                        for label in self.table.columns
                        if label.kind in {"label", "period"}
                    ]
                    return f"{readable(column.name)} of {', '.join(names[:2])}" if names else readable(column.name)
        return ""
