"""Load a file into a dataset: one DuckDB file with one table."""

import hashlib
import json
import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from agent.datasets.dataset import Dataset, Report, SourceType, Warning
from agent.datasets.excel import read_sheet
from agent.datasets.header import find_header
from agent.datasets.limits import Loading
from agent.datasets.table import copy_json_lines, copy_parquet, make_table
from agent.datasets.text_file import CellFile, check_size, detect_text_file, read_head, write_rest
from agent.datasets.workspace import Workspace, workspace
from agent.errors import FileEncrypted, FileUnreadable
from agent.messages import Message

_SUFFIXES: dict[str, SourceType] = {
    ".xlsx": "excel", ".xlsm": "excel", ".xls": "excel", ".xlsb": "excel", ".ods": "excel",
    ".csv": "csv", ".tsv": "csv", ".txt": "csv", ".parquet": "parquet", ".jsonl": "jsonl", ".ndjson": "jsonl",
}  # fmt: skip
_ZIP, _OLE, _PARQUET, _PARQUET_ENCRYPTED = b"PK\x03\x04", bytes.fromhex("D0CF11E0A1B11AE1"), b"PAR1", b"PARE"
_HEAD = 1 << 16
_PACKAGE = re.escape("EncryptedPackage".encode("utf-16-le"))
"""Stream of an OLE file that holds an encrypted workbook (MS-OFFCRYPTO, section 2.3.4.4)."""

_FILE_PASS = rb"\x09\x08\x10\x00\x00\x06\x05\x00.{12}(\x86\x00\x00\x00)?\x2f\x00"
"""The FilePass record at the start of an encrypted .xls workbook (MS-XLS, sections 2.1.7.20.3 and 2.4.117)."""

_ENCRYPTED = re.compile(_PACKAGE + b"|" + _FILE_PASS, re.DOTALL)
_MAX_MATCH_BYTES = 40
"""Maximum length in bytes of a match of `_ENCRYPTED`."""


_VERSION = 2
"""Increase when the same file would load into a different table."""
_DIGITS = 16
_DISK_RATIO = 4
"""Allowed disk space per byte of the file, in addition to its unpacked size: cells, table, and spilled data."""


def source_type_of(path: Path, name: str) -> SourceType:
    """Return the kind of the file at `path`, which the user calls `name`.

    Raises:
        FileUnreadable: The suffix is not supported, or the content does not match it.
        FileEncrypted: The file is protected by a password.
    """
    suffix = Path(name).suffix.lower()
    kind = _SUFFIXES.get(suffix)
    if kind is None:
        raise FileUnreadable(name, Message("file_types_supported", types=", ".join(_SUFFIXES)))
    with path.open("rb") as file:
        head = file.read(_HEAD)
    if not head:
        raise FileUnreadable(name, Message("empty"))
    if head.startswith(_PARQUET_ENCRYPTED) or (head.startswith(_OLE) and _is_encrypted(path)):
        raise FileEncrypted(name)
    actual = _content(head)
    expected = {"excel": "content_ole" if suffix == ".xls" else "content_zip", "parquet": "content_parquet"}.get(
        kind, "content_text"
    )
    if actual != expected:
        raise FileUnreadable(name, Message("content_differs", expected=Message(expected), actual=Message(actual)))
    return kind


def _content(head: bytes) -> str:
    """Return the code of the text that names the format of the content."""
    for magic, code in ((_ZIP, "content_zip"), (_OLE, "content_ole"), (_PARQUET, "content_parquet")):
        if head.startswith(magic):
            return code
    # UTF-16 has zeros in every second byte at most; text of no encoding has two in a row.
    return "content_text" if b"\0\0" not in head else "content_binary"


def _is_encrypted(path: Path) -> bool:
    with path.open("rb") as file:
        tail = b""
        while chunk := file.read(1 << 20):
            if _ENCRYPTED.search(tail + chunk):
                return True
            tail = chunk[-_MAX_MATCH_BYTES:]
    return False


@dataclass(frozen=True)
class Upload:
    """A stored file: its id, its path, and the user's name for it."""

    file_id: str
    path: Path
    name: str
    source_type: SourceType | None = None
    """Set if the content does not show it: a DataFrame is stored as Parquet."""


@dataclass(frozen=True)
class Job:
    """A file to load. `folder` holds temporary files; `find_dataset` looks up a stored dataset by its id."""

    upload: Upload
    folder: Path
    loading: Loading
    find_dataset: Callable[[str], Dataset | None]

    @property
    def target(self) -> Path:
        """The DuckDB file to write."""
        return self.folder / "table.duckdb"


def load(job: Job, sheet: str | None = None, header_row: int | None = None) -> Dataset:
    """Return the dataset of a file; unless it is already stored, write its table to `job.target`.

    `sheet` applies to workbooks; by default the first one with cells is loaded. `header_row` applies to workbooks and
    CSV: counted from 1, 0 for none; by default it is detected.

    Raises:
        FileUnreadable, FileEncrypted, ArchiveSuspicious: The file cannot or should not be opened.
        FileTooLarge: The file exceeds the limits.
        SheetNotFound, HeaderNotFound, FileEmpty: The file has no such table.
        DriverMissing: A package is not installed.
        StatementCancelled: Loading was cancelled.
    """
    path, name = job.upload.path, job.upload.name
    check_size(path, job.loading)
    kind = source_type_of(path, name)
    if kind == "excel":
        return _load_cells(job, kind, read_sheet(path, sheet, job.folder, job.loading), header_row)
    if kind == "csv":
        return _load_cells(job, kind, detect_text_file(path, name), header_row)
    return _load_typed(job, kind)


def _load_cells(job: Job, kind: SourceType, cell_file: CellFile, header_row: int | None) -> Dataset:
    upload = job.upload
    head = read_head(cell_file, upload.name)
    if head.width > job.loading.limits.max_columns:
        raise job.loading.too_large("columns")
    header = find_header(head, cell_file.merged, header_row, upload.name)
    is_text = not cell_file.paired
    report = Report(
        sheet=cell_file.sheet,
        sheets=cell_file.sheets,
        header_row=head.numbers[header.first] + 1 if header.rows else 0,
        header_rows=header.rows,
        encoding=cell_file.encoding if is_text else None,
        delimiter=cell_file.delimiter if is_text else None,
    )
    dataset_id = _dataset_id(upload.file_id, kind, cell_file.sheet, report.header_row)
    if stored := job.find_dataset(dataset_id):
        return stored
    rest = job.folder / "rest.csv"
    start = head.ends[header.first + header.rows - 1] if header.rows else 0
    replaced = write_rest(cell_file, start, rest, job.loading)
    if replaced:
        facts = {"count": replaced, "encoding": cell_file.encoding}
        report = Report(**{**vars(report), "warnings": (Warning("replaced_characters", "", facts),)})
    with _workspace(job) as work:
        written = make_table(work, dataset_id, rest, cell_file, header, report, job.loading)
    return Dataset(dataset_id, kind, written.schema, written.row_count, upload.name, upload.file_id, written.report)


def _load_typed(job: Job, kind: SourceType) -> Dataset:
    upload = job.upload
    dataset_id = _dataset_id(upload.file_id, kind, None, None)
    if stored := job.find_dataset(dataset_id):
        return stored
    copy = copy_parquet if kind == "parquet" else copy_json_lines
    with _workspace(job, upload.path) as work:
        written = copy(work, dataset_id, upload.path, job.loading)
    source_type = upload.source_type or kind
    return Dataset(
        dataset_id, source_type, written.schema, written.row_count, upload.name, upload.file_id, written.report
    )


def _workspace(job: Job, *readable: Path) -> AbstractContextManager[Workspace]:
    disk_bytes = job.loading.limits.max_unpacked_bytes + _DISK_RATIO * job.upload.path.stat().st_size
    return workspace(job.target, readable, job.loading, disk_bytes)


def _dataset_id(file_id: str, kind: SourceType, sheet: str | None, header_row: int | None) -> str:
    content = json.dumps([_VERSION, file_id, kind, sheet, header_row])
    return f"ds_{hashlib.sha256(content.encode()).hexdigest()[:_DIGITS]}"
