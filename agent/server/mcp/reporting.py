"""The tool `datasphinx_report`: a report on a request, whose figures come from the rows of its questions."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from datasphinx.agent.messages import language_in
from datasphinx.agent.report.markdown import markdown_without_secrets
from datasphinx.agent.server.mcp.answering import run_graph
from datasphinx.agent.server.mcp.call import Call
from datasphinx.agent.server.statements import resolve_source
from datasphinx.agent.types import ErrorInfo, Status


class ReportRequest(BaseModel):
    """A request that needs several answers."""

    model_config = ConfigDict(extra="forbid")

    request: str = Field(description="The request, in English, German, Russian or Chinese.")
    source: str | None = Field(
        None, description="A source that the tool `datasphinx_sources` lists; default: chosen by the request."
    )
    questions: list[str] | None = Field(None, description="The questions to answer, at most 8, instead of a plan.")


class ReportAnswer(BaseModel):
    """A report; the statement and the trace of each question are in it."""

    status: Status
    report: str = Field(description="The report as Markdown, with the rows and the SQL behind it, or the error.")
    trace_id: str = Field(description="The id of the run on the record, for the tool `datasphinx_explain_answer`.")
    error: ErrorInfo | None


async def write_report(arguments: ReportRequest, call: Call) -> ReportAnswer:
    """Write a report; its questions ask the user nothing.

    Raises:
        InputInvalid, SourceNotFound: an argument is invalid.
        LimitReached: a limit of the tenant is reached.
        RequestTimeout: the run took too long.
    """
    if arguments.source is not None:
        resolve_source(call.services, arguments.source)
    inputs: dict[str, Any] = {"question": arguments.request, "clarify": "never"}
    inputs |= arguments.model_dump(include={"source", "questions"}, exclude_none=True)
    reply = await run_graph(call, call.report, inputs)
    written = reply.get("report")
    return ReportAnswer(
        status=reply["status"],
        report=markdown_without_secrets(written, language_in(reply)) if written else reply["answer"],
        trace_id=reply["audit"]["trace_id"],
        error=reply.get("error"),
    )
