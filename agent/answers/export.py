"""Rows of an answer as a file: CSV, Excel or Parquet."""

import csv
import io
import json
import re
import tempfile
import unicodedata
from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from datasphinx.agent.core.duckdb_text import quote_name
from datasphinx.agent.core.unused_name import unused_name
from datasphinx.agent.errors import DriverMissing
from datasphinx.agent.formatting.formats import ColumnFormat, formats_of, sure_digits
from datasphinx.agent.types import TABLE_SUFFIXES, AnswerTable

_FORMULA = re.compile("^[=+\\-@|%\u2212\u207a\u207b\u207c\ufe62\ufe63\ufe66\ufe6b\uff05\uff0b\uff0d\uff1d\uff20\uff5c]")
"""A spreadsheet evaluates a cell that begins with one of these, also as a full-width, small or superscript form."""
_SEPARATOR = re.compile("([;\t\r\n\u0085\u2028\u2029])")
"""Where a cell may begin in spreadsheets that separate cells by semicolons or tabs."""
_INNER_FORMULA = re.compile("[=@\uff1d\uff20\ufe66\ufe6b]|[+\\-\uff0b\uff0d\u2212](?!\\s)")
"""A formula there; `- ` begins a line of a list."""
_NUMBER = re.compile("[+\\-\u2212]?(\\d[\\d.,\u00a0\u202f]*|[.,]\\d+)([eE][+-]?\\d+)?\\s?%?")
_TIME = re.compile(r"\A(\d{4}-\d{2}-\d{2})T(\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:\d{2})?)\Z")
"""A time in ISO 8601: Excel takes one for a text unless a space is before the clock."""
_EXPONENT_FROM = (1e-6, 1e21)
"""Where JavaScript, and so the page, writes a number with an exponent: below the first and from the second."""
_MAX_NAME = 60


def file_name(question: str, suffix: str) -> str:
    """Return the name of a file for an answer to `question`: its words, at most 60 characters, and `suffix`.

    >>> file_name("Revenue by month, 2024?", ".csv"), file_name("销售额 / 地区", ".xlsx"), file_name("?!", ".csv")
    ('revenue-by-month-2024.csv', '销售额-地区.xlsx', 'datasphinx.csv')
    """
    name = re.sub(r"[\W_]+", "-", unicodedata.normalize("NFKC", question).lower()).strip("-")
    return f"{name[:_MAX_NAME].strip('-') or 'datasphinx'}{suffix}"


def write_table(table: AnswerTable, path: Path) -> None:
    """Write all rows of `table` to `path`, in the format of its suffix; an existing file is replaced.

    Raises:
        ValueError: the suffix is not one of `TABLE_SUFFIXES`.
    """
    suffix = path.suffix.lower()
    if suffix not in TABLE_SUFFIXES:
        raise ValueError(f"{path.name}: rows are saved as {', '.join(TABLE_SUFFIXES)}")
    path.write_bytes(table_bytes(table, suffix))


def table_bytes(table: AnswerTable, suffix: str) -> bytes:
    """Return all rows of `table` as the content of a file with `suffix`, one of `TABLE_SUFFIXES`.

    CSV has values as databases and spreadsheets read them: `true`, a space between day and time, lists as JSON, nothing
    for NULL, numbers without digits that come from computing, and an apostrophe before a text that a spreadsheet would
    evaluate as a formula; the page saves the same (`agent/web/js/table.js`).
    Excel files contain texts as texts, and numbers in the formats of their columns.
    Columns of Parquet files are BIGINT, DOUBLE or BOOLEAN if all values are, otherwise VARCHAR.
    """
    return dict(zip(TABLE_SUFFIXES, (_csv, _xlsx, _parquet), strict=True))[suffix](table)


_MOMENTS = {"date": "yyyy-mm-dd", "datetime": "yyyy-mm-dd hh:mm:ss"}
"""The formats of dates and times, which Excel writes as the reader's system does."""
_BEFORE_EXCEL = 1899


def _csv(table: AnswerTable) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow([without_formula(name) for name in table["columns"]])
    writer.writerows([without_formula(value) for value in row] for row in table["rows"])
    # Spreadsheets recognize UTF-8 by the mark at the beginning.
    return b"\xef\xbb\xbf" + text.getvalue().encode()


def without_formula(value: Any) -> str:
    """Return a cell for CSV: an empty text for None, and texts that no spreadsheet evaluates.

    >>> without_formula("=1+1"), without_formula("-3.5"), without_formula(None), without_formula(0.1 + 0.2)
    ("'=1+1", '-3.5', '', '0.3')
    """
    text = "" if value is None else _TIME.sub(r"\1 \2", _text(value))
    if _NUMBER.fullmatch(text):
        return text
    start = _first_visible(text)
    first, *others = _SEPARATOR.split(text[start:])
    for position in range(1, len(others), 2):
        cell = others[position]
        begin = _first_visible(cell)
        if _INNER_FORMULA.match(cell, begin):
            others[position] = f"{cell[:begin]}'{cell[begin:]}"
    mark = "'" if text[:1] in ("\t", "\r", "\n") or _FORMULA.match(text[start:]) else ""
    return f"{mark}{text[:start]}{first}{''.join(others)}"


def _first_visible(text: str) -> int:
    """Return the position after the white space, invisible characters and quotes that spreadsheets skip."""
    visible = (at for at, char in enumerate(text) if char != '"' and unicodedata.category(char)[0] not in "CZ")
    return next(visible, len(text))


def _xlsx(table: AnswerTable) -> bytes:
    try:
        import xlsxwriter
    except ModuleNotFoundError as error:
        raise DriverMissing("xlsxwriter", "export") from error
    content = io.BytesIO()
    options = {"in_memory": True, "strings_to_formulas": False, "strings_to_urls": False, "strings_to_numbers": False}
    with xlsxwriter.Workbook(content, options) as book:
        sheet = book.add_worksheet()
        sheet.write_row(0, 0, table["columns"], book.add_format({"bold": True}))
        formats = [book.add_format({"num_format": _number_format(fmt)}) for fmt in formats_of(table)]
        kinds = [fmt.kind for fmt in formats_of(table)]
        for number, row in enumerate(table["rows"], 1):
            for column, value in enumerate(row):
                if isinstance(value, bool):
                    sheet.write_boolean(number, column, value)
                elif isinstance(value, int | float) and abs(value) < 2**53:
                    sheet.write_number(number, column, value, formats[column])
                elif kinds[column] in _MOMENTS and (moment := _moment(value)):
                    sheet.write_datetime(number, column, moment, formats[column])
                elif value is not None:
                    sheet.write_string(number, column, _text(value))
        sheet.freeze_panes(1, 0)
        sheet.autofit()
    return content.getvalue()


def _number_format(fmt: ColumnFormat) -> str:
    """Return the format of a column as Excel has it, which writes separators as the reader's system does."""
    digits = ("#,##0" if fmt.is_grouped else "0") + (f".{'0' * fmt.decimals}" if fmt.decimals else "")
    unit = f' "{fmt.unit}"'
    units = {"number": "", "currency": unit, "percent": '"%"', "fraction": "%", "duration": unit}
    return f"{digits}{units[fmt.kind]}" if fmt.kind in units else _MOMENTS.get(fmt.kind, "General")


def _moment(value: Any) -> datetime | None:
    """Return a date or time in ISO 8601 without a zone, as far as Excel has it: from 1900 on."""
    try:
        moment = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        return None
    return moment if moment.tzinfo is None and moment.year > _BEFORE_EXCEL else None


def _parquet(table: AnswerTable) -> bytes:
    try:
        import duckdb
    except ModuleNotFoundError as error:
        raise DriverMissing("duckdb", "analyst") from error
    columns = [[row[at] for row in table["rows"]] for at in range(len(table["columns"]))]
    types = [_parquet_type(values) for values in columns]
    with tempfile.TemporaryDirectory() as folder, duckdb.connect() as connection:
        rows, target = Path(folder, "rows.json"), Path(folder, "rows.parquet")
        with rows.open("w", encoding="utf-8") as file:
            for row in table["rows"]:
                cells = (_text(value) if kind == "VARCHAR" and value is not None else value
                         for value, kind in zip(row, types, strict=True))  # fmt: skip
                file.write(json.dumps({f"c{at}": cell for at, cell in enumerate(cells)}) + "\n")
        schema = {f"c{at}": kind for at, kind in enumerate(types)}
        names: list[str] = []
        for name in table["columns"]:
            names.append(unused_name(name, names))
        relation = connection.read_json(str(rows), columns=schema, format="newline_delimited")
        quoted = map(quote_name, names)
        selected = ", ".join(f"c{at} AS {name}" for at, name in enumerate(quoted))
        relation.project(selected).write_parquet(str(target))
        return target.read_bytes()


def _parquet_type(values: Sequence[Any]) -> str:
    kinds = {type(value) for value in values if value is not None}
    if kinds == {bool}:
        return "BOOLEAN"
    if kinds == {int}:
        return "BIGINT" if all(-(2**63) <= value < 2**63 for value in values if value is not None) else "VARCHAR"
    return "DOUBLE" if kinds and kinds <= {int, float} else "VARCHAR"


def _text(value: Any) -> str:
    if isinstance(value, float):
        return _digits(sure_digits(value))
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _digits(value: float) -> str:
    """Return a number as JavaScript writes it."""
    least, most = _EXPONENT_FROM
    if not value:
        return "0"
    if least <= abs(value) < most:
        return f"{Decimal(repr(value)):f}".removesuffix(".0")
    digits, _, exponent = repr(value).partition("e")
    return f"{digits}e{int(exponent):+}"
