"""API keys of two tenants, and requests with them."""

from typing import Any

import httpx

from datasphinx.agent.server.keys import hash_of, new_key
from tests.agent.server.serving import Served

ACME, BETA = new_key(), new_key()
KEYS = {"acme": hash_of(ACME), "beta": (hash_of(BETA),)}
# Two of the first tenant, of which the second may review, and one of the second.
USER, REVIEWER, OTHER = new_key(), new_key(), new_key()
REVIEWED_KEYS = {"acme": [hash_of(USER), hash_of(REVIEWER)], "beta": hash_of(OTHER)}


def as_(server: Served, key: str, **more: str) -> httpx.Client:
    """A client that asks with a key."""
    headers = {"Authorization": f"Bearer {key}", **more}
    return httpx.Client(base_url=server.http.base_url, headers=headers, timeout=30, verify=False)


def ask(client: httpx.Client, graph: str = "agent", **given: Any) -> dict[str, Any]:
    """Return the output of one question."""
    response = client.post(f"/{graph}/invoke", json={"input": given})
    assert response.status_code == 200, response.text
    output: dict[str, Any] = response.json()["output"]
    return output


def request(server: Served, key: str, path: str, body: Any = None) -> Any:
    """Return the status and the body of a request; a POST if there is a body to send."""
    headers = {"X-API-Key": key} if key else {}
    if body is None:
        response = server.http.get(path, headers=headers)
    else:
        response = server.http.post(path, json=body, headers=headers)
    return response.status_code, response.json()
