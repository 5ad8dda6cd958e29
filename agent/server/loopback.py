"""Detect requests from other machines and from pages of other sites."""

import ipaddress
from collections.abc import Callable
from urllib.parse import SplitResult, urlsplit

from starlette.datastructures import Headers
from starlette.types import Scope


def is_loopback(host: str) -> bool:
    """Return whether `host`, a name or an address, is loopback."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def foreign_sender(scope: Scope, is_allowed_origin: Callable[[str], bool] = lambda origin: False) -> str | None:
    """Return the address, host name or origin that identifies a foreign request; None for a local request.

    An origin is local if it is the server's own, or if `is_allowed_origin` accepts it.
    """
    if scope["type"] not in ("http", "websocket"):
        return None
    headers = Headers(scope=scope)
    host, origin = headers.get("host", ""), headers.get("origin")
    address = (scope.get("server") or ("localhost", None))[0]
    if not is_loopback(address) and _is_address(address):
        return str(address)
    # DNS rebinding: another site can make its host name resolve to loopback, so that its page has the same origin.
    if not is_loopback(_split(f"//{host}").hostname or ""):
        return host or "a request without Host"
    if origin is None or is_allowed_origin(origin) or _split(origin).netloc.lower() == host.lower():
        return None
    return origin


def _split(url: str) -> SplitResult:
    """Return the parts of a URL; an invalid URL has no host."""
    try:
        return urlsplit(url)
    except ValueError:
        return urlsplit("")


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
