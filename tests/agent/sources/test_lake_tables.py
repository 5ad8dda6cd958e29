"""Sources over Delta and Iceberg tables in local folders."""

import json
from contextlib import closing
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from datasphinx.agent.errors import SourceFilesUnreadable, SourceNotFound
from tests.lakes import open_files, rows

pytestmark = pytest.mark.integration

ORDERS = {
    "id": [1, 2, 3, 4],
    "region": ["north", "a b", None, "x/y=z"],
    "day": [date(2024, 1, 1), date(2024, 1, 2), date(2024, 1, 3), date(2024, 1, 4)],
    "amount": [1.5, 2.5, 3.5, 4.5],
}


def arrow(columns: dict[str, list[Any]]) -> Any:
    import pyarrow

    return pyarrow.table(columns)


@pytest.fixture
def delta(tmp_path: Path) -> Path:
    from deltalake import write_deltalake

    path = tmp_path / "orders"
    write_deltalake(str(path), arrow(ORDERS), partition_by=["region", "day"])
    return path


@pytest.fixture
def iceberg(tmp_path: Path) -> Any:
    from pyiceberg.catalog.memory import InMemoryCatalog

    catalog = InMemoryCatalog("test", warehouse=str(tmp_path / "warehouse"))
    catalog.create_namespace("shop")
    table = catalog.create_table("shop.orders", schema=arrow(ORDERS).schema)
    table.append(arrow(ORDERS))
    return table


def location(table: Any) -> str:
    return str(table.metadata.location).removeprefix("file://")


def newest_metadata(table: Any) -> Path:
    return max(Path(location(table), "metadata").glob("*.metadata.json"))


def plan_of(source: Any, sql: str) -> str:
    from datasphinx.agent.sql.read_only_files import close_views, open_views

    connection, _ = open_views(source.database.view_files)
    try:
        return str(connection.execute(f"EXPLAIN {sql}").fetchall()[0][1])
    finally:
        close_views(connection)


def test_a_delta_table_has_the_rows_of_its_current_version(delta: Path) -> None:
    from deltalake import DeltaTable, write_deltalake

    with closing(open_files([str(delta)])) as source:
        columns = [(column.name, column.type) for column in source.catalog.tables["orders"].columns]
        assert columns == [("id", "BIGINT"), ("region", "VARCHAR"), ("day", "DATE"), ("amount", "DOUBLE")]
        assert rows(source, "SELECT id, region, day FROM orders ORDER BY id") == [
            [1, "north", "2024-01-01"],
            [2, "a b", "2024-01-02"],
            [3, None, "2024-01-03"],
            [4, "x/y=z", "2024-01-04"],
        ]
        DeltaTable(str(delta)).delete("id < 3")
        write_deltalake(
            str(delta), arrow({"id": [9], "region": ["east"], "day": [None], "amount": [9.0]}), mode="append"
        )
        assert rows(source, "SELECT count(*) FROM orders") == [[4]]
        source.refresh()
        assert rows(source, "SELECT id, day FROM orders ORDER BY id") == [
            [3, "2024-01-03"],
            [4, "2024-01-04"],
            [9, None],
        ]


def test_delta_partitions_that_a_condition_excludes_are_not_read(delta: Path) -> None:
    with closing(open_files([str(delta)])) as source:
        assert "Scanning Files: 1/4" in plan_of(source, "SELECT sum(amount) FROM orders WHERE region = 'x/y=z'")
        assert "Scanning Files: 2/4" in plan_of(source, "SELECT sum(amount) FROM orders WHERE day >= DATE '2024-01-03'")
        assert rows(source, "SELECT id FROM orders WHERE day >= DATE '2024-01-03' AND region IS NULL") == [[3]]


def test_a_new_delta_column_is_null_in_older_files(delta: Path) -> None:
    from deltalake import write_deltalake

    added = arrow({"id": [5], "region": ["north"], "day": [date(2024, 1, 5)], "amount": [5.5], "note": ["new"]})
    write_deltalake(str(delta), added, mode="append", schema_mode="merge")
    with closing(open_files({"orders": {"path": str(delta), "format": "delta"}})) as source:
        assert rows(source, "SELECT id, note FROM orders WHERE region = 'north' ORDER BY id") == [[1, None], [5, "new"]]


def test_nested_and_decimal_columns_of_delta(tmp_path: Path) -> None:
    import pyarrow
    from deltalake import write_deltalake

    table = pyarrow.table(
        {
            "price": pyarrow.array([1], pyarrow.decimal128(10, 2)),
            "tags": [["a", "b"]],
            "place": [{"city": "Oslo", "zip": 150}],
        }
    )
    write_deltalake(str(tmp_path / "items"), table)
    with closing(open_files([str(tmp_path / "items")])) as source:
        types = [column.type for column in source.catalog.tables["items"].columns]
        assert types == ["DECIMAL(10,2)", "VARCHAR[]", "STRUCT(city VARCHAR, zip BIGINT)"]
        assert rows(source, "SELECT price, tags[1], place.city FROM items") == [[1.0, "a", "Oslo"]]


def test_an_empty_delta_table_has_columns(tmp_path: Path) -> None:
    from deltalake import DeltaTable
    from deltalake.schema import Field, PrimitiveType, Schema

    schema = Schema([Field("id", PrimitiveType("long"), nullable=True)])
    DeltaTable.create(str(tmp_path / "empty"), schema)
    with closing(open_files([str(tmp_path / "empty")])) as source:
        assert rows(source, "SELECT count(*) FROM empty") == [[0]]
        assert source.catalog.tables["empty"].columns[0].type == "BIGINT"


def change_log(delta: Path, kind: str, change: dict[str, Any]) -> None:
    """Change the actions of one kind in the first entry of the log."""
    log = delta / "_delta_log/00000000000000000000.json"
    actions = [json.loads(line) for line in log.read_text().splitlines()]
    for action in actions:
        if kind in action:
            action[kind] |= change
    log.write_text("\n".join(map(json.dumps, actions)))


def map_columns(delta: Path) -> None:
    """Rename all columns and fields of the table, whose files keep the former names."""

    def renamed(field: dict[str, Any], number: int) -> dict[str, Any]:
        if isinstance(field["type"], dict):
            field["type"]["fields"] = [renamed(inner, number * 10) for inner in field["type"]["fields"]]
        mapping = {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": field["name"]}
        return {**field, "name": f"new_{field['name']}", "metadata": mapping}

    log = delta / "_delta_log/00000000000000000000.json"
    actions = [json.loads(line) for line in log.read_text().splitlines()]
    for action in actions:
        if "protocol" in action:
            action["protocol"] |= {"minReaderVersion": 2, "minWriterVersion": 5}
        if "metaData" in action:
            schema = json.loads(action["metaData"]["schemaString"])
            schema["fields"] = [renamed(field, number) for number, field in enumerate(schema["fields"], 1)]
            action["metaData"] |= {
                "schemaString": json.dumps(schema),
                "configuration": {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "100"},
                "partitionColumns": [f"new_{column}" for column in action["metaData"]["partitionColumns"]],
            }
    log.write_text("\n".join(map(json.dumps, actions)))


def test_renamed_delta_columns(delta: Path) -> None:
    map_columns(delta)
    with closing(open_files([str(delta)])) as source:
        assert rows(source, "SELECT new_id, new_amount FROM orders WHERE new_region = 'north'") == [[1, 1.5]]


def test_renamed_fields_inside_of_a_delta_column_are_refused(tmp_path: Path) -> None:
    from deltalake import write_deltalake

    write_deltalake(str(tmp_path / "items"), arrow({"place": [{"city": "Oslo"}]}))
    map_columns(tmp_path / "items")
    with pytest.raises(SourceFilesUnreadable, match="inside of a column"):
        open_files([str(tmp_path / "items")])


@pytest.mark.parametrize("path", ["../../secret.parquet", "/etc/secret.parquet", "file:///etc/secret.parquet"])
def test_a_delta_log_names_no_files_outside_of_its_folder(delta: Path, path: str) -> None:
    change_log(delta, "add", {"path": path})
    with pytest.raises(SourceFilesUnreadable):
        open_files([str(delta)])


def test_a_damaged_delta_log(delta: Path) -> None:
    (delta / "_delta_log/00000000000000000000.json").write_text("no log")
    with pytest.raises(SourceFilesUnreadable):
        open_files([str(delta)])


def test_folders_without_a_table(tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    for format in ("delta", "iceberg"):
        with pytest.raises(SourceNotFound):
            open_files({"orders": {"path": str(tmp_path / "plain"), "format": format}})


def test_an_iceberg_table_has_the_rows_of_its_current_snapshot(iceberg: Any) -> None:
    with closing(open_files([location(iceberg)])) as source:
        assert [(column.name, column.type) for column in source.catalog.tables["orders"].columns] == [
            ("id", "BIGINT"), ("region", "VARCHAR"), ("day", "DATE"), ("amount", "DOUBLE"),
        ]  # fmt: skip
        assert rows(source, "SELECT sum(amount), count(region) FROM orders") == [[12.0, 3]]
        iceberg.delete("id < 3")
        iceberg.append(
            arrow({"id": [9], "region": ["east"], "day": [None], "amount": [9.0]}).cast(iceberg.schema().as_arrow())
        )
        assert rows(source, "SELECT count(*) FROM orders") == [[4]]
        source.refresh()
        assert rows(source, "SELECT id FROM orders ORDER BY id") == [[3], [4], [9]]


def test_renamed_and_new_iceberg_columns(iceberg: Any) -> None:
    from pyiceberg.types import StringType

    with iceberg.update_schema() as update:
        update.rename_column("amount", "total")
        update.add_column("note", StringType())
        update.delete_column("day")
    iceberg.append(arrow({"id": [5], "region": ["east"], "total": [5.5], "note": ["new"]}))
    with closing(open_files([location(iceberg)])) as source:
        assert rows(source, "SELECT id, total, note FROM orders WHERE id IN (4, 5) ORDER BY id") == [
            [4, 4.5, None],
            [5, 5.5, "new"],
        ]


def test_an_empty_iceberg_table_has_columns(iceberg: Any) -> None:
    iceberg.delete("id > 0")
    with closing(open_files([location(iceberg)])) as source:
        assert rows(source, "SELECT count(*), sum(amount) FROM orders") == [[0, None]]


def test_an_iceberg_table_does_not_choose_the_code_that_reads_it(iceberg: Any) -> None:
    newest = newest_metadata(iceberg)
    metadata = json.loads(newest.read_text())
    metadata["properties"] |= {"py-io-impl": "tests.none.FileIO", "s3.endpoint": "http://127.0.0.1:1"}
    newest.write_text(json.dumps(metadata))
    with closing(open_files([location(iceberg)])) as source:
        assert rows(source, "SELECT count(*) FROM orders") == [[4]]


def test_iceberg_features_that_change_the_rows_are_refused(iceberg: Any) -> None:
    with iceberg.transaction() as transaction:
        transaction.set_properties({"schema.name-mapping.default": "[]"})
    with pytest.raises(SourceFilesUnreadable, match="name mapping"):
        open_files([location(iceberg)])


def test_iceberg_metadata_names_no_files_outside_of_its_folder(iceberg: Any, tmp_path: Path) -> None:
    import shutil

    shutil.copytree(location(iceberg), tmp_path / "moved")
    with pytest.raises(SourceFilesUnreadable, match="outside of its folder"):
        open_files([str(tmp_path / "moved")])


def test_damaged_iceberg_metadata(iceberg: Any) -> None:
    newest_metadata(iceberg).write_text("{}")
    with pytest.raises(SourceFilesUnreadable):
        open_files([location(iceberg)])
