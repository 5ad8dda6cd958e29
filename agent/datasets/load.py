"""A file made into a dataset: one DuckDB file with one table, and what is known of it."""

import hashlib
import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from agent.datasets.dataset import ColumnType, Dataset, Report, SourceType, Warning
from agent.datasets.excel import read_sheet
from agent.datasets.header import Header, find_header
from agent.datasets.kinds import source_type_of
from agent.datasets.limits import LoadLimits, LoadProgress
from agent.datasets.staging import Head, Origin, read_head, refuse_large, text_origin, write_rest
from agent.datasets.table import Made, make_table
from agent.datasets.workspace import Workspace, quoted, workspace
from agent.errors import FileEmpty

_VERSION = 1
"""To be raised when the same file would become another table than before."""

_DIGITS = 16


@dataclass(frozen=True)
class Upload:
    """A file that is kept: its id, where it is, and what the user calls it."""

    file_id: str
    path: Path
    name: str
    source_type: SourceType | None = None
    """Where the content does not tell: a DataFrame is kept as Parquet."""


@dataclass(frozen=True)
class Job:
    """What is to be loaded and how: `folder` is for what is in the making, `known` tells a dataset by its id."""

    upload: Upload
    folder: Path
    limits: LoadLimits
    progress: LoadProgress
    known: Callable[[str], Dataset | None]

    @property
    def target(self) -> Path:
        """The DuckDB file that is written."""
        return self.folder / "table.duckdb"


def load(job: Job, sheet: str | None = None, header_row: int | None = None) -> Dataset:
    """Return the dataset of a file; where it is not known yet its table is in `job.target`.

    `sheet` is for workbooks, left out: the first with cells. `header_row` is for workbooks and CSV, counted from 1, 0
    where there is none, left out: it is looked for.

    Raises:
        FileUnreadable, FileEncrypted, ArchiveSuspicious: the file cannot or should not be opened.
        FileTooLarge: it has more than the limits allow.
        SheetNotFound, HeaderNotFound, FileEmpty: there is no such table in it.
        DriverMissing: a package is not installed.
    """
    refuse_large(job.upload.path, job.upload.name, job.limits)
    kind = source_type_of(job.upload.path, job.upload.name)
    if kind == "excel":
        return _load_cells(job, kind, read_sheet(*_place(job), sheet, job.folder, job.limits), header_row)
    if kind == "csv":
        return _load_cells(job, kind, text_origin(*_place(job)), header_row)
    return _load_typed(job, kind)


def _place(job: Job) -> tuple[Path, str]:
    return job.upload.path, job.upload.name


def _load_cells(job: Job, kind: SourceType, origin: Origin, header_row: int | None) -> Dataset:
    upload = job.upload
    head = read_head(origin, upload.name)
    if head.width > job.limits.max_columns:
        raise job.limits.too_large(upload.name, "columns")
    header = find_header(head, origin.merged, header_row, upload.name)
    report = _report(origin, head, header)
    dataset_id = _dataset_id(upload.file_id, kind, origin.sheet, report.header_row)
    if known := job.known(dataset_id):
        return known
    rest = job.folder / "rest.csv"
    start = head.ends[header.first + header.rows - 1] if header.rows else 0
    replaced = write_rest(origin, start, rest, job.progress)
    if replaced:
        facts = {"count": replaced, "encoding": origin.encoding}
        report = Report(**{**vars(report), "warnings": (Warning("replaced_characters", "", facts),)})
    with _workspace(job) as work:
        made = make_table(work, dataset_id, rest, origin, header, report, job.limits, upload.name)
    return Dataset(dataset_id, kind, made.schema, made.row_count, upload.name, upload.file_id, made.report)


def _report(origin: Origin, head: Head, header: Header) -> Report:
    is_text = not origin.paired
    return Report(
        sheet=origin.sheet,
        sheets=origin.sheets,
        header_row=head.numbers[header.first] + 1 if header.rows else 0,
        header_rows=header.rows,
        encoding=origin.encoding if is_text else None,
        delimiter=origin.delimiter if is_text else None,
    )


def _load_typed(job: Job, kind: SourceType) -> Dataset:
    upload = job.upload
    dataset_id = _dataset_id(upload.file_id, kind, None, None)
    if known := job.known(dataset_id):
        return known
    with _workspace(job, upload.path) as work:
        made = _copy(work, job, dataset_id, "read_parquet(?)" if kind == "parquet" else _JSON_LINES)
    shown = upload.source_type or kind
    return Dataset(dataset_id, shown, made.schema, made.row_count, upload.name, upload.file_id, made.report)


_JSON_LINES = "read_json(?, format = 'newline_delimited')"


def _copy(work: Workspace, job: Job, table: str, reader: str) -> Made:
    """Write the table as DuckDB reads the file."""
    path, limits, name = str(job.upload.path), job.limits, job.upload.name
    # A row more than is allowed is enough to refuse the file.
    sql = f"CREATE TABLE {quoted(table)} AS SELECT * FROM {reader} LIMIT {limits.max_rows + 1}"
    work.run(sql, [path], ("read", 0.0, 1.0))
    columns = tuple(ColumnType(*column) for column in work.columns(quoted(table)))
    if len(columns) > limits.max_columns:
        raise limits.too_large(name, "columns")
    rows = work.run(f"SELECT count(*) FROM {quoted(table)}")[0][0]
    if rows > limits.max_rows:
        raise limits.too_large(name, "rows")
    if not rows:
        raise FileEmpty(name, "")
    return Made(columns, rows, Report())


def _workspace(job: Job, *readable: Path) -> AbstractContextManager[Workspace]:
    return workspace(job.target, readable, job.upload.name, job.limits, job.progress)


def _dataset_id(file_id: str, kind: SourceType, sheet: str | None, header_row: int | None) -> str:
    content = json.dumps([_VERSION, file_id, kind, sheet, header_row])
    return f"ds_{hashlib.sha256(content.encode()).hexdigest()[:_DIGITS]}"
