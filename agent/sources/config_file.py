"""The sources in `datasphinx.toml`: reading, adding and removing them. The rest of the file is kept."""

import os
import threading
import tomllib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from datasphinx.agent.core.redact import without_password, without_secrets
from datasphinx.agent.core.replaced_file import replaced_file
from datasphinx.agent.errors import ConfigurationError, Conflict, SourceNotFound, Unavailable
from datasphinx.agent.messages import Message, message_of
from datasphinx.agent.settings import CONFIG_FILE, SourceSettings

if TYPE_CHECKING:
    from tomlkit import TOMLDocument

_lock = threading.Lock()
"""Changes of this process are made one after the other."""


class ConfigFile:
    """The configuration file of the working directory, which may not exist."""

    def __init__(self) -> None:
        """Use the working directory as it is now, also for later calls."""
        self.path = Path(CONFIG_FILE).absolute()

    def stamp(self) -> tuple[int, int, int] | None:
        """Return a value that changes with the file; None if there is no file."""
        try:
            status = self.path.stat()
        except OSError:
            return None
        return status.st_mtime_ns, status.st_size, status.st_ino

    def names(self) -> tuple[str, ...]:
        """Return the names of the sources in the file. Raise ConfigurationError if it is not TOML."""
        return tuple(self._read()[1].get("sources", {}))

    def sources(self) -> dict[str, SourceSettings]:
        """Return the sources in the file.

        Raises:
            ConfigurationError: the file is not TOML, or a source in it is invalid.
        """
        sources = {}
        for name, value in self._read()[1].get("sources", {}).items():
            try:
                sources[name] = SourceSettings.model_validate(value)
            except ValidationError as error:
                first = error.errors(include_input=False, include_url=False)[0]
                cause = first.get("ctx", {}).get("error")
                reason = message_of(cause) if isinstance(cause, ValueError) else first["msg"]
                raise ConfigurationError(f"DATASPHINX_SOURCES: {name}", reason) from None
        return sources

    def add(self, name: str, source: SourceSettings) -> bool:
        """Add a source; return whether the file is now private because the URL contains a password.

        Of the settings of a source, `url`, `description`, `allow_writable_account` and `knowledge` are written.

        Raises:
            Conflict: the file has a source with this name.
            Unavailable: the file cannot be written.
            ConfigurationError: the file is not TOML.
        """
        import tomlkit

        url = source.url.get_secret_value()
        has_secret = without_secrets(without_password(url)) != url
        values: dict[str, Any] = {"url": url}
        if source.description:
            values["description"] = source.description
        if source.allow_writable_account:
            values["allow_writable_account"] = True
        if source.knowledge:
            values["knowledge"] = f"{source.knowledge.as_posix()}/"

        def change(document: "TOMLDocument") -> None:
            if name in document.get("sources", {}):
                raise Conflict("source_name_taken", source=name)
            if "sources" not in document:
                document["sources"] = tomlkit.table(is_super_table=True)
            table = tomlkit.table()
            table.update(values)
            document["sources"][name] = table

        self._change(change, is_private=has_secret)
        return has_secret

    def remove(self, name: str) -> None:
        """Remove a source.

        Raises:
            SourceNotFound: the file has no source with this name.
            Unavailable: the file cannot be written.
            ConfigurationError: the file is not TOML.
        """

        def change(document: "TOMLDocument") -> None:
            sources = document.get("sources", {})
            if name not in sources:
                raise SourceNotFound(
                    name, Message("source_not_in_file", file=CONFIG_FILE, choices=", ".join(sources) or "–")
                )
            del sources[name]

        self._change(change, is_private=False)

    def _read(self) -> tuple[bytes, dict[str, Any]]:
        """Return the content of the file, and its values."""
        try:
            content = self.path.read_bytes() if self.path.exists() else b""
            return content, tomllib.loads(content.decode())
        except (OSError, UnicodeError, tomllib.TOMLDecodeError) as error:
            raise ConfigurationError(CONFIG_FILE, str(error)) from None

    def _change(self, change: Callable[["TOMLDocument"], None], *, is_private: bool) -> None:
        """Write the file with `change` applied. Readers find the old or the new file, never a part of one."""
        import tomlkit

        target = self.path.resolve()
        with _lock:
            while True:
                content, _ = self._read()
                document = tomlkit.parse(content.decode())
                change(document)
                try:
                    with suppress(_Outdated), replaced_file(target) as new:
                        new.write_bytes(tomlkit.dumps(document).encode())
                        if not is_private:
                            new.chmod(target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_umask())
                        if self._read()[0] != content:
                            raise _Outdated
                        return
                except OSError as error:
                    raise Unavailable(
                        "settings_not_writable", file=CONFIG_FILE, reason=error.strerror or type(error).__name__
                    ) from error


class _Outdated(Exception):
    """Another process has changed the file meanwhile."""


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
