"""What an endpoint accepts: assumed at first, and learned from its rejections."""

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

from datasphinx.agent.llm.rejections import names_format

if TYPE_CHECKING:
    import openai

MODES = ("json_schema", "json_object", "text")
"""Response formats, strictest first."""


class Capabilities:
    """What an endpoint and a model accept. Shared by the chat model and all copies of a client. Thread-safe."""

    def __init__(self, setting: str) -> None:
        """Assume that the endpoint accepts all parts of a request; `setting` is `llm_structured_output`."""
        self.modes: tuple[str, ...] = MODES if setting == "auto" else (setting,)
        """The response formats to try, strictest first."""
        self.calls_tools = setting == "auto"
        """Whether to request tool calls in the endpoint's own format."""
        self.schema_in_prompt = False
        """Whether the model follows a schema only if the prompt contains it."""
        self.returns_reasoning = False
        """Whether the model has returned reasoning; it is then not asked for fields in which to reason."""
        self.rejections: dict[str, str] = {}
        """By part of a request (see `PARTS`) that the endpoint rejected, the text of the error."""
        self._unexplained_errors = 0
        self._lock = threading.Lock()

    def note_rejected_part(self, part: str, text: str) -> None:
        """Leave `part` out of requests from now on; `text` is the text of the error."""
        with self._lock:
            self.rejections = {**self.rejections, part: text}

    def candidates(self, *, with_tools: bool) -> tuple[str, ...]:
        """Return the modes to try for one call, in order; `with_tools` if it may be a call of a tool."""
        return ("tools", *self.modes) if with_tools and self.calls_tools else self.modes

    def note_accepted(self, mode: str, candidates: Sequence[str], rejection: "openai.APIStatusError | None") -> None:
        """Stop trying the modes before `mode`, which the endpoint rejected with `rejection`.

        A server error that names no format may be a temporary failure, so it counts from the second time on.
        """
        if rejection is None:
            return
        with self._lock:
            if rejection.status_code >= 500 and not names_format(rejection):
                self._unexplained_errors += 1
                if self._unexplained_errors < 2:
                    return
            self.calls_tools = self.calls_tools and (mode == "tools" or "tools" not in candidates)
            if mode != "tools":
                self.modes = (mode,)
