"""A question as the beginning of its answer: "Which region sold the most?" becomes "North America sold the most"."""

import re
from collections.abc import Collection

from agent.messages import Language

_LONGEST = 160
_ENGLISH_CAPITALS = {"I", "SQL", "ID", "IDs"} | set(
    "January February March April May June July August September October November December Monday Tuesday Wednesday "
    "Thursday Friday Saturday Sunday".split()
)
_SECOND_QUESTION = re.compile(r"\b(?:who|whom|whose|which|what|when|where|why|how)\b", re.IGNORECASE)
_INVERTED = re.compile(
    r"\b(?:do|does|did)\b|\b(?:is|are|was|were|has|have|had|can|could|will|would|should) "
    r"(?:we|i|you|they|it|he|she|our|my|their|there|each|every|all)\b",
    re.IGNORECASE,
)
_HOW_MANY = re.compile(r"how many (?P<rest>.+)", re.IGNORECASE)
_WE_HAVE = re.compile(r"(?P<noun>.+?) do (?P<who>we|you|they|i) have\b(?P<tail>.*)", re.IGNORECASE)
_THERE = re.compile(r"(?P<noun>.+?) (?P<verb>are|were) there\b(?P<tail>.*)", re.IGNORECASE)
_WHAT_IS = re.compile(r"what(?:'s| (?P<verb>is|was)) (?P<rest>(?:the|our|its|my|their) .+)", re.IGNORECASE)
_WHO = re.compile(r"who (?P<rest>.+)", re.IGNORECASE)
_WHICH = re.compile(r"(?:which|what) (?P<rest>.+)", re.IGNORECASE)
_ADDITION = re.compile(r" of (?:the |our |all )?\w+")
_PREPOSITIONS = {"in", "from", "at", "for", "with", "to", "by", "of", "on"}
_SINGULAR_VERBS = {"have": "has", "are": "is", "were": "was"}
_RUSSIAN_COUNT = re.compile(r"сколько (?:всего )?(?:было )?(?P<rest>.+)", re.IGNORECASE)
_RUSSIAN_MEASURE = re.compile(r"как(?:ов|ова|ово|ой|ая|ое) (?:был[аои]? )?(?P<rest>.+)", re.IGNORECASE)
_RUSSIAN_SECOND_QUESTION = re.compile(
    r"\b(?:кто|что|как\w*|где|когда|почему|сколько|стоит|стоят|который)\b", re.IGNORECASE
)
_CHINESE_COUNT = re.compile(r"多少|几(?=[个名位笔件条家种次台人])")
_CHINESE_NAME = re.compile(r"谁|哪[个位款家种座些一]\w{0,6}?(?=的)|(?<=是)哪[个位款家种座些一]\w{0,6}$")
_CHINESE_QUESTION = re.compile(r"谁|哪|什么|多少|几[个名位笔件条家种次台人]|怎|吗|为何")


def restated(
    question: str, value: str, *, is_number: bool, nouns: Collection[str], known_text: str, language: Language
) -> str | None:
    """Return `question` as a statement with `value` in place of the question word, without the full stop.

    `nouns` are the words for what the value names. Returns None if the form of the question is not a known one, or if
    it has a number or a name that is not in `known_text`, the statement and its rows: the statement may then compute
    something else.
    """
    text = question.strip().rstrip("?？.。 ").strip()
    if not text or len(text) > _LONGEST or re.search(r"[\n\"“”«»?？!！;；:：{}<>|`\\]|[.。] ", text):
        return None
    if not _is_covered(text, known_text, language):
        return None
    if language == "en":
        return _english(text, value, is_number, nouns)
    if language == "ru":
        return _russian(text, value, is_number)
    return _chinese(text, value, is_number)


def _is_covered(text: str, known_text: str, language: Language) -> bool:
    """Return whether the numbers and names of a question are in `known_text`; Russian names by their first letters."""
    known = known_text.casefold()
    if any(number not in known for number in re.findall(r"\d+", text)):
        return False
    names = [word for word in re.findall(r"(?<=[ (])[A-ZА-ЯЁ][\w&'-]*", text) if word not in _ENGLISH_CAPITALS]
    letters = 4 if language == "ru" else 99
    names += re.findall(r"[A-Za-z]{2,}", text) if language == "zh" else []
    return all(name.casefold().removesuffix("'s")[:letters] in known for name in names)


def _english(text: str, value: str, is_number: bool, nouns: Collection[str]) -> str | None:
    if is_number and (match := _HOW_MANY.fullmatch(text)):
        return _counted(match["rest"], value)
    if match := _WHAT_IS.fullmatch(text):
        rest = match["rest"]
        if _SECOND_QUESTION.search(rest) or _INVERTED.search(rest) or re.search(r"\band the\b|\bdifference\b", rest):
            return None
        return f"{rest[0].upper()}{rest[1:]} {(match['verb'] or 'is').lower()} {value}"
    if is_number:
        return None
    if match := _WHO.fullmatch(text):
        return _predicated(match["rest"], value)
    if match := _WHICH.fullmatch(text):
        rest = _after_noun(match["rest"], nouns)
        return _predicated(rest, value) if rest else None
    return None


def _counted(rest: str, value: str) -> str | None:
    if value == "1" or _SECOND_QUESTION.search(rest):
        return None
    if match := _WE_HAVE.fullmatch(rest):
        return f"{match['who'].capitalize()} have {value} {match['noun']}{match['tail']}"
    if match := _THERE.fullmatch(rest):
        return f"There {match['verb'].lower()} {value} {match['noun']}{match['tail']}"
    return None if _INVERTED.search(rest) else f"{value} {rest}"


def _after_noun(rest: str, nouns: Collection[str]) -> str | None:
    """Return what follows the noun that `rest` begins with; None if none of its first words is one of `nouns`."""
    ends = [
        word.end()
        for word in list(re.finditer(r"[\w-]+", rest))[:4]
        if any(word.group().lower() == noun for name in nouns for noun in name.lower().split())
    ]
    if not ends:
        return None
    addition = _ADDITION.match(rest, ends[-1])
    return rest[addition.end() if addition else ends[-1] :].strip()


def _predicated(rest: str, value: str) -> str | None:
    verb, _, tail = rest.partition(" ")
    if not tail or _INVERTED.search(f"{rest} ") or _SECOND_QUESTION.search(rest) or rest.split()[-1] in _PREPOSITIONS:
        return None
    return f"{value} {_SINGULAR_VERBS.get(verb, verb)} {tail}"


def _russian(text: str, value: str, is_number: bool) -> str | None:
    if not is_number:
        return None
    match = _RUSSIAN_COUNT.fullmatch(text) or _RUSSIAN_MEASURE.fullmatch(text)
    if not match or _RUSSIAN_SECOND_QUESTION.search(match["rest"]):
        return None
    return f"{match['rest'][0].upper()}{match['rest'][1:]}: {value}"


def _chinese(text: str, value: str, is_number: bool) -> str | None:
    pattern = _CHINESE_COUNT if is_number else _CHINESE_NAME
    statement, count = pattern.subn(lambda match: value, re.sub(r"^(?:请问|查询一下|告诉我)[，,]?", "", text))
    return statement if count == 1 and not _CHINESE_QUESTION.search(statement.replace(value, "")) else None
