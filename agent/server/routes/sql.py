"""Routes: statements that a user has edited, and the tables and columns that they can name."""

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import Query, Request
from pydantic import BaseModel, ConfigDict, Field

from datasphinx.agent.answers.outputs import compose_answer
from datasphinx.agent.conversation.reply import reply_of
from datasphinx.agent.core.cancellation import Cancellation
from datasphinx.agent.core.redact import without_password
from datasphinx.agent.generation.computed_bounds import with_computed_bounds
from datasphinx.agent.generation.follow_ups import remembered
from datasphinx.agent.messages import Language, render
from datasphinx.agent.proposals import propose_statement
from datasphinx.agent.run_events import LOGGED_ANSWER
from datasphinx.agent.server.background import cancellable, run_in_thread
from datasphinx.agent.server.errors import accepted_language, new_router
from datasphinx.agent.server.runnable import plain_json
from datasphinx.agent.server.statements import MAX_SQL_CHARS, open_source, resolve_source, run_recorded
from datasphinx.agent.server.tenants import Tenant, current_list, current_tenant
from datasphinx.agent.services import Services
from datasphinx.agent.sql.summary import summarize_query
from datasphinx.agent.state import State, new_run
from datasphinx.agent.types import Attempt, Turn

router = new_router(prefix="/sql", tags=["sql"])
TraceId = Annotated[
    str | None,
    Field(pattern=r"^[0-9a-f]{32}$", description="The `trace_id` of the answer whose statement was edited."),
]
_SOURCE = Field(None, description="A source that `/sources` lists; it may be left out if there is one.")


class _Statement(BaseModel):
    model_config = ConfigDict(extra="forbid")

    sql: str = Field(min_length=1, max_length=MAX_SQL_CHARS, description="One SELECT statement.")
    source: str | None = _SOURCE
    trace_id: TraceId = None


class EditedStatement(_Statement):
    """A SELECT statement in the dialect of the source."""

    question: str = Field("", max_length=10_000, description="The question that the statement answers.")
    thread_id: str | None = Field(
        None, pattern=r"^[0-9a-f]{32}$", description="The conversation about a database; without one a new one begins."
    )


class EditedQuery(_Statement):
    """A statement as the verified query of a question."""

    question: str = Field(min_length=1, max_length=10_000, description="The question that the statement answers.")


@router.post("")
async def run(statement: EditedStatement, request: Request) -> dict[str, Any]:
    """Run a statement by the guard, the row rules and the limits of answers, with a record of its own.

    The result is an output as that of a question, in the language of Accept-Language, with `truncated` (whether there
    are more rows) and `edited_by_hand`, which is always true. It begins a conversation, or with `thread_id` it is the
    last answer of that one from then on, and `chosen` if it is an alternative of the draft before it.
    """
    tenant, language = current_tenant(), accepted_language(request.scope)
    name = resolve_source(tenant.services, statement.source)
    await tenant.admit(1)

    def work(stop: Cancellation) -> dict[str, Any]:
        state = _answered(statement, name, tenant.services, language, stop)
        thread_id, run_id = _added(state, tenant, statement.thread_id)
        return {**reply_of(state, thread_id, run_id), "truncated": state["result"]["truncated"], "edited_by_hand": True}

    return plain_json(await cancellable(work))


def _answered(
    statement: EditedStatement, name: str, services: Services, language: Language, stop: Cancellation
) -> dict[str, Any]:
    """Return the state of the SQL agent at the end of a question with the statement of a person."""
    source, sql = services.source(name), statement.sql
    origin = {"origin": "edited_by_hand", **({"edited_trace": statement.trace_id} if statement.trace_id else {})}
    result, audit = run_recorded(sql, source, name, services, stop, origin)
    summary = summarize_query(with_computed_bounds(sql, source), source.catalog)
    question = statement.question or sql
    told = compose_answer("", {"result": result}, language=language, requested=None, sql=sql, summary=summary)
    for texts in source.doubts_and_notes(sql):
        for finding in texts:
            told.add(render("findings_remain", language, findings=finding.in_language(language)))
    # As in a run: a default source that is a URL has no name, since clients may read the state.
    named = statement.source or ("" if "://" in name else name)
    given = {"question": question, **({"source": named} if named else {})}
    turn = Turn(
        question=question,
        sql=sql,
        answer=told.logged_answer,
        clarifications=[],
        source=without_password(named),
        trace_id=audit["trace_id"],
        output_type=told.output_type,
        columns=result["columns"],
        language=language,
    )
    output = {name: value for name, value in told.output().items() if name != LOGGED_ANSWER}
    attempts = [Attempt(sql=sql, origin="user", outcome=None)]
    facts = {"given": given, "sql_request": sql, "sql_request_is_valid": True, "attempts": attempts, "result": result}
    return {**new_run(State, given), "question": question, "audit": audit, **output, **facts, "turns": [turn]}


def _added(state: dict[str, Any], tenant: Tenant, thread_id: str | None) -> tuple[str, str]:
    """Add the answer in `state` to a conversation, a new one without `thread_id`; return the ids of thread and run.

    Raises:
        NotFound: there is no such conversation about a database.
    """

    def after(before: Mapping[str, Any]) -> dict[str, Any]:
        (turn,) = state["turns"]
        if any(each["sql"] == state["sql"] for each in before.get("alternatives") or ()):
            # What the user said last may be feedback or an option: the draft has the question itself.
            draft = before["turns"][-1]
            turn = {**turn, "question": draft["question"], "clarifications": draft["clarifications"]}
            state["chosen"] = True
        return {**state, "turns": remembered(before.get("turns", ()), turn)}

    added, run_id = tenant.graphs["agent"].add_answer(after, thread_id)
    if listed := current_list():
        listed.add(added, "agent", state["question"])
    return added, run_id


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
        return {"dialect": catalog.engine.dialect, "tables": tables}

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
