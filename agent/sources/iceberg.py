"""Views over Iceberg tables. The package `pyiceberg` reads the metadata, DuckDB the Parquet files that it names."""

import io
import re
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from operator import itemgetter
from typing import TYPE_CHECKING

from datasphinx.agent.errors import DatasphinxError, DriverMissing, SourceFilesUnreadable, SourceNotFound
from datasphinx.agent.messages import Message, message_of
from datasphinx.agent.sources.storage import Folder
from datasphinx.agent.sql.view_files import S3, StoredFile, lake_select, quote_name, view_url

if TYPE_CHECKING:
    from pyiceberg.io import FileIO
    from pyiceberg.schema import Schema
    from pyiceberg.table import FileScanTask, Table
    from pyiceberg.types import IcebergType

_TYPES = {
    "boolean": "BOOLEAN", "int": "INTEGER", "long": "BIGINT", "float": "FLOAT", "double": "DOUBLE", "date": "DATE",
    "time": "TIME", "timestamp": "TIMESTAMP", "timestamptz": "TIMESTAMPTZ", "timestamp_ns": "TIMESTAMP_NS",
    "string": "VARCHAR", "uuid": "UUID", "binary": "BLOB",
}  # fmt: skip
_VERSION = re.compile(r"v?(\d+)[^/]*\.metadata\.json$")


def iceberg_view(name: str, path: str, folder: Folder) -> tuple[str, dict[str, StoredFile]]:
    """Return the SELECT of a view over the current state of an Iceberg table, and its files by their path in the view.

    The newest metadata file in the folder `metadata` is used. Columns are found by their field ids, so that renamed and
    added columns are read correctly.

    Raises:
        SourceNotFound: there is no Iceberg table.
        SourceFilesUnreadable: the metadata is damaged, or the table uses features that are not supported, such as
            delete files: its data files alone would return wrong rows.
        DriverMissing: the package is not installed.
    """
    if find_spec("pyiceberg") is None:
        raise DriverMissing("pyiceberg", "lakes")
    from pyiceberg.catalog.noop import NoopCatalog
    from pyiceberg.serializers import FromInputFile
    from pyiceberg.table import Table

    found = [(_VERSION.search(file.location), file) for file in folder.find("metadata/*.metadata.json")]
    versions = [(int(version[1]), file.modified, file) for version, file in found if version]
    if not versions:
        raise SourceNotFound(path, Message("no_iceberg_table"))
    newest = max(versions, key=itemgetter(0, 1))[2]
    try:
        # The FileIO of `load_file_io` may be a class that the metadata of the table names.
        files_of_table = _file_io(folder)
        content = FromInputFile.table_metadata(files_of_table.new_input(newest.location))
        table = Table(("table",), content, newest.location, files_of_table, NoopCatalog("files"))
        tasks = list(table.scan().plan_files())
    except DatasphinxError:
        raise
    except Exception as error:  # pyiceberg has no base class of its errors, and damaged files raise any
        reason = message_of(error) or type(error).__name__
        raise SourceFilesUnreadable(path, reason if isinstance(reason, Message) else reason.splitlines()[0]) from error
    if feature := _unsupported(table, tasks):
        raise SourceFilesUnreadable(path, Message("iceberg_feature", feature=feature))
    fields = table.schema().fields
    types = {field.name: _duckdb_type(path, field.field_type) for field in fields}
    files = {}
    for number, task in enumerate(tasks):
        location = _location(task.file.file_path)
        if not folder.contains(location):
            raise SourceFilesUnreadable(path, Message("file_outside_table", file=location))
        # Data files never change.
        files[f"{number}-{location.rpartition('/')[2]}"] = StoredFile(location, task.file.file_size_in_bytes, 0.0)
    select = lake_select(
        view_url(name, "**") if files else None,
        {field.field_id: (field.name, types[field.name]) for field in fields},
        {column: quote_name(column) for column in types},
        types,
    )
    return select, files


def _unsupported(table: "Table", tasks: "Sequence[FileScanTask]") -> Message | None:
    """Return the first feature of the table that is not supported; None if all are."""
    if any(task.delete_files for task in tasks):
        return Message("iceberg_delete_files")
    if any(task.file.file_format.value.lower() != "parquet" for task in tasks):
        return Message("iceberg_other_files")
    if "schema.name-mapping.default" in table.metadata.properties:
        return Message("iceberg_name_mapping")
    return Message("iceberg_nested_renames") if _renames_inside(table.metadata.schemas) else None


def _location(uri: str) -> str:
    """Return the local path or `s3://` URL of a URI in the metadata."""
    scheme, separator, rest = uri.partition("://")
    if separator and scheme in ("s3a", "s3n"):
        return S3 + rest
    return rest if separator and scheme == "file" else uri.removeprefix("file:")


def _renames_inside(schemas: "Iterable[Schema]") -> bool:
    """Return whether a nested field had another name in an earlier schema: DuckDB finds nested fields by name."""
    names: dict[int, set[str]] = {}
    for schema in schemas:
        for field_id in schema.field_ids:
            column = schema.find_column_name(field_id) or ""
            if "." in column:
                names.setdefault(field_id, set()).add(column.rpartition(".")[2])
    return any(len(each) > 1 for each in names.values())


def _duckdb_type(path: str, kind: "IcebergType") -> str:
    """Return the type in DuckDB for a type of Iceberg."""
    from pyiceberg.types import DecimalType, FixedType, ListType, MapType, StructType

    if isinstance(kind, ListType):
        return f"{_duckdb_type(path, kind.element_type)}[]"
    if isinstance(kind, MapType):
        return f"MAP({_duckdb_type(path, kind.key_type)}, {_duckdb_type(path, kind.value_type)})"
    if isinstance(kind, StructType):
        fields = [f"{quote_name(field.name)} {_duckdb_type(path, field.field_type)}" for field in kind.fields]
        return f"STRUCT({', '.join(fields)})"
    if isinstance(kind, DecimalType):
        return f"DECIMAL({kind.precision}, {kind.scale})"
    if isinstance(kind, FixedType):
        return "BLOB"
    if str(kind) not in _TYPES:
        raise SourceFilesUnreadable(path, Message("type_not_supported", type=str(kind)))
    return _TYPES[str(kind)]


def _file_io(folder: Folder) -> "FileIO":
    """Return access for `pyiceberg` to the files of the table, for reading only."""
    from pyiceberg.io import FileIO, InputFile, InputStream, OutputFile

    class Content(InputFile):
        def __init__(self, location: str) -> None:
            super().__init__(location)
            self._content = folder.read(location)

        def __len__(self) -> int:
            return len(self._content)

        def exists(self) -> bool:
            return True

        def open(self, seekable: bool = True) -> InputStream:
            return io.BytesIO(self._content)

    class Files(FileIO):
        def new_input(self, location: str) -> InputFile:
            if not folder.contains(_location(location)):
                raise ValueError(Message("file_outside_table", file=location))
            return Content(_location(location))

        def new_output(self, location: str) -> OutputFile:
            raise PermissionError("files are opened for reading only")

        def delete(self, location: str | InputFile | OutputFile) -> None:
            raise PermissionError("files are opened for reading only")

    return Files()
