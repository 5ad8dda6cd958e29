"""Data augmentation: variants of the schema of a group, so that the model does not memorise the training schemas.

Columns and tables are reordered, columns that no answer needs are dropped, and names get another style and synonyms, in
the schema and in the answers. Questions are unchanged, so that a model cannot link them to the schema by spelling alone
(Gan et al. 2021 show how much models rely on that).
"""

import re
from collections.abc import Callable, Mapping
from functools import cache
from importlib.resources import files
from random import Random

from training.groups import Example, Group

_TABLE = re.compile(r"([A-Za-z_]\w*)\((.*)\)")
_COLUMN = re.compile(r"(?:'(?:[^']|'')*'|[^',])+(?=, |$)")
_NAME = re.compile(r"'(?:[^']|'')*'|\b[A-Za-z_]\w*\b")
_SCHEMA_NAME = re.compile(r"'(?:[^']|'')*'|(?:(?<=^)|(?<=\()|(?<=, )|(?<=\.)|(?<== ))[A-Za-z_]\w*")
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_DROP_PROBABILITY = 0.25
_UNCHANGED_PROBABILITY = 0.25
_SYNONYM_PROBABILITY = 0.3
"""Probability that a word of the schema is replaced by a synonym."""

Style = Callable[[list[str]], str]
_STYLES: tuple[Style, ...] = (
    lambda words: "_".join(words).lower(),
    lambda words: words[0].lower() + "".join(word.capitalize() for word in words[1:]),
    lambda words: "".join(word.capitalize() for word in words),
    lambda words: "_".join(word.capitalize() for word in words),
)


def augmented(group: Group, rng: Random) -> Group:
    """Return a variant of `group`, or `group` itself in a quarter of the cases or if its schema has quoted names."""
    start, _, schema = group.head.rpartition("<|im_start|>user\n")
    lines = schema.splitlines()
    tables = [match for line in lines if (match := _TABLE.fullmatch(line))]
    if not tables or '"' in schema or rng.random() < _UNCHANGED_PROBABILITY:
        return group
    keys = lines[len(tables) :]
    sources = [*keys, *(line for example in group.examples for line in (*_context(example.tail), example.answer))]
    needed = {name for line in sources for name in _NAME.findall(line)}
    variants = [f"{table[1]}({', '.join(_columns(table[2], needed, rng))})" for table in tables]
    rng.shuffle(variants)
    spell = _speller({name for table in tables for name in _names(table)}, rng)
    examples = [Example(_tail(old.tail, spell), _renamed(old.answer, spell), old.kind) for old in group.examples]
    return Group(f"{start}<|im_start|>user\n{_schema([*variants, *keys], spell)}", group.database, examples)


def _columns(text: str, needed: set[str], rng: Random) -> list[str]:
    columns = [column.strip() for column in _COLUMN.findall(text)]
    remaining = [
        column for column in columns if column.split()[0] in needed or rng.random() >= _DROP_PROBABILITY
    ] or columns
    if rng.random() < 0.5:
        rng.shuffle(remaining)
    return remaining


def _names(table: re.Match[str]) -> list[str]:
    return [table[1], *(column.split()[0] for column in _COLUMN.findall(table[2]) if column.split())]


def _speller(names: set[str], rng: Random) -> Mapping[str, str]:
    """Return the new spelling of each name; empty, which changes nothing, if two names would become equal."""
    style = rng.choice((None, *_STYLES))
    synonyms = sorted(_synonyms().items())
    word_for = {word: rng.choice(others) for word, others in synonyms if rng.random() < _SYNONYM_PROBABILITY}
    spelt = {}
    for name in names:
        other = _WORDS.sub(lambda match: _other(match[0], word_for), name)
        words = _WORDS.findall(other)
        spelt[name] = style(words) if style and words else other
    return spelt if len({name.lower() for name in spelt.values()}) == len({name.lower() for name in names}) else {}


@cache
def _synonyms() -> dict[str, list[str]]:
    """Return the synonyms of each word in `synonyms.txt`."""
    text = files("training").joinpath("synonyms.txt").read_text(encoding="utf-8")
    return {word: others for word, *others in map(str.split, text.splitlines())}


def _other(word: str, word_for: Mapping[str, str]) -> str:
    """Return the replacement of `word` in `word_for`, in the same case and number."""
    lower = word.lower()
    plural = lower.endswith("s") and lower not in word_for
    other = word_for.get(lower.removesuffix("s") if plural else lower)
    if not other:
        return word
    if plural:
        other = re.sub("(?<![aeo])y$", "ie", other).removesuffix("s") + "s"
    if word.isupper() and len(word) > 1:
        return other.upper()
    return other.capitalize() if word[:1].isupper() else other


def _schema(lines: list[str], spell: Mapping[str, str]) -> str:
    # Skip the word after the name of a column: it is the type, which may equal a name elsewhere.
    return "\n".join(_SCHEMA_NAME.sub(lambda match: _spelling(match, spell), line) for line in lines)


def _context(tail: str) -> list[str]:
    """Return the lines of `tail` that contain names. Questions are excluded: they may contain unpaired quotes."""
    return [line for line in tail.split("\n") if line.startswith(("values: ", "failed: "))]


def _tail(text: str, spell: Mapping[str, str]) -> str:
    for line in _context(text):
        text = text.replace(line, _renamed(line, spell))
    return text


def _renamed(text: str, spell: Mapping[str, str]) -> str:
    return _NAME.sub(lambda match: _spelling(match, spell), text)


def _spelling(match: re.Match[str], spell: Mapping[str, str]) -> str:
    return match[0] if match[0].startswith("'") else spell.get(match[0], match[0])
