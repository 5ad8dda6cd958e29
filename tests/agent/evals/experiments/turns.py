"""Scripted turns of a conversation, and a session that returns them in order."""

from collections.abc import Iterable
from typing import Any

from datasphinx.agent.evals.experiments.rounds import Turn
from datasphinx.agent.record.events import Event
from datasphinx.agent.record.step import new_audit


def event(kind: Any, **body: Any) -> Event:
    return Event("trace", "2025-01-01T00:00:00", kind, body)


def call(schema: str, output: str, prompt: str = "", perplexity: float | None = None) -> Event:
    measured = {} if perplexity is None else {"perplexity": perplexity}
    return event("llm", schema=schema, output=output, messages=[{"role": "human", "content": prompt}], **measured)


def step(node: str, notes: Iterable[str] = (), **facts: Any) -> Event:
    return event("step", node=node, notes=list(notes), **facts)


def written(sql: str, prompt: str = "write", perplexity: float | None = None) -> list[Event]:
    """The recorded events of a generated statement."""
    return [call("GeneratedSQL", f'{{"sql": "{sql}"}}', prompt, perplexity), step("generate_sql", sql_request=sql)]


def answered(sql: str, *before: Event) -> Turn:
    """A turn that ends in an answer by `sql`."""
    return Turn(made(sql=sql), [*before, *written(sql)])


def asked(question: str, *labels: str, review: str = "{}", prompt: str = "review") -> Turn:
    """A turn that ends in a clarifying question."""
    options = [{"label": label, "reading": label, "preview": None} for label in labels]
    clarification = {"question": question, "ambiguity_type": "AmbOutput", "options": options}
    return Turn(made(clarification=clarification), [call("AmbiguityReview", review, prompt)])


def made(**output: Any) -> Any:
    spent = {**new_audit("trace"), "llm_calls": 1, "prompt_tokens": 10, "completion_tokens": 5, "llm_cost_usd": 0.01}
    given = {"sql": None, "tables": [], "clarification": None, "error": None, "answer": "", **output}
    return {**given, "audit": spent}


class FakeSession:
    """Returns `turns` in order, and records the calls."""

    def __init__(self, *turns: Turn) -> None:
        self.turns = list(turns)
        self.heard: list[tuple[str, ...]] = []

    def ask(self, clarify: str = "never") -> Turn:
        return self._next("ask", clarify)

    def reject(self, clarify: str = "never") -> Turn:
        return self._next("reject", clarify)

    def answer(self, text: str, clarify: str = "never") -> Turn:
        return self._next("answer", text, clarify)

    def _next(self, *said: str) -> Turn:
        self.heard.append(said)
        return self.turns.pop(0)
