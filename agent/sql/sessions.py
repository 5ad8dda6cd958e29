"""The time limit of a statement on a server, and its cancellation by another thread."""

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from typing import Any

from sqlalchemy import Connection

from datasphinx.agent.core.cancellation import Cancellation
from datasphinx.agent.engines.base import STOP_S, Engine
from datasphinx.agent.types import Limits

_GRACE_S = 0.5
"""Time beyond the limit that the server has to stop a statement."""


@contextmanager
def enforce_time_limit(
    connection: Connection, engine: Engine, limits: Limits, cancellation: Cancellation | None
) -> Iterator[None]:
    """Stop a statement on `connection` that exceeds its time limit, or when `cancellation` is requested.

    The server is asked to stop it first; if that fails, the connection is closed. A connection that was asked is not
    used again, since the request may arrive after the statement has ended and stop the next one.
    """
    driver: Any = connection.connection.driver_connection
    finished, is_stopped = threading.Event(), threading.Event()

    def stop() -> None:
        is_stopped.set()
        # If the request to the server fails, the connection is closed below.
        with suppress(Exception):
            engine.stop(connection.engine, driver)
        if not finished.wait(STOP_S):
            # Ends a read on the socket in another thread.
            with suppress(OSError, AttributeError), socket.socket(fileno=os.dup(_descriptor(driver))) as duplicate:
                duplicate.shutdown(socket.SHUT_RDWR)

    def watch() -> None:
        if not finished.wait(limits.timeout_s + _GRACE_S):
            stop()

    watcher = threading.Thread(target=watch, name="datasphinx-statement-limit", daemon=True)
    watcher.start()
    try:
        with cancellation.calling(stop) if cancellation else nullcontext():
            yield
    finally:
        finished.set()
        watcher.join()
        if is_stopped.is_set():
            connection.invalidate()
            # `close` of a PyHive connection leaves its socket open if the server does not answer.
            with suppress(OSError, AttributeError):
                driver._transport.close()


def _descriptor(driver: Any) -> int:
    """Return the file descriptor of the socket of a connection. Raise AttributeError if the driver has none."""
    if hasattr(driver, "_sock"):
        return int(driver._sock.fileno())
    if hasattr(driver, "_transport"):
        return int(driver._transport._trans.handle.fileno())
    return int(driver.fileno())
