"""Errors as JSON values: code and facts, from which the text can be rendered in any language."""

import os
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from sqlalchemy import make_url
from sqlalchemy.exc import ArgumentError

import datasphinx
from datasphinx.agent.core.redact import facts_without_paths
from datasphinx.agent.errors import DatasphinxError, error_with
from datasphinx.agent.messages import Language, Message, fact_text, render
from datasphinx.agent.settings import Settings, files_root
from datasphinx.agent.types import ErrorInfo


def failure_of(error: DatasphinxError) -> dict[str, Any]:
    """Return the code and the facts of `error` as a JSON value.

    `messages` holds the facts that can be rendered in other languages, by name; `facts` has their English texts.
    """
    return _failure(error.code, error.details())


def _failure(code: str, details: Mapping[str, Any]) -> dict[str, Any]:
    facts = {name: _plain_fact(fact) for name, fact in details.items()}
    messages = {name: message for name, fact in details.items() if (message := _encode(fact)) != facts[name]}
    return {"code": code, "facts": facts, **({"messages": messages} if messages else {})}


def _plain_fact(fact: Any) -> Any:
    if isinstance(fact, tuple | list):
        return [_plain_fact(part) for part in fact]
    return str(fact) if isinstance(fact, Message) else fact


def _encode(fact: Any) -> Any:
    if isinstance(fact, Message):
        return {"code": fact.code, "facts": {name: _encode(part) for name, part in fact.facts.items()}}
    return [_encode(part) for part in fact] if isinstance(fact, tuple | list) else fact


def _decode(fact: Any) -> Any:
    if isinstance(fact, Mapping):
        return Message(fact["code"], **{name: _decode(part) for name, part in fact["facts"].items()})
    return tuple(_decode(part) for part in fact) if isinstance(fact, list) else fact


def _details(failure: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes of the error of `failure`."""
    return {name: _decode(fact) for name, fact in {**failure["facts"], **failure.get("messages", {})}.items()}


def client_failure(error: DatasphinxError, settings: Settings) -> dict[str, Any]:
    """Return `failure_of(error)` for clients of a server: without the paths of this machine, unless it is theirs."""
    failure = failure_of(error)
    return failure if shows_paths(settings) else without_server_paths(failure, settings)


def shown_error(error: DatasphinxError, settings: Settings, language: Language) -> ErrorInfo:
    """Return code and text of `error` for clients of a server; see `client_failure`."""
    return error_info(client_failure(error, settings), language)


def shows_paths(settings: Settings) -> bool:
    """Return whether clients see the paths of this machine: those on the machine itself, who may edit its sources."""
    return settings.is_private and settings.edit_sources is not False


def without_server_paths(failure: dict[str, Any], settings: Settings) -> dict[str, Any]:
    """Return `failure` without the paths of this machine."""
    return _failure(failure["code"], facts_without_paths(_details(failure), server_directories(settings)))


def server_directories(settings: Settings) -> set[str]:
    """Return the directories of this machine that a text may contain: data, caches, databases, package, Python."""
    urls = [source.url.get_secret_value() for source in settings.sources.values()] + [settings.source]
    databases = [os.path.dirname(path) for path in map(_database_file, urls) if path]
    files = [files.path for source in settings.sources.values() for files in source.files.values()]
    databases += [files_root(path) for path in files if "://" not in path]
    package, home = Path(datasphinx.__file__).parents[1], os.path.expanduser("~")
    directories = [str(settings.data_dir), str(settings.cache_dir), *databases]
    with suppress(FileNotFoundError):
        # If the working directory was deleted, relative paths cannot be resolved.
        directories = [
            *directories,
            *map(os.path.abspath, directories),
            *map(os.path.realpath, directories),
            os.getcwd(),
        ]
    all_directories = [*directories, str(package), home, sys.prefix, tempfile.gettempdir()]
    return {path for path in all_directories if os.path.isabs(path) and path != os.path.sep}


def _database_file(url: str) -> str | None:
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        return None
    return None if parsed.host else parsed.database


def error_of(failure: dict[str, Any]) -> DatasphinxError:
    """Return the error of `failure`, the inverse of `failure_of`. Raise KeyError if the code is unknown."""
    return error_with(failure["code"], **_details(failure))


def error_info(failure: dict[str, Any], language: Language) -> ErrorInfo:
    """Return the stable code of `failure` and its text in `language`."""
    error = ErrorInfo(code=failure["code"], message=render(failure["code"], language, **_details(failure)))
    is_off_topic = failure["code"] == "off_topic" and failure["facts"].get("tables")
    return {**error, "tables": list(failure["facts"]["tables"])} if is_off_topic else error


def full_text(failure: dict[str, Any], language: Language) -> str:
    """Return the text of `failure` in `language`, followed by its reason if the text does not contain it."""
    text = error_info(failure, language)["message"]
    reason = fact_text("reason", _details(failure).get("reason", ""), language)
    return text if reason in text else f"{text}: {reason}"
