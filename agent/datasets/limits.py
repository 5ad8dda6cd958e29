"""Limits, progress and cancellation while a file is loaded."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from typing_extensions import TypedDict

from datasphinx.agent.core.cancellation import Cancellation
from datasphinx.agent.core.redact import without_paths
from datasphinx.agent.errors import FileUnreadable, TooLarge
from datasphinx.agent.messages import Message
from datasphinx.agent.settings import Settings

LoadProgress = Callable[[str, float], None]
"""Called with the current stage (`read`, `examine` or `write`) and the share of it that is done, from 0 to 1."""

READER_SHARE = 0.2
"""Share of the stage `read` after which a workbook's cells are written as text."""

LimitName = Literal["bytes", "rows", "columns", "megabytes in memory", "seconds"]

_LIMITS: dict[LimitName, tuple[str, str, str | None]] = {
    "bytes": ("max_bytes", "unit_bytes", None),
    "rows": ("max_rows", "unit_rows", None),
    "columns": ("max_columns", "unit_columns", None),
    "megabytes in memory": ("memory_mb", "unit_memory", "DATASPHINX_WORKER_MEMORY_MB"),
    "seconds": ("cpu_s", "unit_cpu_seconds", None),
}
"""The field, the unit, and the setting that raises the limit."""

_READ_WHOLE = (".xlsx", ".xlsm", ".xls", ".xlsb", ".ods")
"""Formats whose sheets are read into memory as a whole; text is read row by row."""


@dataclass(frozen=True)
class LoadLimits:
    """Limits on bytes, unpacked bytes, rows and columns of a file, and on memory and CPU time while it is loaded."""

    max_bytes: int = 2_000_000_000
    max_unpacked_bytes: int = 2_000_000_000
    max_rows: int = 50_000_000
    max_columns: int = 2000
    memory_mb: int = 1024
    cpu_s: int = 60

    def too_large(self, file: str, limit: LimitName) -> TooLarge:
        """Return the error for a file that exceeds `limit`."""
        field, unit, setting = _LIMITS[limit]
        is_read_whole = limit == "megabytes in memory" and Path(file).suffix.lower() in _READ_WHOLE
        hint = Message("convert_workbook") if is_read_whole else ""
        return TooLarge(
            "file_too_large",
            file=file,
            what=Message(unit),
            limit=getattr(self, field),
            remedy=Message("split_or_raise", setting=setting) if setting else Message("split_file"),
            hint=hint,
        )

    @classmethod
    def of(cls, settings: Settings) -> "LoadLimits":
        """Return the configured limits."""
        return cls(memory_mb=settings.worker_memory_mb)


def ignore_progress(stage: str, share: float) -> None:
    """Do nothing with the progress."""


class ProgressEvent(TypedDict):
    """The progress of a load for a client: the stage, and the share of it that is done, in steps of 0.01."""

    stage: str
    share: float


def progress_events(send: Callable[[ProgressEvent], object]) -> LoadProgress:
    """Return a callback for the progress of loads that calls `send` with each change in whole percents."""
    last: ProgressEvent | None = None

    def report(stage: str, share: float) -> None:
        nonlocal last
        event = ProgressEvent(stage=stage, share=int(100 * share) / 100)
        if event != last:
            last = event
            send(event)

    return report


@dataclass(frozen=True)
class Loading:
    """The loading of one file: the name shown to the user, limits, progress callback and cancellation."""

    file: str
    limits: LoadLimits
    progress: LoadProgress = ignore_progress
    cancellation: Cancellation = field(default_factory=Cancellation)

    def report_progress(self, stage: str, share: float) -> None:
        """Report the progress of a stage."""
        self.cancellation.check()
        self.progress(stage, share)

    def too_large(self, limit: LimitName) -> TooLarge:
        """Return the error for a file that exceeds `limit`."""
        return self.limits.too_large(self.file, limit)

    def unreadable(self, reason: str, *paths: Path) -> FileUnreadable:
        """Return the error for an unreadable file; its storage `paths` in `reason` are replaced by its name."""
        if isinstance(reason, Message):
            return FileUnreadable(self.file, reason)
        return FileUnreadable(self.file, self.without_paths(reason, *paths))

    def without_paths(self, text: str, *paths: Path) -> str:
        """Return the message `text` of a library with the storage `paths` replaced by the name of the file."""
        for path in paths:
            text = text.replace(str(path), self.file)
        return without_paths(text)

    def suspicious(self, unpacked: int, allowed: int) -> TooLarge:
        """Return the error for an archive that unpacks to `unpacked` bytes, more than `allowed`."""
        return TooLarge("archive_suspicious", file=self.file, unpacked=unpacked, limit=allowed)
