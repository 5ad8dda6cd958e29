"""Parse a sentence into names, periods, metrics and figures, and relate these to each other."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from agent.grounding.facts import Mention, Table, alike, unit_patterns
from agent.grounding.measures import measure_words
from agent.grounding.numbers import Figure, figures_of
from agent.grounding.stems import stem
from agent.grounding.vocabulary import Vocabulary
from agent.messages import Language

_SENTENCE = re.compile(
    r"(?<![\s.(][A-ZА-Я])(?<!\bSt)(?<!\bMr)(?<!\bDr)(?<!\bMrs)(?<!\bNo)(?<!\bvs)(?<!\bул)(?<!\bим)[.!?…]+[\"»”*)]*\s+(?=[\"«“*(\[]*[A-ZА-ЯЁ\u4e00-\u9fff\d])|[。！？]|\n+"
)
_ABBREVIATED_UNIT = re.compile(r"\d[ \u00a0]?(?:[^\W\d_]{1,5}\.?[ \u00a0/]?){1,2}$")
"""A figure with its unit, whose full stop ends no sentence if a bracket follows, as in "120 руб. (Москва)"."""
_TOKEN = re.compile(r"[^\W\d_\u3400-\u9fff]+")
_HAN = re.compile(r"[\u3400-\u9fff]+")
_GAP = re.compile(r"[\s-]*(?:(?:[^\W\d_]+)[\s-]+){0,3}")
_HAN_GAP = re.compile(r"[\s的]*[\u3400-\u9fff]{0,3}")
_FIGURE_AFTER_MEMBER = re.compile(
    r"\s?[(（][^()（）]{1,24}[)）]|(?<=\w)\s?[:：]?\s?[$€£¥₽]?\d[\d.,]*%?(?=\s*(?:,|、|and|и|和)\s)"
)
"""A figure after a member of a list, as in "North (120), South (80) and West"."""
_PARTS_OF_TIME: dict[tuple[str | None, str | None], int] = {("d", "h"): 24, ("h", "min"): 60, ("min", "s"): 60}
_BETWEEN_PARTS = re.compile(r"[\s-]*[^\W\d_]{1,7}\.?,?(?:\s+(?:and|и)\s+|又)?\s*")
_TIMES_OF = re.compile(r"的[^，。]{0,6}倍")
_DASH = re.compile(r"\s*(?:[\w$€£¥₽%°./]+\s+){0,2}[-–—]{1,2}\s+(?:[^\W\d_]{1,3}\s+){0,2}")
"""The text between a figure and its name in a list such as "120 – North, 80 – South"."""
_END_OF_ITEM = re.compile(r"\s*(?:$|[,;.)。，；]|(?:and|и|а|和)(?!\w))")
_MAX_PHRASE_WORDS = 4
"""A part of a sentence with more words than this is a clause with a verb, which may name another metric."""
_SPACE = re.compile(r"[\s\-的']*(?:of\s+|the\s+|in\s+)?")
_GENERIC_HAN = {"平均", "总数", "总额", "数量", "人均", "比例", "百分", "分比", "百分比", "平均分"}


def sentences_of(text: str) -> Iterator[tuple[int, str]]:
    """Yield the sentences and lines of `text` with their positions.

    >>> list(sentences_of("Oslo has 3.5. Kazan has 2!"))
    [(0, 'Oslo has 3.5. '), (14, 'Kazan has 2!')]
    """
    start = 0
    for match in _SENTENCE.finditer(text):
        if text.startswith("(", match.end()) and _ABBREVIATED_UNIT.search(text, start, match.start()):
            continue
        if text[start : match.end()].strip():
            yield start, text[start : match.end()]
        start = match.end()
    if text[start:].strip():
        yield start, text[start:]


@dataclass(frozen=True)
class Metric:
    """A word of a sentence that names numeric columns."""

    start: int
    end: int
    columns: frozenset[int]
    by_name: bool = False
    """Whether the word is part of the column names, and not another word for their contents."""


@dataclass(frozen=True)
class Group:
    """Names or periods of one column that form a list, or a single one; `is_range` for the ends of a range."""

    members: tuple[Mention, ...]
    is_range: bool = False

    @property
    def start(self) -> int:
        """The start of the first member."""
        return self.members[0].start

    @property
    def end(self) -> int:
        """The end of the last member."""
        return self.members[-1].end

    @property
    def dimension(self) -> int:
        """The column of the names, -1 for periods of rows, -2 for periods of columns."""
        return self.members[0].dimension

    @cached_property
    def rows(self) -> int:
        """The rows of all members, as bits."""
        rows = 0
        for member in self.members:
            rows |= member.rows
        return rows

    @cached_property
    def columns(self) -> frozenset[int]:
        """The columns of all members, for periods of columns."""
        return frozenset(column for member in self.members for column in member.columns)


class Reading:
    """A sentence, parsed with the names and metrics of one table."""

    def __init__(
        self,
        text: str,
        table: Table,
        words: Vocabulary,
        before: "Reading | None" = None,
        asked: Language | None = None,
    ) -> None:
        """Parse the sentence `text` after `before`, an answer to a question in the language `asked`."""
        self.text = text
        self.table = table
        self.words = words
        self.before = before
        periods = table.periods_in(text)
        names = table.names_in(text)
        names = [
            name
            for name in names
            if not any(_overlap(name, period) and len(period.text) > name.end - name.start for period in periods)
        ]
        periods = [period for period in periods if not any(_overlap(name, period) for name in names)]
        self.names = names
        self.periods = periods
        blank = list(text)
        for mention in (*names, *periods):
            blank[mention.start : mention.end] = " " * (mention.end - mention.start)
        self.plain = "".join(blank)
        self.figures = self._apply_scales(self._durations(figures_of(self.plain, True, asked)))
        self.metrics = self._metrics()
        self.groups = [*self._group_mentions(names), *self._group_mentions(periods)]
        self.breaks = self._breaks()

    def _durations(self, figures: list[Figure]) -> list[Figure]:
        """Return the figures, with those of a duration such as "3 hours 35 minutes" merged."""
        merged: list[Figure] = []
        for figure in figures:
            size = _PARTS_OF_TIME.get((self.unit_of(merged[-1]), self.unit_of(figure))) if merged else None
            if (
                size
                and merged[-1].readings
                and figure.readings
                and _BETWEEN_PARTS.fullmatch(self.text[merged[-1].end : figure.start])
            ):
                start, value = merged[-1].start, merged[-1].value * size + figure.value
                text = self.text[start : figure.number_end]
                merged[-1] = replace(figure, text=text, start=start, readings=((value, 0),))
            else:
                merged.append(figure)
        return merged

    def _apply_scales(self, figures: list[Figure]) -> list[Figure]:
        """Apply the scale of the last figure of a range or list to the others."""
        result = list(figures)
        for at in range(len(figures) - 2, -1, -1):
            one, two = result[at], result[at + 1]
            between = re.sub(r"[$€£¥₽]", "", self.text[one.end : two.start])
            same = one.kind == two.kind == "plain" and one.factor == 1 < two.factor and one.readings and two.readings
            is_list = self.words.ranges.fullmatch(between) or self.words.joins.fullmatch(between)
            if (
                same
                and is_list
                and any(
                    0.1 <= first * two.factor / (last * two.factor or 1) <= 10
                    for first, _ in one.readings
                    for last, _ in two.readings
                )
            ):
                result[at] = replace(one, factor=two.factor)
        return result

    # Groups and parts of the sentence

    def _group_mentions(self, mentions: Sequence[Mention]) -> list[Group]:
        groups: list[list[Mention]] = []
        ranged: set[int] = set()
        open_: dict[int, int] = {}
        for mention in mentions:
            at = open_.get(mention.dimension)
            if at is not None:
                last = groups[at][-1]
                between = self.text[last.end : mention.start]
                bare = between.strip(" *_«»\"'“”")
                if last.start == mention.start:
                    pass
                elif (
                    self.words.joins.fullmatch(between)
                    or self.words.joins.fullmatch(f" {bare} ")
                    or self.words.joins.fullmatch(bare)
                ):
                    groups[at].append(mention)
                    if mention.dimension < 0 and self.words.starts.search(
                        self.text[max(0, groups[at][0].start - 10) : groups[at][0].start]
                    ):
                        ranged.add(at)
                    continue
                elif mention.dimension < 0 and self.words.ranges.fullmatch(between):
                    groups[at].append(mention)
                    ranged.add(at)
                    continue
            groups.append([mention])
            open_[mention.dimension] = len(groups) - 1
        return [Group(tuple(group), at in ranged) for at, group in enumerate(groups)]

    def _breaks(self) -> list[int]:
        spans = [(group.start, group.end) for group in self.groups]
        spans += [(figure.start, figure.end) for figure in self.figures]
        return [
            match.start()
            for match in self.words.breaks.finditer(self.text)
            if not any(start <= match.start() and match.end() <= end for start, end in spans)
            and not (
                self.words.than.fullmatch(match.group())
                and any(0 < figure.start - match.end() <= 4 for figure in self.figures)
            )
        ]

    def segment(self, at: int) -> int:
        """Return the number of the part of the sentence that contains a position."""
        return sum(1 for place in self.breaks if place < at)

    def part(self, at: int) -> str:
        """Return the text of the part of the sentence that contains a position."""
        start = max((place for place in self.breaks if place < at), default=0)
        end = min((place for place in self.breaks if place >= at), default=len(self.text))
        return self.text[start:end]

    @cached_property
    def figure_groups(self) -> list[list[Figure]]:
        """Figures that form a list or a range, in order."""
        groups: list[list[Figure]] = []
        for figure in self.figures:
            if groups:
                between = self.text[groups[-1][-1].end : figure.start]
                bare = re.sub(r"[$€£¥₽]", "", between)
                parts = bare, re.sub(r"^\s?[^\W\d_]{1,8}(?=\s|[,、和与到至])", "", bare)
                is_list = any(
                    self.words.joins.fullmatch(part)
                    or self.words.ranges.fullmatch(part)
                    or re.fullmatch(r"\s*,\s*", part)
                    for part in parts
                )
                money = [
                    self.text[max(0, item.start - 1) : item.start] in "$€£¥₽" and item.start > 0
                    for item in (groups[-1][-1], figure)
                ]
                if is_list and figure.kind == groups[-1][-1].kind and money[0] == money[1]:
                    groups[-1].append(figure)
                    continue
            groups.append([figure])
        return groups

    def listed_with(self, group: Group) -> Group:
        """Return a group with the other names of its list if figures follow them, as in "A (3) and B (2)"."""
        members = list(group.members)
        for other in self.in_dimension(group.dimension):
            between = _FIGURE_AFTER_MEMBER.sub("", self.text[members[-1].end : other.start])
            if other.start >= members[-1].end and self.words.joins.fullmatch(between):
                members += other.members
        for other in reversed(self.in_dimension(group.dimension)):
            between = _FIGURE_AFTER_MEMBER.sub("", self.text[other.end : members[0].start])
            if other.end <= members[0].start and self.words.joins.fullmatch(between):
                members = [*other.members, *members]
        return Group(tuple(members), group.is_range)

    def is_object(self, group: Group) -> bool:
        """Return whether `group` is the object of a comparison, after its "than"."""
        before = self.text[max(0, group.start - 40) : group.start]
        place = 0
        for other in self.groups:
            if other.end <= group.start and other.end > group.start - 40:
                place = max(place, other.end - (group.start - len(before)))
        between = before[place:]
        if _TIMES_OF.match(self.text, group.end) and between.endswith(("是", "为", "达", "到")):
            return True
        for pattern in (self.words.more, self.words.less) if re.search("[а-яё]", between) else ():
            if any(not between[match.end() :].strip() for match in pattern.finditer(between)):
                return True
        for pattern in (self.words.than, self.words.exceeds, self.words.trails):
            for match in pattern.finditer(between):
                rest = between[match.end() :]
                if not re.search(r"[,，;]", rest) and len(rest) <= 24 and not any(char.isdigit() for char in rest):
                    return True
        return False

    @cached_property
    def dimensions(self) -> list[int]:
        """The columns whose names or periods occur in the sentence."""
        return sorted({group.dimension for group in self.groups})

    @cached_property
    def groups_in_order(self) -> list[Group]:
        """The groups sorted by position."""
        return sorted(self.groups, key=lambda group: group.start)

    def in_dimension(self, dimension: int) -> list[Group]:
        """Return the groups of one column."""
        return [group for group in self.groups if group.dimension == dimension]

    def governing(self, start: int, end: int, dimension: int, figure: Figure | None = None) -> list[Group]:
        """Return the groups of a column to which the text at `start` may belong; empty if the sentence has none."""
        groups = self.in_dimension(dimension)
        if not groups:
            return []
        aligned = self._align_with_figures(figure, groups) if figure else None
        if aligned:
            return [aligned]
        segment = self.segment(start)
        same = [group for group in groups if self.segment(group.start) == segment]
        following = self.following(end, groups)
        if following:
            near = [group for group in same if group.end <= start and group is not following]
            directly = [
                group
                for group in near
                if not any(other.start < start and other.end > group.end for other in self.figures)
            ]
            return [following, *directly[-1:]] if directly and self.segment(following.start) == segment else [following]
        before = [group for group in same if group.end <= start]
        if before:
            selected = [before[-1]]
            if len(before) > 1 and self.is_object(before[-1]):
                selected.append(before[-2])
            return selected
        after = [
            group
            for group in same
            if group.start >= end and not any(end <= other.start < group.start for other in self.figures)
        ]
        before = [group for group in groups if group.end <= start]
        if after:
            return [after[0], *(before[-1:] if self.is_object(after[0]) else [])]
        if before:
            selected = [before[-1]]
            plain = [group for group in before if not self.is_object(group)]
            if self.is_object(before[-1]) and plain:
                selected.append(plain[-1])
            return selected
        return [group for group in groups if group.start >= end][:1]

    def following(self, end: int, groups: Sequence[Group]) -> Group | None:
        """Return the group that follows a figure with a preposition or a dash, as in "120 in the North"."""
        segment = self.segment(end)
        may_follow_dash = not any(group.end <= end and self.segment(group.start) == segment for group in groups)
        for group in groups:
            if not end <= group.start <= end + 60 or any(end <= other.start < group.start for other in self.figures):
                continue
            after_dash = _DASH.fullmatch(self.text, end, group.start) and _END_OF_ITEM.match(self.text, group.end)
            if self.words.after_figure.fullmatch(self.text, end, group.start) or (may_follow_dash and after_dash):
                return group
        return None

    def _align_with_figures(self, figure: Figure, groups: Sequence[Group]) -> Group | None:
        """Return the member of a list that corresponds to `figure` in a list of figures of the same length."""
        figures = next((item for item in self.figure_groups if figure in item and len(item) > 1), None)
        if not figures:
            return None
        place = figures.index(figure)
        for group in sorted(groups, key=lambda item: abs(item.start - figure.start)):
            if len(group.members) == len(figures):
                return Group((group.members[place],))
        return None

    # Metrics

    def _metrics(self) -> list[Metric]:
        metrics = [*self._metrics_by_words(), *self._metrics_in_chinese()]
        occupied = [(metric.start, metric.end) for metric in metrics]
        figures = [(figure.start, figure.end) for figure in self.figures]
        for word in measure_words(self.plain):
            if any(start < word.end and word.start < end for start, end in figures):
                continue
            columns = frozenset(column.index for column in self.table.metrics if word.measures & column.measures)
            is_counter = self.words.counters.fullmatch(self.plain, word.start, word.end) and any(
                0 <= word.start - figure.end <= 1 for figure in self.figures
            )
            if columns and not is_counter and not any(start < word.end and word.start < end for start, end in occupied):
                metrics.append(Metric(word.start, word.end, columns))
        return self._merge_metrics(sorted(metrics, key=lambda metric: (metric.start, metric.end)))

    def _metrics_by_words(self) -> Iterator[Metric]:
        table = self.table
        for match in _TOKEN.finditer(self.plain):
            root = stem(match.group())
            columns = frozenset(
                column.index for column in table.metrics if any(alike(root, own) for own in column.stems)
            )
            if columns:
                yield Metric(match.start(), match.end(), columns, True)

    def _metrics_in_chinese(self) -> Iterator[Metric]:
        pieces: dict[str, set[int]] = {}
        for column in self.table.metrics:
            for run in _HAN.findall(column.name):
                for size in range(2, len(run) + 1):
                    for at in range(len(run) - size + 1):
                        pieces.setdefault(run[at : at + size], set()).add(column.index)
        if not pieces:
            return
        longest = max(map(len, pieces))
        at = 0
        while at < len(self.plain):
            for size in range(min(longest, len(self.plain) - at), 1, -1):
                piece = self.plain[at : at + size]
                if piece in pieces and piece not in _GENERIC_HAN:
                    yield Metric(at, at + size, frozenset(pieces[piece]), True)
                    at += size - 1
                    break
            at += 1

    def _merge_metrics(self, metrics: Sequence[Metric]) -> list[Metric]:
        result: list[Metric] = []
        for metric in metrics:
            if result and metric.start < result[-1].end:
                if metric.start == result[-1].start and metric.end == result[-1].end:
                    result[-1] = Metric(metric.start, metric.end, result[-1].columns | metric.columns, True)
                continue
            if result:
                last = result[-1]
                common = last.columns & metric.columns
                gap = self.plain[last.end : metric.start]
                if common and _SPACE.fullmatch(gap):
                    result[-1] = Metric(last.start, metric.end, common, last.by_name or metric.by_name)
                    continue
            result.append(metric)
        return result

    def owned(self, figure_end: int) -> Metric | None:
        """Return the metric directly after a figure, as in "120 orders"."""
        for metric in self.metrics:
            if metric.start >= figure_end:
                between = self.plain[figure_end : metric.start]
                if self.words.links.search(between):
                    return None
                near = _GAP.fullmatch(between) or _HAN_GAP.fullmatch(between)
                crossing = self.segment(metric.start) != self.segment(figure_end) or self.words.than.search(between)
                other = any(figure_end <= figure.start < metric.start for figure in self.figures)
                return metric if near and not crossing and not other and not self.words.per.search(between) else None
        return None

    def paired(self, figure: Figure) -> bool:
        """Return whether a figure is one of two compared figures, as in "120 against 80"."""
        at = self.figures.index(figure)
        for one, two in ((at - 1, at), (at, at + 1)):
            if 0 <= one and two < len(self.figures):
                between = self.text[self.figures[one].end : self.figures[two].start]
                if self.words.against.fullmatch(between):
                    return True
        return False

    def is_whole(self, figure: Figure) -> bool:
        """Return whether another figure is a part of this one, such as of 198 in "41 of 198"."""
        before = self.text[max(0, figure.start - 24) : figure.start]
        return bool(self.words.part_of.search(before)) and any(
            0 < figure.start - other.end <= 30 or (0 <= other.start - figure.end <= 40 and before.strip().istitle())
            for other in self.figures
        )

    def columns_for(self, start: int, end: int) -> frozenset[int] | None:
        """Return the columns to which the text at `start` may refer; None if the sentence names none."""
        own = self._own_metric(start, end)
        consumed = {self.owned(figure.end) for figure in self.figures if figure.start != start}
        free = [
            metric
            for metric in self.metrics
            if metric not in consumed and not self.words.per.search(self.text[: metric.start])
        ]
        metrics = self._metrics_for(start, end, own, free)
        segment = self.segment(start)
        inherited = not own and all(self.segment(metric.start) != segment for metric in metrics)
        if not metrics or (inherited and self._is_clause(start)):
            return None
        columns = frozenset(column for metric in metrics for column in metric.columns)
        if own:
            predicate = [m for m in free if m.start >= own.end and self.segment(m.start) == segment and m is not own]
            columns |= frozenset(column for metric in predicate[:1] for column in metric.columns)
        else:
            beside = [metric for metric in free if metric not in metrics and self.segment(metric.start) == segment]
            for columns_beside in [metric.columns for metric in beside if metric.columns & columns < columns]:
                columns = columns & columns_beside or columns
        return columns | self._columns_by_unit(start, columns, own, metrics)

    def _is_clause(self, at: int) -> bool:
        """Return whether the part of the sentence at a position has too many words, besides names, to be a phrase."""
        start = max((place for place in self.breaks if place < at), default=0)
        return len(_TOKEN.findall(self.plain, start, start + len(self.part(at)))) > _MAX_PHRASE_WORDS

    def _own_metric(self, start: int, end: int) -> Metric | None:
        """Return the metric of the words after a figure, reduced to the columns that it shares with another metric."""
        own = self.owned(end)
        if own is None or len(own.columns) < 2:
            return own
        for metric in self.metrics:
            common = own.columns & metric.columns
            narrows = metric is not own and common and common != own.columns
            belongs_to_other = any(self.owned(figure.end) is metric for figure in self.figures if figure.start != start)
            if narrows and not belongs_to_other and self.segment(metric.start) == self.segment(start):
                own = Metric(own.start, own.end, common, own.by_name or metric.by_name)
        return own

    def _metrics_for(self, start: int, end: int, own: Metric | None, free: Sequence[Metric]) -> list[Metric]:
        """Return the metrics to which a position may refer: its own, the previous one, or else the nearest."""
        segment = self.segment(start)
        before = [metric for metric in free if metric.end <= start and self.segment(metric.start) == segment]
        metrics = [*([own] if own else []), *before[-1:]]
        if not metrics:
            after = [metric for metric in free if metric.start >= end and self.segment(metric.start) == segment]
            patterns = (self.words.highest, self.words.lowest)
            spans = [match.span() for pattern in patterns for match in pattern.finditer(self.plain)]
            earlier = [
                metric
                for metric in free
                if metric.end <= start
                and (metric.by_name or not any(first <= metric.start and metric.end <= last for first, last in spans))
            ]
            metrics = [*earlier[-1:], *after[:1]]
            metrics += [
                metric
                for metric in self.metrics
                if metrics and self.segment(metric.start) != segment and metric.end <= start
            ]
        figures = next(
            (group for group in self.figure_groups if len(group) > 1 and any(other.start == start for other in group)),
            [],
        )
        if figures and not own:
            metrics += [metric for metric in free if metric.end <= figures[0].start][-len(figures) :]
        return metrics

    def _columns_by_unit(
        self, start: int, columns: frozenset[int], own: Metric | None, chosen: Sequence[Metric]
    ) -> frozenset[int]:
        """Return further columns: with a unit of the sentence if `columns` have none, and without a measure."""
        own_unit = next((self.unit_of(figure) for figure in self.figures if figure.start == start), None)
        measured = own_unit is not None and any(self.table.columns[at].unit == own_unit for at in columns)
        units = {self.unit_of(figure) for figure in self.figures} - {None}
        further = frozenset[int]()
        if not own and not any(self.table.columns[at].unit in units for at in columns):
            further |= {column.index for column in self.table.metrics if column.unit in units}
        if not measured and not any(metric.by_name for metric in chosen):
            further |= {column.index for column in self.table.metrics if not column.measures}
        return further

    def unit_of(self, figure: Figure) -> str | None:
        """Return the unit of measure of a figure, such as "usd" or "kg"."""
        before = self.text[max(0, figure.start - 5) : figure.start].lower()
        for sign, unit in (
            ("$", "usd"),
            ("€", "eur"),
            ("£", "gbp"),
            ("₽", "rub"),
            ("usd ", "usd"),
            ("eur ", "eur"),
            ("gbp ", "gbp"),
            ("rmb ", "cny"),
            ("cny ", "cny"),
            ("rub ", "rub"),
            ("¥", "yen"),
            ("￥", "cny"),
        ):
            if before.endswith(sign):
                return unit
        after = re.compile(r"[\s\u00a0-]?").match(self.text, figure.end)
        place = after.end() if after else figure.end
        for pattern, unit in unit_patterns(self.words):
            if pattern.match(self.text, place):
                return unit
        return None


def _overlap(one: Mention, other: Mention) -> bool:
    return one.start < other.end and other.start < one.end


def nearest(pattern: re.Pattern[str], text: str, start: int, end: int) -> int | None:
    """Return the distance of the nearest match of `pattern` from `start` to `end`; None without a match."""
    distances = [
        min(abs(match.start() - end), abs(start - match.end()))
        for match in pattern.finditer(text)
        if not (match.start() < end and start < match.end())
    ]
    return min(distances, default=None)
