"""The process log as JSON lines, with the trace id of the question and without secrets."""

import logging
import sys
from collections.abc import Callable, MutableMapping
from typing import Any, TextIO

import structlog

from datasphinx.agent.core.canonical import plain
from datasphinx.agent.core.redact import without_secrets
from datasphinx.agent.record.credentials import secrets_of
from datasphinx.agent.record.step import current_step
from datasphinx.agent.settings import Settings

Processor = Callable[[Any, str, MutableMapping[str, Any]], Any]


def configure_logs(settings: Settings, stream: TextIO | None = None) -> None:
    """Write the log of this process and its libraries as JSON lines to `stream`, by default standard error.

    Each line has `event`, `level`, `logger`, `time` (UTC) and, within a question, `trace_id` and `node`. Existing
    handlers of the root logger are replaced; programs that use datasphinx as a library may prefer a configuration of
    their own.
    """
    secrets = secrets_of(settings)

    def redact(logger: Any, method: str, event: MutableMapping[str, Any]) -> Any:
        return plain(event, lambda text: without_secrets(text, secrets))

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
            redact,
            structlog.processors.JSONRenderer(),
        ],
    )
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(formatter)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    # Messages of libraries below the level of a warning are not logged.
    root.setLevel(logging.WARNING)
    logging.getLogger("datasphinx").setLevel(logging.INFO)


def _with_trace(logger: Any, method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    step = current_step.get()
    if step:
        event.setdefault("trace_id", step.previous_audit["trace_id"])
        event.setdefault("node", step.node)
    return event
