"""How large a file may be that is made into a dataset, and who hears of it and stops it while it is made."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from agent.errors import ArchiveSuspicious, FileTooLarge, FileUnreadable
from agent.settings import Settings
from agent.sql.limits import Cancellation
from agent.sql.redact import without_paths

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


def unheard(stage: str, share: float) -> None:
    """Progress that nobody wants to hear of."""


@dataclass(frozen=True)
class Loading:
    """A file that is being loaded: what the user calls it, what it may take, who hears how far it is, who stops it."""

    file: str
    limits: LoadLimits
    progress: LoadProgress = unheard
    cancellation: Cancellation = field(default_factory=Cancellation)

    def told(self, stage: str, share: float) -> None:
        """Tell how far it is.

        Raises:
            StatementCancelled: it is to stop.
        """
        self.cancellation.check()
        self.progress(stage, share)

    def too_large(self, what: Bounded) -> FileTooLarge:
        """Return the error for a file that has more of `what` than is allowed."""
        return self.limits.too_large(self.file, what)

    def unreadable(self, reason: str, *paths: Path) -> FileUnreadable:
        """Return the error for a file that cannot be read; `reason` may name `paths`, where it is stored."""
        for path in paths:
            reason = reason.replace(str(path), self.file)
        return FileUnreadable(self.file, without_paths(reason))

    def suspicious(self, unpacked: int, allowed: int) -> ArchiveSuspicious:
        """Return the error for a file that becomes `unpacked` bytes, where `allowed` are."""
        return ArchiveSuspicious(self.file, unpacked, allowed)
