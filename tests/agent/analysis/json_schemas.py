"""Whether a value fits a JSON schema, as far as the schemas of query specs go."""

from collections.abc import Mapping
from typing import Any

_TYPES: dict[str, Any] = {"object": dict, "array": list, "string": str, "integer": int, "number": (int, float)}


def fits(value: Any, schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> bool:
    """Return whether `value` fits `schema`, which may refer to `definitions`."""
    if "$ref" in schema:
        return fits(value, definitions[schema["$ref"].rpartition("/")[2]], definitions)
    if "oneOf" in schema:
        return sum(fits(value, each, definitions) for each in schema["oneOf"]) == 1
    if "const" in schema or "enum" in schema:
        return value in schema.get("enum", [schema.get("const")])
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    if not any(kind == "boolean" or isinstance(value, _TYPES[kind]) for kind in kinds):
        return False
    if isinstance(value, dict):
        return _object_fits(value, schema, definitions)
    return not isinstance(value, list) or _list_fits(value, schema, definitions)


def _object_fits(value: dict[str, Any], schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> bool:
    fields = schema["properties"]
    is_whole = set(schema.get("required", ())) <= value.keys() <= set(fields)
    return is_whole and all(fits(each, fields[name], definitions) for name, each in value.items())


def _list_fits(value: list[Any], schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> bool:
    first = schema.get("prefixItems")
    if first:
        return len(value) == len(first) and all(map(fits, value, first, [definitions] * len(first)))
    return len(value) >= schema.get("minItems", 0) and all(fits(each, schema["items"], definitions) for each in value)
