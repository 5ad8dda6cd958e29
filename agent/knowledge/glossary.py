"""Import of a glossary: a CSV file with one entry in each row.

Columns, in any order and case; all but `name` are optional: `name`, `kind` (term, metric, table or column),
`definition`, `synonyms`, `tables`, `condition`, `expression`, `date_column`, `unit`, `dimensions`, `additivity`,
`labels`. Several values in a cell are separated by `;` or, where a semicolon separates the cells, by `|`. A row without
a kind is a column if it has labels, a metric if its expression has an aggregate function, and otherwise a term.
"""

import csv
import io
from collections.abc import Mapping
from typing import Any

from datasphinx.agent.knowledge.imports import Imported, ImportedEntry, LeftOut, unique_names
from datasphinx.agent.knowledge.references import Unresolved, has_aggregate, parse_expression

_FIELDS: Mapping[str, Mapping[str, str]] = {
    "term": {"definition": "definition", "condition": "condition", "expression": "expression"},
    "metric": {
        "definition": "definition", "condition": "filters", "expression": "expression", "date_column": "date_column",
        "unit": "unit", "additivity": "additivity",
    },
    "table": {"definition": "description"},
    "column": {"definition": "description", "unit": "unit"},
}  # fmt: skip
"""By kind, the columns with one value, and the fields of the entry."""
_LISTS: Mapping[str, tuple[str, ...]] = {
    "term": ("synonyms", "tables"),
    "metric": ("synonyms", "tables", "dimensions"),
    "table": ("synonyms",),
    "column": ("synonyms", "labels"),
}
"""By kind, the columns with several values."""
COLUMNS = (
    "name", "kind", "definition", "synonyms", "tables", "condition", "expression", "date_column", "unit", "dimensions",
    "additivity", "labels",
)  # fmt: skip


def read_glossary(text: str, name: str, dialect: str) -> Imported:
    """Return the entries of a glossary with the file name `name`, whose SQL is written in `dialect`.

    Raises:
        Unresolved: it has no column `name`.
    """
    imported = Imported("csv", name)
    delimiter = max(",;\t", key=text.partition("\n")[0].count)
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    columns = [title.strip().lower() for title in next(rows, [])]
    if "name" not in columns:
        raise Unresolved("its first line has no column `name`", f"Possible columns: {', '.join(COLUMNS)}.")
    for column in columns:
        if column not in COLUMNS:
            imported.left_out.append(LeftOut(f"column {column}", "there is no such column in a glossary"))
    separator = "|" if delimiter == ";" else ";"
    for cells in rows:
        row = {column: cell.strip() for column, cell in zip(columns, cells, strict=False) if cell.strip()}
        if row:
            row.setdefault("kind", _kind_of(row, dialect))
            _read_row(imported, row, f"line {rows.line_num}", separator)
    return imported


def _read_row(imported: Imported, row: Mapping[str, str], subject: str, separator: str) -> None:
    name = row.get("name", "")
    kind: Any = row["kind"].lower()
    if not name or kind not in _FIELDS:
        reason = f"there is no kind `{kind}`; it is {', '.join(_FIELDS)}" if name else "it has no name"
        imported.left_out.append(LeftOut(subject, reason))
        return
    body: dict[str, Any] = {field: row[column] for column, field in _FIELDS[kind].items() if column in row}
    for column in _LISTS[kind]:
        values = [value.strip() for value in row.get(column, "").split(separator) if value.strip()]
        if column == "labels":
            body |= {"labels": _labels(values)} if values else {}
        elif values:
            body[column] = unique_names(values, name)
    if kind == "term":
        # A term requires a definition.
        body.setdefault("definition", row.get("condition") or row.get("expression") or name)
    unused = [column for column in row if column in COLUMNS[2:] and column not in (*_FIELDS[kind], *_LISTS[kind])]
    imported.left_out += [LeftOut(subject, f"a {kind} has no `{column}`") for column in unused]
    imported.entries.append(ImportedEntry(kind, name, body, f"{imported.name}, {subject}"))


def _kind_of(row: Mapping[str, str], dialect: str) -> str:
    if "labels" in row:
        return "column"
    try:
        is_metric = "expression" in row and has_aggregate(parse_expression(row["expression"], dialect))
    except Unresolved:
        is_metric = False
    return "metric" if is_metric else "term"


def _labels(values: list[str]) -> dict[str, list[str]]:
    labels: dict[str, list[str]] = {}
    for value in values:
        code, _, label = value.partition("=")
        labels.setdefault(code.strip(), []).append(label.strip() or code.strip())
    return labels
