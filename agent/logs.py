"""The log as JSON lines: one object a line, with the trace id of the question, and without secrets."""

import logging
import sys
from collections.abc import Callable, MutableMapping, Sequence
from typing import Any, TextIO

import structlog

from agent.audit.canonical import plain
from agent.audit.known_secrets import secrets_of
from agent.audit.step import current_step
from agent.settings import Settings
from agent.sql.redact import without_secrets

Processor = Callable[[Any, str, MutableMapping[str, Any]], Any]


def configure_logs(settings: Settings, stream: TextIO | None = None) -> None:
    """Write what this process logs, its libraries included, to `stream`, by default standard error, as JSON lines.

    Each has `event`, `level`, `logger`, `time` (UTC) and, within a question, `trace_id` and `node`. It replaces the
    handlers that the process has; a program that uses datasphinx as a library may prefer its own.
    """
    shared: list[Processor] = [
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.ExtraAdder(),
        structlog.processors.TimeStamper(fmt="iso", utc=True, key="time"),
        _with_trace,
    ]
    formatter = structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=shared,
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            structlog.processors.StackInfoRenderer(),
            structlog.processors.format_exc_info,
            _without(secrets_of(settings)),
            structlog.processors.JSONRenderer(),
        ],
    )
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(formatter)
    level = settings.log_level.upper()
    root = logging.getLogger()
    root.handlers[:] = [handler]
    # What libraries have to say below a warning is of no use to whoever reads about questions.
    root.setLevel(max(logging.getLevelName(level), logging.WARNING))
    logging.getLogger("datasphinx").setLevel(level)


def _with_trace(logger: Any, method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    step = current_step.get()
    if step:
        event.setdefault("trace_id", step.spent["trace_id"])
        event.setdefault("node", step.node)
    return event


def _without(secrets: Sequence[str]) -> Processor:
    def redacted(logger: Any, method: str, event: MutableMapping[str, Any]) -> Any:
        return plain(event, lambda text: without_secrets(text, secrets))

    return redacted
