"""Credentials in the settings, to be redacted from the record and the log."""

import re
from collections.abc import Iterator, Mapping
from urllib.parse import unquote

from pydantic import BaseModel, SecretStr
from sqlalchemy import make_url
from sqlalchemy.exc import ArgumentError

from datasphinx.agent.core.redact import is_secret_parameter
from datasphinx.agent.settings import Settings


def secrets_of(settings: Settings) -> tuple[str, ...]:
    """Return the values of all secret fields in `settings`, longest first; of URLs, passwords and secret parameters."""
    secrets: set[str] = set()
    for value in (settings.source, *_secret_values(settings)):
        # A URL is no secret as a whole: its host and database are named in messages.
        secrets |= _passwords(value) if "://" in value else {value}
    return tuple(sorted(secrets - {""}, key=len, reverse=True))


def _secret_values(value: object) -> Iterator[str]:
    """Yield the values of all `SecretStr` in a model, a mapping or a sequence."""
    if isinstance(value, SecretStr):
        yield value.get_secret_value()
    elif isinstance(value, BaseModel):
        yield from _secret_values(value.__dict__)
    elif isinstance(value, Mapping):
        yield from _secret_values(tuple(value.values()))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _secret_values(item)


def _passwords(url: str) -> set[str]:
    """Return the password and the secret parameters in `url`, both as written and decoded."""
    try:
        password = make_url(url).password or ""
    except (ArgumentError, ValueError):
        return set()
    encoded = [url.partition("://")[2].rpartition("@")[0].partition(":")[2]]
    parameters = (each.partition("=") for each in re.split("[&;]", url.partition("?")[2]))
    encoded += [value for name, _, value in parameters if is_secret_parameter(unquote(name))]
    return {str(password), *encoded, *map(unquote, encoded)}
