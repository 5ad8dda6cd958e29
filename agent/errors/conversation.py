"""Errors of conversations: threads, clarifying questions and feedback."""

from dataclasses import dataclass

from agent.errors.base import Retryable, Terminal


@dataclass(eq=False)
class NothingAsked(Terminal):
    """An answer came where no clarifying question is open."""

    code = "nothing_asked"


@dataclass(eq=False)
class OptionUnknown(Terminal):
    """The answer is the number of no option; there are `options` of them."""

    code = "option_unknown"
    given: str
    options: int


@dataclass(eq=False)
class NothingAnswered(Terminal):
    """Feedback came where no answer can be meant by it."""

    code = "nothing_answered"


@dataclass(eq=False)
class InputInvalid(Terminal):
    """What came beside the question has not the form that it needs."""

    code = "input_invalid"
    name: str
    reason: str


@dataclass(eq=False)
class ThreadUnknown(Terminal):
    """There is no such thread."""

    code = "thread_unknown"
    thread_id: str


@dataclass(eq=False)
class ThreadBusy(Retryable):
    """Another run on the thread has not ended."""

    code = "thread_busy"
    thread_id: str


@dataclass(eq=False)
class ThreadsUnavailable(Terminal):
    """The database that keeps the threads cannot be used."""

    code = "threads_unavailable"
    url: str
    reason: str
