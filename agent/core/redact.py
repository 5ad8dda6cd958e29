"""Redaction of passwords, keys and server paths in texts."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from datasphinx.agent.messages import Message

_PASSWORD = re.compile(r"^((?:[\w.+-]*://)?[^:@]*:).+(?=@)", re.S)
_URL_PASSWORD = re.compile(r"(\b[a-z][\w+.-]*://[^\s:/@\"'<>]*:)[^\s\"'<>]+(?=@)", re.I)
_SECRET_NAME = (
    r"[\w.-]*(?:passw(?:or)?d|pwd|passphrase|passcode|secret|token|credentials?|signature|(?:api|private|access|account)[_-]?key)"
    r"[\w-]*|sig|odbc_connect"
)
_KEY_VALUE = re.compile(rf"([?&;](?:{_SECRET_NAME})=)[^&;\s\"'<>]+", re.I)
_BEARER = re.compile(r"(\bBearer\s+)[\w.~+/=-]{6,}", re.I)

_PATTERNS = {"://": _URL_PASSWORD, "=": _KEY_VALUE, "bearer": _BEARER}
"""Patterns by a substring that their matches contain, in lower case."""

_FILE_URL = r"(?:(?:sqlite|duckdb|chdb)(?:\+\w+)?|file)://"
_QUOTED_PATH = re.compile(rf"""(['"`])((?:{_FILE_URL}|~?/(?=[^/'"`\s]))[^'"`\n]*)\1""", re.I)
_BARE_PATH = re.compile(
    rf"""{_FILE_URL}/[^\s'"`<>]*|(?<![A-Za-z0-9_/.\\~])~?/(?:[^\s/'"`:;,()<>]+/)+[^\s/'"`:;,()<>]*""", re.I
)
_DIRECTORY = "..."
_BELOW = r"""(?![\w.-])(?:/[^\s'"`/:;,()<>]*)*"""
_PATH_FACTS = ("file", "first", "place", "second", "source", "store", "url")
"""Facts of errors that consist of one path or URL, which may contain spaces."""

_SHORTEST_PART = 6
"""The minimum length in characters of a secret that is replaced within words; a shorter one is replaced as a word."""
_SHORTEST_WORD = 3
"""A shorter secret is replaced in URLs alone: elsewhere it cannot be told from a word such as `a` or `no`."""

_remembered: tuple[str, ...] = ()


def remember_secrets(secrets: Iterable[str]) -> None:
    """Let `without_secrets` replace `secrets` in all texts of this process from now on."""
    global _remembered
    _remembered = tuple(sorted({*_remembered, *secrets}, key=len, reverse=True))


def is_secret_parameter(name: str) -> bool:
    """Return whether the value of the parameter `name` of a URL is a secret.

    >>> is_secret_parameter("access_token"), is_secret_parameter("warehouse")
    (True, False)
    """
    return re.fullmatch(_SECRET_NAME, name, re.I) is not None


def without_password(url: str) -> str:
    """Return `url`, which may be malformed, with its password replaced by ***.

    >>> without_password("postgresql://ann:secret@host/shop")
    'postgresql://ann:***@host/shop'
    """
    return _PASSWORD.sub(r"\1***", url)


def without_secrets(text: str, secrets: Iterable[str] = ()) -> str:
    """Return `text` with `secrets`, remembered secrets, passwords and keys in URLs, and bearer tokens replaced by ***.

    >>> without_secrets("GET https://host/a?api_key=k1234 with Bearer abcdefgh")
    'GET https://host/a?api_key=*** with Bearer ***'
    """
    for secret in (*secrets, *_remembered):
        if len(secret) >= _SHORTEST_PART:
            text = text.replace(secret, "***")
        elif len(secret) >= _SHORTEST_WORD and secret in text:
            text = re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", "***", text)
    # All recorded texts are redacted, and few contain a match; a substring test is faster than the pattern.
    lower = text.lower()
    for mark, pattern in _PATTERNS.items():
        if mark in lower:
            text = pattern.sub(r"\1***", text)
    return text


def without_paths(text: str, directories: Iterable[str] = ()) -> str:
    """Return `text` with each absolute path, and each path in the URL of a database file, cut to its last part.

    A path with spaces is recognised only in quotes or below one of `directories`.

    >>> without_paths("IO Error: cannot read /srv/data/orders.parquet")
    'IO Error: cannot read orders.parquet'
    >>> without_paths("sqlite:////srv/data/shop.db does not exist; see https://example.com/a/b")
    'sqlite:///shop.db does not exist; see https://example.com/a/b'
    """
    if "/" not in text:
        return text
    text = without_directories(text, directories)
    text = _QUOTED_PATH.sub(lambda match: f"{match[1]}{last_part(match[2])}{match[1]}", text)
    return _BARE_PATH.sub(lambda match: last_part(match[0]), text)


def without_directories(text: str, directories: Iterable[str]) -> str:
    """Return `text` with `directories` replaced by "...", and paths below them cut to their last part."""

    def replacement(match: re.Match[str]) -> str:
        return last_part(match[2]) or _DIRECTORY

    for directory in sorted(directories, key=len, reverse=True):
        if directory in text:
            text = re.sub(f"({re.escape(directory)})({_BELOW})", replacement, text)
    return text


def facts_without_paths(facts: Mapping[str, Any], directories: Iterable[str] = ()) -> dict[str, Any]:
    """Return the facts of an error with `without_paths` applied to its texts."""
    directories = set(directories)

    def redact(name: str, fact: Any) -> Any:
        if isinstance(fact, list | tuple):
            return type(fact)(redact(name, part) for part in fact)
        if isinstance(fact, Message):
            return Message(fact.code, **facts_without_paths(fact.facts, directories))
        if not isinstance(fact, str):
            return fact
        is_path = name in _PATH_FACTS and re.match(rf"{_FILE_URL}|~?/", fact, re.I)
        return last_part(fact) if is_path and fact not in directories else without_paths(fact, directories)

    return {name: redact(name, fact) for name, fact in facts.items()}


def last_part(path: str) -> str:
    """Return the last part of a path; a file URL keeps its scheme and query.

    >>> last_part("/srv/data/shop.db"), last_part("sqlite:////srv/shop.db?mode=ro")
    ('shop.db', 'sqlite:///shop.db?mode=ro')
    """
    scheme, mark, rest = path.rpartition("://")
    file_path, query, parameters = rest.partition("?") if mark else (rest, "", "")
    name = file_path.rstrip("/").rpartition("/")[2]
    return f"{scheme}:///{name}{query}{parameters}" if mark else name
