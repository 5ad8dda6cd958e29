"""Errors of a question, of what it may cost, and of the settings that it is answered with."""

from dataclasses import dataclass

from agent.errors.base import Terminal


@dataclass(eq=False)
class InvalidQuestion(Terminal):
    """The question cannot be read as one."""

    code = "invalid_question"
    reason: str


@dataclass(eq=False)
class QuestionTooLong(Terminal):
    """The question has `chars` characters, where at most `limit` are read."""

    code = "question_too_long"
    chars: int
    limit: int


@dataclass(eq=False)
class OffTopic(Terminal):
    """No table of the source answers the question."""

    code = "off_topic"


@dataclass(eq=False)
class SqlNotGenerated(Terminal):
    """Every try at a statement failed; `reason` is what the last one ran into."""

    code = "sql_not_generated"
    reason: str


@dataclass(eq=False)
class InvalidOutputType(Terminal):
    """The result cannot have the form that was wanted; `shape` says what it is."""

    code = "invalid_output_type"
    wanted: str
    shape: str


@dataclass(eq=False)
class BudgetExceeded(Terminal):
    """A limit per question was reached; `setting` raises it."""

    code = "budget_exceeded"
    limit: str
    setting: str


@dataclass(eq=False)
class ConfigurationError(Terminal):
    """A setting is missing or wrong."""

    code = "configuration"
    setting: str
    reason: str


@dataclass(eq=False)
class DatasetInvalid(Terminal):
    """A file or folder that an evaluation reads is missing, broken, or does not fit the others."""

    code = "dataset_invalid"
    path: str
    reason: str


@dataclass(eq=False)
class QuestionFailed(Terminal):
    """A graph ended without an answer and left no facts to make a more telling error of; `reason` is its text."""

    code = "question_failed"
    reason: str


@dataclass(eq=False)
class InternalError(Terminal):
    """A defect of datasphinx itself; the log has the traceback under the trace id."""

    code = "internal_error"
    reason: str
    trace_id: str
