"""Read a JSON file, an array of objects or objects one after the other, and write its rows for DuckDB."""

import csv
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, time
from decimal import Decimal
from itertools import chain
from pathlib import Path
from typing import IO, Any

from datasphinx.agent.core.unused_name import unused_name
from datasphinx.agent.datasets.dataset import Warning
from datasphinx.agent.datasets.encoding import encoding_of
from datasphinx.agent.datasets.limits import Loading
from datasphinx.agent.datasets.readers import Reader
from datasphinx.agent.errors import FileNotLoaded, FileUnreadable
from datasphinx.agent.messages import Message, message_of

_CHUNK = 1 << 20
_BLANK = re.compile(r"[ \t\r\n\ufeff]*")
_MEMORY_SHARE = 8
"""Memory that a parsed value takes, as a multiple of its text."""
_EXACT_DIGITS = 15
"""Number of digits that every double keeps."""
_EXACT = 2**53
"""Every integer up to this is a double."""
_MAX_DIGITS = 38
_SHOWN = 60


def _plain(value: Any) -> str:
    if isinstance(value, date | time):
        return value.isoformat()
    raise ValueError(Message("reader_value", type=type(value).__name__))


_encode = json.JSONEncoder(ensure_ascii=False, default=_plain).encode


@dataclass
class JsonRows:
    """The rows of a JSON file or of a reader: `path` has one object per line, or if `is_cells` the cells as CSV.

    Fields of nested objects are columns such as `who.name`, arrays of objects are JSON texts. `decimals` are the types
    of the columns whose numbers a double would round.
    """

    path: Path
    is_cells: bool = False
    warnings: list[Warning] = field(default_factory=list)
    decimals: dict[str, str] = field(default_factory=dict)


def read_json(path: Path, folder: Path, loading: Loading, *, is_document: bool) -> JsonRows:
    """Write the rows of the JSON file at `path` into `folder`.

    If `is_document`, the rows of a single object are the objects of the largest array in it.

    Raises:
        FileUnreadable: The file is not JSON, or it is nested too deeply.
        FileNotLoaded: There are no rows.
    """
    found = JsonRows(folder / "rows.jsonl")
    with path.open(encoding=encoding_of(path)[0], errors="replace") as file:
        try:
            values = _Values(file, loading)
            rows = iter(values)
            first, second = next(rows, None), next(rows, None)
            is_single = second is None and not values.is_array
            if is_document and is_single and isinstance(first, dict) and (arrays := dict(_arrays(first, ""))):
                name = max(arrays, key=lambda name: len(arrays[name]))
                found.warnings.append(Warning("json_array", "", {"name": name[:_SHOWN]}))
                rows = iter(arrays[name])
            elif isinstance(first, list) and is_single:
                rows = iter(first)
            else:
                rows = chain((row for row in (first, second) if row is not None), rows)
            if isinstance(first, list) and isinstance(second, list):
                found.is_cells, found.path = True, folder / "rows.csv"
                _write_cells(rows, found.path)
            else:
                _write_rows(rows, found, loading)
        except RecursionError:
            raise FileUnreadable(loading.file, Message("nested_too_deeply")) from None
    return found


def read_rows(reader: Reader, path: Path, folder: Path, loading: Loading) -> JsonRows:
    """Write the rows that `reader` yields of the file at `path` into `folder`.

    Raises:
        FileUnreadable: The reader says that the file is damaged, or yields a value of a type that it must not.
        FileNotLoaded: There are no rows.
    """
    found = JsonRows(folder / "rows.jsonl")

    def rows() -> Iterator[Mapping[str, Any]]:
        for row in reader(path):
            loading.cancellation.check()
            yield row

    try:
        _write_rows(rows(), found, loading)
    except ValueError as error:
        raise FileUnreadable(loading.file, message_of(error)) from None
    return found


class _Values:
    """The values of a file: the items of an array, or else the values one after the other."""

    def __init__(self, file: IO[str], loading: Loading) -> None:
        self._file, self._loading = file, loading
        self._decoder = json.JSONDecoder(
            parse_int=lambda text: int(text) if len(text) <= _MAX_DIGITS else text,
            parse_float=_decimal,
            parse_constant=_constant,
        )
        self._text, self._at, self._line = "", 0, 1
        self.is_array = False
        self._max = (loading.limits.memory_mb << 20) // _MEMORY_SHARE

    def __iter__(self) -> Iterator[Any]:
        self.is_array, is_open = self._is_array(), False
        while mark := self._next_mark():
            if self.is_array and (mark == "," or mark == ("]" if is_open else "[")):
                self._at += 1
                is_open = is_open if mark == "," else not is_open
                continue
            yield self._value()
        if is_open:
            raise self._not_json(self._line, "']' is missing at the end")

    def _is_array(self) -> bool:
        """Return whether the file begins with an array of objects or of arrays."""
        if self._next_mark() != "[":
            return False
        start, line = self._at, self._line
        self._at += 1
        mark = self._next_mark()
        self._at, self._line = start, line
        return mark in ("{", "[", "]")

    def _next_mark(self) -> str:
        """Go to the next character that is no white space and return it; empty at the end."""
        while True:
            end = _BLANK.match(self._text, self._at).end()  # type: ignore[union-attr]
            self._line += self._text.count("\n", self._at, end)
            self._at = end
            if end < len(self._text) or not self._read():
                return self._text[end : end + 1]

    def _read(self) -> bool:
        """Read more; return whether there was any."""
        more = self._file.read(max(_CHUNK, len(self._text) - self._at))
        self._text = self._text[self._at :] + more
        self._at = 0
        return bool(more)

    def _value(self) -> Any:
        self._loading.cancellation.check()
        while True:
            try:
                value, end = self._decoder.raw_decode(self._text, self._at)
            except json.JSONDecodeError as error:
                line = self._line + self._text.count("\n", self._at, error.pos)
                if len(self._text) - self._at > self._max:
                    raise self._loading.too_large("megabytes in memory") from None
                if self._read():
                    continue
                raise self._not_json(line, error.msg) from error
            # A number may go on beyond what was read.
            if end < len(self._text) or not self._read():
                self._line += self._text.count("\n", self._at, end)
                self._at = end
                return value

    def _not_json(self, line: int, error: str) -> FileUnreadable:
        return FileUnreadable(self._loading.file, Message("line_not_json", line=line, error=error))


def _decimal(text: str) -> float | Decimal:
    value = float(text)
    if len(text) <= _EXACT_DIGITS or Decimal(text) == Decimal(repr(value)):
        return value
    return Decimal(text)


def _constant(text: str) -> float | None:
    return None if text == "NaN" else float(text)


def _arrays(value: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, list[Any]]]:
    """Yield the arrays of objects in an object, by their path."""
    for name, item in value.items():
        if isinstance(item, dict):
            yield from _arrays(item, f"{prefix}{name}.")
        elif isinstance(item, list) and item and all(isinstance(each, dict) for each in item):
            yield prefix + name, item


def _write_cells(rows: Iterator[Any], target: Path) -> None:
    with target.open("w", encoding="utf-8", errors="replace", newline="") as file:
        writer = csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_ALL)
        for row in rows:
            cells = row if isinstance(row, list) else [row]
            writer.writerow(["" if cell is None else cell if isinstance(cell, str) else _text(cell) for cell in cells])


def _write_rows(rows: Iterator[Any], found: JsonRows, loading: Loading) -> None:
    """Write one flat object per line, and note the types of the columns with numbers that a double would round."""
    names: dict[str, str] = {}
    rounded: set[str] = set()
    # A JSON text may have half of a pair of surrogates.
    with found.path.open("w", encoding="utf-8", errors="replace") as file:
        for number, row in enumerate(rows, 1):
            if number > loading.limits.max_rows:
                raise loading.too_large("rows")
            flat: dict[str, Any] = {}
            has_decimals = False
            for name, value in _flat(row if isinstance(row, dict) else {"value": row}, ""):
                if name not in names:
                    names[name] = unused_name(name, names.values())
                    if len(names) > loading.limits.max_columns:
                        raise loading.too_large("columns")
                flat[names[name]] = value
                is_decimal = isinstance(value, Decimal)
                has_decimals = has_decimals or is_decimal
                if is_decimal or (isinstance(value, int) and abs(value) > _EXACT):
                    rounded.add(names[name])
            file.write(f"{_text(flat) if has_decimals else _encode(flat)}\n")
    if not names:
        raise FileNotLoaded("file_empty", file=loading.file, where="")
    found.decimals = _decimals(found.path, rounded) if rounded else {}


def _flat(row: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    """Yield the names and values of a row. A nested object has no value of its own."""
    for key, value in row.items():
        name = prefix + (key or "-")
        if isinstance(value, dict):
            yield from _flat(value, f"{name}.")
        elif isinstance(value, list) and any(isinstance(item, (dict, list)) for item in value):
            yield name, _text(value)
        else:
            yield name, value.isoformat() if isinstance(value, date | time) else value


def _text(value: Any) -> str:
    """Return `value` as JSON, with decimals as they are."""
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, list):
        return f"[{', '.join(map(_text, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_encode(key)}: {_text(item)}' for key, item in value.items())}}}"
    return _encode(value)


def _decimals(path: Path, names: set[str]) -> dict[str, str]:
    """Return the DECIMAL type of each column that fits into 38 digits."""
    digits: dict[str, list[int]] = {name: [0, 0] for name in names}
    with path.open(encoding="utf-8") as file:
        for line in file:
            row = json.loads(line, parse_float=Decimal, parse_int=Decimal)
            for name in names & row.keys():
                value = row[name]
                if isinstance(value, Decimal) and value.is_finite():
                    exponent = value.as_tuple().exponent
                    before, after = digits[name]
                    digits[name] = [max(before, value.adjusted() + 1), max(after, -int(exponent))]
    return {name: f"DECIMAL(38, {after})" for name, (before, after) in digits.items() if before + after <= _MAX_DIGITS}
