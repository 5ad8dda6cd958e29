"""A DuckDB connection that can only read its own file."""

from typing import Any

LOCKED: dict[str, str | bool | int | float | list[str]] = {
    "enable_external_access": False,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "temp_directory": "",
    "lock_configuration": True,
}
"""No file, network or extension can be reached, nothing spills to disk, and none of this can be changed."""

_THREADS = 2


def open_duckdb(path: str, memory_mb: int) -> Any:
    """Return a connection to the file at `path` that can neither write nor leave it, within `memory_mb` megabytes."""
    import duckdb

    config = {**LOCKED, "memory_limit": f"{memory_mb}MB", "threads": _THREADS}
    return duckdb.connect(path, read_only=True, config=config)
