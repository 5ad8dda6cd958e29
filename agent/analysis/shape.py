"""What a question says of the form of its result, as far as its words leave no doubt; no model is asked."""

from dataclasses import dataclass, field

from agent.analysis import shape_words as said
from agent.analysis.mentions import Mention, mentions
from agent.catalog.schema import Table
from agent.catalog.words import han_runs, spelt_words, stem, words
from agent.queryspec.outputs import TIMES
from agent.queryspec.spec import MAX_LIMIT, Bucket

_COUNT = ("count",)
_OF_NUMBERS = ("sum", "avg", "min", "max")


@dataclass(frozen=True)
class Shape:
    """What is said of a result; what is empty is left open."""

    group_by: tuple[str | Bucket, ...] = ()
    aggregations: tuple[str, ...] = ()
    """The kinds of figure that it may mean."""
    figures: tuple[str, ...] = ()
    """The columns that these are of; `*` for a count of rows."""
    descending: bool | None = None
    """Whether the highest come first; None where nothing is ranked."""
    limit: int | None = None
    is_ungrouped: bool = False
    """Whether all rows are one group: a figure is asked for, and no word speaks of groups."""
    bounds: tuple[str, ...] = ()
    """The operators by which it compares values with others."""
    takes_all: bool = False
    """Whether every row of the result is wanted: no word speaks of the first, the highest, or so many."""


@dataclass
class _Reading:
    """A question with the columns that it names."""

    question: str
    table: Table
    named: list[Mention]
    groups: list[Mention] = field(default_factory=list)
    is_ranking: bool = False
    is_one: bool = False
    """Whether one row is asked for: "which city", not "which cities"."""


def shape_of(question: str, table: Table) -> Shape:
    """Return what `question` says of the form of a result over `table`.

    Groups are columns behind "each", "per", "by", and those that are ranked ("which city ... most", "top 3 cities"), in
    English, Russian or Chinese; periods need the one column of dates that there is. A figure is a column of numbers
    that is named and neither grouped by nor compared with anything.
    """
    reading = _Reading(question, table, mentions(question, table))
    descending = _direction(question)
    _find_groups(reading, ranks=descending is not None)
    groups: list[str | Bucket] = list(dict.fromkeys(each.column.name for each in reading.groups))
    groups += _period(reading)
    aggregations, figures = _figure(reading, is_grouped=bool(groups), ranks=descending is not None)
    ranked = descending if reading.is_ranking else None
    if not aggregations:
        groups, figures, ranked = [], (), None
    limit = _limit(reading) if ranked is not None else None
    bounds = tuple(operator for operator, spoken in said.BOUNDS.items() if spoken.search(question))
    is_ungrouped = not groups and _begins_with_figure(reading) and not said.GROUPING.search(question)
    return Shape(
        tuple(groups),
        aggregations,
        figures,
        ranked,
        limit,
        is_ungrouped and bool(aggregations),
        bounds,
        not said.SOME.search(question),
    )


def _direction(question: str) -> bool | None:
    down, up = said.DESCENDING.search(question), said.ASCENDING.search(question)
    if not (down or up):
        return True if said.TOP.search(question) else None
    return None if bool(down) == bool(up) else bool(down)


def _find_groups(reading: _Reading, *, ranks: bool) -> None:
    """Tell the columns apart that make groups from the others, and whether one of them is ranked."""
    end = -1
    for mention in reading.named:
        before = reading.question[: mention.start]
        is_next = bool(reading.groups) and said.AND.match(reading.question[end : mention.start]) is not None
        is_ranked = ranks and not reading.is_ranking and _is_ranked(mention, before, reading)
        by = said.BY.search(before) and not said.SORTED_BY.search(before) and not mention.is_number
        if is_ranked or said.EACH.search(before) or by or (is_next and not mention.is_number):
            reading.groups.append(mention)
            end = mention.end


def _is_ranked(mention: Mention, before: str, reading: _Reading) -> bool:
    if mention.is_number or not (said.WHICH.search(before) or said.RANKED.search(before)):
        return False
    reading.is_ranking = True
    word = reading.question[mention.start : mention.end].lower()
    is_plural = word.endswith("s") and word != mention.column.name.lower()
    reading.is_one = bool(said.WHICH.search(before)) and not (is_plural or said.WHICH_OF_SEVERAL.search(before))
    return True


def _period(reading: _Reading) -> list[Bucket]:
    dates = [column.name for column in reading.table.columns if column.type_class in TIMES]
    taken = {each.column.name for each in reading.groups}
    if len(dates) != 1 or dates[0] in taken:
        return []
    return [
        Bucket(col=dates[0], by=period) for period, spoken in said.PERIODS.items() if spoken.search(reading.question)
    ]


def _limit(reading: _Reading) -> int | None:
    match = said.FIRST.search(reading.question)
    if match:
        number = next(filter(None, match.groupdict().values()))
        return said.NUMBERS.get(number.lower()) or _as_limit(number)
    return 1 if reading.is_one else None


def _begins_with_figure(reading: _Reading) -> bool:
    """True for "how many ..." and "what is the total ...", with one column named at most."""
    counted = (
        said.HOW_MANY.match(reading.question) or said.HOW_MANY.search(reading.question) and han_runs(reading.question)
    )
    return bool(counted) or len(reading.named) == 1


def _as_limit(digits: str) -> int | None:
    return int(digits) if 1 <= int(digits) <= MAX_LIMIT else None


def _figure(reading: _Reading, *, is_grouped: bool, ranks: bool) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the kinds of figure that the question may mean, and the columns that they may be of.

    Where it has words for several kinds, nothing is certain.
    """
    rest = _without(reading.question, reading.named)
    figures = _figures(reading)
    distinct = [each for each in reading.named if said.DIFFERENT.search(reading.question[: each.start])]
    if distinct:
        return ("nunique",), (distinct[0].column.name,)
    counted, average = said.HOW_MANY.search(reading.question), said.AVERAGE.search(rest)
    summed = said.TOTAL.search(rest) if figures else None
    is_one_kind = bool(counted) + bool(average) + bool(said.NUMBER_OF.search(rest)) <= 1
    if not is_one_kind or (_is_extreme(rest) and not reading.is_ranking and (counted or average or summed)):
        return (), ()
    if average:
        return ((), ()) if said.TOTAL.search(rest) else (("avg",), figures)
    if counted and any(reading.question[counted.end() : at].strip() == "" for at in _starts(reading, figures)):
        return ("sum",), figures
    if counted and not (figures and is_grouped):
        return _count(reading.question[counted.end() :], reading.table)
    if figures:
        return _kinds(reading, rest, is_grouped=is_grouped, ranks=ranks, is_summed=bool(summed)), figures
    return (_COUNT, ("*",)) if counted or (reading.is_ranking and said.MOST_ROWS.search(rest)) else ((), ())


def _count(counted: str, table: Table) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return a count of rows; where what is `counted` is named like a column, its distinct values may be meant."""
    spoken = spelt_words(counted)[:2]
    if said.KINDS.match(counted):
        return ("nunique",), ()
    is_named = any(stem(word) in words(name) for word in spoken for name in table.column_names)
    return (("count", "nunique"), ()) if is_named else (_COUNT, ("*",))


def _kinds(reading: _Reading, rest: str, *, is_grouped: bool, ranks: bool, is_summed: bool) -> tuple[str, ...]:
    """Return what may be made of the numbers that the question names."""
    if said.NUMBER_OF.search(rest):
        return ()
    if ranks and not reading.is_ranking:
        return _extreme(reading)
    if is_summed or (reading.is_ranking and said.MOST_ROWS.search(rest)):
        return ("sum",)
    return _OF_NUMBERS if is_grouped else ()


def _is_extreme(rest: str) -> bool:
    return said.DESCENDING.search(rest) is not None or said.ASCENDING.search(rest) is not None


def _extreme(reading: _Reading) -> tuple[str, ...]:
    """Return `max` or `min` where the question is for the highest or lowest figure itself."""
    for superlative, kind in ((said.DESCENDING, "max"), (said.ASCENDING, "min")):
        match = superlative.search(reading.question)
        if match and len(reading.named) == 1 and said.ALONE.match(reading.question[: match.start()]):
            return (kind,)
    return ()


def _figures(reading: _Reading) -> tuple[str, ...]:
    """Return the columns of numbers that the question names to have them computed."""
    return tuple(
        dict.fromkeys(
            each.column.name
            for each in reading.named
            if each.is_number
            and each not in reading.groups
            and not said.COMPARED.match(reading.question[each.end :])
            and not said.ID.search(each.column.name)
        )
    )


def _starts(reading: _Reading, figures: tuple[str, ...]) -> list[int]:
    return [each.start for each in reading.named if each.column.name in figures]


def _without(question: str, named: list[Mention]) -> str:
    """Return `question` without the names of columns, which may be words such as "total"."""
    for mention in named:
        question = question[: mention.start] + "·" * (mention.end - mention.start) + question[mention.end :]
    return question
