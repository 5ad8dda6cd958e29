"""Chat model for OpenAI-compatible endpoints, which differ in the requests they accept and the replies they send."""

import json
import logging
from collections.abc import Mapping
from typing import Any, cast

import openai
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.messages import BaseMessage
from langchain_core.outputs import ChatResult
from langchain_openai.chat_models.base import ChatOpenAI
from pydantic import Field

from datasphinx.agent.llm.capabilities import Capabilities
from datasphinx.agent.llm.json_text import json_text_of
from datasphinx.agent.llm.rejections import (
    PARTS,
    ErrorReply,
    UnexpectedReply,
    error_text,
    message_of_body,
    quotation,
    rejected_part,
)

logger = logging.getLogger("datasphinx")

STREAM = {"stream": True, "stream_options": {"include_usage": True}}
"""Fields of a request for a streamed reply; sent as extra fields, so that the client returns the whole reply."""
_REQUEST_OPTIONS = {"extra_headers": "headers", "extra_query": "params", "timeout": "timeout"}
"""Names of options of a request by those of the parameters of `chat.completions.create`."""
_REASONING_FIELDS = ("reasoning_content", "reasoning", "reasoning_details", "thinking")
_STREAMED_FIELDS = ("content", "reasoning_content", "reasoning", "refusal")


class EndpointChat(ChatOpenAI):
    """Chat model that leaves out the parts of a request that its endpoint rejects, and reads the replies of servers.

    A rejected part of `PARTS` is recognised by the text of the error; the request is sent again without that part, and
    later requests leave it out. Safe to share between threads.
    """

    capabilities: Capabilities = Field(exclude=True)
    """What the endpoint is known to accept."""
    disable_streaming: bool = True

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        for _ in PARTS:
            rejected = frozenset(self.capabilities.rejections)
            try:
                return self._complete(messages, stop, run_manager, **kwargs)
            except (openai.BadRequestError, openai.UnprocessableEntityError, openai.InternalServerError) as error:
                part = rejected_part(error, rejected)
                if part is None:
                    raise
                logger.info("[MODEL] the endpoint rejects %s: %s", part, error_text(error))
                self.capabilities.note_rejected_part(part, error_text(error))
        return self._complete(messages, stop, run_manager, **kwargs)

    def _complete(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        payload = self._get_request_payload(messages, stop=stop, **kwargs)
        fields = {name: payload.pop(name) for name in ("extra_body", *_REQUEST_OPTIONS) if name in payload}
        options = {_REQUEST_OPTIONS[name]: value for name, value in fields.items() if name in _REQUEST_OPTIONS}
        body = {**payload, **fields["extra_body"]}
        try:
            # `chat.completions.create` would convert each field of the request and of the reply.
            reply = self.root_client.post(
                "/chat/completions", cast_to=object, body=body, options=cast(openai.RequestOptions, options)
            )
        except json.JSONDecodeError as error:
            if error.doc.lstrip().startswith("{") and len(error.doc.splitlines()) == 1:
                raise ValueError("the reply was cut off") from error
            # The content type is JSON, and the body is not.
            reply = _body_of(error.doc)
        return self._create_chat_result(cast(Any, reply))

    def _get_request_payload(self, *arguments: Any, **kwargs: Any) -> dict[str, Any]:
        payload: dict[str, Any] = super()._get_request_payload(*arguments, **kwargs)
        rejected = self.capabilities.rejections.keys()
        for name in {"temperature", "parallel_tool_calls"} & rejected:
            payload.pop(name, None)
        if "system_role" in rejected:
            payload["messages"] = [
                message | {"role": "user"} if message["role"] in ("system", "developer") else message
                for message in payload["messages"]
            ]
        if {"system_role", "consecutive_messages"} & rejected:
            payload["messages"] = _with_alternating_roles(payload["messages"])
        extra_body = {**payload.get("extra_body", {}), **(STREAM if "non_streaming" in rejected else {})}
        # OpenAI's client would convert each message, see `body_options`; the extra fields replace its own.
        return {**payload, "messages": [], "extra_body": {**extra_body, "messages": payload["messages"]}}

    def _create_chat_result(
        self, response: "dict[str, Any] | openai.BaseModel", generation_info: dict[str, Any] | None = None
    ) -> ChatResult:
        completion = _completion(response)
        result = super()._create_chat_result(completion, generation_info)
        received, message = completion["choices"][0]["message"], result.generations[0].message
        if refusal := received.get("refusal"):
            message.additional_kwargs["refusal"] = str(refusal)
        message.response_metadata |= {
            "reasoning_fields": [name for name in _REASONING_FIELDS if received.get(name)],
        }
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
        raise ErrorReply(quotation(message_of_body(error)))
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
    choice = {"index": 0, "message": message, "finish_reason": finish_reason}
    return body | {"choices": [choice]}


def _choice(choice: Any) -> dict[str, Any]:
    """Return `choice` with a message that has a role, text content, and tool calls with arguments as text."""
    if not isinstance(choice, dict):
        raise UnexpectedReply(quotation(json.dumps(choice, ensure_ascii=False)))
    message = choice.get("message") or choice.get("delta") or {"content": choice.get("text")}
    if isinstance(message, str):
        message = {"content": message}
    if error := choice.get("error"):
        raise ErrorReply(quotation(message_of_body(error)))
    content, calls = message.get("content"), message.get("tool_calls") or message.get("function_call") or []
    if isinstance(content, dict):
        content = content.get("text") or json.dumps(content, ensure_ascii=False)
    if isinstance(content, list):
        # Thinking models send their reasoning as parts of other types.
        parts = [part if isinstance(part, dict) else {"text": str(part)} for part in content]
        content = "".join(part.get("text") or "" for part in parts if part.get("type") in ("text", "output_text", None))
        calls = calls or [part for part in parts if part.get("type") == "tool_use"]
        message = {**message, "thinking": [part for part in parts if part.get("type") in ("thinking", "reasoning")]}
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
    return json_text_of(next((function[name] for name in names if function.get(name) is not None), {}))
