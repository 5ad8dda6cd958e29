"""References in a text: `{max.sales:region}` stands for a value of the rows, which code fills in.

A text is shown only if each of its references has a value, and nothing that it types itself is a figure or a name that
nobody said. A column with exactly the text of a reference always wins; names may be quoted, as in `{"net sales"}`, and
have the prefix of a table.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

from babel import Locale

from datasphinx.agent.answers.reference_syntax import Problem, Reference, Template, parse, path_of, typed_parts
from datasphinx.agent.answers.result_facts import ColumnFacts, ResultFacts, average_format, facts_of
from datasphinx.agent.answers.typed_values import (
    Said,
    Shown,
    composed_figures,
    is_one_word,
    typed_periods,
    typed_problems,
    unsupported,
)
from datasphinx.agent.core.text import capitalised
from datasphinx.agent.formatting.formats import (
    ColumnFormat,
    format_computed,
    format_listed,
    format_part_of_year,
    format_value,
    joined,
    list_mark,
    number_of,
    quantity_of,
)
from datasphinx.agent.messages import CONVENTIONS, render

__all__ = ["Filled", "ResultFacts", "Said", "facts_of", "fill", "unsupported"]

_MAX_TEXTS, _MAX_LISTED, _LISTED_WHOLE = 5, 5, 7
"""A list has as many names; one with few more has all of them."""
_PERIODS = 12
"""A list of periods has as many: the months of a year."""
_VARIED = 3
"""The place of the words for values that rise and fall."""
_COUNT, _PER_CENT = ColumnFormat("number", 0), ColumnFormat("percent", 1)
_DIGITS = re.compile(r"[0-9]+")
_ROW = re.compile(r"-?\d+")
_SENTENCE_END = re.compile(r"[.!?\u2026](?=\s)|[\u3002\uff01\uff1f]")
_UNIT = re.compile(r"\d\W?([^\W\d]+|%)$")
"""The unit at the end of a value: the last thing after its digits."""
_INFLECTED = 3
"""Units with as many letters are words, which a typed word may extend."""
_SPACE_IN_CHINESE = re.compile("(?<=[\u3000-\u9fff\uff00-\uffef]) (?=[\u3000-\u9fff\uff00-\uffef])")
_SIGNS = ("sign", "varied")
"""Kinds of references to words for a change: to those for its direction, or for values that rise and fall."""
_EXTREMES: dict[str, Callable[[Sequence[Any]], Any]] = {"max": max, "min": min}


class FilledValue(NamedTuple):
    """A value in a filled text: its place, the id of the other result that it is of, if any, and its rows.

    What is computed of the rows, such as a sum, has all of them.
    """

    start: int
    end: int
    result: str
    rows: tuple[int, ...]


@dataclass(frozen=True)
class Filled:
    """A text with values in place of its references; it may be shown only if there are no problems."""

    text: str
    problems: tuple[str, ...] = ()
    """Why it may not be shown, as English sentences for the model that wrote it."""
    directions: frozenset[int] = frozenset()
    """The columns whose direction of change it says."""
    rows: frozenset[tuple[int, int]] = frozenset()
    """The columns of which it refers to rows by their place, with these rows."""
    values: tuple[FilledValue, ...] = ()


def fill(text: str, facts: ResultFacts, said: Said, before: Filled | None = None) -> Filled:
    """Return `text` with the values of its references, or the reasons why it may not be shown.

    It may follow the sentence `before`; the first one needs a reference.
    """
    is_limit_said = facts.limit is not None and (Decimal(facts.limit), "") in said.figures
    said = facts.with_literals(said)
    try:
        template = parse(text.strip())
    except Problem as problem:
        return Filled("", (str(problem),))
    first = _Resolver(facts, is_limit_said)
    first.text_of(template)
    # A sentence decides the decimals of all numbers that it tells.
    others = {name: other.telling(_told(other, first.used)) for name, other in facts.others.items()}
    facts = replace(facts.telling(_told(facts, first.used)), others=others)
    values: list[FilledValue] = []
    resolver = _Resolver(facts, is_limit_said)
    filled = resolver.text_of(template, values)
    names = facts.names.union(*(other.names for other in facts.others.values()))
    periods = [period for one in (facts, *facts.others.values()) for period in one.period_names]
    typed = _SPACE_IN_CHINESE.sub("", typed_parts(template))
    problems = [
        *resolver.problems,
        *typed_problems(typed, said, names),
        *typed_periods(typed, said, periods),
        *composed_figures(filled, typed, resolver.shown, said),
        *_problems_together(resolver.used, before or Filled(""), facts.others),
        *(
            f"{{{fact}}} needs {{{fact}.name}} beside it"
            for fact, name in resolver.named
            if name.casefold() not in filled.casefold()
        ),
    ]
    if before is None and not facts.is_blank and not any(isinstance(part, Reference) for part in template):
        problems.append("it does not refer to any value of the rows")
    directions = frozenset(one.column for one in resolver.used if one.kind in _SIGNS)
    if problems:
        return Filled("", tuple(dict.fromkeys(problems)), directions)
    rows = frozenset((one.column, row) for one in resolver.used if _ROW.fullmatch(one.kind) for row in one.rows)
    typeset = _typeset(filled, is_stored=not template[0] and _is_stored(filled, resolver.used))
    return Filled(typeset, (), directions, rows, tuple(_typeset_values(filled, values)))


def _told(facts: ResultFacts, used: Sequence["_Use"]) -> dict[int, list[Decimal]]:
    """Return the numbers of each column that the references `used` tell of `facts`."""
    told: dict[int, list[Decimal]] = {}
    for at, column in enumerate(facts.columns):
        own = [one for one in used if one.facts is facts and (at in (one.column, one.shown) or one.kind == "list")]
        rows = {row for one in own for row in one.rows}
        cells = [quantity_of(column.cells[row], column.format) for row in rows]
        numbers = [number for number in cells if number is not None]
        if column.numbers:
            total = sum(column.numbers, Decimal())
            totals = {"sum": total, "avg": total / len(column.numbers)}
            numbers += [totals[one.kind] for one in own if one.kind in totals]
        if own:
            told[at] = numbers
    return told


def _typeset(text: str, *, is_stored: bool) -> str:
    """Return a sentence with a capital letter at its beginning, and without spaces between Chinese characters.

    A first word with a spelling of its own keeps it, and so does one that `is_stored`.
    """
    first = text.partition(" ")[0].rstrip(",")
    text = capitalised(text) if first.isalpha() and first.islower() and not is_stored else text
    return _SPACE_IN_CHINESE.sub("", text)


def _is_stored(text: str, used: Sequence["_Use"]) -> bool:
    """Return whether the first word of `text`, which a reference gives, is that of a stored text."""
    cells = (
        str(column.cells[row]).split()
        for one in used
        for column in (one.facts.columns if one.shown < 0 else [one.facts.columns[one.shown]])
        if column.format.kind == "text"
        for row in one.rows
    )
    return any(text.startswith(words[0]) for words in cells if words)


def _typeset_values(text: str, values: Sequence[FilledValue]) -> Iterator[FilledValue]:
    """Yield the places of `values` in `_typeset(text)`."""
    spaces = [match.end() for match in _SPACE_IN_CHINESE.finditer(text)]
    for value in values:
        start, end = (at - sum(space <= at for space in spaces) for at in (value.start, value.end))
        yield value._replace(start=start, end=end)


class _Value(NamedTuple):
    """The value of a reference as text, and as a number with its sign if it is one."""

    text: str
    number: Decimal | None = None
    names: int = 0
    """How many names the text has; 0 if it names nothing."""
    beside: str = ""
    """The name that has to stand beside a computed fact."""
    varies: bool = False
    """Whether it is the change of values that neither rise nor fall throughout."""
    is_label: bool = False
    may_be_percent: bool = False
    """See `Shown`."""


class _Use(NamedTuple):
    """A reference that was used: what it selects, of which column, and the rows that its value comes from."""

    facts: ResultFacts
    kind: str
    column: int
    shown: int
    rows: tuple[int, ...] = ()
    sentence: int = 0
    """The number of the sentence in which it is used."""

    @property
    def year(self) -> int | None:
        """The year of the column that it shows, if that has months or quarters of one alone."""
        return self.facts.columns[self.shown].year if self.shown >= 0 else None


@dataclass
class _Resolver:
    """The values of references in the rows of a result."""

    facts: ResultFacts
    is_limit_said: bool = False
    """Whether the user asked for as many rows as there are, at which the statement cuts them."""
    row: int | None = None
    """The only row that it refers to."""
    year: int | None = None
    """The year of months and quarters that was named last, without which others of it are told."""
    problems: list[str] = field(default_factory=list)
    used: list[_Use] = field(default_factory=list)
    named: list[tuple[str, str]] = field(default_factory=list)
    """The computed facts that were used, with the names that have to stand beside them."""
    shown: list[Shown] = field(default_factory=list)
    """The values that the text shows."""
    without_sign: str = ""
    """What chose the words that are filled, whose values have no sign: `{?c|rose|fell}` says it."""
    sentence: int = 0
    """The number of sentences before the reference."""
    quotes: tuple[str, str] = ("", "")
    """The quotation marks around the reference, which each of several names gets."""

    def text_of(self, template: Template, values: list[FilledValue] | None = None) -> str:
        """Return the text; a unit that the model typed after a value that brings it is there once.

        Two values without anything between them are kept apart where the script separates words. The places of its
        values are added to `values`.
        """
        text = before = unit = ""
        last: Shown | None = None
        bare = _bare_forms(template)
        for at, part in enumerate(template):
            if isinstance(part, str):
                text += _without_start(part, unit).removeprefix("." if before.endswith(".") else "")
                self.year = self._typed_year(part) or self.year
                self.sentence += len(_SENTENCE_END.findall(part))
                before, unit = ("", "") if part else (before, unit)
                continue
            used, shown = len(self.used), len(self.shown)
            self.quotes = _quotes_around(text, template[at + 1 : at + 2])
            value = self._filled(part, is_bare=at in bare)
            self.used[used:] = [one._replace(sentence=self.sentence) for one in self.used[used:]]
            for one in self.used[used:]:
                self.year = one.year if one.year and str(one.year) in value else self.year
            first = next(iter(self.shown[shown:]), None)
            if before and last and first and value.startswith(first.text) and not (last.is_label or first.is_label):
                self.problems.append(f"{{{part.text}}}: nothing stands between it and the figure before it")
            last = self.shown[-1] if first and value.endswith(self.shown[-1].text) else None
            text += " " if is_one_word(before[-1:], value[:1]) else ""
            if values is not None and at not in bare:
                values.append(self._place(part, len(text), len(text) + len(value), self.used[used:]))
            text += value
            before, unit = (value, _unit_of(value)) if value else (before, unit)
        return text

    def _typed_year(self, text: str) -> int | None:
        """Return the last number of `text` that is the year of a column."""
        known = {str(column.year) for column in self.facts.columns if column.year}
        typed = [digits for digits in _DIGITS.findall(text) if digits in known]
        return int(typed[-1]) if typed else None

    def _place(self, reference: Reference, start: int, end: int, used: Sequence[_Use]) -> FilledValue:
        name = re.split("[.:]", reference.selection, maxsplit=1)[0]
        facts = self.facts.others.get(name, self.facts)
        rows = sorted({row for use in used for row in use.rows}) or range(len(facts.rows))
        return FilledValue(start, end, name if name in self.facts.others else "", tuple(rows))

    def _filled(self, reference: Reference, *, is_bare: bool) -> str:
        try:
            return self._text(reference, is_bare=is_bare)
        except Problem as problem:
            self.problems.append(f"{{{reference.text}}}: {problem}")
            return ""

    def _text(self, reference: Reference, *, is_bare: bool) -> str:
        if reference.text in {column.name for column in self.facts.columns}:
            return self._shown(self._only(self.facts, self._column(self.facts, reference.text)), reference.text)
        if reference.chooses_by in {"row", "rest"} and self.row is None:
            name, colon, within = reference.selection.rpartition(":")
            if colon and name not in self.facts.others:
                raise Problem("there is no such result")
            facts = self.facts.others[name] if colon else self.facts
            if reference.chooses_by == "row":
                return self._each_row(facts, reference.words)
            return self._rest(facts, path_of(within)[0][1:], reference.words)
        value = self._value(self.facts, reference.selection, is_sign=reference.chooses_by == "sign")
        if value.beside:
            self.named.append((reference.selection, value.beside))
        if not reference.chooses_by:
            return self._shown(value, reference.selection)
        number = Decimal(value.names) if value.names and reference.chooses_by == "number" else value.number
        if number is None or not reference.words:
            raise Problem("only a number has a sign, only a number or names a plural, and words have to follow it")
        if reference.chooses_by == "sign":
            return self._signed(reference, value, number)
        self.shown += [] if is_bare else [_as_shown(value, value.text)]
        noun = self.text_of(_by_number(number, reference.words, self.facts.language)).strip()
        if is_bare:
            return noun
        own = _without_start(noun, _unit_of(value.text))
        return value.text + (" " if own == noun and self.facts.language != "zh" else "") + own

    def _signed(self, reference: Reference, value: _Value, number: Decimal) -> str:
        """Return the words for the sign of `value`, in which it has none itself."""
        if value.varies and len(reference.words) > _VARIED:
            self.used[-1] = self.used[-1]._replace(kind="varied")
        outer, self.without_sign = self.without_sign, reference.selection
        text = self.text_of(_by_sign(value, number, reference.words))
        self.without_sign = outer
        return text

    def _shown(self, value: _Value, selection: str) -> str:
        is_signed = selection == self.without_sign and value.number is not None and value.number < 0
        text = value.text.replace("-", "", 1).replace("\u2212", "", 1) if is_signed else value.text
        self.shown.append(_as_shown(value, text))
        return text

    def _value(self, facts: ResultFacts, selection: str, *, is_sign: bool = False) -> _Value:
        if selection in {column.name for column in facts.columns}:
            return self._only(facts, self._column(facts, selection))
        name, colon, within = selection.partition(":")
        if colon and name in facts.others:
            return self._value(facts.others[name], within, is_sign=is_sign)
        path, by = path_of(selection)
        first, rest = path[0], path[1:]
        if self.row is not None:
            if rest or by:
                raise Problem("the words for a row refer to its columns alone")
            return self._only(facts, self._column(facts, first))
        if selection == "rows":
            return self._count(facts)
        if fact := facts.computed.get(first):
            if rest == ["name"] and fact.name:
                return _Value(fact.name)
            return _Value(fact.value, fact.number, beside=fact.name)
        if rest and first in facts.others:
            return self._value(facts.others[first], selection.partition(".")[2], is_sign=is_sign)
        if rest and (selected := self._selected(facts, first, rest, by, is_sign)):
            return selected
        return self._only(facts, self._column(facts, *path))

    def _selected(self, facts: ResultFacts, first: str, rest: list[str], by: list[str], is_sign: bool) -> _Value | None:
        """Return the value of a column that a first word selects; None if it is no such word, but a table."""
        if first == "share" and len(rest) > 1:
            return self._share(facts, rest[0], self._column(facts, *rest[1:]))
        at = partial(self._column, facts, *rest)
        shown = self._column(facts, *by) if by else None
        if first in _EXTREMES:
            return self._extreme(facts, first, at(), shown)
        if first in {"sum", "avg"}:
            return self._aggregate(facts, first, at())
        if first == "different":
            return self._different(facts, at())
        if first == "list":
            return self._list(facts, at(), shown)
        if first in {"change", "change%"}:
            return self._change(facts, first, at(), is_sign=is_sign)
        return self._cell_of_row(facts, int(first), at()) if _ROW.fullmatch(first) else None

    def _column(self, facts: ResultFacts, *path: str) -> int:
        """Return the index of the column that a path names, with or without its table."""
        at = facts.named(*path)
        if at is None:
            names = [column.name for column in facts.columns]
            raise Problem(f"there is no such column; there are {', '.join(names or facts.others)}")
        return at

    def _only(self, facts: ResultFacts, at: int) -> _Value:
        if self.row is not None:
            self.used.append(_Use(facts, "only", at, at, (self.row,)))
            return self._cell(facts, at, self.row)
        column = facts.columns[at]
        cells = list(dict.fromkeys(map(_hashable, column.cells)))
        if len(cells) != 1 and not (column.is_text and 0 < len(cells) <= _MAX_TEXTS):
            raise Problem("it has several values, so the text has to say which one")
        self.used.append(_Use(facts, "only", at, at, tuple(range(len(facts.rows)))))
        if len(cells) == 1:
            return self._cell(facts, at, 0)
        self._require_listable(facts)
        rows = [next(row for row, cell in enumerate(column.cells) if _hashable(cell) == one) for one in cells]
        names = self._texts(facts, at, self._different_rows(facts, at, rows))
        return self._listed(names, facts, self._named(facts, at) if column.key else len(names))

    def _count(self, facts: ResultFacts) -> _Value:
        _require_no_totals(facts)
        is_known = self._is_as_asked(facts) or (facts.is_one_per_group and facts.has_only_ranks)
        if facts.is_cut and not is_known:
            raise Problem("the rows are cut, so their number is not known")
        self.used.append(_Use(facts, "rows", -1, -1))
        return _number(Decimal(len(facts.rows)), _COUNT, facts)

    def _different(self, facts: ResultFacts, at: int) -> _Value:
        _require_no_totals(facts)
        if facts.is_cut:
            raise Problem("the rows are cut, so the number of its values is not known")
        self.used.append(_Use(facts, "rows", -1, -1))
        return _number(Decimal(self._named(facts, at)), _COUNT, facts)

    def _is_as_asked(self, facts: ResultFacts) -> bool:
        """Return whether the rows are cut only where the user asked for it."""
        is_limited = self.is_limit_said and facts is self.facts and len(facts.rows) == facts.limit
        return is_limited and not (facts.result["truncated"] or facts.is_shifted or facts.is_ranked)

    def _cell_of_row(self, facts: ResultFacts, number: int, at: int) -> _Value:
        count = len(facts.rows)
        row = number - 1 if number > 0 else count + number
        is_seen = 0 < number <= min(facts.seen_rows, count)
        if not is_seen and (number not in (1, -1) or not count):
            raise Problem("it refers to a row that is not shown")
        if not is_seen and _varies(facts.columns[at]):
            self._require_place(facts, row)
        self.used.append(_Use(facts, str(number), at, at, (row,)))
        return self._cell(facts, at, row)

    def _require_place(self, facts: ResultFacts, row: int) -> None:
        """Require that the order of the rows says that `row` is the first or last."""
        if facts.order is None or (row and facts.is_cut and not self._is_as_asked(facts)):
            raise Problem("the rows are not sorted, or cut before the last one")
        if facts.order[0] is None:
            return
        cells = facts.columns[facts.order[0]].cells
        if facts.columns[facts.order[0]].ranks is not None and facts.sorted_by is None:
            raise Problem("the rows are not in the order of their first key")
        if cells[row] == cells[1 if row == 0 else row - 1]:
            raise Problem("another row shares its place")

    def _extreme(self, facts: ResultFacts, kind: str, at: int, shown: int | None) -> _Value:
        row, *tied = rows = self._extreme_rows(facts, kind, at)
        by = at if shown is None else shown
        self.used.append(_Use(facts, kind, at, by, (row, *tied)))
        different = self._different_rows(facts, by, rows)
        return (
            self._cell(facts, by, row)
            if len(different) == 1
            else self._listed(self._texts(facts, by, different), facts, len(different))
        )

    def _extreme_rows(self, facts: ResultFacts, kind: str, at: int) -> list[int]:
        _require_no_totals(facts)
        column = facts.columns[at]
        known = [row for row, cell in enumerate(column.cells) if cell is not None]
        ranks = replace(column, cells=[column.cells[row] for row in known]).ranks
        is_sorted = facts.sorted_by == (at, kind == "max") and not (facts.is_shifted or facts.is_ranked)
        is_sorted |= facts.has_only_ranks and facts.ranked_by == (at, kind == "max")
        if not ranks or (kind == "min" and column.is_additive and len(known) < len(facts.rows)):
            raise Problem("it has no values that can be compared, or no sum where nothing was summed")
        if facts.is_cut and not is_sorted and not (kind in facts.extremes and min(ranks) == max(ranks)):
            raise Problem("the rows are cut, so that their extremes are not known")
        if min(ranks) == max(ranks) and kind not in facts.extremes and not (len(ranks) == 1 and facts.limit == 1):
            raise Problem("all values are equal: the column alone refers to the value")
        wanted = _EXTREMES[kind](ranks)
        rows = [row for row, rank in zip(known, ranks, strict=True) if rank == wanted]
        if facts.is_cut and len(rows) == len(ranks) > 1 and kind not in facts.extremes:
            raise Problem("rows with the same value may be cut")
        return rows

    def _aggregate(self, facts: ResultFacts, kind: str, at: int) -> _Value:
        column, numbers = self._addends(facts, at)
        total = sum(numbers, Decimal())
        self.used.append(_Use(facts, kind, at, at))
        if kind == "sum":
            return _number(total, column.spoken, facts)
        shown = average_format(column.format) if column.spoken == column.format else column.spoken
        return _computed(total / len(numbers), shown, facts)

    def _addends(self, facts: ResultFacts, at: int) -> tuple[ColumnFacts, list[Decimal]]:
        _require_no_totals(facts)
        column = facts.columns[at]
        if not column.is_additive or not column.numbers:
            raise Problem("a sum of its values has no meaning, or a value is missing")
        if facts.is_cut:
            raise Problem("the rows are cut, so that their sum is not known")
        return column, column.numbers

    def _share(self, facts: ResultFacts, which: str, at: int) -> _Value:
        _, numbers = self._addends(facts, at)
        whole = sum(numbers, Decimal())
        if min(numbers) < 0 or not whole:
            raise Problem("there are no shares of negative values or of nothing")
        if which in _EXTREMES:
            row = self._extreme_rows(facts, which, at)[0]
            self.used.append(_Use(facts, which, at, at, (row,)))
        elif _ROW.fullmatch(which):
            self._cell_of_row(facts, int(which), at)
            row = 0 if which == "1" else len(facts.rows) - 1
        else:
            raise Problem("a share is that of max, min, or the first or last row")
        share = 100 * numbers[row] / whole
        is_near = 0 < share < Decimal("0.1") or Decimal("99.9") < share < 100
        return _computed(share, replace(_PER_CENT, decimals=3) if is_near else _PER_CENT, facts)

    def _change(self, facts: ResultFacts, kind: str, at: int, *, is_sign: bool) -> _Value:
        periods = [(index, one.ranks) for index, one in enumerate(facts.columns) if one.is_period]
        column, numbers = facts.columns[at], facts.columns[at].numbers
        if len(periods) != 1 or not numbers or len(numbers) < 2:
            raise Problem("a change needs one column of periods and a value for each of them")
        index, ranks = periods[0]
        if ranks is None or len(set(ranks)) < len(ranks) or index == at:
            raise Problem("a change needs periods that occur once")
        if facts.is_cut and (facts.sorted_by != (index, True) or facts.is_shifted or facts.result["truncated"]):
            raise Problem("the rows are cut before the last period")
        rows = sorted(range(len(ranks)), key=ranks.__getitem__)
        in_time = [numbers[row] for row in rows]
        self.used.append(_Use(facts, "sign" if is_sign else kind, at, index, (rows[0], rows[-1])))
        first, last = in_time[0], in_time[-1]
        change, varies = last - first, in_time not in (sorted(in_time), sorted(in_time, reverse=True))
        if kind == "change":
            points = replace(_COUNT, decimals=column.format.decimals)
            size = abs(change) * (100 if column.format.kind == "fraction" else 1)
            text = _number(size, points if column.is_share else column.spoken, facts).text
            return _Value(text, change, varies=varies)
        if first <= 0 or column.is_share:
            raise Problem("a change in per cent needs a positive start and no column of percentages")
        return _Value(_computed(abs(100 * change / first), _PER_CENT, facts).text, change, varies=varies)

    def _list(self, facts: ResultFacts, name: int, at: int | None) -> _Value:
        rows = range(len(facts.rows))
        if not rows:
            raise Problem("there are no rows to list")
        self._require_listable(facts)
        different = self._different_rows(facts, name, rows)
        is_named_by_both = at is not None and facts.columns[at].is_text
        count = self._named(facts, name) if facts.columns[name].key else len(different)
        if count < len(rows) and at is not None and not is_named_by_both:
            raise Problem("its names repeat")
        self.used.append(_Use(facts, "list", name if at is None else at, name, tuple(rows)))
        if at is None:
            names = self._texts(facts, name, different)
        else:
            names = self._texts(facts, name, rows, are_alone=False)
            aside = CONVENTIONS[facts.language].aside.format
            known = [row for row in rows if facts.columns[at].cells[row] is not None]
            for row in known:
                self._cell(facts, at, row)  # raises if the value is a blank text or NaN
            for row, text in zip(known, self._texts(facts, at, known, are_alone=False), strict=True):
                names[row] += aside(text)
            count = len(rows)
        return self._listed(names, facts, count, _most(facts, [name]))

    def _each_row(self, facts: ResultFacts, words: Sequence[Template]) -> str:
        """Return the words with the values of each row, as a list."""
        if len(words) != 1 or not facts.rows:
            raise Problem("it needs one text with references to columns, and rows")
        self._require_listable(facts)
        shown: set[int] = set()
        texts, unknown = [], CONVENTIONS[facts.language].aside.format(format_value(None, _COUNT, facts.language))
        for row in range(len(facts.rows)):
            resolver = _Resolver(facts, row=row, year=self.year)
            texts.append(resolver.text_of(words[0]).replace(unknown, "").strip())
            self.year = resolver.year
            self.shown += resolver.shown
            self.problems += resolver.problems
            shown = {one.shown for one in resolver.used}
            names = [column for column in shown if facts.columns[column].is_name or facts.columns[column].is_period]
            if not facts.identifies(names, row) and not facts.identifies(facts.with_keys(names), row):
                raise Problem("its text needs the names or period of the row")
        self.used.append(_Use(facts, "list", -1, -1, tuple(range(len(facts.rows)))))
        conventions = CONVENTIONS[facts.language]
        typed = "".join(part for part in words[0] if isinstance(part, str)).partition(conventions.aside.strip()[0])[0]
        is_clause = any(map(str.isalnum, typed)) and list_mark(texts, facts.language) == conventions.list_comma
        most = _most(facts, shown)
        different = list(dict.fromkeys(texts))
        if conventions.clause_comma and is_clause and len(texts) == len(different) <= most:
            return conventions.clause_comma.join(texts)
        self.shown.append(Shown(str(len(texts) - len(_first_names(different, most)))))
        return _names(different, facts, len(texts), most)

    def _rest(self, facts: ResultFacts, path: Sequence[str], words: Sequence[Template]) -> str:
        """Return the words about the rows after the first and those that tie with it in the column of `path`.

        They only add, and are left out if no order tells which rows these are, or if they may not be said.
        """
        if len(words) != 1 or not path:
            raise Problem("it needs a column and one text")
        at = self._column(facts, *path)
        ranks = facts.columns[at].ranks
        extremes = {one.kind for one in self.used if one.column == at and one.kind in _EXTREMES}
        if facts.has_totals or ranks is None or facts.sorted_by is None or facts.sorted_by[0] != at:
            return ""
        if not extremes <= {"max" if facts.sorted_by[1] else "min"}:
            return ""
        rows = [row for row, rank in enumerate(ranks) if rank != ranks[0]]
        if not rows:
            return ""
        rest = facts.with_rows({**facts.result, "rows": [facts.rows[row] for row in rows]})
        resolver = _Resolver(replace(rest, seen_rows=0), year=self.year)
        text = resolver.text_of(words[0])
        if resolver.problems or any(_problems_together(resolver.used, Filled(""), {})):
            return ""
        self.year = resolver.year
        self.shown += resolver.shown
        self.used.append(_Use(facts, "list", at, at, tuple(rows)))
        return text

    def _listed(self, names: Sequence[str], facts: ResultFacts, count: int, most: int = _LISTED_WHOLE) -> _Value:
        """Return names of `count` things as a list in words; if it has all, quotation marks are those of each name."""
        start, end = self.quotes
        if not start:
            return _Value(_names(names, facts, count, most), names=count)
        if len(names) > most or len(names) < count:
            raise Problem(f"the quotation marks belong to each name: {{list|{start}{{column}}{end}}}")
        quoted = joined([f"{start}{name}{end}" for name in names], facts.language)
        return _Value(quoted.removeprefix(start).removesuffix(end), names=count)

    def _named(self, facts: ResultFacts, at: int) -> int:
        """Return how many different things a column names: those with the same name and another key are different."""
        columns = [at, *facts.columns[at].key]
        return len({tuple(_hashable(row[one]) for one in columns) for row in facts.rows if row[at] is not None})

    def _different_rows(self, facts: ResultFacts, at: int, rows: Iterable[int]) -> list[int]:
        """Return the first one of the rows with each text in a column."""
        first: dict[str, int] = {}
        for row in rows:
            first.setdefault(self._cell(facts, at, row).text, row)
        return list(first.values())

    def _texts(self, facts: ResultFacts, at: int, rows: Iterable[int], *, are_alone: bool = True) -> list[str]:
        column = facts.columns[at]
        cells = [column.cells[row] for row in rows]
        return format_listed(cells, column.spoken, facts.language, are_alone=are_alone, year=self.year)

    def _require_listable(self, facts: ResultFacts) -> None:
        if facts.result["truncated"] or (facts.is_cut and facts.order is None):
            raise Problem("the rows are cut, so that a list of them is not complete")

    def _cell(self, facts: ResultFacts, at: int, row: int) -> _Value:
        column = facts.columns[at]
        cell = column.cells[row]
        if cell is None and self.row is not None:
            return _Value(format_value(cell, column.spoken, facts.language))
        if not str("" if cell is None else cell).strip() or (isinstance(cell, float) and number_of(cell) is None):
            raise Problem("it has no value")
        text = format_value(cell, column.spoken, facts.language, in_sentence=True)
        if column.year is not None and column.year == self.year:
            text = format_part_of_year(cell, column.format.kind, facts.language)
        if isinstance(cell, bool):
            return _Value(text, Decimal(1 if cell else -1))
        number = quantity_of(cell, column.format) if column.is_numeric else None
        names = int(column.is_text and isinstance(cell, str))
        return _Value(text, number, names, is_label=column.is_label, may_be_percent=column.may_be_percent)


def _as_shown(value: _Value, text: str) -> Shown:
    return Shown(text, value.is_label or value.number is None, value.may_be_percent)


def _require_no_totals(facts: ResultFacts) -> None:
    if facts.has_totals:
        raise Problem("some of the rows sum up others")


def _bare_forms(template: Template) -> set[int]:
    """Return the places of plural forms beside which their value does not stand.

    A value with several forms stands once, before the last of the first ones in a row: `There {n#is|are} {n#cat|cats}`
    is "There are 3 cats". It stands before none if the text, or one of the forms, has it without a form, and not
    between a list and its verb: `{list.name} {rows#has|have}`.
    """
    places: dict[str, list[int]] = {}
    plain = {part.selection for part in template if isinstance(part, Reference) and not part.chooses_by}
    for at, part in enumerate(template):
        if isinstance(part, Reference) and part.chooses_by == "number" and not _follows_list(template, at):
            places.setdefault(part.selection, []).append(at)
            inner = (one.selection for one in chain.from_iterable(part.words) if isinstance(one, Reference))
            plain |= {part.selection}.intersection(inner)
    bare = {at for at in range(len(template)) if _follows_list(template, at)}
    for selection, forms in places.items():
        if selection in plain:
            bare.update(forms)
            continue
        shown = forms[0]
        for form in forms[1:]:
            if any(isinstance(part, Reference) or part.strip() for part in template[shown + 1 : form]):
                break
            shown = form
        bare.update(form for form in forms if form != shown)
    return bare


def _follows_list(template: Template, at: int) -> bool:
    """Return whether nothing but white space is between the reference at a place and a list before it."""
    before = [part for part in template[:at] if isinstance(part, Reference) or part.strip()]
    return bool(before) and isinstance(before[-1], Reference) and before[-1].is_list


def _quotes_around(before: str, after: Template) -> tuple[str, str]:
    """Return the quotation marks that `before` ends with and `after` begins with, or two empty texts."""
    start, end = before[-1:], after[0][:1] if after and isinstance(after[0], str) else ""
    names = [unicodedata.name(one, "") if one else "" for one in (start, end)]
    are_quotes = all("QUOTATION MARK" in name or "BRACKET" in name for name in names)
    return (start, end) if are_quotes else ("", "")


def _unit_of(value: str) -> str:
    found = _UNIT.search(value)
    return found[1] if found else ""


def _without_start(text: str, unit: str) -> str:
    """Return `text` without `unit` at its start; of an inflected form the ending is left."""
    own = text.lstrip()
    is_whole = not is_one_word(unit[-1:], own[len(unit) : len(unit) + 1]) or len(unit) >= _INFLECTED
    return own[len(unit) :] if unit and own.startswith(unit) and is_whole else text


def _most(facts: ResultFacts, shown: Iterable[int]) -> int:
    """Return how many items a list of rows, with the columns `shown`, has in whole."""
    return _PERIODS if any(facts.columns[at].is_period for at in shown) else _LISTED_WHOLE


def _first_names(names: Sequence[str], most: int) -> Sequence[str]:
    """Return the names that a list has of more than `most`."""
    return names if len(names) <= most else names[:_MAX_LISTED]


def _names(names: Sequence[str], facts: ResultFacts, count: int, most: int) -> str:
    """Return names of `count` things as a list in words: all or the first few, and how many more."""
    shown = _first_names(names, most)
    if len(shown) == count:
        return joined(shown, facts.language)
    listed = list_mark(names, facts.language).join(shown)
    return render("names_and_more", facts.language, names=listed, count=count - len(shown))


def _number(number: Decimal, fmt: ColumnFormat, facts: ResultFacts) -> _Value:
    return _Value(format_value(str(number), fmt, facts.language, in_sentence=True), number)


def _computed(number: Decimal, fmt: ColumnFormat, facts: ResultFacts) -> _Value:
    return _Value(format_computed(number, fmt, facts.language), number)


def _hashable(cell: Any) -> Any:
    return cell if isinstance(cell, str | int | float | bool | None) else str(cell)


def _varies(column: ColumnFacts) -> bool:
    return len(set(map(_hashable, column.cells))) > 1


def _by_sign(value: _Value, number: Decimal, words: Sequence[Template]) -> Template:
    """Return the words for the sign; a fourth one is for values that change, but not in one direction throughout."""
    is_varied = value.varies and (len(words) > _VARIED or not number)
    at = _VARIED if is_varied else 0 if number > 0 else 1 if number < 0 else 2
    if at >= len(words):
        raise Problem("there are no words for the sign of the value, or for values that rise and fall")
    return words[at]


def _by_number(number: Decimal, words: Sequence[Template], language: str) -> Template:
    """Return the plural form for `number`; fractions have that of a few where the language has one for many."""
    rule = Locale.parse(language).plural_form
    forms = [tag for tag in ("zero", "one", "two", "few", "many", "other") if tag in {*rule.tags, "other"}]
    forms = forms[:-1] if "many" in forms else forms
    tag = rule(int(number) if number == number.to_integral_value() else float(number))
    return words[min(forms.index(tag if tag in forms else "few"), len(words) - 1)]


# Checks of references with each other


def _problems_together(used: Sequence[_Use], before: Filled, others: Mapping[str, ResultFacts]) -> Iterator[str]:
    prefixes = {id(facts): f"{name}:" for name, facts in others.items()}
    for facts in {id(one.facts): one.facts for one in used}.values():
        own, prefix = [one for one in used if one.facts is facts], prefixes.get(id(facts), "")
        for row in {one.kind for one in own if _ROW.fullmatch(one.kind)}:
            of_row = [one.shown for one in own if one.kind == row]
            names = [at for at in of_row if facts.columns[at].is_name or facts.columns[at].is_period]
            is_named = len(facts.rows) == 1 or facts.identifies(names, int(row) - (row != "-1"))
            if not is_named and any(map(_varies, (facts.columns[at] for at in of_row))):
                yield f"{{{prefix}{row}...}} needs the names or period of its row beside it"
        for kind in _EXTREMES:
            yield from _problems_of_extremes(facts, [one for one in own if one.kind == kind], prefix)
        yield from _problems_of_changes(facts, own, before, prefix)


def _problems_of_changes(facts: ResultFacts, used: Sequence[_Use], before: Filled, prefix: str) -> Iterator[str]:
    """Yield why two periods, or a change, may not be told as they are: the direction has to be said, of these alone."""
    places = {(one.column, row) for one in used if _ROW.fullmatch(one.kind) for row in one.rows} | before.rows
    placed = [at for at, _ in places]
    has_periods = any(column.is_period for column in facts.columns)
    measured = {at for at in placed if placed.count(at) > 1} if has_periods else set()
    signs = [one for one in used if one.kind in _SIGNS]
    for at in measured | {one.column for one in used if one.kind.startswith("change")}:
        column = facts.columns[at]
        is_said = at in before.directions or any(one.column == at for one in signs)
        if not column.is_name and not column.is_period and not is_said:
            yield f"{{?{prefix}change.{column.name}|...|...|...}} has to say the direction"
    if {"1", "-1"} & {one.kind for one in used} and signs:
        ranks = facts.columns[signs[0].shown].ranks
        if ranks != sorted(ranks or ()):
            yield "the rows need ascending periods"
    for sign in (one for one in signs if one.kind == "sign"):
        same = [one for one in used if (one.shown, one.sentence) == (sign.shown, sign.sentence)]
        beside = [one for one in same if one.kind in _EXTREMES or _ROW.fullmatch(one.kind)]
        if {*_EXTREMES} <= {one.kind for one in beside} or any(not {*one.rows} <= {*sign.rows} for one in beside):
            yield "a direction is that from the first period to the last: no other one is named beside it"


def _problems_of_extremes(facts: ResultFacts, used: Sequence[_Use], prefix: str) -> Iterator[str]:
    for at in {one.column for one in used}:
        own = [one for one in used if one.column == at]
        shown = {one.shown for one in own} - {at}
        rows = own[0].rows
        differing = [one for one in shown if len({_hashable(facts.rows[row][one]) for row in rows}) > 1]
        if len(differing) > 1:
            yield "rows are tied, so that only one column of them can be named"
        elif shown and not all(facts.identifies(shown, row) for row in rows):
            yield f"the references beside {prefix}{facts.columns[at].name} do not tell which row is meant"
