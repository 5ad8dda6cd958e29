"""The JSON Schema of query specs, for whoever writes them, and for the grammar that holds a model to one dataset."""

from collections.abc import Sequence
from typing import Any

from agent.catalog.schema import Column, Table
from agent.queryspec.outputs import TIMES
from agent.queryspec.spec import QuerySpec

Json = dict[str, Any]

_DRAFT = "https://json-schema.org/draft/2020-12/schema"


def json_schema() -> Json:
    """Return the JSON Schema (draft 2020-12) of every query spec."""
    schema = _untitled(QuerySpec.model_json_schema(by_alias=True))
    limit = schema["properties"]["limit"]
    schema["properties"]["limit"] = next(kind for kind in limit["anyOf"] if kind.get("type") == "integer")
    return {"$schema": _DRAFT, "title": "QuerySpec", **schema}


def schema_for(table: Table) -> Json:
    """Return the schema of specs over `table` alone: a `col` is one of its columns, there is nothing to join.

    Periods are offered of dates alone, and `contains` of text. An aggregation takes a column, not what is derived of
    the rows, and names made up in the spec stay free.
    """
    schema = json_schema()
    definitions = schema["$defs"]
    del schema["properties"]["joins"], definitions["Join"]
    for name, columns in _columns_of(table.columns).items():
        if columns:
            definitions[name]["properties"]["col"] = {"enum": columns, "type": "string"}
        else:
            del definitions[name]
    _offer(schema, "filters", definitions)
    _offer(schema, "group_by", definitions)
    names = next(kind for kind in schema["properties"]["group_by"]["items"]["oneOf"] if "$ref" not in kind)
    names.clear()
    names.update(enum=list(table.column_names), type="string")
    return schema


def _columns_of(columns: Sequence[Column]) -> dict[str, list[str]]:
    """Return the columns that each part of a spec may name."""
    every = [column.name for column in columns]
    times = [column.name for column in columns if column.type_class in TIMES]
    texts = [column.name for column in columns if column.type_class == "text"]
    parts = {"Compared": every, "In": every, "Between": every, "IsNull": every, "Contains": texts}
    return {**parts, "Bucket": times, "Aggregation": ["*", *every]}


def _offer(schema: Json, part: str, definitions: Json) -> None:
    """Leave the kinds out of a list that are not defined any more."""
    items = schema["properties"][part]["items"]
    items.pop("discriminator", None)
    items["oneOf"] = [
        kind for kind in items["oneOf"] if "$ref" not in kind or kind["$ref"].rpartition("/")[2] in definitions
    ]


def _untitled(node: Any) -> Any:
    """Return `node` without the titles that pydantic makes of the names of fields."""
    if isinstance(node, list):
        return [_untitled(item) for item in node]
    if not isinstance(node, dict):
        return node
    return {name: _untitled(item) for name, item in node.items() if name != "title" or not isinstance(item, str)}
