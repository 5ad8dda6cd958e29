"""Workbooks made of cells, and archives with changed parts."""

import io
import zipfile
from collections.abc import Callable

import openpyxl
from openpyxl.worksheet.worksheet import Worksheet

Cells = list[list[object]]


def workbook(build: Callable[[Worksheet], None]) -> bytes:
    """The bytes of a workbook whose first sheet is made by `build`."""
    made, stream = openpyxl.Workbook(), io.BytesIO()
    build(made.active)
    made.save(stream)
    return stream.getvalue()


def rows(
    *content: list[object], merge: tuple[str, ...] = (), at: tuple[int, int] = (1, 1)
) -> Callable[[Worksheet], None]:
    """A maker of a sheet with these rows, the first of which begins at the row and column `at`, and merged ranges."""

    def build(page: Worksheet) -> None:
        for row, cells in enumerate(content, at[0]):
            for column, value in enumerate(cells, at[1]):
                if value is not None:
                    page.cell(row, column, value)
        for area in merge:
            # `merge_cells` makes an object for each cell.
            page.merged_cells.add(area)

    return build


def sheet(*content: list[object], merge: tuple[str, ...] = (), at: tuple[int, int] = (1, 1)) -> bytes:
    """A workbook with one sheet of these rows; see `rows`."""
    return workbook(rows(*content, merge=merge, at=at))


def book(**sheets: Cells) -> bytes:
    """A workbook with these sheets."""

    def build(first: Worksheet) -> None:
        parent = first.parent
        parent.remove(first)
        for name, content in sheets.items():
            rows(*content)(parent.create_sheet(name))

    return workbook(build)


def changed(content: bytes, change: Callable[[str, bytes], bytes]) -> bytes:
    """An archive with the parts that `change` returns for the name and the content of each."""
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as source, zipfile.ZipFile(stream, "w") as target:
        for name in source.namelist():
            target.writestr(name, change(name, source.read(name)))
    return stream.getvalue()
