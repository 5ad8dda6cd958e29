"""API keys of tenants. Only their hashes are stored."""

import hashlib
import secrets

_PREFIX = "dsk_"
_BYTES = 32


def new_key() -> str:
    """Return a random key of 256 bits. At this length an unsalted hash is safe to store."""
    return _PREFIX + secrets.token_urlsafe(_BYTES)


def hash_of(key: str) -> str:
    """Return the hash of `key`, in the form of the settings."""
    return f"sha256:{hashlib.sha256(key.encode('utf-8', 'replace')).hexdigest()}"
