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


def judged_wrong(attempts: Sequence[Attempt]) -> list[str]:
    """Return the statements that validation judged wrong, without those before a statement of a person."""
    return [each["sql"] for each in _since_edit(attempts) if each["outcome"] in _JUDGED]


def rivals_of(attempts: Sequence[Attempt]) -> list[str]:
    """Return the other statements for the question: with other results, then those that validation judged wrong.

    Those before a statement of a person do not count.
    """
    others = [sql for each in _since_edit(attempts) for sql in each.get("evidence", {}).get("rivals", ())]
    others += judged_wrong(attempts)
    return [sql for sql in dict.fromkeys(others) if sql != current(attempts)["sql"]]


def objection_to(attempts: Sequence[Attempt], dialect: str) -> str:
    """Return why validation judged the current statement wrong, or the last one that it judged; "" if that is settled.

    Another statement settles a single objection; after several, it has to be confirmed.
    """
    judged = [each for each in _since_edit(attempts) if each["outcome"] in _JUDGED]
    if not judged or current(attempts).get("evidence", {}).get("is_confirmed"):
        return ""
    is_other = len({canonical_sql(each["sql"], dialect) for each in (judged[-1], current(attempts))}) > 1
    return "" if is_other and len(judged) == 1 else judged[-1].get("objection", "")


def _since_edit(attempts: Sequence[Attempt]) -> Sequence[Attempt]:
    """Return the attempts since the last statement of a person, with it; all of them if there is none."""
    edits = [at for at, each in enumerate(attempts) if each["origin"] == "user"]
    return attempts[edits[-1] :] if edits else attempts


def _since_generation(attempts: Sequence[Attempt]) -> Sequence[Attempt]:
    """Return the attempts since the model last wrote statements; without those before a statement of a person."""
    ends = [
        at for at, each in enumerate(attempts) if each["origin"] == "user" or each["outcome"] not in (None, "corrected")
    ]
    return attempts[ends[-1] + 1 :] if ends else attempts
