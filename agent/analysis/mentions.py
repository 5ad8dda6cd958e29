"""Where a question names the columns of a table."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from agent.catalog.schema import Column, Table
from agent.catalog.words import han_runs, spelt_words, stem

_WORD = re.compile(r"[^\W\d_\u3400-\u9fff]+")


@dataclass(frozen=True)
class Mention:
    """A column, and where the question names it: from `start` to `end` (characters)."""

    column: Column
    start: int
    end: int

    @property
    def is_number(self) -> bool:
        """Whether the column holds numbers."""
        return self.column.type_class == "number"


def mentions(question: str, table: Table) -> list[Mention]:
    """Return where `question` names columns of `table`, in its order: in full, in whatever case and number.

    Of names that overlap the longer counts. A column that is named twice is there twice.
    """
    found = [mention for column in table.columns for mention in _of(column, question)]
    kept: list[Mention] = []
    for mention in sorted(found, key=lambda each: each.start - each.end):
        if all(mention.end <= other.start or other.end <= mention.start for other in kept):
            kept.append(mention)
    return sorted(kept, key=lambda each: each.start)


def _of(column: Column, question: str) -> Iterator[Mention]:
    if han_runs(column.name):
        for match in re.finditer(re.escape(column.name), question, re.IGNORECASE):
            yield Mention(column, *match.span())
        return
    name = [stem(word) for word in spelt_words(column.name)]
    spoken = [(stem(match[0].lower()), match.span()) for match in _WORD.finditer(question)]
    for at in range(len(spoken) - len(name) + 1 if name else 0):
        if [word for word, _ in spoken[at : at + len(name)]] == name:
            yield Mention(column, spoken[at][1][0], spoken[at + len(name) - 1][1][1])
