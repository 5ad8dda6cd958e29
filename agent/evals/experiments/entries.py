"""The entries of Sphinteract's logs, made of what a run put on the record."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agent.audit.events import Event
from agent.clarify.types import ClarifyingQuestion
from agent.models.schemas import AmbiguityReview, GeneratedSQL, SQLValidation

Body = Mapping[str, Any]
Chosen = Callable[[Sequence[Body], str], Body]
"""Gives, of the calls that wrote candidates for a statement, the one that wrote the statement that was taken."""


@dataclass(frozen=True)
class Said:
    """What was asked of somebody and what came back; its perplexity where that is known."""

    prompt: str
    output: str
    perplexity: float | None = None


def last_call(calls: Sequence[Body], statement: str) -> Body:
    """Return the last of `calls`: of one model that writes one statement."""
    return calls[-1]


def statements_in(events: Sequence[Event], chosen: Chosen = last_call) -> Iterator[Said]:
    """Yield each statement that a run came to, in their order: as it was generated, corrected or repaired.

    What was repaired without the model has that for its prompt. An answer without a statement is there as it came.
    """
    calls: list[Body] = []
    statement = ""
    for event in events:
        body = event.body
        if event.kind == "llm" and body["schema"] in (GeneratedSQL.__name__, SQLValidation.__name__):
            calls.append(body)
        if event.kind != "step":
            continue
        written = body.get("sql_request", "")
        is_new = bool(written) and written != statement
        if calls and (is_new or body["node"] == "generate_sql"):
            call = chosen(calls, written)
            yield _said(call, written or call["output"])
        elif is_new:
            yield Said("; ".join(body["notes"]), written)
        statement, calls = written or statement, []


def review_in(events: Sequence[Event]) -> Said | None:
    """Return the review of the ambiguities as the model gave it; None where it was not asked for one."""
    reviews = [
        event.body for event in events if event.kind == "llm" and event.body["schema"] == AmbiguityReview.__name__
    ]
    return _said(reviews[-1], reviews[-1]["output"]) if reviews else None


def shown(clarification: ClarifyingQuestion) -> str:
    """Return a clarifying question with its options, numbered from 1, as it is put to the user."""
    lines = (f"{number}) {_both(option)}" for number, option in enumerate(clarification["options"], 1))
    return "\n".join([clarification["question"], *lines])


def _both(option: Mapping[str, Any]) -> str:
    label, reading = option["label"], option.get("reading") or ""
    return label if reading in ("", label) else f"{label}: {reading}"


def _said(call: Body, output: str) -> Said:
    prompt = "\n\n".join(str(message["content"]) for message in call["messages"])
    return Said(prompt, output, call.get("perplexity"))
