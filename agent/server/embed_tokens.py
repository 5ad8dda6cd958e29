"""Tokens of embedded chats: short-lived, signed by this server, for questions of one tenant only."""

import re
import time
from collections.abc import Container
from typing import ClassVar

import jwt

from datasphinx.agent.errors import Forbidden, Unauthenticated
from datasphinx.agent.messages import Message
from datasphinx.agent.server.tenants import Identity
from datasphinx.agent.settings import EmbedSettings

_ALGORITHM, _AUDIENCE = "HS256", "datasphinx-embed"
TOKEN_S = 600
"""Seconds for which a token is valid."""
_PERMITTED = re.compile(
    r"/sources|/agent/(events|invoke)|/threads/[0-9a-f]{32}/(history|feedback|runs/[0-9a-f-]{36}(/questions)?)|/charts/[^/]+"
)


class EmbedTokens:
    """Issues and verifies the tokens."""

    prefix: ClassVar = "dse_"
    """The first characters of every token, which distinguish it from the tokens of an issuer."""

    def __init__(self, settings: EmbedSettings, tenants: Container[str]) -> None:
        """Set the secret, and the tenants that tokens may name."""
        self._settings, self._tenants = settings, tenants

    def issue(self, tenant: str) -> str:
        """Return a token for questions of `tenant`, valid for `TOKEN_S` seconds from now on."""
        claims = {"aud": _AUDIENCE, "tenant": tenant, "exp": int(time.time()) + TOKEN_S}
        return self.prefix + jwt.encode(claims, self._settings.secret.get_secret_value(), _ALGORITHM)

    def identify(self, token: str, path: str) -> Identity:
        """Return the tenant of `token`, with the role `ask`, for a request to `path`.

        Raises:
            Unauthenticated: this server has not signed it, or it has expired.
            Forbidden: its tenant is unknown, or the path is not one of an embedded chat.
        """
        try:
            claims = jwt.decode(
                token.removeprefix(self.prefix),
                self._settings.secret.get_secret_value(),
                [_ALGORITHM],
                audience=_AUDIENCE,
                options={"require": ["exp", "aud"]},
            )
        except jwt.ExpiredSignatureError:
            raise Unauthenticated("token_invalid", reason=Message("token_expired")) from None
        except (jwt.PyJWTError, ValueError):
            raise Unauthenticated("token_invalid", reason=Message("token_signature")) from None
        tenant = claims.get("tenant")
        if not isinstance(tenant, str) or tenant not in self._tenants:
            raise Forbidden("token_not_permitted", reason=Message("token_without_tenant"))
        if not _PERMITTED.fullmatch(path):
            raise Forbidden("token_not_permitted", reason=Message("token_for_questions"))
        return Identity(tenant, frozenset({"ask"}), is_visitor=True)
