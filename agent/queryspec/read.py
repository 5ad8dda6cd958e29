"""Read specs from JSON. Errors of pydantic become paths and reasons that a model can act on."""

from collections.abc import Iterable
from typing import Any, get_args

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from agent.errors import QuerySpecInvalid, SpecProblem
from agent.queryspec import spec as specs
from agent.queryspec.columns import nearest
from agent.queryspec.spec import QuerySpec

_FILTERS = (specs.Compared, specs.In, specs.Between, specs.Contains, specs.IsNull)
_OPERATORS = tuple(op for kind in _FILTERS for op in get_args(kind.model_fields["op"].annotation))
_TAGS = {*_OPERATORS, "name", "bucket"}
"""Parts of a pydantic location that name a kind of filter or group instead of a field."""

_PARTS: dict[str, tuple[type[Any], ...]] = {
    "joins": (specs.Join,),
    "filters": _FILTERS,
    "group_by": (specs.Bucket,),
    "aggregations": (specs.Aggregation,),
    "derived": (specs.Derived,),
    "sort": (specs.Sort,),
}


def read_spec(data: Any) -> QuerySpec:
    """Return the spec in `data`: JSON text, or parsed JSON.

    Raises:
        QuerySpecInvalid: The data does not fit the schema.
    """
    try:
        is_text = isinstance(data, str | bytes)
        return QuerySpec.model_validate_json(data) if is_text else QuerySpec.model_validate(data)
    except ValidationError as error:
        errors = error.errors(include_url=False, include_context=False)
        raise QuerySpecInvalid(tuple(map(_problem, errors))) from None


def _problem(error: ErrorDetails) -> SpecProblem:
    location, kind = error["loc"], error["type"]
    if kind in {"union_tag_invalid", "union_tag_not_found"}:
        return SpecProblem(path_of((*location, "op")), f"an operator is expected: {' '.join(_OPERATORS)}")
    if kind == "extra_forbidden":
        fields = _fields_at(location)
        return SpecProblem(path_of(location), "there is no such field", nearest(str(location[-1]), fields))
    return SpecProblem(path_of(location), error["msg"].removeprefix("Value error, "))


def path_of(location: Iterable[int | str]) -> str:
    """Return a pydantic location as a path such as `filters[0].col`."""
    path = ""
    parts = list(location)
    for index, part in enumerate(parts):
        # The tag of a filter or group follows its list index.
        if index == 2 and part in _TAGS and isinstance(parts[1], int):
            continue
        path += f"[{part}]" if isinstance(part, int) else f"{'.' if path else ''}{part}"
    return path


def _fields_at(location: tuple[int | str, ...]) -> list[str]:
    if len(location) == 1:
        return list(QuerySpec.model_fields)
    kinds = _PARTS.get(str(location[0]), ())
    names = [field.alias or name for kind in kinds for name, field in kind.model_fields.items()]
    return list(dict.fromkeys(names))
