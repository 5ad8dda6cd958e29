"""Corrected forms of the wrong parts of a spec, for the model that wrote it.

Candidates are made from the wrong part: similar names and converted values. The first one that is valid in place of
the part is shown; none if the query would be about something else, or would read other data.
"""

import json
import re
from calendar import monthrange
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from datetime import date
from difflib import SequenceMatcher
from typing import Any

from agent.errors import SpecProblem
from agent.schema.catalog import TypeClass

Json = dict[str, Any]
Path = list[str | int]
FindProblems = Callable[[Json], Sequence[SpecProblem]]
"""Returns the problems of a spec, without corrections."""

UNKNOWN_FIELD = "there is no such field"
"""The reason of a problem whose path is a field that does not exist."""
_MIN_SIMILARITY = 0.6
_MAX_PROBLEMS = 5
_MAX_CANDIDATES = 12
_MAX_LENGTH = 600
_STEPS = re.compile(r"\[(\d+)\]|([^.\[\]]+)")
_ISO_DATE = re.compile(r"(\d{4})[-/.年](\d{1,2})(?:[-/.月](\d{1,2}))?")
_DAY_FIRST = re.compile(r"(\d{1,2})[-/.](\d{1,2})[-/.](\d{4})")
_YEAR = re.compile(r"\d{4}")
_PERIOD = re.compile(r"([12]\d{3})(?:[-/.年](\d{1,2})月?)?")
_MONTHS = 12
_MAX_EXAMPLE = 1e15
_TRUE = {"true", "yes", "y", "1", "да", "是"}


def with_corrections(
    problems: Sequence[SpecProblem], spec: Any, find: FindProblems, columns: Mapping[str, TypeClass] | None = None
) -> tuple[SpecProblem, ...]:
    """Return `problems`, the first five with the corrected part as JSON where one is found.

    `columns` are those that the spec can name, with their types; without them, examples keep the names of the spec.
    """
    if not isinstance(spec, dict):
        return tuple(problems)
    try:
        first = [
            problem if problem.corrected else replace(problem, corrected=_corrected(problem, spec, find, columns or {}))
            for problem in problems[:_MAX_PROBLEMS]
        ]
    except RecursionError:
        # A spec that is nested so deeply has no corrected form worth showing.
        return tuple(problems)
    return (*first, *problems[_MAX_PROBLEMS:])


def _corrected(problem: SpecProblem, spec: Json, find: FindProblems, columns: Mapping[str, TypeClass]) -> str:
    path = _path(problem.path)
    if not path:
        return ""
    if len(path) == 1 and problem.reason == UNKNOWN_FIELD:
        rest = {name: value for name, value in spec.items() if name in _FIELDS}
        text = json.dumps(rest, ensure_ascii=False, default=str)
        return text if len(text) <= _MAX_LENGTH and not find(rest) else ""
    place = path[:2] if len(path) > 1 and isinstance(path[1], int) else path[:1]
    said = [str(path[-1]), *re.findall(r"[^\W\d][\w. ]*", str(_get(spec, path)))]
    near = tuple(name for name in problem.nearest if any(_are_similar(name, each) for each in said))
    problem = replace(problem, nearest=near)
    tried: list[str] = []
    for candidate in _candidates(problem, path, place, spec, columns):
        try:
            text = json.dumps(candidate, ensure_ascii=False, allow_nan=False)
            text.encode()
        except ValueError:
            continue
        if text in tried or len(text) > _MAX_LENGTH:
            continue
        tried.append(text)
        prefix = _text(place)
        corrected = _replaced(spec, place, candidate)
        if _data_read(corrected) != _data_read(spec):
            continue
        others = find(corrected)
        if not any(other.path == prefix or re.match(rf"{re.escape(prefix)}[.\[]", other.path) for other in others):
            return text
        if len(tried) == _MAX_CANDIDATES:
            break
    return ""


def _data_read(spec: Json) -> list[str]:
    """Return the names of datasets and results in a spec as JSON, in order."""
    source, joins = spec.get("from"), spec.get("joins")
    parts = source.get("union") if isinstance(source, dict) else [{"from": source}]
    named = [(part, "from") for part in parts or ()] if isinstance(parts, list) else []
    named += [(join, "dataset") for join in joins] if isinstance(joins, list) else []
    return [str(part.get(field)) for part, field in named if isinstance(part, dict)]


def _are_similar(name: str, said: str) -> bool:
    name, said = name.casefold(), said.strip().casefold()
    return said in name or name in said or SequenceMatcher(None, name, said).ratio() >= _MIN_SIMILARITY


def _candidates(
    problem: SpecProblem, path: Path, place: Path, spec: Json, columns: Mapping[str, TypeClass]
) -> Iterator[Any]:
    """Yield replacements of the part at `place` that may solve `problem`, the closest to the part first."""
    part, leaf = _get(spec, place), _get(spec, path)
    inner = path[len(place) :]
    for name in problem.nearest:
        if isinstance(leaf, str) and str(path[-1]) != "expr":
            yield _replaced(part, inner, name) if inner else name
        elif isinstance(leaf, str):
            yield from (_replaced(part, inner, text) for text in _renamed_expressions(leaf, name, problem.reason))
    if isinstance(part, dict) and len(inner) == 1 and inner[0] in part:
        rest = {name: value for name, value in part.items() if name != inner[0]}
        for name in problem.nearest:
            yield {**rest, name: part[str(inner[0])]}
        yield rest
    if isinstance(leaf, list):
        yield _replaced(part, inner, leaf[:1]) if inner else leaf[:1]
    examples = _EXAMPLES.get(str(place[0]))
    if examples:
        yield from examples(part if isinstance(part, dict) else {}, problem, columns)


def _renamed_expressions(text: str, name: str, reason: str) -> Iterator[str]:
    """Yield `text` with a name that the reason tells replaced by `name`."""
    quoted = name if re.fullmatch(r"[^\W\d]\w*(\.[^\W\d]\w*)*", name) else '"' + name.replace('"', '""') + '"'
    for found in dict.fromkeys(re.findall(r'"[^"]+"|[^\W\d][\w.]*', text)):
        if found.strip('"') in reason:
            yield text.replace(found, quoted)


def _filter_examples(part: Json, problem: SpecProblem, columns: Mapping[str, TypeClass]) -> Iterator[Any]:
    op, value = part.get("op"), part.get("value", 1)
    for col in (part.get("col"), *problem.nearest):
        if not isinstance(col, str) or columns and col not in columns:
            continue
        for fitting in (op, "=") if isinstance(op, str) else ("=",):
            span = _span(str(value)) if columns.get(col) in {"date", "datetime"} else None
            if span and fitting == "=":
                yield {"col": col, "op": "between", "value": list(span)}
            elif span and fitting in {">", ">=", "<", "<="}:
                yield {"col": col, "op": fitting, "value": span[fitting in {">", "<="}]}
            converted = _converted(value, columns.get(col, "other"))
            values = list(converted) if isinstance(converted, list) else [converted]
            if not values or None in values:
                continue
            values = sorted(values, key=str) if fitting == "between" and len(values) > 1 else values
            if fitting == "between" and len(values) != 2:
                values = [values[0], values[0]]
            if fitting in {"in", "not_in", "between"}:
                yield {"col": col, "op": fitting, "value": values}
            yield {"col": col, "op": fitting, "value": values[0]}


def _converted(value: Any, kind: TypeClass) -> Any:
    """Return a value, or each of several, as one of type `kind`; None for one that is none."""
    if isinstance(value, list):
        return [_converted(each, kind) for each in value]
    text = str(value).strip()
    if kind == "number":
        found = re.search(r"-?\d+(\.\d+)?", text.replace(",", ""))
        if not found or len(found[0]) >= 18:
            return None
        number = float(found[0])
        return int(number) if number.is_integer() else number
    if kind == "boolean":
        return text.lower() in _TRUE
    if kind in {"date", "datetime"}:
        return _date(text)
    if kind == "other" and isinstance(value, int | float) and abs(value) < _MAX_EXAMPLE:
        return value
    if kind == "other" and not isinstance(value, str):
        return None
    return "".join(character for character in text if character.isprintable())[:100] or None


def _span(text: str) -> tuple[str, str] | None:
    """Return the first and the last day of a year or month, such as `2024` or `2024-03`."""
    match = _PERIOD.fullmatch(text.strip())
    if not match or match[2] and not 1 <= int(match[2]) <= _MONTHS:
        return None
    year, month = int(match[1]), int(match[2] or _MONTHS)
    return date(year, int(match[2] or 1), 1).isoformat(), date(year, month, monthrange(year, month)[1]).isoformat()


def _date(text: str) -> str | None:
    if match := _ISO_DATE.search(text):
        numbers = int(match[1]), int(match[2]), int(match[3] or 1)
    elif match := _DAY_FIRST.search(text):
        numbers = int(match[3]), int(match[2]), int(match[1])
    elif match := _YEAR.search(text):
        numbers = int(match[0]), 1, 1
    else:
        return None
    try:
        return date(*numbers).isoformat()
    except ValueError:
        return None


def _group_examples(part: Json, problem: SpecProblem, columns: Mapping[str, TypeClass]) -> Iterator[Any]:
    names = [name for name in (part.get("col"), *problem.nearest) if isinstance(name, str)]
    for name in names:
        yield {"col": name, "by": part["by"]} if isinstance(part.get("by"), str) else name
        yield {"col": name, "by": "month"} if part else name
        yield name


def _aggregation_examples(part: Json, problem: SpecProblem, columns: Mapping[str, TypeClass]) -> Iterator[Any]:
    name = re.sub(r"\s+", " ", str(part.get("as", ""))).strip()[:60]
    name = "".join(character for character in name if character.isprintable()) or "n"
    yield {**part, "as": f"{name[:50]}_2"}
    if part.get("agg") in ("first", "last") and "order_by" not in part and columns:
        yield {**part, "order_by": min(columns, key=lambda name: columns[name] not in {"date", "datetime"})}
    if part.get("agg") == "percentile":
        yield {**part, "p": 0.5}
    for col in (part.get("col"), *problem.nearest):
        yield {**part, "as": name, "col": col}


def _derived_examples(part: Json, problem: SpecProblem, columns: Mapping[str, TypeClass]) -> Iterator[Any]:
    yield {"as": f"{str(part.get('as', ''))[:50] or 'd'}_2", "expr": part.get("expr")}


def _sort_examples(part: Json, problem: SpecProblem, columns: Mapping[str, TypeClass]) -> Iterator[Any]:
    is_descending = part.get("desc") is True
    for name in (part.get("by"), *problem.nearest):
        yield {"by": name, "desc": is_descending}
        # For a missing sort, the whole list is the part.
        yield [{"by": name, "desc": True}]


def _join_examples(part: Json, problem: SpecProblem, columns: Mapping[str, TypeClass]) -> Iterator[Any]:
    on = part.get("on")
    keys = dict(on) if isinstance(on, Mapping) else {}
    for name in problem.nearest:
        for left, right in keys.items():
            rest = {other: value for other, value in keys.items() if other != left}
            yield {**part, "on": {**rest, name: right}}
            yield {**part, "on": {**rest, left: name}}
    yield {**part, "cast": {}}


def _per_group_examples(part: Json, problem: SpecProblem, columns: Mapping[str, TypeClass]) -> Iterator[Any]:
    numbers = part.get("n"), 3
    for by in (part.get("by"), *([name] for name in problem.nearest)):
        for n in numbers:
            yield {"n": n, "by": by}


def _source_examples(part: Json, problem: SpecProblem, columns: Mapping[str, TypeClass]) -> Iterator[Any]:
    if "union" in part:
        parts = [each for each in part["union"] if isinstance(each, dict)] if isinstance(part["union"], list) else []
        yield {"union": [{**each, "as": str(at)} for at, each in enumerate(parts, 1)]}
        yield {**part, "label": "part_2"}


_EXAMPLES: dict[str, Callable[[Json, SpecProblem, Mapping[str, TypeClass]], Iterator[Any]]] = {
    "filters": _filter_examples,
    "group_by": _group_examples,
    "aggregations": _aggregation_examples,
    "derived": _derived_examples,
    "sort": _sort_examples,
    "joins": _join_examples,
    "limit": lambda *_: iter([10]),
    "limit_per_group": _per_group_examples,
    "from": _source_examples,
}


_FIELDS = {*_EXAMPLES, "limit"}
"""The fields of a spec."""


def _path(text: str) -> Path:
    return [int(match[1]) if match[1] else match[2] for match in _STEPS.finditer(text)]


def _text(path: Path) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).removeprefix(".")


def _get(data: Any, path: Path) -> Any:
    for step in path:
        try:
            data = data[step]
        except (KeyError, IndexError, TypeError):
            return None
    return data


def _replaced(data: Any, path: Path, value: Any) -> Any:
    """Return a copy of `data` with `value` at `path`."""
    if not path:
        return deepcopy(value)
    copied = deepcopy(data)
    place = _get(copied, path[:-1])
    step: Any = path[-1]
    if isinstance(place, dict) or (isinstance(place, list) and isinstance(step, int) and step < len(place)):
        place[step] = deepcopy(value)
    return copied
