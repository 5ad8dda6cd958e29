"""The headers that keep a browser from doing with an answer what nobody wants."""

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_SHARED = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}
_CLOSED = (
    "default-src 'self'; img-src 'self' data: blob:; object-src 'none'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'"
)
_FRAMEWORKS = (
    "default-src 'self' https://cdn.jsdelivr.net https://fastapi.tiangolo.com data: 'unsafe-inline'; "
    "object-src 'none'; base-uri 'none'; frame-ancestors 'none'"
)
"""For the pages of FastAPI and LangServe, which have scripts of their own inside."""


def security_headers(path: str) -> dict[str, str]:
    """Return the headers of every answer to a request for `path`."""
    is_theirs = path in ("/docs", "/redoc", "/docs/oauth2-redirect") or "/playground" in path
    return {**_SHARED, "Content-Security-Policy": _FRAMEWORKS if is_theirs else _CLOSED}


class Headers:
    """Puts the headers on every answer; what is no asset of the page is kept by no cache."""

    def __init__(self, app: ASGIApp) -> None:
        """Stand before `app`."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in {**security_headers(scope["path"]), "Cache-Control": "no-store"}.items():
                    # The page brings a policy of its own, which is stricter.
                    headers.setdefault(name, value)
            await send(message)

        await self._app(scope, receive, send_with_headers)
