"""Files with the state of the embedded model after the beginning of a prompt, which is the same for a whole schema.

Reading the description of a schema takes the model 1 to 4 s on one core; reading its state from a file takes 20 ms.
"""

import hashlib
import json
import logging
import os
import secrets
from collections.abc import Callable
from pathlib import Path

logger = logging.getLogger("datasphinx")

_MAX_BYTES = 300_000_000
"""About fifteen schemas of 40 columns each."""

_SUFFIX = ".state"

SlotAction = Callable[[str, str], bool]
"""Performs the action "save" or "restore" of the server with a file name; returns whether it succeeded."""


class PrefixCache:
    """Files of states in a folder that only the user can read.

    A file is named by the hashes of what it depends on and of its content. One that was changed or cut off is deleted
    and not read, because llama.cpp ends the process at an invalid file. The least recently used files are deleted.
    """

    def __init__(self, folder: Path, model: object, adapter: Path | None, max_bytes: int = _MAX_BYTES) -> None:
        """Store states of `model`, any JSON value that identifies it, with `adapter` in `folder`, up to `max_bytes`."""
        self.folder: Path | None = folder
        """The folder; None if it cannot be used."""
        self._max_bytes = max_bytes
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            folder.chmod(0o700)
            content = hashlib.sha256(adapter.read_bytes()).hexdigest() if adapter else None
        except OSError as error:
            logger.info("[MODEL] prompts are not cached: %s", error)
            self.folder, content = None, None
        self._identity = json.dumps([model, content])

    def restore(self, prefix: str, act: SlotAction) -> bool:
        """Let the server restore its state after `prefix`; return whether there was an intact file."""
        if self.folder is None:
            return False
        try:
            for path in self.folder.glob(f"{self._key(prefix)}-*{_SUFFIX}"):
                is_intact = path.stem.partition("-")[2] == _hash_of(path)
                if is_intact and act("restore", path.name):
                    os.utime(path)
                    return True
                path.unlink()
        except OSError as error:
            logger.info("[MODEL] a cached prompt cannot be read: %s", error)
        return False

    def save(self, prefix: str, act: SlotAction) -> None:
        """Let the server save its state after `prefix`. A failure is logged, not raised."""
        if self.folder is None:
            return
        part = self.folder / f"{secrets.token_hex(8)}.part"
        try:
            if act("save", part.name):
                part.chmod(0o600)
                part.replace(self.folder / f"{self._key(prefix)}-{_hash_of(part)}{_SUFFIX}")
            self._delete_oldest()
        except OSError as error:
            logger.info("[MODEL] a prompt cannot be cached: %s", error)
        finally:
            part.unlink(missing_ok=True)

    def _key(self, prefix: str) -> str:
        return hashlib.sha256(json.dumps([self._identity, prefix]).encode()).hexdigest()[:32]

    def _delete_oldest(self) -> None:
        assert self.folder
        files: list[tuple[float, int, Path]] = []
        for path in self.folder.iterdir():
            facts = path.stat()
            files.append((facts.st_mtime, facts.st_size, path))
        total = sum(size for _, size, _ in files)
        for _, size, path in sorted(files):
            if total <= self._max_bytes:
                break
            path.unlink(missing_ok=True)
            total -= size


def _hash_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:32]
