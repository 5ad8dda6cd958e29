"""Storage of the files of a source: local folders and S3 buckets."""

import glob
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

from datasphinx.agent.errors import (
    ConfigurationError,
    DatasphinxError,
    DriverMissing,
    SourceFilesUnreadable,
    SourceNotFound,
    SourceUnreachable,
    Unavailable,
)
from datasphinx.agent.messages import Message
from datasphinx.agent.settings import StorageSettings, has_pattern
from datasphinx.agent.sql.view_files import S3, StoredFile, s3_store

_STORAGE_VARIABLES = tuple(
    """access_key_id secret_access_key session_token region default_region endpoint endpoint_url endpoint_url_s3
    allow_http skip_signature web_identity_token_file role_arn role_session_name container_credentials_relative_uri
    container_credentials_full_uri container_authorization_token_file virtual_hosted_style_request metadata_endpoint
    imdsv1_fallback""".split()
)
"""Environment variables of the S3 client, without `AWS_`."""
_DENIED = ("403 Forbidden", "401 Unauthorized", "AccessDenied", "InvalidAccessKeyId", "SignatureDoesNotMatch")
_CREDENTIAL_REQUESTS = ("/latest/api/token", "/latest/meta-data", "MissingAccessKeyId", "MissingSecretAccessKey")
_UNREACHABLE = ("error sending request", "HTTP error")


def storage_options(settings: StorageSettings, environment: Mapping[str, str]) -> dict[str, str]:
    """Return the options of the S3 client: those of `settings`, and others from `AWS_...` in `environment`.

    If the settings have an access key, the session token of the environment is ignored.
    """
    own = {
        "endpoint": settings.endpoint,
        "region": settings.region,
        "access_key_id": settings.access_key_id and settings.access_key_id.get_secret_value(),
        "secret_access_key": settings.secret_access_key and settings.secret_access_key.get_secret_value(),
        "session_token": settings.session_token and settings.session_token.get_secret_value(),
        "skip_signature": "true" if settings.anonymous else None,
    }
    options = {
        name: environment[f"AWS_{name.upper()}"] for name in _STORAGE_VARIABLES if f"AWS_{name.upper()}" in environment
    }
    if own["access_key_id"]:
        options.pop("session_token", None)
    if own["endpoint"]:
        options = {name: value for name, value in options.items() if not name.startswith("endpoint")}
    options |= {name: value for name, value in own.items() if value}
    if any(value.startswith("http://") for name, value in options.items() if name.startswith("endpoint")):
        options["allow_http"] = "true"
    return {f"aws_{name}": value for name, value in options.items()}


def find_files(pattern: str, storage: Mapping[str, str]) -> list[StoredFile]:
    """Return the files that match `pattern`, sorted by location.

    Raises:
        Unavailable, SourceUnreachable, ConfigurationError: an S3 bucket cannot be listed.
    """
    if pattern.startswith(S3):
        return _find_objects(pattern, storage)
    files = []
    for path in sorted(set(glob.glob(pattern, recursive=True))):
        if os.path.isfile(path):
            state = os.stat(path)
            files.append(StoredFile(path, state.st_size, state.st_mtime))
    return files


def _find_objects(pattern: str, storage: Mapping[str, str]) -> list[StoredFile]:
    if find_spec("obstore") is None:
        raise DriverMissing("obstore", "lakes")
    import obstore

    bucket, _, keys = pattern.removeprefix(S3).partition("/")
    matches = _matcher(keys)
    prefix = re.split(r"[*?\[]", keys)[0].rpartition("/")[0]
    with _storage_errors(pattern):
        store = s3_store(bucket, storage)
        if not has_pattern(keys):
            try:
                objects: list[Any] = [obstore.head(store, keys)] if keys else []
            except FileNotFoundError:
                objects = []
        else:
            objects = [each for page in obstore.list(store, prefix or None) for each in page]
    return [
        StoredFile(f"{S3}{bucket}/{each['path']}", each["size"], each["last_modified"].timestamp())
        for each in sorted(objects, key=lambda each: each["path"])
        if matches(each["path"])
    ]


def _matcher(pattern: str) -> Callable[[str], object]:
    """Return a function that matches keys like `glob.glob`: only `**` matches slashes. Leading dots are not special."""
    rules = {"**/": "(?:[^/]+/)*", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    tokens = re.findall(r"\*\*/|\*\*|\*|\?|\[!?\]?[^\]]*\]|.", pattern)
    parts = [
        rules.get(token)
        or (f"[^{token[2:]}" if token.startswith("[!") else token if len(token) > 1 else re.escape(token))
        for token in tokens
    ]
    return re.compile("".join(parts), re.DOTALL).fullmatch


def _storage_error(path: str, error: Exception) -> DatasphinxError:
    """Convert an error of the S3 client to one of `datasphinx.agent.errors`, by its message."""
    text = str(error)
    reason = text.strip().splitlines()[0] if text.strip() else type(error).__name__
    if any(mark in text for mark in _DENIED):
        return Unavailable("storage_denied", path=path, reason=reason)
    if any(mark in text for mark in _CREDENTIAL_REQUESTS):
        return ConfigurationError("DATASPHINX_SOURCES", Message("storage_without_credentials", path=path))
    if "NoSuchBucket" in text:
        return SourceNotFound(path, Message("bucket_missing"))
    if any(mark in text for mark in _UNREACHABLE):
        return SourceUnreachable(
            path, Message("cause_and_quotation", cause=Message("database_silent"), quotation=reason)
        )
    return SourceFilesUnreadable(path, reason)


@contextmanager
def _storage_errors(path: str) -> Iterator[None]:
    from obstore.exceptions import BaseError

    try:
        yield
    except (BaseError, OSError) as error:
        raise _storage_error(path, error) from error
