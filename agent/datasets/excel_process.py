"""Read one sheet of a workbook in a separate process with a memory limit.

A workbook of a few kilobytes may have a cell in the last row and column, and the reader then allocates memory for all
cells between. The limit ends only this process. `agent.datasets.excel` starts it as
`python -m agent.datasets.excel_process REQUEST`; it writes the cells as CSV and prints its result as one line of JSON.
"""

import csv
import json
import sys
from collections.abc import Iterator
from contextlib import suppress
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any

import python_calamine as calamine


class SheetError(Exception):
    """The reason why the sheet cannot be read: a kind, and facts as JSON values."""


def main() -> None:
    """Read the sheet described by the JSON in the only argument."""
    request = json.loads(sys.argv[1])
    _limit_memory(request["memory_mb"])
    try:
        answer = read(request)
    except SheetError as sheet_error:
        answer = {"error": sheet_error.args[0], "facts": sheet_error.args[1:]}
    except calamine.PasswordError:
        answer = {"error": "encrypted", "facts": []}
    except (calamine.CalamineError, OSError) as error:
        too_large = "limit exceeded" in str(error)
        answer = {"error": "memory" if too_large else "unreadable", "facts": [str(error)]}
    sys.stdout.write(json.dumps(answer))


def _limit_memory(megabytes: int) -> None:
    with suppress(ImportError, ValueError, OSError):
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, hard))


def read(request: dict[str, Any]) -> dict[str, Any]:
    """Write the cells of the sheet to `request["cells"]`, two columns for each: text, and values of other types.

    Returns the sheet's name and width, the names of all sheets, and merged ranges as first row, first column, last row,
    last column, counted from 0.
    """
    with calamine.CalamineWorkbook.from_path(request["path"]) as workbook:
        names = [sheet.name for sheet in workbook.sheets_metadata if sheet.typ == calamine.SheetTypeEnum.WorkSheet]
        sheet = _sheet(workbook, request["sheet"], names)
        if sheet.width > request["max_columns"]:
            raise SheetError("columns")
        if sheet.height > request["max_rows"]:
            raise SheetError("rows")
        with Path(request["cells"]).open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_ALL).writerows(_pairs(sheet))
        return {"sheet": sheet.name, "sheets": names, "width": sheet.width, "merged": _merged_ranges(sheet)}


def _sheet(workbook: calamine.CalamineWorkbook, requested: str | None, names: list[str]) -> calamine.CalamineSheet:
    """Return the requested sheet, else the first one with cells, visible sheets first."""
    if requested is not None:
        if requested not in names:
            raise SheetError("sheet", names)
        sheet = workbook.get_sheet_by_name(requested)
        if not sheet.height:
            raise SheetError("empty", requested)
        return sheet
    visible = {sheet.name for sheet in workbook.sheets_metadata if sheet.visible == calamine.SheetVisibleEnum.Visible}
    for name in sorted(names, key=lambda name: name not in visible):
        sheet = workbook.get_sheet_by_name(name)
        if sheet.height:
            return sheet
    raise SheetError("empty", "")


def _merged_ranges(sheet: calamine.CalamineSheet) -> list[list[int]]:
    left = sheet.start[1] if sheet.start else 0
    return [[top, first - left, bottom, last - left] for (top, first), (bottom, last) in sheet.merged_cell_ranges or ()]


def _pairs(sheet: calamine.CalamineSheet) -> Iterator[list[str]]:
    for row in sheet.iter_rows():
        pairs = []
        for value in row:
            pairs += [value.replace("\0", ""), ""] if isinstance(value, str) else ["", _as_text(value)]
        yield pairs


def _as_text(value: float | bool | date | datetime | time | timedelta) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(value)
    if isinstance(value, timedelta):
        seconds = value.total_seconds()
        return f"{seconds // 3600:.0f}:{seconds // 60 % 60:02.0f}:{seconds % 60:02.0f}"
    return value.isoformat(" ") if isinstance(value, datetime) else str(value)


if __name__ == "__main__":
    main()
