"""Statements that a client writes: the choice of their source, and their execution with a record of its own."""

import uuid
from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any

from datasphinx.agent.core.cancellation import Cancellation
from datasphinx.agent.core.failure import shown_error
from datasphinx.agent.core.version import package_version
from datasphinx.agent.errors import DatasphinxError, InputInvalid, InternalError, SourceNotFound
from datasphinx.agent.formatting.checks import with_formats
from datasphinx.agent.formatting.formats import answer_table
from datasphinx.agent.messages import Message
from datasphinx.agent.record.step import Audit, Step, current_step, merge_audit, new_audit
from datasphinx.agent.record.telemetry import traced_run
from datasphinx.agent.run_events import RUN_SQL, output_body, step_body
from datasphinx.agent.server.background import cancellable
from datasphinx.agent.services import Services
from datasphinx.agent.sources.names import source_label
from datasphinx.agent.sources.source import Source
from datasphinx.agent.types import Result

MAX_SQL_CHARS = 100_000
"""Maximum length of a statement in characters."""


def listed_sources(services: Services) -> dict[str, str]:
    """Return the sources that a client can name, by their names for clients; the default source is the first one."""
    names = dict.fromkeys([*services.choices, *services.settings.sources])
    return {source_label(name, services.settings): name for name in names}


def resolve_source(services: Services, name: str | None) -> str:
    """Return the source that a client means by `name`, one of `listed_sources`.

    Raises:
        SourceNotFound: the name is not listed.
        InputInvalid: there is no name, although a question could be about several sources.
    """
    sources = listed_sources(services)
    if name is None and len(services.choices) == 1:
        return services.choices[0]
    choices = ", ".join(sources)
    if name is None:
        raise InputInvalid("source", Message("one_of", choices=choices))
    if name not in sources:
        raise SourceNotFound(name[:200], Message("only_configured_sources", choices=choices))
    return sources[name]


async def open_source(services: Services, name: str | None) -> Source:
    """Return the source that a client means by `name`."""
    key = resolve_source(services, name)
    return await cancellable(lambda _: services.source(key))


def run_recorded(
    sql: str, source: Source, name: str, services: Services, stop: Cancellation, origin: Mapping[str, str] | None = None
) -> tuple[Result, Audit]:
    """Return the rows of a statement and the audit of its run, which is recorded whether it succeeds or fails.

    `origin` is added to the recorded input.
    """
    trace_id = uuid.uuid4().hex
    step = Step(RUN_SQL, new_audit(trace_id), cancellation=stop, recorder=services.recorder)
    inputs = {"sql": sql, "source": source.database.name if "://" in name else name, **(origin or {})}
    body = {"version": package_version(), "graph": RUN_SQL, "date": services.today().isoformat(), "input": inputs}
    with traced_run(RUN_SQL, services.settings, services.owner) as run, run.active() if run else nullcontext():
        services.recorder.begin(trace_id, {**body, **(run.begin(trace_id, None) if run else {})})
        token = current_step.set(step)
        output: dict[str, Any] = {"sql": sql, "tables": []}
        try:
            source.check(sql)
            result = source.execute(sql)
            result = with_formats(result, sql, source.catalog)
            output["tables"] = [answer_table("result", result)]
        except Exception as error:
            failure = error if isinstance(error, DatasphinxError) else InternalError(type(error).__name__, trace_id)
            output["error"] = shown_error(failure, services.settings, "en")
            raise
        finally:
            current_step.reset(token)
            audit = step.record()
            step.event("step", step_body(audit["latency_ms"], {}, step.notes))
            audit = merge_audit(step.previous_audit, audit)
            step.event("output", output_body(output, audit))
            unrecorded = services.recorder.end(trace_id)
    if unrecorded:
        raise unrecorded
    return result, {**audit, "recorded": services.recorder.is_on}
