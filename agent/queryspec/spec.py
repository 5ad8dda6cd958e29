"""The query spec: a query as JSON, which a model writes instead of SQL.

The result is defined in `training.query_specs`. In short: the columns of `group_by`, then the aggregations, then the
derived columns; without groups and aggregations the rows unchanged, then the derived columns.

- A group or filter names a column of the main dataset, of the only joined dataset with this column, or
  `dataset.column`.
- A `derived` expression (see `agent.queryspec.expressions`) uses columns of the result and columns derived before it.
  If an aggregation has the derived name as its `col`, the expression is computed for each row from the dataset's
  columns, and is not a column of the result.
- All filters must hold. A filter on a column, or on a value derived for each row, selects rows. A filter on an
  aggregation, a period or a value derived from the result selects rows of the result, after all derived columns and
  before the limit: shares and ranks include the groups that the filter removes.
- NULL satisfies no filter except `is_null`. A date compared with a column of times stands for the whole day.
- `contains` ignores case. Other comparisons of text follow the column's collation: by code point in files, and by
  default on PostgreSQL, SQLite and ClickHouse; case-insensitive by default on MariaDB.
- `from` takes the rows of an earlier result as if they were a table, all of them: a result without a limit is not cut.
- `fill` applies before derived columns and filters on the result. In an added row counts and sums are 0, other
  aggregations NULL. The first and the last period are those of all rows that the filters on rows leave.
- `limit_per_group` applies after the filters and before the limit. Rows that are equal in the sort follow the order of
  the groups, so that exactly `n` are left.
- NULL sorts last in both directions. Groups that are equal in the sort are ordered by their own columns.
"""

import math
import re
from collections.abc import Iterable
from typing import Annotated, Any, Literal, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    PlainValidator,
    Tag,
    ValidationError,
    WithJsonSchema,
)
from pydantic_core import ErrorDetails

from agent.errors import QuerySpecInvalid, SpecProblem
from agent.queryspec.corrections import with_corrections
from agent.queryspec.variants import standard_form
from agent.schema import spelling

DEFAULT_LIMIT = 1_000
MAX_LIMIT = 10_000
MAX_EXPRESSION = 500
MAX_NAME = 60
MAX_VALUES = 500
"""Maximum number of values in all filters together."""

_MAX_INTEGER = 2**63 - 1
_UNBINDABLE = re.compile("[\0\ud800-\udfff]")
_SCALARS = {"type": ["string", "number", "boolean"]}

Period = Literal["day", "week", "month", "quarter", "year"]
"""`2024-03-31`, `2024-W13` (ISO 8601), `2024-03`, `2024-Q1`, `2024`: always text."""

KeyType = Literal["number", "date"]
"""What the keys of a join are compared as if not as they are. Text that is no number or date equals nothing."""


def _scalar(value: Any) -> Any:
    if not isinstance(value, str | int | float):
        raise ValueError("a text, a number, true or false is expected")
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("the number is not finite")
    if isinstance(value, int) and abs(value) > _MAX_INTEGER:
        raise ValueError("the number is beyond 64 bits")
    if isinstance(value, str) and (len(value) > 1_000 or _UNBINDABLE.search(value)):
        raise ValueError("a text has at most 1,000 characters and contains no NUL and no lone surrogates")
    return value


def _name(text: str) -> str:
    if text != text.strip() or not text.isprintable():
        raise ValueError("a name is printable and does not start or end with a blank")
    return text


Scalar = Annotated[str | int | float | bool, PlainValidator(_scalar), WithJsonSchema(_SCALARS)]
Text = Annotated[str, AfterValidator(_scalar)]
NewName = Annotated[str, Field(min_length=1, max_length=MAX_NAME), AfterValidator(_name)]
Name = Annotated[str, Field(min_length=1, max_length=300)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Compared(_Part):
    """A column compared with one value, or the `as` of an aggregation or derived figure: then of the result."""

    col: Name
    op: Literal["=", "!=", ">", ">=", "<", "<="]
    value: Scalar


class In(_Part):
    """A column that has one of several values."""

    col: Name
    op: Literal["in"]
    value: Annotated[list[Scalar], Field(min_length=1, max_length=MAX_VALUES)]


class Between(_Part):
    """A column from the lowest to the highest value, both included."""

    col: Name
    op: Literal["between"]
    value: Annotated[list[Scalar], Field(min_length=2, max_length=2)]


class Contains(_Part):
    """Text that holds a text, in whatever case."""

    col: Name
    op: Literal["contains"]
    value: Annotated[Text, Field(min_length=1)]


class IsNull(_Part):
    """A column without a value; with `value` false, one that has a value."""

    col: Name
    op: Literal["is_null"]
    value: bool = True


Filter = Annotated[Compared | In | Between | Contains | IsNull, Field(discriminator="op")]


class Bucket(_Part):
    """A date or time by its period; in the result the column `{col}_{by}`.

    `fill` adds the periods without rows between the first and the last one, for each combination of the other groups.
    """

    col: Name
    by: Period
    fill: bool = False


Group = Annotated[
    Annotated[Name, Tag("name")] | Annotated[Bucket, Tag("bucket")],
    Discriminator(lambda value: "bucket" if isinstance(value, dict | Bucket) else "name"),
]


class Aggregation(_Part):
    """One figure for each group, or for all rows. `col` is `*` for a count of rows."""

    name: NewName = Field(alias="as")
    agg: Literal["sum", "avg", "min", "max", "count", "nunique"]
    col: Name


class Derived(_Part):
    """A number made of others: `+ - * /`, parentheses, names (in double quotes where they hold blanks), functions.

    nullif, coalesce, round(x, digits), abs, share_of_total(x), rank(x), change_from_previous(x).
    """

    name: NewName = Field(alias="as")
    expr: Annotated[str, Field(min_length=1, max_length=MAX_EXPRESSION)]


class Sort(_Part):
    """A column of the result to sort by."""

    by: Name
    desc: bool = False


class RowsPerGroup(_Part):
    """The first `n` rows, in the order of `sort`, of the rows of the result that are equal in the columns `by`."""

    n: int = Field(ge=1, le=MAX_LIMIT)
    by: Annotated[list[Name], Field(min_length=1, max_length=8)]


class Join(_Part):
    """Another dataset or result, where columns known so far (left) equal its own (right).

    `left` keeps rows without a match. Where the types of two keys differ, both are compared as numbers or days; `cast`
    names left keys that are compared so although their types are equal: as numbers, the text 007 equals the text 7.
    """

    dataset: Name
    on: Annotated[dict[Name, Name], Field(min_length=1, max_length=4)]
    how: Literal["inner", "left"] = "inner"
    cast: Annotated[dict[Name, KeyType], Field(max_length=4)] = {}


class UnionPart(_Part):
    """A dataset or result in a union, and its value of the label column; by default its name."""

    source: Name = Field(alias="from")
    name: NewName | None = Field(None, alias="as")


class Union(_Part):
    """The rows of several datasets or results with the same columns, and a first column that names the part."""

    parts: Annotated[list[UnionPart], Field(min_length=2, max_length=12)] = Field(alias="union")
    label: NewName = "part"


Source = Annotated[
    Annotated[Name, Tag("name")] | Annotated[Union, Tag("union")],
    Discriminator(lambda value: "union" if isinstance(value, dict | Union) else "name"),
]


class QuerySpec(_Part):
    """What to compute. Without a limit the first 1,000 rows come.

    `from` is a dataset or the id of an earlier result, or a union of several.
    """

    source: Source | None = Field(None, alias="from")
    joins: Annotated[list[Join], Field(max_length=4)] = []
    filters: Annotated[list[Filter], Field(max_length=20)] = []
    group_by: Annotated[list[Group], Field(max_length=8)] = []
    aggregations: Annotated[list[Aggregation], Field(max_length=20)] = []
    derived: Annotated[list[Derived], Field(max_length=20)] = []
    sort: Annotated[list[Sort], Field(max_length=8)] = []
    limit_per_group: RowsPerGroup | None = None
    limit: int | None = Field(None, ge=1, le=MAX_LIMIT)

    @property
    def is_grouped(self) -> bool:
        """True if each row of the result stands for a group of rows."""
        return bool(self.group_by or self.aggregations)


def output_name(group: str | Bucket) -> str:
    """Return the name of a group in the result."""
    return f"{group.col}_{group.by}" if isinstance(group, Bucket) else group


_FILTERS = (Compared, In, Between, Contains, IsNull)
_OPERATORS = tuple(op for kind in _FILTERS for op in get_args(kind.model_fields["op"].annotation))
_CUTOFF = 50.0
_SHOWN = 12
_TAGS = {*_OPERATORS, "name", "bucket"}
"""Parts of a pydantic location that name a kind of filter or group instead of a field."""

_PARTS: dict[str, tuple[type[Any], ...]] = {
    "joins": (Join,),
    "filters": _FILTERS,
    "group_by": (Bucket,),
    "aggregations": (Aggregation,),
    "derived": (Derived,),
    "sort": (Sort,),
}


def read_spec(data: Any) -> QuerySpec:
    """Return the spec in `data`: JSON text, or parsed JSON, in the published form or another that models write.

    Raises:
        QuerySpecInvalid: The data does not fit the schema.
    """
    try:
        standard = standard_form(data)
    except ValueError as error:
        raise QuerySpecInvalid((SpecProblem("", f"it is no JSON: {error}"),)) from None
    try:
        return QuerySpec.model_validate(standard)
    except ValidationError as error:
        raise QuerySpecInvalid(with_corrections(_problems(error), standard, schema_problems)) from None


def schema_problems(data: Any) -> tuple[SpecProblem, ...]:
    """Return the problems of a spec in the published form that concern its schema, without corrections."""
    try:
        QuerySpec.model_validate(data)
    except ValidationError as error:
        return _problems(error)
    return ()


def _problems(error: ValidationError) -> tuple[SpecProblem, ...]:
    return tuple(map(_problem, error.errors(include_url=False, include_context=False)))


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


def nearest(name: str, candidates: Iterable[str]) -> tuple[str, ...]:
    """Return up to three of `candidates` with a spelling similar to `name`; the first twelve if none is similar."""
    names = list(candidates)
    return spelling.nearest(name, names, _CUTOFF) or tuple(names[:_SHOWN])
