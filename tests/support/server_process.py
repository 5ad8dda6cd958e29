"""`datasphinx serve` as a process of its own, and a client for hundreds of requests at once."""

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
SERVE = (str(Path(sys.executable).with_name("datasphinx")), "serve", "--port", "0")
_STARTS_WITHIN_S = 60


class ServerProcess:
    """A running server: where it listens, what it has logged, and what it takes."""

    def __init__(self, process: "subprocess.Popen[bytes]", log: Path, port: int) -> None:
        """Take what was started."""
        self.process, self.log, self.port = process, log, port

    @property
    def url(self) -> str:
        """Its base URL."""
        return f"http://127.0.0.1:{self.port}"

    def stop(self, how: signal.Signals = signal.SIGTERM, within_s: float = 30) -> int:
        """Send the signal and return the exit code."""
        self.process.send_signal(how)
        return self.process.wait(within_s)

    def most_memory_mb(self) -> int:
        """Return the most memory that the process has had at once."""
        return _kilobytes(self.process.pid, "VmHWM") >> 10

    def workers_mb(self) -> int:
        """Return the memory of the processes that it has started, as it is now."""
        tasks = Path(f"/proc/{self.process.pid}/task")
        children = " ".join(each.read_text() for each in tasks.glob("*/children")).split()
        return sum(_kilobytes(int(child), "VmRSS") for child in children) >> 10

    def connections(self) -> list[str]:
        """Return the TCP connections of the process, to its clients, models and databases: peer and state, in hex."""
        pattern = re.compile(r"^ *\d+: \S+ (\S+ (?!0A)\w\w) (?:\S+ +){5}(\d+)", re.M)
        sockets = {f"socket:[{inode}]": peer for peer, inode in pattern.findall(Path("/proc/net/tcp").read_text())}
        files = (_target(each) for each in Path(f"/proc/{self.process.pid}/fd").iterdir())
        return [sockets[file] for file in files if file in sockets]

    def threads(self) -> int:
        """Return how many threads the process has."""
        return sum(1 for _ in Path(f"/proc/{self.process.pid}/task").iterdir())

    def cpu_s(self) -> float:
        """Return the seconds of CPU that the process has used, without those that it has started."""
        spent = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()[11:13]
        return sum(map(int, spent)) / os.sysconf("SC_CLK_TCK")


def _target(link: Path) -> str:
    """Return where it leads; nowhere if it is gone."""
    try:
        return str(link.readlink())
    except FileNotFoundError:
        return ""


def _kilobytes(pid: int, name: str) -> int:
    return int(re.findall(rf"{name}:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())[0])


@contextmanager
def server_process(
    folder: Path, settings: Mapping[str, str], command: Sequence[str] = SERVE, port: int = 0
) -> Iterator[ServerProcess]:
    """Yield a server with these variables, its log and its data in `folder`; it is killed in the end if it still runs.

    `port` is where `command` makes it listen; left out, its log tells.
    """
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / "server.log"
    inherited = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    standard = {"DATASPHINX_DATA_DIR": str(folder / "data"), "DATASPHINX_LLM_PROFILE": "standard"}
    given = {"PYTHONPATH": str(ROOT), **standard, **inherited, **settings}
    with log.open("wb") as file:
        process = subprocess.Popen(command, env=given, cwd=folder, stdin=subprocess.DEVNULL, stdout=file, stderr=file)
    try:
        yield ServerProcess(process, log, _port(process, log, port))
    finally:
        process.kill()
        process.wait()


def listens(port: int) -> bool:
    """Return whether connections to this port of loopback are taken."""
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def free_port() -> int:
    """Return a port of loopback that nothing listens on."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


def _port(process: "subprocess.Popen[bytes]", log: Path, port: int) -> int:
    """Return where it listens, when it does."""
    until = time.monotonic() + _STARTS_WITHIN_S
    while time.monotonic() < until and process.poll() is None:
        found = re.search(r"running on http://[^:]+:(\d+)", log.read_text(errors="replace"))
        if found or (port and listens(port)):
            return port or int(found[1])  # type: ignore[index]
        time.sleep(0.02)
    raise AssertionError(f"the server did not start: {log.read_text(errors='replace')}")


async def ask(port: int, path: str = "/agent/invoke", **given: Any) -> dict[str, Any]:
    """Return the output of one question, asked on a connection of its own."""
    status, body = await post(port, path, {"input": given})
    assert status == 200, body
    output: dict[str, Any] = json.loads(body)["output"]
    return output


async def post(port: int, path: str, body: Any) -> tuple[int, bytes]:
    """Return status and body of what the server on this port answers."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(request_of(path, body, "Connection: close"))
        answer = await reader.read()
    finally:
        writer.close()
    head, _, content = answer.partition(b"\r\n\r\n")
    return int(head.split()[1]) if head else 0, content


@contextmanager
def sending(port: int, path: str, body: Any) -> Iterator[socket.socket]:
    """Yield the connection of a client that has sent a request, and that leaves with the block."""
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(request_of(path, body))
        yield connection


def request_of(path: str, body: Any, *headers: str) -> bytes:
    """Return the bytes of a request that brings `body` as JSON."""
    sent = json.dumps(body).encode()
    lines = [f"POST {path} HTTP/1.1", "Host: 127.0.0.1", "Content-Type: application/json", *headers]
    return "\r\n".join([*lines, f"Content-Length: {len(sent)}", "", ""]).encode() + sent
