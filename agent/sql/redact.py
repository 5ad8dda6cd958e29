"""Keeps passwords out of what is shown."""

import re

_PASSWORD = re.compile(r"(?<=:)[^:/@][^@]*(?=@)")


def without_password(url: str) -> str:
    """Return `url`, which may be malformed, with stars in place of its password."""
    return _PASSWORD.sub("***", url)
