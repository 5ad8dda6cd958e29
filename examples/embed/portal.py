"""A site with an embedded chat: its page, and its backend, which gets a token for each visitor.

The server needs an API key (`datasphinx key new`) and, in `datasphinx.toml`:

    [embed]
    origins = ["http://127.0.0.1:8080"]
    secret = "at least 32 random characters"

Start it with `datasphinx serve`, then run this program with the key in the variable DATASPHINX_KEY, and open
http://127.0.0.1:8080.
"""

import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from string import Template
from urllib.request import Request, urlopen

PAGE = Template((Path(__file__).parent / "index.html").read_text(encoding="utf-8"))


class Portal(ThreadingHTTPServer):
    """The site. `datasphinx` is the URL of the server, `key` an API key, which never reaches a browser."""

    def __init__(self, port: int, datasphinx: str, key: str) -> None:
        """Listen on `port` of this machine."""
        super().__init__(("127.0.0.1", port), Handler)
        self.datasphinx, self.key = datasphinx, key


class Handler(BaseHTTPRequestHandler):
    """The page at `/`, and tokens at `/datasphinx-token`."""

    server: Portal

    def do_GET(self) -> None:
        """Send the page."""
        self._send("text/html; charset=utf-8", PAGE.substitute(server=self.server.datasphinx).encode())

    def do_POST(self) -> None:
        """Send a token. A real site first checks that its visitor has signed in."""
        request = Request(
            f"{self.server.datasphinx}/embed/token", headers={"X-API-Key": self.server.key}, method="POST"
        )
        with urlopen(request, timeout=10) as response:
            self._send("application/json", response.read())

    def _send(self, content_type: str, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


if __name__ == "__main__":
    Portal(8080, "http://127.0.0.1:8000", os.environ["DATASPHINX_KEY"]).serve_forever()
