"""Keeps passwords out of what is shown."""

import re
from collections.abc import Iterable

_PASSWORD = re.compile(r"(?<=:)[^:/@][^@]*(?=@)")
_URL_PASSWORD = re.compile(r"(\b[a-z][\w+.-]*://[^\s:/@\"'<>]*:)[^\s\"'<>]+(?=@)", re.I)
_KEY_VALUE = re.compile(
    r"([?&;](?:password|passwd|pwd|sslpassword|token|access_token|api_?key|secret)=)[^&;\s\"'<>]+", re.I
)
_BEARER = re.compile(r"(\bBearer\s+)[\w.~+/=-]{6,}", re.I)

_PATTERNS = {"://": _URL_PASSWORD, "=": _KEY_VALUE, "bearer": _BEARER}
"""By what each can be found by, in lower case."""

SHORTEST_SECRET = 6
"""Characters: what is shorter stands in ordinary words, and is no secret."""


def without_password(url: str) -> str:
    """Return `url`, which may be malformed, with stars in place of its password."""
    return _PASSWORD.sub("***", url)


def without_secrets(text: str, secrets: Iterable[str] = ()) -> str:
    """Return `text` with stars in place of each of `secrets`, of passwords and keys in URLs, and of bearer tokens."""
    for secret in secrets:
        if len(secret) >= SHORTEST_SECRET:
            text = text.replace(secret, "***")
    # All that is recorded comes by here; little of it has a mark, and the patterns are slow to find nothing.
    lower = text.lower()
    for mark, pattern in _PATTERNS.items():
        if mark in lower:
            text = pattern.sub(r"\1***", text)
    return text
