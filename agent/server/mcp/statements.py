"""The tools `check_sql` and `run_sql`: statements that the client writes."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from datasphinx.agent.core.cancellation import Cancellation
from datasphinx.agent.core.failure import shown_error
from datasphinx.agent.errors import (
    NotPermitted,
    RowRuleNotApplied,
    RowRuleParameterMissing,
    StatementError,
)
from datasphinx.agent.server.background import cancellable
from datasphinx.agent.server.mcp.call import Call, limited_rows
from datasphinx.agent.server.statements import MAX_SQL_CHARS, open_source, resolve_source, run_recorded
from datasphinx.agent.server.tenants import current_tenant
from datasphinx.agent.sql.validation import warnings_of
from datasphinx.agent.types import ErrorInfo


class Statement(BaseModel):
    """A SELECT statement in the dialect of the source."""

    model_config = ConfigDict(extra="forbid")

    sql: str = Field(min_length=1, max_length=MAX_SQL_CHARS, description="One SELECT statement.")
    source: str | None = Field(
        None, description="A source that the tool `datasphinx_sources` lists; it may be left out if there is one."
    )


class Check(BaseModel):
    """Whether a statement would run."""

    allowed: bool
    sql: str | None = Field(description="The statement as it would run, regenerated from its syntax tree.")
    error: ErrorInfo | None = Field(description="The reason why it would not run.")
    warnings: list[str] = Field(description="Likely mistakes: rows that a join repeats, a text that no row has.")


class Rows(BaseModel):
    """The result of a statement."""

    columns: list[str]
    types: list[str]
    rows: list[list[Any]] = Field(description="The first rows. `***` replaces secret values.")
    row_count: int = Field(description="The number of rows that were read.")
    more_rows: bool = Field(description="Whether the result has more rows than `rows`.")
    findings: list[str] = Field(description="What to know about the figures, such as rows that a join repeats.")
    trace_id: str = Field(description="The id of the run on the record.")


async def check_sql(arguments: Statement, call: Call) -> Check:
    """Check a statement as before its execution: the guard, the names, the types and the row rules."""
    source, services, language = await open_source(call.services, arguments.source), call.services, call.language

    def check(_: Cancellation) -> Check:
        try:
            sql = source.check(arguments.sql)
        except (StatementError, NotPermitted, RowRuleNotApplied, RowRuleParameterMissing) as error:
            info = shown_error(error, services.settings, language)
            return Check(allowed=False, sql=None, error=info, warnings=[])
        warnings = warnings_of(sql, source.readable_catalog, lambda: source.values)
        return Check(allowed=True, sql=sql, error=None, warnings=list(warnings))

    return await cancellable(check)


async def run_sql(arguments: Statement, call: Call) -> Rows:
    """Run a statement, within the limits of a statement and with a record of its own."""
    services, language, sql = call.services, call.language, arguments.sql
    name = resolve_source(services, arguments.source)
    await current_tenant().admit(1)

    def run(stop: Cancellation) -> Rows:
        source = services.source(name)
        result, audit = run_recorded(sql, source, name, services, stop)
        rows = limited_rows(result["rows"], result.get("secret", ()))
        return Rows(
            columns=result["columns"],
            types=result["types"],
            rows=rows,
            row_count=len(result["rows"]),
            more_rows=result["truncated"] or len(result["rows"]) > len(rows),
            findings=[one.in_language(language) for texts in source.doubts_and_notes(sql) for one in texts],
            trace_id=audit["trace_id"],
        )

    return await cancellable(run)
