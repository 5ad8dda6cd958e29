"""Causes, forecasts and sentiments: opinions that rows rarely support."""

import re
from collections.abc import Iterator, Sequence

from agent.grounding.binding import MOST_ROWS, Objection
from agent.grounding.facts import Table, number_of, readable, stems_of
from agent.grounding.vocabulary import Vocabulary


def unsupported_opinions(text: str, words: Vocabulary, tables: Sequence[Table], question: str) -> Iterator[Objection]:
    """Yield causes, forecasts and sentiments that no words of the rows support."""
    cells = " ".join(
        str(cell)
        for table in tables
        for row in table.rows[:MOST_ROWS]
        for cell in row
        if isinstance(cell, str) and number_of(cell) is None
    )
    names = " ".join(readable(name) for table in tables for name in table.result["columns"])
    known = f"{cells} {names} {question}"
    for match in words.cause.finditer(text):
        missing = (
            words.missing.match(text, match.end())
            or words.unknown.search(text)
            or any(_is_event(part, words) for part in (match.group(), *_WORD.findall(text[match.end() :])[:1]))
        )
        if (
            not missing
            and not words.cause_columns.search(f"{names} {question}")
            and not _in_cells(text[match.end() : match.end() + 60], cells)
            and not (words.afterwards.match(match.group()) and _in_cells(match.group(), f"{names} {question}"))
        ):
            yield Objection(match.start(), match.end(), match.group(), "the rows give no cause")
    for pattern in (words.forecast, words.recommendation):
        for match in pattern.finditer(text):
            if not words.forecast_columns.search(f"{names} {question}") and not _is_schedule(
                text, match, words, tables
            ):
                yield Objection(match.start(), match.end(), match.group(), "the rows give no forecast")
    for match in words.sentiment.finditer(text):
        root = match.group()[:5].lower()
        if root not in known.lower():
            yield Objection(match.start(), match.end(), match.group(), "the rows give no such judgement")


_WORD = re.compile(r"^\s*([^\W\d_]+)")


def _is_event(cause: str, words: Vocabulary) -> bool:
    """Return whether what looks like a cause is a change of the values, as in "after the rise"."""
    patterns = (words.up, words.down, words.highest, words.lowest, words.event)
    return any(pattern.fullmatch(cause.split()[-1]) for pattern in patterns)


def _is_schedule(text: str, match: re.Match[str], words: Vocabulary, tables: Sequence[Table]) -> bool:
    """Return whether a date of the rows stands behind a weak forecast, as in "due on 28 February"."""
    if not words.schedule.fullmatch(match.group()) and not words.schedule.match(match.group()):
        return False
    return any(
        period.rows and 0 <= period.start - match.end() <= 40 for table in tables for period in table.periods_in(text)
    )


def _in_cells(text: str, cells: str) -> bool:
    """Return whether most content words of `text` stand in text cells."""
    parts = [
        token
        for token in stems_of(re.split(r"[.,;，。；]", text)[0])
        if len(token) > 3 or "\u4e00" <= token[0] <= "\u9fff"
    ]
    known = set(stems_of(cells))
    return bool(parts) and sum(part in known for part in parts) * 2 > len(parts)
