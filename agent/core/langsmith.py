"""LangSmith: runs of graphs and models are sent to it only if the settings allow that."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from langchain_core.callbacks import BaseCallbackManager
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import var_child_runnable_config


@contextmanager
def langsmith(*, is_allowed: bool) -> Iterator[None]:
    """Unless it is allowed, attach no tracer of LangSmith to what starts in the block, which must not contain `yield`.

    Variables of the environment, the context of the caller, and a tracer of an enclosing run have no effect then.
    """
    if is_allowed:
        yield
        return
    from langsmith import tracing_context

    config = var_child_runnable_config.get()
    token = var_child_runnable_config.set(without_tracer(config)) if config else None
    try:
        with tracing_context(enabled=False, parent=False):
            yield
    finally:
        if token:
            var_child_runnable_config.reset(token)


def without_tracer(config: RunnableConfig) -> RunnableConfig:
    """Return `config` without the tracers of LangSmith among its callbacks."""
    callbacks = config.get("callbacks")
    if not callbacks:
        return config
    if isinstance(callbacks, BaseCallbackManager):
        manager = callbacks.copy()
        manager.handlers = _others(manager.handlers)
        manager.inheritable_handlers = _others(manager.inheritable_handlers)
        return {**config, "callbacks": manager}
    return {**config, "callbacks": _others(callbacks)}


def _others(handlers: list[Any]) -> list[Any]:
    from langchain_core.tracers.langchain import LangChainTracer

    return [handler for handler in handlers if not isinstance(handler, LangChainTracer)]
