"""What a statement takes for granted where a question leaves it open."""

import re
from collections.abc import Iterable, Sequence

from agent.catalog.schema import Catalog
from agent.clarify.types import Ambiguity, Clarification
from agent.messages import Language, render
from agent.sql.named_in import names_in

_FIGURE = re.compile(r"\d+(?:[.,]\d+)*")
_MOST = 5


def assumptions_of(
    stated: Iterable[str],
    ambiguities: Iterable[Ambiguity],
    said: Sequence[Clarification],
    sql: str,
    catalog: Catalog,
    language: Language,
) -> list[str]:
    """Return what `sql` assumes: what its writer `stated`, and which of several columns or values it took.

    Of a word with several readings it is only said that it has them, where the writer has stated nothing.
    Nothing is assumed that the user has `said`. What the writer stated is left out where it holds a figure that the
    statement does not: that could be taken for one of the answer.
    """
    figures = set(_FIGURE.findall(sql))
    kept = [text.strip() for text in stated if text.strip() and set(_FIGURE.findall(text)) <= figures]
    if not any(known["question"] for known in said):
        named = {name.lower() for name in names_in(sql, catalog).columns}
        open_ = list(ambiguities)
        kept += [text for each in open_ if (text := _taken(each, named, sql, language))]
        vague = [each["phrase"] for each in open_ if each["type"] == "AmbQuestion"]
        kept += [render("several_readings", language, phrase=phrase) for phrase in vague if not kept]
    return list(dict.fromkeys(kept))[:_MOST]


def _taken(ambiguity: Ambiguity, named: set[str], sql: str, language: Language) -> str | None:
    """Return which of the candidates the statement took, where it is one of them."""
    candidates = ambiguity["candidates"]
    taken = [each for each in candidates if _is_in(each, named, sql)]
    if ambiguity["type"] not in ("AmbTableColumn", "AmbValue") or len(taken) != 1:
        return None
    others = ", ".join(each for each in candidates if each != taken[0])
    return render("read_as", language, phrase=ambiguity["phrase"], taken=taken[0], others=others)


def _is_in(candidate: str, named: set[str], sql: str) -> bool:
    column, _, value = candidate.partition(" = ")
    return column.lower() in named and (not value or value.strip("'\"").lower() in sql.lower())
