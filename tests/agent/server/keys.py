"""API keys of two tenants."""

import httpx

from datasphinx.agent.server.keys import hash_of, new_key
from tests.agent.server.serving import Served

ACME, BETA = new_key(), new_key()
KEYS = {"acme": hash_of(ACME), "beta": (hash_of(BETA),)}


def as_(server: Served, key: str, **more: str) -> httpx.Client:
    """A client that asks with a key."""
    headers = {"Authorization": f"Bearer {key}", **more}
    return httpx.Client(base_url=server.http.base_url, headers=headers, timeout=30, verify=False)
