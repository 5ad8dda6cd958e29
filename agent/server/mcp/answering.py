"""The tool `datasphinx_ask`: a question to the SQL agent, with progress and clarifying questions."""

import asyncio
import uuid
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any, Literal, Self, cast

from mcp_types import InputRequiredResult
from pydantic import BaseModel, ConfigDict, Field, model_validator
from starlette.concurrency import run_in_threadpool

from datasphinx.agent.answers.confidence import trust_in_words
from datasphinx.agent.answers.progress import step_line
from datasphinx.agent.conversation.reply import Reply, reply_of
from datasphinx.agent.errors import NotFound
from datasphinx.agent.messages import language_in
from datasphinx.agent.record.waiting import WaitEvent
from datasphinx.agent.server.background import repeated
from datasphinx.agent.server.mcp.call import Call, limited_rows
from datasphinx.agent.server.mcp.clarification import (
    ask_user,
    can_elicit,
    question_result,
    repeated_answer,
    repeats_calls,
)
from datasphinx.agent.server.runnable import ServedGraph
from datasphinx.agent.server.runs import Event, Run
from datasphinx.agent.server.schemas import ThreadId
from datasphinx.agent.server.statements import resolve_source
from datasphinx.agent.server.tenants import current_tenant
from datasphinx.agent.types import AppliedDefinition, Clarify, Confidence, ErrorInfo, Status

PROGRESS_S = 5.0
"""Time between two notifications of progress while a step runs, in seconds; clients give up after silence."""
ANSWER_WITHIN_S = 50.0
"""Time within which a call ends, in seconds: clients give up after 60. Its run goes on, and the next call waits for it.
"""
RUN = "Instead of a question: the `run` of a call with the status `running`, to wait for its result."
STILL_RUNNING = "It takes longer. Call this tool again with `run` alone to wait for the result."


class Ask(BaseModel):
    """A question about data, or the answer to a clarifying question of a thread."""

    model_config = ConfigDict(extra="forbid")

    question: str | None = Field(None, description="The question, in English, German, Russian or Chinese.")
    source: str | None = Field(
        None, description="A source that the tool `datasphinx_sources` lists; default: chosen by the question."
    )
    thread: ThreadId | None = Field(None, description="The `thread` of an earlier answer, for a follow-up question.")
    clarification_answer: str | None = Field(
        None,
        description="Instead of a question: the answer to the clarifying question of the thread. The label or number "
        "of an option, or free text.",
    )
    clarify: Clarify | None = Field(None, description="When to ask clarifying questions.")
    run: str | None = Field(None, description=RUN)

    @model_validator(mode="after")
    def _check_combination(self) -> Self:
        if sum(given is not None for given in (self.question, self.clarification_answer, self.run)) != 1:
            raise ValueError("exactly one of question, clarification_answer, run is needed")
        if self.clarification_answer is not None and self.thread is None:
            raise ValueError("clarification_answer needs thread")
        if self.question is None and self.source is not None:
            raise ValueError("source comes with a question only; otherwise the thread determines it")
        return self


class Clarification(BaseModel):
    """A clarifying question with the labels of its options; an answer may also be free text."""

    question: str
    options: list[str]


class Answer(BaseModel):
    """An answer with the statement and the rows that support it, or a clarifying question."""

    model_config = ConfigDict(json_schema_serialization_defaults_required=True)

    status: Status | Literal["running"] = Field(
        description="`ok`; `unsure`: a draft with a low confidence or unresolved findings; `clarification`; `error`; "
        "or `running`: call again with `run`."
    )
    answer: str = Field(description="The answer or the clarifying question, in the language of the question.")
    columns: list[str] = []
    rows: list[list[Any]] = Field([], description="The first rows of the result. `***` replaces secret values.")
    row_count: int = Field(0, description="The number of rows of the result.")
    more_rows: bool = Field(False, description="Whether the result has more rows than `rows`.")
    sql: str | None = Field(None, description="The statement that returned the rows.")
    confidence: Confidence | None = None
    trust: str = Field(
        "",
        description="Without a confidence: a verified query, declared metrics, checked by the model, or not checked.",
    )
    assumptions: list[str] = Field([], description="Assumptions about the question.")
    definitions: list[AppliedDefinition] = Field([], description="The business definitions that the statement uses.")
    trace_id: str = Field("", description="The id of the run on the record, for the tool `datasphinx_explain_answer`.")
    thread: str | None = Field(None, description="The conversation, for follow-up questions.")
    run: str | None = Field(None, description="What to call again with if the status is `running`.")
    clarification: Clarification | None = None
    error: ErrorInfo | None = None


async def ask(arguments: Ask, call: Call) -> Answer | InputRequiredResult:
    """Answer a question. A clarifying question is put to the user if the client can do that.

    Raises:
        RequestValidationError, SourceNotFound: an argument is invalid.
        NotFound: the thread of a repeated call does not exist any more.
    """
    thread = call.params.request_state
    if thread is not None:
        answer = repeated_answer(call.params)
        if answer is None:
            return await _stored(call, thread)
        run = await start(call, call.agent, _reply_to(thread, answer))
    elif arguments.run is not None:
        run = known_run(call.agent, arguments.run)
    else:
        if arguments.source is not None:
            resolve_source(call.services, arguments.source)
        inputs = arguments.model_dump(exclude_none=True, exclude={"thread", "run"})
        run = await start(call, call.agent, inputs | ({"thread_id": arguments.thread} if arguments.thread else {}))
    while await follow(call, run):
        reply, masked_text = cast(Reply, run.result["reply"]), run.result["masked_text"]
        question = _open_question(reply)
        if not (question and can_elicit(call.context)):
            return _answer(reply, masked_text)
        thread_id = cast(str, reply["thread_id"])
        if repeats_calls(call.context):
            return question_result(question, thread_id)
        answer = await ask_user(call.context, question, call.services.settings.request_timeout_s)
        if answer is None:
            return _answer(reply, masked_text)
        run = await start(call, call.agent, _reply_to(thread_id, answer))
    return Answer(status="running", answer=STILL_RUNNING, run=run.id)


def _reply_to(thread_id: str, answer: str) -> dict[str, Any]:
    return {"thread_id": thread_id, "clarification_answer": answer}


def _open_question(reply: Reply) -> Any:
    return reply.get("clarification") if reply["status"] == "clarification" else None


def _answer(reply: Reply, masked_text: str) -> Answer:
    """Return the output of a run as an answer; `masked_text` replaces a text that may have secret values."""
    tables, shown = reply.get("tables") or (), dict[str, Any]()
    for table in tables[:1]:
        rows, count = limited_rows(table["rows"], table.get("secret", ())), len(table["rows"])
        shown = {"columns": table["columns"], "rows": rows, "row_count": count, "more_rows": count > len(rows)}
    if question := _open_question(reply):
        options = [option["label"] for option in question["options"]]
        shown["clarification"] = Clarification(question=question["question"], options=options)
    return Answer(
        status=reply["status"],
        answer=masked_text if any(each.get("secret") for each in tables) else reply["answer"],
        sql=reply.get("sql"),
        confidence=reply.get("confidence"),
        trust=trust_in_words(reply, language_in(reply)),
        assumptions=reply["audit"]["assumptions"],
        definitions=reply.get("definitions") or [],
        trace_id=reply["audit"]["trace_id"],
        thread=reply.get("thread_id"),
        error=reply.get("error"),
        **shown,
    )


async def start(call: Call, served: ServedGraph, inputs: Mapping[str, Any]) -> Run:
    """Start a run for `inputs`, which are validated and counted as over HTTP, and return it."""
    tenant, given = current_tenant(), served.checked(inputs)
    await tenant.admit(1)
    thread_id = uuid.UUID(given["thread_id"]) if "thread_id" in given else uuid.uuid4()
    run = Run(str(thread_id), _assistant(served), lambda error: error.message())
    tenant.runs.add(run)
    run.start(_events(served.events(given)), call.services.settings.request_timeout_s, {"progress"})
    return run


def known_run(served: ServedGraph, run_id: str) -> Run:
    """Return a run of an earlier call. Raise NotFound if there is no such run of the tenant in this process."""
    return current_tenant().runs.get(run_id, assistant=_assistant(served))


def _assistant(served: ServedGraph) -> str:
    return f"mcp/{served.graph}"


async def follow(call: Call, run: Run) -> bool:
    """Report the progress of a run to the client; return whether it has ended in time, otherwise it goes on.

    Raises:
        DatasphinxError: the run failed.
    """
    sent, last_message = 0, None

    async def report(message: str | None = None) -> None:
        nonlocal sent, last_message
        sent, last_message = sent + 1, message or last_message
        await call.context.session.report_progress(sent, message=last_message)

    still_running = repeated(report, PROGRESS_S, "[MCP] progress was not reported")
    try:
        async with asyncio.timeout(ANSWER_WITHIN_S) as limit, still_running, aclosing(run.events()) as events:
            async for _, message in events:
                await report(message)
    except TimeoutError:
        if not limit.expired():
            raise
        return False
    except asyncio.CancelledError:
        await run.cancel()
        raise
    if run.failure:
        raise run.failure
    return True


async def _events(stream: AsyncGenerator[Any]) -> AsyncGenerator[Event]:
    """Yield the progress of a run as texts, and its output."""
    masked_text = ""
    async with aclosing(stream) as events:
        async for kind, content in events:
            if kind == "part":
                yield "progress", f"{content['id']}: {content['question']}"
            if kind == "waiting":
                wait = cast(WaitEvent, content)
                yield "progress", f"{wait['for']} {wait['done']}/{wait['total']}" if "done" in wait else wait["for"]
            for node, update in content.items() if kind == "step" else ():
                line = step_line(node, update)
                yield "progress", line.plain if line else node
                # Turns contain the text for prompts of later questions, which has no secret values.
                masked_text = update["turns"][-1]["answer"] if update.get("turns") else masked_text
            if kind == "output":
                yield "values", {"reply": content, "masked_text": masked_text}


async def _stored(call: Call, thread_id: str) -> Answer:
    """Return the last answer of a thread, whose clarifying question the user did not answer."""
    tenant = current_tenant()
    last = await run_in_threadpool(tenant.threads.last, tenant.threads.key(call.agent.graph, thread_id))
    if last is None:
        raise NotFound("thread_unknown", thread_id=thread_id)
    state = last.checkpoint["channel_values"]
    return _answer(reply_of(state, thread_id), state["turns"][-1]["answer"] if state.get("turns") else "")
