"""Rules of literals: a statement may contain only numbers and texts that occur in the question or the database.

Without this restriction, a small model invents values.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import lru_cache

from datasphinx.agent.embedded.constraints import constraints_of
from datasphinx.agent.embedded.grammar.gbnf import choice
from datasphinx.agent.embedded.prompts import depends_on_date
from datasphinx.agent.retrieval.linked_values import LinkedValue
from datasphinx.agent.schema.words import is_data_word, is_function_word, stem, words

_MAX_CHARS = 100
"""Longer values are not names, and would make the grammar slow to parse."""

_ANY_NUMBER = '"-"? [0-9]{1,12} ("." [0-9]{1,6})?'
_QUOTE = '"\'"'
_LIMITS = ("1", "3", "5", "10")
_RULES = r"""
string ::= "'" text "'"
pattern ::= "'" "%"? text "%"? "'"
strings ::= string (", " string){0,19}
numbers ::= number (", " number){0,19}
literal ::= number | string
literals ::= literal (", " literal){0,19}
"""

_SPAN_WORDS = 6
_CODE_CHARS = 3
_ALWAYS = ("0", "1", "1.0", "100", "100.0")
"""Numbers allowed for every question: for counts, comparisons and percentages."""

_DIGITS = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")
_YEAR = re.compile(r"(?<!\d)(?:1[5-9]|20|21)\d\d(?!\d)")
_PERCENT = re.compile(r"(\d+(?:\.\d+)?)\s*(?:%|percent|процент|％)")
_SCALED = re.compile(
    r"\d\s*(?:k|m|bn|mln|тыс|млн|млрд)\b|thousand|million|billion|dozen|half|twice|double|тысяч|миллион|миллиард|"
    r"дюжин|полов|вдвое|[百千万亿半倍]",
    re.IGNORECASE,
)
_BELOW_ZERO = re.compile(r"-\d|minus|negative|below zero|минус|отрицател|负", re.IGNORECASE)
_MONTH = re.compile(
    r"\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\b|month|quarter|season|summer|winter|spring|autumn|"
    r"week|monday|tuesday|wednesday|thursday|friday|saturday|sunday|day|"
    r"\b(?:янв|фев|мар|апр|ма[йя]|июн|июл|авг|сен|окт|ноя|дек)\w*|месяц|квартал|сезон|летом|зимой|весной|осенью|недел|ден|дня|"
    r"[月季周日]|星期",
    re.IGNORECASE,
)
_WINDOW = re.compile(
    r"running|cumulat|moving|rolling|previous|prior|preceding|last|over year|yoy|mom|chang|grow|compar|rank|so far|"
    r"to date|share|percent|proportion|differ|нараст|накоп|скольз|предыдущ|прошл|измен|рост|вырос|ранг|доля|"
    r"процент|сравн|"
    r"累计|累积|移动|滚动|环比|同比|上[一个年月]|前一|变化|增长|排名|占比|百分|比较|比例",
    re.IGNORECASE,
)
_ALTERNATIVE = re.compile(r"\b(?:or|and|или|и)\b|[或和及]", re.IGNORECASE)
_UNITS = re.compile(
    r"\b(?:units?|pieces|copies|quantit(?:y|ies))\b|\b(?:штук|единиц|количеств)|数量|多少[件个台张本瓶]|销量|几[件个]",
    re.IGNORECASE,
)
_MONEY = re.compile(
    r"\b(?:money|revenue|sales?|turnover|amount|value|worth|earn\w*|incomes?|profit\w*|margin\w*|cost\w*|price\w*|spen[dt]\w*|pa(?:y|ys|id)|"
    r"bring\w*|brought|dollars?|euros?|pounds?)\b|[$€£]|"
    r"выруч|сумм|деньг|денег|стоим|цен|оборот|доход|прибыл|маржа|руб|тра[тч]|заплат|"
    r"金额|收入|营收|销售额|营业额|利润|成本|价|元|钱|花",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"\"([^\"]+)\"|“([^”]+)”|«([^»]+)»|「([^」]+)」|(?<!\w)['‘]([^'’]+)['’](?!\w)")
_AROUND = re.compile(r"^\W+|\W+$")
_MARKS = " \t\"'`´‘’“”«».,;:!?"

_NUMBER_WORDS = {
    word: str(number)
    for number, spellings in enumerate(
        """no,zero,none ноль,ни 零|one,once,single,first один,одна,одного,одной,одно,первый,первые 一|two,second,both
        два,две,двух,второй 二,两|three,third три,трех,трёх,третий 三|four,fourth четыре,четырех,четырёх 四|five,fifth
        пять,пяти 五|six,sixth шесть,шести 六|seven,seventh семь,семи 七|eight,eighth восемь,восьми 八|nine,ninth
        девять,девяти 九|ten,tenth десять,десяти 十|eleven,eleventh одиннадцать|twelve,twelfth двенадцать""".split("|")
    )
    for word in re.split(r"[\s,]+", spellings)
} | {"fifteen": "15", "twenty": "20", "thirty": "30", "forty": "40", "fifty": "50", "hundred": "100"}


def string_rules(question: str, values: Sequence[LinkedValue], schema: Collection[str]) -> str:
    """Return the rules of literals: numbers, dates and texts of `question`, and `values`.

    `schema` contains the stems of the words in table and column names.
    """
    numbers, years = numbers_in(question), years_in(question)
    if numbers is not None:
        numbers = list(dict.fromkeys([*numbers, *(value.value for value in values if value.value.isdecimal())]))
    limits = [number for number in numbers or () if number.isdecimal() and number[0] != "0" and len(number) <= 4]
    linked_texts = {value.value for value in values}
    # A value stored with different capitals is written as stored.
    linked_forms = {value.casefold() for value in linked_texts}
    spans = {text for text in texts_in(question, schema) if text.casefold() not in linked_forms}
    texts = quotable((spans | linked_texts) - set(numbers or ()))
    rules = {
        "number": _ANY_NUMBER if numbers is None else choice(numbers),
        "limit": '" LIMIT " ' + ("[1-9] [0-9]{0,3}" if numbers is None else f"({choice({*limits, *_LIMITS})})"),
        "month": "[0-3] [0-9]" if mentions_months(question) else "",
        "day": _day(years),
        "year": f"""{_QUOTE} ({choice(years) if years else "[0-9]{4}" if years is None else "number"}) {_QUOTE}""",
        "word": choice(texts) if texts else "",
    }
    rules = {name: rule for name, rule in rules.items() if rule}
    text = " | ".join(name for name in ("number", "month", "day", "word") if name in rules)
    return "\n".join([f"text ::= {text}", *(f"{name} ::= {rule}" for name, rule in rules.items())]) + _RULES


def quotable(values: Iterable[str]) -> list[str]:
    """Return the `values` that a statement may contain, escaped for single quotes."""
    return [value.replace("'", "''") for value in values if 0 < len(value) <= _MAX_CHARS]


def _day(years: Sequence[str] | None) -> str:
    if years is not None and not years:
        return ""
    return ("[0-9]{4}" if years is None else f"({choice(years)})") + ' ("-" [0-9]{2} ("-" [0-9]{2})?)?'


def numbers_in(question: str) -> list[str] | None:
    """Return the numbers that a statement for `question` may contain; None if the wording does not determine them."""
    if _SCALED.search(question):
        return None
    numbers = [match.replace(",", "") for match in _DIGITS.findall(question)]
    numbers += [str(round(float(share) / 100, 6)) for share in _PERCENT.findall(question)]
    lower = question.lower()
    for word, number in _NUMBER_WORDS.items():
        # A single Chinese character has no word boundaries.
        is_character = len(word) == 1 and not word.isascii()
        if word in lower if is_character else re.search(rf"\b{word}\b", lower):
            numbers.append(number)
    numbers += [number.removesuffix(".0") for number in numbers]
    numbers += [f"-{number}" for number in numbers] if _BELOW_ZERO.search(question) else []
    return list(dict.fromkeys([*_ALWAYS, *numbers]))


def years_in(question: str) -> list[str] | None:
    """Return the years that dates may have; None for any year, if the question depends on the current date."""
    if depends_on_date(question):
        return None
    years = (str(int(year) + step) for year in _YEAR.findall(question) for step in (-1, 0, 1))
    return list(dict.fromkeys(years))


def mentions_months(question: str) -> bool:
    """Return whether `question` mentions months, quarters or days, which statements write as two digits."""
    return _MONTH.search(question) is not None


def may_need_windows(question: str) -> bool:
    """Return whether `question` may need window functions: running totals, changes, ranks, shares."""
    return _WINDOW.search(question) is not None


def may_need_chains(question: str) -> bool:
    """Return whether `question` may need a set operation of three queries: "in A or B, but not in C"."""
    return _ALTERNATIVE.search(question) is not None and constraints_of(question, ()).negates


def asks_for_units(question: str) -> bool:
    """Return whether `question` asks for a number of units and not for their value."""
    return _UNITS.search(question) is not None and not _MONEY.search(question)


def texts_in(question: str, schema: Collection[str]) -> Iterator[str]:
    """Yield spans of up to six words of `question` that may be stored texts, also with other capitals.

    These are quoted spans, and spans that neither begin nor end with a word such as "the" or "average", or with a word
    whose stem is in `schema` and that is not capitalised.
    """
    for match in _QUOTED.finditer(question):
        yield from filter(None, match.groups())
    parts = question.split()
    for start, first in enumerate(parts):
        if not _may_name(first, schema):
            continue
        for end in range(start + 1, min(start + _SPAN_WORDS, len(parts)) + 1):
            if _may_name(parts[end - 1], schema):
                yield from _forms(" ".join(parts[start:end]))
        for word in _forms(first):
            yield from (word.lower(), word[:1].upper() + word[1:])


def may_mention(value: str, question: str) -> bool:
    """Return whether `question` may refer to the stored text `value`: it is a code, or shares the start of a word."""
    return len(value) <= _CODE_CHARS or not _beginnings(question).isdisjoint(_beginnings(value))


@lru_cache(maxsize=4096)
def _beginnings(text: str) -> frozenset[str]:
    return frozenset(word[:4] for word in words(text))


def _may_name(word: str, schema: Collection[str]) -> bool:
    bare = _AROUND.sub("", word)
    lower = bare.lower()
    if not bare or is_function_word(lower) or is_data_word(lower):
        return False
    return bare[0].isupper() or stem(lower) not in schema


def _forms(span: str) -> Iterator[str]:
    # Brackets and an apparent possessive may be part of the value.
    yield span.strip(_MARKS)
    bare = _AROUND.sub("", span)
    yield bare
    yield re.sub(r"['’]s$", "", bare)
