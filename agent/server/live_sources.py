"""Changes of the sources in `datasphinx.toml` while the server runs."""

import logging
import threading

from datasphinx.agent.core.redact import remember_secrets
from datasphinx.agent.errors import ConfigurationError
from datasphinx.agent.record.credentials import secrets_of
from datasphinx.agent.server.tenants import Tenant, Tenants
from datasphinx.agent.settings import Settings
from datasphinx.agent.sources.config_file import ConfigFile

logger = logging.getLogger("datasphinx")


def may_edit_sources(settings: Settings) -> bool:
    """Return whether operators may edit the sources: by default, only on a server without keys and tokens."""
    return settings.is_private if settings.edit_sources is None else settings.edit_sources


def may_run_sql(settings: Settings) -> bool:
    """Return whether users of HTTP may run statements of their own: by default, only on such a server."""
    return settings.is_private if settings.run_sql is None else settings.run_sql


class LiveSources:
    """Applies the sources of the file, as they are at each request, to the server and its tenants. Thread-safe.

    Thus a change by one process reaches all processes of the server on the same working directory. Sources of the
    environment stay as they were at the start.
    """

    def __init__(self, server: Tenant, tenants: Tenants | None) -> None:
        """Apply changes to `tenants`, or to `server` if it has none."""
        self.file = ConfigFile()
        self._server, self._tenants = server, tenants
        self._lock = threading.Lock()
        self._stamp = self.file.stamp()
        try:
            in_file = self.file.sources()
        except ConfigurationError:
            # The settings come from another file, or were passed by a program.
            in_file = {}
        sources = server.services.settings.sources
        self._fixed = {name: source for name, source in sources.items() if in_file.get(name) != source}

    def is_fixed(self, name: str) -> bool:
        """Return whether the source has settings outside of the file."""
        return name in self._fixed

    def has_changed(self) -> bool:
        """Return whether the file has changed since `update`."""
        return self.file.stamp() != self._stamp

    def update(self) -> None:
        """Apply the sources of the file; an invalid file changes nothing."""
        with self._lock:
            stamp = self.file.stamp()
            try:
                sources = {**self.file.sources(), **self._fixed}
                if self._tenants:
                    self._tenants.replace_sources(sources)
                else:
                    self._server.services.replace_sources(sources)
                remember_secrets(secrets_of(self._server.services.settings))
            except ConfigurationError as error:
                logger.warning("[SOURCES] %s was not applied: %s", self.file.path.name, error)
            self._stamp = stamp
