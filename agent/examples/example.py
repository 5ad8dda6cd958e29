"""One few-shot example: a question about a source and the statement that answers it."""

import hashlib
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from agent.clarify.types import Clarification

_DIGITS = 16


@dataclass(frozen=True)
class Example:
    """A question, the SQL that answers it, and what was cleared up on the way.

    `source` is what `agent.catalog.cache.source_identity` says, so that a database has its examples under any name.
    """

    question: str
    sql: str
    source: str
    clarifications: list[Clarification] = field(default_factory=list)

    @cached_property
    def id(self) -> str:
        """What tells it from others: the source and the question, whatever its spaces and capitals."""
        words = " ".join(self.question.split()).casefold()
        digest = hashlib.sha256(f"{self.source}\n{words}".encode("utf-8", "backslashreplace"))
        return f"ex_{digest.hexdigest()[:_DIGITS]}"

    def shown(self) -> dict[str, Any]:
        """Return what a model is shown of it, with its id, as JSON holds it."""
        return {
            "id": self.id,
            "question": self.question,
            "sql": self.sql,
            "clarifications": self.clarifications,
        }
