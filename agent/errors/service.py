"""Errors of requests to the server."""

from dataclasses import dataclass

from agent.errors.base import Terminal


@dataclass(eq=False)
class RequestTooLarge(Terminal):
    """A request has more bytes than `setting` allows."""

    code = "request_too_large"
    limit: int
    setting: str


@dataclass(eq=False)
class RequestTimeout(Terminal):
    """The server has not got done with a request in time."""

    code = "request_timeout"
    seconds: float


@dataclass(eq=False)
class OriginRefused(Terminal):
    """A page of another site, or one that was called by another name, asks a server that has no keys."""

    code = "origin_refused"
    origin: str


@dataclass(eq=False)
class ChartUnknown(Terminal):
    """No chart is kept under this id."""

    code = "chart_unknown"
    chart_id: str


@dataclass(eq=False)
class RunUnknown(Terminal):
    """The thread has no run of this id."""

    code = "run_unknown"
    run_id: str


@dataclass(eq=False)
class KeyMissing(Terminal):
    """A request to a server with keys has none, or one that is nobody's."""

    code = "key_missing"


@dataclass(eq=False)
class LimitReached(Terminal):
    """A tenant has asked as much as it may; in `seconds` it may go on."""

    code = "limit_reached"
    limit: str
    seconds: int
