"""The context of a run: defaults that a LangGraph assistant, or the caller, gives to runs of a graph."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, get_args

from langchain_core.runnables.config import var_child_runnable_config
from langgraph.runtime import get_runtime

from agent.errors import DatasphinxError, InputInvalid
from agent.messages import Message
from agent.services import Services
from agent.types import Clarify, Effort

_CHOICES = {"clarify": get_args(Clarify), "effort": get_args(Effort)}


@dataclass(frozen=True)
class RunContext:
    """The context of a run."""

    services: Services
    """Services with the model of the context."""
    defaults: Mapping[str, Any] = field(default_factory=dict)
    """The inputs that the context sets by default."""
    error: DatasphinxError | None = None
    """The error of a context that is not valid, or of the settings; the run ends with it."""


def run_context(services: Services, names: Mapping[str, Any]) -> RunContext:
    """Return the context of the current run, with the keys `names`; empty outside of a run."""
    runtime = get_runtime() if var_child_runnable_config.get() else None
    given = runtime.context if runtime else None
    if not given:
        return RunContext(services)
    try:
        values = _checked(given, names)
        model = values.pop("model", None)
        return RunContext(services.with_model(model) if model else services, values)
    except DatasphinxError as error:
        return RunContext(services, error=error)


def _checked(given: Any, names: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a context that are set; an empty text, as forms send it, counts as not set.

    Raises:
        InputInvalid: a key or a value is not valid.
    """
    if not isinstance(given, Mapping):
        raise InputInvalid("context", Message("value_invalid"))
    for name, value in given.items():
        choices = _CHOICES.get(name)
        if name not in names:
            raise InputInvalid(f"context.{name}"[:200], Message("one_of", choices=", ".join(names)))
        if value in (None, ""):
            continue
        if not isinstance(value, str):
            raise InputInvalid(f"context.{name}", Message("not_text"))
        if choices and value not in choices:
            raise InputInvalid(f"context.{name}", Message("one_of", choices=", ".join(choices)))
    return {name: value for name, value in given.items() if value not in (None, "")}
