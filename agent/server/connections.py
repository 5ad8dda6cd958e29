"""Connections of clients: a limit of the time to send the beginning of a request, which uvicorn lacks."""

from asyncio import TimerHandle, Transport

from uvicorn.protocols.http.h11_impl import H11Protocol

HEADERS_S = 20.0
"""The time from the opening of a connection, or the first byte of a further request, to the end of its headers."""


class LimitedProtocol(H11Protocol):
    """HTTP/1.1 that closes connections whose request does not begin in time; its body has the limits of requests."""

    _headers_timer: TimerHandle | None = None

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request."""
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
