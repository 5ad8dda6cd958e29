"""What a question says that its statement has to hold: numbers, stored values, negations."""

import re
from collections.abc import Collection
from dataclasses import dataclass

_FIGURE = re.compile(r"\d+")
_NEGATION = re.compile(
    r"\b(?:never|not(?! only)|cannot|no(?!\.?\s*\d)|none|nobody|nothing|neither|without|except|exclud(?:e|ing)|besides|"
    r"apart from|other than|(?:leav|left|leave)\w* out|miss(?:es|ing)|lack\w*|unless|unpaid|unshipped|"
    r"никогда|не|нет|ни разу|без|кроме|помимо|исключая)\b|n['’]t\b|从未|从来没|没有?|未|不(?:是|含|包括|同于)|除了?|无",
    re.IGNORECASE,
)
_WHETHER_OR_NOT = re.compile(r"whether or not|\bor not\b|why not|不同(?!于)|除以", re.IGNORECASE)
_NEGATED = re.compile(r"\bNOT\b|!=|<>|\bIS NULL\b|\bEXCEPT\b|= 0\b|= FALSE\b|\bCASE\b|\bLEFT JOIN\b|<", re.IGNORECASE)
_TEXT = re.compile(r"'(?:[^']|'')*'")


@dataclass(frozen=True)
class Said:
    """What a question says. `values` are stored texts that words of it mean, of which a statement holds one or more."""

    values: Collection[str] = ()
    figures: Collection[str] = ()
    """The numbers in it, as text."""
    negates: bool = False
    """Whether it asks for what is not so."""

    def left_out_by(self, statement: str) -> int:
        """Return how much of it the compact `statement` leaves out."""
        names_none = bool(self.values) and not any(value.replace("'", "''") in statement for value in self.values)
        lacks_negation = self.negates and not _NEGATED.search(_TEXT.sub("''", statement))
        return names_none + lacks_negation + sum(figure not in statement for figure in self.figures)


def said_in(question: str, values: Collection[str]) -> Said:
    """Return what `question` says, where its words mean the stored texts `values`.

    A negation within such a text ("without sugar") is none.
    """
    rest = _WHETHER_OR_NOT.sub(" ", question)
    for value in values:
        rest = re.sub(re.escape(value), " ", rest, flags=re.IGNORECASE)
    return Said(values, _FIGURE.findall(question), _NEGATION.search(rest) is not None)
