"""The part of the grammar that says which texts a statement may hold: those of the question and of the database."""

import re
from collections.abc import Iterable, Iterator, Sequence

from agent.catalog.linked_values import LinkedValue
from agent.models.gbnf import choice

_SPAN_WORDS = 6
_MAX_CHARS = 100
"""A longer value is no name of anything; it would only make the grammar slow to read."""

_NUMBER = re.compile(r"-?\d{1,12}(\.\d{1,6})?")
_AROUND = re.compile(r"^\W+|\W+$")
_MARKS = " \t\"'`´‘’“”«».,;:!?"

_RULES = r"""
number ::= "-"? [0-9]{1,12} ("." [0-9]{1,6})?
day ::= [0-9]{4} "-" [0-9]{2} ("-" [0-9]{2})?
string ::= "'" text "'"
pattern ::= "'" "%"? text "%"? "'"
strings ::= string (", " string){0,19}
numbers ::= number (", " number){0,19}
literal ::= number | string
literals ::= literal (", " literal){0,19}
"""


def string_rules(question: str, values: Sequence[LinkedValue]) -> str:
    """Return the rules of literals: numbers, dates, spans of the question's words and `values`."""
    words = {*_spans(question), *(value.value for value in values)}
    said = quotable(word for word in words if not _NUMBER.fullmatch(word))
    return f"text ::= number | day{f' | word{chr(10)}word ::= {choice(said)}' if said else ''}{_RULES}"


def quotable(values: Iterable[str]) -> list[str]:
    """Return those of `values` that a statement may hold, as they stand between its quotes."""
    return [value.replace("'", "''") for value in values if 0 < len(value) <= _MAX_CHARS]


def _spans(question: str) -> Iterator[str]:
    words = question.split()
    for start in range(len(words)):
        for end in range(start + 1, min(start + _SPAN_WORDS, len(words)) + 1):
            yield from _forms(" ".join(words[start:end]))
        for word in _forms(words[start]):
            yield from (word.lower(), word[:1].upper() + word[1:])


def _forms(span: str) -> Iterator[str]:
    # A bracket may belong to the value, and so may what looks like a possessive.
    yield span.strip(_MARKS)
    bare = _AROUND.sub("", span)
    yield bare
    yield re.sub(r"['’]s$", "", bare)
