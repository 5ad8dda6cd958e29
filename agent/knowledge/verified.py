"""Verified questions: which of them a question is equivalent to, and the statement with its literals.

A question is equivalent to a verified one if both have the same form (`agent.knowledge.verified`), with the
literals of the question in place of the parameters, and the same meaning by their embeddings. A text is a literal of a
parameter if the column that the statement compares with the parameter contains it.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, combinations
from typing import Literal as OneOf
from typing import NamedTuple, TypeVar, cast
from weakref import WeakKeyDictionary

import numpy as np
from sqlglot import exp

from agent.grounding.dates import month_named, periods_of
from agent.knowledge.entries import MetricEntry, Parameter, VerifiedEntry
from agent.knowledge.knowledge import Item, Knowledge, content_words
from agent.retrieval.semantic import Embedder
from agent.retrieval.value_index import ValueIndex, ValueMatch
from agent.schema.catalog import Catalog, ColumnKey
from agent.schema.words import UNIT, is_data_word, is_function_word, normal_form, stem, words
from agent.sql.dialects import print_statement
from agent.sql.guard import parse
from agent.sql.names import resolved_query
from agent.sql.parameters import Value, with_literals

LiteralKind = OneOf["text", "number", "date"]
Key = tuple[str, ...]
"""Identifies equivalent questions."""

_NUMBER = re.compile(
    r"(?<![A-Za-z0-9_\u0400-\u04ff.,])[-−]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?![A-Za-z0-9_\u0400-\u04ff]|[.,]\d)"
)
_NUMBER_WORDS = {
    word: str(number)
    for number, words in enumerate(
        ("two два две", "three три", "four четыре", "five пять пяти", "six шесть шести", "seven семь семи",
         "eight восемь восьми", "nine девять девяти", "ten десять десяти"), 2)
    for word in words.split()
}  # fmt: skip
_DIGITS = re.compile(r"\d+")
_WORD = re.compile(r"[^\W\d_]+")
_LETTER = re.compile(r"(?<=\S\s)[ASАВИОУ](?!\w)|(?<=\s)[aAiIаАвВ](?=\s*(?:[?.,!;:]|$))")
_CODES = str.maketrans("ASIasiАВИОУав", "ᴀꜱɪᴀꜱɪᴀʙᴎᴏʏᴀʙ")
"""Replacements of a letter that is a name, as in "category A", by a character that is not a word."""
_COMMON_MARKS = frozenset(" \t\n.,;:?!\"'()[]“”„«»‘’…-–—−·、，。？！：；（）「」《》¿¡_")
"""Characters without a meaning of their own. Any other symbol is a token, so that `C++` is not `C`."""
_CONTRACTIONS = (
    (re.compile(r"[’`´]"), "'"),
    (re.compile(r"\bcan't\b"), "can not"),
    (re.compile(r"\bwon't\b"), "will not"),
    (re.compile(r"n't\b"), " not"),
    (re.compile(r"\b(what|who|which|how|where|when|there|that|it|here)'s\b"), r"\1 is"),
    (re.compile(r"'(?:re|s|ve|d|ll|m)\b"), ""),
    (re.compile(r"%"), " percent "),
    (re.compile(r"#"), " № "),
    (re.compile(r"@"), " at-sign "),
    (re.compile(r"ё"), "е"),
)

_RULES = [
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        # Requests
        (r"^ (?:please )?(?:(?:can|could|would|will) you (?:please )?)?(?:tell|show|give|find|get|return|report|"
         r"display|calculate|compute|determine|list|name)(?: me| us)?(?= )", ""),
        (r"^ (?:i|we) (?:want|need|wish|like|would like|would love)(?: to (?:know|see|get|have|find out))?(?= )", ""),
        (r"^ do (?:you|we) know(?= )", ""),
        (r" (?:do|does|did) (?:we|i|you) have(?= )", ""), (r" у нас(?= )", ""), (r"我们(?=有)", " "),
        (r"^ (?:is|are|was|were|do|does|did|has|have|had|will|would|can|could|should)(?= )", " WHETHER"),
        (r" (?:please|thanks|thank you|kindly)(?= )", ""),
        (r"(?: пожалуйста| скажите?| покажите?| назовите?| выведите?| дайте?| сообщите?| подскажите?| перечислите?"
         r"| найдите?| посчитайте?| рассчитайте?| покажи| скажи| назови| выведи| дай| сообщи| найди| посчитай"
         r"| перечисли)(?: мне| нам)?(?= )", ""),
        (r" (?:я )?(?:хочу|хотел бы|хотела бы|нужно|надо) (?:знать|узнать|увидеть|посмотреть)(?= )", ""),
        (r"^ all(?: of)?(?: the| our)?(?= )", ""),
        (r"请问|请|告诉我|给我|帮我|我想知道|我想看|显示|列出|查询|看看|一下|查看", " "),
        # Counts
        (r" how many(?= )", " COUNT"),
        (r" (?:the )?(?:total |overall )?(?:number|count) of(?= )", " COUNT"),
        (r"^ count(?: of)?(?= )", " COUNT"),
        (r" ([^\W\d_]+) count(?= |$)", r" COUNT \1"),
        (r" (?:общее )?(?:число|количество|колво)(?= )", " COUNT"),
        (r" сколько(?: всего)?(?= )", " COUNT"),
        (r"有多少[个名位家条笔件种]?|多少[个名位家条笔件种]|的?(?:总数量|总数|数量|个数)", " COUNT "),
        (r"是多少|为多少|有哪些|是什么|多少(?![\u3400-\u9fff])", " "), (r"多少", " COUNT "),
        # Groups
        (r" (?:broken down|grouped|split|separated|divided|aggregated|summari[sz]ed|itemi[sz]ed|shown|split up)"
         r" (?:by|per|into)(?= )", " by"),
        (r" (?:for|in|of|at|from|by|per) (?:each|every)(?: of the)?(?= )", " by"),
        (r" (?:per|each|every)(?= )", " by"),
        (r" daily(?= )", " by day"), (r" weekly(?= )", " by week"), (r" monthly(?= )", " by month"),
        (r" quarterly(?= )", " by quarter"), (r" (?:yearly|annual|annually)(?= )", " by year"),
        (r" (?:в разбивке|с разбивкой|с группировкой|сгруппируи|сгруппируй) по(?= )", " by"),
        (r" (?:для|на|в|по|из|с) кажд\w+(?= )", " by"), (r" (?:по|кажд\w+)(?= )", " by"),
        (r"按照?每?一?个?|每一?个?|各个?", " by "),
        (r" by (?:calendar )?(?=by )", " "),
        # Negation
        (r" (?:not|never|no|without|except|except for|excluding|excludes?|excluded|other than|neither|nor|cannot|non)"
         r"(?= )", " NOT"),
        (r" (?:не|нет|ни|без|кроме|никогда|исключая|за исключением)(?= )", " NOT"),
        (r"( NOT)(?: have)? any(?= )", r"\1"),
        (r"没有|不是|不含|不包括|除了|以外|之外|未|没|非|不|无", " NOT "),
        # Comparisons
        (r" NOT (?:less|fewer|lower|smaller|under|меньше|менее|ниже)(?: than| чем)?(?= )", " GE"),
        (r" NOT (?:more|greater|higher|larger|over|above|больше|более|выше|свыше)(?: than| чем)?(?= )", " LE"),
        (r" (?:at least|a minimum of|minimum of)(?= )", " GE"), (r" (?:at most|a maximum of|up to)(?= #)", " LE"),
        (r" (#\d+) (?:or|and) (?:more|greater|higher|above|over|upwards?)(?= |$)", r" GE \1"),
        (r" (#\d+) (?:or|and) (?:less|fewer|lower|below|under)(?= |$)", r" LE \1"),
        (r" (?:(?:more|greater|higher|larger|bigger) than|above|exceed(?:s|ed|ing)?|in excess of)(?= )", " GT"),
        (r" over(?= #)", " GT"),
        (r" (?:(?:less|fewer|lower|smaller) than|below)(?= )", " LT"), (r" under(?= #)", " LT"),
        (r" (?:больше|более|выше|свыше)(?: чем)?(?= #)", " GT"), (r" (?:меньше|менее|ниже)(?: чем)?(?= #)", " LT"),
        (r"不少于|至少|大于等于", " GE "), (r"不超过|至多|最多(?=#)|小于等于", " LE "),
        (r"大于|超过|高于|多于", " GT "), (r"小于|低于|少于", " LT "),
        # Superlatives and aggregates
        (r" (?:highest|largest|biggest|greatest|maximum|max|maximal)(?= )", " MAX"),
        (r" (?:lowest|smallest|minimum|min|minimal)(?= )", " MIN"),
        (r" (?:top|best|leading)(?= )", " TOP"), (r" (?:bottom|worst)(?= )", " BOTTOM"),
        (r" (?:average|avg|mean)(?: of)?(?= )", " AVG"),
        (r" (?:sum|summed)(?: of)?(?= )", " SUM"),
        (r" (?:in total|altogether|in all|overall|total|grand total)(?: of)?(?= )", " SUM"),
        (r" (?:distinct|different|unique)(?= )", " DISTINCT"),
        (r" (?:максимальн\w+|наибольш\w+|максимум|сам\w+ (?:больш\w+|высок\w+|крупн\w+))(?= )", " MAX"),
        (r" (?:минимальн\w+|наименьш\w+|минимум|сам\w+ (?:маленьк\w+|низк\w+))(?= )", " MIN"),
        (r" (?:лучши\w+|топ)(?= )", " TOP"), (r" худши\w+(?= )", " BOTTOM"),
        (r" (?:средн\w+|в среднем)(?= )", " AVG"),
        (r" (?:сумм\w+|суммарн\w+|общ(?:ая|ий|ее|ие|ую|его|ей|их)|итого|всего|в сумме)(?= )", " SUM"),
        (r" (?:различн\w+|уникальн\w+|разн(?:ых|ые))(?= )", " DISTINCT"),
        (r"最高|最大|最多", " MAX "), (r"最低|最小|最少", " MIN "), (r"平均", " AVG "),
        (r"总共|一共|共计|合计|总计|总和|总额?", " SUM "), (r"不同|不重复", " DISTINCT "),
        # A count and a summed metric are totals anyway.
        (r" SUM(?= (?:the )?(?:COUNT|@s))", ""), (r" COUNT SUM(?= )", " COUNT"), (r"( COUNT .*?) SUM(?= $)", r"\1"),
        (r"( @s\d+) SUM(?= )", r"\1"),
        # Relations
        (r" (?:who|that|which) (?:have|has|had)(?= )", " with"),
        (r"( (?!and |or |but |to |by |from )[^\W\d_]+) who(?= )", r"\1"),
        (r" (?:having|whose)(?= )", " with"), (r" (?:with|that|which|who)(?= NOT )", ""),
        (r" from(?! .* (?:to|until|till|through) )(?= )", ""),
        (r" (?:calendar )?year (?=#)", " "), (r" (#\d+) (?:года|году|год|г)(?= )", r" \1"), (r"(#\d+ ?)年度?", r"\1 "),
        (r" previous(?= (?:year|month|quarter|week|day) )", " last"),
        # Questions
        (r" how (?:much|high|large|big|great)(?= (?:is|was|are|were) )", " "),
        (r"^ (?:what|which)(?: (?:about|of))?(?= )", " "), (r" (?:what|which)(?= (?:is|was|are|were) )", " "),
        (r"^ who(?= (?:is|was|are|were) )", " "),
        (r" (?:какой|какая|какое|какие|каков|какова|каково|каковы|каким|какую|каких)(?= )", " "),
        (r"哪些|哪个|什么", " "),
        (r" ((?![A-Z])[^\W\d_]+) (?:of|for) (?:the |our )?((?![A-Z])[^\W\d_]+)(?= )", r" \2 \1"),
        (r" +", " "),
    )
]  # fmt: skip
"""Rewriting rules in the order of their application. The text begins and ends with a space; literals are `#n`, and
names of the business knowledge `@n`, or `@sn` if they are sums."""

_DROPPED = frozenset(
    """a an the of in on at for during do does did has have had there exist exists our your my that which its their and
    в во на за и же а у о об наш наша наше наши был была было были есть является являются это""".split()
)
_BE = frozenset("is are was were be been being".split())
_MEANINGLESS = _DROPPED | _BE
_HAN_DROPPED = re.compile(r"[的了呢是在有里中和与]")
_BINDING = ("by", "NOT")
_SLOT = re.compile(r"#(\d+)")
_HAN = re.compile(r"[\u3400-\u9fff]")


@dataclass(frozen=True)
class Literal:
    """A number, a date or a stored value in a question, from `start` to `end` in characters."""

    kind: LiteralKind
    text: str
    start: int
    end: int
    value: str
    """The number without separators, the date in ISO 8601, or the text."""


@dataclass(frozen=True)
class NamedEntry:
    """Words of a question that name an entry of the business knowledge, or a table or column."""

    token: str
    start: int
    end: int
    is_sum: bool = False
    """Whether a word such as "total" adds nothing to it."""


@dataclass(frozen=True)
class QuestionForm:
    """A question as tokens; `#n` stands for the literal with this index."""

    tokens: tuple[str, ...]
    literals: tuple[Literal, ...]

    def key(self, slots: Mapping[int, LiteralKind], tables: frozenset[str]) -> Key:
        """Return the key of the question if the literals at `slots` are parameters; all others are constants.

        Words have the same order in equivalent questions. Groups and the only number, day or month may stand anywhere.
        So may the only text, unless there is a negation, or the question names several of the `tables` (stems of
        words).
        """
        kinds = Counter(literal.kind for literal in self.literals)
        is_simple = sum(token in tables for token in self.tokens) < 2 and not any("NOT" in t for t in self.tokens)
        months = sum(token.startswith("month:") for token in self.tokens)
        fixed: list[str] = []
        free: list[str] = []
        for token in self.tokens:
            number = _SLOT.search(token)
            is_free = token.startswith("by:") or (token.startswith("month:") and months == 1)
            if number:
                at = int(number[1])
                literal = self.literals[at]
                is_free |= token[0] == "#" and kinds[literal.kind] == 1 and (literal.kind != "text" or is_simple)
                token = _SLOT.sub(f"#{slots[at]}" if at in slots else f"={literal.value}", token)
            (free if is_free else fixed).append(token)
        return (*fixed, "|", *sorted(free))


def numbers_and_dates(text: str) -> list[Literal]:
    """Return the numbers and the days in `text`, in order. Parts of a date, such as a month, are words."""
    found: list[Literal] = []
    # A day has a year and another number.
    for period in periods_of(text) if len(_DIGITS.findall(text)) > 1 else ():
        words = text[period.start : period.end]
        if period.year and period.month and period.day and not period.clock and "/" not in words:
            iso = f"{period.year:04}-{period.month:02}-{period.day:02}"
            found.append(Literal("date", words, period.start, period.end, iso))
    days = list(found)
    for match in _NUMBER.finditer(text):
        if all(match.end() <= day.start or match.start() >= day.end for day in days):
            found.append(Literal("number", match[0], *match.span(), _plain(match[0])))
    for match in _WORD.finditer(text):
        if match[0].lower() in _NUMBER_WORDS:
            found.append(Literal("number", match[0], *match.span(), _NUMBER_WORDS[match[0].lower()]))
    return sorted(found, key=lambda literal: literal.start)


def read_question(text: str, literals: Sequence[Literal], names: Sequence[NamedEntry]) -> QuestionForm:
    """Return the form of a question with these literals and named entries, which do not overlap."""
    parts, end = [" "], 0
    marks = [
        *((literal.start, literal.end, f"#{number}") for number, literal in enumerate(literals)),
        *((name.start, name.end, f"@{'s' if name.is_sum else ''}{number}") for number, name in enumerate(names)),
    ]
    text = _LETTER.sub(lambda match: match[0].translate(_CODES), text)
    is_shouted = text.upper() == text
    for start, stop, mark in [*sorted(marks), (len(text), len(text), "")]:
        parts += [_normal(text[end:start], is_shouted), f" {mark} "]
        end = stop
    line = re.sub(r"\s+", " ", "".join(parts))
    is_english = line.isascii()
    for pattern, replacement in _RULES:
        # Rules of other languages have words in their scripts.
        if not is_english or pattern.pattern.isascii():
            line = pattern.sub(replacement, line)
    line = _HAN_DROPPED.sub(" ", line)
    tokens: list[str] = []
    prefix = ""
    spelt = line.split()
    for word, following in zip(spelt, [*spelt[1:], ""], strict=True):
        if word in _BINDING:
            prefix += f"{word}:"
        elif word in _BE:
            # "Were visited" is not "visited".
            is_verb = bool(tokens) and not tokens[-1].startswith("#") and following.strip("#0123456789") != ""
            tokens += ["BE"] if is_verb and following not in _DROPPED else []
        elif word not in _DROPPED:
            entry = re.fullmatch(r"@s?(\d+)", word)
            if entry:
                token = names[int(entry[1])].token
            elif word.startswith("#") or word.isupper():
                token = word
            else:
                # The names of months are capitalised in their patterns.
                month = month_named(word.capitalize())
                token = f"month:{month}" if month else stem(word)
            tokens.append(prefix + token)
            prefix = ""
    return QuestionForm((*tokens, *([prefix] if prefix else [])), tuple(literals))


def _normal(text: str, is_shouted: bool) -> str:
    """Return the words and symbols of a text in lower case, separated by spaces.

    An acronym that is spelled like a dropped word, such as US, is marked as a different word.
    """
    if not is_shouted:
        text = _WORD.sub(
            lambda m: f"{m[0]}¤" if len(m[0]) > 1 and m[0].isupper() and m[0].lower() in _MEANINGLESS else m[0], text
        )
    plain = text.casefold()
    for pattern, replacement in _CONTRACTIONS:
        plain = pattern.sub(replacement, plain)
    plain = re.sub(r"(?<=\s)-(?=\s)|(?<=\s)−(?=\s)", " minus ", plain)
    return "".join(
        char if char.isalnum() or char == "¤" else " " if char in _COMMON_MARKS else f" {char} "
        for char in unicodedata.normalize("NFKC", plain)
    )


def _plain(number: str) -> str:
    text = number.replace(",", "").replace("−", "-")
    return text.rstrip("0").rstrip(".") if "." in text else str(int(text))


T = TypeVar("T")

MIN_SIMILARITY = 0.6
"""Cosine of the embeddings below which two questions with the same form are not equivalent."""
_MAX_LITERALS = 6
_MAX_TEXTS = 4
_MAX_PHRASE = 6
_MAX_UNITS = 60
_ARTICLES = frozenset(("a", "an", "the", "of"))
_FULL_NAMES = ("exact", "normalised", "label")
"""Kinds of matches in which a phrase names a stored value in full."""


class Verified(NamedTuple):
    """A verified question, with the parameters that its literals stand for."""

    item: Item
    entry: VerifiedEntry
    slots: Mapping[int, str]
    """The name of the parameter by the index of its literal."""
    literals: Sequence[Literal]


_FORMS: "WeakKeyDictionary[Knowledge, Sequence[tuple[Verified, QuestionForm]]]" = WeakKeyDictionary()


@dataclass(frozen=True)
class VerifiedMatch:
    """A verified question that is equivalent to a question, and the literals of that question by parameter."""

    item: Item
    entry: VerifiedEntry
    parameters: Mapping[str, Value]

    def statement(self, dialect: str) -> str:
        """Return the statement with the parameters bound in its syntax tree.

        Raises:
            ValueError: the SQL cannot be parsed.
        """
        (tree,) = parse(self.entry.sql, dialect)
        return print_statement(with_literals(tree, self.parameters), dialect)


@dataclass(frozen=True, eq=False)
class VerifiedIndex:
    """The verified questions about a source, by their forms."""

    knowledge: Knowledge
    catalog: Catalog
    _columns: dict[Item, Mapping[str, ColumnKey]] = field(default_factory=dict, repr=False)
    """The columns that the statement of an entry compares with its parameters, by parameter."""

    def find(
        self,
        question: str,
        values: Callable[[], ValueIndex],
        embedder: Embedder | None,
        is_valid: Callable[[Item], bool],
    ) -> VerifiedMatch | None:
        """Return the verified question that is equivalent to `question`; None if there is none.

        `values` returns the index of stored values. Without an embedder, only the same words are equivalent. Entries
        that are not `is_valid` are skipped.
        """
        if not self._by_key:
            return None
        found = values() if self._has_texts else None
        plain, texts = numbers_and_dates(question), self._texts(question, found)
        if len(plain) > _MAX_LITERALS or len(texts) > _MAX_TEXTS:
            return None
        # A question verified for a certain value precedes one with a parameter in its place.
        for chosen_texts in _subsets(texts):
            literals = _without_overlaps([*chosen_texts, *plain])
            names = self._names(question, literals)
            form = read_question(question, literals, names)
            for chosen in _subsets([at for at, literal in enumerate(literals) if literal.kind != "text"]):
                slots = {at: each.kind for at, each in enumerate(literals) if each.kind == "text" or at in chosen}
                for verified in self._by_key.get(form.key(slots, self._tables), ()):
                    given = [literals[at] for at in slots]
                    parameters = self._bound(verified, given, found)
                    if parameters is None or not is_valid(verified.item):
                        continue
                    if self._is_same_meaning(question, _with_literals(verified, given), embedder):
                        return VerifiedMatch(verified.item, verified.entry, parameters)
        return None

    def equivalents(self) -> Iterator[tuple[Item, Item]]:
        """Yield each verified question that has the form of an earlier one, and that one, which is used instead."""
        for group in self._by_key.values():
            for verified in group[1:]:
                yield verified.item, group[0].item

    def unbound(self, entry: VerifiedEntry) -> list[str]:
        """Return the parameters whose examples the question does not contain."""
        bound = set(_slots(entry, self._question_literals(entry)).values())
        return [name for name in entry.parameters if name not in bound]

    @cached_property
    def _by_key(self) -> Mapping[Key, Sequence[Verified]]:
        index: dict[Key, list[Verified]] = {}
        for verified, form in self._forms():
            kinds: dict[int, LiteralKind] = {at: verified.literals[at].kind for at in verified.slots}
            index.setdefault(form.key(kinds, self._tables), []).append(verified)
        return index

    def _forms(self) -> Sequence[tuple[Verified, QuestionForm]]:
        """Return the verified questions with their forms, read once for all sources that use this knowledge."""
        if self.knowledge not in _FORMS:
            forms = []
            for item in self.knowledge.of_kind("verified"):
                entry = cast(VerifiedEntry, item.entry)
                literals = self._question_literals(entry)
                slots = _slots(entry, literals)
                if len(set(slots.values())) == len(entry.parameters):
                    form = read_question(entry.question, literals, self._names(entry.question, literals))
                    forms.append((Verified(item, entry, slots, literals), form))
            _FORMS[self.knowledge] = forms
        return _FORMS[self.knowledge]

    def _is_same_meaning(self, first: str, second: str, embedder: Embedder | None) -> bool:
        if normal_form(first) == normal_form(second):
            return True
        if embedder is None:
            return False
        one, other = np.asarray(embedder.embed([self._content(text) for text in (first, second)]))
        lengths = float(np.linalg.norm(one) * np.linalg.norm(other))
        return lengths > 0 and float(one @ other) / lengths >= MIN_SIMILARITY

    def _content(self, question: str) -> str:
        """Return the words of `question` that name data, with terms and metrics under their own names.

        Words such as "how many" and "show" would distort the similarity of short questions.
        """
        for match in reversed(self.knowledge.matches(question)):
            if len(match.items) == 1 and match.items[0].kind in ("term", "metric"):
                question = question[: match.start] + match.items[0].name + question[match.end :]
        content = (word for word in normal_form(question).split() if not (is_function_word(word) or is_data_word(word)))
        return " ".join(content) or question

    @cached_property
    def _has_texts(self) -> bool:
        return any(
            verified.literals[at].kind == "text"
            for group in self._by_key.values()
            for verified in group
            for at in verified.slots
        )

    @cached_property
    def _tables(self) -> frozenset[str]:
        return frozenset(word for table in self.catalog.tables.values() for word in words(table.name))

    @cached_property
    def _labels(self) -> Mapping[str, Sequence[str]]:
        """The names of codes, by code."""
        labels: dict[str, list[str]] = {}
        for _, entry in self.knowledge.columns:
            for code, names in entry.labels.items():
                labels.setdefault(code, []).extend(names)
        return labels

    def _question_literals(self, entry: VerifiedEntry) -> list[Literal]:
        """Return the literals of a verified question: numbers, days, and the examples of its text parameters."""
        plain = numbers_and_dates(entry.question)
        texts: list[Literal] = []
        for parameter in entry.parameters.values():
            if parameter.type == "text" and all(parameter.example != literal.value for literal in plain):
                names = [parameter.example, *self._labels.get(parameter.example, ())]
                spans = next(filter(None, (_occurrences(name, entry.question) for name in names)), [])
                texts += [Literal("text", phrase, start, end, parameter.example) for phrase, start, end in spans]
        return _without_overlaps([*texts, *plain])

    def _texts(self, question: str, values: ValueIndex | None) -> list[Literal]:
        """Return the phrases of a question that are stored values or their names, the longest of those that overlap."""
        if values is None:
            return []
        units = list(UNIT.finditer(question))[:_MAX_UNITS]
        runs = [
            (question[first.start() : last.end()], first.start(), last.end())
            for size in range(_MAX_PHRASE, 0, -1)
            for first, last in zip(units, units[size - 1 :], strict=False)
        ]
        found = values.lookup(phrase for phrase, _, _ in runs)
        return _without_overlaps(
            Literal("text", phrase, start, end, phrase)
            for phrase, start, end in runs
            if not phrase.isdecimal()
            if normal_form(phrase) in self._examples or _full_names(phrase, found.get(phrase, ()))
        )

    @cached_property
    def _examples(self) -> frozenset[str]:
        return frozenset(
            normal_form(verified.literals[at].text)
            for group in self._by_key.values()
            for verified in group
            for at in verified.slots
        )

    def _names(self, question: str, literals: Sequence[Literal]) -> list[NamedEntry]:
        """Return the words of `question` that name one term, metric, table or column."""
        names = []
        for match in self.knowledge.matches(question):
            items = {name.item for name in match.names if name.code is None}
            is_free = all(match.end <= literal.start or match.start >= literal.end for literal in literals)
            # Between the words of a name, any other word may change its meaning.
            between = {*UNIT.findall(normal_form(match.phrase))} - {*content_words(match.phrase)} - _ARTICLES
            if len(items) == 1 and is_free and not between:
                (item,) = items
                entry = item.entry
                is_sum = isinstance(entry, MetricEntry) and entry.expression.lstrip().upper().startswith("SUM(")
                if item.kind in ("term", "metric"):
                    token = item.id
                else:
                    token = " ".join(sorted(stem(word) for word in normal_form(item.name.rpartition(".")[2]).split()))
                names.append(NamedEntry(token, match.start, match.end, is_sum))
        return names

    def _bound(
        self, verified: Verified, given: Sequence[Literal], values: ValueIndex | None
    ) -> dict[str, Value] | None:
        """Return the values of the parameters, from the literals in their places; None if one does not fit."""
        bound: dict[str, Value] = {}
        own = list(verified.slots)
        # Literals of one type are in the same order in both questions.
        for kind in ("text", "number", "date"):
            places = [at for at in own if verified.literals[at].kind == kind]
            for at, literal in zip(places, [each for each in given if each.kind == kind], strict=True):
                name = verified.slots[at]
                value = self._value(verified, name, verified.literals[at], literal, values)
                if value is None or bound.setdefault(name, value) != value:
                    return None
        return bound

    def _value(self, verified: Verified, name: str, own: Literal, given: Literal, values: ValueIndex | None) -> Value:
        """Return the value of a parameter for the literal `given`; None if the literal does not fit."""
        parameter: Parameter = verified.entry.parameters[name]
        if given.kind != "text":
            is_fraction = "." in given.value and "." not in parameter.example
            is_year = _is_year(parameter.example) and not _is_year(given.value)
            if is_fraction or (given.kind == "number" and is_year):
                return None
            return parameter.model_copy(update={"example": given.value}).value
        if normal_form(given.text) == normal_form(own.text):
            return parameter.example
        if verified.item not in self._columns:
            self._columns[verified.item] = dict(_compared_columns(verified.entry.sql, self.catalog))
        column = self._columns[verified.item].get(name)
        if column is None or values is None:
            return None
        found = values.lookup([given.text, own.text])
        matches, examples = (_full_names(phrase, found.get(phrase, ())) for phrase in (given.text, own.text))
        stored = {match.value for match in matches if (match.table, match.column) == column}
        # A value of several columns, such as "Georgia", is ambiguous.
        if len(stored) != 1 or not _columns(matches) <= _columns(examples) | {column}:
            return None
        return stored.pop()


def _compared_columns(sql: str, catalog: Catalog) -> Iterator[tuple[str, ColumnKey]]:
    """Yield the parameters of `sql`, each with the column that is compared with it by `=` or IN."""
    query = resolved_query(sql, catalog)
    for scope in query.scopes if query else ():
        for node in scope.find_all(exp.EQ, exp.In):
            parts = [node.this, *(node.expressions if isinstance(node, exp.In) else [node.expression])]
            column = next((found for part in parts if (found := query.column_of(part, scope))), None) if query else None
            for part in parts:
                if column and isinstance(part, exp.Placeholder):
                    yield part.name, (column.table.key, column.column.name)


def _slots(entry: VerifiedEntry, literals: Sequence[Literal]) -> dict[int, str]:
    """Return the parameter for the index of each literal that is its example."""
    slots: dict[int, str] = {}
    for name, parameter in entry.parameters.items():
        for at, literal in enumerate(literals):
            kinds = ("text", "number") if parameter.type == "text" else (parameter.type,)
            example = parameter.example.rstrip("0").rstrip(".") if "." in parameter.example else parameter.example
            if literal.kind in kinds and literal.value in (parameter.example, example):
                slots.setdefault(at, name)
    return dict(sorted(slots.items()))


def _is_year(text: str) -> bool:
    return len(text) == 4 and text.isdecimal() and 1900 <= int(text) <= 2100


def _columns(matches: Iterable[ValueMatch]) -> set[ColumnKey]:
    return {(match.table, match.column) for match in matches}


def _full_names(phrase: str, matches: Iterable[ValueMatch]) -> list[ValueMatch]:
    """Return the matches that `phrase` names in full; a single letter only as it is written."""
    kinds = ("exact",) if len(phrase) == 1 else _FULL_NAMES
    return [match for match in matches if match.kind in kinds]


def _subsets(items: Sequence[T]) -> Iterator[tuple[T, ...]]:
    """Yield all subsets, the smallest first."""
    return chain.from_iterable(combinations(items, size) for size in range(len(items) + 1))


def _occurrences(name: str, question: str) -> list[tuple[str, int, int]]:
    """Return the phrases of `question` that are `name` in any spelling."""
    wanted = normal_form(name)
    units = list(UNIT.finditer(question))
    size = len(UNIT.findall(name))
    found = []
    for first, last in zip(units, units[size - 1 :], strict=False):
        phrase = question[first.start() : last.end()]
        if wanted and normal_form(phrase) == wanted:
            found.append((phrase, first.start(), last.end()))
    return found


def _without_overlaps(literals: Iterable[Literal]) -> list[Literal]:
    """Return `literals` in the order of the text, without those that overlap a preceding element of `literals`."""
    kept: list[Literal] = []
    for literal in literals:
        if all(literal.end <= other.start or literal.start >= other.end for other in kept):
            kept.append(literal)
    return sorted(kept, key=lambda literal: literal.start)


def _with_literals(verified: Verified, given: Sequence[Literal]) -> str:
    """Return the verified question with the literals of another question in place of its own."""
    text = verified.entry.question
    texts = {kind: [literal.text for literal in given if literal.kind == kind] for kind in ("text", "number", "date")}
    replaced = [(verified.literals[at], texts[verified.literals[at].kind].pop(0)) for at in verified.slots]
    for own, other in reversed(replaced):
        text = text[: own.start] + other + text[own.end :]
    return text
