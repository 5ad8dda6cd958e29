"""Signing keys of an OpenID Connect issuer: discovery, JWKS, cache and rotation."""

import asyncio
import json
import logging
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import httpx
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from jwt import PyJWK, PyJWTError

from datasphinx.agent.connect import certificate_authorities, is_this_machine
from datasphinx.agent.core.redact import without_secrets
from datasphinx.agent.errors import ConfigurationError, Unauthenticated, Unavailable
from datasphinx.agent.messages import Message
from datasphinx.agent.server.background import run_in_thread
from datasphinx.agent.settings import OidcSettings

logger = logging.getLogger("datasphinx")

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""Accepted signature algorithms, all asymmetric."""
_BY_TYPE = {
    "RSA": tuple(name for name in ALGORITHMS if name[:2] in ("RS", "PS")),
    "P-256": ("ES256",),
    "P-384": ("ES384",),
    "P-521": ("ES512",),
    "Ed25519": ("EdDSA",),
}
"""The algorithms of a key by its curve, or by its type if it has none."""

_REFRESH_AFTER_S = 600
"""Age at which the keys are fetched again before the next token is checked."""
_KEEP_S = 86_400
"""Age until which keys are used if the issuer does not respond."""
_RETRY_S = 60
"""Time after a request to the issuer before known keys are fetched again."""
_MIN_INTERVAL_S = 10
"""Time after a request to the issuer before an unknown key id in a token causes another one."""
_TIMEOUT_S = 5
"""Time limit of a request to the issuer; shorter than the interval, so that a silent issuer delays few requests."""
_MAX_BYTES = 500_000
_MAX_KEYS = 100
_MIN_RSA_BITS = 2048
_DISCOVERY = "/.well-known/openid-configuration"


class _Key(NamedTuple):
    kid: str | None
    algorithm: str
    key: PyJWK


class SigningKeys:
    """The cached keys of an issuer. Use it in one event loop only."""

    def __init__(self, settings: OidcSettings, clock: Callable[[], float] = time.monotonic) -> None:
        """Set the issuer, without a request; `clock` returns seconds. Raise ConfigurationError for an unsafe URL."""
        if not _is_safe(settings.issuer):
            reason = f"{settings.issuer} has to begin with `https://`, unless it is on this machine"
            raise ConfigurationError("DATASPHINX_OIDC", reason)
        self._settings, self._clock = settings, clock
        self._keys: list[_Key] = []
        self._fetched_at = self._attempted_at = float("-inf")
        self._fetching: asyncio.Task[None] | None = None
        self._error: Unavailable | None = None

    async def find(self, kid: str | None, algorithm: str) -> PyJWK:
        """Return the key with this id for `algorithm`; a token without an id needs a single key for its algorithm.

        The keys are fetched if they are older than ten minutes, or if none has this id.

        Raises:
            Unauthenticated: the issuer has no such key, or more than one.
        """
        if self._age >= _REFRESH_AFTER_S and self._clock() - self._attempted_at >= _RETRY_S:
            await self._refresh()
        found = self._matching(kid, algorithm)
        if not found:
            await self._refresh()
            found = self._matching(kid, algorithm)
        if self._age >= _KEEP_S and self._error:
            raise self._error
        if len(found) != 1:
            raise Unauthenticated("token_invalid", reason=Message("token_key_unknown"))
        return found[0]

    @property
    def _age(self) -> float:
        return self._clock() - self._fetched_at

    def _matching(self, kid: str | None, algorithm: str) -> list[PyJWK]:
        return [each.key for each in self._keys if kid in (None, each.kid) and each.algorithm == algorithm]

    async def _refresh(self) -> None:
        """Fetch the keys unless that was tried a short time ago; concurrent calls share one request."""
        if self._fetching is None:
            if self._clock() - self._attempted_at < _MIN_INTERVAL_S:
                return
            self._attempted_at = self._clock()
            self._fetching = asyncio.create_task(self._fetch())
        # Shielded: others wait for the task too.
        await asyncio.shield(self._fetching)

    async def _fetch(self) -> None:
        try:
            # The timeout of the client is for each read; this one is for all of them.
            async with asyncio.timeout(_TIMEOUT_S):
                self._keys = await run_in_thread(self._fetch_keys)
            self._fetched_at, self._error = self._clock(), None
        except (Unavailable, TimeoutError) as error:
            timeout = Unavailable(
                "issuer_unavailable", issuer=self._settings.issuer, reason=Message("issuer_silent", seconds=_TIMEOUT_S)
            )
            self._error = error if isinstance(error, Unavailable) else timeout
            logger.warning("[SERVER] keys of the issuer not fetched: %s", self._error)
        finally:
            self._fetching = None

    def _fetch_keys(self) -> list[_Key]:
        """Return the usable keys of the issuer.

        Raises:
            Unavailable: a request fails, or a document is not as specified.
        """
        issuer = self._settings.issuer
        discovery = issuer.rstrip("/") + _DISCOVERY
        document = self._get(discovery)
        url = document.get("jwks_uri")
        if document.get("issuer") != issuer or not isinstance(url, str) or not _is_safe(url):
            raise Unavailable("issuer_unavailable", issuer=issuer, reason=Message("issuer_response", url=discovery))
        entries = self._get(url).get("keys")
        if not isinstance(entries, list) or len(entries) > _MAX_KEYS:
            raise Unavailable("issuer_unavailable", issuer=issuer, reason=Message("issuer_response", url=url))
        return [key for entry in entries if isinstance(entry, dict) for key in _usable(entry)]

    def _get(self, url: str) -> dict[str, Any]:
        """Return the JSON object at `url`; redirects are not followed."""
        direct = is_this_machine(url)
        try:
            with (
                httpx.Client(timeout=_TIMEOUT_S, trust_env=not direct, verify=certificate_authorities()) as client,
                # Uncompressed, so that the limit holds for what is kept in memory.
                client.stream("GET", url, headers={"Accept-Encoding": "identity"}) as response,
            ):
                body = bytearray()
                for chunk in response.iter_raw():
                    body += chunk
                    if len(body) > _MAX_BYTES:
                        break
                document = _json_object(body) if response.status_code == 200 and len(body) <= _MAX_BYTES else None
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            reason = without_secrets(str(error)) or type(error).__name__
            raise Unavailable("issuer_unavailable", issuer=self._settings.issuer, reason=reason) from None
        if document is None:
            raise Unavailable(
                "issuer_unavailable", issuer=self._settings.issuer, reason=Message("issuer_response", url=url)
            )
        return document


def _is_safe(url: str) -> bool:
    """Return whether nobody on the network can change the content of `url`."""
    return urlsplit(url).scheme == "https" or is_this_machine(url)


def _json_object(body: bytearray) -> dict[str, Any] | None:
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def _usable(entry: dict[str, Any]) -> Iterator[_Key]:
    """Yield the key of a JWKS entry for each algorithm; none if it is not a public key for asymmetric signatures."""
    kid, declared = entry.get("kid"), entry.get("alg")
    if entry.get("use", "sig") != "sig" or "d" in entry or not isinstance(kid, str | None):
        return
    for algorithm in _BY_TYPE.get(str(entry.get("crv", entry.get("kty"))), ()):
        if declared in (None, algorithm):
            try:
                key = PyJWK(entry, algorithm)
            except (PyJWTError, TypeError, ValueError):
                continue
            if not isinstance(key.key, RSAPublicKey) or key.key.key_size >= _MIN_RSA_BITS:
                yield _Key(kid, algorithm, key)
