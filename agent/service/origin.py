"""A server without keys answers whoever works on its machine, and no page of another site in their browser."""

import ipaddress
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from agent.errors import OriginRefused
from agent.service.problems import problem


class OwnMachine:
    """Refuses requests that came over another address than loopback, under another name, or from another site."""

    def __init__(self, app: ASGIApp) -> None:
        """Stand before `app`."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        stranger = _stranger(scope) if scope["type"] == "http" else None
        if stranger is None:
            await self._app(scope, receive, send)
        else:
            await problem(OriginRefused(stranger), scope)(scope, receive, send)


def is_loopback(host: str) -> bool:
    """Return whether `host`, a name or an address, means this machine alone."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _stranger(scope: Scope) -> str | None:
    """Return what shows that the request comes from elsewhere; None where nothing does."""
    headers = Headers(scope=scope)
    host, origin = headers.get("host", ""), headers.get("origin")
    address = (scope.get("server") or ("localhost", None))[0]
    if not is_loopback(address) and _is_address(address):
        return str(address)
    # A name of somebody else may be made to lead here, so that their page counts as one of this server.
    if not is_loopback(_name(f"//{host}")):
        return host or "a request without Host"
    if origin is not None and urlsplit(origin).netloc.lower() != host.lower():
        return origin
    return None


def _name(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
