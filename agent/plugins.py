"""Plug-ins of this and of other packages, found through groups of entry points."""

from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points


def plugins(group: str, own: Mapping[str, str]) -> dict[str, EntryPoint]:
    """Return the entry points of a group by name in lower case; others cannot replace those of this package, the first.

    `own` are the entry points of this package, as in its metadata, which in a checkout may be older than its files.
    """
    ours = {name: EntryPoint(name, value, group) for name, value in own.items()}
    others = {entry.name.lower(): entry for entry in entry_points(group=group)}
    return {**ours, **{name: entry for name, entry in others.items() if name not in ours}}
