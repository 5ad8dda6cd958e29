"""The tool `datasphinx_report`: a report on a request, whose figures come from the rows of its questions."""

from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from datasphinx.agent.messages import language_in
from datasphinx.agent.report.markdown import markdown_without_secrets
from datasphinx.agent.server.mcp.answering import RUN, STILL_RUNNING, follow, known_run, start
from datasphinx.agent.server.mcp.call import Call
from datasphinx.agent.server.statements import resolve_source
from datasphinx.agent.types import ErrorInfo, Status


class ReportRequest(BaseModel):
    """A request that needs several answers."""

    model_config = ConfigDict(extra="forbid")

    request: str | None = Field(None, description="The request, in English, German, Russian or Chinese.")
    source: str | None = Field(
        None, description="A source that the tool `datasphinx_sources` lists; default: chosen by the request."
    )
    questions: list[str] | None = Field(None, description="The questions to answer, at most 8, instead of a plan.")
    run: str | None = Field(None, description=RUN)

    @model_validator(mode="after")
    def _check_combination(self) -> Self:
        if (self.request is None) == (self.run is None):
            raise ValueError("exactly one of request, run is needed")
        return self


class ReportAnswer(BaseModel):
    """A report; the statement and the trace of each question are in it."""

    status: Status | Literal["running"]
    report: str = Field(description="The report as Markdown, with the rows and the SQL behind it, or the error.")
    trace_id: str = Field(description="The id of the run on the record, for the tool `datasphinx_explain_answer`.")
    run: str | None = Field(description="What to call again with if the status is `running`.")
    error: ErrorInfo | None


async def write_report(arguments: ReportRequest, call: Call) -> ReportAnswer:
    """Write a report; its questions ask the user nothing.

    Raises:
        RequestValidationError, SourceNotFound: an argument is invalid.
    """
    if arguments.source is not None:
        resolve_source(call.services, arguments.source)
    inputs: dict[str, Any] = {"question": arguments.request, "clarify": "never"}
    inputs |= arguments.model_dump(include={"source", "questions"}, exclude_none=True)
    run = known_run(call.report, arguments.run) if arguments.run else await start(call, call.report, inputs)
    if not await follow(call, run):
        return ReportAnswer(status="running", report=STILL_RUNNING, trace_id="", run=run.id, error=None)
    reply = run.result["reply"]
    written = reply.get("report")
    return ReportAnswer(
        status=reply["status"],
        report=markdown_without_secrets(written, language_in(reply)) if written else reply["answer"],
        trace_id=reply["audit"]["trace_id"],
        run=None,
        error=reply.get("error"),
    )
