"""Errors as JSON values: code and facts, from which the text can be rendered in any language."""

import os
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from sqlalchemy import make_url
from sqlalchemy.exc import ArgumentError

from agent.core.redact import facts_without_paths
from agent.errors import BY_CODE, DatasphinxError
from agent.messages import Language, render
from agent.settings import Settings
from agent.types import ErrorInfo


def failure_of(error: DatasphinxError) -> dict[str, Any]:
    """Return the code and the facts of `error` as a JSON value."""
    facts = {name: list(fact) if isinstance(fact, tuple) else fact for name, fact in error.details().items()}
    return {"code": error.code, "facts": facts}


def client_failure(error: DatasphinxError, settings: Settings) -> dict[str, Any]:
    """Return `failure_of(error)` without the paths of this machine, for clients of a server."""
    return without_server_paths(failure_of(error), settings)


def without_server_paths(failure: dict[str, Any], settings: Settings) -> dict[str, Any]:
    """Return `failure` without the paths of this machine."""
    return {**failure, "facts": facts_without_paths(failure["facts"], server_directories(settings))}


def server_directories(settings: Settings) -> set[str]:
    """Return the directories of this machine that a text may contain: data, caches, databases, package, Python."""
    urls = [source.url.get_secret_value() for source in settings.sources.values()] + [settings.source]
    databases = [os.path.dirname(path) for path in map(_database_file, urls) if path]
    package, home = Path(__file__).parents[2], os.path.expanduser("~")
    used = [str(settings.data_dir), str(settings.cache_dir), *databases]
    with suppress(FileNotFoundError):
        # If the working directory was deleted, relative paths cannot be resolved.
        used = [*used, *map(os.path.abspath, used), *map(os.path.realpath, used), os.getcwd()]
    own = [*used, str(package), home, sys.prefix, tempfile.gettempdir()]
    return {path for path in own if os.path.isabs(path) and path != os.path.sep}


def _database_file(url: str) -> str | None:
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        return None
    return None if parsed.host else parsed.database


def error_of(failure: dict[str, Any]) -> DatasphinxError:
    """Return the error of `failure`, the inverse of `failure_of`.

    Raises:
        KeyError: the code is unknown.
    """
    facts = {name: tuple(fact) if isinstance(fact, list) else fact for name, fact in failure["facts"].items()}
    error: DatasphinxError = BY_CODE[failure["code"]](**facts)
    return error


def error_info(failure: dict[str, Any], language: Language) -> ErrorInfo:
    """Return the stable code of `failure` and its text in `language`."""
    return ErrorInfo(code=failure["code"], message=render(failure["code"], language, **failure["facts"]))
