"""Connections of clients: what uvicorn lacks.

It has no limit of the time to send the beginning of a request, and at its end waits for all streams.
"""

from asyncio import Event, TimerHandle, Transport
from collections.abc import Mapping
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

HEADERS_S = 20.0
"""The time from the opening of a connection, or the first byte of a further request, to the end of its headers."""

_CLOSING = "closing"
"""What the state of a request has: whether the server ends."""


def closing_of(scope: Mapping[str, Any]) -> Event:
    """Return the event that is set when the server of a request ends; never, behind another protocol."""
    closing: Event = scope.get("state", {}).get(_CLOSING) or Event()
    return closing


class LimitedProtocol(H11Protocol):
    """HTTP/1.1 that closes connections whose request does not begin in time; its body has the limits of requests."""

    _headers_timer: TimerHandle | None = None

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request."""
        # The connections of a server share the state, and requests have a copy.
        self.app_state.setdefault(_CLOSING, Event())
        super().connection_made(transport)
        self._await_headers()

    def data_received(self, data: bytes) -> None:
        """Wait further unless a request runs."""
        super().data_received(data)
        self._await_headers()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        super().connection_lost(exc)
        self._stop_waiting()

    def shutdown(self) -> None:
        """End with the answer that is being sent; streams that wait for further runs end at once."""
        self.app_state[_CLOSING].set()
        super().shutdown()

    def _await_headers(self) -> None:
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_waiting()
        elif self._headers_timer is None:
            self._headers_timer = self.loop.call_later(HEADERS_S, self._close)

    def _stop_waiting(self) -> None:
        if self._headers_timer is not None:
            self._headers_timer.cancel()
            self._headers_timer = None

    def _close(self) -> None:
        self._headers_timer = None
        if self.cycle is None or self.cycle.response_complete:
            self.transport.abort()
