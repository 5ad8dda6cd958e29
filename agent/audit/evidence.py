"""What a text may rely on: the values, dates, names and counts of results, and the words of the question."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from agent.audit.figures import Figure, factors_named, figures_of
from agent.audit.moments import Moment, moments_of, moments_of_row, years_of
from agent.sql.result import Result

_LARGEST = 1e300
_BESIDE = 60
_TOKEN = re.compile(r"\d+|[^\W\d_]+")


@dataclass(frozen=True)
class Evidence:
    """The results of a question, and the question."""

    results: Sequence[Result]
    question: str

    @cached_property
    def numbers(self) -> list[float]:
        """The values of all cells that are numbers, also those that came as text for their digits, in their order."""
        cells = (cell for result in self.results for row in result["rows"] for cell in row)
        return sorted({number for cell in cells for number in _number(cell)})

    @cached_property
    def counts(self) -> frozenset[float]:
        """The number of rows of each result."""
        return frozenset(float(len(result["rows"])) for result in self.results)

    @cached_property
    def texts(self) -> frozenset[str]:
        """The cells that are text with figures in it: codes, names, dates."""
        cells = (cell for result in self.results for row in result["rows"] for cell in row if isinstance(cell, str))
        return frozenset(cell for cell in cells if any(map(str.isdigit, cell)) and not _number(cell))

    @cached_property
    def moments(self) -> list[Moment]:
        """The dates of the rows, of the names of columns, and of the question."""
        rows = [
            moment
            for result in self.results
            for row in result["rows"]
            for moment in moments_of_row(dict(zip(result["columns"], row, strict=True)))
        ]
        return [*rows, *self._said_moments]

    @cached_property
    def _said_moments(self) -> list[Moment]:
        return [moment for text in (self.question, *self.names) for moment in moments_of(text)]

    @cached_property
    def years(self) -> set[int]:
        """All years that the rows, the names of columns or the question say."""
        return years_of(self.moments)

    @cached_property
    def names(self) -> list[str]:
        """The names of columns, as words."""
        return [name.replace("_", " ") for result in self.results for name in result["columns"]]

    @cached_property
    def factors(self) -> set[float]:
        """The scales in which the columns or the question give their figures, such as 1e6 for `revenue_mln`."""
        return factors_named([*self.names, self.question])

    def has_moment(self, moment: Moment) -> bool:
        """Return whether a row, a name or the question says what `moment` says."""
        years = years_of(self._said_moments)
        return any(known.vouches_for(moment, years) for known in self.moments) or (
            moment.clock is not None and any(moment.clock in text for text in self.texts)
        )

    def says(self, figure: Figure) -> bool:
        """Return whether the question or the name of a column has this figure, in the same unit or as an ordinal."""
        said = {(known.kind, value * known.factor) for known in self._said for value, _ in known.readings}
        kinds = {figure.kind, "plain"} if figure.kind == "ordinal" else {figure.kind}
        return any((kind, value * figure.factor) in said for kind in kinds for value, _ in figure.readings)

    @cached_property
    def _said(self) -> list[Figure]:
        return [figure for text in (self.question, *self.names) for figure in figures_of(text)]

    def names_with(self, figure: Figure, text: str) -> bool:
        """Return whether a cell has the digits of `figure` beside the word that is beside it in `text`: SKU-12."""
        before = _TOKEN.findall(text[max(0, figure.start - _BESIDE) : figure.start].lower())
        after = _TOKEN.findall(text[figure.end : figure.end + _BESIDE].lower())
        for cell in (cell for cell in self.texts if figure.text in cell):
            tokens = _TOKEN.findall(cell.lower())
            words = tuple(token for token in tokens if not token.isdecimal())
            if figure.text in tokens and words:
                if (before and before[-1].endswith(words)) or (after and after[0].startswith(words)):
                    return True
        return False

    def without_quotes(self, text: str) -> str:
        """Return `text` with spaces in place of the cells that it quotes: their figures are no statements."""
        folded = text.lower()
        for cell in sorted(self.texts, key=len, reverse=True):
            if cell.lower() in folded:
                first, last = (r"(?<![\d.,])" * cell[0].isdigit(), r"(?!\d|[.,]\d|\s?[%％])" * cell[-1].isdigit())
                pattern = re.compile(first + re.escape(cell) + last, re.IGNORECASE)
                text = pattern.sub(lambda match: " " * len(match.group()), text)
        return text


def _number(cell: object) -> tuple[float, ...]:
    """Return the value of a cell that is a number, or text for one; nothing for another."""
    if isinstance(cell, bool) or not isinstance(cell, int | float | str):
        return ()
    if isinstance(cell, str) and not re.fullmatch(r"\s*[-+]?\d+(?:\.\d+)?\s*", cell):
        return ()
    value = float(cell) if isinstance(cell, str) or abs(cell) < _LARGEST else _LARGEST
    return (value,) if abs(value) < _LARGEST else ()
