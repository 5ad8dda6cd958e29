"""Checks of row counts, such as "three regions", "four of the six months exceeded 100", "all regions"."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import permutations
from math import isfinite
from statistics import fmean

from agent.grounding.binding import Binding, Objection
from agent.grounding.facts import Column, bits, readable, stems_of
from agent.grounding.measures import measures_of
from agent.grounding.numbers import Figure, hedge_of

_MAX_NAMES = 200

_Predicate = Callable[[float], bool]


@dataclass(frozen=True)
class _Count:
    """A figure that may be a number of rows, names or periods."""

    figure: Figure
    value: int
    labels: Sequence[Column]
    """The columns whose names are counted, by the words after the figure."""
    is_named: bool
    """Whether the words after the figure name a column or rows in general."""
    is_size: bool
    """Whether the table, or the rows that the sentence names, have this many rows, names or periods."""
    names: int
    periods: int
    """The numbers of names and periods that the sentence mentions."""


class Counts(Binding):
    """The checks of numbers of rows and of conditions on rows."""

    def _labels_after(self, figure: Figure) -> list[Column]:
        """Return the label columns named by the words after a figure, such as "regions"."""
        behind = re.split(r"[.,;:()，。；：]", self.reading.plain[figure.number_end : figure.number_end + 48])[0]
        link = self.words.links.search(behind)
        part = behind[: link.start()] if link else behind
        tokens = stems_of(part)[:5]
        label_columns = [
            column
            for column in (*self.table.labels, *(c for c in self.table.columns if c.kind == "period"))
            if column.stems & set(tokens) or set(stems_of(readable(column.name))) & set(tokens)
        ]
        if not label_columns:
            head = part[:9]
            for column in self.table.labels:
                runs = re.findall(r"[\u4e00-\u9fff]+", column.name)
                if any(run[:2] in head or run[-2:] in head or (len(run) == 1 and run in head) for run in runs):
                    label_columns.append(column)
            for column in self.table.labels:
                if column.measures & measures_of(head) and column not in label_columns:
                    label_columns.append(column)
        return label_columns

    def _counts_names(self, figure: Figure) -> bool:
        """Return whether a figure is a number of names or periods, and not a value of a column."""
        if not figure.is_whole or self.words.by.search(self.text[max(0, figure.start - 12) : figure.start]):
            return False
        hedge = hedge_of(figure, self.text)
        unit = self.reading.unit_of(figure)
        timed = (
            unit in {"year", "month", "week", "d"}
            and self.table.has_row_periods
            and not any(c.unit == unit for c in self.table.metrics)
        )
        if unit and not timed:
            return False
        labels = self._labels_after(figure)
        metric_measures = {measure for column in self.table.metrics for measure in column.measures}
        odd = any(column.measures & metric_measures for column in labels)
        return figure.value <= len(self.table.rows) * 2 and not hedge and not odd and (bool(labels) or timed)

    def _conditions(self) -> list[tuple[str, float, str]]:
        """Return the comparisons with a figure in the sentence, as operator, value and kind of figure."""
        conditions: list[tuple[str, float, str]] = []
        for figure in self.reading.figures:
            hedge = hedge_of(figure, self.text)
            unit = self.reading.unit_of(figure)
            ratios = {ratio for column in self.table.metrics for ratio in self._unit_ratio(unit, column)} - {1.0}
            factor = ratios.pop() if len(ratios) == 1 else 1.0
            before = self.text[max(0, figure.start - 30) : figure.start]
            if (
                hedge in {"over", "at_least", "under", "at_most"}
                and not self.words.nearly.search(before)
                and figure.readings
            ):
                conditions.append((hedge, figure.value * factor, figure.kind))
        return conditions

    def _near_values(self) -> list[tuple[str, float, str]]:
        """Return the other figures of the sentence as values that rows may have, exactly or approximately."""
        values: list[tuple[str, float, str]] = []
        for figure in self.reading.figures:
            if figure.kind in {"plain", "percent"} and isfinite(figure.value) and not self._counts_names(figure):
                hedged = hedge_of(figure, self.text) in {"about", "under"}
                values.append(("near" if hedged else "equal", figure.value, figure.kind))
        return values

    def _condition_sets(
        self, columns: frozenset[int], rows: int, conditions: Sequence[tuple[str, float, str]]
    ) -> list[int]:
        """Return the rows that meet the conditions of the sentence, once for each column to which these may refer."""
        sets: list[int] = []
        for at in columns:
            column = self.table.columns[at]
            values = {row: value for row in bits(rows) if (value := column.values[row]) is not None}
            predicates = self._limits(column, conditions)
            predicates += self._signs(column, list(values.values()), has_limits=bool(conditions))
            sets += [_mask(row for row, value in values.items() if meets(value)) for meets in predicates]
        sets += self._sets_by_columns(rows, has_limits=bool(conditions))
        if len(self.table.time_steps) > 1 and not conditions:
            sets += self._sets_by_direction(columns)
        return sets

    def _limits(self, column: Column, conditions: Sequence[tuple[str, float, str]]) -> list[_Predicate]:
        """Return the comparisons with the limits of the sentence, and with two limits also both together."""
        predicates: list[_Predicate] = []
        for operator, limit, kind in conditions:
            scales = [1.0, *(1 / factor for factor in column.factors)]
            if kind == "percent":
                scales = self._percent_scale(column) or [1.0]
            elif kind == "times":
                scales = [100.0 if scale == 1 else 1.0 for scale in self._percent_scale(column)]
            predicates += [partial(_meets, operator, limit * scale) for scale in scales]
        if len(conditions) == 2:
            predicates.append(lambda value: all(_meets(operator, limit, value) for operator, limit, _ in conditions))
        return predicates

    def _signs(self, column: Column, values: Sequence[float], *, has_limits: bool) -> list[_Predicate]:
        """Return the conditions stated in words: above or below average, positive, negative, zero, rising, falling."""
        words, text = self.words, self.text
        beside = bool(values) and any(
            match.end() <= average.start() <= match.end() + 10
            for average in words.average.finditer(text)
            for pattern in (words.than, words.exceeds, words.trails, words.more, words.less)
            for match in pattern.finditer(text)
        )
        mean = fmean(values) if beside else 0.0
        above = words.more.search(text) or words.exceeds.search(text)
        below = words.less.search(text) or words.trails.search(text)
        rules: list[tuple[object, _Predicate]] = [
            (beside and above, lambda value: value > mean),
            (beside and below, lambda value: value < mean),
            (words.negative.search(text), lambda value: value < 0),
            (words.positive.search(text), lambda value: value > 0),
            (words.negation.search(text) and not has_limits, lambda value: value == 0),
            (column.is_change and words.up.search(text), lambda value: value > 0),
            (column.is_change and words.down.search(text), lambda value: value < 0),
            (column.is_change and words.steady.search(text), lambda value: value == 0),
        ]
        return [meets for applies, meets in rules if applies]

    def _sets_by_columns(self, rows: int, *, has_limits: bool) -> list[int]:
        """Return the rows where a column exceeds another one, of two periods or of two compared metrics."""
        words = self.words
        pairs: list[tuple[Column, Column]] = []
        compared = ((words.more, 1), (words.less, -1)) if not has_limits else ()
        if words.judged.search(self.text):
            compared = ((words.judged, 1), (words.judged, -1))
        for pattern, sign in ((words.up, 1), (words.down, -1), *compared):
            if pattern.search(self.text):
                families = [pair for family in self.table.families for pair in self._column_pairs(None, family)]
                pairs += [(late, early) if sign > 0 else (early, late) for early, late in families]
        if not has_limits and any(p.search(self.text) for p in (words.than, words.exceeds, words.trails)):
            mentioned = list(dict.fromkeys(at for metric in self.reading.metrics for at in metric.columns))[:4]
            pairs += permutations([self.table.columns[at] for at in mentioned], 2)
        return [
            _mask(row for row in bits(rows) if (high.values[row] or 0) > (low.values[row] or 0)) for high, low in pairs
        ]

    def _sets_by_direction(self, columns: frozenset[int]) -> list[int]:
        """Return the rows of names, and of periods, with the rise or fall that the sentence states."""
        sets = []
        steps = [mask for _, mask in self.table.time_steps]
        pairs = list(self._time_pairs(0, 0, self.table.all))
        late, early = (pairs[0][0], pairs[0][1]) if len(pairs) == 1 else (steps[-1], steps[0])
        for pattern, sign in ((self.words.up, 1), (self.words.down, -1)):
            for at in columns if pattern.search(self.text) else ():
                column = self.table.columns[at]
                for label in self.table.labels:
                    moved = 0
                    for mask in list(self.table.groups(label.index).values())[:_MAX_NAMES]:
                        one, two = self._one_value(mask & late, column), self._one_value(mask & early, column)
                        if one is not None and two is not None and (one - two) * sign > 0:
                            moved |= mask
                    sets.append(moved)
                values = [self._one_value(step, column) or 0.0 for step in steps]
                changed = 0
                for step, (before, after) in zip(steps[1:], zip(values, values[1:], strict=False), strict=False):
                    changed |= step if (after - before) * sign > 0 else 0
                sets.append(changed)
        return sets

    def _is_count(self, figure: Figure, contexts: Sequence[tuple[int, frozenset[int], bool]]) -> bool:
        """Return whether a figure is a correct number of rows or names."""
        share = figure.value * len(self.table.rows) if figure.kind == "times" and figure.is_word else 0.0
        if 0 < share < len(self.table.rows) and abs(share - round(share)) < 1e-6:
            sets = self._condition_sets(self.table.metric_indexes, self.table.all, self._conditions())
            return any(one.bit_count() == round(share) for one in sets)
        labels = self._labels_after(figure)
        countable = bool(labels) or self.reading.unit_of(figure) in {None, "year", "month", "d", "week"}
        if not figure.is_whole or figure.value < 0 or not countable or self._is_code(figure):
            return False
        masks = {rows for rows, _, _ in contexts} | {self.table.all}
        sizes = {size for rows in masks for size in self._sizes_of(rows, labels or self.table.labels)}
        sizes |= {len(self.table.rows), len(self.table.time_steps), len(self.table.years)}
        after = self.text[figure.end :]
        members = [member for group in self.reading.groups for member in group.members]
        count = _Count(
            figure,
            int(figure.value),
            labels,
            is_named=bool(labels) or self.words.generic.match(after.lstrip()) is not None,
            is_size=figure.value in sizes and (not self.table.truncated or bool(self.words.shown.search(self.text))),
            names=len({member.text for member in members if member.dimension >= 0}),
            periods=len({member.text for member in members if member.dimension < 0}),
        )
        rest = {len(self.table.rows) - count.names, *(size - count.names for size in sizes)}
        if self.words.rest.search(self.text) and count.value in rest:
            return True
        meets_conditions = self._counts_conditions(count, masks)
        return self._counts_table(count) if meets_conditions is None else meets_conditions

    def _sizes_of(self, rows: int, labels: Sequence[Column]) -> set[int]:
        """Return the number of rows in a set, and of distinct names in each of `labels`."""
        cells = [[self.table.rows[at][label.index] for at in bits(rows)] for label in labels]
        return {rows.bit_count(), *(len({str(cell) for cell in names if cell is not None}) for names in cells)}

    def _counts_conditions(self, count: _Count, masks: Collection[int]) -> bool | None:
        """Return whether this many rows meet a condition of the sentence; None without a condition."""
        table, figure = self.table, count.figure
        columns = table.metric_indexes
        if self.reading.metrics:
            mentioned = frozenset(at for metric in self.reading.metrics for at in metric.columns)
            columns = mentioned | {column.index for column in table.metrics if column.is_change}
        equal = self._condition_sets(columns, table.all, self._near_values())
        if any(count.value in {one.bit_count(), *((one & mask).bit_count() for mask in masks)} for one in equal):
            return True
        sets = self._condition_sets(columns, table.all, self._conditions())
        before, after = self.text[: figure.start], self.text[figure.end :]
        if not sets or not (count.is_named or figure.is_word or re.match(r"[\s]*(?:of|из|个|家|的)", after)):
            return None
        counts = {size for one in sets for size in self._sizes_of(one, count.labels)}
        counts |= {(one & mask).bit_count() for one in sets for mask in masks}
        if count.value in counts or count.value == count.names > 1:
            return True
        others = (other for other in self.reading.figures if other is not figure and self._counts_names(other))
        if any(other.value == len(table.rows) != count.value for other in others):
            return False
        return count.is_size and bool(
            self.words.existence.search(before)
            or self.words.part_of.search(before)
            or self.words.total.search(self.text)
            or re.match(r"[^\s，。]{0,8}[中里]", after)
        )

    def _counts_table(self, count: _Count) -> bool:
        """Return whether a number counts all rows, the rows of a name, missing values, or the mentions."""
        table, figure = self.table, count.figure
        before, after = self.text[: figure.start], self.text[figure.end :]
        measured = (
            count.names == 1
            and not count.is_named
            and not table.families
            and not any(pattern.search(after) for pattern in (self.words.more, self.words.less))
            and self.words.difference.search(self.text) is None
            and self.reading.owned(figure.number_end)
        )
        if count.is_size and (figure.is_word or not measured):
            return True
        of_names = {mask.bit_count() for label in table.labels for mask in table.groups(label.index).values()} - {1}
        if count.is_named and count.value in of_names:
            return True
        nulls = {sum(row[column.index] is None for row in table.rows) for column in table.columns}
        present = {len(table.rows) - size for size in nulls if size}
        if count.value in present or (self.words.negation.search(self.text) and count.value in nulls):
            return True
        mentions = {count.names, count.periods}
        if count.is_named and not self.words.existence.search(before):
            return count.value in mentions if max(mentions) > 1 else count.value < len(table.rows) and not count.names
        return figure.is_word and count.value > 1 and count.value in mentions

    def _is_code(self, figure: Figure) -> bool:
        """Return whether a number is part of a code such as "Q-7"."""
        return bool(
            re.search(
                r"(?<![^\W\d_])(?!(?:USD|EUR|GBP|RUB|CNY|RMB)$)[^\W\d_\u3400-\u9fff]+-?$",
                self.text[max(0, figure.start - 24) : figure.start],
            )
        )

    def _is_threshold(self, figure: Figure) -> bool:
        """Return whether a figure is the limit in a condition on counted rows."""
        hedge = hedge_of(figure, self.text)
        none = self.words.none.search(self.text)
        if none and none.end() <= figure.start and not figure.is_whole:
            return True
        if hedge not in {"over", "at_least", "under", "at_most"}:
            return False
        if self.words.nearly.search(self.text[max(0, figure.start - 30) : figure.start]):
            return False
        words = self.words
        is_counted = any(
            self._labels_after(other) or other.is_word for other in self.reading.figures if other is not figure
        )
        quantified = (
            words.every.search(self.text)
            or words.none.search(self.text)
            or words.only.search(self.text)
            or words.majority.search(self.text)
        )
        return bool(is_counted or quantified)

    def quantities(self) -> Iterator[Objection]:
        """Check "all", "none" and "most" together with a condition on values."""
        words = self.words
        quantifier = next(
            ((m, kind) for kind in ("none", "every") for m in [getattr(words, kind).search(self.reading.plain)] if m),
            None,
        )
        is_compared = any(
            figure.kind != "ordinal" and not self._counts_names(figure) and not hedge_of(figure, self.text)
            for figure in self.reading.figures
        )
        if quantifier is None or is_compared or words.total.search(self.text):
            return
        match, kind = quantifier
        counts = [
            figure
            for figure in self.reading.figures
            if self._labels_after(figure) and not 0 <= figure.start - match.end() <= 2
        ]
        always = any(
            always_match.start() < match.end() and match.start() < always_match.end()
            for always_match in words.always.finditer(self.reading.plain)
        )
        wholes = {len(self.table.groups(column.index)) for figure in counts for column in self._labels_after(figure)}
        counts_all = bool(counts) and all(figure.value in wholes for figure in counts)
        if (counts and not counts_all) or always or any(group.dimension >= 0 for group in self.reading.groups):
            return
        columns = frozenset(at for m in self.reading.metrics for at in m.columns) or frozenset(
            c.index for c in self.table.metrics
        )
        behind = set(stems_of(self.text[match.end() : match.end() + 30]))
        label = any(
            set(stems_of(readable(column.name))) & behind
            for column in self.table.columns
            if column.kind in {"label", "period"}
        )
        if not label and not counts_all:
            return
        sets = self._condition_sets(columns, self.table.all, self._conditions())
        if not sets:
            return
        scope = self.table.all
        if not words.up.search(self.text) and not words.down.search(self.text):
            for group in self.reading.in_dimension(-1):
                scope = scope & group.rows or scope
        right = any(one & scope == (0 if kind == "none" else scope) for one in sets)
        if not right:
            yield self._objection(match.start(), match.end(), "this does not hold of the rows")


def _meets(operator: str, limit: float, value: float) -> bool:
    """Return whether `value` meets `limit` by `operator`, such as "at_least"."""
    if operator == "near":
        return abs(value - limit) <= 0.08 * abs(limit)
    return {
        "equal": value == limit,
        "over": value > limit,
        "at_least": value >= limit,
        "under": value < limit,
        "at_most": value <= limit,
    }[operator]


def _mask(rows: Iterable[int]) -> int:
    """Return a set of rows as an integer with a bit for each.

    >>> _mask([0, 2])
    5
    """
    mask = 0
    for row in rows:
        mask |= 1 << row
    return mask
