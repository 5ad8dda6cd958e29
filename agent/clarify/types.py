"""What is asked back and said, as the state, the inputs and the outputs hold it."""

from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

Clarify = Literal["never", "auto", "always"]
"""When to ask back."""


class Preview(TypedDict):
    """What a reading leads to: how many rows, and the first value of the first one."""

    rows: int
    more: bool
    """Whether there are more rows than were counted."""
    first: Any


class Option(TypedDict):
    """One reading that a clarifying question offers; `preview` is None where nothing was computed for it."""

    label: str
    reading: str
    preview: Preview | None


class Clarification(TypedDict):
    """What the user said: the answer to a clarifying question, or, where `question` is empty, a remark."""

    question: str
    answer: str
    ambiguity_type: NotRequired[str]
    options: NotRequired[list[str]]
    """The labels that stood to choose from."""


class ClarifyingQuestion(TypedDict):
    """A multiple-choice question to the user, who may also answer in own words.

    It holds all that it takes to go on where no thread keeps it: send it back as it came, with the answer.
    """

    question: str
    ambiguity_type: str
    options: list[Option]
    about: str
    """The question that it is about."""
    earlier: list[Clarification]
    """What the user has said before."""
    rejected_sql: list[str]
    """Statements whose answer the user rejected."""


class Feedback(TypedDict):
    """What the user says of an answer."""

    accepted: bool
    comment: NotRequired[str]


class Ambiguity(TypedDict):
    """Evidence that words of a question may be read in more than one way."""

    type: str
    """AmbQuestion, AmbTableColumn, AmbOutput or AmbValue."""
    phrase: str
    candidates: list[str]
    """What it may stand for: columns as `table.column`, stored values with theirs, or readings in words."""


class Turn(TypedDict):
    """A question of a conversation that was answered, as it stands alone, with its statement."""

    question: str
    sql: str
    answer: str
    clarifications: list[Clarification]
    source: NotRequired[str]
    """The source that was asked, without its password."""
    forms: NotRequired[list[str]]
    """Follow-ups that changed only the form of the answer, oldest first."""
