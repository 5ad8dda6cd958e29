"""Check the claims of a text: find those that do not follow from the rows that it describes."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from agent.grounding.binding import MAX_ROWS_PER_CHECK, Objection
from agent.grounding.changes import Changes
from agent.grounding.evidence import NO_EVIDENCE, Evidence
from agent.grounding.facts import Table, number_of, question_figures, readable, stems_of
from agent.grounding.figures import Figures
from agent.grounding.numbers import figures_of, spans_of
from agent.grounding.rankings import Rankings
from agent.grounding.reading import Reading, sentences_of
from agent.grounding.vocabulary import Vocabulary, all_vocabularies, vocabulary_of
from agent.messages import language_of
from agent.types import Result


def unsupported_claims(
    text: str, results: Result | Sequence[Result], question: str, evidence: Evidence = NO_EVIDENCE
) -> list[Objection]:
    """Return the claims of `text` that do not follow from `results`, in order.

    A figure has to be a value of the row, period and metric that its sentence names, or be computed from such values:
    totals, averages, medians, shares, differences, changes, ratios, ranks and counts. Superlatives, comparisons and
    directions are compared with the values. Causes, forecasts and sentiments need words in the rows that support them.
    A claim is supported if one of several results or `evidence` supports it.
    """
    for words_of_filter in evidence.filters:
        text = text.replace(words_of_filter, " " * len(words_of_filter))
    language = language_of(question)
    question = "\n".join([question, *evidence.filters, *evidence.stated])
    results = [results] if isinstance(results, dict) else list(results)
    tables = [Table(result, question) for result in results]
    words = vocabulary_of(language_of(_without_names(text, tables)))
    names = [readable(name) for result in results for name in result["columns"]]
    known_figures = question_figures([question, *names])
    previous: Sequence[Reading | None] = [None] * len(tables)
    objections: list[Objection] = []
    for start, sentence in sentences_of(text):
        readings = [
            Reading(sentence, table, words, before, language) for table, before in zip(tables, previous, strict=True)
        ]
        previous = readings
        stated_values = _stated_values(readings)
        by_table = [
            {(claim.start, claim.end): claim for claim in Checks(reading, known_figures, stated_values).objections()}
            for reading in readings
        ]
        shared = set(by_table[0]).intersection(*by_table) if by_table else set()
        sizes = _sizes(sentence, readings, evidence)
        in_sentence = (
            [claim for place, claim in by_table[0].items() if place in shared and claim.start not in sizes]
            if by_table
            else []
        )
        in_sentence += unsupported_opinions(sentence, words, tables, question)
        objections += [replace(claim, start=start + claim.start, end=start + claim.end) for claim in in_sentence]
    return sorted(objections, key=lambda objection: objection.start)


def states_values(text: str, results: Iterable[Result], question: str) -> bool:
    """Return whether `text` names rows of `results`, or states a figure that is not in `question`, in words."""
    if question_figures([text]) - question_figures([question]) and any(map(str.isalpha, text)):
        return True
    return any(Table(result, question).names_in(text) for result in results)


def _without_names(text: str, tables: Sequence[Table]) -> str:
    """Return `text` without the names of rows and columns, which may be in another language."""
    characters = list(text)
    for table in tables if language_of(text) != "en" else ():
        for mention in table.names_in(text):
            characters[mention.start : mention.end] = " " * (mention.end - mention.start)
    plain = "".join(characters)
    for name in {name for table in tables for name in table.result["columns"]}:
        plain = plain.replace(name, " ")
    return plain


def _sizes(sentence: str, readings: Sequence[Reading], evidence: Evidence) -> set[int]:
    """Return the positions of the figures that are sizes of the data, unless the sentence names rows."""
    if any(reading.names for reading in readings):
        return set()
    return {figure.start for figure in figures_of(sentence, with_words=True) if evidence.is_size(figure, sentence)}


def _stated_values(readings: Sequence[Reading]) -> dict[tuple[int, int], list[float]]:
    """Return, by position, the values of all tables that each figure of a sentence may state."""
    values_by_place: dict[tuple[int, int], list[float]] = {}
    for reading in readings:
        numbers = sorted({value for column in reading.table.metrics for value in column.values if value is not None})
        for figure in reading.figures:
            if figure.kind == "ordinal":
                continue
            factors = {1.0, 0.01} if figure.kind in {"percent", "points"} else {figure.factor}
            values = values_by_place.setdefault((figure.start, figure.end), [])
            for low, high in spans_of(figure, reading.text):
                for factor in factors:
                    values += numbers[bisect_left(numbers, low * factor) : bisect_right(numbers, high * factor)]
    return {key: sorted(set(values)) for key, values in values_by_place.items()}


class Checks(Figures, Rankings, Changes):
    """All checks of one sentence against one table."""

    def objections(self) -> Iterator[Objection]:
        """Yield the claims that the table does not support."""
        for period in self.reading.periods:
            clock = re.search(r"\d{1,2}:\d\d", period.text)
            is_cell = clock and any(clock.group() in text for text in self.table.texts) and len(period.text) <= 8
            if not period.rows and not is_cell:
                yield self._objection(period.start, period.end, "the rows have no such date or period")
        yield from self._relative_periods()
        for figure in self.reading.figures:
            reason = self.figure(figure)
            if reason:
                yield self._objection(figure.start, figure.number_end, reason)
        yield from self.relations()
        yield from self.superlatives()
        yield from self.negated_comparisons()
        yield from self.ranks()
        yield from self.comparisons()
        yield from self.directions()
        yield from self.quantities()

    def _relative_periods(self) -> Iterator[Objection]:
        """Yield relative periods such as "last month" that differ from that of the question."""
        compared = any(column.is_change for column in self.table.metrics)
        if self.table.has_row_periods or self.table.families or compared:
            return
        of_question = {
            name
            for words in all_vocabularies()
            for name, pattern in words.relative_periods.items()
            if pattern.search(self.table.question)
        }
        for name, pattern in self.words.relative_periods.items() if of_question else ():
            match = pattern.search(self.text)
            if match and name not in of_question:
                yield self._objection(match.start(), match.end(), "the question is about another period")


def unsupported_opinions(text: str, words: Vocabulary, tables: Sequence[Table], question: str) -> Iterator[Objection]:
    """Yield causes, forecasts and sentiments that no words of the rows support."""
    cells = " ".join(
        str(cell)
        for table in tables
        for row in table.rows[:MAX_ROWS_PER_CHECK]
        for cell in row
        if isinstance(cell, str) and number_of(cell) is None
    )
    names = " ".join(readable(name) for table in tables for name in table.result["columns"])
    known_text = f"{cells} {names} {question}"
    # A change of values is not a cause, as in "after the rise".
    events = (words.up, words.down, words.highest, words.lowest, words.event)
    for match in words.cause.finditer(text):
        behind = _WORD.findall(text[match.end() :])[:1]
        missing = (
            words.missing.match(text, match.end())
            or words.unknown.search(text)
            or any(pattern.fullmatch(part.split()[-1]) for part in (match.group(), *behind) for pattern in events)
        )
        if (
            not missing
            and not words.cause_columns.search(f"{names} {question}")
            and not _is_from_cells(text[match.end() : match.end() + 60], cells)
            and not (words.afterwards.match(match.group()) and _is_from_cells(match.group(), f"{names} {question}"))
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
        if root not in known_text.lower():
            yield Objection(match.start(), match.end(), match.group(), "the rows give no such judgement")


_WORD = re.compile(r"^\s*([^\W\d_]+)")


def _is_schedule(text: str, match: re.Match[str], words: Vocabulary, tables: Sequence[Table]) -> bool:
    """Return whether a weak forecast is followed by a date of the rows, as in "due on 28 February"."""
    if not words.schedule.fullmatch(match.group()) and not words.schedule.match(match.group()):
        return False
    return any(
        period.rows and 0 <= period.start - match.end() <= 40 for table in tables for period in table.periods_in(text)
    )


def _is_from_cells(text: str, cells: str) -> bool:
    """Return whether most content words of `text` occur in text cells."""
    parts = [
        token
        for token in stems_of(re.split(r"[.,;，。；]", text)[0])
        if len(token) > 3 or "\u4e00" <= token[0] <= "\u9fff"
    ]
    cell_stems = set(stems_of(cells))
    return bool(parts) and sum(part in cell_stems for part in parts) * 2 > len(parts)
