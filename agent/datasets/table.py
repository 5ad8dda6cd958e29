"""Write the table of a dataset: from cells read as text, or from Parquet and JSON, whose columns are typed."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path

from datasphinx.agent.core.duckdb_text import quote_name
from datasphinx.agent.core.unused_name import unused_name
from datasphinx.agent.datasets.cells import STAGING, Cells, clean_sql, count_filled
from datasphinx.agent.datasets.columns import ColumnPlan, code_name, infer_columns
from datasphinx.agent.datasets.dataset import ColumnType, Report, Warning
from datasphinx.agent.datasets.header import Header, column_names
from datasphinx.agent.datasets.json_file import JsonRows
from datasphinx.agent.datasets.limits import Loading
from datasphinx.agent.datasets.numbers import Mark
from datasphinx.agent.datasets.options import LoadOptions, place_of_column
from datasphinx.agent.datasets.sections import fill_sections, find_sections, notes_below
from datasphinx.agent.datasets.text_file import CellFile, Head
from datasphinx.agent.datasets.totals import TotalRow, find_totals
from datasphinx.agent.datasets.workspace import Workspace
from datasphinx.agent.errors import FileNotLoaded

_MAX_LINE = 1_000_000
"""In bytes; DuckDB allocates a buffer of sixteen times this size."""

_SHOWN_TOTALS = 5
_MAX_FOOTER, _MIN_FOOTER_COLUMNS = 3, 3
_MAX_LABELS = 60
_MIN_REPEATED = 2
"""A table with fewer columns may have a row like its header."""
_MAX_MARKS = 8
"""Number of white space characters that a repeated name may have more."""

_MIN_BLANK_ROWS = 4
_RAW = "scratch.raw"
_BEYOND = 1_000_000
"""Place of the cells beyond the header."""

_SECTION = "section"


_MAX_JSON_LINE = 16 << 20
"""In bytes; the longest JSON object that DuckDB reads."""


@dataclass(frozen=True)
class WrittenTable:
    """Schema and row count of a written table, and its complete report."""

    schema: tuple[ColumnType, ...]
    row_count: int
    report: Report


@dataclass(frozen=True)
class Part:
    """One table of a file: its cells with their first rows, and the header among these.

    `label` is its value in the column that tells the parts of a union apart. `rest` is the place of the cells below the
    header, as UTF-8.
    """

    cell_file: CellFile
    label: str
    head: Head
    header: Header
    rest: Path
    has_blank_lines: bool = False

    @property
    def end(self) -> tuple[int, int]:
        """Characters and rows of the cells up to the end of the header."""
        if not self.header.rows:
            return 0, 0
        last = self.header.first + self.header.rows - 1
        return self.head.ends[last], self.head.numbers[last] + 1

    @property
    def start(self) -> int:
        """The row of the cells, from 0, in which `rest` begins."""
        return self.end[1]

    @property
    def header_texts(self) -> list[list[str]]:
        """The texts of the rows of the header."""
        rows = self.head.rows[self.header.first : self.header.first + self.header.rows]
        return [[cell.text for cell in row] for row in rows]

    @property
    def texts_above(self) -> list[str]:
        """The texts of the rows above the header."""
        texts = [" ".join(cell.text.strip() for cell in row).strip() for row in self.head.rows[: self.header.first]]
        return list(filter(None, texts))

    @property
    def row(self) -> int:
        """Row of the header on the sheet, from 1; 0 without a header."""
        return self.cell_file.first_row + self.head.numbers[self.header.first] + 1 if self.header.rows else 0


@dataclass(frozen=True)
class Layout:
    """The columns of the staging table: `places` gives the column of each part by its own place."""

    names: tuple[str, ...]
    named: tuple[int, ...]
    """The places of the columns that have a name in the file."""
    places: tuple[tuple[int, ...], ...]
    warnings: tuple[Warning, ...]
    label: str = ""

    @classmethod
    def of(cls, parts: Sequence[Part], label: str) -> "Layout":
        """Return the layout of the union of `parts` by name; `label` names the column that tells them apart, if any."""
        names: list[str] = []
        places = []
        warnings: dict[tuple[str, str], Warning] = {}
        for part in parts:
            own, found = column_names(part.header)
            warnings.update({(warning.code, warning.column): warning for warning in found})
            by_name = {name.casefold(): place for place, name in enumerate(names)}
            names += [name for name in own if name.casefold() not in by_name]
            by_name = {name.casefold(): place for place, name in enumerate(names)}
            places.append(tuple(by_name[name.casefold()] for name in own))
        if label:
            label = unused_name(label, names)
            names.append(label)
        unnamed = {
            place
            for own, part in zip(places, parts, strict=True)
            for place, name in zip(own, part.header.names, strict=True)
            if not name
        }
        named = tuple(place for place in range(len(names)) if place not in unnamed)
        return cls(tuple(names), named, tuple(places), tuple(warnings.values()), label)


def make_table(
    work: Workspace,
    table: str,
    parts: Sequence[Part],
    layout: Layout,
    report: Report,
    options: LoadOptions,
    loading: Loading,
) -> WrittenTable:
    """Write `table` from the cells of `parts`.

    Raises:
        FileNotLoaded: There are no rows, or an option names a column that does not exist.
        FileUnreadable: DuckDB cannot read the file.
    """
    first = parts[0].cell_file
    width, paired = len(layout.names), first.paired
    names = list(layout.names)
    columns = [Cells(place, paired, first.epoch) for place in range(width)]
    warnings = list(layout.warnings)
    blank, offsets = _read(work, parts, layout)
    if not first.whole.blocks and (blank or any(part.has_blank_lines for part in parts)):
        warnings.append(Warning("tables_unknown"))
    warnings += _hide_summaries(work, parts, offsets, columns, options)
    warnings += _hide_footer(work, columns, options.footer_rows)
    warnings += _hide_headers(work, parts, layout)
    filled_down = _fill_merged(work, parts, offsets, layout) if any(part.cell_file.merged for part in parts) else 0
    if filled_down:
        warnings.append(Warning("merged_cells", "", {"count": filled_down}))
    if options.sections is not False:
        warnings += _move_sections(work, parts, offsets, layout, columns, names)
    kinds = {place_of_column(names, "types", name): kind for name, kind in (options.types or {}).items()}
    fill_places = [place_of_column(names, "fill_down", name) for name in options.fill_down or ()]
    rows = work.run(f"SELECT count(*) FROM {STAGING}")[0][0]
    if not rows:
        raise FileNotLoaded("file_empty", file=loading.file, where=f" ({first.sheet})" if first.sheet else "")
    if rows > loading.limits.max_rows:
        raise loading.too_large("rows")
    usual: Mark = "," if first.whole.delimiter == ";" else "."

    def infer() -> list[ColumnPlan]:
        return infer_columns(work, columns, names, rows, usual, kinds)

    plans, left_out, found = _leave_out_rows(work, rows, options, infer)
    rows -= left_out
    warnings += found
    for place in fill_places:
        _fill_down(work, columns[place])
    if fill_places:
        plans = infer()
    kept = [plan for plan in plans if plan.filled or plan.cells.place in layout.named]
    kept_names = [names[plan.cells.place] for plan in kept]
    warnings = [warning for warning in warnings if not warning.column or warning.column in kept_names]
    warnings += [warning for plan in kept for warning in plan.warnings]
    warnings += _blanks(plans, layout, rows, fill_places)
    beyond = Cells(_BEYOND, paired).is_filled
    if long_rows := work.run(f"SELECT count(*) FROM {STAGING} WHERE {beyond}")[0][0]:
        warnings.append(Warning("long_rows", "", {"count": long_rows}))
    schema = _write(work, table, kept, kept_names)
    marks = {plan.mark for plan in kept if plan.mark}
    report = replace(
        report,
        decimal_mark=marks.pop() if len(marks) == 1 else None,
        empty_rows=report.empty_rows + blank,
        empty_columns=len(names) - len(kept),
        warnings=(*report.warnings, *warnings),
    )
    return WrittenTable(schema, rows, report)


def _read(work: Workspace, parts: Sequence[Part], layout: Layout) -> tuple[int, list[int]]:
    """Fill the staging table; return the number of blank rows that were skipped, and the first row of each part.

    The column `_BEYOND` receives the cells beyond the header, and the one after the last is for names of sections.
    """
    width, paired = len(layout.names), parts[0].cell_file.paired
    kinds = "tv" if paired else "t"
    places = [*range(width), _BEYOND]
    fields = [f"{kind}{place}" for place in [*places, width] for kind in kinds]
    work.run(f"CREATE TABLE {_RAW} ({', '.join(f'{field} VARCHAR' for field in fields)}, filled BOOLEAN, part INTEGER)")
    for number, part in enumerate(parts):
        own_width = len(part.header.names)
        own = [f"{kind}{place}" for place in range(own_width + 1) for kind in kinds]
        columns = ", ".join(f"'{field}': 'VARCHAR'" for field in own)
        filled = f"coalesce({', '.join(own)}) IS NOT NULL"
        sources = {place: at for at, place in enumerate(layout.places[number])} | {_BEYOND: own_width}
        values = [f"{kind}{sources[place]}" if place in sources else "NULL" for place in places for kind in kinds]
        values += ["NULL"] * len(kinds)
        if layout.label:
            values[(width - 1) * len(kinds)] = "?"
        cleaned = ", ".join(f"{clean_sql(field)} AS {field}" for field in own)
        work.run(
            f"INSERT INTO {_RAW} SELECT {', '.join(values)}, {filled}, {number} FROM (SELECT {cleaned} FROM "
            "read_csv(?, delim = ?, quote = '\"', escape = '\"', header = false, auto_detect = false, "
            "null_padding = true, strict_mode = false, "
            f"parallel = false, max_line_size = {_MAX_LINE}, columns = {{{columns}}}))",
            [*([part.label] if layout.label else []), str(part.rest), part.cell_file.delimiter],
            ("read", 0.3 + 0.7 * number / len(parts), 0.3 + 0.7 * (number + 1) / len(parts)),
        )
    work.run(f"CREATE TEMP VIEW {STAGING} AS SELECT raw.rowid AS rowid, * FROM {_RAW} WHERE filled")
    counts = dict(work.run(f"SELECT part, count(*) FROM {_RAW} GROUP BY part"))
    offsets = [sum(counts.get(before, 0) for before in range(number)) for number in range(len(parts))]
    return work.run(f"SELECT count(*) FROM {_RAW} WHERE NOT filled")[0][0], offsets


def _hide(work: Workspace, rowids: Sequence[int], *, is_hidden: bool = True) -> None:
    work.run(f"UPDATE {_RAW} SET filled = ? WHERE rowid IN (SELECT unnest(?::BIGINT[]))", [not is_hidden, list(rowids)])


def _hide_footer(work: Workspace, columns: Sequence[Cells], count: int | None) -> list[Warning]:
    """Leave out the last `count` rows of each part, if any; return the warning about them."""
    if not count:
        return []
    words = ", ".join(cells.trimmed for cells in columns)
    found = work.run(
        f"SELECT rowid, concat_ws(' ', {words}) FROM {STAGING} "
        "QUALIFY row_number() OVER (PARTITION BY part ORDER BY rowid DESC) <= ? ORDER BY rowid",
        [count],
    )
    _hide(work, [rowid for rowid, _ in found])
    return [notes_below([text for _, text in found])]


def _hide_summaries(
    work: Workspace, parts: Sequence[Part], offsets: Sequence[int], columns: Sequence[Cells], options: LoadOptions
) -> list[Warning]:
    """Leave out the rows whose formulas summarize others but have no results; return the warning about them."""
    if options.drop_totals is False or not any(part.cell_file.summaries for part in parts):
        return []
    wanted = [
        offset + row - part.start
        for part, offset in zip(parts, offsets, strict=True)
        for row in part.cell_file.summaries
        if row >= part.start
    ]
    words = ", ".join(cells.text for cells in columns)
    found = work.run(
        f"SELECT rowid, coalesce({words}, '') FROM {STAGING} WHERE list_contains(?::BIGINT[], rowid) ORDER BY rowid",
        [wanted],
    )
    totals = [TotalRow(*row) for row in found]
    if not totals or len(totals) == work.run(f"SELECT count(*) FROM {STAGING}")[0][0]:
        return []
    warning = _totals_warning(work, totals, is_dropped=True)
    _hide(work, [row.rowid for row in totals])
    return [warning]


def _find_footer(work: Workspace, plans: Sequence[ColumnPlan]) -> dict[int, str]:
    """Return the last rows, by id with their text, that begin with words and leave most columns blank.

    `3 rows exported` is one.
    """
    if len(plans) < _MIN_FOOTER_COLUMNS:
        return {}
    cells = [plan.cells for plan in plans]
    words = ", ".join(each.trimmed for each in cells)
    first = f"coalesce({words})"
    found = work.run(
        f"SELECT rowid, {count_filled(cells)}, regexp_matches({first}, '\\p{{L}}'), concat_ws(' ', {words}) FROM "
        f"(FROM {STAGING} ORDER BY rowid DESC LIMIT {_MAX_FOOTER}) ORDER BY rowid DESC"
    )
    footer = takewhile(lambda row: 2 * row[1] <= len(plans) and row[2], found)
    return {rowid: text for rowid, _, _, text in reversed(list(footer))}


def _leave_out_rows(
    work: Workspace, rows: int, options: LoadOptions, infer: Callable[[], list[ColumnPlan]]
) -> tuple[list[ColumnPlan], int, list[Warning]]:
    """Leave out a footer and totals; return the plans of the others, how many there were, and the warnings."""
    plans = infer()
    left_out, warnings = _leave_out_totals(work, plans, rows, options)
    plans = infer() if left_out else plans
    footer = {} if options.sections is False else _find_footer(work, plans)
    if not 0 < len(footer) < rows - left_out:
        return plans, left_out, warnings
    _hide(work, list(footer))
    others = infer()
    if _count_typed(others) <= _count_typed(plans):
        _hide(work, list(footer), is_hidden=False)
        return plans, left_out, warnings
    notes = notes_below(list(footer.values()))
    if left_out:
        return others, left_out + len(footer), [*warnings, notes]
    left_out, warnings = _leave_out_totals(work, others, rows - len(footer), options)
    return infer() if left_out else others, left_out + len(footer), [*warnings, notes]


def _count_typed(plans: Sequence[ColumnPlan]) -> int:
    return sum(plan.type != "VARCHAR" for plan in plans)


def _hide_headers(work: Workspace, parts: Sequence[Part], layout: Layout) -> list[Warning]:
    """Leave out the rows that repeat a header row, as on each printed page; return the warning about them.

    Case, white space and byte order marks do not matter. With them go the lines above the header that each page has,
    whose numbers may differ; numbers alone are data.
    """
    repeated: list[int] = []
    for number, part in enumerate(parts):
        columns = [Cells(place, part.cell_file.paired) for place in layout.places[number]]
        if len(columns) < _MIN_REPEATED:
            continue
        texts = [[" ".join(text.replace("\ufeff", " ").split()).lower() for text in row] for row in part.header_texts]
        texts = [[*row, *[""] * (len(columns) - len(row))][: len(columns)] for row in texts]
        texts = [row for row in texts if sum(map(bool, row)) >= _MIN_REPEATED]
        fields = [
            rf"coalesce(trim(lower(regexp_replace({each.trimmed}, '[\s\p{{Z}}\x{{FEFF}}]+', ' ', 'g'))), '')"
            for each in columns
        ]
        for row in texts:
            first = next(place for place, text in enumerate(row) if text)
            # A CASE compares the other cells only where the first one is equal.
            is_first = f"length({columns[first].trimmed}) BETWEEN ? AND ? AND {fields[first]} = ?"
            found = work.run(
                f"SELECT rowid FROM {_RAW} WHERE filled AND part = ? AND "
                f"CASE WHEN {is_first} THEN [{', '.join(fields)}] = ?::VARCHAR[] END",
                [number, len(row[first]), 2 * len(row[first]) + _MAX_MARKS, row[first], row],
            )
            repeated += [each[0] for each in found]
        if repeated and part.texts_above:
            words = f"concat_ws(' ', {', '.join(each.trimmed for each in columns)})"
            lines = [re.sub(r"\d+", "0", text) for text in part.texts_above if any(map(str.isalpha, text))]
            found = work.run(
                f"SELECT rowid FROM {_RAW} WHERE filled AND part = ? AND regexp_replace({words}, '[0-9]+', '0', 'g') "
                "IN (SELECT unnest(?::VARCHAR[]))",
                [number, lines],
            )
            repeated += [each[0] for each in found]
    if not repeated:
        return []
    _hide(work, repeated)
    return [Warning("header_repeated", "", {"count": len(repeated)})]


def _fill_merged(work: Workspace, parts: Sequence[Part], offsets: Sequence[int], layout: Layout) -> int:
    """Write the value of merged cells into the rows they cover; return the number of cells that were filled."""
    count = 0
    for part, offset, places in zip(parts, offsets, layout.places, strict=True):
        spans = [
            (places[left], offset + max(top, part.start) - part.start, offset + bottom - part.start)
            for top, left, bottom, _ in part.cell_file.merged
            if bottom > top >= part.start and left < len(part.header.names)
        ]
        work.run(
            "CREATE OR REPLACE TABLE scratch.merged AS "
            "SELECT unnest(?::BIGINT[]) AS place, unnest(?::BIGINT[]) AS top, unnest(?::BIGINT[]) AS bottom",
            [list(each) for each in zip(*spans, strict=True)] if spans else [[], [], []],
        )
        for place in sorted({span[0] for span in spans}):
            text, value = f"t{place}", f"v{place}"
            count += work.run(
                f"UPDATE {_RAW} AS target SET {text} = covered.text, {value} = covered.value FROM ("
                f"SELECT r.rowid AS id, s.{text} AS text, s.{value} AS value FROM {_RAW} AS r "
                f"ASOF JOIN (SELECT * FROM scratch.merged WHERE place = {place}) AS m ON r.rowid >= m.top "
                f"JOIN {_RAW} AS s ON s.rowid = m.top WHERE r.filled AND r.rowid > m.top AND r.rowid <= m.bottom"
                ") AS covered WHERE target.rowid = covered.id"
            )[0][0]
    return count


def _move_sections(
    work: Workspace,
    parts: Sequence[Part],
    offsets: Sequence[int],
    layout: Layout,
    columns: list[Cells],
    names: list[str],
) -> list[Warning]:
    """Turn the headings of sections into a column, and leave out notes; return the warnings about them."""
    labels = 1 if layout.label else 0
    merged_rows = {
        offset + top - part.start
        for part, offset in zip(parts, offsets, strict=True)
        for top, left, _, right in part.cell_file.merged
        if top >= part.start and right > left
    }
    first = layout.named[0] if layout.named else 0
    found = find_sections(work, columns[first : len(columns) - labels], merged_rows)
    warnings = []
    if found.headings:
        place, name = first, names[first]
        if not found.has_own_column:
            place, name = len(columns), unused_name(_SECTION, names)
            columns.append(Cells(place, columns[0].paired))
            names.append(name)
        fill_sections(work, _RAW, place, found.headings)
        examples = ", ".join(heading.text for heading in found.headings[:_SHOWN_TOTALS])[:_MAX_LABELS]
        warnings.append(Warning("sections", name, {"count": len(found.headings), "examples": examples}))
    if found.notes:
        warnings.append(notes_below([note.text for note in found.notes]))
    _hide(work, [row.rowid for row in [*found.headings, *found.notes]])
    return warnings


def _fill_down(work: Workspace, cells: Cells) -> None:
    """Write the nearest filled cell above into each blank cell of a column."""
    packed = ", ".join(f"{field} := {field}" for field in cells.fields)
    above = f"last_value(CASE WHEN {cells.is_filled} THEN struct_pack({packed}) END IGNORE NULLS) OVER (ORDER BY rowid)"
    values = ", ".join(f"{field} = above.cell.{field}" for field in cells.fields)
    work.run(
        f"UPDATE {_RAW} AS target SET {values} FROM (SELECT rowid AS id, {above} AS cell FROM {STAGING}) AS above "
        "WHERE target.rowid = above.id AND above.cell IS NOT NULL"
    )


def _blanks(plans: Sequence[ColumnPlan], layout: Layout, rows: int, filled: Sequence[int]) -> list[Warning]:
    """Return the warning about a first column of words that is mostly blank while the others are filled."""
    first = plans[0]
    is_sparse = first.type == "VARCHAR" and 0 < 2 * first.filled <= rows and rows >= _MIN_BLANK_ROWS
    others = [plan for plan in plans[1:] if 10 * plan.filled >= 9 * rows]
    if not is_sparse or first.cells.place in filled or 2 * len(others) < len(plans) - 1:
        return []
    return [Warning("blanks_below", layout.names[0], {"count": rows - first.filled})]


def _write(work: Workspace, table: str, plans: Sequence[ColumnPlan], names: Sequence[str]) -> tuple[ColumnType, ...]:
    values = []
    taken = {name.casefold() for name in names}
    for plan, name in zip(plans, names, strict=True):
        values.append(f"{plan.sql} AS {quote_name(name)}")
        code = code_name(name)
        if plan.code and code.casefold() not in taken:
            values.append(f"{plan.code} AS {quote_name(code)}")
    sql = f"CREATE TABLE {quote_name(table)} AS SELECT {', '.join(values)} FROM {STAGING}"
    work.run(sql, stage=("write", 0.0, 1.0))
    return schema_of(work, table)


def schema_of(work: Workspace, table: str) -> tuple[ColumnType, ...]:
    """Return the columns of a table."""
    return tuple(ColumnType(*column) for column in work.columns(quote_name(table)))


def _leave_out_totals(
    work: Workspace, plans: Sequence[ColumnPlan], rows: int, options: LoadOptions
) -> tuple[int, list[Warning]]:
    """Leave out the rows with totals and those beside them; return how many there were, and the warnings."""
    totals, beside, doubtful = find_totals(work, plans, rows)
    if options.drop_totals:
        totals, doubtful = sorted([*totals, *doubtful]), []
    if options.drop_totals is False or len(totals) + len(beside) >= rows:
        doubtful, totals = sorted([*totals, *doubtful]), []
    warnings = [_totals_warning(work, doubtful, is_dropped=False)] if doubtful else []
    if not totals:
        return 0, warnings
    warnings.append(_totals_warning(work, totals, is_dropped=True))
    if beside:
        warnings.append(Warning("beside_totals", "", {"count": len(beside), "example": _labels(beside)}))
    _hide(work, [row.rowid for row in [*totals, *beside]])
    return len(totals) + len(beside), warnings


def _totals_warning(work: Workspace, totals: Sequence[TotalRow], *, is_dropped: bool) -> Warning:
    preceding = [
        work.run(f"SELECT count(*) FROM {STAGING} WHERE rowid <= ?", [total.rowid])[0][0]
        for total in totals[:_SHOWN_TOTALS]
    ]
    numbers = ", ".join(map(str, preceding)) + (", ..." if len(totals) > _SHOWN_TOTALS else "")
    code = "totals_dropped" if is_dropped else "totals"
    return Warning(code, "", {"count": len(totals), "rows": numbers, "example": _labels(totals)})


def _labels(rows: Sequence[TotalRow]) -> str:
    return (", ".join(dict.fromkeys(row.label for row in rows if row.label)) or "-")[:_MAX_LABELS]


def copy_parquet(work: Workspace, table: str, path: Path, loading: Loading) -> WrittenTable:
    """Write `table` from a Parquet file; raises the same errors as `copy_json`."""
    rows = work.run("SELECT sum(num_rows) FROM parquet_file_metadata(?)", [str(path)])[0][0]
    if rows > loading.limits.max_rows:
        raise loading.too_large("rows")
    return _copy(work, table, "read_parquet(?)", path, loading)


def copy_json(work: Workspace, table: str, rows: JsonRows, loading: Loading) -> WrittenTable:
    """Write `table` from the rows of a JSON file.

    Raises:
        FileNotLoaded: There are no rows.
        FileUnreadable: DuckDB cannot read the file.
    """
    # Sample all rows for types, or a key that occurs only later would be dropped.
    reader = (
        "read_json(?, format = 'newline_delimited', sample_size = -1, map_inference_threshold = -1, "
        f"maximum_object_size = {_MAX_JSON_LINE}%s)"
    )
    detected = work.columns(reader % "", [str(rows.path)])
    # JSON is the type of a column with values of several types.
    types = {name: "VARCHAR" if kind in ("JSON", '"NULL"') else kind for name, kind in detected}
    types |= {name: kind for name, kind in rows.decimals.items() if types[name] == "DOUBLE"}
    columns = ", ".join(f"{quote_name(name)}: '{kind}'" for name, kind in types.items())
    written = _copy(work, table, reader % f", columns = {{{columns}}}", rows.path, loading)
    return replace(written, report=Report(warnings=tuple(rows.warnings)))


def _copy(work: Workspace, table: str, reader: str, path: Path, loading: Loading) -> WrittenTable:
    columns = len(work.columns(reader, [str(path)]))
    if columns > loading.limits.max_columns:
        raise loading.too_large("columns")
    # One row above the limit suffices to reject the file.
    sql = f"CREATE TABLE {quote_name(table)} AS SELECT * FROM {reader} LIMIT {loading.limits.max_rows + 1}"
    work.run(sql, [str(path)], ("read", 0.2, 1.0))
    rows = work.run(f"SELECT count(*) FROM {quote_name(table)}")[0][0]
    if rows > loading.limits.max_rows:
        raise loading.too_large("rows")
    if not rows:
        raise FileNotLoaded("file_empty", file=loading.file, where="")
    return WrittenTable(schema_of(work, table), rows, Report())
