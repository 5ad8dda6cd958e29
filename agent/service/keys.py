"""Keys of tenants: made here, and kept nowhere but as hashes."""

import hashlib
import secrets

_PREFIX = "dsk_"
_BYTES = 32


def new_key() -> str:
    """Return a key that nobody can guess: 256 bits of chance, which is why a plain hash is enough to keep it by."""
    return _PREFIX + secrets.token_urlsafe(_BYTES)


def hash_of(key: str) -> str:
    """Return what the settings have of a key."""
    return f"sha256:{hashlib.sha256(key.encode('utf-8', 'replace')).hexdigest()}"
