"""Checks of superlatives, of ranks, and of names that are next to each other."""

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from statistics import fmean

from agent.grounding.binding import Binding, Objection
from agent.grounding.facts import bits
from agent.grounding.reading import Group


class Rankings(Binding):
    """The checks of superlatives, ranks and relations."""

    def relations(self) -> Iterator[Objection]:
        """Check that adjacent names of different columns are in one row."""
        reading = self.reading
        for one, two in zip(reading.groups_in_order, reading.groups_in_order[1:], strict=False):
            alone = (
                len(one.members) == len(two.members) == 1
                and one.dimension != two.dimension
                and min(one.dimension, two.dimension) >= -1
            )
            if (
                not alone
                or one.rows & two.rows
                or not one.rows
                or not two.rows
                or any(
                    pattern.search(self.text)
                    for pattern in (self.words.more, self.words.less, self.words.exceeds, self.words.trails)
                )
            ):
                continue
            between = self.text[one.end : two.start]
            together = reading.segment(one.start) == reading.segment(two.start) or between == ", "
            if (
                together
                and len(between) <= 40
                and not self.words.negation.search(self.text)
                and not any(one.end <= figure.start < two.start for figure in reading.figures)
            ):
                yield self._objection(one.start, two.end, "no row has both")

    def superlatives(self) -> Iterator[Objection]:
        """Check words such as "highest" against the values of their names and periods."""
        words = self.words
        for pattern, side in (
            (words.highest, 1),
            (words.lowest, -1),
            (words.best, 2),
            (words.worst, -2),
            (words.either, 0),
        ):
            for match in pattern.finditer(self.reading.plain):
                before = self.text[max(0, match.start() - 20) : match.start()]
                is_compared = any(
                    len(before) - match_before.end() <= 5
                    for pattern in (words.trails, words.exceeds, words.than)
                    for match_before in pattern.finditer(before)
                )
                if (
                    is_compared
                    or self._names_metric(match)
                    or words.not_superlative.search(before)
                    or any(
                        m.by_name
                        and m.start <= match.start()
                        and match.end() <= m.end
                        and m.end - m.start > match.end() - match.start()
                        for m in self.reading.metrics
                    )
                ):
                    continue
                if any(rank.start() <= match.start() < rank.end() for rank in words.rank.finditer(self.text)):
                    continue
                if self._changes_most(match) or self._states_extreme(match, side):
                    continue
                if words.negative.search(self.text[max(0, match.start() - 24) : match.end() + 24]):
                    side = 0
                if not self._is_extreme(match.start(), match.end(), side, 1):
                    yield self._objection(match.start(), match.end(), "the rows do not show this")

    def _names_metric(self, match: re.Match[str]) -> bool:
        """Return whether a superlative belongs to a metric of the question, as in "lowest temperature"."""
        behind = re.match(r"\s?(?:[^\W\d_\u3400-\u9fff]+|[\u3400-\u9fff]{2})", self.text[match.end() :])
        return behind is not None and f"{match.group()}{behind.group()}".lower() in self.table.question.lower()

    def negated_comparisons(self) -> Iterator[Objection]:
        """Check sentences such as "no region has more than X": X must have the highest value."""
        words, reading = self.words, self.reading
        for object_ in reading.groups:
            before = reading.plain[: object_.start]
            none = words.none.search(before)
            if object_.dimension < 0 or not none or not reading.is_object(object_):
                continue
            compared = [
                (match.start(), sides)
                for pattern, sides in ((words.more, [1]), (words.less, [-1]), (words.judged, [1, -1]))
                for match in pattern.finditer(before, none.end())
            ]
            if not compared:
                continue
            place, sides = max(compared)
            columns = self._superlative_columns(place, place)
            if not any(self._is_at(object_, at, self.table.all, side, 1) for at in columns for side in sides):
                yield self._objection(object_.start, object_.end, "the rows do not show this")

    def _states_extreme(self, match: re.Match[str], side: int) -> bool:
        """Return whether the figure next to a superlative is the highest or lowest value of a column."""
        for figure in self.reading.figures:
            if -16 <= figure.start - match.end() <= 16 or 0 <= match.start() - figure.end <= 8:
                values = self.stated_values.get((figure.start, figure.end), ())
                for column in self.table.metrics:
                    values_present = [value for value in column.values if value is not None]
                    if any(
                        one in values and values_present
                        for edge in self._sides(side, column.index)
                        for one in [max(values_present, key=lambda candidate: edge * candidate)]
                    ):
                        return True
        return False

    def _changes_most(self, match: re.Match[str]) -> bool:
        """Return whether a superlative refers to a change, as in "grew the most", and is correct or undecidable."""
        near = self.text[max(0, match.start() - 24) : match.end() + 12]
        rises = self.words.up.search(near)
        if not rises and not self.words.down.search(near):
            return False
        subject = next((group for group in self._subjects(match.start(), match.end()) if group.dimension >= 0), None)
        if subject is None:
            return True
        groups = self.table.groups(subject.dimension).values()
        changes = [(change, mask) for mask in groups for change in self._changes_of(mask, match)]
        sign = 1 if rises else -1
        return not changes or any(max(changes, key=lambda item: sign * item[0][at])[1] & subject.rows for at in (0, 1))

    def _changes_of(self, mask: int, match: re.Match[str]) -> Iterator[tuple[float, float]]:
        """Yield the absolute and relative changes of a name: between columns or periods, or as stored."""
        pairs = [
            (self._one_value(mask, late), self._one_value(mask, early))
            for family in self.table.families
            for early, late in self._column_pairs(None, family)
        ]
        for column in self.table.metrics if len(self.table.time_steps) > 1 else ():
            for late_rows, early_rows, _ in islice(self._time_pairs(match.start(), match.end(), mask), 1):
                pairs.append((self._one_value(late_rows & mask, column), self._one_value(early_rows & mask, column)))
        for late, early in pairs:
            delta = (late or 0.0) - (early or 0.0)
            yield delta, delta / abs(early) if early else 0.0
        for column in self.table.metrics:
            if column.is_change:
                value = self._one_value(mask, column) or 0.0
                yield value, value

    def ranks(self) -> Iterator[Objection]:
        """Check ranks, such as "second"."""
        words = self.words
        for match in words.rank.finditer(self.text):
            ordinal = next(
                (value for name, value in match.groupdict().items() if value and name.startswith("ordinal")), ""
            )
            place = (
                int(re.sub(r"\D", "", ordinal))
                if ordinal[:1].isdecimal()
                else next((n for stem_, n in words.ordinals.items() if ordinal.lower().startswith(stem_)), 0)
            )
            if not place or any(m.start <= match.start() < m.end for m in (*self.reading.names, *self.reading.periods)):
                continue
            tail = self.text[match.start() : match.end() + 14]
            side = -1 if words.lowest.search(tail) else 1 if words.highest.search(tail) else 2
            if not self._is_extreme(match.start(), match.end(), side, place):
                yield self._objection(match.start(), match.end(), "the order of the rows is another")
        for match in words.followed_by.finditer(self.text):
            after = [
                group for group in self.reading.groups if 0 <= group.start - match.end() <= 12 and group.dimension >= 0
            ]
            earlier = [
                group
                for group in self.reading.groups
                if group.end <= match.start() and after and group.dimension == after[0].dimension
            ]
            if after and earlier and not self._follows(earlier[-1], after[0], match):
                yield self._objection(match.start(), after[0].end, "the order of the rows is another")

    def _is_extreme(self, start: int, end: int, side: int, place: int) -> bool:
        """Return whether the names or periods of a superlative have the rank `place` by value; 1 is the extreme."""
        table = self.table
        columns = self._superlative_columns(start, end)
        if not table.metrics or not columns:
            return True
        subjects = self._subjects(start, end)
        if not subjects or any(group.dimension == -1 and not group.rows for group in subjects):
            return True
        names = [group for group in subjects if group.dimension >= 0]
        periods = [group for group in subjects if group.dimension < 0]
        own = bool(self.words.own.search(self.text[max(0, start - 24) : end + 16]))
        candidates = periods if own and periods else names or periods
        candidates = [
            *candidates,
            *(listed for group in candidates if (listed := self.reading.listed_with(group)) != group),
        ]
        for subject in candidates:
            if subject.dimension == -2:
                if self._family_extreme(subject, subjects, self._sides(side, next(iter(subject.columns))), place):
                    return True
                continue
            for at in columns:
                sides = self._sides(side, at)
                for context in self._superlative_contexts(subject, subjects, own):
                    if any(self._is_at(subject, at, context, one, place) for one in sides):
                        return True
                if self._ratio_is_at(subject, at, sides, place, start, end):
                    return True
        return False

    def _sides(self, side: int, column: int) -> list[int]:
        """Return 1 for the highest values of a column and -1 for the lowest; both if either is accepted."""
        if abs(side) == 1:
            return [side]
        return [1, -1] if not side or self._is_better_low(self.table.columns[column]) else [side // 2]

    def _subjects(self, start: int, end: int) -> list[Group]:
        """Return the names and periods to which a superlative may refer."""
        reading = self.reading
        subjects: list[Group] = []
        for dimension in reading.dimensions:
            groups = reading.governing(start, end, dimension)
            if groups and all(group.rows == self.table.all and group.dimension != -2 for group in groups):
                groups = [
                    group
                    for group in reading.in_dimension(dimension)
                    if group.end <= start and group.rows != self.table.all
                ][-1:]
            near = [
                group
                for group in reading.in_dimension(dimension)
                if 0 <= group.start - end <= 40
                and (group.start - end <= 24 or reading.segment(group.start) == reading.segment(start))
                and (
                    reading.segment(group.start) == reading.segment(start)
                    or re.fullmatch(r"[^,;，；。]*", self.text[end : group.start])
                )
            ]
            inside = any(
                reading.segment(group.start) == reading.segment(start) and group.end <= start for group in groups
            )
            subjects += groups if inside else list(dict.fromkeys([*near[:1], *groups]))
        if not subjects and reading.before is not None and self.words.pronoun.match(self.text):
            subjects = [group for group in reading.before.groups if group.dimension >= 0][-1:]
        return [group for group in subjects if group.dimension == -2 or group.rows != self.table.all]

    def _superlative_contexts(self, subject: Group, subjects: Sequence[Group], own: bool) -> list[int]:
        """Return the rows with which a subject is compared: those of the other names and periods, or all."""
        others = [
            group for group in subjects if group.dimension not in {subject.dimension, -2} and group.rows & subject.rows
        ]
        rows = self.table.all
        for group in others:
            rows &= self._range_rows(group)
        if self.reading.before is not None and not any(group.dimension < 0 for group in others):
            carried = [group.rows for group in self.reading.before.in_dimension(-1) if group.rows]
            return [rows, *(rows & mask for mask in carried[-1:] if rows & mask & subject.rows)]
        return [rows, *([self.table.all] if rows & (rows - 1) == 0 else [])] if others else [self.table.all]

    def _ratio_is_at(self, subject: Group, column: int, sides: Sequence[int], place: int, start: int, end: int) -> bool:
        """Return whether the sentence mentions a ratio, and the subject is first by a ratio of two columns."""
        near = self.text[max(0, start - 40) : end + 40]
        mentions_ratio = any(
            pattern.search(near) for pattern in (self.words.each, self.words.rated, self.words.average)
        )
        own = self.table.columns[column]
        if not mentions_ratio or place != 1 or own.is_rate or own.has("average"):
            return False
        groups = (
            list(self.table.groups(subject.dimension).values())
            if subject.dimension >= 0
            else [mask for _, mask in self.table.time_steps]
        )
        for other in self.table.metrics:
            if other.index == column:
                continue
            for one, two in ((column, other.index), (other.index, column)):
                ratios = [
                    (sum(self.table.values(mask, one)) / below, mask)
                    for mask in groups
                    if (below := sum(self.table.values(mask, two)))
                ]
                for side in sides:
                    if ratios and max(ratios, key=lambda item: side * item[0])[1] & subject.rows:
                        return True
        return False

    def _family_extreme(self, subject: Group, subjects: Sequence[Group], sides: Sequence[int], place: int) -> bool:
        rows = self.table.all
        for group in subjects:
            if group.dimension >= 0:
                rows &= group.rows
        for family in self.table.families:
            subject_columns = [column for column in family if column.index in subject.columns]
            for side in sides:
                values = [side * sum(self.table.values(rows, column.index)) for column in family]
                for column in subject_columns:
                    own = side * sum(self.table.values(rows, column.index))
                    if sum(value > own for value in values) == place - 1:
                        return True
        return False

    def _is_at(self, subject: Group, column: int, context: int, side: int, place: int) -> bool:
        table = self.table
        if table.truncated and not self.words.shown.search(self.text):
            # The first rows have the extreme values only if the rows are sorted.
            known = [value for value in table.columns[column].values if value is not None]
            pairs = zip(known, known[1:], strict=False)
            is_sorted = len(known) > 2 and all(side * one >= side * two for one, two in pairs)
            if not is_sorted or known[0] == known[-1]:
                return False
        if subject.dimension >= 0:
            groups = list(table.groups(subject.dimension).values())
        else:
            groups = [mask for _, mask in table.time_steps]
        size = max(1, len(subject.members))
        for combine in (sum, fmean):
            others = [
                side * combine(values)
                for mask in groups
                if not mask & subject.rows and (values := table.values(mask & context, column))
            ]
            if subject.dimension >= 0 or size > 1:
                own = [
                    side * combine(values)
                    for member in subject.members
                    if (values := table.values(member.rows & context, column))
                ]
            else:
                values = table.values(subject.rows & context, column)
                own = [side * combine(values)] if values else []
            level = len(set(own + others)) == 1 and len(others) > 0 and len(table.metrics) > 1
            if own and place == 1 and not level and min(own) >= max(others, default=min(own)):
                return True
            if (
                own
                and place > 1
                and sum(other > own[0] for other in others) < place <= sum(other >= own[0] for other in others) + 1
            ):
                return True
        rows = [
            (side * value, row) for row in bits(context) if (value := table.columns[column].values[row]) is not None
        ]
        if not rows or len(groups) == len(rows):
            return False
        best = sorted((value for value, _ in rows), reverse=True)[place - 1 : place]
        stated_values = {side * value for values in self.stated_values.values() for value in values}
        return any(
            value == best[0] and value in stated_values and subject.rows >> row & 1 for value, row in rows if best
        )

    def _follows(self, one: Group, two: Group, match: re.Match[str]) -> bool:
        """Return whether `two` directly follows `one` in the order of some column."""
        columns = self.reading.columns_for(match.start(), match.end()) or frozenset(c.index for c in self.table.metrics)
        words = self.words
        lowest = bool(words.lowest.search(self.text[: match.start()]))
        sides = (
            [-1]
            if lowest and not words.highest.search(self.text[: match.start()])
            else [1]
            if words.highest.search(self.text[: match.start()])
            else [1, -1]
        )
        for at in columns:
            for side in sides:
                values = {
                    name: side * sum(self.table.values(mask, at))
                    for name, mask in self.table.groups(two.dimension).items()
                }
                last = [values[m.text] for m in one.members if m.text in values]
                first = [values[m.text] for m in two.members if m.text in values]
                named = {m.text for m in (*one.members, *two.members)}
                if last and first and min(last) >= max(first):
                    between = [v for name, v in values.items() if name not in named and max(first) < v < min(last)]
                    if not between:
                        return True
        return False
