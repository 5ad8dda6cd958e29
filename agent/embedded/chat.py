"""Chat model over the embedded model's servers: chooses a server, and restores its state after a prompt's beginning.

It sends the requests itself: to import the client of OpenAI takes a quarter of the time before the first one.
"""

import json
import logging
import time
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import httpx
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, convert_to_openai_messages
from langchain_core.messages.ai import UsageMetadata
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import Field, PrivateAttr

from datasphinx.agent.embedded import server
from datasphinx.agent.llm.rejections import ErrorReply, message_of_body, quotation
from datasphinx.agent.record.waiting import report_waiting
from datasphinx.agent.types import EmbeddedModel

logger = logging.getLogger("datasphinx")

_MIN_PREFIX_CHARS = 400
"""To read a shorter beginning of a prompt takes no longer than to restore a state."""


class EmbeddedChat(BaseChatModel):
    """Sends each request to the server with the number of threads that suits the machine at that time.

    The `timeout` of a request, in seconds, covers everything: waiting for other requests to the model, reading the
    prompt, and the answer.
    """

    cache_dir: Path = Field(exclude=True)
    tier: EmbeddedModel = Field(exclude=True)
    adapter: bool = Field(exclude=True)
    """See `datasphinx.agent.embedded.server.embedded_endpoint` for these."""
    model: str
    max_tokens: int
    """Token limit of an answer."""
    timeout: float
    """Seconds that a request may take if it does not say so itself."""
    disable_streaming: bool = True
    # A proxy configured in the environment cannot reach a loopback address, and no certificate is checked.
    _client: httpx.Client = PrivateAttr(default_factory=lambda: httpx.Client(trust_env=False, verify=False))
    _endpoint: server.Endpoint = PrivateAttr()
    _messages: list[BaseMessage] = PrivateAttr(default_factory=list)
    """The server that answered last, and the prompt."""

    @property
    def _llm_type(self) -> str:
        return "embedded"

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        *,
        timeout: float | None = None,
        extra_body: Mapping[str, Any] = MappingProxyType({}),
        **options: Any,
    ) -> ChatResult:
        timeout = self.timeout if timeout is None else timeout
        deadline = time.monotonic() + timeout
        if not server.request_lock.acquire(blocking=False):
            report_waiting("waiting_for_model")
            if not server.request_lock.acquire(timeout=timeout):
                raise TimeoutError("other requests to the embedded model took the whole time")
        try:
            if messages != self._messages:
                # All candidates for a question come from one server, which has read their prompt.
                self._endpoint = server.embedded_endpoint(self.cache_dir, self.tier, adapter=self.adapter)
                self._messages = messages
            self._read_prefix(messages, deadline)
            own = {"model": self.model, "max_completion_tokens": self.max_tokens, **({"stop": stop} if stop else {})}
            body = {**own, "messages": convert_to_openai_messages(messages), **options, **extra_body}
            return _result(self._post("/chat/completions", body, deadline))
        except httpx.HTTPStatusError as error:
            raise _rejection(error.response) from error
        finally:
            server.request_lock.release()

    def _post(self, path: str, body: dict[str, Any], deadline: float) -> Any:
        """Return the reply to a request.

        Raises:
            httpx.HTTPStatusError: the server rejects the request.
            TimeoutError, ConnectionError: there is no reply.
        """
        remaining = deadline - time.monotonic()
        if remaining <= 0:
            raise TimeoutError("no time is left")
        try:
            reply = self._client.post(
                f"{self._endpoint.url}{path}",
                json=body,
                headers={"Authorization": f"Bearer {self._endpoint.key}"},
                timeout=remaining,
            )
        except httpx.TimeoutException as error:
            raise TimeoutError(str(error)) from error
        except httpx.RequestError as error:
            raise ConnectionError(str(error)) from error
        return reply.raise_for_status().json()

    def _read_prefix(self, messages: list[BaseMessage], deadline: float) -> None:
        """Let the server read the beginning of the prompt, which ends before the question: from a file if possible."""
        description, _, _ = messages[-1].text.rpartition("\n\n")
        bodies = convert_to_openai_messages(messages)
        prefix = json.dumps([*bodies[:-1], description])
        if len(description) < _MIN_PREFIX_CHARS or prefix == self._endpoint.prefix:
            return

        def act(action: str, file_name: str) -> bool:
            try:
                self._post(f"/slots/0?action={action}", {"filename": file_name}, deadline)
            except httpx.HTTPStatusError:
                return False
            return True

        if not self._endpoint.prefixes.restore(prefix, act):
            try:
                prompt = self._post("/apply-template", {"messages": bodies}, deadline)["prompt"]
                end = prompt.rindex(messages[-1].text) + len(description)
                body = {"prompt": prompt[:end], "n_predict": 0, "cache_prompt": True}
                self._post("/completion", body, deadline)
            except httpx.HTTPStatusError as error:
                # The request itself, which has the whole prompt, gets the reason.
                logger.info("[MODEL] the beginning of a prompt cannot be read: %s", error)
                return
            self._endpoint.prefixes.save(prefix, act)
        self._endpoint.prefix = prefix


def _result(reply: Any) -> ChatResult:
    choice, usage = reply["choices"][0], reply.get("usage")
    tokens = None
    if usage:
        prompt, answer = usage["prompt_tokens"], usage["completion_tokens"]
        cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens") or 0
        tokens = UsageMetadata(
            input_tokens=prompt,
            output_tokens=answer,
            total_tokens=prompt + answer,
            input_token_details={"cache_read": cached},
        )
    message = AIMessage(
        choice["message"]["content"] or "",
        response_metadata={"finish_reason": choice.get("finish_reason"), "logprobs": choice.get("logprobs")},
        usage_metadata=tokens,
    )
    return ChatResult(generations=[ChatGeneration(message=message)])


def _rejection(reply: httpx.Response) -> ErrorReply | ConnectionError:
    """Return the error for a reply with an error status: the same request may succeed later if it is the server's."""
    try:
        text = quotation(message_of_body(reply.json()))
    except ValueError:
        text = quotation(reply.text)
    return ConnectionError(f"Error code: {reply.status_code} - {text}") if reply.is_server_error else ErrorReply(text)
