"""Views over Delta tables. The package `deltalake` reads the log, DuckDB the Parquet files that it names."""

import json
import re
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any
from urllib.parse import quote, unquote

from datasphinx.agent.errors import DriverMissing, SourceFilesUnreadable, SourceNotFound
from datasphinx.agent.messages import Message
from datasphinx.agent.sources.storage import Folder, storage_error
from datasphinx.agent.sql.view_files import StoredFile, lake_select, quote_name, view_url

_TYPES = {
    "string": "VARCHAR", "long": "BIGINT", "integer": "INTEGER", "short": "SMALLINT", "byte": "TINYINT",
    "float": "FLOAT", "double": "DOUBLE", "boolean": "BOOLEAN", "binary": "BLOB", "date": "DATE",
    "timestamp": "TIMESTAMPTZ", "timestamp_ntz": "TIMESTAMP",
}  # fmt: skip
_ACTION = ("path", "size_bytes", "modification_time", "partition")
_NULL = "__HIVE_DEFAULT_PARTITION__"


def delta_view(name: str, path: str, folder: Folder) -> tuple[str, dict[str, StoredFile]]:
    """Return the SELECT of a view over the current version of a Delta table, and its files by their path in the view.

    The paths contain the partition values of the log, so that DuckDB skips the files that a condition excludes.

    Raises:
        SourceNotFound: there is no Delta table.
        SourceFilesUnreadable: the log is damaged, or the table uses deletion vectors or column mapping of nested
            fields, which are not supported: its data files alone would return wrong rows.
        DriverMissing: the package is not installed.
    """
    if find_spec("deltalake") is None:
        raise DriverMissing("deltalake", "lakes")
    from deltalake import DeltaTable
    from deltalake.exceptions import TableNotFoundError

    try:
        table = DeltaTable(folder.location, storage_options=dict(folder.storage))
        fields = json.loads(table.schema().to_json())["fields"]
        partitions = table.metadata().partition_columns
        has_deletions = any(batch.num_rows for batch in table.deletion_vectors())
        actions = table.get_add_actions()
        columns = {column: actions.column(column).to_pylist() for column in _ACTION[: 4 if partitions else 3]}
    except TableNotFoundError as error:
        raise SourceNotFound(path, Message("no_delta_table")) from error
    except Exception as error:  # deltalake raises OSError, ValueError, DeltaError and errors of its Rust code
        raise storage_error(path, error) from error
    if has_deletions:
        raise SourceFilesUnreadable(path, Message("delta_deletion_vectors"))
    if any(_renames_inside(field["type"]) for field in fields):
        raise SourceFilesUnreadable(path, Message("delta_nested_mapping"))
    types = {field["name"]: _duckdb_type(path, field["type"]) for field in fields}
    files = {}
    for number, row in enumerate(zip(*columns.values(), strict=True)):
        location = unquote(row[0])
        if "://" in location or location.startswith("/") or not folder.contains(f"{folder.location}/{location}"):
            raise SourceFilesUnreadable(path, Message("file_outside_table", file=location))
        parts = []
        for column in partitions:
            value = row[3][column]
            text = _NULL if value is None or value == "" else quote(str(value), safe="")
            parts.append(f"{quote(column, safe='')}={text}")
        file = StoredFile(f"{folder.location}/{location}", row[1], row[2] / 1000)
        files["/".join([*parts, f"{number}-{location.rpartition('/')[2]}"])] = file
    # DuckDB evaluates the expression of a partition column for each file before it reads any.
    expressions = {}
    for column in partitions:
        pattern = f"/{re.escape(quote(column, safe=''))}=([^/]*)/"
        value = f"url_decode(regexp_extract(filename, '{pattern}', 1))"
        expressions[column] = f"nullif({value}, '{_NULL}')::{types[column]}"
    select = lake_select(
        view_url(name, "**") if files else None,
        {
            _stored_name(field): (field["name"], types[field["name"]])
            for field in fields
            if field["name"] not in expressions
        },
        {column: expressions.get(column, quote_name(column)) for column in types},
        types,
    )
    return select, files


def _stored_name(field: Mapping[str, Any]) -> str:
    """Return the name of a column in the Parquet files, which differs from its name if columns are mapped."""
    return str(field["metadata"].get("delta.columnMapping.physicalName", field["name"]))


def _renames_inside(kind: str | Mapping[str, Any]) -> bool:
    """Return whether a nested field of a type has another name in the Parquet files."""
    if isinstance(kind, str):
        return False
    inner = [kind[part] for part in ("elementType", "keyType", "valueType") if part in kind]
    fields = kind.get("fields", ())
    return any(_stored_name(field) != field["name"] for field in fields) or any(
        map(_renames_inside, [*inner, *(field["type"] for field in fields)])
    )


def _duckdb_type(path: str, kind: str | Mapping[str, Any]) -> str:
    """Return the type in DuckDB for a type of the Delta protocol."""
    if isinstance(kind, str):
        if kind.startswith("decimal("):
            return kind.upper()
        if kind not in _TYPES:
            raise SourceFilesUnreadable(path, Message("type_not_supported", type=kind))
        return _TYPES[kind]
    if kind["type"] == "array":
        return f"{_duckdb_type(path, kind['elementType'])}[]"
    if kind["type"] == "map":
        return f"MAP({_duckdb_type(path, kind['keyType'])}, {_duckdb_type(path, kind['valueType'])})"
    fields = [f"{quote_name(field['name'])} {_duckdb_type(path, field['type'])}" for field in kind["fields"]]
    return f"STRUCT({', '.join(fields)})"
