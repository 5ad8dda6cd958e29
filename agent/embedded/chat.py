"""Chat model over the embedded model's servers: chooses a server, and restores its state after a prompt's beginning."""

import json
import logging
import math
import time
from pathlib import Path
from typing import Any

import openai
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.messages import BaseMessage, convert_to_openai_messages
from langchain_core.outputs import ChatResult
from pydantic import Field, PrivateAttr

from datasphinx.agent.embedded import server
from datasphinx.agent.llm.endpoint import EndpointChat
from datasphinx.agent.record.waiting import report_waiting
from datasphinx.agent.types import EmbeddedModel

logger = logging.getLogger("datasphinx")

_MIN_PREFIX_CHARS = 400
"""To read a shorter beginning of a prompt takes no longer than to restore a state."""


class EmbeddedChat(EndpointChat):
    """Sends each request to the server with the number of threads that suits the machine at that time.

    The `timeout` of a request, in seconds, covers everything: waiting for other requests to the model, reading the
    prompt, and the answer.
    """

    cache_dir: Path = Field(exclude=True)
    tier: EmbeddedModel = Field(exclude=True)
    adapter: bool = Field(exclude=True)
    """See `datasphinx.agent.embedded.server.embedded_endpoint` for these."""
    _endpoint: server.Endpoint = PrivateAttr()
    _messages: list[BaseMessage] = PrivateAttr(default_factory=list)
    """The server that answered last, and the prompt."""

    def _complete(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        timeout = kwargs.get("timeout", self.request_timeout)
        deadline = math.inf if timeout is None else time.monotonic() + timeout
        if not server.request_lock.acquire(blocking=False):
            report_waiting("waiting_for_model")
            if not server.request_lock.acquire(timeout=-1 if timeout is None else timeout):
                raise TimeoutError("other requests to the embedded model took the whole time")
        try:
            if messages != self._messages:
                # All candidates for a question come from one server, which has read their prompt.
                self._endpoint = server.embedded_endpoint(self.cache_dir, self.tier, adapter=self.adapter)
                self._messages = messages
            self.root_client.base_url, self.root_client.api_key = self._endpoint.url, self._endpoint.key
            self._read_prefix(messages, deadline)
            return super()._complete(messages, stop, run_manager, **{**kwargs, "timeout": _remaining(deadline)})
        finally:
            server.request_lock.release()

    def _read_prefix(self, messages: list[BaseMessage], deadline: float) -> None:
        """Let the server read the beginning of the prompt, which ends before the question: from a file if possible."""
        description, _, _ = messages[-1].text.rpartition("\n\n")
        bodies = convert_to_openai_messages(messages)
        prefix = json.dumps([*bodies[:-1], description])
        if len(description) < _MIN_PREFIX_CHARS or prefix == self._endpoint.prefix:
            return

        def post(path: str, body: dict[str, Any]) -> Any:
            return self.root_client.post(path, cast_to=object, body=body, options={"timeout": _remaining(deadline)})

        def act(action: str, file_name: str) -> bool:
            try:
                post(f"/slots/0?action={action}", {"filename": file_name})
            except openai.APIStatusError:
                return False
            return True

        if not self._endpoint.prefixes.restore(prefix, act):
            try:
                prompt = post("/apply-template", {"messages": bodies})["prompt"]
                end = prompt.rindex(messages[-1].text) + len(description)
                post("/completion", {"prompt": prompt[:end], "n_predict": 0, "cache_prompt": True})
            except openai.APIStatusError as error:
                # The request itself, which has the whole prompt, gets the reason.
                logger.info("[MODEL] the beginning of a prompt cannot be read: %s", error)
                return
            self._endpoint.prefixes.save(prefix, act)
        self._endpoint.prefix = prefix


def _remaining(deadline: float) -> float | None:
    return None if deadline == math.inf else max(0.0, deadline - time.monotonic())
