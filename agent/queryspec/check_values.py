"""Whether a filter's operator and values fit the type of its column."""

from collections.abc import Iterator

from agent.catalog.type_class import TypeClass
from agent.errors import SpecProblem
from agent.queryspec.moments import read_date, read_span
from agent.queryspec.spec import Between, Contains, Filter, IsNull

_COMPARED: tuple[TypeClass, ...] = ("number", "text", "date", "datetime")


def value_problems(condition: Filter, kind: TypeClass, path: str) -> Iterator[SpecProblem]:
    """Yield what stands against `condition`, at `path`, on a column that holds `kind`."""
    if isinstance(condition, IsNull):
        return
    wrong = _operator_problem(condition, kind)
    if wrong:
        yield SpecProblem(f"{path}.op", wrong)
        return
    values = condition.value if isinstance(condition.value, list) else [condition.value]
    found = [(index, reason) for index, value in enumerate(values) if (reason := _value_problem(value, kind))]
    for index, reason in found:
        place = f"{path}.value[{index}]" if isinstance(condition.value, list) else f"{path}.value"
        yield SpecProblem(place, f"{condition.col} holds {kind}: {reason}")
    if isinstance(condition, Between) and not found and _is_reversed(condition, kind):
        yield SpecProblem(f"{path}.value", "the lowest value comes first, then the highest")


def _operator_problem(condition: Filter, kind: TypeClass) -> str | None:
    if kind not in (*_COMPARED, "boolean"):
        return f"{condition.col} holds {kind}, of which only is_null can be asked"
    if isinstance(condition, Contains) and kind != "text":
        return f"{condition.col} holds {kind}, and contains looks into text"
    if kind == "boolean" and condition.op not in {"=", "!=", "in"}:
        return f"{condition.col} holds true or false, which have no order"
    return None


def _value_problem(value: str | int | float | bool, kind: TypeClass) -> str | None:
    if kind == "boolean":
        return None if isinstance(value, bool) or value in (0, 1) else "true or false is expected"
    if kind == "number":
        return None if isinstance(value, int | float) and not isinstance(value, bool) else "a number is expected"
    if not isinstance(value, str):
        return "a text is expected" if kind == "text" else "a date as text, such as 2024-03-31, is expected"
    try:
        if kind != "text":
            read_date(value) if kind == "date" else read_span(value)
    except ValueError as error:
        return str(error)
    return None


def _is_reversed(condition: Between, kind: TypeClass) -> bool:
    low, high = condition.value
    if kind == "text":
        return False
    if kind == "number":
        return low > high  # type: ignore[operator]
    return read_span(str(low)).start > read_span(str(high)).start
