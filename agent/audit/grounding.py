"""No invented numbers: which figures of a text do not follow from the rows that it speaks of."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from agent.audit.derived import DOWN, derived_values
from agent.audit.evidence import Evidence
from agent.audit.figures import Figure, figures_of
from agent.audit.moments import moments_of
from agent.sql.result import Result

_BREAK = re.compile(r"[.!?;]\s+(?=[^\d\s])|[。！？；\n]")
_ABOUT = re.compile(
    r"(?:\b(?:about|around|roughly|approximately|some|circa|около|примерно|приблизительно|порядка)\s|[~≈约近])"
    r"\s*[$€£¥₽]?$",
    re.IGNORECASE,
)
_OVER = re.compile(r"(?:\b(?:over|more than|above|at least|свыше|более|больше)\s|超过|逾)\s*[$€£¥₽]?$", re.IGNORECASE)
_UNDER = re.compile(
    r"(?:\b(?:under|less than|fewer than|below|nearly|almost|up to|менее|меньше|почти)\s|不到|将近|接近)\s*[$€£¥₽]?$",
    re.IGNORECASE,
)
_ABOUT_AFTER = re.compile(r"\s?\w{0,2}(?:左右|上下)")
_OVER_AFTER = re.compile(r"\s?(?:[多余]|\+(?!\d))")
_CODE = re.compile(r"(?<![^\W\d_])(?!(?:USD|EUR|GBP|RUB|CNY|RMB)$)[^\W\d_\u3400-\u9fff]+-?$")
"""What a figure stands right behind where it is a part of a name, such as S-11."""

_HALF = 0.5 + 1e-9
_NEAR = 2
"""Figures on each side that another may have been reckoned from."""

_MOST_MEANT = 3
"""A figure that stands for more values than this is too vague to reckon with."""

_WINDOW = 400
"""Characters before and after a figure in which its sentence is looked for."""


def ungrounded_figures(text: str, results: Result | Sequence[Result], question: str) -> list[str]:
    """Return the figures and dates in `text` that follow from nothing in `results`, as they stand there.

    A figure follows from a value by rounding, a word of scale or a percentage, or from two values that the text states
    beside it, as their difference, change, share or ratio, where the sentence says that it is one. Figures of the
    question and of quoted cells count as found, also the number of rows, and an ordinal up to it.
    """
    evidence = Evidence([results] if isinstance(results, dict) else results, question)
    read = evidence.without_quotes(text)
    moments = moments_of(read)
    missing = [(moment.start, moment.end) for moment in moments if not evidence.has_moment(moment)]
    for moment in moments:
        read = read[: moment.start] + " " * (moment.end - moment.start) + read[moment.end :]
    figures = figures_of(read)
    values = [_values_of(figure, read, evidence) for figure in figures]
    for at, figure in enumerate(figures):
        if not (values[at] or _is_known(figure, text, evidence) or _is_derived(at, figures, values, read, evidence)):
            missing.append((figure.start, figure.start + len(figure.text)))
    return [text[start:end].strip() for start, end in sorted(missing)]


def _is_known(figure: Figure, text: str, evidence: Evidence) -> bool:
    """Return whether a figure that is no value of the rows needs none."""
    if evidence.says(figure):
        return True
    if figure.kind == "ordinal":
        return 1 <= figure.readings[0][0] <= max(evidence.counts, default=0)
    if figure.kind != "plain" or figure.factor != 1:
        return False
    if _is_year(figure, evidence) or evidence.names_with(figure, text):
        return True
    is_count = any(value in evidence.counts and decimals == 0 for value, decimals in figure.readings)
    return is_count and not _is_code(figure, text)


def _is_code(figure: Figure, text: str) -> bool:
    return bool(_CODE.search(text[max(0, figure.start - 24) : figure.start]))


def _is_year(figure: Figure, evidence: Evidence) -> bool:
    """Return whether `figure` is a year that is known, which then is no quantity to reckon with."""
    bare = figure.kind == "plain" and figure.factor == 1 and figure.text.isdecimal() and len(figure.text) == 4
    return bare and int(figure.text) in evidence.years


def _values_of(figure: Figure, text: str, evidence: Evidence) -> list[float]:
    """Return the values of the rows that `figure` may stand for."""
    if figure.kind == "ordinal" or _is_year(figure, evidence) or _is_code(figure, text):
        return []
    factors = {1.0, 0.01} if figure.kind in {"percent", "points"} else _factors(figure, evidence)
    found: set[float] = set()
    for low, high in _spans(figure, text):
        for factor in factors:
            first, last = bisect_left(evidence.numbers, low * factor), bisect_right(evidence.numbers, high * factor)
            found.update(evidence.numbers[first:last])
    return sorted(found)


def _factors(figure: Figure, evidence: Evidence) -> set[float]:
    """Return by what the values may have to be divided; a column in millions has its figures as they are said."""
    return {figure.factor} | ({1.0} if figure.factor in evidence.factors else set())


def _is_derived(at: int, figures: list[Figure], values: list[list[float]], text: str, evidence: Evidence) -> bool:
    """Return whether a figure follows from two values that are stated near it."""
    figure = figures[at]
    exact = [index for index, found in enumerate(values) if 0 < len(found) <= _MOST_MEANT]
    beside = [*[index for index in exact if index < at][-_NEAR:], *[index for index in exact if index > at][:_NEAR]]
    near = {value for index in beside for value in values[index]}
    stated = {value for index in exact for value in values[index]}
    candidates = derived_values(figure, *_around(figure, text), sorted(near), max(stated, default=0))
    spans, factors = _spans(figure, text), _factors(figure, evidence)
    return any(
        low * factor <= candidate <= high * factor
        for candidate in candidates
        for low, high in spans
        for factor in factors
    )


def _spans(figure: Figure, text: str) -> list[tuple[float, float]]:
    """Return between which values that lies which `figure` states; a fall may be said without its sign."""
    falls = any(DOWN.search(part) for part in _around(figure, text))
    spans = []
    for stated, decimals in figure.readings:
        below, above = _room(figure, stated, decimals, text)
        spans.append((stated - below, stated + above))
        if falls and stated > 0:
            spans.append((-stated - above, -stated + below))
    return spans


def _room(figure: Figure, stated: float, decimals: int, text: str) -> tuple[float, float]:
    """Return how far a value may be below and above what is stated.

    Half a unit of the last digit; after "about" also half a unit of the last that is not 0, up to 5 %, and after "over"
    or "nearly" a whole unit of it on that side, up to 10 %.
    """
    half = _HALF * 10**-decimals
    before = text[max(0, figure.start - 24) : figure.start]
    unit = 10.0 ** (-decimals if decimals else _zeros(figure.text))
    about, aside = max(half, min(unit / 2, abs(stated) * 0.05)), max(half, min(unit, abs(stated) * 0.1))
    after = figure.start + len(figure.text)
    if _OVER.search(before) or _OVER_AFTER.match(text, after):
        return half, aside
    if _UNDER.search(before):
        return aside, half
    return (about, about) if _ABOUT.search(before) or _ABOUT_AFTER.match(text, figure.end) else (half, half)


def _zeros(digits: str) -> int:
    bare = re.sub(r"\D", "", digits)
    return len(bare) - len(bare.rstrip("0"))


def _around(figure: Figure, text: str) -> tuple[str, str]:
    """Return what of its sentence stands before and after a figure."""
    before, after = text[max(0, figure.start - _WINDOW) : figure.start], text[figure.end : figure.end + _WINDOW]
    start = max((match.end() for match in _BREAK.finditer(before)), default=0)
    end = _BREAK.search(after)
    return before[start:], after[: end.start()] if end else after
