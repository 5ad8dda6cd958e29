"""Plug-ins of this and of other packages, found through groups of entry points."""

from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points


def plugins(group: str, own: Mapping[str, str]) -> dict[str, EntryPoint]:
    """Return the entry points of a group by name; those of this package come first, and others cannot replace them.

    `own` are the entry points of this package, as in its metadata, which in a checkout may be older than its files.
    """
    ours = {name: EntryPoint(name, value, group) for name, value in own.items()}
    return {**ours, **{entry.name: entry for entry in entry_points(group=group) if entry.name not in ours}}
