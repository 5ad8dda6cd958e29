"""Load a file into a dataset: one DuckDB file with one table."""

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from operator import ge
from pathlib import Path

from datasphinx.agent.datasets.blocks import Block
from datasphinx.agent.datasets.calendar_order import order_calendar_names
from datasphinx.agent.datasets.dataset import Dataset, Report, SourceType, Upload, Warning
from datasphinx.agent.datasets.encoding import is_text
from datasphinx.agent.datasets.excel import read_sheets
from datasphinx.agent.datasets.header import HeaderFinder, find_header
from datasphinx.agent.datasets.json_file import JsonRows, read_json, read_rows
from datasphinx.agent.datasets.limits import Loading
from datasphinx.agent.datasets.options import ALL_SHEETS, DETECT, LoadOptions, option_invalid
from datasphinx.agent.datasets.readers import reader_of, readers
from datasphinx.agent.datasets.reshape import period_columns, reshape
from datasphinx.agent.datasets.sections import notes_below
from datasphinx.agent.datasets.table import Layout, Part, WrittenTable, copy_json, copy_parquet, make_table, schema_of
from datasphinx.agent.datasets.tables import FoundTable, find_tables, holds_table, size_of
from datasphinx.agent.datasets.text_file import (
    CellFile,
    crop,
    detect_text_file,
    first_and_last_rows,
    read_head,
    write_rest,
)
from datasphinx.agent.datasets.workspace import Workspace, workspace
from datasphinx.agent.errors import FileNotLoaded, FileUnreadable, TooLarge
from datasphinx.agent.messages import Message

_SUFFIXES: dict[str, SourceType] = {
    ".xlsx": "excel", ".xlsm": "excel", ".xls": "excel", ".xlsb": "excel", ".ods": "excel",
    ".csv": "csv", ".tsv": "csv", ".txt": "csv", ".parquet": "parquet", ".json": "jsonl",
    ".jsonl": "jsonl", ".ndjson": "jsonl",
}  # fmt: skip
_ZIP, _OLE, _PARQUET, _PARQUET_ENCRYPTED = b"PK\x03\x04", bytes.fromhex("D0CF11E0A1B11AE1"), b"PAR1", b"PARE"
_KINDS: dict[str, SourceType] = {
    "content_zip": "excel", "content_ole": "excel", "content_parquet": "parquet", "content_text": "csv",
}  # fmt: skip
_OLD_WORKBOOK = re.compile(rb"\x09[\x00\x02\x04\x08][\x04-\x10]\x00", re.DOTALL)
"""The first record of a workbook of Excel 2 to 5 that is no OLE file (MS-XLS, section 2.4.21)."""
_PAGE = re.compile(rb"(?i)<(!doctype|html|\?xml|head|meta|table)[\s>]|mime-version:")
_WHITE = b"\xef\xbb\xbf \t\r\n"
_HEAD = 1 << 16
_PACKAGE = re.escape("EncryptedPackage".encode("utf-16-le"))
"""Stream of an OLE file that holds an encrypted workbook (MS-OFFCRYPTO, section 2.3.4.4)."""

_FILE_PASS = rb"\x09\x08\x10\x00\x00\x06\x05\x00.{12}(\x86\x00\x00\x00)?\x2f\x00"
"""The FilePass record at the start of an encrypted .xls workbook (MS-XLS, sections 2.1.7.20.3 and 2.4.117)."""

_ENCRYPTED = re.compile(_PACKAGE + b"|" + _FILE_PASS, re.DOTALL)
_MAX_MATCH_BYTES = 40
"""Maximum length in bytes of a match of `_ENCRYPTED`."""

_VERSION = 10
"""Increase when the same file would load into a different table."""
_DIGITS = 16
_SHOWN_SHEETS = 12
_FEW_ROWS, _MORE = 12, 5
"""Rows of a table that may be no data, and how many times as many rows data have."""
_FIRST_ROWS, _LAST_ROWS = 40, 10
_MAX_PREVIEWED_BYTES = 100_000_000
_SHOWN_TEXT = 60
_DISK_RATIO = 4
"""Allowed disk space per byte of the file, in addition to its unpacked size: cells, table, and spilled data."""
_MEMORY_RATIO = 32
"""Memory per byte of the cells, with a margin: a cell takes sixteen bytes, and at least one in the file."""


def source_type_of(path: Path, name: str) -> SourceType:
    """Return the kind of the file at `path`, which the user calls `name`; the content decides.

    Raises:
        FileUnreadable: The suffix is not supported, or the content is of no supported kind.
        FileNotLoaded: The file is protected by a password.
    """
    suffix = Path(name).suffix.lower()
    kind = _SUFFIXES.get(suffix)
    if kind is None:
        if suffix[1:] in readers():
            return "jsonl"
        types = [*_SUFFIXES, *(f".{each}" for each in readers())]
        raise FileUnreadable(name, Message("file_types_supported", types=", ".join(types)))
    with path.open("rb") as file:
        head = file.read(_HEAD)
    if not head:
        raise FileUnreadable(name, Message("empty"))
    if head.startswith(_PARQUET_ENCRYPTED) or (head.startswith(_OLE) and _is_encrypted(path)):
        raise FileNotLoaded("file_encrypted", file=name)
    actual = _content(head)
    expected = {"excel": "content_ole" if suffix == ".xls" else "content_zip", "parquet": "content_parquet"}.get(
        kind, "content_text"
    )
    found = _KINDS.get(actual)
    if actual != expected and not found:
        raise FileUnreadable(name, Message("content_differs", expected=Message(expected), actual=Message(actual)))
    return kind if actual == expected else found or kind


def _content(head: bytes) -> str:
    """Return the code of the text that names the format of the content."""
    for magic, code in ((_ZIP, "content_zip"), (_OLE, "content_ole"), (_PARQUET, "content_parquet")):
        if head.startswith(magic):
            return code
    if _OLD_WORKBOOK.match(head):
        return "content_biff"
    if _PAGE.match(head.lstrip(_WHITE)):
        return "content_page"
    return "content_text" if is_text(head) else "content_binary"


def _is_encrypted(path: Path) -> bool:
    with path.open("rb") as file:
        tail = b""
        while chunk := file.read(1 << 20):
            if _ENCRYPTED.search(tail + chunk):
                return True
            tail = chunk[-_MAX_MATCH_BYTES:]
    return False


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


def load(job: Job, options: LoadOptions = DETECT) -> Dataset:
    """Return the dataset of a file; unless it is already stored, write its table to `job.target`.

    Raises:
        FileUnreadable: The file cannot be opened.
        TooLarge: The file exceeds the limits.
        FileNotLoaded: The file has a password or no such table, or an option does not fit it.
        DriverMissing: A package is not installed.
        StatementCancelled: Loading was cancelled.
    """
    path, name = job.upload.path, job.upload.name
    if path.stat().st_size > job.loading.limits.max_bytes:
        raise job.loading.too_large("bytes")
    kind = source_type_of(path, name)
    if kind == "excel":
        sheets = options.sheets or (options.sheet and (options.sheet,))
        _refuse(options, ("encoding", "delimiter"), "option_needs_text")
        files = read_sheets(path, sheets, job.folder, job.loading)
        return _load_cells(job, kind, files if sheets else _with_table(job, files), options, [])
    if options.sheet or options.sheets:
        raise option_invalid("sheet" if options.sheet else "sheets", "option_needs_workbook")
    if kind == "csv":
        text, warnings = detect_text_file(path, name, job.folder, options)
        return _load_cells(job, kind, [text], options, warnings)
    if kind == "jsonl":
        if Path(name).suffix.lower() not in _SUFFIXES and (reader := reader_of(name)):
            return _load_typed(job, kind, options, read_rows(reader, path, job.folder, job.loading))
        rows = read_json(path, job.folder, job.loading, is_document=name.lower().endswith(".json"))
        if rows.is_cells:
            return _load_cells(job, kind, [CellFile(rows.path, "utf-8", ",")], options, rows.warnings)
        return _load_typed(job, kind, options, rows)
    return _load_typed(job, kind, options)


@dataclass(frozen=True)
class Preview:
    """The rows of a sheet or of a text file as they are: the first and the last ones, each with its number from 1.

    `heads` are texts of the first rows of other sheets.
    """

    rows: Sequence[tuple[int, Sequence[str]]]
    heads: Mapping[str, Sequence[Sequence[str]]]
    finder: HeaderFinder
    """Tells which rows may be the header."""


def preview(job: Job, sheet: str | None) -> Preview | None:
    """Return the rows of a workbook or of a text file; None if it is neither, or large.

    Raises:
        DatasphinxError: As for `load`.
    """
    path, name = job.upload.path, job.upload.name
    kind = source_type_of(path, name)
    if kind == "excel":
        cell_file = read_sheets(path, sheet and (sheet,), job.folder, job.loading)[0]
    elif kind == "csv":
        cell_file, _ = detect_text_file(path, name, job.folder, DETECT)
    if kind not in ("excel", "csv") or cell_file.path.stat().st_size > _MAX_PREVIEWED_BYTES:
        return None
    finder = HeaderFinder(read_head(cell_file, name), cell_file.merged)
    return Preview(first_and_last_rows(cell_file, _FIRST_ROWS, _LAST_ROWS), cell_file.heads, finder)


def _with_table(job: Job, first: list[CellFile]) -> list[CellFile]:
    """Return the first sheet with a table, if `first` is a cover or a page of notes; otherwise `first`.

    A table of a few rows may be a list of sheets or of changes: it is passed over for one of many more rows and as many
    columns with other names, unless that is hidden.
    """
    blocks = first[0].blocks
    has_table, (rows, columns) = holds_table(blocks), size_of(blocks)
    if len(first[0].sheets) == 1 or (has_table and (not blocks or rows > _FEW_ROWS)):
        return first
    folder = job.folder / "sheets"
    folder.mkdir()
    try:
        others = read_sheets(job.upload.path, (ALL_SHEETS,), folder, job.loading)
    except TooLarge:
        return first
    except FileUnreadable:
        if has_table:
            return first
        raise
    tables = [sheet for sheet in others if holds_table(sheet.blocks)]
    if has_table:
        least = _MORE * rows, columns
        tables = [sheet for sheet in tables if not sheet.is_hidden and all(map(ge, size_of(sheet.blocks), least))]
    found = next(iter(tables), None)
    if found is None or _share_names(blocks, found.blocks):
        return first
    heads = {
        other.sheet or "": [[text.strip().casefold() for text, _ in row] for row in other.blocks[0].rows]
        for other in others
        if other is not found and other.blocks
    }
    return [replace(found, heads=heads)]


def _share_names(blocks: Sequence[Block], others: Sequence[Block]) -> bool:
    """Return whether a row of texts on one sheet has most of the texts of one on the other, as headers do."""
    rows, other_rows = (
        [
            {text.casefold() for text, is_value in row if text.strip() and not is_value}
            for block in each
            for row in block.rows
        ]
        for each in (blocks, others)
    )
    return any(_are_like(row, other) for row in rows for other in other_rows if len(row) > 1)


def _refuse(options: LoadOptions, names: Sequence[str], code: str) -> None:
    for name in names:
        if getattr(options, name) is not None:
            raise option_invalid(name, code)


def _load_cells(
    job: Job, kind: SourceType, files: list[CellFile], options: LoadOptions, warnings: list[Warning]
) -> Dataset:
    is_union = bool(options.sheets)
    found = find_tables(files[0].blocks) if not is_union and options.header_row is None else []
    chosen = _choose(found, options)
    titles = tuple(f"{number} ({table.label})" for number, table in enumerate(found, 1)) if len(found) > 1 else ()
    if chosen:
        labels = [found[at].title or str(at + 1) for at in chosen]
        files = [crop(files[0], found[at].region, job.folder / f"table_{at}.csv") for at in chosen]
        warnings += _other_tables(titles, chosen)
        notes = [text for at in chosen for text in found[at].notes]
        warnings += [notes_below(notes)] if notes else []
    else:
        labels = [cell_file.sheet or "" for cell_file in files]
    parts = [_locate(job, *each, options) for each in zip(files, labels, strict=True)]
    if options.sheets == (ALL_SHEETS,):
        names = [{name.casefold() for name in part.header.names if name} for part in parts]
        unlike = [part for part, own in zip(parts, names, strict=True) if not _are_like(own, names[0])]
        parts = [part for part in parts if part not in unlike]
        if unlike:
            warnings.append(Warning("unlike_sheets", "", {"sheets": _listed([part.label for part in unlike])}))
    first = parts[0]
    is_text = not first.cell_file.paired
    report = Report(
        sheet=first.cell_file.sheet,
        sheets=first.cell_file.sheets,
        header_row=first.row,
        header_rows=first.header.rows,
        encoding=first.cell_file.whole.encoding if is_text else None,
        delimiter=first.cell_file.whole.delimiter if is_text else None,
        tables=titles,
        options=options.content(),
    )
    dataset_id = _dataset_id(job.upload.file_id, kind, report.sheet, report.header_row, options)
    if stored := job.find_dataset(dataset_id):
        return stored
    if not first.header.rows:
        warnings.append(Warning("no_header"))
    is_renamed = _SUFFIXES.get(Path(job.upload.name).suffix.lower()) != kind
    warnings += [Warning("renamed_type")] if is_renamed else []
    warnings += _other_sheets(parts)
    warnings += [
        Warning("rows_above", "", {"count": len(texts), "example": texts[0][:_SHOWN_TEXT]})
        for part in parts
        if (texts := part.texts_above)
    ]
    for code in ("hidden_rows", "errors", "formulas"):
        if count := sum(getattr(cell_file, code) for cell_file in {part.cell_file.whole for part in parts}):
            warnings.append(Warning(code, "", {"count": count}))
    for at, part in enumerate(parts):
        replaced, has_blank_lines = write_rest(part.cell_file, part.end[0], part.rest, job.loading)
        parts[at] = replace(part, has_blank_lines=has_blank_lines)
        if replaced:
            facts = {"count": replaced, "encoding": part.cell_file.whole.encoding}
            warnings.append(Warning("replaced_characters", "", facts))
    layout = Layout.of(parts, "sheet" if is_union else "table" if len(parts) > 1 else "")
    report = replace(report, warnings=tuple(warnings))
    is_small = sum(part.rest.stat().st_size for part in parts) * _MEMORY_RATIO <= job.loading.limits.memory_mb << 20
    with _workspace(job, is_small=is_small) as work:
        written = make_table(work, dataset_id, parts, layout, report, options, job.loading)
        written = _reshaped(work, dataset_id, written, options)
    return _dataset(job, dataset_id, kind, written)


def _locate(job: Job, cell_file: CellFile, label: str, options: LoadOptions) -> Part:
    loading = job.loading
    head = read_head(cell_file, loading.file)
    if head.width > loading.limits.max_columns:
        raise loading.too_large("columns")
    header = find_header(head, cell_file.merged, options.header_row, loading.file, options.header_rows, cell_file.left)
    return Part(cell_file, label, head, header, job.folder / f"rest_of_{cell_file.path.stem}.csv")


def _other_sheets(parts: Sequence[Part]) -> list[Warning]:
    first = parts[0]
    read = [part.cell_file.sheet for part in parts]
    others = [sheet for sheet in first.cell_file.sheets if sheet not in read]
    if not others:
        return []
    names = {name.casefold() for name in first.header.names if name}
    alike = any(_are_like(set(row), names) for rows in first.cell_file.heads.values() for row in rows)
    facts = {
        "read": _listed([sheet for sheet in dict.fromkeys(read) if sheet]),
        "others": _listed(others),
        "next": others[0],
        "alike": alike,
    }
    return [Warning("other_sheets", "", facts)]


def _are_like(names: set[str], first: set[str]) -> bool:
    """Return whether most columns of a sheet have the names of those of the first sheet."""
    return 2 * len(names & first) > max(len(names), len(first))


def _other_tables(titles: Sequence[str], chosen: Sequence[int]) -> list[Warning]:
    others = [title for number, title in enumerate(titles) if number not in chosen]
    facts = {
        "count": len(titles),
        "read": ", ".join(titles[at] for at in chosen if titles),
        "others": "; ".join(others),
    }
    return [Warning("other_tables", "", facts)] if others else []


def _choose(found: Sequence[FoundTable], options: LoadOptions) -> list[int]:
    """Return the indices of the tables to read: those of the options, else the largest.

    Raises:
        FileNotLoaded: There is no such table.
    """
    if options.tables:
        count = max(1, len(found))
        if unknown := [number for number in options.tables if number > count]:
            raise option_invalid("tables", "option_table_unknown", number=unknown[0], count=count)
        return [number - 1 for number in dict.fromkeys(options.tables)] if found else []
    return [max(range(len(found)), key=lambda number: found[number].cells)] if found else []


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:_SHOWN_SHEETS]) + (", ..." if len(names) > _SHOWN_SHEETS else "")


def _load_typed(job: Job, kind: SourceType, options: LoadOptions, json_rows: JsonRows | None = None) -> Dataset:
    upload = job.upload
    _refuse(
        options,
        ("header_row", "header_rows", "footer_rows", "tables", "types", "fill_down", "sections"),
        "option_needs_cells",
    )
    _refuse(options, ("encoding", "delimiter"), "option_needs_text")
    dataset_id = _dataset_id(upload.file_id, kind, None, None, options)
    if stored := job.find_dataset(dataset_id):
        return stored
    with _workspace(job, upload.path) as work:
        if json_rows:
            written = copy_json(work, dataset_id, json_rows, job.loading)
        else:
            written = copy_parquet(work, dataset_id, upload.path, job.loading)
        written = replace(written, report=replace(written.report, options=options.content()))
        written = _reshaped(work, dataset_id, written, options)
    return _dataset(job, dataset_id, upload.source_type or kind, written)


def _reshaped(work: Workspace, table: str, written: WrittenTable, options: LoadOptions) -> WrittenTable:
    warnings = reshape(work, table, options)
    if order_calendar_names(work, table):
        written = replace(written, schema=schema_of(work, table))
    if not warnings:
        periods = period_columns([column.name for column in written.schema])
        if not periods:
            return written
        warnings = [Warning("period_columns", "", {"count": len(periods), "example": ", ".join(periods[:3])})]
    report = replace(written.report, warnings=(*written.report.warnings, *warnings))
    rows = int(warnings[-1].facts.get("after", written.row_count))
    return WrittenTable(schema_of(work, table), rows, report)


def _dataset(job: Job, dataset_id: str, kind: SourceType, written: WrittenTable) -> Dataset:
    upload = job.upload
    return Dataset(dataset_id, kind, written.schema, written.row_count, upload.name, upload.file_id, written.report)


def _workspace(job: Job, *readable: Path, is_small: bool = False) -> AbstractContextManager[Workspace]:
    disk_bytes = job.loading.limits.max_unpacked_bytes + _DISK_RATIO * job.upload.path.stat().st_size
    return workspace(job.target, readable, job.loading, disk_bytes, is_small=is_small)


def _dataset_id(file_id: str, kind: SourceType, sheet: str | None, header_row: int | None, options: LoadOptions) -> str:
    others = {name: value for name, value in options.content().items() if name not in ("sheet", "header_row")}
    content = json.dumps([_VERSION, file_id, kind, sheet, header_row, others], sort_keys=True)
    return f"ds_{hashlib.sha256(content.encode()).hexdigest()[:_DIGITS]}"
