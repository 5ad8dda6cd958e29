"""Checks of comparisons of names and periods, and of directions such as "rose"."""

import re
from collections.abc import Iterator
from itertools import permutations

from agent.grounding.binding import Objection
from agent.grounding.counts import Counts
from agent.grounding.facts import bits
from agent.grounding.reading import Group

_RANK_COMPARISON = re.compile(r"\b(?:ahead|behind)\b|опере|отста|领先|落后", re.IGNORECASE)
"""Comparisons of ranks, where a low value may be the better one."""
_LOSS = re.compile(r"\b(?:lost|lose[sd]?|loss(?:es)?)\b|(?<!\w)(?:потерял|убыт(?:ок|к))|亏", re.IGNORECASE)
"""Words for losses: a greater loss is a lower value."""


class Changes(Counts):
    """The checks of comparatives and of changes over time."""

    def comparisons(self) -> Iterator[Objection]:
        """Check comparatives such as "more than" for the names and periods that they compare."""
        reading = self.reading
        yield from self._metric_comparisons()
        for object_ in reading.groups:
            if object_.dimension < -1 or not reading.is_object(object_):
                continue
            start = max(0, object_.start - 60)
            signs = self._comparative_signs(object_)
            subjects = [
                g
                for g in reading.in_dimension(object_.dimension)
                if not reading.is_object(g) and not g.rows & object_.rows
            ]
            before = [g for g in subjects if g.end <= object_.start]
            subject = before[-1] if before else subjects[0] if subjects else None
            if len(signs) != 1 or subject is None or not subject.rows or not object_.rows:
                continue
            sign = next(iter(signs))
            columns = self._comparison_columns(start, object_)
            if any(self._is_better_low(self.table.columns[at]) for at in columns) and _RANK_COMPARISON.search(
                self.text
            ):
                continue
            contexts = [
                rows for rows, _, _ in self.rows_for(object_.start, object_.end, None, frozenset({object_.dimension}))
            ] or [self.table.all]
            if not any(
                self._compares(subject, object_, at, sign, context) for at in columns for context in contexts
            ) and not self._ratios_compare(subject, object_, sign):
                yield self._objection(
                    object_.start, object_.end, "the comparison is the other way round or not in the rows"
                )

    def _metric_comparisons(self) -> Iterator[Objection]:
        """Check comparisons of two metrics of one name, such as "it has more wins than losses"."""
        reading, words = self.reading, self.words
        names = [group for group in reading.groups if group.dimension >= 0]
        single = self.table.all & (self.table.all - 1) == 0
        if len(names) > 1 or len(reading.groups) > 1 or reading.figures or not (names or single):
            return
        compared = [(match, 1) for match in words.exceeds.finditer(reading.plain)]
        compared += [(match, -1) for match in words.trails.finditer(reading.plain)]
        for than in words.than.finditer(reading.plain):
            signs = {
                sign
                for sign, pattern in ((1, words.more), (-1, words.less))
                for match in pattern.finditer(reading.plain[: than.start()])
                if than.start() - match.end() <= 24
            }
            compared += [(than, sign) for sign in signs if len(signs) == 1]
        for between, sign in compared:
            left = [m for m in reading.metrics if m.end <= between.start()]
            right = [m for m in reading.metrics if between.end() <= m.start <= between.end() + 24]
            if not left or not right or (names and names[0].start > between.start()):
                continue
            columns = left[-1].columns
            for metric in left:
                columns = columns & metric.columns or columns
            pairs = [(one, two) for one in columns for two in right[0].columns if one != two]
            rows = names[0].rows if names else self.table.all
            if pairs and not any(
                (sum(self.table.values(rows, one)) - sum(self.table.values(rows, two))) * sign > 0 for one, two in pairs
            ):
                yield self._objection(between.start(), between.end(), "the comparison is the other way round")

    def _comparative_signs(self, object_: Group) -> set[int]:
        words = self.words
        near = [
            (place, sign)
            for sign, patterns in ((1, (words.more, words.exceeds)), (-1, (words.less, words.trails)))
            for pattern in patterns
            for match in pattern.finditer(self.reading.plain)
            if (place := min(abs(match.start() - object_.start), abs(match.end() - object_.start))) <= 60
            and (
                match.start() < object_.start
                or self.reading.segment(match.start()) == self.reading.segment(object_.end)
            )
        ]
        if not near:
            return set()
        closest = min(place for place, _ in near)
        return {sign for place, sign in near if place <= closest + 2}

    def _comparison_columns(self, start: int, object_: Group) -> frozenset[int]:
        metrics = [m for m in self.reading.metrics if m.columns]
        before = [m for m in metrics if start <= m.end and m.end <= object_.start]
        behind = [m for m in metrics if object_.end <= m.start <= object_.end + 30]
        segment = self.reading.segment(object_.end)
        near = before or [m for m in behind if self.reading.segment(m.start) == segment]
        return frozenset(at for m in near for at in m.columns) or self.table.metric_indexes

    def _compares(self, subject: Group, object_: Group, column: int, sign: int, context: int) -> bool:
        own = self._one_value(subject.rows & context, self.table.columns[column])
        others = [self._one_value(member.rows & context, self.table.columns[column]) for member in object_.members]
        total = self._one_value(object_.rows & context, self.table.columns[column])
        if own is None or total is None:
            return True
        if own < 0 and total < 0 and _LOSS.search(self.text):
            sign = -sign
        return all(other is None or (own - other) * sign > 0 for other in others) or (
            (own - total) * sign > 0 and len(others) > 1
        )

    def _ratios_compare(self, subject: Group, object_: Group, sign: int) -> bool:
        """Return whether a ratio of two columns is higher for the subject, or lower if `sign` is -1."""
        if not self.words.each.search(self.text):
            return False
        for one, two in permutations(self.table.metrics, 2):
            values = [sum(self.table.values(group.rows, c.index)) for group in (subject, object_) for c in (one, two)]
            if values[1] and values[3] and (values[0] / values[1] - values[2] / values[3]) * sign > 0:
                return True
        return False

    def directions(self) -> Iterator[Objection]:
        """Check words such as "rose" against the values of their periods."""
        words, reading = self.words, self.reading
        for pattern, side in ((words.up, 1), (words.down, -1), (words.improves, 2), (words.worsens, -2)):
            for match in pattern.finditer(reading.plain):
                sign = self._direction(match, side)
                follows_figure = any(
                    re.fullmatch(r"\s[a-zа-я]{1,6}\s", self.text[figure.number_end : match.start()])
                    for figure in reading.figures
                    if figure.number_end < match.start()
                )
                if follows_figure or self._has_unnamed_subject(match):
                    continue
                if not sign or any(
                    m.start <= match.start() < m.end
                    and (m.by_name or any(self.table.columns[c].is_change for c in m.columns))
                    for m in reading.metrics
                ):
                    continue
                if words.negation.search(self.text[max(0, match.start() - 12) : match.start()]):
                    continue
                if not self._moves(match, sign):
                    yield self._objection(match.start(), match.end(), "the values of the rows do not change so")

    def _has_unnamed_subject(self, match: re.Match[str]) -> bool:
        """Return whether a claim refers to a number of names, which `Counts` checks, or to unnamed ones."""
        part = self.reading.part(match.start())
        segment = self.reading.segment(match.start())
        is_count_of_names = any(
            self.reading.segment(figure.start) == segment and self._counts_names(figure)
            for figure in self.reading.figures
        )
        words = self.words
        has_quantifier = not words.always.search(part) and any(
            pattern.search(part) for pattern in (words.every, words.none, words.only, words.some, words.rest)
        )
        names = any(
            self.reading.segment(group.start) == segment for group in self.reading.groups if group.dimension >= 0
        )
        return is_count_of_names or (has_quantifier and not names)

    def _direction(self, match: re.Match[str], side: int) -> int:
        """Return 1 or -1 for a rise or fall; "better" and "worse" depend on the columns, 0 if these disagree."""
        if abs(side) == 1:
            return side
        low = {
            self._is_better_low(self.table.columns[at]) for at in self._superlative_columns(match.start(), match.end())
        }
        return 0 if len(low) != 1 else -side // 2 if low.pop() else side // 2

    def _moves(self, match: re.Match[str], sign: int) -> bool:
        """Return whether the values to which a word such as "rose" refers change in the direction of `sign`."""
        delta = self._from_to_difference(match)
        if delta is not None:
            return delta * sign > 0 and not self._has_reversed_values(match)
        delta = self._range_difference(match)
        if delta is not None:
            return delta * sign > 0
        columns = self._superlative_columns(match.start(), match.end())
        changes = [column for column in self.table.metrics if column.is_change]
        changes = [column for column in changes if column.index in columns] or changes
        timed = len(self.table.time_steps) > 1 or bool(self.table.families)
        options = [rows for rows, _, _ in self.rows_for(match.start(), match.end())]
        if not options or (not timed and not changes and self.table.is_ordered):
            return True
        always = timed and self.words.always.search(self.reading.part(match.start())) is not None
        has_both_directions = self.words.up.search(self.text) and self.words.down.search(self.text)
        for rows in options:
            if has_both_directions and any(self._some_step(rows, at, sign) for at in columns):
                return True
            if any(value * sign > 0 for column in changes for value in self.table.values(rows, column.index)):
                return True
            if always:
                return self._always(match, columns, rows, sign)
            if any(self._has_sign(late, early, sign) for late, early in self._values_in_time(match, columns, rows)):
                return True
        return False

    def _range_difference(self, match: re.Match[str]) -> float | None:
        """Return the difference of the ends of a range of figures such as "41-12"; None without a range."""
        segment = self.reading.segment(match.start())
        for figures in self.reading.figure_groups:
            if len(figures) != 2 or self.reading.segment(figures[0].start) != segment:
                continue
            first, last = figures
            between = re.sub(r"[$€£¥₽]", "", self.text[first.end : last.start])
            if not self.words.ranges.fullmatch(between):
                continue
            if first.kind != last.kind or not first.readings or not last.readings:
                return None
            # In "from 900 to 1,200 thousand", the scale applies to both ends.
            shares_scale = first.factor == 1 < last.factor and first.value < min(1000, last.value / last.factor * 1000)
            return last.value - first.value * (last.factor if shares_scale else 1.0)
        return None

    def _values_in_time(
        self, match: re.Match[str], columns: frozenset[int], rows: int
    ) -> Iterator[tuple[float, float]]:
        """Yield later and earlier values of the columns, in rows of two periods or in columns of two periods."""
        metrics = [self.table.columns[at] for at in columns]
        pairs = [
            (self._one_value(late, column), self._one_value(early, column))
            for late, early, _ in self._time_pairs(match.start(), match.end(), rows)
            for column in metrics
        ]
        pairs += [
            (self._one_value(rows, late), self._one_value(rows, early))
            for family in self.table.families
            for early, late in self._column_pairs(None, family)
        ]
        yield from ((late, early) for late, early in pairs if late is not None and early is not None)

    def _has_sign(self, late: float, early: float, sign: int) -> bool:
        """Return whether a value changed in the direction of `sign`; a loss grows as its value falls."""
        if late < 0 and early < 0 and self.words.negative.search(self.text):
            return late != early
        return (late - early) * sign > 0

    def _some_step(self, rows: int, at: int, sign: int) -> bool:
        """Return whether a column changes in the direction of `sign` from any period or ordered row to the next."""
        column = self.table.columns[at]
        steps = [mask for _, mask in self.table.time_steps]
        if len(steps) < 2 and self.table.is_ordered:
            steps = [1 << row for row in bits(self.table.all)]
        values = [value for mask in steps if (value := self._one_value(mask, column)) is not None]
        return any((two - one) * sign > 0 for one, two in zip(values, values[1:], strict=False))

    def _from_to_difference(self, match: re.Match[str]) -> float | None:
        """Return the difference of the figures in "from 41 in February to 12 in March"; None without such figures."""
        figures = [
            figure
            for figure in self.reading.figures
            if figure.start >= match.end() and figure.readings and figure.kind != "ordinal"
        ]
        for one, two in zip(figures, figures[1:], strict=False):
            between = self.text[one.end : two.start]
            begins = self.words.starts.search(self.text[max(0, one.start - 8) : one.start])
            if (
                begins
                and one.kind == two.kind
                and len(between) <= 40
                and re.search(r"(?:\bto|(?<!\w)(?:до|к)|[到至])\s*[$€£]?$", between)
            ):
                factor = two.factor if one.factor == 1 and one.value < 1000 else 1.0
                return two.value - one.value * factor
        return None

    def _has_reversed_values(self, match: re.Match[str]) -> bool:
        """Return whether the figures of "from 12 to 41" are values of two periods in reverse order."""
        ends = [figure for figure in self.reading.figures if figure.start >= match.end() and figure.kind != "ordinal"]
        stated_values = [set(self.stated_values.get((figure.start, figure.end), ())) for figure in ends[:2]]
        if len(stated_values) < 2 or self.reading.in_dimension(-1) or self.reading.in_dimension(-2):
            return False
        orders_seen: set[bool] = set()
        for rows, _, names_rows in self.rows_for(match.start(), match.end()):
            pairs = [
                (self._one_value(rows, early), self._one_value(rows, late))
                for family in self.table.families
                for at, early in enumerate(family)
                for late in family[at + 1 :]
            ]
            for one, two in pairs if names_rows else ():
                orders_seen |= {True} if one in stated_values[1] and two in stated_values[0] else set()
                orders_seen |= {False} if one in stated_values[0] and two in stated_values[1] else set()
        return orders_seen == {True}

    def _always(self, match: re.Match[str], columns: frozenset[int], rows: int, sign: int) -> bool:
        base = next(
            (mask for mask, _, _ in self.rows_for(match.start(), match.end(), None, frozenset({-1}))), self.table.all
        )
        steps = [mask & base for _, mask in self.table.time_steps if mask & base]
        ends = sorted(
            {
                edge
                for group in self.reading.in_dimension(-1)
                for member in group.members
                for inside in [[at for at, mask in enumerate(steps) if mask & member.rows]]
                if inside
                for edge in (inside[0], inside[-1])
            }
        )
        spans = [(one, two) for one, two in zip(ends, ends[1:], strict=False)] + ([(ends[0], ends[-1])] if ends else [])
        spans = [span for span in spans if span[1] > span[0]] or [
            (ends[0], len(steps) - 1) if ends and ends[0] < len(steps) - 1 else (0, len(steps) - 1)
        ]
        for at in columns:
            column = self.table.columns[at]
            values = [self._one_value(mask, column) or 0.0 for mask in steps]
            for one, two in spans:
                part = values[one : two + 1]
                if len(part) > 1 and all(
                    (later - earlier) * sign > 0 for earlier, later in zip(part, part[1:], strict=False)
                ):
                    return True
        for family in self.table.families:
            first = min(
                (
                    family.index(column)
                    for column in family
                    if any(column.index in group.columns for group in self.reading.in_dimension(-2))
                ),
                default=0,
            )
            values = [value for column in family[first:] if (value := self._one_value(rows, column)) is not None]
            if len(values) > 1 and all((two - one) * sign > 0 for one, two in zip(values, values[1:], strict=False)):
                return True
        return False
