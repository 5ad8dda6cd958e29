"""A conversation about one question, as the methods hold it: ask, say that it is wrong, answer what is asked back."""

import time
import uuid
from dataclasses import dataclass
from typing import Any, Protocol, cast

from langgraph.checkpoint.memory import InMemorySaver

from agent.audit.events import Event
from agent.clarify.types import Clarify
from agent.evals.experiments.transcript import listening
from agent.graph import build_graph
from agent.services import Services
from agent.state import Output


@dataclass(frozen=True)
class Turn:
    """What came of one run of the graph: its output, what it put on the record, and how long it took."""

    output: Output
    events: list[Event]
    seconds: float = 0.0


class Session(Protocol):
    """The conversation. Unless `clarify` is "never", a turn may come back with a question in place of an answer."""

    def ask(self, clarify: Clarify = "never") -> Turn:
        """Put the question."""

    def reject(self, clarify: Clarify = "never") -> Turn:
        """Say that the last answer is wrong, and no more."""

    def answer(self, text: str, clarify: Clarify = "never") -> Turn:
        """Answer the question that came back, by the number of an option or in words."""


class GraphSession:
    """The conversation on a thread of a graph of its own, which is gone with it."""

    def __init__(self, services: Services, question: str, source: str) -> None:
        """Take the question and the URL of the database; `services` put what happens into a `Transcript`."""
        self._graph = build_graph(services, InMemorySaver())
        self._question, self._source = question, source
        self._thread = {"configurable": {"thread_id": uuid.uuid4().hex}}
        self._was_answered = False

    def ask(self, clarify: Clarify = "never") -> Turn:
        """Put the question."""
        return self._run({"question": self._question, "source": self._source, "clarify": clarify})

    def reject(self, clarify: Clarify = "never") -> Turn:
        """Say that the last answer is wrong; where there was none so far, put the question once more."""
        if not self._was_answered:
            return self.ask(clarify)
        return self._run({"feedback": {"accepted": False, "comment": ""}, "clarify": clarify})

    def answer(self, text: str, clarify: Clarify = "never") -> Turn:
        """Answer the question that came back."""
        return self._run({"clarification_answer": text, "clarify": clarify})

    def _run(self, given: dict[str, Any]) -> Turn:
        started = time.perf_counter()
        with listening() as events:
            output = cast(Output, self._graph.invoke(cast(Any, given), cast(Any, self._thread)))
        self._was_answered = self._was_answered or not (output.get("error") or output.get("clarification"))
        return Turn(output, events, time.perf_counter() - started)
