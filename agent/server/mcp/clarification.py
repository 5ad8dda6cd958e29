"""Elicitation: clarifying questions that the MCP client puts to its user.

Clients of protocol versions up to 2025-11-25 are asked by a request during the tool call. Clients of later versions get
the question as the result of the call, and repeat the call with the answer. Other clients get an ordinary result with
the status `clarification`, and answer by a call with the thread.
"""

import asyncio
from typing import Any

from mcp.server import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CallToolRequestParams,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequiredResult,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from datasphinx.agent.answers.outputs import question_text
from datasphinx.agent.clarify.feedback import LONGEST_ANSWER
from datasphinx.agent.messages import language_in, render
from datasphinx.agent.types import ClarifyingQuestion

_REQUEST = "clarification"
_OPTION, _OWN_WORDS = "option", "own_words"


def can_elicit(context: ServerRequestContext[Any, Any]) -> bool:
    """Return whether the client can ask its user by a form during this call."""
    capabilities = context.session.client_capabilities
    elicitation = capabilities.elicitation if capabilities else None
    # Without modes, a client supports forms.
    if elicitation is None or (elicitation.form is None and elicitation.url is not None):
        return False
    return repeats_calls(context) or context.session.can_send_request


def repeats_calls(context: ServerRequestContext[Any, Any]) -> bool:
    """Return whether the client gets questions as results, and repeats the call with the answer."""
    return context.protocol_version in MODERN_PROTOCOL_VERSIONS


def question_result(question: ClarifyingQuestion, thread_id: str) -> InputRequiredResult:
    """Return `question` as the result of a call. The repeated call has the thread id in its state."""
    requests = {_REQUEST: ElicitRequest(params=_form(question))}
    return InputRequiredResult(input_requests=requests, request_state=thread_id)


def repeated_answer(params: CallToolRequestParams) -> str | None:
    """Return the user's answer in a repeated call; None if the user gave none."""
    response = (params.input_responses or {}).get(_REQUEST)
    return _answer(response) if isinstance(response, ElicitResult) else None


async def ask_user(context: ServerRequestContext[Any, Any], question: ClarifyingQuestion, seconds: float) -> str | None:
    """Put `question` to the user, and return the answer; None if no valid one comes within `seconds`."""
    form = _form(question)
    try:
        async with asyncio.timeout(seconds):
            response = await context.session.elicit_form(form.message, form.requested_schema, context.request_id)
    except (TimeoutError, MCPError, ValidationError):
        return None
    return _answer(response)


def _form(question: ClarifyingQuestion) -> ElicitRequestFormParams:
    labels = list(dict.fromkeys(option["label"] for option in question["options"]))
    own_words = render(_OWN_WORDS, language_in(question))
    properties = {
        _OPTION: {"type": "string", "title": question["question"], "enum": labels, "default": labels[0]},
        _OWN_WORDS: {"type": "string", "title": own_words, "maxLength": LONGEST_ANSWER, "default": ""},
    }
    return ElicitRequestFormParams(
        message=question_text(question), requested_schema={"type": "object", "properties": properties}
    )


def _answer(response: ElicitResult) -> str | None:
    if response.action != "accept" or not response.content:
        return None
    values = [response.content.get(name) for name in (_OWN_WORDS, _OPTION)]
    return next((value.strip() for value in values if isinstance(value, str) and value.strip()), None)
