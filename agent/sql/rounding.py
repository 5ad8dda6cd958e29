"""Rounding that a question asks for, done by rule: no model is needed to know it, and a small one forgets it."""

import re

from sqlglot import exp

_PLACES = (
    (0, r"(to|as|in) (the nearest )?(whole number|integer)|до цел\w+|取整|整数"),
    (1, r"\b(one|1) decimals?\b|до (одного|1) (десятичн\w+ )?знака|до десят\w+|[一1]位小数"),
    (
        2,
        r"\bto (the )?cents?\b|\b(two|2) decimals?\b|до (двух|2) (десятичн\w+ )?знак\w+|до (сот|копе)\w+|[两二2]位小数",
    ),
    (3, r"\b(three|3) decimals?\b|до (трёх|трех|3) (десятичн\w+ )?знак\w+|до тысячн\w+|[三3]位小数"),
)
_BEFORE = r"[,;(（，]?\s*(?:and )?(?:rounded|округли\w*|с округлением|保留|结果)?\s*(?:to )?"
_AFTER = r"(?: places?| points?|s\b)?(?: после запятой)?[)）]?"


def decimals_asked(question: str) -> int | None:
    """Return to how many decimals `question` wants figures rounded; None where it does not say."""
    return next((places for places, said in _PLACES if re.search(said, question, re.IGNORECASE)), None)


def without_rounding(question: str) -> str:
    """Return `question` without what it says of rounding, which `round_outputs` does."""
    for _, said in _PLACES:
        question = re.sub(rf"{_BEFORE}(?:{said}){_AFTER}", "", question, flags=re.IGNORECASE)
    return question


def round_outputs(tree: exp.Query, decimals: int) -> None:
    """Round what `tree` gives at the top and is computed, but for counts, to `decimals`, in place."""
    if not isinstance(tree, exp.Select):
        return
    for output in tree.selects:
        figure = output.unalias()
        if figure.find(exp.Sum, exp.Avg, exp.Div) and not figure.find(exp.Round, exp.TimeToStr, exp.Window):
            inner = figure.copy()
            figure.replace(exp.Round(this=inner, decimals=exp.Literal.number(decimals) if decimals else None))
