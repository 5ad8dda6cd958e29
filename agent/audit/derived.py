"""Figures that follow from two values which a text states: differences, changes in percent, shares, ratios."""

import re
from collections.abc import Iterator, Sequence
from itertools import permutations
from math import inf

from agent.audit.figures import Figure

DOWN = re.compile(
    r"\b(?:loss\w*|los[et]\b|fell|fall\w*|drop\w*|decreas\w*|declin\w*|down\b|low\w*|less\b|fewer|reduc\w*|minus|below"
    r"|negative|deficit|shr[aiu]nk\w*|cheaper|short\w*|behind|slump\w*|decline\w*"
    r"|сни[жз]\w*|упа[лв]\w*|пада\w*|паден\w*|уменьш\w*|сокра[тщ]\w*|убы\w*|минус\w*|отрицат\w*|ниже|меньше|менее"
    r"|потер\w*|просе\w*|отста\w*|дешевл\w*)|[下降减跌亏负少低落缩]",
    re.IGNORECASE,
)
UP = re.compile(
    r"\b(?:grew|grow\w*|ris[ei]\w*|rose|increas\w*|up\b|more\b|higher|above|gain\w*|ahead|exceed\w*|jump\w*|climb\w*"
    r"|surpass\w*|lead\w*|larger|bigger|greater|added|plus"
    r"|вырос\w*|выш\w*|рост\w*|увелич\w*|прирос\w*|прибав\w*|больше|более|превы\w*|опере\w*|поднял\w*|подрос\w*)"
    r"|[增升涨高多超领]",
    re.IGNORECASE,
)
_DIFFERENCE = re.compile(
    r"\b(?:than|differ\w*|gap|margin|change\w*|spread|delta|between|чем|разни[цч]\w*|разрыв\w*|измен\w*|на)\b"
    r"|[差变距]|(?<!占)比(?![例率重])",
    re.IGNORECASE,
)
_SHARE = re.compile(
    r"\b(?:shares?|portion|proportion|accounts?|дол[яюие]\w*|состав\w*|приходи\w*)\b"
    r"|(?:[%％]|percent|процент\w*) (?:of|от)\b|占|份额|比例",
    re.IGNORECASE,
)
_RATIO = re.compile(
    r"\b(?:per|averag\w*|mean|ratio|each|apiece|в среднем|средн\w*|на (?:одн|кажд)\w*|отношени\w*|соотношени\w*)\b"
    r"|平均|每|之比|比率",
    re.IGNORECASE,
)


def derived_values(figure: Figure, before: str, after: str, near: Sequence[float], largest: float) -> Iterator[float]:
    """Yield what `figure` may be of two values: in its own unit, so that 20 % comes as 20.

    `before` and `after` are the sentence around the figure. Only what it says is tried: a change where it has a word of
    change, a share where it has none or says so. `near` are the values that are stated beside the figure; a share may
    also be one of `largest`, as of a total. A change is counted from the smaller value where it goes up, from the
    larger where it goes down, by the word that is nearest.
    """
    sentence = f"{before}{figure.text}{after}"
    up, down = _distance(UP, before, after), _distance(DOWN, before, after)
    changes = up != down or bool(_DIFFERENCE.search(sentence))
    pairs = list(permutations(near, 2))
    wholes = [*pairs, *((part, largest) for part in near)]
    if figure.kind == "percent":
        if changes:
            yield from _changes_in_percent(pairs, up < down, down < up)
        if not changes or _SHARE.search(sentence):
            yield from (100 * part / whole for part, whole in wholes if whole)
    elif figure.kind == "points":
        yield from (factor * (one - other) for one, other in pairs for factor in (1, 100))
    elif figure.kind == "times":
        yield from (one / other for one, other in pairs if other)
    elif figure.kind == "plain":
        yield from (one - other for one, other in pairs if changes)
        yield from (one / other for one, other in wholes if other and _RATIO.search(sentence))


def _distance(words: re.Pattern[str], before: str, after: str) -> float:
    """Return how many characters lie between a figure and the nearest of `words`; infinity where there is none."""
    first = words.search(after)
    back = min((len(before) - match.end() for match in words.finditer(before)), default=inf)
    return min(back, first.start() if first else inf)


def _changes_in_percent(pairs: list[tuple[float, float]], up: bool, down: bool) -> Iterator[float]:
    for to, base in pairs:
        goes_up = abs(to) >= abs(base)
        if base and (up == down or goes_up == up):
            yield 100 * (to - base) / abs(base)
