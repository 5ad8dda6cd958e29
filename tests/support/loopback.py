"""An HTTP server on loopback, in a thread."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self


class Handler(BaseHTTPRequestHandler):
    """A handler that logs nothing."""

    def body(self) -> bytes:
        """Return what the client has sent."""
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def reply(self, content: bytes = b"", status: int = 200, **headers: str) -> None:
        """Send a whole response; `_` stands for `-` in the names of headers."""
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *arguments: object) -> None:
        """Log nothing."""


class LoopbackServer:
    """A server on a free port of 127.0.0.1 whose requests `handler` answers. Use it in a `with` block."""

    def __init__(self, handler: type[BaseHTTPRequestHandler]) -> None:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})

    @property
    def port(self) -> int:
        """Its port."""
        return self._server.server_port

    @property
    def url(self) -> str:
        """Its base URL."""
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
