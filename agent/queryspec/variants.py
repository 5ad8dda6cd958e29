"""Other forms of query specs that models write, rewritten to the published form before validation.

Only forms with one meaning are accepted: other names of fields, operators and functions, texts such as `sum(amount)`
in place of objects, single values in place of lists, and mappings such as `{"amount": "sum"}`. Everything else is left
as it is, for the validation to reject.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

Json = dict[str, Any]

_NAMES: dict[str, tuple[str, ...]] = {
    "from": ("source", "dataset", "dataset_id", "table", "result", "result_id", "input"),
    "joins": ("join",),
    "filters": ("filter", "where", "conditions", "condition"),
    "group_by": ("groupby", "group", "groups", "groupings", "dimensions", "dimension"),
    "aggregations": ("aggregation", "aggregates", "aggregate", "aggs", "metrics", "metric", "measures", "measure"),
    "derived": ("computed", "calculated", "calculations", "expressions", "formulas", "derive"),
    "sort": ("order_by", "orderby", "order", "sort_by", "sortby", "sorting"),
    "limit_per_group": ("top_per_group", "limitpergroup", "limit_by_group"),
    "limit": ("top", "head", "max_rows", "row_limit"),
}
"""The fields of a spec with their other names, in lower case."""
_COL = ("column", "field", "name", "key", "attribute", "column_name")
_AS = ("alias", "name", "label", "output", "output_name")
_FILTER_NAMES = {"col": _COL, "op": ("operator", "comparison", "cmp"), "value": ("val", "values", "operand")}
_GROUP_NAMES = {
    "col": _COL,
    "by": ("period", "bucket", "granularity", "grain", "interval", "unit", "time_unit", "freq", "frequency"),
    "fill": ("fill_gaps", "fill_empty", "include_empty"),
}
_AGGREGATION_NAMES = {
    "as": _AS,
    "agg": ("aggregation", "func", "function", "fn", "aggregate", "method", "op", "type"),
    "col": ("column", "field", "of", "on", "column_name", "columns"),
    "where": ("filter", "filters", "condition", "conditions"),
}
_DERIVED_NAMES = {"as": _AS, "expr": ("expression", "formula", "calc", "calculation", "value")}
_SORT_NAMES = {"by": ("col", *_COL)}
_JOIN_NAMES = {
    "dataset": ("table", "with", "to", "dataset_id", "result", "result_id", "from", "right", "right_dataset", "name"),
    "on": ("keys", "key", "using", "condition"),
    "how": ("type", "kind", "join_type"),
    "cast": ("casts",),
}
_UNION_NAMES = {"union": ("union_all", "parts"), "label": ("label_column", "as")}
_PART_NAMES = {"from": _NAMES["from"], "as": _AS}
_PER_GROUP_NAMES = {
    "n": ("limit", "top", "count", "rows", "k"),
    "by": ("group_by", "groups", "columns", "cols", "per", "col", "column"),
}

_OPERATORS = {
    "==": "=", "eq": "=", "equals": "=", "equal": "=", "is": "=", "<>": "!=", "≠": "!=", "ne": "!=", "neq": "!=",
    "not_equals": "!=", "not_equal": "!=", "is_not": "!=", "gt": ">", "greater": ">", "greater_than": ">", "gte": ">=",
    "ge": ">=", "≥": ">=", "=>": ">=", "at_least": ">=", "lt": "<", "less": "<", "less_than": "<", "lte": "<=",
    "le": "<=", "≤": "<=", "=<": "<=", "at_most": "<=", "isin": "in", "one_of": "in", "any_of": "in",
    "range": "between", "icontains": "contains", "includes": "contains", "isnull": "is_null", "is_empty": "is_null",
    "missing": "is_null", "null": "is_null", "nin": "not_in", "notin": "not_in", "none_of": "not_in",
    "notcontains": "not_contains", "does_not_contain": "not_contains", "startswith": "starts_with",
    "begins_with": "starts_with", "endswith": "ends_with", "regex": "matches", "regexp": "matches", "rlike": "matches",
    "~": "matches",
}  # fmt: skip
_NEGATED = {
    "=": "!=", "!=": "=", "in": "not_in", "not_in": "in", "contains": "not_contains", "not_contains": "contains",
}  # fmt: skip
"""Operators whose negation is another: `!=`, `not_in` and `not_contains` keep empty cells, as the others leave them."""
_NOT_NULL = {"is_not_null", "not_null", "notnull", "isnotnull", "not_empty", "exists", "not_missing"}
_FUNCTIONS = {
    "mean": "avg", "average": "avg", "total": "sum", "minimum": "min", "maximum": "max", "count_distinct": "nunique",
    "distinct_count": "nunique", "countdistinct": "nunique", "distinct": "nunique", "unique": "nunique",
    "n_unique": "nunique", "countd": "nunique", "size": "count", "count_rows": "count", "row_count": "count",
    "std": "stddev", "stdev": "stddev", "var": "variance",
}  # fmt: skip
_KNOWN_FUNCTIONS = {"sum", "avg", "min", "max", "count", "nunique", "median", "stddev", "variance", "mode"}
_PERIODS = {
    "days": "day", "daily": "day", "date": "day", "weeks": "week", "weekly": "week", "iso_week": "week",
    "months": "month", "monthly": "month", "quarters": "quarter", "quarterly": "quarter", "years": "year",
    "yearly": "year", "annual": "year", "annually": "year",
}  # fmt: skip
_PERIOD_CALL = re.compile(r"(day|week|month|quarter|year)\((.+)\)", re.IGNORECASE)
_CALL = re.compile(r"(\w+)\s*\(\s*(distinct\s+)?(.*?)\s*\)(?:\s+as\s+(.+))?", re.IGNORECASE)
_NAMED_EXPRESSION = re.compile(r"(.+)\s+as\s+([^()]+)", re.IGNORECASE)
_ASSIGNMENT = re.compile(r"([^=()+*/<>]+?)\s*=\s*(.+)")
_COMPARISON = re.compile(r"(.+?)\s*(>=|<=|==|!=|<>|=|>|<)\s*(.+)")
_SORT_TEXT = re.compile(r"(.+?)\s+(asc|desc|ascending|descending)(?:\s+nulls\s+last)?", re.IGNORECASE)
_LIKE = re.compile(r"(%?)([^%_]+)(%?)")
_PERCENT = 100
_PERCENTILE = re.compile(r"(?:p|perc|percentile|quantile)_?\(?(\d{1,2})\)?")
_FENCE = re.compile(r"```(?:json)?\s*(.*?)\s*```", re.DOTALL)


def standard_form(data: Any) -> Any:
    """Return `data`, a spec as parsed JSON or as JSON text, in the published form where another one is known.

    Raises:
        ValueError: A text is not JSON, or the data is nested too deeply.
    """
    try:
        return _standard_form(_parsed(data))
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _standard_form(spec: Any) -> Any:
    if not isinstance(spec, Mapping):
        return spec
    while len(spec) == 1 and isinstance(inner := _parsed_or_none(*spec.items()), Mapping):
        spec = inner
    spec = _renamed(_without_null(spec), _NAMES)
    if "union" in spec and "from" not in spec:
        spec["from"] = {"union": spec.pop("union")}
    columns = next((name for name in ("columns", "select", "fields") if isinstance(spec.get(name), list)), None)
    if columns and spec.get("distinct") is True and not {"group_by", "aggregations"} & set(spec):
        spec["group_by"] = spec.pop(columns)
        del spec["distinct"]
    if "having" in spec:
        spec["filters"] = [*_filters(spec.get("filters", [])), *_filters(spec.pop("having"))]
    for name, read in _READERS.items():
        if name in spec:
            spec[name] = read(spec[name])
    _name_sorts(spec)
    return spec


def _parsed(data: Any) -> Any:
    if isinstance(data, bytes):
        data = data.decode("utf-8", "replace")
    if not isinstance(data, str):
        return data
    fenced = _FENCE.fullmatch(data.strip())
    return json.loads(fenced[1] if fenced else data)


def _parsed_or_none(item: tuple[str, Any]) -> Any:
    name, value = item
    if name.lower() not in {"query", "query_spec", "queryspec", "spec"}:
        return None
    return _parsed(value)


def _without_null(part: Mapping[str, Any]) -> Json:
    return {str(name): value for name, value in part.items() if value is not None}


def _renamed(part: Mapping[str, Any], names: Mapping[str, Iterable[str]]) -> Json:
    """Return `part` with the fields `names`; a field given by two names keeps the second one, which is rejected."""
    known = {alias: name for name, aliases in names.items() for alias in aliases}
    result: Json = {}
    for given, value in part.items():
        folded = given if given in names else given.strip().lower().replace(" ", "_").replace("-", "_")
        name = folded if folded in names else known.get(folded, given)
        result[given if name in result or name != given and name in part else name] = value
    return result


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def _word(value: Any) -> Any:
    return re.sub(r"[\s-]+", "_", value.strip().lower()) if isinstance(value, str) else value


def _items(
    value: Any, read: Callable[[Any], Any], fields: Iterable[str], named: Callable[[str, Any], Any]
) -> list[Any]:
    """Return the items of a list part: `value` may be one item, or a mapping from names that `named` reads."""
    if isinstance(value, Mapping) and value and not {str(name).lower() for name in value} & set(fields):
        return [item for name, inner in value.items() for item in _listed(named(str(name), inner))]
    return [read(item) for item in _listed(value)]


def _fields(names: Mapping[str, Iterable[str]]) -> set[str]:
    return {*names, *(alias for aliases in names.values() for alias in aliases)}


_GROUPS = ("or", "and", "not", "any", "all")


def _filters(value: Any) -> list[Any]:
    if isinstance(value, Mapping) and len(value) == 1 and _word(next(iter(value))) in {"and", "all"}:
        return _filters(next(iter(value.values())))
    return _items(value, _filter, {*_fields(_FILTER_NAMES), *_GROUPS}, _named_filter)


def _named_filter(name: str, value: Any) -> Any:
    """Return the filters of `{"amount": {">": 5}}`, `{"amount": 5}` and `{"amount": [1, 2]}`."""
    if not isinstance(value, Mapping):
        return _filter({"col": name, "op": "=", "value": value})
    if {_word(key) for key in value} & _fields(_FILTER_NAMES):
        return _filter({"col": name, **value})
    return [_filter({"col": name, "op": op, "value": inner}) for op, inner in value.items()]


def _filter(item: Any) -> Any:
    if isinstance(item, str):
        match = _COMPARISON.fullmatch(item.strip())
        return _filter({"col": match[1].strip('"`'), "op": match[2], "value": _literal(match[3])}) if match else item
    if isinstance(item, list) and len(item) == 3 and isinstance(item[1], str):
        return _filter(dict(zip(("col", "op", "value"), item, strict=True)))
    if not isinstance(item, Mapping):
        return item
    nested = {key: value for key, value in item.items() if _word(key) in _GROUPS and not isinstance(value, str)}
    if len(item) == 1 and nested:
        ((key, value),) = nested.items()
        return _group_of_filters(_word(key), _filters(value))
    part = _renamed(item, _FILTER_NAMES)
    op = _word(part.get("op"))
    if not isinstance(op, str):
        return part
    part["op"] = _OPERATORS.get(op, op)
    if op in _NOT_NULL:
        part |= {"op": "is_null", "value": part.get("value") is False}
    return _with_fitting_operator(part)


def _group_of_filters(word: str, filters: list[Any]) -> Any:
    """Return the group of `filters` that `word`, one of `_GROUPS`, names."""
    if word != "not":
        return {{"or": "any", "and": "all"}.get(word, word): filters}
    op = filters[0].get("op") if len(filters) == 1 and isinstance(filters[0], dict) else None
    if op == "is_null":
        return {**filters[0], "value": filters[0].get("value", True) is False}
    return {**filters[0], "op": _NEGATED[op]} if isinstance(op, str) and op in _NEGATED else {"not": filters}


def _with_fitting_operator(part: Json) -> Json:
    """Return a filter whose operator fits its value: a list for `in`, no list for `=`, NULL for `is_null`."""
    op, value = part.get("op"), part.get("value")
    is_equality = op in {"=", "!="}
    if op in {"in", "not_in"} and "value" in part and not isinstance(value, list):
        return {**part, "value": [value]}
    if op == "is_null" and value is None:
        return {name: each for name, each in part.items() if name != "value"}
    if is_equality and isinstance(value, list) and value:
        return {**part, "op": "in" if op == "=" else "not_in"}
    if is_equality and "value" in part and value is None:
        return {**part, "op": "is_null", "value": op == "="}
    if op == "between" and isinstance(value, Mapping) and len(value) == 2:
        return {**part, "value": list(value.values())}
    if op in {"like", "ilike", "not_like"} and isinstance(value, str) and (match := _LIKE.fullmatch(value)):
        is_whole = bool(match[1]) == bool(match[3])
        if op == "not_like":
            return {**part, "op": "not_contains", "value": match[2]} if is_whole else part
        place = "contains" if is_whole else "ends_with" if match[1] else "starts_with"
        return {**part, "op": place, "value": match[2]}
    return part


def _literal(text: str) -> Any:
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1]
    try:
        return json.loads(text)
    except ValueError:
        return text


def _groups(value: Any) -> list[Any]:
    return _items(value, _group, _fields(_GROUP_NAMES), lambda name, by: _group({"col": name, "by": by}))


def _group(item: Any) -> Any:
    if isinstance(item, str) and (match := _PERIOD_CALL.fullmatch(item.strip())):
        return {"col": match[2].strip(' "'), "by": match[1].lower()}
    if not isinstance(item, Mapping):
        return item
    part = _renamed(_without_null(item), _GROUP_NAMES)
    if set(part) == {"col"}:
        return part["col"]
    if isinstance(by := _word(part.get("by")), str):
        part["by"] = _PERIODS.get(by, by)
    return part


def _aggregations(value: Any) -> list[Any]:
    return _items(value, _aggregation, {*_fields(_AGGREGATION_NAMES), *_KNOWN_FUNCTIONS}, _named_aggregation)


def _named_aggregation(name: str, value: Any) -> Any:
    """Return the aggregations of `{"amount": "sum"}`, `{"amount": ["min", "max"]}` and `{"total": "sum(amount)"}`."""
    if isinstance(value, Mapping):
        return _aggregation({"as": name, **value})
    if isinstance(value, str) and _CALL.fullmatch(value.strip()):
        item = _aggregation(value)
        return {**item, "as": name} if isinstance(item, dict) else item
    return [_aggregation({"agg": each, "col": name}) for each in _listed(value)]


def _aggregation(item: Any) -> Any:
    if isinstance(item, str):
        return _aggregation_of_text(item)
    if not isinstance(item, Mapping):
        return item
    part = _renamed(_without_null(item), _AGGREGATION_NAMES)
    if "agg" not in part:
        function = next((name for name in part if _FUNCTIONS.get(_word(name), _word(name)) in _KNOWN_FUNCTIONS), None)
        if function and isinstance(part[function], str):
            part |= {"agg": function, "col": part.pop(function)}
    if isinstance(part.get("agg"), str):
        call = _CALL.fullmatch(part["agg"].strip())
        if call and "col" not in part:
            part |= {name: each for name, each in _call_parts(call).items() if name not in part or name == "agg"}
        part["agg"] = _FUNCTIONS.get(_word(part["agg"]), _word(part["agg"]))
    if part.get("agg") == "count" and part.get("col", "") in ("", "1", 1):
        part["col"] = "*"
    if "where" in part:
        part["where"] = _filters(part["where"])
    return _with_name(_with_fitting_function(part))


def _with_fitting_function(part: Json) -> Json:
    """Return an aggregation with the arguments of its function: `p` from 0 to 1, and two columns for `corr`."""
    agg, p = part.get("agg"), part.get("p")
    if isinstance(agg, str) and (percentile := _PERCENTILE.fullmatch(agg)):
        return {**part, "agg": "percentile", "p": int(percentile[1]) / _PERCENT}
    if agg == "percentile" and isinstance(p, int | float) and 1 < p <= _PERCENT:
        return {**part, "p": p / _PERCENT}
    other = next((name for name in ("with", "other", "col2", "y") if isinstance(part.get(name), str)), None)
    if agg == "corr" and isinstance(part.get("col"), str) and other:
        rest = {name: value for name, value in part.items() if name != other}
        return {**rest, "col": [part["col"], part[other]]}
    return part


def _aggregation_of_text(text: str) -> Any:
    call = _CALL.fullmatch(text.strip())
    if call:
        return _aggregation(_call_parts(call))
    return _aggregation({"agg": "count", "col": "*"}) if _word(text) in {"count", "count_rows"} else text


def _call_parts(call: re.Match[str]) -> Json:
    function = "count_distinct" if call[2] and call[1].lower() == "count" else call[1]
    return {"agg": function, "col": call[3].strip(' "`'), **({"as": call[4].strip(' "`')} if call[4] else {})}


def _with_name(part: Json) -> Json:
    """Return an aggregation with a name; by default `sum_amount`, and `count` for rows."""
    if "as" in part or not isinstance(part.get("agg"), str) or not isinstance(part.get("col"), str):
        return part
    name = "count" if part["col"] == "*" else f"{part['agg']}_{part['col']}"
    return {"as": name, **part}


def _derived(item: Any) -> Any:
    if isinstance(item, str):
        if named := _NAMED_EXPRESSION.fullmatch(item.strip()):
            return {"as": named[2].strip(' "'), "expr": named[1]}
        if assigned := _ASSIGNMENT.fullmatch(item.strip()):
            return {"as": assigned[1].strip(' "'), "expr": assigned[2]}
        return item
    return _renamed(_without_null(item), _DERIVED_NAMES) if isinstance(item, Mapping) else item


_DIRECTIONS = {"desc": True, "descending": True, "-1": True, "asc": False, "ascending": False, "1": False}


def _sorts(value: Any) -> list[Any]:
    directions = ("desc", "dir", "direction", "order", "asc", "ascending", "descending", "nulls")
    fields = {*_fields(_SORT_NAMES), *directions}
    return _items(value, _sort, fields, lambda name, direction: _sort({"by": name, "dir": direction}))


def _sort(item: Any) -> Any:
    if isinstance(item, str):
        if match := _SORT_TEXT.fullmatch(item.strip()):
            return {"by": match[1].strip('"`'), "desc": _DIRECTIONS[match[2].lower()]}
        return {"by": item[1:], "desc": True} if re.match(r"-[^\W\d]", item) else {"by": item}
    if isinstance(item, list) and len(item) == 2:
        return _sort({"by": item[0], "dir": item[1]})
    if not isinstance(item, Mapping):
        return item
    part = _renamed(_without_null(item), _SORT_NAMES)
    for name in ("dir", "direction", "order", "desc"):
        word = str(part.get(name)).strip().lower()
        if name in part and word in _DIRECTIONS:
            del part[name]
            part["desc"] = _DIRECTIONS[word]
    for name, is_descending in (("descending", True), ("ascending", False), ("asc", False)):
        if isinstance(part.get(name), bool) and "desc" not in part:
            part["desc"] = part.pop(name) == is_descending
    return part


def _name_sorts(spec: Json) -> None:
    """Let sorts name columns of the result: `sum(amount)` its aggregation, and a date the period it is grouped by."""
    sorts, aggregations, groups = (spec.get(name) for name in ("sort", "aggregations", "group_by"))
    if not isinstance(sorts, list):
        return
    names: Json = {}
    for part in aggregations if isinstance(aggregations, list) else ():
        if isinstance(part, dict) and {"as", "agg", "col"} <= set(part):
            names[f"{part['agg']}({part['col']})"] = part["as"]
    known = [part.get("as") for part in aggregations or () if isinstance(part, dict)]
    known += [group for group in groups or () if isinstance(group, str)]
    for group in groups if isinstance(groups, list) else ():
        if isinstance(group, dict) and isinstance(group.get("col"), str):
            names[group["col"]] = f"{group['col']}_{group.get('by')}"
    for sort in sorts:
        if isinstance(sort, dict) and isinstance(sort.get("by"), str) and sort["by"] not in known:
            call = _aggregation_of_text(sort["by"])
            key = f"{call['agg']}({call['col']})" if isinstance(call, dict) and "col" in call else sort["by"]
            sort["by"] = names.get(key, sort["by"])


def _joins(value: Any) -> list[Any]:
    return [_join(item) for item in _listed(value)]


def _join(item: Any) -> Any:
    if not isinstance(item, Mapping):
        return item
    part = _renamed(_without_null(item), _JOIN_NAMES)
    if "left_on" in part and "right_on" in part and "on" not in part:
        lefts, rights = _listed(part.pop("left_on")), _listed(part.pop("right_on"))
        if len(lefts) == len(rights) and all(isinstance(name, str) for name in (*lefts, *rights)):
            part["on"] = dict(zip(lefts, rights, strict=True))
    if "on" in part:
        part["on"] = _keys(part["on"], str(part.get("dataset")))
    if isinstance(part.get("how"), str):
        part["how"] = _word(part["how"]).removesuffix("_join").removesuffix("_outer")
    return part


def _keys(value: Any, dataset: str) -> Any:
    """Return the keys of a join as a mapping from left to right names."""
    if isinstance(value, Mapping) and {"left", "right"} == {_word(name) for name in value}:
        value = [dict(value)]
    if isinstance(value, Mapping):
        return {
            left: right.removeprefix(f"{dataset}.") if isinstance(right, str) else right
            for left, right in value.items()
        }
    keys: Json = {}
    for item in _listed(value):
        if isinstance(item, Mapping) and {"left", "right"} <= set(item):
            item = [item["left"], item["right"]]
        if isinstance(item, str):
            left, is_pair, right = (text.strip() for text in item.replace("==", "=").partition("="))
            item = [left, right if is_pair else left]
        if not isinstance(item, list) or len(item) != 2 or not all(isinstance(name, str) for name in item):
            return value
        left, right = item
        if left.startswith(f"{dataset}.") and not right.startswith(f"{dataset}."):
            left, right = right, left
        keys[left] = right.removeprefix(f"{dataset}.")
    return keys


def _source(value: Any) -> Any:
    if isinstance(value, list):
        value = {"union": value}
    if not isinstance(value, Mapping):
        return value
    part = _renamed(_without_null(value), _UNION_NAMES)
    if "union" in part:
        items = [{"from": item} if isinstance(item, str) else item for item in _listed(part["union"])]
        part["union"] = [
            _renamed(_without_null(item), _PART_NAMES) if isinstance(item, Mapping) else item for item in items
        ]
        return part
    renamed = _renamed(_without_null(value), _PART_NAMES)
    return renamed["from"] if set(renamed) == {"from"} else value


def _limit_per_group(value: Any) -> Any:
    if not isinstance(value, Mapping):
        return value
    part = _renamed(_without_null(value), _PER_GROUP_NAMES)
    if "by" in part:
        part["by"] = _listed(part["by"])
    if "n" in part:
        part["n"] = _integer(part["n"])
    return part


def _integer(value: Any) -> Any:
    if isinstance(value, str) and re.fullmatch(r"[0-9]{1,6}", value.strip()):
        return int(value)
    return int(value) if isinstance(value, float) and value.is_integer() else value


_READERS: dict[str, Callable[[Any], Any]] = {
    "from": _source,
    "joins": _joins,
    "filters": _filters,
    "group_by": _groups,
    "aggregations": _aggregations,
    "derived": lambda value: _items(
        value, _derived, _fields(_DERIVED_NAMES), lambda name, expr: _derived({"as": name, "expr": expr})
    ),
    "sort": _sorts,
    "limit_per_group": _limit_per_group,
    "limit": _integer,
}
