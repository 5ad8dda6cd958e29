"""Constraints that the wording of a question puts on its statement: numbers, stored values, negations."""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from datasphinx.agent.retrieval.linked_values import LinkedValue
from datasphinx.agent.retrieval.synonyms import concepts

_FIGURE = re.compile(r"\d+")
_NEGATION = re.compile(
    r"\b(?:never|not(?! only)|cannot|no(?!\.?\s*\d)|none|nobody|nothing|neither|without|except|exclud(?:e|ing)|besides|"
    r"apart from|other than|ignor(?:e|ing)|(?:leav|left|leave)\w* out|miss(?:es|ing)|lack\w*|unless|"
    r"un(?!ited|iform|ique|ivers|limited)\w*(?:ed|paid|sold)|"
    r"никогда|не|нет|ни разу|без|кроме|помимо|исключая)\b|n['’]t\b|从未|从来没|没有?|未|不(?:是|含|包括|同于)|除了?|无",
    re.IGNORECASE,
)
_WHETHER_OR_NOT = re.compile(r"whether or not|\bor not\b|why not|不同(?!于)|除以", re.IGNORECASE)
_EXPRESSES_NEGATION = re.compile(
    r"\bNOT\b|!=|<>|\bIS NULL\b|\bEXCEPT\b|= 0\b|= FALSE\b|\bCASE\b|\bLEFT JOIN\b|<", re.IGNORECASE
)
_TEXT = re.compile(r"'((?:[^']|'')*)'")
_COMPUTES_SHARE = re.compile(r"/|\b100\b")
_ALWAYS_ALLOWED = re.compile(r"[\W\d]*|[-%ymdw]+|\w{1,3}")
"""Texts that the question need not contain: numbers, dates, date formats and codes."""

_NAME = re.compile(
    r"(?<=[^\s.?!:] )[A-ZА-ЯЁ][\w'’-]*(?: [A-ZА-ЯЁ\d][\w'’-]*)*|[\"“«「‘'][^\"”»」’']+[\"”»」’']|[\u3400-\u9fff]+"
)
"""Capitalised words within a sentence, quoted texts, and Chinese words, which have no capitals."""


@dataclass(frozen=True)
class QuestionConstraints:
    """Elements of a question that its statement has to contain."""

    values: Sequence[Collection[str]] = ()
    """For each phrase of the question that names stored texts, these texts; the statement contains one of each."""
    figures: Collection[str] = ()
    """The numbers of the question, as text."""
    negates: bool = False
    """Whether the question contains a negation."""
    texts: str = ""
    """Names and stored texts in lower case, in which every text of the statement must occur; empty: no constraint."""
    definitions: Collection[str] = ()
    """The columns that stand for metrics of the question, and its terms as texts in quotes; each must occur."""
    asks_for_share: bool = False
    """Whether the question asks for a share, which the statement computes or reads from a column with such a name."""

    def count_violations(self, statement: str) -> int:
        """Return the number of constraints that a compact statement violates, including unsupported texts."""
        missing_values = sum(
            not any(value.replace("'", "''") in statement for value in values) for values in self.values
        )
        lacks_negation = self.negates and not _EXPRESSES_NEGATION.search(_TEXT.sub("''", statement))
        texts = (text.replace("''", "'").strip("%").casefold() for text in _TEXT.findall(statement))
        unsupported_texts = sum(
            not _ALWAYS_ALLOWED.fullmatch(text) and text not in self.texts for text in texts if self.texts
        )
        missing = sum(text not in statement for text in (*self.figures, *self.definitions))
        return missing_values + lacks_negation + unsupported_texts + missing + self.lacks_share(statement)

    def lacks_share(self, statement: str) -> bool:
        """Return whether the question asks for a share, and the statement neither computes nor reads one."""
        plain = _TEXT.sub("''", statement)
        return self.asks_for_share and not _COMPUTES_SHARE.search(plain) and not _names_share(plain)


def _names_share(text: str) -> bool:
    """Return whether `text` has a word for a share, in a language of the glossary."""
    senses = frozenset().union(*concepts("share"))
    return any(concept & senses for concept in concepts(text))


def constraints_of(
    question: str, values: Sequence[LinkedValue], stored_texts: Iterable[str] = ()
) -> QuestionConstraints:
    """Return the constraints of `question`, which refers to the stored `values` and may refer to `stored_texts`.

    Negations within such a text ("without sugar") do not count.
    """
    by_phrase: dict[str, set[str]] = {}
    rest = _WHETHER_OR_NOT.sub(" ", question)
    for link in values:
        by_phrase.setdefault(link.phrase, set()).add(link.value)
        rest = re.sub(re.escape(link.value), " ", rest, flags=re.IGNORECASE)
    names = (link.value for link in values)
    texts = "\n".join(["", *names, *stored_texts, *_NAME.findall(question)]).casefold()
    return QuestionConstraints(
        list(by_phrase.values()),
        _FIGURE.findall(question),
        _NEGATION.search(rest) is not None,
        texts,
        asks_for_share=_names_share(rest),
    )
