"""The statements of a question, oldest first, and what became of them."""

from collections.abc import Sequence
from typing import Any

from datasphinx.agent.sql.compare import canonical_sql
from datasphinx.agent.types import Attempt, Origin, Outcome

_REFUSALS: tuple[Outcome, ...] = ("refused", "unknown name", "failed")
"""Outcomes of statements that the guard or the database refused."""
_JUDGED: tuple[Outcome, ...] = ("corrected", "objected")


def attempts_with(attempts: Sequence[Attempt], sql: str, origin: Origin, **facts: Any) -> list[Attempt]:
    """Return the attempts with another statement, which becomes the current one, and `facts` about it."""
    return with_facts([*attempts, Attempt(sql=sql, origin=origin, outcome=None)], **facts)


def reworded(attempts: Sequence[Attempt], sql: str, origin: Origin) -> list[Attempt]:
    """Return the attempts with the current statement in the form `sql`, which has to be validated again."""
    return [*attempts, {**current(attempts), "sql": sql, "origin": origin, "is_validated": False}]


def with_facts(attempts: Sequence[Attempt], **facts: Any) -> list[Attempt]:
    """Return the attempts with `facts` about the current statement."""
    return [*attempts[:-1], {**attempts[-1], **facts}]  # type: ignore[typeddict-item]


def current(attempts: Sequence[Attempt] | None) -> Attempt:
    """Return the attempt with the current statement; an empty one if there is none."""
    return attempts[-1] if attempts else Attempt(sql="", origin="model", outcome=None)


def refused_sql(attempts: Sequence[Attempt], dialect: str) -> set[str]:
    """Return the statements that the guard or the database refused, in the form of `canonical_sql`."""
    return {canonical_sql(each["sql"], dialect) for each in attempts if each["outcome"] in _REFUSALS}


def has_outcome(attempts: Sequence[Attempt], *outcomes: Outcome) -> bool:
    """Return whether a statement has one of `outcomes`."""
    return any(each["outcome"] in outcomes for each in attempts)


def candidates_of(attempts: Sequence[Attempt]) -> list[Attempt]:
    """Return the statements that were written with the current one, to compare the results."""
    return [each for each in _since_generation(attempts) if each["origin"] == "candidate"]


def judged_wrong(attempts: Sequence[Attempt]) -> list[Attempt]:
    """Return the statements that validation judged wrong since the last generation."""
    return [each for each in _since_generation(attempts) if each["outcome"] == "corrected"]


def rivals_of(attempts: Sequence[Attempt]) -> list[str]:
    """Return the other statements for the question: with other results, then those that validation judged wrong.

    Those before a statement of a person do not count.
    """
    edits = [at for at, each in enumerate(attempts) if each["origin"] == "user"]
    written = attempts[edits[-1] :] if edits else attempts
    others = [sql for each in written for sql in each.get("evidence", {}).get("rivals", ())]
    others += [each["sql"] for each in written if each["outcome"] in _JUDGED]
    return [sql for sql in dict.fromkeys(others) if sql != current(attempts)["sql"]]


def objection_to(attempts: Sequence[Attempt]) -> str:
    """Return why validation judged the current statement wrong, or the last one that it judged; "" if that is settled.

    The correction of a single objection settles it; after several, it has to be confirmed.
    """
    judged = [at for at, each in enumerate(attempts) if each["outcome"] in _JUDGED]
    is_edited = any(each["origin"] == "user" for each in attempts[judged[-1] + 1 :]) if judged else False
    if not judged or is_edited or current(attempts).get("evidence", {}).get("is_confirmed"):
        return ""
    last = judged[-1]
    is_corrected = [each["origin"] for each in attempts[last + 1 : last + 2]] == ["validation"]
    return "" if is_corrected and len(judged) == 1 else attempts[last].get("objection", "")


def _since_generation(attempts: Sequence[Attempt]) -> Sequence[Attempt]:
    """Return the attempts since the model last wrote statements; without those before a statement of a person."""
    ends = [
        at for at, each in enumerate(attempts) if each["origin"] == "user" or each["outcome"] not in (None, "corrected")
    ]
    return attempts[ends[-1] + 1 :] if ends else attempts
