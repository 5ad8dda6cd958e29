"""Detection of the shape of a result from the unambiguous words of a question, without a model."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from datasphinx.agent.queryspec.spec import MAX_LIMIT, Bucket, Period
from datasphinx.agent.schema.catalog import TIMES, Column, Table
from datasphinx.agent.schema.words import han_runs, spelt_words, stem, words

_WORD = re.compile(r"[^\W\d_\u3400-\u9fff]+")

NUMBERS = {
    word: number
    for number, spelt in enumerate(
        ("two два две двух 两 二", "three три трех трёх 三", "four четыре 四", "five пять 五", "six шесть 六",
         "seven семь 七", "eight восемь 八", "nine девять 九", "ten десять 十"),
        2,
    )
    for word in spelt.split()
}  # fmt: skip
_NUMBER = rf"\d+|{'|'.join(sorted(NUMBERS, key=len, reverse=True))}"
_PERIOD_WORDS: dict[Period, tuple[str, str, str, str]] = {
    "day": ("day", "daily", "дн|день", "[天日]"),
    "week": ("week", "weekly", "недел", "周|星期"),
    "month": ("month", "monthly", "месяц", "月"),
    "quarter": ("quarter", "quarterly", "квартал", "季"),
    "year": ("year", "(?:yearly|annually)", "год", "年"),
}
_COUNT = ("count",)
_OF_NUMBERS = ("sum", "avg", "min", "max")


@dataclass(frozen=True)
class Mention:
    """A column named in the question, from character `start` to `end`."""

    column: Column
    start: int
    end: int

    @property
    def is_number(self) -> bool:
        """Whether the column holds numbers."""
        return self.column.type_class == "number"


def mentions(question: str, table: Table) -> list[Mention]:
    """Return the full column names in `question`, in order of appearance, regardless of case and grammatical number.

    Of overlapping names, the longer one counts. A column named twice is returned twice.
    """
    candidates = [mention for column in table.columns for mention in _mentions_of(column, question)]
    longest: list[Mention] = []
    for mention in sorted(candidates, key=lambda mention: mention.start - mention.end):
        if all(mention.end <= other.start or other.end <= mention.start for other in longest):
            longest.append(mention)
    return sorted(longest, key=lambda mention: mention.start)


def _mentions_of(column: Column, question: str) -> Iterator[Mention]:
    if han_runs(column.name):
        for match in re.finditer(re.escape(column.name), question, re.IGNORECASE):
            yield Mention(column, *match.span())
        return
    name = [stem(word) for word in spelt_words(column.name)]
    stems = [(stem(match[0].lower()), match.span()) for match in _WORD.finditer(question)]
    for at in range(len(stems) - len(name) + 1 if name else 0):
        if [word for word, _ in stems[at : at + len(name)]] == name:
            yield Mention(column, stems[at][1][0], stems[at + len(name) - 1][1][1])


def _regex(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


DESCENDING = _regex(
    r"\b(?<!at )(?:most(?! recent)|highest|largest|greatest|biggest|longest|maximum|max)\b|больше всего|наибольш\w+|"
    r"сам\w+ (?:больш|высок|длинн|крупн)\w+|максимальн\w+|最(?:多|高|大|长)"
)
ASCENDING = _regex(
    r"\b(?<!at )(?:least|fewest|lowest|smallest|shortest|minimum|min)\b|меньше всего|наименьш\w+|"
    r"сам\w+ (?:мал|низк|коротк)\w+|минимальн\w+|最(?:少|低|小|短)"
)
MOST = _regex(r"\b(?:most|least|fewest)\b|(?:боль|мень)ше всего|最[多少]")
"""A superlative of quantity, of a total or of a single row; others may also refer to an average."""

FIRST = _regex(
    rf"\btop[ -](?P<en>{_NUMBER})\b|"
    rf"\b(?:which|what|the) (?P<which>{_NUMBER})\b|\b(?P<of>{_NUMBER}) (?=most|\w{{3,}}est\b)|"
    rf"\bтоп[ -](?P<ru>{_NUMBER})\b|前(?P<zh>{_NUMBER})"
)
TOP = _regex(r"\b(?:top|топ)\b|前(?=\d|[两二三四五六七八九十])")

SOME = _regex(
    rf"\b(?:top|first|last|most|least|fewest|best|worst|maximum|minimum|max|min|\w{{3,}}est|{_NUMBER})\b|\d|"
    r"\b(?:топ|перв|послед|лучш|худш|наи|сам(?:ый|ая|ое|ые|ую|ого|ой|ым|ом)\b|максимальн|минимальн)|всего|最|前|首|末|第"
)
"""Words that may exclude rows."""

PERIODS = {
    period: _regex(
        rf"\b(?:each|every|per|by|for each) (?:calendar )?(?:{en})s?\b|\b{often}\b|"
        rf"\b(?:по|кажд\w+) (?:{ru})\w*|(?:每个?|各个?|按)(?:{zh})"
    )
    for period, (en, often, ru, zh) in _PERIOD_WORDS.items()
}

_PERIOD_AND = _regex(
    rf"(?:{'|'.join(pattern.pattern for pattern in PERIODS.values())})\s*(?:,|and|и|和|与|、)\s*(?:by |по |按)?$"
)
"""A period that is grouped by, before the next group: "by month and"."""

# Words directly before or after the name of a column.
EACH = _regex(r"(?:\b(?:each|every|per)(?: of the)?|\bкажд\w+|每[个种]?|各[个种]?)\s*$")
BY = _regex(r"(?:\bby(?: the)?|\bпо(?: полю)?|按)\s*[«“]?$")
SORTED_BY = _regex(r"\b(?:sort|order|rank|alphabetical)\w*\b[^,.;]*$|\b(?:упорядоч|отсортир)\w*[^,.;]*$|排序[^，。]*$")
WHICH = _regex(
    rf"(?:\b(?:which|what)(?: (?:{_NUMBER}))?|\bкак(?:ой|ая|ое|ом|ого|ому|им|ую|ие|их|ими)|哪一?[个种家位些])\s*$"
)
WHICH_OF_SEVERAL = _regex(r"(?:\bкаки(?:е|х|ми)|哪些)\s*$")
RANKED = _regex(
    rf"(?:\b(?:top|топ)[ -](?:{_NUMBER})|\bthe (?:{_NUMBER})|前(?:{_NUMBER})[个名位家种]?|最[多少高低大小][的])\s*$"
)
AND = _regex(r"^\s*(?:,|and|и|和|与|、|and each|и кажд\w+)\s*$")
COMPARED = _regex(
    r"^\s*(?:is |are |was |were |of )?(?:over|above|under|below|more|less|greater|at (?:least|most)|exceed\w*|between|"
    r"больше(?! всего)|меньше(?! всего)|выше|ниже|свыше|от|大于|小于|超过|低于|高于|不[低高]于|[<>=]|为|是?\d|\d)"
)

AVERAGE = _regex(r"\b(?:average|mean|avg)\b|средн\w+|平均")
TOTAL = _regex(r"\b(?:total|sum|overall|altogether|combined)\b|\bобщ\w+|суммарн\w+|итог\w*|总|一共|合计|共计")
DIFFERENT = _regex(
    r"\bhow many (?:different|distinct|unique) $|\bсколько (?:разн|различн|уникальн)\w+ $|多少[种个]?不同的?$"
)
DISTINCT_NOUN = _regex(r"^\s*(?:total )?(?:different|distinct|unique|kinds|types|разн|различн|уникальн|不同)")
HOW_MANY = _regex(
    r"\bhow many\s*|\bnumber of (?=(?:rows|records)\b)|\bсколько\s*|\bколичество (?=строк|запис)|"
    r"多少[条个行次人项]|几[条个次]|记录数"
)
ROWS = _regex(r"^\s*(?:rows?|records?|entries|lines)\b|^\s*(?:запис|строк)|^(?:多少|几)[条行]|^记录数")
"""Words for the rows themselves, from "how many" on or after it."""
NUMBER_OF = _regex(r"\b(?:number|count|percentage|share) of\b(?! (?:rows|records)\b)|\b(?:число|доля)\b|占比")
"""These may count rows or refer to a column with counts."""
GROUPING = _regex(
    r"\b(?:each|every|per|by|for (?:all|different)|group\w*|respectively)\b|\bкажд\w+|\bпо\b|每|各|按|分别"
)
ALONE = _regex(r"^(?:(?:what|which) (?:is|was|are|were)|show|give|find|как\w+)? ?(?:me )?(?:the )?\s*$")
"""The words before a superlative over all rows, in contrast to one that asks for the name of a row."""
ID = _regex(r"(?:^|[\W_])(?:id|code|no|nr|number|year|phone|zip|номер|код|год)$|Id$|编号|号码|代码|年")
"""Names of columns with numbers that are not quantities."""

BOUNDS = {
    ">": _regex(
        r"\b(?:more|older|greater|higher|larger|longer) than\b|\b(?:over|above|exceed\w*|after)\b|"
        r"(?<!не )\b(?:больше|более|старше|свыше|выше|дороже|позже) (?:чем )?\d|大于|(?<!不)超过|(?<!不)高于"
    ),
    "<": _regex(
        r"\b(?:less|fewer|younger|lower|smaller|shorter) than\b|\b(?:under|below|before)\b|"
        r"(?<!не )\b(?:меньше|менее|младше|ниже|дешевле|раньше) (?:чем )?\d|(?<!不)小于|(?<!不)低于|(?<!不)少于"
    ),
    ">=": _regex(r"\bat least\b|\bsince\b|\bне (?:менее|меньше|ниже)\b|不少于|不低于|以上"),
    "<=": _regex(r"\bat most\b|\bup to\b|\bне (?:более|больше|выше)\b|不超过|不高于|以下"),
}
"""Words of comparison, by the operator of the filter."""


@dataclass(frozen=True)
class Shape:
    """Properties of a result; an empty field is not determined."""

    group_by: tuple[str | Bucket, ...] = ()
    aggregations: tuple[str, ...] = ()
    """The possible aggregate functions."""
    figures: tuple[str, ...] = ()
    """The columns that are aggregated; `*` for a count of rows."""
    descending: bool | None = None
    """Whether the order is descending; None if the result is not a ranking."""
    limit: int | None = None
    is_ungrouped: bool = False
    """Whether all rows form one group: an aggregation without any word about groups."""
    bounds: tuple[str, ...] = ()
    """The comparison operators that the question expresses."""
    takes_all: bool = False
    """Whether all rows of the result are requested: no word limits them to the first, the highest or a number."""


@dataclass
class _Question:
    """A question with the columns named in it."""

    question: str
    table: Table
    mentions: list[Mention]
    groups: list[Mention] = field(default_factory=list)
    is_ranking: bool = False
    is_single_row: bool = False
    """Whether a single row is requested: "which city", not "which cities"."""


def shape_of(question: str, table: Table) -> Shape:
    """Return the shape of the result over `table` that `question` determines.

    Groups are columns after "each", "per" or "by", and ranked columns ("which city ... most", "top 3 cities"), in
    English, Russian or Chinese. Periods require a single date column. Aggregated columns are numeric columns named in
    the question that are neither grouped by nor compared.
    """
    context = _Question(question, table, mentions(question, table))
    descending = _direction(question)
    _find_groups(context, ranks=descending is not None)
    groups: list[str | Bucket] = list(dict.fromkeys(group.column.name for group in context.groups))
    groups += _period(context)
    aggregations, columns = _aggregation(context, is_grouped=bool(groups), ranks=descending is not None)
    sort_descending = descending if context.is_ranking else None
    if not aggregations:
        groups, columns, sort_descending = [], (), None
    limit = _limit(context) if sort_descending is not None else None
    bounds = tuple(operator for operator, pattern in BOUNDS.items() if pattern.search(question))
    count_match = HOW_MANY.match(context.question) or (HOW_MANY.search(context.question) and han_runs(context.question))
    # "how many ...", or exactly one column as in "what is the total ...".
    is_ungrouped = not groups and bool(count_match or len(context.mentions) == 1) and not GROUPING.search(question)
    return Shape(
        tuple(groups),
        aggregations,
        columns,
        sort_descending,
        limit,
        is_ungrouped and bool(aggregations),
        bounds,
        not SOME.search(question),
    )


def grouped_columns(question: str, table: Table) -> list[str]:
    """Return the columns of `table` by which `question` groups: those after "each", "per" or "by"."""
    context = _Question(question, table, mentions(question, table))
    _find_groups(context, ranks=False)
    return list(dict.fromkeys(group.column.name for group in context.groups))


def _direction(question: str) -> bool | None:
    down, up = DESCENDING.search(question), ASCENDING.search(question)
    if not (down or up):
        return True if TOP.search(question) else None
    return None if bool(down) == bool(up) else bool(down)


def _find_groups(context: _Question, *, ranks: bool) -> None:
    """Collect the columns that form groups; set whether one of them is ranked and whether only its first row counts."""
    end = -1
    for mention in context.mentions:
        before = context.question[: mention.start]
        is_next = bool(context.groups) and AND.match(context.question[end : mention.start]) is not None
        may_rank = ranks and not context.is_ranking and not mention.is_number
        is_ranked = may_rank and bool(WHICH.search(before) or RANKED.search(before))
        if is_ranked:
            word = context.question[mention.start : mention.end].lower()
            is_plural = word.endswith("s") and word != mention.column.name.lower()
            context.is_ranking = True
            context.is_single_row = bool(WHICH.search(before)) and not (is_plural or WHICH_OF_SEVERAL.search(before))
        by = (
            (BY.search(before) or _PERIOD_AND.search(before)) and not SORTED_BY.search(before) and not mention.is_number
        )
        if is_ranked or EACH.search(before) or by or (is_next and not mention.is_number):
            context.groups.append(mention)
            end = mention.end


def _period(context: _Question) -> list[Bucket]:
    dates = [column.name for column in context.table.columns if column.type_class in TIMES]
    group_names = {group.column.name for group in context.groups}
    if len(dates) != 1 or dates[0] in group_names:
        return []
    return [Bucket(col=dates[0], by=period) for period, pattern in PERIODS.items() if pattern.search(context.question)]


def _limit(context: _Question) -> int | None:
    match = FIRST.search(context.question)
    if match:
        number = next(filter(None, match.groupdict().values()))
        limit = NUMBERS.get(number.lower()) or int(number)
        return limit if 1 <= limit <= MAX_LIMIT else None
    return 1 if context.is_single_row else None


def _aggregation(context: _Question, *, is_grouped: bool, ranks: bool) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the possible aggregate functions of the question and the columns they may apply to.

    Both are empty if the question has words for several functions.
    """
    # The names of columns may be words such as "total".
    rest = context.question
    for mention in context.mentions:
        rest = rest[: mention.start] + "·" * (mention.end - mention.start) + rest[mention.end :]
    columns = _aggregated_columns(context)
    distinct = [mention for mention in context.mentions if DIFFERENT.search(context.question[: mention.start])]
    if distinct:
        return ("nunique",), (distinct[0].column.name,)
    count_match, average_match = HOW_MANY.search(context.question), AVERAGE.search(rest)
    total_match = TOTAL.search(rest) if columns else None
    is_unambiguous = bool(count_match) + bool(average_match) + bool(NUMBER_OF.search(rest)) <= 1
    is_extreme = not context.is_ranking and bool(DESCENDING.search(rest) or ASCENDING.search(rest))
    if not is_unambiguous or (is_extreme and (count_match or average_match or total_match)):
        return (), ()
    if average_match:
        return ((), ()) if TOTAL.search(rest) else (("avg",), columns)
    starts = [mention.start for mention in context.mentions if mention.column.name in columns]
    if count_match and any(context.question[count_match.end() : start].strip() == "" for start in starts):
        return ("sum",), columns
    if count_match and not (columns and is_grouped):
        counted = context.question[count_match.end() :]
        if ROWS.search(counted) or ROWS.search(count_match[0]):
            return _COUNT, ("*",)
        return _count(counted, context.table)
    if not columns:
        return (), ()
    return _numeric_aggregations(
        context, rest, is_grouped=is_grouped, ranks=ranks, is_summed=bool(total_match)
    ), columns


def _count(noun: str, table: Table) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return a count of rows or, if there is such a column, of the distinct values of `noun`, or the sum of a quantity.

    The wording does not tell whether rows are counted: "how many people" may be a column with numbers of visitors.
    """
    noun_words = spelt_words(noun)[:2]
    if DISTINCT_NOUN.match(noun):
        return ("nunique",), ()
    is_named = any(stem(word) in words(name) for word in noun_words for name in table.column_names)
    has_quantity = any(column.type_class == "number" and not ID.search(column.name) for column in table.columns)
    others = (("nunique",) if is_named else ()) + (("sum",) if has_quantity else ())
    return ((*_COUNT, *others), ()) if others else (_COUNT, ("*",))


def _numeric_aggregations(
    context: _Question, rest: str, *, is_grouped: bool, ranks: bool, is_summed: bool
) -> tuple[str, ...]:
    """Return the possible aggregate functions of the numeric columns named in the question."""
    if NUMBER_OF.search(rest):
        return ()
    if ranks and not context.is_ranking:
        return _extreme(context)
    if is_summed:
        return ("sum",)
    if context.is_ranking and MOST.search(rest):
        return ("sum", "max" if _direction(context.question) else "min")
    return _OF_NUMBERS if is_grouped else ()


def _extreme(context: _Question) -> tuple[str, ...]:
    """Return `max` or `min` if the question asks for the highest or lowest number itself."""
    for superlative, kind in ((DESCENDING, "max"), (ASCENDING, "min")):
        match = superlative.search(context.question)
        if match and len(context.mentions) == 1 and ALONE.match(context.question[: match.start()]):
            return (kind,)
    return ()


def _aggregated_columns(context: _Question) -> tuple[str, ...]:
    """Return the numeric columns named in the question that are to be aggregated."""
    return tuple(
        dict.fromkeys(
            mention.column.name
            for mention in context.mentions
            if mention.is_number
            and mention not in context.groups
            and not COMPARED.match(context.question[mention.end :])
            and not ID.search(mention.column.name)
        )
    )
