"""Errors of an endpoint: their text, and the part of the request that they reject."""

import json
import re
from collections.abc import Container
from html import unescape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import openai

PARTS = {
    "temperature": re.compile(r"temperature", re.I),
    "parallel_tool_calls": re.compile(r"parallel[_ ]tool", re.I),
    "consecutive_messages": re.compile(r"roles? must (strictly )?alternate|alternat\w+ (between )?(roles|user)", re.I),
    "system_role": re.compile(
        r"(system|developer)\W{0,3}(role|message|prompt|instruction)|role\W{1,4}system|not support \W?system|"
        r"only user and assistant roles",
        re.I,
    ),
    "non_streaming": re.compile(
        r"only supports? (the )?stream|stream\w*\W{1,4}(mode )?(must be|is required|required)|"
        r"non.?streaming .{0,20}not|(must|please) (set|enable|use) .{0,10}stream",
        re.I,
    ),
}
"""By part of a request that an endpoint may reject, a pattern of the error messages; the first match counts."""

_FORMAT = re.compile(
    r"response.?format|json.?schema|json.?object|json.?mode|structured|grammar|guided|tools?\b|tool.?(use|call|choice)|"
    r"function.?call|functions?\b|requested parameters",
    re.I,
)
_QUOTE_CHARS = 160
_ERROR_CHARS = 280


class UnexpectedReply(ValueError):
    """The endpoint sent a reply that is no chat completion; the message quotes it."""


class ErrorReply(UnexpectedReply):
    """The endpoint sent an error with status 200; the message quotes it."""


def openai_errors() -> Any:
    """Return the package `openai`, with whose errors an error is compared; no other use of a model imports it."""
    import openai

    return openai


def error_text(error: "openai.APIStatusError") -> str:
    """Return the message of an error response; in an unknown format, the start of its body."""
    try:
        text = message_of_body(error.response.json())
    except ValueError:
        text = error.response.text
    return quotation(text, _ERROR_CHARS)


def message_of_body(body: Any) -> str:
    """Return the message in the body of an error.

    >>> message_of_body([{"error": {"code": 400, "message": "API key not valid", "status": "INVALID_ARGUMENT"}}])
    'API key not valid'
    >>> message_of_body({"detail": [{"loc": ["body", "temperature"], "msg": "not permitted"}]})
    '[{"loc": ["body", "temperature"], "msg": "not permitted"}]'
    """
    if isinstance(body, list) and len(body) == 1:
        body = body[0]
    for name in ("error", "message", "detail", "errors", "msg", "errorMessage"):
        if isinstance(body, dict) and body.get(name):
            body = body[name]
    return body if isinstance(body, str) else json.dumps(body, ensure_ascii=False)


def rejected_part(error: "openai.APIStatusError", known: Container[str]) -> str | None:
    """Return the first of `PARTS` that the error text is about and that is not in `known`, or None."""
    text = error_text(error)
    return next((name for name, pattern in PARTS.items() if name not in known and pattern.search(text)), None)


def names_format(error: "openai.APIStatusError") -> bool:
    """Return whether the error text is about response formats, tools or functions.

    >>> import openai
    >>> from httpx import Request, Response
    >>> body = {"error": "No endpoints found that support tool use."}
    >>> reply = Response(404, json=body, request=Request("POST", "http://localhost"))
    >>> names_format(openai.NotFoundError("", response=reply, body=None))
    True
    """
    return _FORMAT.search(error_text(error)) is not None


def may_reject_format(error: "openai.APIStatusError") -> bool:
    """Return whether `error` may be the rejection of a response format or of tools: some servers answer with 500."""
    return error.status_code in (400, 422, 500, 501) or (error.status_code == 404 and names_format(error))


def prevent_retry(response: Any) -> None:
    """Event hook: tell OpenAI's client not to repeat a request unchanged after status 500 or 501, or without quota.

    Some servers fail with 500 on a response format they do not know; the caller repeats the request without it.
    """
    if response.status_code in (500, 501) or (response.status_code == 429 and b"insufficient_quota" in response.read()):
        response.headers["x-should-retry"] = "false"


def quotation(text: str, limit: int = _QUOTE_CHARS) -> str:
    """Return the first `limit` characters of a reply in one line, without the markup of a web page.

    >>> quotation("<html><head><title>Sign in</title></head><body>Your account</body></html>")
    'Sign in Your account'
    """
    if re.search(r"<(!doctype|html|head|body)\b", text, re.I):
        text = unescape(re.sub(r"<(script|style)\b.*?</\1>|<[^>]*>", " ", text, flags=re.I | re.S))
    line = " ".join(text.split()) or "an empty body"
    return line if len(line) <= limit else f"{line[:limit]}…"
