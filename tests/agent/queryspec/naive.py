"""Query specs computed row by row in plain Python: what the engines have to agree with."""

import calendar
import math
import re
import statistics
from collections import Counter
from collections.abc import Callable, Iterable
from datetime import date, datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from datasphinx.agent.queryspec.expressions import (
    Binary,
    Call,
    Case,
    Compare,
    Constant,
    Logical,
    Missing,
    Name,
    Negative,
    Not,
    Number,
    Text,
    names_in,
    parse,
)
from datasphinx.agent.sql.rows import json_safe
from tests.agent.queryspec.tables import DATA, NAMES

Row = dict[str, Any]


def rows_of(
    main: str, spec: dict[str, Any], results: dict[str, dict[str, Any]] | None = None
) -> tuple[list[str], list[list[Any]]]:
    """Return the columns and rows of `spec`, which may read `results`, JSON-safe."""
    table = table_of(main, spec, results or {}, 1000)
    names = list(table[0]) if table else []
    return names, [[json_safe(value) for value in row.values()] for row in table]


def table_of(main: str, spec: dict[str, Any], results: dict[str, dict[str, Any]], limit: int | None) -> list[Row]:
    main, tables = tables_read(main, spec, results)
    rows = joined(main, spec.get("joins", []), tables)
    groups, aggregations = spec.get("group_by", []), spec.get("aggregations", [])
    derived = {each["as"]: parse(each["expr"]) for each in spec.get("derived", [])}
    columns = {
        name.partition("/")[2] if name.startswith(f"{main}/") else name.replace("/", ".", 1)
        for name in everything(tables)
    }
    result = {*map(group_name, groups), *(each["as"] for each in aggregations)}
    of_rows = {name for each in aggregations for name in read_by(each)}
    of_rows |= {group["col"] if isinstance(group, dict) else group for group in groups}
    filters = spec.get("filters", [])
    if groups or aggregations:
        for name in {name for each in filters for name in filtered_names(each)} & derived.keys():
            names = needed(name, derived)
            of_rows |= (
                {name} if names & columns - result and not names & {each["as"] for each in aggregations} else set()
            )
    of_rows = (of_rows & derived.keys()) - columns
    of_rows |= {name for each in list(of_rows) for name in needed(each, derived)} & derived.keys() - columns
    for name, node in derived.items():
        for row in rows if name in of_rows else ():
            row[name] = evaluate(node, lambda wanted, row=row: look(row, wanted))
    made = {each["as"] for each in aggregations} | {*derived, *map(group_name, groups)} - of_rows
    of_result = [each for each in filters if filtered_names(each) & made - columns]
    rows = [row for row in rows if all(holds(row, each) for each in filters if each not in of_result)]
    if groups or aggregations:
        table = filled(grouped(rows, groups, aggregations), rows, groups, aggregations, filters)
    else:
        names = everything(tables)
        table = [{shown(main, name): row[name] for name in names} for row in rows]
    table = derive(table, {name: node for name, node in derived.items() if name not in of_rows}, spec)
    table = [row for row in table if all(holds({**row, "main": main}, each) for each in of_result)]
    sorts = [(each["by"], each.get("desc", False)) for each in spec.get("sort", [])]
    sorts += [(name, False) for name in map(group_name, groups) if name not in dict(sorts)]
    table = order_term(table, sorts)
    if "limit_per_group" in spec:
        table = first_of_groups(table, **spec["limit_per_group"])
    return table[: spec.get("limit", limit)]


def tables_read(
    main: str, spec: dict[str, Any], results: dict[str, dict[str, Any]]
) -> tuple[str, dict[str, list[Row]]]:
    """Return the name of the main dataset, and the rows of all that the spec reads."""

    def read(name: str) -> list[Row]:
        if name in results:
            return table_of("", results[name], results, None)
        data = DATA[NAMES[name]]
        return [dict(zip(data.columns, row, strict=True)) for row in data.rows]

    source = spec.get("from", main)
    if isinstance(source, str):
        tables = {source: read(source)}
    else:
        label = source.get("label", "part")
        parts = [(part.get("as", part["from"]), read(part["from"])) for part in source["union"]]
        source, tables = "union", {"union": [{label: name, **row} for name, rows in parts for row in rows]}
    return source, {**tables, **{join["dataset"]: read(join["dataset"]) for join in spec.get("joins", [])}}


def first_of_groups(table: list[Row], n: int, by: list[str]) -> list[Row]:
    counts: Counter[tuple[Any, ...]] = Counter()
    found = []
    for row in table:
        key = tuple(row[name] for name in by)
        counts[key] += 1
        found += [row] if counts[key] <= n else []
    return found


def everything(tables: dict[str, list[Row]]) -> list[str]:
    return [f"{name}/{column}" for name, rows in tables.items() for column in (rows[0] if rows else ())]


def shown(main: str, name: str) -> str:
    dataset, _, column = name.partition("/")
    return column if dataset == main else f"{dataset}.{column}"


def joined(main: str, joins: list[dict[str, Any]], tables: dict[str, list[Row]]) -> list[Row]:
    marked = {name: [{f"{name}/{column}": row[column] for column in row} for row in rows]
              for name, rows in tables.items()}  # fmt: skip
    rows = [{**row, "main": main} for row in marked[main]]
    for join in joins:
        other, found = marked[join["dataset"]], []
        for row in rows:
            hits = [
                {**row, **match} for match in other
                if all(
                    equal_keys(look(row, left), match[f"{join['dataset']}/{right}"], join.get("cast", {}).get(left))
                    for left, right in join["on"].items()
                )
            ]  # fmt: skip
            missing = [{**row, **dict.fromkeys(other[0])}] if join.get("how") == "left" else []
            found += hits or missing
        rows = found
    return rows


def equal_keys(left: Any, right: Any, kind: str | None) -> bool:
    if left is None or right is None:
        return False
    types = {("text" if isinstance(value, str) else "date" if isinstance(value, date) else "number")
             for value in (left, right)}  # fmt: skip
    if kind is None and (len(types) == 2 or isinstance(left, datetime) != isinstance(right, datetime)):
        kind = "date" if "date" in types else "number"
    if kind is None:
        return bool(left == right)
    if kind == "date":
        return str(left).strip()[:10] == str(right).strip()[:10]
    numbers = [re.fullmatch(r"[+-]?[0-9]+([.][0-9]*)?", str(value).strip()) for value in (left, right)]
    return all(numbers) and Decimal(str(left).strip()) == Decimal(str(right).strip())


def filled(
    table: list[Row],
    rows: list[Row],
    groups: list[Any],
    aggregations: list[dict[str, Any]],
    filters: list[dict[str, Any]],
) -> list[Row]:
    bucket = next((group for group in groups if isinstance(group, dict) and group.get("fill")), None)
    days = [day_of(value) for row in rows if bucket and (value := look(row, bucket["col"])) is not None]
    if bucket is None:
        return table
    low, high = bounds(filters, bucket["col"])
    near = timedelta(days=1000 * {"day": 1, "week": 7, "month": 28, "quarter": 90, "year": 365}[bucket["by"]])
    if days:
        first, last = (datetime(day.year, day.month, day.day) for day in (min(days), max(days)))
        if low and high and high - low <= near:
            first, last = low, high
        first = low if low and first - low <= near else first
        last = high if high and high - last <= near else last
    elif low and high and high - low <= near:
        first, last = low, high
    else:
        return table
    span = range((last - first).days + 1)
    periods = dict.fromkeys(period(first + timedelta(days=day), bucket["by"]) for day in span)
    others = [group_name(group) for group in groups if group is not bucket]
    combinations = dict.fromkeys(tuple(row[name] for name in others) for row in table) if others else {(): None}
    known = {(tuple(row[name] for name in others), row[group_name(bucket)]) for row in table}
    for combination in combinations:
        for each in periods:
            if (combination, each) not in known:
                key = {**dict(zip(others, combination, strict=True)), group_name(bucket): each}
                zeros = {part["as"]: 0 if part["agg"] in {"sum", "count", "nunique"} else None for part in aggregations}
                table.append({**{name: key[name] for name in map(group_name, groups)}, **zeros})
    return table


def bounds(filters: list[dict[str, Any]], name: str) -> tuple[datetime | None, datetime | None]:
    """Return the first and the last day that the conditions on a column admit."""
    lows, highs = [], []
    for each in filters:
        if "all" in each:
            low, high = bounds(each["all"], name)
            lows += [low] if low else []
            highs += [high] if high else []
        if each.get("col") == name and each["op"] in {"between", ">", ">=", "<", "<=", "="}:
            op = each["op"]
            values = each["value"] if op == "between" else [each["value"]]
            times = [datetime.fromisoformat(value) for value in values]
            day = [time.replace(hour=0, minute=0, second=0) for time in times]
            if op in {"between", ">", ">=", "="}:
                lows.append(day[0] + timedelta(days=op == ">" and len(values[0]) == 10))
            if op in {"between", "<", "<=", "="}:
                highs.append(day[-1] - timedelta(days=op == "<" and day[-1] == times[-1]))
    if lows and highs and max(lows) > min(highs):
        return None, None
    return max(lows, default=None), min(highs, default=None)


def look(row: Row, name: str) -> Any:
    if name in row and name != "main":
        return row[name]
    for key in (f"{row['main']}/{name}", name.replace(".", "/", 1)):
        if key in row:
            return row[key]
    (key,) = [key for key in row if key.endswith(f"/{name}")]
    return row[key]


def filtered_names(each: dict[str, Any]) -> set[str]:
    if "col" not in each:
        return {name for part in each.get("any", each.get("all")) for name in filtered_names(part)}
    return {each["col"]} | ({each["other"]} if "other" in each else set())


def read_by(aggregation: dict[str, Any]) -> set[str]:
    col = aggregation["col"]
    names = {*col} if isinstance(col, list) else {col}
    names |= {aggregation["order_by"]} if "order_by" in aggregation else set()
    return names | {name for each in aggregation.get("where", []) for name in filtered_names(each)}


def needed(name: str, derived: dict[str, Any]) -> set[str]:
    """The names that a derived column needs, directly or not."""
    found: set[str] = set()
    todo = [name]
    while todo:
        new = {*names_in(derived[each])} - found if (each := todo.pop()) in derived else set()
        found |= new
        todo += new
    return found


def holds(row: Row, each: dict[str, Any]) -> bool:
    if "any" in each:
        return any(holds(row, part) for part in each["any"])
    if "all" in each:
        return all(holds(row, part) for part in each["all"])
    value = look(row, each["col"])
    return differ(value, each["op"], look(row, each["other"])) if "other" in each else meets(value, each)


def meets(value: Any, each: dict[str, Any]) -> bool:
    op, wanted = each["op"], each.get("value", True)
    if op == "is_null":
        return (value is None) == wanted
    if op in {"!=", "not_in", "not_contains"} and value is None:
        return True
    if value is None:
        return False
    if op.startswith("not_"):
        return not meets(value, {**each, "op": op.removeprefix("not_")})
    if op in {"contains", "starts_with", "ends_with"}:
        return found_in(value, op, wanted)
    if op == "matches":
        return re.search(wanted, value, re.ASCII | re.DOTALL) is not None
    if op == "between":
        return compare(value, ">=", wanted[0]) and compare(value, "<=", wanted[1])
    return any(compare(value, "=", one) for one in wanted) if op == "in" else compare(value, op, wanted)


def found_in(value: str, op: str, wanted: str) -> bool:
    value, wanted = value.lower(), wanted.lower()
    return {"contains": wanted in value, "starts_with": value.startswith(wanted), "ends_with": value.endswith(wanted)}[
        op
    ]


def differ(left: Any, op: str, right: Any) -> bool:
    """Compare two cells; a date and a time as dates."""
    if left is None or right is None:
        return op == "!=" and left is not right
    if isinstance(left, datetime) != isinstance(right, datetime):
        left, right = (each.date() if isinstance(each, datetime) else each for each in (left, right))
    return {
        "=": left == right, "!=": left != right, ">": left > right, ">=": left >= right, "<": left < right,
        "<=": left <= right,
    }[op]  # fmt: skip


def compare(value: Any, op: str, wanted: Any) -> bool:
    low = high = wanted
    if isinstance(value, datetime):
        low = high = datetime.fromisoformat(wanted)
        high = low + timedelta(days=1) - timedelta(microseconds=1) if len(wanted) == 10 else high
    elif isinstance(value, date):
        low = high = date.fromisoformat(wanted)
    elif isinstance(value, Decimal):
        low = high = Decimal(str(wanted))
    return {
        "=": low <= value <= high, "!=": not low <= value <= high, ">": value > high, ">=": value >= low,
        "<": value < low, "<=": value <= high,
    }[op]  # fmt: skip


def group_name(group: Any) -> str:
    return f"{group['col']}_{group['by']}" if isinstance(group, dict) else group


def period(value: date | None, by: str) -> str | None:
    if value is None:
        return None
    year, week, _ = value.isocalendar()
    return {
        "day": f"{value:%Y-%m-%d}", "week": f"{year}-W{week:02}", "month": f"{value:%Y-%m}",
        "quarter": f"{value.year}-Q{(value.month + 2) // 3}", "year": f"{value:%Y}",
    }[by]  # fmt: skip


def grouped(rows: list[Row], groups: list[Any], aggregations: list[dict[str, Any]]) -> list[Row]:
    found: dict[tuple[Any, ...], list[Row]] = {} if groups else {(): []}
    for row in rows:
        key = tuple(
            period(look(row, group["col"]), group["by"]) if isinstance(group, dict) else look(row, group)
            for group in groups
        )
        found.setdefault(key, []).append(row)
    return [
        {
            **dict(zip(map(group_name, groups), key, strict=True)),
            **{each["as"]: figure(members, each) for each in aggregations},
        }
        for key, members in found.items()
    ]


def figure(rows: list[Row], each: dict[str, Any]) -> Any:
    rows = [row for row in rows if all(holds(row, part) for part in each.get("where", []))]
    name, col = each["agg"], each["col"]
    if col == "*":
        return len(rows)
    cols = col if isinstance(col, list) else [col, *([each["order_by"]] if "order_by" in each else [])]
    cells = [tuple(look(row, name) for name in cols) for row in rows]
    cells = [cell for cell in cells if None not in cell]
    values = [cell[0] for cell in cells]
    if name in {"count", "nunique"}:
        return len(values if name == "count" else {*cells})
    if not values:
        return None
    if name in {"first", "last"}:
        place = (min if name == "first" else max)(order for _, order in cells)
        return min(value for value, order in cells if order == place)
    if name == "mode":
        numbers = Counter(values)
        return min(value for value in values if numbers[value] == max(numbers.values()))
    return (
        {"sum": sum, "min": min, "max": max}[name](values) if name in {"sum", "min", "max"} else statistic(cells, each)
    )


def statistic(cells: list[tuple[Any, ...]], each: dict[str, Any]) -> float | None:
    values = sorted(float(cell[0]) for cell in cells)
    if each["agg"] == "avg":
        return float(sum(cell[0] for cell in cells)) / len(values)
    if each["agg"] in {"median", "percentile"}:
        place = each.get("p", 0.5) * (len(values) - 1)
        low, high = values[math.floor(place)], values[math.ceil(place)]
        return low + (high - low) * (place - math.floor(place))
    if each["agg"] == "corr":
        left, right = ([float(cell[at]) for cell in cells] for at in (0, 1))
        varies = len({*left}) > 1 and len({*right}) > 1
        return statistics.correlation(left, right) if varies else None
    if len(values) < 2:
        return None
    return statistics.stdev(values) if each["agg"] == "stddev" else statistics.variance(values)


def derive(table: list[Row], derived: dict[str, Any], spec: dict[str, Any]) -> list[Row]:
    for name, node in derived.items():
        window = Window(table, spec)
        for row in table:
            row[f"\0{name}"] = evaluate(
                node, row.__getitem__, lambda call, row=row, window=window: window.call(call, row)
            )
        for row in table:
            row[name] = row.pop(f"\0{name}")
    return table


class Window:
    """What functions of several rows of a result give."""

    def __init__(self, table: list[Row], spec: dict[str, Any]) -> None:
        self.table = table
        groups = spec.get("group_by", [])
        self.groups = [group_name(group) for group in groups]
        self.times = [
            group_name(group) for group in groups if isinstance(group, dict) or group in {"日期", "月份", "created"}
        ]
        self.sorts = [(each["by"], each.get("desc", False)) for each in spec.get("sort", [])]

    def call(self, call: Call, row: Row) -> Any:
        (of, *rest), function = call.arguments, call.function
        number = int(rest[0].value) if rest else 1
        if function in {"share", "share_of_total", "rank"}:
            known = [each for each in self.values(of, self.peers(row, call.within or ())) if each is not None]
            value = evaluate(of, row.__getitem__)
            if function == "rank":
                return None if value is None else 1 + sum(each > value for each in known)
            return None if value is None or not sum(known) else value / sum(known)
        rows = self.ordered(call, row)
        at = next(index for index, each in enumerate(rows) if each is row)
        values = self.values(of, rows)
        if function in {"lag", "change_from_previous"}:
            before = values[at - number] if at >= number else None
            if function == "lag":
                return before
            return None if values[at] is None or before is None else values[at] - before
        first = 0 if function == "cumulative" else max(0, at - number + 1)
        known = [each for each in values[first : at + 1] if each is not None]
        return (sum(known) / (1 if function == "cumulative" else len(known))) if known else None

    def values(self, node: Any, rows: list[Row]) -> list[Any]:
        return [evaluate(node, row.__getitem__) for row in rows]

    def peers(self, row: Row, within: Iterable[str]) -> list[Row]:
        return [each for each in self.table if all(each[name] == row[name] for name in within)]

    def ordered(self, call: Call, row: Row) -> list[Row]:
        within = list(call.within or ())
        if call.order_by:
            sorts = [(call.order_by.name, call.order_by.desc)]
        elif self.times:
            sorts = [(name, False) for name in self.times]
            within = within or [name for name in self.groups if name not in self.times]
        else:
            sorts = self.sorts
        sorts = [each for each in sorts if each[0] not in within]
        sorts += [(name, False) for name in self.groups if name not in {*within, *dict(sorts)}]
        return order_term(self.peers(row, within), [each for each in sorts if each[0] in row])


def evaluate(node: Any, find: Callable[[str], Any], window: Callable[[Call], Any] | None = None) -> Any:
    """Return the value of an expression; numbers are floats."""
    if isinstance(node, Number):
        return float(node.value)
    if isinstance(node, Text | Constant):
        return node.value
    if isinstance(node, Name):
        value = find(node.name)
        return float(value) if isinstance(value, int | Decimal) and not isinstance(value, bool) else value
    if isinstance(node, Case):
        chosen = next(
            (value for condition, value in node.branches if evaluate(condition, find, window)), node.otherwise
        )
        return evaluate(chosen, find, window)
    if isinstance(node, Logical):
        both = (bool(evaluate(part, find, window)) for part in (node.left, node.right))
        return all(both) if node.operator == "and" else any(both)
    if isinstance(node, Not):
        return not evaluate(node.of, find, window)
    if isinstance(node, Missing):
        return evaluate(node.of, find, window) is None
    if isinstance(node, Compare):
        return compared(node, find, window)
    if isinstance(node, Call) and node.function in WINDOWS:
        return window(node)
    return calculated(node, [evaluate(part, find, window) for part in parts_of(node)])


WINDOWS = {"share_of_total", "share", "rank", "lag", "change_from_previous", "cumulative", "moving_avg"}


def compared(node: Compare, find: Callable[[str], Any], window: Callable[[Call], Any] | None) -> bool:
    left, right = (evaluate(part, find, window) for part in (node.left, node.right))
    operator = node.operator
    if isinstance(left, str) and isinstance(right, date):
        left, right, operator = right, left, operator.translate(str.maketrans("<>", "><"))
    if isinstance(left, date) and isinstance(right, str):
        return compare(left, operator, right)
    return differ(left, operator, right)


def parts_of(node: Any) -> tuple[Any, ...]:
    if isinstance(node, Negative):
        return (node.of,)
    return (node.left, node.right) if isinstance(node, Binary) else node.arguments


def calculated(node: Any, parts: list[Any]) -> Any:
    function = node.function if isinstance(node, Call) else ""
    if function == "coalesce":
        return next((part for part in parts if part is not None), None)
    if function == "nullif":
        return None if parts[0] == parts[1] else parts[0]
    if function == "concat":
        return "".join(map(as_text, parts))
    if function in {"contains", "starts_with", "ends_with"}:
        return parts[0] is not None and found_in(parts[0], function, parts[1])
    if None in parts:
        return None
    if function:
        return FUNCTIONS[function](*parts)
    if isinstance(node, Negative):
        return -parts[0]
    left, right = parts
    if node.operator == "/":
        return left / right if right else None
    if node.operator == "%":
        return left - right * math.floor(left / right) if right else None
    return {"+": left + right, "-": left - right, "*": left * right}[node.operator]


def as_text(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:g}" if isinstance(value, float) else str(value)


def rounded(value: float, digits: float = 0) -> float:
    return float(Decimal(repr(value)).quantize(Decimal(1).scaleb(-int(digits)), ROUND_HALF_UP))


def logarithm(value: float, base: float = math.e) -> float | None:
    return math.log(value) / math.log(base) if value > 0 else None


def day_of(value: Any) -> date:
    value = date.fromisoformat(value[:10]) if isinstance(value, str) else value
    return value.date() if isinstance(value, datetime) else value


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": abs,
    "round": rounded,
    "sqrt": lambda value: math.sqrt(value) if value >= 0 else None,
    "log": logarithm,
    "lower": str.lower,
    "upper": str.upper,
    "trim": lambda text: text.strip(" "),
    "replace": str.replace,
    "initcap": lambda text: " ".join(word[:1].upper() + word[1:] for word in text.lower().split(" ")),
    "normalize_space": lambda text: " ".join(re.split("[ \t\n\r\xa0]+", text)).strip(" "),
    "year": lambda day: day.year,
    "quarter": lambda day: (day.month + 2) // 3,
    "month": lambda day: day.month,
    "iso_week": lambda day: day.isocalendar().week,
    "day": lambda day: day.day,
    "weekday": lambda day: day.isoweekday(),
    "weekday_name": lambda day: calendar.day_name[day.weekday()],
    "hour": lambda time: time.hour,
    "minute": lambda time: time.minute,
    "floor": lambda value: float(math.floor(value)),
    "ceil": lambda value: float(math.ceil(value)),
    "mod": lambda value, by: value - by * math.floor(value / by) if by else None,
    "length": len,
    "left": lambda text, count: text[: int(count)],
    "fiscal_year": lambda day, start: day.year + (start > 1 and day.month >= start),
    "fiscal_quarter": lambda day, start: int((day.month - start) % 12 // 3) + 1,
    "days_between": lambda first, last: (day_of(last) - day_of(first)).days,
}


def order_term(table: list[Row], sorts: list[tuple[str, bool]]) -> list[Row]:
    for name, is_descending in reversed(sorts):
        known = [row for row in table if row[name] is not None]
        table = sorted(known, key=lambda row: row[name], reverse=is_descending) + [
            row for row in table if row[name] is None
        ]
    return table
