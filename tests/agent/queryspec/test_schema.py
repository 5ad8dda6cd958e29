"""The published schema accepts valid specs, and the schema of one dataset only its columns."""

import json
from typing import Any

from datasphinx.agent.queryspec.schema import json_schema, schema_for
from datasphinx.agent.schema.catalog import Column, Table

TABLE = Table("t", (Column("账号", "TEXT"), Column("月份", "DATE"), Column("退货数量", "INTEGER")))


def definition(schema: dict[str, Any], name: str) -> dict[str, Any]:
    return schema["$defs"][name]["properties"]


def test_nothing_beyond_the_schema_is_allowed() -> None:
    schema = json_schema()

    parts = [schema, *(part for name, part in schema["$defs"].items() if name != "Filter")]
    assert all(part["additionalProperties"] is False for part in parts)
    assert list(schema["properties"]) == [
        "from", "joins", "filters", "group_by", "aggregations", "derived", "sort", "limit_per_group", "limit",
    ]  # fmt: skip
    assert schema["properties"]["limit"] == {"maximum": 10_000, "minimum": 1, "type": "integer"}
    assert definition(schema, "Compared")["value"]["type"] == ["string", "number", "boolean"]


def test_columns_of_one_dataset() -> None:
    schema = schema_for(TABLE)

    assert definition(schema, "Compared")["col"]["enum"] == ["账号", "月份", "退货数量"]
    assert definition(schema, "Contains")["col"]["enum"] == ["账号"]
    assert definition(schema, "Bucket")["col"]["enum"] == ["月份"]
    assert definition(schema, "Aggregation")["col"]["enum"] == ["*", "账号", "月份", "退货数量"]
    assert {"enum": ["账号", "月份", "退货数量"], "type": "string"} in schema["properties"]["group_by"]["items"][
        "oneOf"
    ]
    assert "joins" not in schema["properties"] and "Join" not in schema["$defs"]


def test_what_no_column_can_do_is_not_offered() -> None:
    schema = schema_for(Table("t", (Column("n", "INTEGER"),)))

    assert not {"Bucket", "Contains"} & set(schema["$defs"])
    assert "Bucket" not in json.dumps(schema) and "Contains" not in json.dumps(schema)


def test_the_schema_of_one_dataset_leaves_the_published_one_alone() -> None:
    before = json.dumps(json_schema())
    schema_for(TABLE)

    assert json.dumps(json_schema()) == before
