"""Errors of the model and the way to it."""

from dataclasses import dataclass

from agent.errors.base import Retryable, Terminal


@dataclass(eq=False)
class ModelAnswerUnreadable(Retryable):
    """The model's answer held nothing that fits the schema, also after one repair attempt."""

    code = "model_answer_unreadable"
    schema: str
    text: str


@dataclass(eq=False)
class ModelUnreachable(Terminal):
    """The model's endpoint does not answer, or only with errors of its own."""

    code = "model_unreachable"
    endpoint: str
    reason: str


@dataclass(eq=False)
class ModelRejected(Terminal):
    """The model's endpoint refused the request: wrong key, unknown model, prompt too long."""

    code = "model_rejected"
    endpoint: str
    reason: str


@dataclass(eq=False)
class EmbeddedModelUnavailable(Terminal):
    """The embedded model can be neither found nor fetched, or does not start."""

    code = "embedded_model_unavailable"
    reason: str


@dataclass(eq=False)
class EmbeddedModelSilent(Terminal):
    """The embedded model was not done with its answer within the time of a question: the machine is busy."""

    code = "embedded_model_silent"
    seconds: float
