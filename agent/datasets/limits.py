"""How large a file may be that is made into a dataset."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from agent.errors import FileTooLarge
from agent.settings import Settings

LoadProgress = Callable[[str, float], None]
"""Is told the stage that goes on (`read`, `examine` or `write`) and the share of it that is done, from 0 to 1."""

Bounded = Literal["bytes", "rows", "columns", "megabytes in memory"]

_SETTINGS: dict[Bounded, tuple[str, str]] = {
    "bytes": ("max_bytes", "MAX_FILE_BYTES"),
    "rows": ("max_rows", "MAX_DATASET_ROWS"),
    "columns": ("max_columns", "MAX_DATASET_COLUMNS"),
    "megabytes in memory": ("memory_mb", "WORKER_MEMORY_MB"),
}


@dataclass(frozen=True)
class LoadLimits:
    """Bytes of a file and of what it unpacks to, rows, columns, and megabytes of memory while it is loaded."""

    max_bytes: int = 2_000_000_000
    max_unpacked_bytes: int = 2_000_000_000
    max_rows: int = 50_000_000
    max_columns: int = 2000
    memory_mb: int = 1024

    def too_large(self, file: str, what: Bounded) -> FileTooLarge:
        """Return the error for a file that has more of `what` than these limits allow, with the setting to change."""
        field, setting = _SETTINGS[what]
        return FileTooLarge(file, what, getattr(self, field), f"DATASPHINX_{setting}")

    @classmethod
    def of(cls, settings: Settings) -> "LoadLimits":
        """Return the limits that are set."""
        return cls(
            settings.max_file_bytes,
            settings.max_unpacked_bytes,
            settings.max_dataset_rows,
            settings.max_dataset_columns,
            settings.worker_memory_mb,
        )
