"""Views over files, and the files that they read: values that processes exchange, and parts of SQL."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from typing import Any, NamedTuple
from urllib.parse import quote

PROTOCOL = "files"
S3 = "s3://"
_MAX_RETRIES = 3
_RETRY_S = 20.0
_TIMEOUT_S = 30


class StoredFile(NamedTuple):
    """A file at a local path or `s3://` URL, with its size in bytes and time of change in seconds since 1970."""

    location: str
    size: int
    modified: float


@dataclass(frozen=True)
class ViewFiles:
    """Views and the files that they read, as listed at one time.

    `views` contains the SELECT of each view, `files` each file by its URL in these statements (`view_url`), and
    `storage` the options of the S3 client.
    """

    views: Mapping[str, str]
    files: Mapping[str, StoredFile]
    storage: Mapping[str, str]

    @cached_property
    def stamp(self) -> str:
        """A digest that changes with the views and with every change of a file."""
        return hashlib.sha256(json.dumps([self.views, self.files]).encode()).hexdigest()

    @cached_property
    def key(self) -> str:
        """A digest of everything, including credentials."""
        return hashlib.sha256(json.dumps([self.stamp, self.storage]).encode()).hexdigest()

    def as_json(self) -> dict[str, Any]:
        """Return this object for `view_files_of`."""
        return {"views": self.views, "files": self.files, "storage": self.storage}

    def sharing_views(self) -> frozenset[str]:
        """Return the names of views that read a file of another view."""
        views_by_location: dict[str, set[str]] = {}
        prefixes = {view_url(name): name for name in self.views}
        for url, file in self.files.items():
            views_by_location.setdefault(file.location, set()).add(prefixes[view_of(url)])
        return frozenset().union(*(names for names in views_by_location.values() if len(names) > 1))


def view_files_of(content: Mapping[str, Any]) -> ViewFiles:
    """Return the object that `ViewFiles.as_json` described."""
    files = {url: StoredFile(*file) for url, file in content["files"].items()}
    return ViewFiles(content["views"], files, content["storage"])


def view_url(view: str, file: str = "") -> str:
    """Return the URL of a file of a view: `file` is unique in the view and may contain Hive partitions.

    >>> view_url("sales", "year=2024/part-0.parquet")
    'files://sales/year=2024/part-0.parquet'
    """
    return f"{PROTOCOL}://{quote(view, safe='')}/{file}"


def literal(text: str) -> str:
    """Return `text` as a string of SQL."""
    return "'" + text.replace("'", "''") + "'"


def quote_name(name: str) -> str:
    """Return `name` as a quoted identifier of DuckDB."""
    return '"' + name.replace('"', '""') + '"'


def view_of(url: str) -> str:
    """Return the start of the URLs of the view to which the file `url` belongs."""
    return "/".join(url.split("/", 3)[:3]) + "/"


def s3_store(bucket: str, storage: Mapping[str, str]) -> Any:
    """Return a client of an S3 bucket. It waits at most 20 seconds for a request to succeed.

    Raises:
        obstore.exceptions.BaseError: the options are not valid.
    """
    from obstore.store import S3Store

    return S3Store(
        bucket,
        config=dict(storage),  # type: ignore[arg-type]
        client_options={"timeout": timedelta(seconds=_TIMEOUT_S), "connect_timeout": timedelta(seconds=5)},
        retry_config={"max_retries": _MAX_RETRIES, "retry_timeout": timedelta(seconds=_RETRY_S)},
    )
