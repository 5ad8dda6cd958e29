"""Chat model for OpenAI-compatible endpoints, which differ in the requests they accept and the replies they send."""

import json
import logging
import re
import threading
from collections.abc import Mapping
from html import unescape
from typing import Any
from urllib.parse import urlsplit

import openai
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.messages import BaseMessage
from langchain_core.outputs import ChatResult
from langchain_openai import ChatOpenAI
from pydantic import PrivateAttr

logger = logging.getLogger("datasphinx")

_RESTRICTIONS = {
    "temperature": re.compile(r"temperature", re.I),
    "parallel_tool_calls": re.compile(r"parallel[_ ]tool", re.I),
    "alternating_roles": re.compile(r"roles? must (strictly )?alternate|alternat\w+ (between )?(roles|user)", re.I),
    "system_role": re.compile(
        r"(system|developer)\W{0,3}(role|message|prompt|instruction)|role\W{1,4}system|not support \W?system|"
        r"only user and assistant roles",
        re.I,
    ),
}
"""Patterns of error messages, by the part of a request that an endpoint may reject; the first match counts."""

_FORMAT = re.compile(
    r"response.?format|json.?schema|json.?object|json.?mode|structured|grammar|guided|tools?\b|tool.?(use|call|choice)|"
    r"function.?call|functions?\b|requested parameters",
    re.I,
)
_REASONING_FIELDS = ("reasoning_content", "reasoning", "reasoning_details", "thinking")
_STREAMED_FIELDS = ("content", "reasoning_content", "reasoning", "refusal")
_QUOTE_CHARS = 160
_ERROR_CHARS = 280


class UnexpectedReply(ValueError):
    """The endpoint sent a reply that is no chat completion; the message quotes it."""


class ErrorReply(UnexpectedReply):
    """The endpoint sent an error with status 200; the message quotes it."""


def error_text(error: openai.APIStatusError) -> str:
    """Return the message of an error response; in an unknown format, the start of its body."""
    try:
        text = _message_of(error.response.json())
    except ValueError:
        text = error.response.text
    return quotation(text, _ERROR_CHARS)


def _message_of(body: Any) -> str:
    """Return the message in the body of an error.

    >>> _message_of([{"error": {"code": 400, "message": "API key not valid", "status": "INVALID_ARGUMENT"}}])
    'API key not valid'
    >>> _message_of({"detail": [{"loc": ["body", "temperature"], "msg": "not permitted"}]})
    '[{"loc": ["body", "temperature"], "msg": "not permitted"}]'
    """
    if isinstance(body, list) and len(body) == 1:
        body = body[0]
    for name in ("error", "message", "detail", "errors", "msg", "errorMessage"):
        if isinstance(body, dict) and body.get(name):
            body = body[name]
    return body if isinstance(body, str) else json.dumps(body, ensure_ascii=False)


def names_format(error: openai.APIStatusError) -> bool:
    """Return whether the error text is about response formats, tools or functions.

    >>> from httpx import Request, Response
    >>> body = {"error": "No endpoints found that support tool use."}
    >>> reply = Response(404, json=body, request=Request("POST", "http://localhost"))
    >>> names_format(openai.NotFoundError("", response=reply, body=None))
    True
    """
    return _FORMAT.search(error_text(error)) is not None


def may_reject_format(error: openai.APIStatusError) -> bool:
    """Return whether `error` may be the rejection of a response format or of tools: some servers answer with 500."""
    return error.status_code in (400, 422, 500, 501) or (error.status_code == 404 and names_format(error))


def prevent_retry(response: Any) -> None:
    """Event hook: tell OpenAI's client not to repeat a request unchanged after status 500 or 501, or without quota.

    Some servers fail with 500 on a response format they do not know; the caller repeats the request without it.
    """
    if response.status_code in (500, 501) or (response.status_code == 429 and b"insufficient_quota" in response.read()):
        response.headers["x-should-retry"] = "false"


class EndpointChat(ChatOpenAI):
    """Chat model that learns which parts of a request its endpoint rejects, and reads the replies of other servers.

    Rejections of the temperature, of the system role, of consecutive messages of one role, and of
    `parallel_tool_calls` are recognised by the text of the error; the request is sent again without that part, and
    later requests leave it out. Safe to share between threads.
    """

    _restrictions: set[str] = PrivateAttr(default_factory=set)
    _lock: threading.Lock = PrivateAttr(default_factory=threading.Lock)

    @property
    def restrictions(self) -> frozenset[str]:
        """Parts that the endpoint rejected: temperature, parallel_tool_calls, alternating_roles, system_role."""
        return frozenset(self._restrictions)

    def restrict(self, *names: str) -> None:
        """Leave out the named parts of requests from now on."""
        with self._lock:
            self._restrictions |= set(names)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        for _ in _RESTRICTIONS:
            restrictions = self.restrictions
            try:
                return self._complete(messages, stop, run_manager, **kwargs)
            except (openai.BadRequestError, openai.UnprocessableEntityError, openai.InternalServerError) as error:
                text = error_text(error)
                matches = (name for name, pattern in _RESTRICTIONS.items() if pattern.search(text))
                restriction = next((name for name in matches if name not in restrictions), None)
                if restriction is None:
                    raise
                logger.info("[MODEL] the endpoint rejects %s: %s", restriction, text)
                self.restrict(restriction)
        return self._complete(messages, stop, run_manager, **kwargs)

    def _complete(self, *arguments: Any, **kwargs: Any) -> ChatResult:
        try:
            return super()._generate(*arguments, **kwargs)
        except json.JSONDecodeError as error:
            if error.doc.lstrip().startswith("{") and len(error.doc.splitlines()) == 1:
                raise ValueError("the reply was cut off") from error
            # The content type is JSON, and the body is not.
            return self._create_chat_result(_body_of(error.doc))

    def _get_request_payload(self, *arguments: Any, **kwargs: Any) -> dict[str, Any]:
        payload: dict[str, Any] = super()._get_request_payload(*arguments, **kwargs)
        for name in {"temperature", "parallel_tool_calls"} & self._restrictions:
            payload.pop(name, None)
        if "system_role" in self._restrictions:
            payload["messages"] = [
                message | {"role": "user"} if message["role"] in ("system", "developer") else message
                for message in payload["messages"]
            ]
        if {"system_role", "alternating_roles"} & self._restrictions:
            payload["messages"] = _with_alternating_roles(payload["messages"])
        return payload

    def _create_chat_result(
        self, response: "dict[str, Any] | openai.BaseModel", generation_info: dict[str, Any] | None = None
    ) -> ChatResult:
        completion = _completion(response)
        result = super()._create_chat_result(completion, generation_info)
        received, message = completion["choices"][0]["message"], result.generations[0].message
        if refusal := received.get("refusal"):
            message.additional_kwargs["refusal"] = str(refusal)
        message.response_metadata["reasoning_fields"] = [name for name in _REASONING_FIELDS if received.get(name)]
        return result


def _with_alternating_roles(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return `messages` with consecutive messages of one role joined by a blank line."""
    merged: list[dict[str, Any]] = []
    for message in messages:
        if merged and merged[-1]["role"] == message["role"]:
            merged[-1] = message | {"content": f"{merged[-1]['content']}\n\n{message['content']}"}
        else:
            merged.append(message)
    return merged


def _completion(response: Any) -> dict[str, Any]:
    """Return the chat completion in a reply, in the form of OpenAI.

    Raises:
        UnexpectedReply: the reply is no completion, such as a web page or a cut-off stream.
        ErrorReply: the reply is an error.
    """
    body = response.model_dump(warnings=False) if isinstance(response, openai.BaseModel) else response
    if isinstance(body, str):
        body = _body_of(body)
    if not isinstance(body, dict):
        raise UnexpectedReply(quotation(json.dumps(body, ensure_ascii=False)))
    choices = body.get("choices")
    if error := body.get("error") or (not choices and body.get("detail")):
        raise ErrorReply(quotation(_message_of(error)))
    if not isinstance(choices, list) or not choices:
        fields = {key: value for key, value in body.items() if value is not None}
        raise UnexpectedReply(quotation(json.dumps(fields, ensure_ascii=False, default=str)))
    usage = body.get("usage")
    counts = [usage.get(name) for name in ("prompt_tokens", "completion_tokens")] if isinstance(usage, dict) else [None]
    is_usable = all(isinstance(count, int) for count in counts)
    return body | {"choices": [_choice(choices[0])], "usage": usage if is_usable else None}


def _body_of(text: str) -> Any:
    """Return the JSON of a reply with another content type: JSON, or a stream that was not requested."""
    try:
        return json.loads(text)
    except ValueError:
        lines = [
            line for line in text.splitlines() if line.strip() and not line.startswith((":", "event:", "id:", "retry:"))
        ]
        if lines and all(line.startswith(("data:", "{")) for line in lines):
            chunks = [json.loads(data) for line in lines if (data := line.removeprefix("data:").strip()) != "[DONE]"]
            return chunks[0] if len(chunks) == 1 and "delta" not in text else _join_chunks(chunks)
        raise UnexpectedReply(quotation(text)) from None


def _join_chunks(chunks: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the completion that was streamed in `chunks`."""
    message: dict[str, Any] = {"role": "assistant"}
    calls: dict[int, dict[str, Any]] = {}
    body: dict[str, Any] = {}
    finish_reason = None
    for chunk in chunks:
        body |= {key: value for key, value in chunk.items() if value is not None and key != "choices"}
        choice = (chunk.get("choices") or [{}])[0]
        finish_reason = choice.get("finish_reason") or finish_reason
        delta = choice.get("delta") or choice.get("message") or {}
        for name in _STREAMED_FIELDS:
            if isinstance(delta.get(name), str):
                message[name] = message.get(name, "") + delta[name]
        for at, part in enumerate(delta.get("tool_calls") or ()):
            function = part.get("function") or {}
            call = calls.setdefault(part.get("index", at), {"id": part.get("id") or "", "name": "", "arguments": ""})
            call["name"] += function.get("name") or ""
            call["arguments"] += function.get("arguments") or ""
    if calls:
        message["tool_calls"] = [
            {"id": call.pop("id"), "type": "function", "function": call} for _, call in sorted(calls.items())
        ]
    if finish_reason is None and not body.get("error"):
        raise ValueError("the stream ended before the answer was complete")
    return body | {"choices": [{"index": 0, "message": message, "finish_reason": finish_reason}]}


def _choice(choice: Any) -> dict[str, Any]:
    """Return `choice` with a message that has a role, text content, and tool calls with arguments as text."""
    if not isinstance(choice, dict):
        raise UnexpectedReply(quotation(json.dumps(choice, ensure_ascii=False)))
    message = choice.get("message") or choice.get("delta") or {"content": choice.get("text")}
    if isinstance(message, str):
        message = {"content": message}
    if error := choice.get("error"):
        raise ErrorReply(quotation(_message_of(error)))
    content, calls = message.get("content"), message.get("tool_calls") or message.get("function_call") or []
    if isinstance(content, dict):
        content = content.get("text") or json.dumps(content, ensure_ascii=False)
    if isinstance(content, list):
        # Thinking models send their reasoning as parts of other types.
        parts = [part if isinstance(part, dict) else {"text": str(part)} for part in content]
        content = "".join(part.get("text") or "" for part in parts if part.get("type") in ("text", "output_text", None))
        calls = calls or [part for part in parts if part.get("type") == "tool_use"]
    calls = [calls] if isinstance(calls, dict) else calls
    functions = [call.get("function") or call for call in calls if isinstance(call, dict)]
    tool_calls = [
        {
            "id": f"call_{at}",
            "type": "function",
            "function": {"name": function["name"], "arguments": _arguments_text(function)},
        }
        for at, function in enumerate(functions)
        if function.get("name")
    ]
    fields = {"role": "assistant", "content": content if isinstance(content, str) else "", "tool_calls": tool_calls}
    return choice | {"message": {**message, **fields, "function_call": None}}


def _arguments_text(function: Mapping[str, Any]) -> str:
    """Return the arguments of a call as JSON; some servers send them as an object, or encode them twice."""
    names = ("arguments", "parameters", "input")
    arguments: Any = next((function[name] for name in names if function.get(name) is not None), {})
    if not isinstance(arguments, str):
        return json.dumps(arguments, ensure_ascii=False)
    try:
        decoded = json.loads(arguments)
    except ValueError:
        return arguments
    return decoded if isinstance(decoded, str) else arguments


def quotation(text: str, limit: int = _QUOTE_CHARS) -> str:
    """Return the first `limit` characters of a reply in one line, without the markup of a web page.

    >>> quotation("<html><head><title>Sign in</title></head><body>Your account</body></html>")
    'Sign in Your account'
    """
    if re.search(r"<(!doctype|html|head|body)\b", text, re.I):
        text = unescape(re.sub(r"<(script|style)\b.*?</\1>|<[^>]*>", " ", text, flags=re.I | re.S))
    line = " ".join(text.split()) or "an empty body"
    return line if len(line) <= limit else f"{line[:limit]}…"


def lacks_version(url: str) -> bool:
    """Return whether the path of a base URL is empty, while most endpoints have theirs at /v1.

    >>> lacks_version("http://localhost:11434"), lacks_version("http://localhost:11434/v1")
    (True, False)
    """
    return urlsplit(url).path.strip("/") == ""
