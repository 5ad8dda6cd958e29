"""Query specs computed row by row in plain Python: what the engines have to agree with."""

import re
from collections import Counter
from collections.abc import Callable
from datetime import date, datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from agent.queryspec.expressions import Binary, Call, Name, Negative, Number, parse
from agent.sql.rows import json_safe
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
    of_rows = {name for each in aggregations if (name := each["col"]) in derived and name not in columns}
    of_rows |= {name for each in list(of_rows) for name in used(derived[each]) if name in derived}
    for name, node in derived.items():
        for row in rows if name in of_rows else ():
            row[name] = number(node, lambda wanted, row=row: look(row, wanted))
    filters = spec.get("filters", [])
    made = {each["as"] for each in aggregations} | {*derived, *map(group_name, groups)} - of_rows
    of_result = [each for each in filters if each["col"] in made - columns]
    rows = [row for row in rows if all(holds(row, each) for each in filters if each not in of_result)]
    if groups or aggregations:
        table = filled(grouped(rows, groups, aggregations), rows, groups, aggregations)
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


def filled(table: list[Row], rows: list[Row], groups: list[Any], aggregations: list[dict[str, Any]]) -> list[Row]:
    bucket = next((group for group in groups if isinstance(group, dict) and group.get("fill")), None)
    days = [value for row in rows if bucket and (value := look(row, bucket["col"])) is not None]
    if bucket is None or not days:
        return table
    first, last = (datetime(day.year, day.month, day.day) for day in (min(days), max(days)))
    span = range((last - first).days + 1)
    periods = dict.fromkeys(period(first + timedelta(days=day), bucket["by"]) for day in span)
    others = [group_name(group) for group in groups if group is not bucket]
    combinations = dict.fromkeys(tuple(row[name] for name in others) for row in table)
    known = {(tuple(row[name] for name in others), row[group_name(bucket)]) for row in table}
    for combination in combinations:
        for each in periods:
            if (combination, each) not in known:
                key = {**dict(zip(others, combination, strict=True)), group_name(bucket): each}
                zeros = {part["as"]: 0 if part["agg"] in {"sum", "count", "nunique"} else None for part in aggregations}
                table.append({**{name: key[name] for name in map(group_name, groups)}, **zeros})
    return table


def look(row: Row, name: str) -> Any:
    if name in row and name != "main":
        return row[name]
    for key in (f"{row['main']}/{name}", name.replace(".", "/", 1)):
        if key in row:
            return row[key]
    (key,) = [key for key in row if key.endswith(f"/{name}")]
    return row[key]


def holds(row: Row, each: dict[str, Any]) -> bool:
    value, op, wanted = look(row, each["col"]), each["op"], each.get("value", True)
    if op == "is_null":
        return (value is None) == wanted
    if value is None:
        return False
    if op == "contains":
        return wanted.lower() in value.lower()
    if op == "between":
        return compare(value, ">=", wanted[0]) and compare(value, "<=", wanted[1])
    return any(compare(value, "=", one) for one in wanted) if op == "in" else compare(value, op, wanted)


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
    if each["col"] == "*":
        return len(rows)
    values = [value for row in rows if (value := look(row, each["col"])) is not None]
    if each["agg"] in {"count", "nunique"}:
        return len(values if each["agg"] == "count" else set(values))
    if not values:
        return None
    if each["agg"] == "avg":
        return float(sum(values)) / len(values)
    return {"sum": sum, "min": min, "max": max}[each["agg"]](values)


def derive(table: list[Row], derived: dict[str, Any], spec: dict[str, Any]) -> list[Row]:
    groups = spec.get("group_by", [])
    times = [group_name(group) for group in groups if isinstance(group, dict) or group in {"日期", "月份", "created"}]
    others = [group_name(group) for group in groups if group_name(group) not in times]
    sorts = [(name, False) for name in times] or [
        (each["by"], each.get("desc", False)) for each in spec.get("sort", [])
    ]
    if not times:
        sorts += [(name, False) for name in others if name not in dict(sorts)]
    for name, node in derived.items():
        known = [name for name in sorts if table and name[0] in table[0]]
        row_order = order_term(table, known) if known else table
        for row in table:
            peers = [r for r in row_order if not times or all(r[other] == row[other] for other in others)]
            at = next(index for index, peer in enumerate(peers) if peer is row)
            before = peers[at - 1] if at else None
            row[f"\0{name}"] = number(node, row.__getitem__, Window(table, before))
        for row in table:
            row[name] = row.pop(f"\0{name}")
    return table


class Window:
    def __init__(self, table: list[Row], before: Row | None) -> None:
        self.table, self.before = table, before

    def call(self, function: str, node: Any, value: float | None) -> float | None:
        everyone = [number(node, row.__getitem__) for row in self.table]
        known = [each for each in everyone if each is not None]
        if function == "share_of_total":
            return None if value is None or not sum(known) else value / sum(known)
        if function == "rank":
            return None if value is None else 1 + sum(each > value for each in known)
        last = number(node, self.before.__getitem__) if self.before else None
        return None if value is None or last is None else value - last


def number(node: Any, find: Callable[[str], Any], window: Window | None = None) -> Any:
    if isinstance(node, Number):
        return float(node.value)
    if isinstance(node, Name):
        value = find(node.name)
        return None if value is None else float(value)
    if isinstance(node, Call) and node.function in {"share_of_total", "rank", "change_from_previous"}:
        (inner,) = node.arguments
        return window.call(node.function, inner, number(inner, find))
    parts = [number(part, find, window) for part in parts_of(node)]
    if isinstance(node, Call) and node.function == "coalesce":
        return next((part for part in parts if part is not None), None)
    if isinstance(node, Call) and node.function == "nullif":
        return None if parts[0] == parts[1] else parts[0]
    return None if None in parts else calculated(node, parts)


def parts_of(node: Any) -> tuple[Any, ...]:
    if isinstance(node, Negative):
        return (node.of,)
    return (node.left, node.right) if isinstance(node, Binary) else node.arguments


def used(node: Any) -> list[str]:
    if isinstance(node, Name):
        return [node.name]
    return [] if isinstance(node, Number) else [name for part in parts_of(node) for name in used(part)]


def calculated(node: Any, parts: list[float]) -> float | None:
    if isinstance(node, Negative):
        return -parts[0]
    if isinstance(node, Call):
        if node.function == "abs":
            return abs(parts[0])
        digits = Decimal(1).scaleb(-int(parts[1])) if len(parts) == 2 else Decimal(1)
        return float(Decimal(repr(parts[0])).quantize(digits, ROUND_HALF_UP))
    left, right = parts
    if node.operator == "/":
        return left / right if right else None
    return {"+": left + right, "-": left - right, "*": left * right}[node.operator]


def order_term(table: list[Row], sorts: list[tuple[str, bool]]) -> list[Row]:
    for name, is_descending in reversed(sorts):
        known = [row for row in table if row[name] is not None]
        table = sorted(known, key=lambda row: row[name], reverse=is_descending) + [
            row for row in table if row[name] is None
        ]
    return table
