"""How large a file may be that is made into a dataset."""

from collections.abc import Callable
from dataclasses import dataclass

from agent.settings import Settings

LoadProgress = Callable[[str, float], None]
"""Is told the stage that goes on (`read`, `examine` or `write`) and the share of it that is done, from 0 to 1."""


@dataclass(frozen=True)
class LoadLimits:
    """Bytes of a file and of what it unpacks to, rows, columns, and megabytes of memory while it is loaded."""

    max_bytes: int = 2_000_000_000
    max_unpacked_bytes: int = 2_000_000_000
    max_rows: int = 50_000_000
    max_columns: int = 2000
    memory_mb: int = 1024

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
