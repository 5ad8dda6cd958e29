"""fakesnow, which emulates Snowflake on DuckDB, as a server on loopback, started once and where a test asks for it.

fakesnow requires another version of sqlglot than this project, so it runs in an environment of its own:

    python -m venv fakesnow
    fakesnow/bin/pip install 'fakesnow[server]==0.12.1' 'snowflake-connector-python<5'
    export TEST_FAKESNOW_PYTHON=$PWD/fakesnow/bin/python
"""

import atexit
import json
import os
import socket
import subprocess
import sys
import time
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

_START_S = 60


def fakesnow_arguments() -> dict[str, Any]:
    """Return the arguments of the driver for the server, without a look for the metadata of a cloud machine."""
    place = {"protocol": "http", "host": "127.0.0.1", "port": _fakesnow_port()}
    return {**place, "platform_detection_timeout_seconds": 0}


@lru_cache
def _fakesnow_port() -> int:
    """Return the port of the server; skip the test where fakesnow or the driver of Snowflake is missing."""
    import pytest

    python = os.environ.get("TEST_FAKESNOW_PYTHON")
    if not python:
        pytest.skip("TEST_FAKESNOW_PYTHON names no environment with fakesnow")
    if find_spec("snowflake") is None or find_spec("snowflake.sqlalchemy") is None:
        pytest.skip("the extra snowflake is not installed")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    command = [python, str(Path(__file__)), str(port)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    atexit.register(server.kill)
    deadline = time.monotonic() + _START_S
    while time.monotonic() < deadline and server.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return port
    raise RuntimeError("fakesnow does not start")


def _serve(port: int) -> None:
    import fakesnow.server
    import uvicorn
    from starlette.applications import Starlette
    from starlette.responses import JSONResponse
    from starlette.routing import Route

    # fakesnow has no session parameters.
    fakesnow.server.shared_fs.nop_regexes = ["ALTER SESSION SET "]

    async def login(request: Any) -> Any:
        """Add what version 5 of the driver requires in the answer to a login."""
        body = json.loads((await fakesnow.server.login_request(request)).body)
        body["data"] |= {"sessionId": 1, "masterToken": body["data"]["token"]}
        body["data"] |= {"validityInSeconds": 3600, "masterValidityInSeconds": 14400}
        return JSONResponse(body)

    endpoints = {fakesnow.server.login_request: login}
    routes = [
        Route(route.path, endpoints.get(route.endpoint, route.endpoint), methods=list(route.methods or ()))
        for route in fakesnow.server.routes
    ]
    uvicorn.run(Starlette(routes=routes), host="127.0.0.1", port=port, log_level="warning")


if __name__ == "__main__":
    _serve(int(sys.argv[1]))
