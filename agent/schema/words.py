"""Words of questions and identifiers, normalised for comparison."""

import re
import unicodedata
from functools import cache, lru_cache

import snowballstemmer

_SEPARATORS = re.compile(r"[\W_]+")
_ACCENTS = re.compile(r"[\u0300-\u036f]+")
_WORD = re.compile(r"[^\W\d_]+", re.UNICODE)
_WORD_OR_NUMBER = re.compile(r"[^\W\d_]+|\d+", re.UNICODE)
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_HAN = re.compile(r"[\u3400-\u9fff]+")
UNIT = re.compile(r"[\u3400-\u9fff]|[^\W_\u3400-\u9fff]+")
"""A word, a number, or a Chinese character."""
_CYRILLIC = re.compile(r"[\u0400-\u04ff]")
_FUNCTION_WORDS = frozenset(
    """a about above all also am an and any are as at be been but by can could did do does each either else ever
    every for from get give had has have having he her here him his how i if in into is it its just like make me
    more my no nor not of off on one only or other our out over own please s same she should so some such t tell
    than that the their them then there these they this those to too under until up us use very was we were what
    when where which while who whom whose why will with would you your и в во не что он на я с со как а то все она
    так его но да ты к у же вы за бы по ее мне было вот от меня еще нет о из ему теперь когда даже ну ли если уже
    или ни быть был него до вас нибудь опять уж вам ведь там потом себя ничего ей может они тут где есть надо ней
    для мы тебя их чем была сам чтоб без будто чего раз тоже под будет ж тогда кто этот какой какая какие это""".split()
)
_DATA_WORDS = frozenset(
    """amount average avg biggest bottom chart compare count cumulative distinct distribution earliest fewest growth
    highest largest latest least list lowest many max maximum mean median min minimum most much newest number oldest
    per percent percentage plot quantity rank ranking rate ratio share show smallest sum table top total trend
    unique сколько среднее средний средняя сумма количество число список покажи топ доля процент тренд динамика
    максимум минимум график таблица больше меньше самый""".split()
)


@lru_cache(maxsize=10_000)
def normal_form(text: str) -> str:
    """Return `text` in lower case, without accents, its words separated by single spaces.

    Compatibility characters are decomposed first (Unicode NFKD), so full-width letters and ligatures match plain ones.

    >>> normal_form("São-Paulo,  ＢＲ")
    'sao paulo br'
    """
    if text.isascii():
        return _SEPARATORS.sub(" ", text.lower()).strip()
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    # Russian "й" is a letter of its own, not an "и" with an accent: compose it before dropping accents.
    plain = _ACCENTS.sub("", decomposed.replace("и\u0306", "й"))
    return _SEPARATORS.sub(" ", unicodedata.normalize("NFC", plain)).strip()


@lru_cache(maxsize=10_000)
def words(text: str) -> frozenset[str]:
    """Return the stems of the words in `text`; identifiers are split at underscores and capitals.

    Chinese text yields pairs of adjacent characters, since it has no spaces between words.

    >>> sorted(words("orderDates of customer_id"))
    ['custom', 'date', 'id', 'of', 'order']
    """
    separated = _separated(text.replace("_", " "))
    stems = {stem(word.lower()) for word in _WORD.findall(separated)}
    return frozenset(stems.union(han_pairs(text)))


def spelt_words(text: str) -> list[str]:
    """Return the words and numbers of `text` in order and lower case, without stemming or Chinese characters."""
    return [word.lower() for word in _WORD_OR_NUMBER.findall(_separated(text))]


def _separated(text: str) -> str:
    """Return `text` with a space before each capital that begins a word, and without Chinese characters."""
    # Most names have neither; the tests are much faster than the substitutions.
    if not text.isascii():
        text = _HAN.sub(" ", text)
    return text if text.islower() else _CAMEL.sub(" ", text)


def han_runs(text: str) -> list[str]:
    """Return the sequences of Chinese characters in `text`."""
    return _HAN.findall(text)


def han_pairs(text: str) -> list[str]:
    """Return all pairs of adjacent Chinese characters in `text`; an isolated character is returned alone.

    >>> han_pairs("销售额 by 年")
    ['销售', '售额', '年']
    """
    return [run[at : at + 2] for run in han_runs(text) for at in range(max(1, len(run) - 1))]


def is_cyrillic(text: str) -> bool:
    """Return whether `text` contains a Cyrillic letter."""
    return _CYRILLIC.search(text) is not None


def is_function_word(word: str) -> bool:
    """Return whether `word` is an article, pronoun or other function word."""
    return word in _FUNCTION_WORDS


def is_data_word(word: str) -> bool:
    """Return whether `word`, such as "average" or "list", usually names an operation rather than data."""
    return stem(word) in _stems(_DATA_WORDS)


def content_words(question: str) -> frozenset[str]:
    """Return the stems of the words in `question`, without function words and data words.

    >>> sorted(content_words("What is the average price of the products?"))
    ['price', 'product']
    """
    return words(question) - _stems(_FUNCTION_WORDS) - _stems(_DATA_WORDS)


@cache
def _stems(of_words: frozenset[str]) -> frozenset[str]:
    return frozenset(map(stem, of_words))


@lru_cache(maxsize=100_000)
def stem(word: str) -> str:
    """Return the stem of a lower-case word: Snowball for Russian if it contains Cyrillic, otherwise for English."""
    # Snowball removes suffixes of letters only, but takes a fifth of a millisecond to leave `col17` as it is.
    if word[-1:].isdigit():
        return word
    language = "russian" if is_cyrillic(word) else "english"
    # A stemmer keeps the current word as state, so threads must not share one.
    return str(snowballstemmer.stemmer(language).stemWord(word))


def german_stem(word: str) -> str:
    """Return the German stem of a word or of its English stem: that of the singular and plural of most nouns.

    >>> german_stem(stem("bestellungen")), german_stem(stem("bestellung"))
    ('bestell', 'bestell')
    """
    return str(snowballstemmer.stemmer("german").stemWord(word))


_WORD_STARTS = re.compile(r"(?<=[a-zа-я])(?=[A-ZА-Я])|(?<=[A-Za-zА-Яа-я])(?=(?:19|20)\d\d(?!\d))")
"""The start of a word or a year within a name, as in `unitsSold` and `sales2021`."""


def readable(name: str) -> str:
    """Return the name of a column as words.

    >>> readable("unitsSold_2021")
    'units Sold 2021'
    """
    return _WORD_STARTS.sub(" ", name).replace("_", " ")
