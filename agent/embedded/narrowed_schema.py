"""The JSON Schema that constrains query specs of the embedded model, narrowed to a dataset and a question."""

import re
from collections.abc import Iterator
from itertools import product
from typing import Any

from datasphinx.agent.embedded.shape import Shape
from datasphinx.agent.queryspec.schema import schema_for
from datasphinx.agent.queryspec.spec import MAX_NAME, Bucket
from datasphinx.agent.schema.catalog import Table

Json = dict[str, Any]

_FIRST = ("filters", "group_by", "aggregations")
_TRAINED = {"Filter", "Compared", "In", "Between", "Contains", "IsNull", "Bucket", "Aggregation", "Sort"}
_TRAINED_AGGREGATIONS = {"sum", "avg", "min", "max", "count", "nunique"}
_MAX_AGGREGATIONS = 60
_SIZES = {"minLength", "maxLength", "maxItems", "minimum", "maximum"}


def narrowed_schema(table: Table, shape: Shape, *, filters: bool = False, values: bool = False) -> Json:
    """Return the schema of the specs over `table` that agree with `shape` and that the model is trained to write.

    Parts that `shape` does not determine are not constrained. With `filters`, at least one filter is required. With
    `values`, the question refers to stored values, with which filters compare for equality besides other comparisons.

    llama.cpp writes optional parts last, but the model is trained on one order of parts. Therefore the schema has one
    alternative for each combination of the first parts.
    """
    schema: Json = _without_sizes(schema_for(table))
    _keep_trained(schema)
    definitions, parts = schema["$defs"], schema.pop("properties")
    del parts["derived"]
    if filters and shape.bounds:
        operators = [*shape.bounds, *(("=", "!=") if values else ())]
        definitions["Compared"]["properties"]["op"] = {"enum": operators, "type": "string"}
    if shape.group_by:
        parts["group_by"] = {"type": "array", "prefixItems": [_group(group) for group in shape.group_by]}
    definitions["Aggregation"] = _aggregation_schema(table, shape, definitions["Aggregation"])
    if shape.descending is not None:
        definitions["Sort"]["properties"]["desc"] = {"const": shape.descending}
        definitions["Sort"]["required"] = ["by", "desc"]
    if shape.limit:
        parts["limit"] = {"const": shape.limit}
    for name in ("filters", "group_by", "aggregations", "sort"):
        parts[name].setdefault("minItems", 1)
    return {"oneOf": list(_alternatives(parts, shape, filters=filters)), "$defs": definitions}


def _keep_trained(schema: Json) -> None:
    """Remove the filters, aggregations and options that the model is not trained to write."""
    definitions = schema["$defs"]
    for name in definitions.keys() - _TRAINED:
        del definitions[name]
    kinds = definitions["Filter"]["oneOf"]
    definitions["Filter"]["oneOf"] = [kind for kind in kinds if kind["$ref"].rpartition("/")[2] in definitions]
    for name, op in (("In", "in"), ("Contains", "contains")):
        if name in definitions:
            definitions[name]["properties"]["op"] = {"const": op, "type": "string"}
    fields = definitions["Aggregation"]["properties"]
    fields["agg"]["enum"] = [agg for agg in fields["agg"]["enum"] if agg in _TRAINED_AGGREGATIONS]
    for option in ("p", "order_by", "where"):
        del fields[option]


def _alternatives(parts: Json, shape: Shape, *, filters: bool) -> Iterator[Json]:
    """Yield one object for each combination of the first parts; sorting and limit come last."""
    groups = (True,) if shape.group_by else (False,) if shape.is_ungrouped else (True, False)
    required_last = ["sort"] * (shape.descending is not None) + ["limit"] * (shape.limit is not None)
    rows = [] if shape.takes_all else ["limit"]
    optional = (True, False)
    for included in product((True,) if filters else optional, groups, (True,) if shape.aggregations else optional):
        first = [name for name, is_included in zip(_FIRST, included, strict=True) if is_included]
        properties = {name: parts[name] for name in (*first, "sort", *rows)}
        yield {
            "type": "object",
            "properties": properties,
            "required": [*first, *required_last],
            "additionalProperties": False,
        }


def _aggregation_schema(table: Table, shape: Shape, schema: Json) -> Json:
    """Return the schema of an aggregation: every possible one, named as in the training data.

    For a wide table these would be too many, so the parts of `schema` are narrowed independently.
    """
    fields = schema["properties"]
    aggregations = shape.aggregations or fields["agg"]["enum"]
    columns = shape.figures or fields["col"]["enum"]
    type_classes = {column.name: column.type_class for column in table.columns}
    pairs = [
        (agg, column)
        for agg in aggregations
        for column in columns
        if (agg == "count" if column == "*" else agg not in ("sum", "avg") or type_classes[column] == "number")
    ]
    if not pairs or len(pairs) > _MAX_AGGREGATIONS:
        fields_by_name = {"agg": {"enum": list(aggregations)}, "col": {"enum": list(columns)}}
        return {**schema, "properties": {**fields, **fields_by_name}}
    return {"oneOf": [_object({"as": aggregation_name(*pair), "agg": pair[0], "col": pair[1]}) for pair in pairs]}


def aggregation_name(agg: str, column: str) -> str:
    """Return the name of an aggregation as in the training data: "sum_unit_price", or "count" for rows."""
    return agg if column == "*" else re.sub(r"\W+", "_", f"{agg}_{column}".lower())[:MAX_NAME]


def _group(group: str | Bucket) -> Json:
    return {"const": group} if isinstance(group, str) else _object({"col": group.col, "by": group.by})


def _object(fields: dict[str, str]) -> Json:
    properties = {name: {"const": value} for name, value in fields.items()}
    return {"type": "object", "properties": properties, "required": list(fields), "additionalProperties": False}


def _without_sizes(node: Any) -> Any:
    # llama.cpp expands a rule for each repetition, which can take minutes; sizes are checked after parsing.
    if isinstance(node, dict):
        return {name: _without_sizes(item) for name, item in node.items() if name not in _SIZES}
    return [_without_sizes(item) for item in node] if isinstance(node, list) else node
