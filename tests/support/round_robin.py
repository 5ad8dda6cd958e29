"""A proxy on loopback that hands each connection to the next of its servers, and can be cut off from them."""

import socket
import threading
from collections.abc import Sequence
from contextlib import suppress
from itertools import cycle
from types import TracebackType
from typing import Self


class RoundRobin:
    """Listens on a free port. Use it in a `with` block."""

    def __init__(self, ports: Sequence[int]) -> None:
        """Take where the servers listen."""
        self._next, self._lock, self._is_cut = cycle(ports), threading.Lock(), False
        self._open: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []
        self._listening = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.port: int = self._listening.getsockname()[1]

    def __enter__(self) -> Self:
        self._start(self._accept)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.cut()
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        for thread in self._threads:
            thread.join()

    def cut(self) -> None:
        """Break every connection off, and every new one, as if the servers were killed."""
        with self._lock:
            self._is_cut = True
            for each in self._open:
                with suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)

    def mend(self) -> None:
        """Let connections through again."""
        with self._lock:
            self._is_cut = False

    def _start(self, work: object, *arguments: object) -> None:
        thread = threading.Thread(target=work, args=arguments)  # type: ignore[arg-type]
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                self._connect(client)

    def _connect(self, client: socket.socket) -> None:
        with self._lock:
            if self._is_cut:
                client.close()
                return
            try:
                server = socket.create_connection(("127.0.0.1", next(self._next)))
            except OSError:
                # That server has been killed; its clients see a connection that ends.
                client.close()
                return
            self._open |= {client, server}
        ends = threading.Semaphore(0)
        self._start(self._pump, client, server, ends)
        self._start(self._pump, server, client, ends)
        self._start(self._close, client, server, ends)

    def _pump(self, source: socket.socket, target: socket.socket, ends: threading.Semaphore) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                target.sendall(data)
        with suppress(OSError):
            target.shutdown(socket.SHUT_WR)
        ends.release()

    def _close(self, client: socket.socket, server: socket.socket, ends: threading.Semaphore) -> None:
        for _ in range(2):
            ends.acquire()
        with self._lock:
            self._open -= {client, server}
            client.close()
            server.close()
