"""The tools `check_sql` and `run_sql`: statements that the client writes."""

import uuid
from contextlib import nullcontext
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from agent.core.cancellation import Cancellation
from agent.core.failure import client_failure, error_info
from agent.core.version import package_version
from agent.errors import (
    DatasphinxError,
    InternalError,
    NotPermitted,
    RowRuleNotApplied,
    RowRuleParameterMissing,
    StatementError,
)
from agent.record.step import Step, current_step, merge_audit, new_audit
from agent.record.telemetry import traced_run
from agent.run_events import RUN_SQL, output_body, step_body
from agent.server.background import cancellable
from agent.server.mcp.call import Call, limited_rows, open_source, resolve_source
from agent.server.tenants import current_tenant
from agent.services import Services
from agent.sources.source import Source
from agent.sql.validation import warnings_of
from agent.types import ErrorInfo, Result, answer_table

_MAX_SQL_CHARS = 100_000


class Statement(BaseModel):
    """A SELECT statement in the dialect of the source."""

    model_config = ConfigDict(extra="forbid")

    sql: str = Field(min_length=1, max_length=_MAX_SQL_CHARS, description="One SELECT statement.")
    source: str | None = Field(
        None, description="A source that the tool `sources` lists; it may be left out if there is one."
    )


class Check(BaseModel):
    """Whether a statement would run."""

    allowed: bool
    sql: str | None = Field(description="The statement as it would run, regenerated from its syntax tree.")
    error: ErrorInfo | None = Field(description="The reason why it would not run.")
    warnings: list[str] = Field(description="Likely mistakes, such as a sum over rows that a join repeats.")


class Rows(BaseModel):
    """The result of a statement."""

    columns: list[str]
    types: list[str]
    rows: list[list[Any]] = Field(description="The first rows. `***` replaces secret values.")
    row_count: int = Field(description="The number of rows that were read.")
    more_rows: bool = Field(description="Whether the result has more rows than `rows`.")
    trace_id: str = Field(description="The id of the run on the record.")


async def check_sql(arguments: Statement, call: Call) -> Check:
    """Check a statement as before its execution: the guard, the names, the types and the row rules.

    Raises:
        DatasphinxError: as for `open_source`.
    """
    source, services, language = await open_source(call.services, arguments.source), call.services, call.language

    def check(_: Cancellation) -> Check:
        try:
            sql = source.check(arguments.sql)
        except (StatementError, NotPermitted, RowRuleNotApplied, RowRuleParameterMissing) as error:
            info = error_info(client_failure(error, services.settings), language)
            return Check(allowed=False, sql=None, error=info, warnings=[])
        return Check(allowed=True, sql=sql, error=None, warnings=list(warnings_of(sql, source.readable_catalog)))

    return await cancellable(check)


async def run_sql(arguments: Statement, call: Call) -> Rows:
    """Run a statement, within the limits of a statement and with a record of its own.

    Raises:
        DatasphinxError: as for `open_source`, `Tenant.admit`, `Source.check` and `Source.execute`.
    """
    services = call.services
    name = resolve_source(services, arguments.source)
    await current_tenant().admit(1)
    source = await open_source(services, arguments.source)
    result, trace_id = await cancellable(lambda stop: _run_recorded(arguments.sql, source, name, services, stop))
    rows = limited_rows(result["rows"], result.get("secret", ()))
    return Rows(
        columns=result["columns"],
        types=result["types"],
        rows=rows,
        row_count=len(result["rows"]),
        more_rows=result["truncated"] or len(result["rows"]) > len(rows),
        trace_id=trace_id,
    )


def _run_recorded(sql: str, source: Source, name: str, services: Services, stop: Cancellation) -> tuple[Result, str]:
    """Return the rows of a statement and the trace id of its run, which is recorded whether it succeeds or fails.

    Raises:
        RecordUnavailable: the run cannot be recorded.
        DatasphinxError: as for `Source.check` and `Source.execute`.
    """
    trace_id = uuid.uuid4().hex
    step = Step(RUN_SQL, new_audit(trace_id), cancellation=stop, recorder=services.recorder)
    inputs = {"sql": sql, "source": source.database.name if "://" in name else name}
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
