"""Comparison of a replay with the recorded run, step by step."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from os.path import commonprefix
from typing import Any

_VOLATILE = {
    "node", "source", "latency_ms", "cost_usd", "llm_cost_usd", "prompt_tokens", "completion_tokens", "llm_calls",
    "notes", "facts", "model", "sql_error_info", "used_stop_words", "refused_format",
}  # fmt: skip
"""Fields that may differ: times, costs, the location of the source, and texts derived from other fields."""

_EXCERPT_CHARS = 120
_CONTEXT_CHARS = 30

Body = Mapping[str, Any]


@dataclass(frozen=True)
class Difference:
    """A difference at `step`, which counts executed nodes from 1. A value of None means: did not happen."""

    step: int
    node: str
    what: str
    recorded: Any
    replayed: Any


@dataclass
class _Step:
    node: str = ""
    events: dict[str, list[Body]] = field(default_factory=dict)


def compare(recorded: Sequence[tuple[str, Body]], replayed: Sequence[tuple[str, Body]]) -> list[Difference]:
    """Return the differences between two runs, each given as the kinds and bodies of its events in order."""
    pairs = zip_longest(_steps(recorded), _steps(replayed), fillvalue=_Step())
    return [item for number, (before, now) in enumerate(pairs, 1) for item in _compare_steps(number, before, now)]


def steps_of(events: Sequence[tuple[str, Body]]) -> int:
    """Return the number of executed nodes."""
    return sum(kind == "step" for kind, _ in events)


def _steps(events: Sequence[tuple[str, Body]]) -> list[_Step]:
    """Group events by step: a `step` event ends each group; charts and output belong to the last step."""
    steps: list[_Step] = []
    current = _Step()
    for kind, body in events:
        if kind == "run":
            continue
        place = steps[-1] if kind in ("chart", "output") and steps else current
        place.events.setdefault(kind, []).append(body)
        place.node = str(body.get("node", ""))
        if kind == "step":
            steps.append(current)
            current = _Step()
    return [*steps, current] if current.events else steps


def _compare_steps(number: int, before: _Step, now: _Step) -> Iterator[Difference]:
    if before.node != now.node:
        yield Difference(number, before.node or now.node, "node", before.node or None, now.node or None)
        return
    for kind in dict.fromkeys([*before.events, *now.events]):
        for recorded, replayed in zip_longest(before.events.get(kind, []), now.events.get(kind, [])):
            for what, before_value, now_value in _compare_events(kind, recorded, replayed):
                yield Difference(number, before.node, what, before_value, now_value)


def _compare_events(kind: str, before: Body | None, now: Body | None) -> Iterator[tuple[str, Any, Any]]:
    if before is None or now is None:
        yield kind, _summary(before), _summary(now)
        return
    before_fields, now_fields = _comparable(kind, before), _comparable(kind, now)
    if before.get("unordered_hash") and before["unordered_hash"] == now.get("unordered_hash"):
        before_fields["result_hash"] = now_fields["result_hash"]
    for name in dict.fromkeys([*before_fields, *now_fields]):
        if before_fields.get(name) != now_fields.get(name):
            yield f"{kind} {name}", *_excerpts(before_fields.get(name), now_fields.get(name))


def _comparable(kind: str, body: Body) -> dict[str, Any]:
    """Return the fields of an event that must not differ; of an error, only the code."""
    fields = {name: value for name, value in body.items() if name not in _VOLATILE and name != "unordered_hash"}
    for name in ("error", "failure"):
        if isinstance(fields.get(name), Mapping):
            fields[name] = fields[name].get("code")
    if kind == "output":
        # If the order of the rows matters, it was compared with the statement's event.
        fields["tables"] = [{**table, "result_hash": None} for table in fields.get("tables") or ()]
        if fields.get("error"):
            fields["answer"] = None
        if fields.get("output_type") not in ("number", "string"):
            fields["value_hash"] = None
    return fields


def _summary(body: Body | None) -> Any:
    """Return a short text that identifies an event among those of its kind."""
    if body is None:
        return None
    name = next((name for name in ("sql", "schema", "tool", "type", "answer", "key") if name in body), "node")
    return _excerpt(str(body.get(name)), 0)


def _excerpts(one: Any, other: Any) -> tuple[Any, Any]:
    """Return both values; for long texts and lists of messages, excerpts around the first difference."""
    if isinstance(one, list) and isinstance(other, list):
        for left, right in zip_longest(one, other):
            if left != right:
                return _excerpts(left, right)
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        name = next(name for name in dict.fromkeys([*one, *other]) if one.get(name) != other.get(name))
        return _excerpts(one.get(name), other.get(name))
    if isinstance(one, str) and isinstance(other, str):
        same = len(commonprefix([one, other]))
        return _excerpt(one, same), _excerpt(other, same)
    return one, other


def _excerpt(text: str, same: int) -> str:
    start = max(0, same - _CONTEXT_CHARS) if len(text) > _EXCERPT_CHARS else 0
    shown = text[start : start + _EXCERPT_CHARS]
    return f"{'…' if start else ''}{shown}{'…' if start + _EXCERPT_CHARS < len(text) else ''}"
