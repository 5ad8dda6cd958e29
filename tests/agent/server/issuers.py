"""An OpenID Connect issuer on a free port of loopback, with keys of its own."""

import json
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import get_default_algorithms

from tests.support.loopback import Handler, LoopbackServer

AUDIENCE = "datasphinx"
DISCOVERY, JWKS = "/.well-known/openid-configuration", "/keys"


def private_key(name: str, algorithm: str = "RS256") -> Any:
    """Return the private key with this name for `algorithm`, always the same."""
    return _generated(name, algorithm)


@cache
def _generated(name: str, algorithm: str) -> Any:
    if algorithm.startswith("ES"):
        return ec.generate_private_key({"ES256": ec.SECP256R1(), "ES384": ec.SECP384R1()}[algorithm])
    if algorithm == "EdDSA":
        return ed25519.Ed25519PrivateKey.generate()
    return rsa.generate_private_key(65537, 1024 if name == "short" else 2048)


def public_jwk(kid: str, algorithm: str = "RS256", **fields: Any) -> dict[str, Any]:
    """Return the entry of a JWKS document for the key `kid`."""
    public = private_key(kid, algorithm).public_key()
    return {**get_default_algorithms()[algorithm].to_jwk(public, as_dict=True), "kid": kid, "use": "sig", **fields}


class Issuer:
    """The documents of an issuer, and how often each was requested."""

    def __init__(self) -> None:
        self.url = ""
        self.keys = [public_jwk("first", alg="RS256")]
        self.documents: dict[str, Any] = {}
        """Instead of the usual documents, by path: a JSON value, bytes, or a status."""
        self.requests: Counter[str] = Counter()
        self.may_answer = threading.Event()
        self.may_answer.set()

    def token(self, kid: str | None = "first", algorithm: str = "RS256", key: Any = None, **claims: Any) -> str:
        """Return a token with `claims`; those that are None are left out. By default, the key is that named `kid`."""
        now = int(time.time())
        usual = {"iss": self.url, "aud": AUDIENCE, "sub": "ann", "iat": now, "exp": now + 300}
        payload = {name: value for name, value in {**usual, **claims}.items() if value is not None}
        headers = {"kid": kid} if kid else {}
        key = key or private_key(kid or "first", algorithm)
        return jwt.encode(payload, key, algorithm, headers=headers)

    def document(self, path: str) -> Any:
        """Return the content at `path`."""
        usual = {DISCOVERY: {"issuer": self.url, "jwks_uri": self.url + JWKS}, JWKS: {"keys": self.keys}}
        return self.documents.get(path, usual.get(path, 404))


@contextmanager
def issuing() -> Iterator[Issuer]:
    """Yield a running issuer."""
    issuer = Issuer()

    class Serving(Handler):
        def do_GET(self) -> None:
            issuer.requests[self.path] += 1
            assert issuer.may_answer.wait(30)
            content = issuer.document(self.path)
            status = content if isinstance(content, int) else 200
            body = content if isinstance(content, bytes) else json.dumps(content).encode()
            moved = {"Location": issuer.url + JWKS} if 300 <= status < 400 else {}
            # The client may have stopped reading.
            with suppress(OSError):
                self.reply(body, status, **moved)

    with LoopbackServer(Serving) as server:
        issuer.url = server.url
        try:
            yield issuer
        finally:
            issuer.may_answer.set()
