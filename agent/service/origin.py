"""Access to a server without keys: from its own machine only, and from no page of another site in a browser."""

from starlette.types import ASGIApp, Receive, Scope, Send

from agent.errors import OriginRefused
from agent.service.loopback import foreign_sender
from agent.service.problems import problem


class OwnMachine:
    """Refuses requests that came over another address than loopback, under another name, or from another site."""

    def __init__(self, app: ASGIApp) -> None:
        """Stand before `app`."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        sender = foreign_sender(scope)
        if sender is None:
            await self._app(scope, receive, send)
        else:
            await problem(OriginRefused(sender), scope)(scope, receive, send)
