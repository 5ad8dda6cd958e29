"""Runs a recorded question to the analyst again, on a database, or on the files and datasets that their ids name."""

from collections.abc import Mapping, Sequence
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver

from agent.analyst import build_analyst
from agent.audit.bodies import CARRIED_ON
from agent.conversation.thread_again import replayed
from agent.datasets.registry import Registry
from agent.services import Services
from agent.state import Output


def ask_again(
    given: dict[str, Any],
    recorded: Sequence[tuple[str, Mapping[str, Any]]],
    services: Services,
    error: str | None,
) -> Output:
    """Return the output for the question that came with `given`.

    `recorded` are kinds and bodies of its run's events, and `error` is the code in which it ended.

    Raises:
        FileUnknown, DatasetUnknown: a file or a dataset of the question is not kept any more.
    """
    carried = {name: given.pop(name) for name in CARRIED_ON if name in given}
    # A file may have been named by its path, where another one may be by now.
    files = _files(recorded)
    if files:
        given["files"] = files
    if any(kind == "tool" for kind, _ in recorded):
        _check_kept(given, services.registry)
    graph = build_analyst(services, InMemorySaver())
    return replayed(graph, given, carried, error, last="narrate")


def _files(recorded: Sequence[tuple[str, Mapping[str, Any]]]) -> list[str]:
    """Return the ids of the files that the question came with: those made into datasets before the model was asked."""
    ids: list[str] = []
    for kind, body in recorded:
        if kind == "llm":
            break
        if kind == "tool" and body["tool"] == "create_dataset":
            ids.append(body["arguments"]["file_id"])
    return ids


def _check_kept(given: Mapping[str, Any], registry: Registry) -> None:
    for file_id in given.get("files") or ():
        registry.file(file_id)
    for dataset_id in given.get("datasets") or ():
        registry.dataset(dataset_id)
