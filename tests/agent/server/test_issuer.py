"""Keys of an issuer: cache, rotation, outages and limits."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from datasphinx.agent.errors import ConfigurationError, Unauthenticated, Unavailable
from datasphinx.agent.server import issuer as module
from datasphinx.agent.server.issuer import SigningKeys
from datasphinx.agent.settings import OidcSettings
from tests.agent.server.issuers import AUDIENCE, DISCOVERY, JWKS, Issuer, issuing, public_jwk


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    with issuing() as issuer:
        yield issuer


class Clock:
    """Seconds that pass only when told."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


def keys_of(issuer: Issuer, clock: Clock | None = None, **settings: Any) -> SigningKeys:
    given = {"issuer": issuer.url, "audience": AUDIENCE, "tenant": "acme", **settings}
    return SigningKeys(OidcSettings.model_validate(given), clock or Clock())


async def outcome(keys: SigningKeys, kid: str | None, algorithm: str = "RS256") -> str:
    """The id of the key that is found, or the code of the error."""
    try:
        return str((await keys.find(kid, algorithm)).key_id)
    except (Unavailable, Unauthenticated) as error:
        return error.code


def test_the_keys_are_fetched_once(issuer: Issuer) -> None:
    async def check() -> None:
        keys = keys_of(issuer, clock := Clock())
        assert await asyncio.gather(*(outcome(keys, "first") for _ in range(20))) == ["first"] * 20
        clock.now += 500
        assert await outcome(keys, "first") == "first"

    asyncio.run(check())
    assert issuer.requests == {DISCOVERY: 1, JWKS: 1}


def test_a_new_key_is_found_and_an_old_one_forgotten(issuer: Issuer) -> None:
    async def check() -> None:
        keys = keys_of(issuer, clock := Clock())
        assert await outcome(keys, "first") == "first"
        issuer.keys = [public_jwk("second")]
        clock.now += 11
        assert await outcome(keys, "second") == "second"
        assert await outcome(keys, "first") == "token_invalid"
        # Without an unknown id, the removal of a key takes effect after ten minutes.
        issuer.keys = [public_jwk("third")]
        assert await outcome(keys, "second") == "second"
        clock.now += 601
        assert await outcome(keys, "second") == "token_invalid"

    asyncio.run(check())


def test_unknown_ids_cause_one_request_in_ten_seconds(issuer: Issuer) -> None:
    async def check() -> None:
        keys = keys_of(issuer, clock := Clock())
        assert await outcome(keys, "first") == "first"
        for number in range(200):
            clock.now += 0.1
            assert set(await asyncio.gather(*(outcome(keys, f"x{number}-{part}") for part in range(5)))) == {
                "token_invalid"
            }
            assert await outcome(keys, "first") == "first"

    asyncio.run(check())
    assert 2 <= issuer.requests[JWKS] <= 3


def test_keys_are_kept_for_a_day_while_the_issuer_is_down(issuer: Issuer) -> None:
    async def check() -> None:
        keys = keys_of(issuer, clock := Clock())
        assert await outcome(keys, "first") == "first"
        issuer.documents[JWKS] = 500
        for _ in range(23):
            clock.now += 3600
            assert await outcome(keys, "first") == "first"
            assert await outcome(keys, "unknown") == "token_invalid"
        clock.now += 2 * 3600
        assert await outcome(keys, "first") == "issuer_unavailable"
        del issuer.documents[JWKS]
        clock.now += 61
        assert await outcome(keys, "first") == "first"

    asyncio.run(check())


def test_a_silent_issuer_delays_few_tokens(issuer: Issuer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_TIMEOUT_S", 0.2)

    async def check() -> None:
        keys = keys_of(issuer, clock := Clock())
        assert await outcome(keys, "first") == "first"
        issuer.may_answer.clear()
        clock.now += 700
        for _ in range(50):
            assert await outcome(keys, "first") == "first"
            clock.now += 1

    asyncio.run(check())
    assert issuer.requests[DISCOVERY] == 2


def test_without_any_key_the_issuer_is_unavailable(issuer: Issuer) -> None:
    issuer.documents[DISCOVERY] = 503

    async def check() -> None:
        keys = keys_of(issuer, clock := Clock())
        assert await outcome(keys, "first") == "issuer_unavailable"
        del issuer.documents[DISCOVERY]
        assert await outcome(keys, "first") == "issuer_unavailable"
        clock.now += 11
        assert await outcome(keys, "first") == "first"

    asyncio.run(check())


@pytest.mark.parametrize(
    ("path", "content"),
    [
        (DISCOVERY, {"issuer": "https://elsewhere.example", "jwks_uri": "https://elsewhere.example/keys"}),
        (DISCOVERY, b"<html>"),
        (DISCOVERY, [1]),
        (JWKS, {"keys": [{}] * 101}),
        (JWKS, {"keys": "many"}),
        (JWKS, b"[" * 400_000),
        (JWKS, b'{"keys": [], "more": "' + b"x" * 600_000 + b'"}'),
        (JWKS, 302),
    ],
)
def test_documents_of_another_form_are_refused(issuer: Issuer, path: str, content: Any) -> None:
    issuer.documents[path] = content
    assert asyncio.run(outcome(keys_of(issuer), "first")) == "issuer_unavailable"


def test_keys_are_at_a_url_that_nobody_can_change(issuer: Issuer) -> None:
    issuer.documents[DISCOVERY] = {"issuer": issuer.url, "jwks_uri": "http://keys.example/keys"}
    assert asyncio.run(outcome(keys_of(issuer), "first")) == "issuer_unavailable"
    issuer.url = "http://login.example"
    with pytest.raises(ConfigurationError, match="https://"):
        keys_of(issuer)


def test_only_public_keys_for_asymmetric_signatures_are_used(issuer: Issuer) -> None:
    issuer.keys = [
        {"kty": "oct", "k": "c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0", "kid": "symmetric", "alg": "HS256"},
        public_jwk("encryption", use="enc"),
        public_jwk("short"),
        {**public_jwk("private"), "d": "AQAB"},
        {"kty": "RSA", "kid": "broken", "n": 7},
        {"kty": "new", "kid": "future"},
        public_jwk("twice"),
        public_jwk("twice", "ES256"),
        public_jwk("twice", "ES256"),
        public_jwk("bound", alg="PS256"),
        public_jwk("curve", "ES384"),
        public_jwk("edwards", "EdDSA"),
    ]

    async def check() -> None:
        keys = keys_of(issuer)
        for kid in ("encryption", "short", "private", "broken", "future", "bound", "curve"):
            assert await outcome(keys, kid) == "token_invalid", kid
        assert await outcome(keys, "symmetric", "HS256") == "token_invalid"
        assert await outcome(keys, "twice") == "twice"
        assert await outcome(keys, "twice", "ES256") == "token_invalid"
        for kid, algorithm in (("bound", "PS256"), ("curve", "ES384"), ("edwards", "EdDSA")):
            assert await outcome(keys, kid, algorithm) == kid
        # Without an id, there has to be a single key for the algorithm.
        assert await outcome(keys, None, "ES384") == "curve"
        assert await outcome(keys, None, "ES256") == "token_invalid"

    asyncio.run(check())
