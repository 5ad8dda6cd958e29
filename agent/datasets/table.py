"""Write the table of a dataset: from cells read as text, or from Parquet and JSON lines, whose columns are typed."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from agent.datasets.cells import STAGING, Cells, select_layers
from agent.datasets.columns import ColumnPlan, infer_columns, warnings_of
from agent.datasets.dataset import ColumnType, Report, Warning
from agent.datasets.header import Header, column_names
from agent.datasets.limits import Loading
from agent.datasets.numbers import Mark
from agent.datasets.text_file import CellFile
from agent.datasets.workspace import Workspace, quote_identifier
from agent.errors import FileEmpty, FileUnreadable
from agent.messages import Message

_MAX_LINE = 1_000_000
"""In bytes; DuckDB allocates a buffer of sixteen times this size."""

_SHOWN_TOTALS = 5
_TOTALS_PLACES = 3
"""The label of a totals row is in one of the first columns."""


_MAX_JSON_LINE = 16 << 20
"""In bytes; the longest JSON object that DuckDB reads."""
_HARMLESS_MARKS = 256
"""A line with fewer brackets and colons needs no check."""
_MAX_DEPTH = 3
"""Values nested deeper stay JSON, since nothing can be computed from them."""


@dataclass(frozen=True)
class WrittenTable:
    """Schema and row count of a written table, and its complete report."""

    schema: tuple[ColumnType, ...]
    row_count: int
    report: Report


def make_table(
    work: Workspace,
    table: str,
    rest: Path,
    cell_file: CellFile,
    header: Header,
    report: Report,
    loading: Loading,
) -> WrittenTable:
    """Write `table` from the cells in the UTF-8 file `rest`, with the columns of `header`.

    Raises:
        FileEmpty: There are no rows.
        FileTooLarge: There are too many rows, or they do not fit into memory.
        FileUnreadable: DuckDB cannot read the file.
    """
    width = len(header.names)
    columns = [Cells(place, cell_file.paired) for place in range(width)]
    rows, blank = _read(work, rest, cell_file, width)
    if not rows:
        raise FileEmpty(loading.file, f" ({cell_file.sheet})" if cell_file.sheet else "")
    if rows > loading.limits.max_rows:
        raise loading.too_large("rows")
    usual: Mark = "," if cell_file.delimiter == ";" else "."
    plans = infer_columns(work, columns, header.names, rows, usual)
    kept_plans = [plan for plan in plans if plan.filled or header.names[plan.cells.place]]
    names, warnings = column_names(header, [plan.cells.place for plan in kept_plans])
    for plan, name in zip(kept_plans, names, strict=True):
        warnings += warnings_of(work, plan, name)
    warnings += _totals(work, columns)
    beyond = Cells(width, cell_file.paired).is_filled
    if long_rows := work.run(f"SELECT count(*) FROM {STAGING} WHERE {beyond}")[0][0]:
        warnings.append(Warning("long_rows", "", {"count": long_rows}))
    schema = _write(work, table, kept_plans, names)
    marks = {plan.mark for plan in kept_plans if plan.mark}
    mark = marks.pop() if len(marks) == 1 else None
    report = replace(
        report,
        decimal_mark=mark,
        empty_rows=report.empty_rows + blank,
        empty_columns=width - len(kept_plans),
        warnings=(*report.warnings, *warnings),
    )
    return WrittenTable(schema, rows, report)


def _read(work: Workspace, rest: Path, cell_file: CellFile, width: int) -> tuple[int, int]:
    """Fill the staging table; return its number of rows, and the number of blank rows that were skipped.

    One column more than the header has receives the cells beyond it.
    """
    fields = [f"{kind}{place}" for place in range(width + 1) for kind in ("tv" if cell_file.paired else "t")]
    columns = ", ".join(f"'{field}': 'VARCHAR'" for field in fields)
    # CASE stops at the first match; OR would evaluate every operand.
    filled = " ".join(f"WHEN {Cells(place, cell_file.paired).is_filled} THEN true" for place in range(width + 1))
    work.run(
        f"CREATE TABLE scratch.raw AS SELECT *, CASE {filled} ELSE false END AS filled "
        "FROM read_csv(?, delim = ?, quote = '\"', escape = '\"', header = false, auto_detect = false, "
        "null_padding = true, strict_mode = false, "
        f"parallel = false, max_line_size = {_MAX_LINE}, columns = {{{columns}}})",
        [str(rest), cell_file.delimiter],
        ("read", 0.3, 1.0),
    )
    work.run(f"CREATE TEMP VIEW {STAGING} AS SELECT raw.rowid AS rowid, * FROM scratch.raw WHERE filled")
    rows, total = work.run("SELECT count(*) FILTER (filled), count(*) FROM scratch.raw")[0]
    return rows, total - rows


def _write(work: Workspace, table: str, plans: Sequence[ColumnPlan], names: Sequence[str]) -> tuple[ColumnType, ...]:
    values = ", ".join(f"{plan.plan.sql} AS {quote_identifier(name)}" for plan, name in zip(plans, names, strict=True))
    source = select_layers([plan.plan.layers for plan in plans])
    work.run(f"CREATE TABLE {quote_identifier(table)} AS SELECT {values} FROM {source}", stage=("write", 0.0, 1.0))
    return tuple(ColumnType(*column) for column in work.columns(quote_identifier(table)))


def _totals(work: Workspace, columns: Sequence[Cells]) -> list[Warning]:
    labels = " UNION ALL ".join(
        f"SELECT rowid, {cells.place} AS place, {cells.text} AS word FROM {select_layers([cells.base])} "
        f"WHERE {cells.is_total}"
        for cells in columns[:_TOTALS_PLACES]
    )
    rows = work.run(
        f"SELECT rowid, min_by(word, place), count(*) OVER () FROM ({labels}) "
        f"GROUP BY rowid ORDER BY rowid LIMIT {_SHOWN_TOTALS}"
    )
    if not rows:
        return []
    preceding = [work.run(f"SELECT count(*) FROM {STAGING} WHERE rowid <= ?", [row[0]])[0][0] for row in rows]
    numbers = ", ".join(map(str, preceding))
    return [Warning("totals", "", {"count": rows[0][2], "rows": numbers, "example": rows[0][1]})]


def copy_parquet(work: Workspace, table: str, path: Path, loading: Loading) -> WrittenTable:
    """Write `table` from a Parquet file; raises the same errors as `copy_json_lines`."""
    rows = work.run("SELECT sum(num_rows) FROM parquet_file_metadata(?)", [str(path)])[0][0]
    if rows > loading.limits.max_rows:
        raise loading.too_large("rows")
    return _copy(work, table, "read_parquet(?)", path, loading)


def copy_json_lines(work: Workspace, table: str, path: Path, loading: Loading) -> WrittenTable:
    """Write `table` from a file with one JSON object per line.

    Raises:
        FileEmpty: There are no rows.
        FileTooLarge: There are too many rows or columns, or they do not fit into memory.
        ArchiveSuspicious: The written table exceeds the allowed disk space.
        FileUnreadable: DuckDB cannot read the file.
        StatementCancelled: Loading was cancelled.
    """
    _check_nesting(path, loading)
    keys = "SELECT count(DISTINCT key) FROM (SELECT unnest(json_keys(json)) AS key FROM read_ndjson_objects(?))"
    if work.run(keys, [str(path)], ("read", 0.0, 0.2))[0][0] > loading.limits.max_columns:
        raise loading.too_large("columns")
    # Sample all rows for types, or a key that occurs only later would be dropped.
    reader = (
        "read_json(?, format = 'newline_delimited', sample_size = -1, map_inference_threshold = -1, "
        f"maximum_depth = {_MAX_DEPTH}, maximum_object_size = {_MAX_JSON_LINE})"
    )
    return _copy(work, table, reader, path, loading)


def _copy(work: Workspace, table: str, reader: str, path: Path, loading: Loading) -> WrittenTable:
    columns = len(work.run(f"DESCRIBE SELECT * FROM {reader}", [str(path)]))
    if columns > loading.limits.max_columns:
        raise loading.too_large("columns")
    # One row above the limit suffices to reject the file.
    sql = f"CREATE TABLE {quote_identifier(table)} AS SELECT * FROM {reader} LIMIT {loading.limits.max_rows + 1}"
    work.run(sql, [str(path)], ("read", 0.2, 1.0))
    rows = work.run(f"SELECT count(*) FROM {quote_identifier(table)}")[0][0]
    if rows > loading.limits.max_rows:
        raise loading.too_large("rows")
    if not rows:
        raise FileEmpty(loading.file, "")
    return WrittenTable(tuple(ColumnType(*column) for column in work.columns(quote_identifier(table))), rows, Report())


def _check_nesting(path: Path, loading: Loading) -> None:
    """Reject deeply nested lines, which would crash this process inside DuckDB."""

    def check_width(pairs: list[tuple[str, Any]]) -> None:
        if len(pairs) > loading.limits.max_columns:
            raise loading.too_large("columns")

    with path.open("rb") as file:
        while line := file.readline(_MAX_JSON_LINE):
            if line.count(b"[") + line.count(b"{") + line.count(b":") < _HARMLESS_MARKS:
                continue
            loading.cancellation.check()
            try:
                json.loads(line, object_pairs_hook=check_width)
            except RecursionError:
                raise FileUnreadable(loading.file, Message("nested_too_deeply")) from None
            except ValueError as error:
                raise FileUnreadable(loading.file, Message("line_not_json", error=str(error))) from error
