"""A question as the beginning of its answer: "Which region sold the most?" becomes "North America sold the most"."""

import re
from collections.abc import Collection

from agent.messages import Language
from agent.schema.words import content_words, words

_LONGEST = 160
_MAX_UNFILTERED_HAN = 10
"""Maximum number of characters of a Chinese question that a statement without conditions can answer whole."""
_AGGREGATES = words(
    "average mean total sum number amount count maximum minimum highest lowest largest smallest overall "
    "средний средняя среднее общий общая общее сумма количество число максимальный минимальный всего"
)
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
    question: str,
    value: str,
    *,
    is_number: bool,
    nouns: Collection[str],
    known_text: str,
    conditions: int,
    language: Language,
) -> str | None:
    """Return `question` as a statement with `value` in place of the question word, without the full stop.

    `nouns` are the words for what the value names, `known_text` holds those of the statement and its rows, and
    `conditions` is the number of its conditions. Returns None if the form of the question is not a known one, or if the
    question has a number or words that the statement does not account for: it may then compute something else.
    """
    text = question.strip().rstrip("?？.。 ").strip()
    if not text or len(text) > _LONGEST or re.search(r"[\n\"“”«»?？!！;；:：{}<>|`\\]|[.。] ", text):
        return None
    if not _is_covered(text, known_text, language):
        return None
    if language == "en":
        return _english(text, value, is_number, nouns, words(known_text) | _AGGREGATES)
    if language == "ru":
        return _russian(text, value, is_number, conditions)
    if language != "zh":
        return None
    is_short = conditions > 0 or len(re.findall(r"[\u3400-\u9fff]", text)) <= _MAX_UNFILTERED_HAN
    return _chinese(text, value, is_number) if is_short else None


def _is_covered(text: str, known_text: str, language: Language) -> bool:
    """Return whether the numbers and names of a question are in `known_text`; Russian names by their first letters."""
    known = known_text.casefold()
    if any(number not in known for number in re.findall(r"\d+", text)):
        return False
    names = [word for word in re.findall(r"(?<=[ (])[A-ZА-ЯЁ][\w&'-]*", text) if word not in _ENGLISH_CAPITALS]
    letters = 4 if language == "ru" else 99
    names += re.findall(r"[A-Za-z]{2,}", text) if language == "zh" else []
    return all(name.casefold().removesuffix("'s")[:letters] in known for name in names)


def _english(
    text: str, value: str, is_number: bool, nouns: Collection[str], known_words: Collection[str]
) -> str | None:
    unknown = content_words(text) - set(known_words)
    if is_number and (match := _HOW_MANY.fullmatch(text)):
        return None if unknown else _counted(match["rest"], value)
    if match := _WHAT_IS.fullmatch(text):
        if unknown:
            return None
        rest = match["rest"]
        if _SECOND_QUESTION.search(rest) or _INVERTED.search(rest) or re.search(r"\band the\b|\bdifference\b", rest):
            return None
        return f"{rest[0].upper()}{rest[1:]} {(match['verb'] or 'is').lower()} {value}"
    if is_number:
        return None
    match, rest = _WHO.fullmatch(text) or _WHICH.fullmatch(text), None
    if match:
        rest = match["rest"] if match.re is _WHO else _after_noun(match["rest"], nouns)
    # The verb names the measure of the ranking in other words.
    if not rest or unknown - words(rest.split()[0]):
        return None
    verb, _, tail = rest.partition(" ")
    if not tail or _INVERTED.search(f"{rest} ") or _SECOND_QUESTION.search(rest) or rest.split()[-1] in _PREPOSITIONS:
        return None
    return f"{value} {_SINGULAR_VERBS.get(verb, verb)} {tail}"


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


def _russian(text: str, value: str, is_number: bool, conditions: int) -> str | None:
    if not is_number:
        return None
    match = _RUSSIAN_COUNT.fullmatch(text) or _RUSSIAN_MEASURE.fullmatch(text)
    if not match or _RUSSIAN_SECOND_QUESTION.search(match["rest"]):
        return None
    # Russian words cannot be compared with English names: a condition accounts for two of them.
    if len(content_words(match["rest"]) - _AGGREGATES) > 1 + 2 * conditions:
        return None
    return f"{match['rest'][0].upper()}{match['rest'][1:]}: {value}"


def _chinese(text: str, value: str, is_number: bool) -> str | None:
    pattern = _CHINESE_COUNT if is_number else _CHINESE_NAME
    statement, count = pattern.subn(lambda match: value, re.sub(r"^(?:请问|查询一下|告诉我)[，,]?", "", text))
    return statement if count == 1 and not _CHINESE_QUESTION.search(statement.replace(value, "")) else None
