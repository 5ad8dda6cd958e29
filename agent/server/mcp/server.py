"""The MCP server: tools for the tenant of a request, and their errors."""

import json
import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from fastapi.exceptions import RequestValidationError
from mcp.server import Server, ServerRequestContext
from mcp.server.context import CallNext, HandlerResult
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    InputRequiredResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
    ToolAnnotations,
)
from pydantic import BaseModel, ValidationError

from datasphinx.agent.core.failure import shown_error
from datasphinx.agent.core.text import valid_json
from datasphinx.agent.core.version import package_version
from datasphinx.agent.errors import InputInvalid
from datasphinx.agent.messages import Message
from datasphinx.agent.record.telemetry import remote_parent
from datasphinx.agent.server.background import domain_error, time_limit
from datasphinx.agent.server.errors import invalid_input
from datasphinx.agent.server.mcp.answering import Answer, Ask, ask
from datasphinx.agent.server.mcp.call import Call, request_language
from datasphinx.agent.server.mcp.explanation import Explanation, Trace, explain_answer
from datasphinx.agent.server.mcp.reporting import ReportAnswer, ReportRequest, write_report
from datasphinx.agent.server.mcp.schema import NoArguments, Schema, SchemaQuery, SourceList, list_sources, show_schema
from datasphinx.agent.server.mcp.statements import Check, Rows, Statement, check_sql, run_sql
from datasphinx.agent.server.metrics import Metrics
from datasphinx.agent.server.runnable import ServedGraph, plain_json
from datasphinx.agent.server.tenants import Tenant, current_tenant, set_tenant
from datasphinx.agent.settings import Settings

_Context = ServerRequestContext[Any, Any]

TENANT = "datasphinx.tenant"
"""The key of the tenant in the scope of an HTTP request."""
_NAME = "datasphinx"
_RUN_SQL = "datasphinx_run_sql"
_ANSWER_WITHIN_S = 86_400.0
"""Time in which a user can answer a clarifying question that a client puts by repeating its call, in seconds."""
_INSTRUCTIONS = (
    "Answers questions about databases. Prefer `datasphinx_ask` for questions about data: it writes, checks and runs "
    "the SQL, and returns the rows that support the answer. Continue a conversation with `thread`. State only figures "
    "of its output."
)


@dataclass(frozen=True)
class _Tool:
    """A tool: its description for the client's model, its arguments, its output, and the function that runs it."""

    name: str
    title: str
    description: str
    arguments: type[BaseModel]
    output: type[BaseModel]
    run: Callable[[Any, Call], Awaitable[BaseModel | InputRequiredResult]]

    def as_listed(self) -> Tool:
        """Return the tool as clients see it."""
        return Tool(
            name=self.name,
            title=self.title,
            description=self.description,
            input_schema=self.arguments.model_json_schema(),
            output_schema=self.output.model_json_schema(mode="serialization"),
            annotations=ToolAnnotations(read_only_hint=True, destructive_hint=False, open_world_hint=False),
        )


_TOOLS = (
    _Tool(
        "datasphinx_ask",
        "Ask a question",
        "Answer a question about a database in plain language. Returns the answer, the rows, the SQL and the "
        "confidence. If the status is `clarification`, put the question to the user and call again with `thread` and "
        "`clarification_answer`.",
        Ask,
        Answer,
        ask,
    ),
    _Tool(
        "datasphinx_report",
        "Write a report",
        "Answer a request that needs several answers, such as an overview, a comparison or a why, with a report whose "
        "figures come from the rows of its questions. It takes minutes; for one figure or table, use `datasphinx_ask`.",
        ReportRequest,
        ReportAnswer,
        write_report,
    ),
    _Tool(
        "datasphinx_sources",
        "List sources",
        "List the databases that can be asked.",
        NoArguments,
        SourceList,
        list_sources,
    ),
    _Tool(
        "datasphinx_schema",
        "Look up tables",
        "List the tables of a source with their columns, search them with `search`, or describe some with `tables`.",
        SchemaQuery,
        Schema,
        show_schema,
    ),
    _Tool(
        "datasphinx_check_sql",
        "Check a statement",
        "Check whether a SELECT statement is permitted and its names and types are right, without running it.",
        Statement,
        Check,
        check_sql,
    ),
    _Tool(
        "datasphinx_explain_answer",
        "Explain an answer",
        "Return the recorded steps and statements of an answer by its trace id.",
        Trace,
        Explanation,
        explain_answer,
    ),
    _Tool(
        _RUN_SQL,
        "Run a statement",
        "Run a SELECT statement and return its rows. Prefer `datasphinx_ask`, whose statement is checked against the "
        "question.",
        Statement,
        Rows,
        run_sql,
    ),
)


class _Handlers:
    """Handlers of the requests of MCP clients."""

    def __init__(self, agent: ServedGraph, report: ServedGraph, settings: Settings, metrics: Metrics) -> None:
        """Answer questions with `agent`, and count errors in `metrics`."""
        self._agent, self._report, self._metrics, self._seconds = agent, report, metrics, settings.request_timeout_s
        self._tools = {tool.name: tool for tool in _TOOLS if tool.name != _RUN_SQL or settings.run_sql}

    async def list_tools(self, context: _Context, _: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=[tool.as_listed() for tool in self._tools.values()])

    async def call_tool(self, context: _Context, params: CallToolRequestParams) -> CallToolResult | InputRequiredResult:
        """Run a tool; an error is a result that the client's model reads.

        Raises:
            MCPError: there is no such tool.
        """
        tool = self._tools.get(params.name)
        if tool is None:
            unknown = InputInvalid("name", Message("one_of", choices=", ".join(self._tools)))
            raise MCPError(INVALID_PARAMS, unknown.message(request_language(context)))
        try:
            arguments = tool.arguments.model_validate(valid_json(params.arguments or {}))
            # A question has a time limit for each of its runs, and one for each answer of the user.
            async with time_limit(None if tool.run in (ask, write_report) else self._seconds):
                output = await tool.run(arguments, Call(context, params, self._agent, self._report))
        except MCPError:
            raise
        except Exception as error:
            shown = self._error(error, context, tool.name)
            # Structured content would have to conform to the output schema, which clients check in errors too.
            return CallToolResult(content=[TextContent(text=shown["message"])], is_error=True, _meta={"error": shown})
        if isinstance(output, InputRequiredResult):
            return output
        plain = plain_json(output.model_dump())
        is_error = isinstance(output, Answer | ReportAnswer) and output.error is not None
        text = TextContent(text=json.dumps(plain, ensure_ascii=False))
        return CallToolResult(content=[text], structured_content=plain, is_error=is_error)

    def _error(self, error: Exception, context: _Context, place: str) -> dict[str, Any]:
        """Return code and message of an error, and count it; the details of a defect are only logged."""
        if isinstance(error, ValidationError | RequestValidationError):
            error = invalid_input(error, "arguments")
        failure = domain_error(error, f"[MCP] {place}")
        self._metrics.problem(failure.code)
        return {**shown_error(failure, current_tenant().services.settings, request_language(context))}


def build_server(agent: ServedGraph, report: ServedGraph, settings: Settings, metrics: Metrics) -> Server[Any]:
    """Return an MCP server whose tools for questions and reports run these graphs; errors are counted in `metrics`.

    A request is for the tenant in the scope of its HTTP request, or for the current tenant on stdio.
    """
    handlers = _Handlers(agent, report, settings, metrics)
    server: Server[Any] = Server(
        _NAME,
        version=package_version(),
        instructions=_INSTRUCTIONS,
        on_list_tools=handlers.list_tools,
        on_call_tool=handlers.call_tool,
    )
    # The state of a repeated call is sealed for the tenant, so the tenant has to be set first.
    # The default middleware of the package is left out: its spans have the texts of errors.
    server.middleware = [_use_tenant, RequestStateBoundary(_state_security(settings), default_audience=_NAME)]
    return server


async def _use_tenant(ctx: _Context, call_next: CallNext) -> HandlerResult:
    """Set tenant and trace of the HTTP request. A session has several requests, so its own context does not count."""
    if ctx.request is not None:
        tenant: Tenant = ctx.request.scope[TENANT]
        set_tenant(tenant, frozenset())
    if not current_tenant().services.settings.otel:
        return await call_next(ctx)
    carrier = {**(ctx.request.headers if ctx.request is not None else {}), **(ctx.meta or {})}
    with remote_parent({name: value for name, value in carrier.items() if isinstance(value, str)}):
        return await call_next(ctx)


def _state_security(settings: Settings) -> RequestStateSecurity:
    """Return the protection of the state of repeated calls, with the same key in all processes of a server."""
    hashes = sorted(key_hash for hashes in settings.api_keys.values() for key_hash in hashes)
    key = "".join(hashes).encode() or os.urandom(32)
    return RequestStateSecurity(keys=[key], ttl=_ANSWER_WITHIN_S, bind_principal=lambda _: current_tenant().name)
