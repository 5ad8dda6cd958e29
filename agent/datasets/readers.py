"""Readers of files in other formats, found through the entry-point group `datasphinx.readers` by the suffix of a file.

A reader is a function that takes a path and yields the rows of the file: mappings from names of columns to texts,
numbers, booleans, dates, times, lists, mappings or None. It raises ValueError with the reason if the file is damaged.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

from datasphinx.agent.plugins import plugins

GROUP = "datasphinx.readers"

Reader = Callable[[Path], Iterable[Mapping[str, Any]]]


@cache
def readers() -> dict[str, EntryPoint]:
    """Return the entry points of all readers by the suffix of their files, without its dot."""
    return plugins(GROUP, {})


def reader_of(name: str) -> Reader | None:
    """Return the reader of a file with this name; None if there is none."""
    entry = readers().get(Path(name).suffix[1:].lower())
    return entry.load() if entry else None
