"""Comparison of a replay with the recorded run, step by step."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from os.path import commonprefix
from typing import Any

_VOLATILE = {
    "node", "source", "latency_ms", "cost_usd", "llm_cost_usd", "prompt_tokens", "completion_tokens", "llm_calls",
    "notes", "facts", "model", "sql_error_info", "used_stop_words", "refused_format", "reused", "trace_id",
}  # fmt: skip
"""Fields that may differ: times, costs, the location of the source, whether rows were reused, and derived texts."""

_EXCERPT_CHARS = 120
_CONTEXT_CHARS = 30

Body = Mapping[str, Any]


@dataclass(frozen=True)
class Difference:
    """A difference at `step`, which counts executed nodes from 1. None stands for a value that is missing."""

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
    return [
        item
        for number, (recorded_step, replayed_step) in enumerate(pairs, 1)
        for item in _compare_steps(number, recorded_step, replayed_step)
    ]


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
        step = steps[-1] if kind in ("chart", "output") and steps else current
        step.events.setdefault(kind, []).append(body)
        step.node = str(body.get("node", ""))
        if kind == "step":
            steps.append(current)
            current = _Step()
    return [*steps, current] if current.events else steps


def _compare_steps(number: int, recorded_step: _Step, replayed_step: _Step) -> Iterator[Difference]:
    if recorded_step.node != replayed_step.node:
        yield Difference(
            number,
            recorded_step.node or replayed_step.node,
            "node",
            recorded_step.node or None,
            replayed_step.node or None,
        )
        return
    for kind in dict.fromkeys([*recorded_step.events, *replayed_step.events]):
        for recorded, replayed in zip_longest(recorded_step.events.get(kind, []), replayed_step.events.get(kind, [])):
            for what, recorded_value, replayed_value in _compare_events(kind, recorded, replayed):
                yield Difference(number, recorded_step.node, what, recorded_value, replayed_value)


def _compare_events(kind: str, recorded: Body | None, replayed: Body | None) -> Iterator[tuple[str, Any, Any]]:
    if recorded is None or replayed is None:
        yield kind, _summary(recorded), _summary(replayed)
        return
    recorded_fields, replayed_fields = _comparable(kind, recorded), _comparable(kind, replayed)
    if recorded.get("unordered_hash") and recorded["unordered_hash"] == replayed.get("unordered_hash"):
        recorded_fields["result_hash"] = replayed_fields["result_hash"]
    for name in dict.fromkeys([*recorded_fields, *replayed_fields]):
        if recorded_fields.get(name) != replayed_fields.get(name):
            yield f"{kind} {name}", *_excerpts(recorded_fields.get(name), replayed_fields.get(name))


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


def _excerpts(first: Any, second: Any) -> tuple[Any, Any]:
    """Return both values; for long texts and lists of messages, excerpts around the first difference."""
    if isinstance(first, list) and isinstance(second, list):
        for left, right in zip_longest(first, second):
            if left != right:
                return _excerpts(left, right)
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        name = next(name for name in dict.fromkeys([*first, *second]) if first.get(name) != second.get(name))
        return _excerpts(first.get(name), second.get(name))
    if isinstance(first, str) and isinstance(second, str):
        common_length = len(commonprefix([first, second]))
        return _excerpt(first, common_length), _excerpt(second, common_length)
    return first, second


def _excerpt(text: str, common_length: int) -> str:
    start = max(0, common_length - _CONTEXT_CHARS) if len(text) > _EXCERPT_CHARS else 0
    excerpt = text[start : start + _EXCERPT_CHARS]
    return f"{'…' if start else ''}{excerpt}{'…' if start + _EXCERPT_CHARS < len(text) else ''}"
