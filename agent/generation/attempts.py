"""The statements of a question, oldest first, and what became of them."""

from collections.abc import Mapping
from typing import Any

from datasphinx.agent.sql.compare import canonical_sql
from datasphinx.agent.types import Attempt, Origin, Outcome

_REFUSALS = ("refused", "failed")


def attempts_with(state: Mapping[str, Any], sql: str, origin: Origin) -> list[Attempt]:
    """Return the attempts with another statement, which becomes the current one."""
    return [*(state.get("attempts") or ()), Attempt(sql=sql, origin=origin, outcome=None)]


def attempts_ended(state: Mapping[str, Any], outcome: Outcome) -> list[Attempt]:
    """Return the attempts with the outcome of the current statement."""
    *before, last = state["attempts"]
    return [*before, {**last, "outcome": outcome}]


def refused_sql(state: Mapping[str, Any], dialect: str) -> set[str]:
    """Return the statements that the guard or the database refused, in the form of `canonical_sql`."""
    return {canonical_sql(each["sql"], dialect) for each in state.get("attempts") or () if each["outcome"] in _REFUSALS}


def origin_of(state: Mapping[str, Any]) -> str:
    """Return who wrote the current statement; "" if there is none."""
    return "".join(each["origin"] for each in (state.get("attempts") or ())[-1:])


def has_outcome(state: Mapping[str, Any], *outcomes: Outcome) -> bool:
    """Return whether a statement has one of `outcomes`."""
    return any(each["outcome"] in outcomes for each in state.get("attempts") or ())
