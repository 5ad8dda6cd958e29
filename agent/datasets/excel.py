"""Workbooks: Excel in all its formats, and OpenDocument."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from agent.datasets.archive import refuse_bombs
from agent.datasets.limits import Bounded, Loading
from agent.datasets.staging import Origin
from agent.errors import (
    DatasphinxError,
    DriverMissing,
    FileEmpty,
    FileEncrypted,
    SheetNotFound,
)
from agent.sql.limits import Cancellation

_BASE_ADDRESS_SPACE_MB = 512
"""What interpreter and libraries take of the address space before there is a cell."""

_PACKAGE_ROOT = str(Path(__file__).resolve().parents[2])


def read_sheet(path: Path, sheet: str | None, folder: Path, loading: Loading) -> Origin:
    """Write the cells of a sheet into `folder` and return where they are; without `sheet` the first one with cells.

    Raises:
        DriverMissing: python-calamine is not installed.
        ArchiveSuspicious, FileEncrypted, FileUnreadable: the workbook cannot or should not be opened.
        FileTooLarge: it has too many rows or columns, or does not fit into memory.
        SheetNotFound: there is no such sheet.
        FileEmpty: the sheet, or every sheet, is empty.
        StatementCancelled: the loading is to stop.
    """
    limits = loading.limits
    if find_spec("python_calamine") is None:
        raise DriverMissing("python-calamine", "analyst")
    suffix = Path(loading.file).suffix.lower()
    if suffix != ".xls":
        refuse_bombs(path, loading)
    # The reader goes by the suffix, which files that are kept by their content do not have.
    book = folder / f"book{suffix}"
    book.symlink_to(path.absolute())
    cells = folder / "cells.csv"
    answer = _ask(
        {
            "path": str(book),
            "sheet": sheet,
            "cells": str(cells),
            "memory_mb": limits.memory_mb + _BASE_ADDRESS_SPACE_MB,
            "max_rows": limits.max_rows,
            "max_columns": limits.max_columns,
        },
        loading.cancellation,
    )
    if "error" in answer:
        raise _failure(answer, sheet, loading, book)
    merged = tuple((top, left, bottom, right) for top, left, bottom, right in answer["merged"])
    return Origin(
        cells, "utf-8", ",", paired=True, merged=merged, sheet=answer["sheet"], sheets=tuple(answer["sheets"])
    )


def _ask(request: dict[str, Any], cancellation: Cancellation) -> dict[str, Any]:
    command = [sys.executable, "-P", "-m", "agent.datasets.excel_process", json.dumps(request)]
    environment = {"PYTHONPATH": _PACKAGE_ROOT, "PYTHONUTF8": "1"}
    pipe, nothing = subprocess.PIPE, subprocess.DEVNULL
    with subprocess.Popen(command, env=environment, cwd=os.sep, stdin=nothing, stdout=pipe, stderr=pipe) as reader:
        try:
            with cancellation.calling(reader.kill):
                cancellation.check()
                written, complaint = reader.communicate()
        finally:
            reader.kill()
    cancellation.check()
    if reader.returncode < 0 or b"MemoryError" in complaint:
        return {"error": "memory", "facts": []}
    if reader.returncode:
        return {"error": "unreadable", "facts": ["its reader broke off"]}
    answer: dict[str, Any] = json.loads(written)
    return answer


def _failure(answer: dict[str, Any], sheet: str | None, loading: Loading, book: Path) -> DatasphinxError:
    kind, facts, name = answer["error"], answer["facts"], loading.file
    if kind == "sheet":
        return SheetNotFound(name, sheet or "", tuple(facts[0]))
    if kind == "empty":
        return FileEmpty(name, f" ({facts[0]})" if facts[0] else "")
    if kind == "encrypted":
        return FileEncrypted(name)
    if kind == "unreadable":
        return loading.unreadable(facts[0], book)
    bounded: dict[str, Bounded] = {"rows": "rows", "columns": "columns", "memory": "megabytes in memory"}
    return loading.too_large(bounded[kind])
