"""Workbooks: Excel in all its formats, and OpenDocument."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from agent.datasets.archive import refuse_bombs
from agent.datasets.limits import Bounded, LoadLimits
from agent.datasets.staging import Origin
from agent.errors import (
    DatasphinxError,
    DriverMissing,
    FileEmpty,
    FileEncrypted,
    FileUnreadable,
    SheetNotFound,
)

_BASE_ADDRESS_SPACE_MB = 512
"""What interpreter and libraries take of the address space before there is a cell."""

_PACKAGE_ROOT = str(Path(__file__).resolve().parents[2])


def read_sheet(path: Path, name: str, sheet: str | None, folder: Path, limits: LoadLimits) -> Origin:
    """Write the cells of a sheet into `folder` and return where they are; without `sheet` the first one with cells.

    Raises:
        DriverMissing: python-calamine is not installed.
        ArchiveSuspicious, FileEncrypted, FileUnreadable: the workbook cannot or should not be opened.
        FileTooLarge: it has too many rows or columns, or does not fit into memory.
        SheetNotFound: there is no such sheet.
        FileEmpty: the sheet, or every sheet, is empty.
    """
    if find_spec("python_calamine") is None:
        raise DriverMissing("python-calamine", "analyst")
    suffix = Path(name).suffix.lower()
    if suffix != ".xls":
        refuse_bombs(path, name, limits)
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
        }
    )
    if "error" in answer:
        raise _failure(answer, name, sheet, limits)
    merged = tuple((top, left, bottom, right) for top, left, bottom, right in answer["merged"])
    return Origin(
        cells, "utf-8", ",", paired=True, merged=merged, sheet=answer["sheet"], sheets=tuple(answer["sheets"])
    )


def _ask(request: dict[str, Any]) -> dict[str, Any]:
    command = [sys.executable, "-P", "-m", "agent.datasets.excel_process", json.dumps(request)]
    environment = {"PYTHONPATH": _PACKAGE_ROOT, "PYTHONUTF8": "1"}
    done = subprocess.run(command, env=environment, cwd=os.sep, stdin=subprocess.DEVNULL, capture_output=True)
    if done.returncode < 0 or b"MemoryError" in done.stderr:
        return {"error": "memory", "facts": []}
    if done.returncode:
        return {"error": "unreadable", "facts": ["its reader broke off"]}
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def _failure(answer: dict[str, Any], name: str, sheet: str | None, limits: LoadLimits) -> DatasphinxError:
    kind, facts = answer["error"], answer["facts"]
    if kind == "sheet":
        return SheetNotFound(name, sheet or "", tuple(facts[0]))
    if kind == "empty":
        return FileEmpty(name, f" ({facts[0]})" if facts[0] else "")
    if kind == "encrypted":
        return FileEncrypted(name)
    if kind == "unreadable":
        return FileUnreadable(name, facts[0])
    bounded: dict[str, Bounded] = {"rows": "rows", "columns": "columns", "memory": "megabytes in memory"}
    return limits.too_large(name, bounded[kind])
