"""Bearer tokens (JWT): their verification, and the tenant, roles and row parameters in their claims."""

import math
from collections.abc import Collection, Mapping
from typing import Any

import jwt

from datasphinx.agent.core.canonical import value_hash
from datasphinx.agent.core.text import valid_text
from datasphinx.agent.errors import Forbidden, Unauthenticated
from datasphinx.agent.messages import Message
from datasphinx.agent.server.issuer import ALGORITHMS, SigningKeys
from datasphinx.agent.server.tenants import Identity
from datasphinx.agent.settings import OidcSettings, Role

_MAX_CHARS = 16_384
_MAX_SHOWN_CHARS = 100
_LEEWAY_S = 30
_REASONS: dict[type[Exception], str] = {
    jwt.InvalidSignatureError: "token_signature",
    jwt.ExpiredSignatureError: "token_expired",
    jwt.ImmatureSignatureError: "token_too_early",
    jwt.InvalidAudienceError: "token_audience",
    jwt.InvalidIssuerError: "token_issuer",
}


class TokenVerifier:
    """Verifies the tokens of one issuer."""

    def __init__(self, settings: OidcSettings, tenants: Collection[str], keys: SigningKeys) -> None:
        """Set the issuer, the tenants that tokens may name, and the keys of the issuer."""
        self._settings, self._tenants, self._keys = settings, tenants, keys

    async def identify(self, token: str) -> Identity:
        """Return the tenant, the roles and the row parameters of the user of `token`.

        Raises:
            Unauthenticated: the token is not a valid one of the issuer for this audience at this time.
            Forbidden: it names no tenant of this server, or a row parameter that has no scalar value.
        """
        claims = await self._verify(token)
        subject = claims.get("sub")
        user = value_hash(subject) if isinstance(subject, str) and subject else None
        return Identity(self._tenant(claims), self._roles(claims), self._row_parameters(claims), user)

    async def _verify(self, token: str) -> dict[str, Any]:
        malformed = Unauthenticated("token_invalid", reason=Message("token_malformed", count=_MAX_CHARS))
        if len(token) > _MAX_CHARS:
            raise malformed
        try:
            header = jwt.get_unverified_header(token)
        except (jwt.PyJWTError, ValueError):
            raise malformed from None
        # Other headers, such as `jku`, `jwk` and `x5c`, are never read: keys come from the issuer alone.
        algorithm, kid = header.get("alg"), header.get("kid")
        if algorithm not in ALGORITHMS:
            raise Unauthenticated("token_invalid", reason=Message("token_algorithm"))
        if "crit" in header:
            raise malformed
        key = await self._keys.find(kid, algorithm)
        try:
            return jwt.decode(
                token,
                key,
                [algorithm],
                audience=self._settings.audience,
                issuer=self._settings.issuer,
                leeway=_LEEWAY_S,
                options={"require": ["exp", "iss", "aud"]},
            )
        except (jwt.PyJWTError, ArithmeticError, TypeError, ValueError) as error:
            raise Unauthenticated("token_invalid", reason=Message(_REASONS.get(type(error), "token_claims"))) from None

    def _tenant(self, claims: Mapping[str, Any]) -> str:
        name = _claim(claims, self._settings.tenant_claim) if self._settings.tenant_claim else None
        if isinstance(name, list) and len(name) == 1:
            name = name[0]
        if name is None:
            name = self._settings.tenant
        if name is None:
            raise Forbidden("token_not_permitted", reason=Message("token_without_tenant"))
        if not isinstance(name, str) or name not in self._tenants:
            raise Forbidden(
                "token_not_permitted",
                reason=Message("token_tenant_unknown", name=valid_text(str(name)[:_MAX_SHOWN_CHARS])),
            )
        return name

    def _roles(self, claims: Mapping[str, Any]) -> frozenset[Role]:
        roles, path = self._settings.roles, self._settings.role_claim
        values = _claim(claims, path) if path else None
        # A text is a list of scopes (RFC 6749, section 3.3).
        values = values.split() if isinstance(values, str) else values if isinstance(values, list) else []
        granted = {role for role, granting in roles.items() if any(value in granting for value in values)}
        return frozenset(granted if "ask" in roles else {*granted, "ask"})

    def _row_parameters(self, claims: Mapping[str, Any]) -> dict[str, str | int | float] | None:
        """Return the values in the claims, without those of missing claims; None if claims set no row parameter."""
        if not self._settings.row_parameters:
            return None
        values = {}
        for name, path in self._settings.row_parameters.items():
            value = _claim(claims, path)
            if value is None:
                continue
            is_scalar = isinstance(value, str | int | float) and not isinstance(value, bool)
            is_valid = valid_text(value) == value if isinstance(value, str) else is_scalar and math.isfinite(value)
            if not is_scalar or not is_valid:
                raise Forbidden("token_not_permitted", reason=Message("token_claim_unusable", claim=path))
            values[name] = value
        return values


def _claim(claims: Mapping[str, Any], path: str) -> Any:
    """Return the claim at `path`, or None. Names of claims may contain dots.

    >>> _claim({"realm_access": {"roles": ["ops"]}}, "realm_access.roles")
    ['ops']
    >>> _claim({"https://example.com/roles": ["ops"]}, "https://example.com/roles")
    ['ops']
    """
    if path in claims:
        return claims[path]
    for name, value in claims.items():
        if isinstance(value, Mapping) and path.startswith(f"{name}."):
            found = _claim(value, path[len(name) + 1 :])
            if found is not None:
                return found
    return None
