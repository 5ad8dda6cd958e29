"""The tenants of a server with keys."""

import threading
from collections.abc import Iterator

from agent.errors import ConfigurationError
from agent.service.keys import hash_of
from agent.service.tenant import Tenant, open_tenant
from agent.service.tenant_services import TenantServices, settings_for
from agent.service_settings import TenantSettings
from agent.services import Services


class Tenants:
    """Finds the tenant of a key; each is opened at its first request. Safe to share between threads."""

    def __init__(self, server: Tenant) -> None:
        """Hold what is set for the tenants together.

        Raises:
            ConfigurationError: a tenant is given what is not there, or is given nothing where others are.
        """
        settings = server.services.settings
        self._server, self._lock, self._open = server, threading.Lock(), dict[str, Tenant]()
        self._allowed: dict[str, TenantSettings] = {}
        self._names: dict[str, str] = {}
        self._askers: dict[str, list[str]] = {}
        for name, hashes in settings.api_keys.items():
            if settings.tenants and name not in settings.tenants:
                raise ConfigurationError("DATASPHINX_TENANTS", f"{name} has a key, and does not stand here")
            self._allowed[name] = settings.tenants.get(name, TenantSettings())
            for source in Services(settings_for(settings, name, self._allowed[name])).choices:
                self._askers.setdefault(source, []).append(name)
            for each in hashes:
                if each in self._names:
                    raise ConfigurationError("DATASPHINX_API_KEYS", f"{self._names[each]} and {name} have the same key")
                self._names[each] = name

    def of_key(self, key: str) -> Tenant | None:
        """Return the tenant that `key` belongs to; None where it is nobody's."""
        # What is looked up is a hash: how long that takes tells nothing of a key.
        name = self._names.get(hash_of(key))
        return None if name is None else self._opened(name)

    def by_source(self) -> dict[str, Iterator[Services]]:
        """Return, for each source that a tenant can ask, the services of these tenants; each is opened when reached."""
        return {source: (self._opened(name).services for name in names) for source, names in self._askers.items()}

    def _opened(self, name: str) -> Tenant:
        with self._lock:
            if name not in self._open:
                services = TenantServices(self._server.services, name, self._allowed[name])
                self._open[name] = open_tenant(name, services, self._server, services.quota)
            return self._open[name]
