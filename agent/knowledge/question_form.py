"""The canonical form of a question, for deciding whether two questions are equivalent.

Questions with different forms are not equivalent. A form keeps every word, number, negation, comparison, superlative,
period and grouping of a question; it leaves out only words that introduce a request or connect others. Rules rewrite
different wordings of one operation to one token. Words that no rule rewrites are compared by their stems.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal as OneOf

from agent.grounding.dates import month_named, periods_of
from agent.schema.words import stem

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
