"""Errors of files that are made into datasets, and of what is kept of them."""

from dataclasses import dataclass

from agent.errors.base import Terminal


@dataclass(eq=False)
class FileUnreadable(Terminal):
    """A file is not what its name says, or is damaged."""

    code = "file_unreadable"
    file: str
    reason: str


@dataclass(eq=False)
class FileEncrypted(Terminal):
    """A file can be opened only with a password."""

    code = "file_encrypted"
    file: str


@dataclass(eq=False)
class ArchiveSuspicious(Terminal):
    """A packed file unpacks to so much that it looks like a zip bomb."""

    code = "archive_suspicious"
    file: str
    unpacked: int
    limit: int


@dataclass(eq=False)
class FileTooLarge(Terminal):
    """A file has more of `what` than `setting` allows."""

    code = "file_too_large"
    file: str
    what: str
    limit: int
    setting: str


@dataclass(eq=False)
class SheetNotFound(Terminal):
    """A workbook has no such sheet."""

    code = "sheet_not_found"
    file: str
    sheet: str
    sheets: tuple[str, ...]


@dataclass(eq=False)
class HeaderNotFound(Terminal):
    """No row of a file can be its header, or that which was named is not there."""

    code = "header_not_found"
    file: str
    reason: str


@dataclass(eq=False)
class FileEmpty(Terminal):
    """A file, or the sheet of it that was named, has no row of data."""

    code = "file_empty"
    file: str
    where: str


@dataclass(eq=False)
class FileUnknown(Terminal):
    """No file is kept under this id."""

    code = "file_unknown"
    file_id: str


@dataclass(eq=False)
class DatasetUnknown(Terminal):
    """No dataset is kept under this id."""

    code = "dataset_unknown"
    dataset_id: str
