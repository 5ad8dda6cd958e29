"""The output of a run."""

from dataclasses import dataclass, field
from typing import Any

from datasphinx.agent.messages import Language
from datasphinx.agent.types import (
    Alternative,
    AnswerChart,
    AnswerTable,
    AppliedDefinition,
    ClarifyingQuestion,
    Confidence,
    ErrorInfo,
    OutputType,
    Status,
    VerifiedAnswer,
)


@dataclass
class Answer:
    """The output of a run without its audit. `agent.state.Output` describes the fields."""

    answer: str
    language: Language
    logged_answer: str = ""
    """The text without secret values, for the event log and for later prompts; by default `answer`."""
    output_type: OutputType | None = None
    value: Any = None
    sql: str | None = None
    tables: list[AnswerTable] = field(default_factory=list)
    charts: list[AnswerChart] = field(default_factory=list)
    confidence: Confidence | None = None
    status: Status = "ok"
    alternatives: list[Alternative] = field(default_factory=list)
    clarification: ClarifyingQuestion | None = None
    definitions: list[AppliedDefinition] = field(default_factory=list)
    filters: list[str] = field(default_factory=list)
    checked: bool = False
    metric: bool = False
    chosen: bool = False
    verified: VerifiedAnswer | None = None
    follow_ups: list[str] = field(default_factory=list)
    error: ErrorInfo | None = None

    def __post_init__(self) -> None:
        self.logged_answer = self.logged_answer or self.answer

    def add(self, paragraph: str, *, is_first: bool = False) -> None:
        """Add `paragraph` to the text, unless it is empty: at its end, or before all others."""
        if paragraph:
            self.answer, self.logged_answer = (
                f"{paragraph}\n\n{text}" if is_first else f"{text}\n\n{paragraph}"
                for text in (self.answer, self.logged_answer)
            )

    def output(self) -> dict[str, Any]:
        """Return the changes of the state, with the text for the log under `LOGGED_ANSWER`."""
        return dict(vars(self))
