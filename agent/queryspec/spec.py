"""The query spec: a query as JSON, which a model writes instead of SQL.

The result is defined in `training.query_specs`. In short: the columns of `group_by`, then the aggregations, then the
derived columns; without groups and aggregations the rows unchanged, then the derived columns.

- A group or filter names a column of the main dataset, of the only joined dataset with this column, or
  `dataset.column`.
- A `derived` expression (see `datasphinx.agent.queryspec.expressions`) uses columns of the result and columns derived
  before it. In a spec with groups or aggregations it is computed for each row, from the dataset's columns, if an
  aggregation or a group has its name, if a filter has and the expression uses columns that the result lacks, or if
  another such expression uses it. It is then not a column of the result, except as a group.
- All filters must hold. A filter on a column, or on a value derived for each row, selects rows. A filter on an
  aggregation, a period or a value derived from the result selects rows of the result, after all derived columns and
  before the limit: shares and ranks include the groups that the filter removes. In `any` and `all` either all filters
  select rows, or all of them rows of the result.
- NULL satisfies no filter except `is_null` and the negated ones: `!=`, `not_in` and `not_contains` keep it. Of two
  columns, NULL differs from every value and not from NULL. A date compared with a time stands for the whole day.
- `contains`, `not_contains`, `starts_with` and `ends_with` ignore case; `matches` does not. Other comparisons of text
  follow the column's collation: by code point in files, and by default on PostgreSQL, SQLite and ClickHouse;
  case-insensitive by default on MariaDB.
- Aggregations ignore NULL. `percentile` and `median` interpolate linearly; `stddev` and `variance` are those of a
  sample, NULL for fewer than two values; `corr` is Pearson's, over the rows that have both values. `mode` is the most
  frequent value, the smallest of several. `first` and `last` take the rows that have a value and a place in the order;
  of rows with the same place, the one with the smallest value. `nunique` of several columns counts their combinations
  without NULL.
- `from` takes the rows of an earlier result as if they were a table, all of them: a result without a limit is not cut.
- `limit_per_group` applies after the filters and before the limit. Rows that are equal in the sort follow the order of
  the groups, so that exactly `n` are left.
- NULL sorts last in both directions. Groups that are equal in the sort are ordered by their own columns.
"""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, TypeAlias, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    PlainValidator,
    Tag,
    ValidationError,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import ErrorDetails
from typing_extensions import TypeAliasType

from datasphinx.agent.errors import QuerySpecInvalid, SpecProblem
from datasphinx.agent.schema import spelling

DEFAULT_LIMIT = 1_000
MAX_LIMIT = 10_000
MAX_EXPRESSION = 1_000
MAX_PATTERN = 200
MAX_NAME = 60
MAX_AGGREGATED = 4
"""Maximum number of columns of one aggregation."""
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


def _renamed(data: Any, names: Mapping[str, str]) -> Any:
    """Return `data` with the fields `names` under their own names, where those are not given."""
    if not isinstance(data, dict):
        return data
    own = {names[name] for name in data if name in names and names[name] not in data}
    return {names[name] if names.get(name) in own else name: value for name, value in data.items()}


_FIELDS_OF_FILTERS = {"column": "col", "operator": "op"}
_OTHER_OPERATORS = {"==": "=", "<>": "!=", "not in": "not_in", "is null": "is_null"}
_NOT_NULL = {"is_not_null", "not_null", "is not null"}


def _plain_filter(data: Any) -> Any:
    """Return a filter with the names and operators of specs, where SQL or Python has others for the same."""
    data = _renamed(data, _FIELDS_OF_FILTERS)
    if not isinstance(data, dict) or not isinstance(op := data.get("op"), str):
        return data
    if op in _NOT_NULL and data.get("value", True) is True:
        return {**data, "op": "is_null", "value": False}
    return {**data, "op": _OTHER_OPERATORS.get(op, op)}


Comparison = Literal["=", "!=", ">", ">=", "<", "<="]


class Compared(_Part):
    """A column compared with one value; or a figure of the result, by its `as`. `!=` keeps empty cells."""

    col: Name
    op: Comparison
    value: Scalar


class ComparedColumns(_Part):
    """A column compared with another one, `other`."""

    col: Name
    op: Comparison
    other: Name


class In(_Part):
    """`in`, or `not_in`, which keeps empty cells: a column that has one, or none, of several values."""

    col: Name
    op: Literal["in", "not_in"]
    value: Annotated[list[Scalar], Field(min_length=1, max_length=MAX_VALUES)]


class Between(_Part):
    """`between`: a column from the lowest to the highest value, both included."""

    col: Name
    op: Literal["between"]
    value: Annotated[list[Scalar], Field(min_length=2, max_length=2)]


class Contains(_Part):
    """Text that contains, starts or ends with a text, in whatever case. `not_contains` keeps empty cells."""

    col: Name
    op: Literal["contains", "not_contains", "starts_with", "ends_with"]
    value: Annotated[Text, Field(min_length=1)]


class Matches(_Part):
    """`matches`: a regular expression matches somewhere; only on DuckDB (files) and ClickHouse.

    Case-sensitive, without backreferences, lookahead and lookbehind.
    """

    col: Name
    op: Literal["matches"]
    value: Annotated[Text, Field(min_length=1, max_length=MAX_PATTERN)]


class IsNull(_Part):
    """`is_null`: a column without a value; with `value` false, one that has a value."""

    col: Name
    op: Literal["is_null"]
    value: bool = True


class AnyOf(_Part):
    """`any`: filters of which at least one holds."""

    any: Annotated[list["Filter"], Field(min_length=1, max_length=20)]


class AllOf(_Part):
    """`all`: filters that all hold, for use within `any`."""

    all: Annotated[list["Filter"], Field(min_length=1, max_length=20)]


Condition: TypeAlias = Compared | ComparedColumns | In | Between | Contains | Matches | IsNull
"""A filter on one column."""

_TAGS: dict[type[BaseModel], str] = {
    Compared: "<compared>", ComparedColumns: "<columns>", In: "<in>", Between: "<between>", Contains: "<contains>",
    Matches: "<matches>", IsNull: "<is_null>", AnyOf: "<any>", AllOf: "<all>",
}  # fmt: skip
"""Tags of the kinds of filters; `path_of` leaves tags out of paths."""


_TAG_OF_OPERATOR: dict[str, str] = {
    op: tag
    for kind, tag in _TAGS.items()
    if kind is not ComparedColumns and "op" in kind.model_fields
    for op in get_args(kind.model_fields["op"].annotation)
}
OPERATORS = list(_TAG_OF_OPERATOR)
"""The operators of all conditions."""


def _filter_tag(value: Any) -> str | None:
    if not isinstance(value, dict):
        return _TAGS.get(type(value))
    for group in ("any", "all"):
        if group in value:
            return f"<{group}>"
    op = value.get("op")
    tag = _TAG_OF_OPERATOR.get(op) if isinstance(op, str) else None
    return "<columns>" if tag == "<compared>" and "other" in value else tag


Filter = TypeAliasType(
    "Filter",
    Annotated[
        Annotated[Compared, Tag("<compared>")]
        | Annotated[ComparedColumns, Tag("<columns>")]
        | Annotated[In, Tag("<in>")]
        | Annotated[Between, Tag("<between>")]
        | Annotated[Contains, Tag("<contains>")]
        | Annotated[Matches, Tag("<matches>")]
        | Annotated[IsNull, Tag("<is_null>")]
        | Annotated[AnyOf, Tag("<any>")]
        | Annotated[AllOf, Tag("<all>")],
        Discriminator(_filter_tag),
        BeforeValidator(_plain_filter),
    ],
)
"""A condition, or several. Its name makes it one definition of the JSON schema, to which all lists of filters refer."""


def members(spec_filter: Filter) -> Sequence[Filter]:
    """Return the filters of an `any` or `all`; none for a condition."""
    if isinstance(spec_filter, AnyOf):
        return spec_filter.any
    return spec_filter.all if isinstance(spec_filter, AllOf) else ()


def conditions(filters: Iterable[Filter]) -> Iterator[Condition]:
    """Yield the conditions in `filters`, including those in `any` and `all`."""
    for each in filters:
        if isinstance(each, AnyOf | AllOf):
            yield from conditions(members(each))
        else:
            yield each


def columns_of(condition: Condition) -> tuple[str, ...]:
    """Return the names of the columns that `condition` reads."""
    return (condition.col, condition.other) if isinstance(condition, ComparedColumns) else (condition.col,)


class Bucket(_Part):
    """A date by its period; in the result the column `{col}_{by}`."""

    col: Name
    by: Period


Group = Annotated[
    Annotated[Name, Tag("<name>")] | Annotated[Bucket, Tag("<bucket>")],
    Discriminator(lambda value: "<bucket>" if isinstance(value, dict | Bucket) else "<name>"),
]


Function = Literal[
    "sum", "avg", "min", "max", "count", "nunique", "median", "percentile", "stddev", "variance", "corr", "mode",
    "first", "last",
]  # fmt: skip
Columns = Annotated[
    Annotated[Name, Tag("<name>")]
    | Annotated[list[Name], Field(min_length=2, max_length=MAX_AGGREGATED), Tag("<names>")],
    Discriminator(lambda value: "<names>" if isinstance(value, list) else "<name>"),
]


_FIELDS_OF_AGGREGATIONS = {"alias": "as", "name": "as", "function": "agg", "column": "col"}
_OTHER_FUNCTIONS = {"mean": "avg", "average": "avg", "count_distinct": "nunique"}


class Aggregation(_Part):
    """A figure for each group, of the rows that meet `where`.

    `col` is `*` for a count of rows, two columns for `corr`, several for distinct combinations (`nunique`).
    `percentile` needs `p` from 0 to 1; `first` and `last` need `order_by`.
    """

    name: NewName = Field(alias="as")
    agg: Function
    col: Columns = "*"
    p: float | None = Field(None, ge=0, le=1)
    order_by: Name | None = None
    where: Annotated[list[Filter], Field(max_length=20)] | None = None

    @model_validator(mode="before")
    @classmethod
    def _read_other_names(cls, data: Any) -> Any:
        """Read other names of fields and functions as well, such as `mean`."""
        data = _renamed(data, _FIELDS_OF_AGGREGATIONS)
        if isinstance(data, dict) and isinstance(agg := data.get("agg"), str):
            return {**data, "agg": _OTHER_FUNCTIONS.get(agg, agg)}
        return data

    @property
    def cols(self) -> tuple[str, ...]:
        """The columns that are aggregated."""
        return tuple(self.col) if isinstance(self.col, list) else (self.col,)

    @property
    def names(self) -> tuple[str, ...]:
        """All columns that the aggregation reads, including `order_by` and `where`."""
        ordered = (self.order_by,) if self.order_by else ()
        filtered = (name for condition in conditions(self.where or ()) for name in columns_of(condition))
        return tuple(dict.fromkeys([*self.cols, *ordered, *filtered]))


class Derived(_Part):
    """A value for each row of the result; for each row of the data, if a group or aggregation has its name.

    As in `{"as": "day", "expr": "weekday(date)"}` with group_by `["day"]`. Double quotes around names with blanks,
    single ones around text and dates. Operators and CASE as in SQL, and if(condition, a, b), nullif, coalesce;
    contains(x, 'a'), starts_with, ends_with, lower, upper, initcap, trim, normalize_space, replace(x, 'a', 'b'),
    concat(a, b, ...), left(x, n), length; abs, sqrt, log(x, base), round(x, digits), floor, ceil; year, quarter, month,
    iso_week, day, weekday (1 is Monday), weekday_name, hour, minute, today(), fiscal_year(date, start_month),
    fiscal_quarter, days_between(from, to), hours_between, minutes_between. Over the rows of the result, in the order of
    its periods or the sort: share(x), rank(x), lag(x, n), cumulative(x), moving_avg(x, n), change_from_previous(x);
    otherwise `rank(x, within: region, order_by: date desc)`.
    """

    name: NewName = Field(alias="as")
    expr: Annotated[str, Field(min_length=1, max_length=MAX_EXPRESSION)]


class Sort(_Part):
    """A column of the result."""

    by: Name
    desc: bool = False

    @model_validator(mode="before")
    @classmethod
    def _read_direction(cls, data: Any) -> Any:
        """Read `{"col": name, "dir": "desc"}` as well."""
        data = _renamed(data, {"col": "by", "column": "by"})
        if isinstance(data, dict) and "desc" not in data and data.get("dir") in ("asc", "desc"):
            return {**{name: value for name, value in data.items() if name != "dir"}, "desc": data["dir"] == "desc"}
        return data


class RowsPerGroup(_Part):
    """The first `n` rows, in the order of `sort`, for each combination of the columns `by`."""

    n: int = Field(ge=1, le=MAX_LIMIT)
    by: Annotated[list[Name], Field(min_length=1, max_length=8)]


class Join(_Part):
    """Another dataset or result, where columns known so far (left) equal its own (right), then named `r2.column`.

    `left` keeps rows without a match. `cast` compares left keys as numbers (007 equals 7) or days; keys of different
    types are compared so without it.
    """

    dataset: Name
    on: Annotated[dict[Name, Name], Field(min_length=1, max_length=4)]
    how: Literal["inner", "left"] = "inner"
    cast: Annotated[dict[Name, KeyType], Field(max_length=4)] = {}


class UnionPart(_Part):
    """A dataset or result, and its value of the label column."""

    source: Name = Field(alias="from")
    name: NewName | None = Field(None, alias="as")


class Union(_Part):
    """The rows of several datasets or results, matched by column names, after a column `label` that names the part."""

    parts: Annotated[list[UnionPart], Field(min_length=2, max_length=12)] = Field(alias="union")
    label: NewName = "part"


Source = Annotated[
    Annotated[Name, Tag("<name>")] | Annotated[Union, Tag("<union>")],
    Discriminator(lambda value: "<union>" if isinstance(value, dict | Union) else "<name>"),
]


class QuerySpec(_Part):
    """What to compute. Without a limit the first 1,000 rows come, with one 10,000 at most.

    `from` is a dataset, an earlier result, or a union.
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

    @model_validator(mode="before")
    @classmethod
    def _read_other_forms(cls, data: Any) -> Any:
        """Read one group, or one part of another list, without its list, and `order_by` as `sort`."""
        data = _renamed(data, {"order_by": "sort"})
        if not isinstance(data, dict):
            return data
        single: dict[str, Any] = {name: [part] for name in _PARTS if isinstance(part := data.get(name), dict)}
        if isinstance(group := data.get("group_by"), str):
            single["group_by"] = [group]
        return {**data, **single}

    @property
    def is_grouped(self) -> bool:
        """True if each row of the result stands for a group of rows."""
        return bool(self.group_by or self.aggregations)


def grouped_column(group: str | Bucket) -> str:
    """Return the column that a group names."""
    return group.col if isinstance(group, Bucket) else group


def output_name(group: str | Bucket) -> str:
    """Return the name of a group in the result."""
    return f"{group.col}_{group.by}" if isinstance(group, Bucket) else group


_CUTOFF = 50.0
_PARTS: dict[str, tuple[type[Any], ...]] = {
    "joins": (Join,),
    "filters": tuple(_TAGS),
    "group_by": (Bucket,),
    "aggregations": (Aggregation,),
    "derived": (Derived,),
    "sort": (Sort,),
}


_COLUMNS_ADVICE = "leave it out; the columns are those of group_by, aggregations and derived, or without these all"
_INSTEAD = {
    ("", "select"): _COLUMNS_ADVICE,
    ("", "columns"): _COLUMNS_ADVICE,
    ("", "having"): "put the condition into filters, with the name of the aggregation as col",
    ("", "where"): "put its conditions into filters",
    ("aggregations", "expr"): "give the expression a name in derived, and aggregate this name as col",
}
"""What to write in place of a field that query languages have, by the list that it stands in."""


def read_spec(data: Any) -> QuerySpec:
    """Return the spec in `data`: JSON text, or parsed JSON. Raise QuerySpecInvalid if it does not fit the schema."""
    is_text = isinstance(data, str | bytes)
    try:
        return QuerySpec.model_validate_json(data) if is_text else QuerySpec.model_validate(data)
    except ValidationError as error:
        found = error.errors(include_url=False, include_context=False)
        raise QuerySpecInvalid(tuple(map(_problem, found))) from None


def _problem(error: ErrorDetails) -> SpecProblem:
    location, kind = error["loc"], error["type"]
    if kind in {"union_tag_invalid", "union_tag_not_found"}:
        text = f"an operator is expected: {' '.join(OPERATORS)}; or any or all with a list of filters"
        return SpecProblem(path_of((*location, "op")), text)
    if kind in {"recursion_loop", "recursion_depth_exceeded"}:
        return SpecProblem(path_of(location[:2]), "any and all are nested too deeply")
    if kind == "extra_forbidden":
        fields = _fields_at(location)
        if advice := _INSTEAD.get((str(location[0]) if len(location) > 1 else "", str(location[-1]))):
            return SpecProblem(path_of(location), f"there is no such field: {advice}")
        return SpecProblem(path_of(location), "there is no such field", nearest(str(location[-1]), fields))
    return SpecProblem(path_of(location), error["msg"].removeprefix("Value error, "))


def path_of(location: Iterable[int | str]) -> str:
    """Return a pydantic location as a path such as `filters[0].col`."""
    path = ""
    for part in location:
        # Tags of unions, such as "<bucket>", are no part of the data.
        if isinstance(part, str) and part.startswith("<"):
            continue
        path += f"[{part}]" if isinstance(part, int) else f"{'.' if path else ''}{part}"
    return path


def _fields_at(location: tuple[int | str, ...]) -> list[str]:
    if len(location) == 1:
        return [field.alias or name for name, field in QuerySpec.model_fields.items()]
    kinds = _PARTS.get(str(location[0]), ())
    names = [field.alias or name for kind in kinds for name, field in kind.model_fields.items()]
    return list(dict.fromkeys(names))


def nearest(name: str, candidates: Iterable[str]) -> tuple[str, ...]:
    """Return up to three of `candidates` with a spelling similar to `name`; the first twelve if none is similar."""
    return spelling.nearest_or_first(name, candidates, _CUTOFF)
