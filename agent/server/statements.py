"""Statements outside of a graph: their execution with a record of its own."""

import uuid
from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any

from agent.core.cancellation import Cancellation
from agent.core.failure import client_failure, error_info
from agent.core.version import package_version
from agent.errors import DatasphinxError, InternalError
from agent.record.step import Step, current_step, merge_audit, new_audit
from agent.run_events import RUN_SQL, output_body, step_body
from agent.services import Services
from agent.sources.source import Source
from agent.telemetry import traced_run
from agent.types import Result, answer_table


def run_recorded(
    sql: str, source: Source, name: str, services: Services, stop: Cancellation, origin: Mapping[str, str] | None = None
) -> tuple[Result, str]:
    """Return the rows of a statement and the trace id of its run, which is recorded whether it succeeds or fails.

    `origin` is added to the recorded input.

    Raises:
        RecordUnavailable: the run cannot be recorded.
        DatasphinxError: as for `Source.check` and `Source.execute`.
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
            output["tables"] = [answer_table("result", result)]
        except Exception as error:
            failure = error if isinstance(error, DatasphinxError) else InternalError(type(error).__name__, trace_id)
            output["error"] = error_info(client_failure(failure, services.settings), "en")
            raise
        finally:
            current_step.reset(token)
            audit = step.record()
            step.event("step", step_body(audit["latency_ms"], {}, step.notes))
            step.event("output", output_body(output, merge_audit(step.previous_audit, audit)))
            unrecorded = services.recorder.end(trace_id)
    if unrecorded:
        raise unrecorded
    return result, trace_id
