"""The JSON Schema of query specs, for clients and for the grammar that restricts a model to one dataset."""

from collections.abc import Sequence
from typing import Any

from datasphinx.agent.queryspec.spec import OPERATORS, QuerySpec
from datasphinx.agent.schema.catalog import TIMES, Column, Table

Json = dict[str, Any]

_DRAFT = "https://json-schema.org/draft/2020-12/schema"


def json_schema() -> Json:
    """Return the JSON Schema (draft 2020-12) of query specs."""
    schema = _without_titles(QuerySpec.model_json_schema(by_alias=True))
    for fields in (schema["properties"], schema["$defs"]["Aggregation"]["properties"]):
        fields.update({name: _without_null(field) for name, field in fields.items()})
    return {"$schema": _DRAFT, "title": "QuerySpec", **schema}


def schema_for(table: Table) -> Json:
    """Return the schema of specs over `table` alone: a `col` is one of its columns.

    There are no joins, other sources and rows per group.

    Only date columns have periods, and only text columns `contains`. An aggregation takes a column of the table, not a
    derived one. New names in the spec are unrestricted.
    """
    schema = json_schema()
    definitions = schema["$defs"]
    for part in ("from", "joins", "limit_per_group"):
        del schema["properties"][part]
    for kind in ("Union", "UnionPart", "Join", "RowsPerGroup"):
        del definitions[kind]
    for name, columns in _columns_of(table.columns).items():
        if columns:
            definitions[name]["properties"]["col"] = {"enum": columns, "type": "string"}
        else:
            del definitions[name]
    _remove_undefined(schema, definitions)
    names = next(kind for kind in schema["properties"]["group_by"]["items"]["oneOf"] if "$ref" not in kind)
    names.clear()
    names.update(enum=list(table.column_names), type="string")
    return schema


def with_flat_filters(schema: Json) -> Json:
    """Return `schema`, which has the definitions of `QuerySpec`, with one definition for all kinds of filters.

    A model that calls a tool is shown this one, which needs a third of the tokens. It allows more than the published
    one, by which specs are read.
    """
    definitions = {**schema["$defs"]}
    kinds = [definitions.pop(kind["$ref"].rpartition("/")[2]) for kind in definitions["Filter"]["oneOf"]]
    fields = {name: field for kind in kinds for name, field in kind["properties"].items()}
    fields |= {"op": {"enum": OPERATORS, "type": "string"}, "value": {"type": ["string", "number", "boolean", "array"]}}
    texts = "\n".join(kind["description"].replace("\n\n", " ") for kind in kinds)
    definitions["Filter"] = {"type": "object", "description": texts, "properties": fields}
    return {**schema, "$defs": definitions}


def _columns_of(columns: Sequence[Column]) -> dict[str, list[str]]:
    """Return the columns allowed in each part of a spec."""
    names = [column.name for column in columns]
    times = [column.name for column in columns if column.type_class in TIMES]
    texts = [column.name for column in columns if column.type_class == "text"]
    parts = {"Compared": names, "In": names, "Between": names, "IsNull": names, "Contains": texts, "Matches": texts}
    return {**parts, "Bucket": times, "Aggregation": ["*", *names]}


def _remove_undefined(node: Any, definitions: Json) -> None:
    """Remove references to undefined kinds from all lists of kinds in `node`."""
    for part in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        _remove_undefined(part, definitions)
    if isinstance(node, dict) and "oneOf" in node:
        node["oneOf"] = [
            kind for kind in node["oneOf"] if "$ref" not in kind or kind["$ref"].rpartition("/")[2] in definitions
        ]


def _without_null(field: Json) -> Json:
    """Return an optional field without null: it is left out instead."""
    kinds = [kind for kind in field.get("anyOf", ()) if kind.get("type") != "null"]
    return kinds[0] if len(kinds) == 1 else field


def _without_titles(node: Any) -> Any:
    """Return `node` without the titles that pydantic generates from field names."""
    if isinstance(node, list):
        return [_without_titles(item) for item in node]
    if not isinstance(node, dict):
        return node
    return {name: _without_titles(item) for name, item in node.items() if name != "title" or not isinstance(item, str)}
