"""Routes: statements that a user has edited, and the tables and columns that they can name."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, ConfigDict, Field

from datasphinx.agent.charts.default import default_chart
from datasphinx.agent.charts.echarts import answer_chart
from datasphinx.agent.core.cancellation import Cancellation
from datasphinx.agent.formatting.formats import answer_table
from datasphinx.agent.proposals import propose_statement
from datasphinx.agent.server.background import cancellable, run_in_thread
from datasphinx.agent.server.errors import accepted_language
from datasphinx.agent.server.runnable import PlainJSON
from datasphinx.agent.server.statements import MAX_SQL_CHARS, open_source, resolve_source, run_for_client
from datasphinx.agent.server.tenants import current_tenant

router = APIRouter(prefix="/sql", tags=["sql"])
TraceId = Annotated[
    str | None,
    Field(pattern=r"^[0-9a-f]{32}$", description="The `trace_id` of the answer whose statement was edited."),
]
_SOURCE = Field(None, description="A source that `/sources` lists; it may be left out if there is one.")


class EditedStatement(BaseModel):
    """A SELECT statement in the dialect of the source."""

    model_config = ConfigDict(extra="forbid")

    sql: str = Field(min_length=1, max_length=MAX_SQL_CHARS, description="One SELECT statement.")
    source: str | None = _SOURCE
    trace_id: TraceId = None


class EditedQuery(EditedStatement):
    """A statement as the verified query of a question."""

    question: str = Field(min_length=1, max_length=10_000, description="The question that the statement answers.")


@router.post("")
async def run(statement: EditedStatement, request: Request) -> dict[str, Any]:
    """Run a statement by the guard, the row rules and the limits of answers, with a record of its own.

    The result contains the rows, their `chart` if one suits them, `truncated` (whether there are more), `findings`
    (what to know about its figures, in the language of Accept-Language), and `edited_by_hand`, which is always true.
    """
    services, language = current_tenant().services, accepted_language(request.scope)
    name = resolve_source(services, statement.source)
    origin = {"origin": "edited_by_hand", **({"edited_trace": statement.trace_id} if statement.trace_id else {})}
    result, trace_id, told = await run_for_client(statement.sql, name, services, language, origin)
    table = answer_table("result", result)
    drawn = default_chart(result, "", language=language)
    chart = answer_chart(drawn, language) if drawn else None
    body = {"sql": statement.sql, "table": table, "chart": chart, "truncated": result["truncated"], "findings": told}
    return PlainJSON().dumpd({**body, "edited_by_hand": True, "trace_id": trace_id})


@router.get("/schema")
async def schema(source: Annotated[str | None, Query(description=_SOURCE.description)] = None) -> dict[str, Any]:
    """The dialect of a source, and its tables with their columns; `schema` is null for the default schema."""
    opened = await open_source(current_tenant().services, source)

    def names(_: Cancellation) -> dict[str, Any]:
        catalog = opened.shown_catalog
        tables = [
            {"schema": table.schema, "name": table.name, "columns": list(table.column_names)}
            for table in catalog.tables.values()
        ]
        return {"dialect": catalog.dialect, "tables": tables}

    return await cancellable(names)


@router.post("/proposals", status_code=201)
async def propose(query: EditedQuery) -> dict[str, Any]:
    """Propose a statement as the verified query of a question; it is used once a reviewer has accepted it."""
    services = current_tenant().services
    name = resolve_source(services, query.source)
    await current_tenant().admit(1)
    proposal = await run_in_thread(
        lambda: propose_statement(query.question, query.sql, name, services, query.trace_id or "")
    )
    return proposal.as_json()
