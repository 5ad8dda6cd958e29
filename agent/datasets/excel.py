"""Read workbooks: all Excel formats, and OpenDocument."""

import json
import os
import signal
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import datasphinx
from datasphinx.agent.datasets.blocks import Block
from datasphinx.agent.datasets.limits import READER_SHARE, Loading
from datasphinx.agent.datasets.text_file import CellFile
from datasphinx.agent.errors import DatasphinxError, DriverMissing, FileNotLoaded
from datasphinx.agent.messages import Message

_MAX_RATIO = 200
"""Worksheets typically compress to a tenth, very regular ones to a fiftieth."""

_HARMLESS_BYTES = 50_000_000
_CHUNK = 1 << 20
_POLL_S = 0.5
_CELLS_RATIO = 3
"""Bytes of a worksheet for each byte of its cells as text, roughly."""
_ENCRYPTED = 0x1


_BASE_ADDRESS_SPACE_MB = 512
"""Address space of the interpreter and its libraries before any cell is read."""
_PACKAGE_ROOT = str(Path(datasphinx.__file__).resolve().parents[1])


def check_archive(path: Path, loading: Loading) -> None:
    """Unpack each member of the zip archive at `path` without keeping it, to measure its size.

    Raises:
        FileUnreadable: The archive is damaged.
        FileNotLoaded: A member has a password.
    """
    allowed = min(loading.limits.max_unpacked_bytes, max(_HARMLESS_BYTES, _MAX_RATIO * path.stat().st_size))
    try:
        with zipfile.ZipFile(path) as archive:
            declared = sum(member.file_size for member in archive.infolist())
            if declared > allowed:
                raise loading.suspicious(declared, allowed)
            total = 0
            for member in archive.infolist():
                if member.flag_bits & _ENCRYPTED:
                    raise FileNotLoaded("file_encrypted", file=loading.file)
                total += _unpacked_size(archive, member, allowed - total, loading)
                if total > allowed:
                    raise loading.suspicious(total, allowed)
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError) as error:
        raise loading.unreadable(
            Message("damaged", error=loading.without_paths(str(error) or type(error).__name__, path))
        ) from error


def _unpacked_size(archive: zipfile.ZipFile, member: zipfile.ZipInfo, allowed: int, loading: Loading) -> int:
    """Return the unpacked size of `member` in bytes, or a value somewhat above `allowed` if it is larger."""
    # The declared size may be false and the workbook reader ignores it, so ignore it here too.
    member.file_size = allowed + _CHUNK
    size = 0
    with archive.open(member) as file:
        while size <= allowed and (chunk := file.read(_CHUNK)):
            size += len(chunk)
            loading.cancellation.check()
    return size


def read_sheets(path: Path, sheets: Sequence[str] | None, folder: Path, loading: Loading) -> list[CellFile]:
    """Write the cells of sheets into `folder` and return their files; by default of the first sheet with cells.

    `sheets` are names, or `*` alone for all sheets with cells.

    Raises:
        DriverMissing: python-calamine is not installed.
        FileUnreadable: The workbook is damaged.
        FileNotLoaded: It has a password, or there is no such sheet, or it is empty, or all are.
    """
    limits = loading.limits
    if find_spec("python_calamine") is None:
        raise DriverMissing("python-calamine", "analyst")
    suffix = suffix_of(path)
    if suffix != ".xls":
        check_archive(path, loading)
    # The reader needs the suffix, which stored files do not have.
    book = folder / f"book{suffix}"
    book.symlink_to(path.absolute())
    answer = _run_reader(
        {
            "path": str(book),
            "sheets": sheets,
            "folder": str(folder),
            "memory_mb": limits.memory_mb + _BASE_ADDRESS_SPACE_MB,
            "cpu_s": limits.cpu_s,
            "max_rows": limits.max_rows,
            "max_columns": limits.max_columns,
        },
        loading,
    )
    if "error" in answer:
        raise _failure(answer, loading, book)
    return [_cell_file(**read, sheets=tuple(answer["sheets"]), heads=answer["heads"]) for read in answer["read"]]


def _cell_file(
    path: str, blocks: Sequence[Any], merged: Sequence[Any], summaries: Sequence[int] = (), **facts: Any
) -> CellFile:
    """Return a sheet that was read; `facts` are further fields."""
    merged, blocks, summaries = tuple(map(tuple, merged)), tuple(map(Block.from_json, blocks)), tuple(summaries)
    return CellFile(Path(path), "utf-8", ",", paired=True, merged=merged, blocks=blocks, summaries=summaries, **facts)


def suffix_of(path: Path) -> str:
    """Return the suffix of the format that a workbook has, whatever its name."""
    if not zipfile.is_zipfile(path):
        return ".xlsx" if path.read_bytes()[:2] == b"PK" else ".xls"
    with zipfile.ZipFile(path) as archive:
        names = set(archive.namelist())
    return ".xlsb" if "xl/workbook.bin" in names else ".ods" if "content.xml" in names else ".xlsx"


def _run_reader(request: dict[str, Any], loading: Loading) -> dict[str, Any]:
    command = [sys.executable, "-P", "-m", "datasphinx.agent.datasets.excel_process", json.dumps(request)]
    environment = {"PYTHONPATH": _PACKAGE_ROOT, "PYTHONUTF8": "1"}
    pipe, nothing = subprocess.PIPE, subprocess.DEVNULL
    with subprocess.Popen(command, env=environment, cwd=os.sep, stdin=nothing, stdout=pipe, stderr=pipe) as reader:
        try:
            with loading.cancellation.calling(reader.kill):
                output, errors = _wait(reader, request, loading)
        finally:
            reader.kill()
    loading.cancellation.check()
    if reader.returncode == -getattr(signal, "SIGXCPU", 0):
        raise loading.too_large("seconds")
    if reader.returncode < 0 or b"MemoryError" in errors:
        raise loading.too_large("megabytes in memory")
    if reader.returncode:
        raise loading.unreadable(Message("workbook_reader_crashed"))
    answer: dict[str, Any] = json.loads(output)
    return answer


def _wait(reader: "subprocess.Popen[bytes]", request: dict[str, Any], loading: Loading) -> tuple[bytes, bytes]:
    """Return the output and the errors of the reader; report progress by the size of the cells that it has written."""
    size = max(1, _unpacked_bytes(Path(request["path"])))
    while True:
        written = sum(path.stat().st_size for path in Path(request["folder"]).glob("cells_*.csv"))
        loading.report_progress("read", READER_SHARE * min(1.0, _CELLS_RATIO * written / size))
        with suppress(subprocess.TimeoutExpired):
            return reader.communicate(timeout=_POLL_S)


def _unpacked_bytes(path: Path) -> int:
    """Return the size of the worksheets; for a workbook that is no archive, the size of the file."""
    if not zipfile.is_zipfile(path):
        return path.stat().st_size
    with zipfile.ZipFile(path) as archive:
        return sum(member.file_size for member in archive.infolist())


def _failure(answer: dict[str, Any], loading: Loading, book: Path) -> DatasphinxError:
    kind, facts, name = answer["error"], answer["facts"], loading.file
    if kind == "sheet":
        return FileNotLoaded("sheet_not_found", file=name, sheet=facts[1], sheets=tuple(facts[0]))
    if kind == "empty":
        return FileNotLoaded("file_empty", file=name, where=f" ({facts[0]})" if facts[0] else "")
    if kind == "encrypted":
        return FileNotLoaded("file_encrypted", file=name)
    if kind == "unreadable":
        error, sheet, cell = [*facts, "", ""][:3]
        facts = {"error": loading.without_paths(error, book), "sheet": sheet, "cell": cell}
        return loading.unreadable(
            Message("damaged_cell" if cell else "damaged_sheet", **facts) if sheet else error, book
        )
    return loading.too_large(kind)
