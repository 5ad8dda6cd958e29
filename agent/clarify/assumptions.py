"""Assumptions of a statement where the question is ambiguous."""

import re
from collections.abc import Iterable, Sequence

from agent.messages import Language, render
from agent.schema.catalog import Catalog
from agent.sql.names import referenced_names
from agent.types import Ambiguity, Clarification

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_MAX_ASSUMPTIONS = 5


def assumptions_of(
    stated: Iterable[str],
    ambiguities: Iterable[Ambiguity],
    clarifications: Sequence[Clarification],
    sql: str,
    catalog: Catalog,
    language: Language,
) -> list[str]:
    """Return at most five assumptions of `sql`: those `stated` by the model, and the choices between ambiguous names.

    A stated assumption with a number that the statement does not contain is dropped, since the number could be taken
    for a result. If nothing else is assumed, words with several readings are listed without the reading. After an
    answered clarifying question, only stated assumptions are returned.
    """
    numbers = set(_NUMBER.findall(sql))
    assumptions = [text.strip() for text in stated if text.strip() and set(_NUMBER.findall(text)) <= numbers]
    if not any(clarification["question"] for clarification in clarifications):
        sql_names = {name.lower() for name in referenced_names(sql, catalog).columns}
        unresolved = list(ambiguities)
        choices = (_choice(ambiguity, sql_names, sql, language) for ambiguity in unresolved)
        assumptions += [text for text in choices if text]
        if not assumptions:
            vague = [ambiguity["phrase"] for ambiguity in unresolved if ambiguity["type"] == "AmbQuestion"]
            assumptions = [render("several_readings", language, phrase=phrase) for phrase in vague]
    return list(dict.fromkeys(assumptions))[:_MAX_ASSUMPTIONS]


def _choice(ambiguity: Ambiguity, sql_names: set[str], sql: str, language: Language) -> str | None:
    """Return a message naming the candidate that the statement uses and the others; None unless it uses exactly one."""
    candidates = ambiguity["candidates"]
    used = []
    for candidate in candidates:
        column, _, value = candidate.partition(" = ")
        if column.lower() in sql_names and (not value or value.strip("'\"").lower() in sql.lower()):
            used.append(candidate)
    if ambiguity["type"] not in ("AmbTableColumn", "AmbValue") or len(used) != 1:
        return None
    others = ", ".join(candidate for candidate in candidates if candidate != used[0])
    return render("read_as", language, phrase=ambiguity["phrase"], taken=used[0], others=others)
