"""Views over files, and the files that they read: values that processes exchange, and parts of SQL."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple
from urllib.parse import quote

PROTOCOL = "files"


class StoredFile(NamedTuple):
    """A file at a local path, with its size in bytes and time of change in seconds since 1970."""

    location: str
    size: int
    modified: float


@dataclass(frozen=True)
class ViewFiles:
    """Views and the files that they read, as listed at one time.

    `views` contains the SELECT of each view, and `files` each file by its URL in these statements (`view_url`).
    """

    views: Mapping[str, str]
    files: Mapping[str, StoredFile]

    @cached_property
    def stamp(self) -> str:
        """A digest that changes with the views and with every change of a file."""
        return hashlib.sha256(json.dumps([self.views, self.files]).encode()).hexdigest()

    def as_json(self) -> dict[str, Any]:
        """Return this object for `view_files_of`."""
        return {"views": self.views, "files": self.files}

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
    return ViewFiles(content["views"], files)


def view_url(view: str, file: str = "") -> str:
    """Return the URL of a file of a view: `file` is unique in the view and may contain Hive partitions.

    >>> view_url("sales", "year=2024/part-0.parquet")
    'files://sales/year=2024/part-0.parquet'
    """
    return f"{PROTOCOL}://{quote(view, safe='')}/{file}"


def view_of(url: str) -> str:
    """Return the start of the URLs of the view to which the file `url` belongs."""
    return "/".join(url.split("/", 3)[:3]) + "/"
