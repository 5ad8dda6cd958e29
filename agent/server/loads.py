"""The files of a tenant that are being loaded, so that another request can cancel a load."""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager

from datasphinx.agent.core.cancellation import Cancellation
from datasphinx.agent.errors import NotFound


class Loads:
    """The cancellations of running loads by id. Use it in the event loop only."""

    def __init__(self) -> None:
        """Start without loads."""
        self._running: dict[str, Cancellation] = {}

    @contextmanager
    def start(self) -> Iterator[tuple[str, Cancellation]]:
        """Yield the id and the cancellation of a new load, which is cancelled when the block ends."""
        load_id, stop = uuid.uuid4().hex, Cancellation()
        self._running[load_id] = stop
        try:
            yield load_id, stop
        finally:
            del self._running[load_id]
            stop.cancel()

    def cancel(self, load_id: str) -> None:
        """Cancel a load.

        Raises:
            NotFound: no load with this id is running in this process.
        """
        if load_id not in self._running:
            raise NotFound("load_unknown", load_id=load_id)
        self._running[load_id].cancel()
