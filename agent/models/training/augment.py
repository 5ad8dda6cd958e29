"""Variants of a group's schema, so that the model learns to read schemas and does not learn the few it sees by heart.

Columns and tables change their order, columns that no answer needs are left out, and names are spelt in another style
and with other words, in the schema and in the answers alike. The questions keep their words, so that a model cannot
link them with the schema by spelling alone (after Gan et al. 2021, who show how much models lean on that).
"""

import re
from collections.abc import Callable, Mapping
from functools import cache
from importlib.resources import files
from random import Random

from agent.models.training.groups import Example, Group

_TABLE = re.compile(r"([A-Za-z_]\w*)\((.*)\)")
_COLUMN = re.compile(r"(?:'(?:[^']|'')*'|[^',])+(?=, |$)")
_NAME = re.compile(r"'(?:[^']|'')*'|\b[A-Za-z_]\w*\b")
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_DROPPED = 0.25
_UNCHANGED = 0.25
_OTHER_WORD = 0.3
"""How likely a word of the schema is to become another of the same meaning."""

Style = Callable[[list[str]], str]
_STYLES: tuple[Style, ...] = (
    lambda words: "_".join(words).lower(),
    lambda words: words[0].lower() + "".join(word.capitalize() for word in words[1:]),
    lambda words: "".join(word.capitalize() for word in words),
    lambda words: "_".join(word.capitalize() for word in words),
)


def augmented(group: Group, rng: Random) -> Group:
    """Return a variant of `group`, one time in four the group itself; so is one whose schema is not plainly written."""
    start, _, schema = group.head.rpartition("<|im_start|>user\n")
    lines = schema.splitlines()
    tables = [match for line in lines if (match := _TABLE.fullmatch(line))]
    if not tables or '"' in schema or rng.random() < _UNCHANGED:
        return group
    keys = lines[len(tables) :]
    said = [*keys, *(line for each in group.examples for line in (*_context(each.tail), each.answer))]
    needed = {name for line in said for name in _NAME.findall(line)}
    made = [f"{table[1]}({', '.join(_columns(table[2], needed, rng))})" for table in tables]
    rng.shuffle(made)
    spell = _speller({name for table in tables for name in _names(table)}, rng)
    examples = [Example(_tail(each.tail, spell), _renamed(each.answer, spell), each.kind) for each in group.examples]
    return Group(f"{start}<|im_start|>user\n{_schema([*made, *keys], spell)}", group.database, examples)


def _columns(text: str, needed: set[str], rng: Random) -> list[str]:
    columns = [column.strip() for column in _COLUMN.findall(text)]
    kept = [each for each in columns if each.split()[0] in needed or rng.random() >= _DROPPED] or columns
    if rng.random() < 0.5:
        rng.shuffle(kept)
    return kept


def _names(table: re.Match[str]) -> list[str]:
    return [table[1], *(column.split()[0] for column in _COLUMN.findall(table[2]) if column.split())]


def _speller(names: set[str], rng: Random) -> Mapping[str, str]:
    """Return how each name is spelt now; as it is where two would become one."""
    style = rng.choice((None, *_STYLES))
    word_for = {word: rng.choice(others) for word, others in sorted(_synonyms().items()) if rng.random() < _OTHER_WORD}
    spelt = {name: _styled(_WORDS.sub(lambda match: _other(match[0], word_for), name), style) for name in names}
    return spelt if len({name.lower() for name in spelt.values()}) == len({name.lower() for name in names}) else {}


def _styled(name: str, style: Style | None) -> str:
    words = _WORDS.findall(name)
    return style(words) if style and words else name


@cache
def _synonyms() -> dict[str, list[str]]:
    """Return the other words for each word of `synonyms.txt`."""
    text = files("agent.models.training").joinpath("synonyms.txt").read_text(encoding="utf-8")
    return {word: others for word, *others in map(str.split, text.splitlines())}


def _other(word: str, word_for: Mapping[str, str]) -> str:
    """Return what `word_for` has in place of `word`, in its case and number."""
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
    # The word after a column's name is its type, which may be a name elsewhere.
    return "\n".join(
        re.sub(r"'(?:[^']|'')*'|(?:(?<=^)|(?<=\()|(?<=, )|(?<=\.)|(?<== ))[A-Za-z_]\w*", lambda m: _one(m, spell), line)
        for line in lines
    )


def _context(tail: str) -> list[str]:
    """Return the lines of `tail` in which names stand; a question has none, and may have lone quotes."""
    return [line for line in tail.split("\n") if line.startswith(("values: ", "failed: "))]


def _tail(text: str, spell: Mapping[str, str]) -> str:
    for line in _context(text):
        text = text.replace(line, _renamed(line, spell))
    return text


def _renamed(text: str, spell: Mapping[str, str]) -> str:
    return _NAME.sub(lambda match: _one(match, spell), text)


def _one(match: re.Match[str], spell: Mapping[str, str]) -> str:
    return match[0] if match[0].startswith("'") else spell.get(match[0], match[0])
