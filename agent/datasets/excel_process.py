"""Read sheets of a workbook in a separate process with limits of memory and CPU time.

A workbook of a few kilobytes may have a cell in the last row and column, and the reader then allocates memory for all
cells between. The limits end only this process. `datasphinx.agent.datasets.excel` starts it as
`python -m datasphinx.agent.datasets.excel_process REQUEST`; it writes the cells as CSV and prints its result as one
line of JSON.
"""

import json
import re
import struct
import sys
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import ParseError

import python_calamine as calamine

from datasphinx.agent.datasets.blocks import Block, BlockScanner
from datasphinx.agent.datasets.old_excel import OldWorkbook
from datasphinx.agent.datasets.open_xml import OpenXmlWorkbook

CellValue = float | bool | date | datetime | time | timedelta | str
Facts = OpenXmlWorkbook | OldWorkbook
"""What the reader of cells does not tell about a workbook."""
_INDENT = re.compile(rb"\s+(?=</?table:)|(</?table:[^<>]*>)\s+")
_ERROR = re.compile(rb'(<c [^<>]*?) t="e"([^<>]*>)(?:<f[^<>]*/>|<f[^<>]*>[^<>]*</f>)?<v>[^<>]*</v></c>')
_DIMENSION = re.compile(rb"<dimension [^<>]*/>")
_OPEN_XML = (".xlsx", ".xlsm")
_DAMAGED = (KeyError, ValueError, ParseError, IndexError, struct.error)
"""What the readers of facts raise. What the reader of cells accepts and they do not goes without these facts."""
_MAX_HEADS = 12
"""Number of other sheets whose first rows are compared with the header."""
_MAX_BYTES_OF_HEADS = 5_000_000
"""Size of a workbook up to which they are, since each sheet is read as a whole."""
_HEAD_ROWS = 20
_MAX_NAMES, _MAX_NAME = 500, 120
_BATCH = 500
"""Number of rows."""
_LARGE = 2**53
"""Whole numbers from here on may have lost digits."""


class SheetError(Exception):
    """The reason why the sheet cannot be read: a kind, and facts as JSON values."""


def main() -> None:
    """Read the sheet described by the JSON in the only argument."""
    request = json.loads(sys.argv[1])
    _limit("RLIMIT_AS", request["memory_mb"] << 20)
    _limit("RLIMIT_CPU", request["cpu_s"])
    path = Path(request["path"])
    with _facts_of(path) as facts:
        try:
            answer = read(path, request, facts)
            answer["heads"] = heads_of_others(path, answer)
        except SheetError as sheet_error:
            answer = {"error": sheet_error.args[0], "facts": sheet_error.args[1:]}
        except calamine.PasswordError:
            answer = {"error": "encrypted", "facts": []}
        except (calamine.CalamineError, OSError, ParseError, KeyError, IndexError, ValueError) as error:
            too_large = "limit exceeded" in str(error)
            place = [] if too_large else _place_of_damage(facts, request["sheets"])
            answer = {"error": "megabytes in memory" if too_large else "unreadable", "facts": [str(error), *place]}
    sys.stdout.write(json.dumps(answer))


def _limit(name: str, value: int) -> None:
    """Limit a resource of this process, if the system can. Beyond its CPU time the process ends with SIGXCPU."""
    with suppress(ImportError, AttributeError, ValueError, OSError):
        import resource

        limit = getattr(resource, name)
        _, hard = resource.getrlimit(limit)
        resource.setrlimit(limit, (value, hard))


def read(path: Path, request: dict[str, Any], facts: Facts | None) -> dict[str, Any]:
    """Write the cells of each sheet to a file in `request["folder"]`, two columns for each: text, and other values.

    `request["sheets"]` are the names, None for the first sheet with cells, or `*` for all with cells. Returns the names
    of all sheets, and for each sheet that was read its name, file, first column, blocks between blank rows, merged
    ranges as first row, first column, last row, last column, counted from 0, and what `facts` tell of it.
    """
    try:
        return _read(path, request, facts)
    except calamine.PasswordError:
        raise
    except calamine.CalamineError:
        if path.suffix not in (".ods", *_OPEN_XML):
            raise
        return _read(_simplified(path, Path(request["folder"], f"simplified{path.suffix}")), request, facts)


def _simplified(path: Path, target: Path) -> Path:
    """Write a workbook without what the reader refuses, and return its path.

    That is white space around the elements of tables of OpenDocument, a dimension of a sheet that is none, and cells
    with an error, which may be of a kind that the reader does not know.
    """
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(target, "w") as archive:
        for name in source.namelist():
            content = source.read(name)
            if name == "content.xml":
                content = _INDENT.sub(rb"\1", content)
            elif "worksheets/" in name:
                content = _DIMENSION.sub(b"", _ERROR.sub(rb"\1\2</c>", content))
            archive.writestr(name, content)
    return target


def _read(path: Path, request: dict[str, Any], facts: Facts | None) -> dict[str, Any]:
    with calamine.CalamineWorkbook.from_path(path) as workbook:
        sheets = workbook.sheets_metadata
        names = [sheet.name for sheet in sheets if sheet.typ == calamine.SheetTypeEnum.WorkSheet]
        visible = {sheet.name for sheet in sheets if sheet.visible == calamine.SheetVisibleEnum.Visible}
        read = []
        rows = 0
        for number, sheet in enumerate(_sheets(workbook, request["sheets"], names, visible)):
            rows += sheet.height
            if sheet.width > request["max_columns"]:
                raise SheetError("columns")
            if rows > request["max_rows"]:
                raise SheetError("rows")
            left = sheet.start[1] if sheet.start else 0
            target = Path(request["folder"], f"cells_{number}.csv")
            padded = {place - left: digits for place, digits in _zero_padded(facts, sheet.name).items()}
            percents = ((row, place - left) for row, place in _percentages(facts, sheet.name))
            blocks = _write(_fields(sheet.iter_rows(), padded, percents), target)
            merged = [
                [top, first - left, bottom, last - left]
                for (top, first), (bottom, last) in sheet.merged_cell_ranges or ()
            ]
            place = {"sheet": sheet.name, "is_hidden": sheet.name not in visible, "path": str(target), "left": left}
            read.append({**place, "blocks": blocks, "merged": merged})
        _add_marks(facts, read)
        return {"sheets": names, "read": read}


def _place_of_damage(workbook: Facts | None, requested: list[str] | None) -> Sequence[str]:
    """Return the sheet that is damaged, and its cell, which may be empty; nothing if that cannot be told."""
    if isinstance(workbook, OpenXmlWorkbook):
        with suppress(KeyError, ValueError, ParseError):
            return workbook.place_of_damage(workbook.sheets if requested in (None, ["*"]) else requested or ()) or ()
    return ()


@contextmanager
def _facts_of(path: Path) -> Iterator[Facts | None]:
    """Open a workbook for the number formats of its cells; None if it is of another format or damaged."""
    workbook: Facts | None = None
    with ExitStack() as stack:
        archive = stack.enter_context(zipfile.ZipFile(path)) if path.suffix in _OPEN_XML else None
        with suppress(*_DAMAGED):
            if archive:
                workbook = OpenXmlWorkbook(archive)
            elif path.suffix == ".xls":
                workbook = OldWorkbook(path.read_bytes())
        yield workbook


def _zero_padded(workbook: Facts | None, sheet: str) -> dict[int, int]:
    """Return the number of digits of the columns with leading zeros, such as postal codes."""
    if isinstance(workbook, OpenXmlWorkbook):
        with suppress(*_DAMAGED):
            return workbook.zero_padded(sheet)
    return {}


def _percentages(workbook: Facts | None, sheet: str) -> Iterator[tuple[int, int]]:
    """Yield the row and column of the cells that are shown as percentages, row by row."""
    if workbook:
        with suppress(*_DAMAGED):
            yield from workbook.percentages(sheet)


def _add_marks(workbook: Facts | None, read: list[dict[str, Any]]) -> None:
    """Add the number of hidden rows and of cells with an error to each sheet of an .xlsx workbook."""
    if isinstance(workbook, OpenXmlWorkbook):
        with suppress(*_DAMAGED):
            for sheet in read:
                sheet["epoch"] = workbook.epoch.isoformat()
                marks = workbook.marks(sheet["sheet"])
                sheet["hidden_rows"], sheet["errors"] = marks.hidden, marks.errors
                sheet["formulas"] = marks.without_result + marks.zeros
                sheet["summaries"] = workbook.summaries(sheet["sheet"]) if sheet["formulas"] else []


def heads_of_others(path: Path, answer: dict[str, Any]) -> dict[str, list[list[str]]]:
    """Return the texts in the first rows of the sheets that were not read, in lower case, by sheet.

    They tell whether the sheets have the same columns. Large workbooks have none, since each sheet takes long.
    """
    read = {sheet["sheet"] for sheet in answer["read"]}
    others = [name for name in answer["sheets"] if name not in read][:_MAX_HEADS]
    heads: dict[str, list[list[str]]] = {}
    if others and path.stat().st_size <= _MAX_BYTES_OF_HEADS:
        with suppress(MemoryError, calamine.CalamineError), calamine.CalamineWorkbook.from_path(path) as book:
            for name in others:
                heads[name] = _texts_of(book.get_sheet_by_name(name).iter_rows())
    return heads


def _texts_of(rows: Iterable[Sequence[CellValue]]) -> list[list[str]]:
    texts = ([cell if isinstance(cell, str) else _as_text(cell) for cell in row] for row in islice(rows, _HEAD_ROWS))
    return [[" ".join(text.split()).casefold()[:_MAX_NAME] for text in row[:_MAX_NAMES] if text] for row in texts]


def _write(rows: Iterator[tuple[str, ...]], path: Path) -> tuple[Block, ...]:
    """Write rows of fields as CSV, and return the blocks between blank rows."""
    scanner = BlockScanner(2)
    with path.open("w", encoding="utf-8", newline="") as file:
        for fields in rows:
            scanner.add(fields)
            line = '","'.join(fields)
            if line.count('"') > 2 * len(fields) - 2:
                line = '","'.join(field.replace('"', '""') for field in fields)
            file.write(f'"{line}"\n')
    return scanner.blocks()


def _sheets(
    workbook: calamine.CalamineWorkbook, requested: list[str] | None, names: list[str], visible: set[str]
) -> Iterator[calamine.CalamineSheet]:
    """Yield the requested sheets, all with cells for `*`, else the first with cells; visible sheets come first."""
    if requested not in (None, ["*"]):
        for name in requested or ():
            if name not in names:
                raise SheetError("sheet", names, name)
            sheet = workbook.get_sheet_by_name(name)
            if not sheet.height:
                raise SheetError("empty", name)
            yield sheet
        return
    is_found = False
    for name in sorted(names, key=lambda name: name not in visible):
        sheet = workbook.get_sheet_by_name(name)
        if sheet.height:
            is_found = True
            yield sheet
            if requested is None:
                return
    if not is_found:
        raise SheetError("empty", "")


def _fields(
    rows: Iterator[Sequence[CellValue]], padded: dict[int, int], percents: Iterator[tuple[int, int]]
) -> Iterator[tuple[str, ...]]:
    """Yield two fields for each cell of the rows: its text, and a value of another type as text.

    Percentages have their sign. Most cells of a column have one type, so a column of many rows is converted at once.
    """
    end, percent = 0, next(percents, None)
    while batch := list(islice(rows, _BATCH)):
        first, end = end, end + len(batch)
        shown: dict[int, list[int]] = {}
        while percent and percent[0] < end:
            # The rows of a sheet need not be in order.
            if percent[0] >= first:
                shown.setdefault(percent[1], []).append(percent[0] - first)
            percent = next(percents, None)
        columns: list[Sequence[str]] = []
        for place, cells in enumerate(zip(*batch, strict=True)):
            texts, values = _column(cells)
            if digits := padded.get(place):
                texts = [value.zfill(digits) if value.isdigit() else texts[at] for at, value in enumerate(values)]
                values = ["" if value.isdigit() else value for value in values]
            for at in shown.get(place, ()):
                if type(cells[at]) in (int, float):
                    values[at] = f"{(Decimal(values[at]) * 100).normalize():f}%"
            columns += texts, values
        yield from zip(*columns, strict=True)


def _column(cells: Sequence[CellValue]) -> tuple[list[str], list[str]]:
    kinds = set(map(type, cells))
    if kinds == {str}:
        texts = list(map(str, cells))
        return [text.replace("\0", "") for text in texts] if "\0" in "".join(texts) else texts, [""] * len(texts)
    numbers = [cell for cell in cells if isinstance(cell, float)] if kinds == {float} else []
    if numbers and max(map(abs, numbers)) < _LARGE:
        return [""] * len(cells), ("\n".join(map(repr, numbers)) + "\n").replace(".0\n", "\n").splitlines()
    texts = [cell.replace("\0", "") if isinstance(cell, str) else "" for cell in cells]
    return texts, ["" if isinstance(cell, str) else _as_text(cell) for cell in cells]


def _as_text(value: float | bool | date | datetime | time | timedelta) -> str:
    if isinstance(value, float):
        text = repr(value)
        return text[:-2] if text.endswith(".0") and abs(value) < _LARGE else text
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, timedelta):
        seconds = value.total_seconds()
        return f"{seconds // 3600:.0f}:{seconds // 60 % 60:02.0f}:{seconds % 60:02.0f}"
    return value.isoformat(" ") if isinstance(value, datetime) else str(value)


if __name__ == "__main__":
    main()
