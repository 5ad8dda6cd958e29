"""Whether what is derived can be read, and speaks of what is there before it."""

from collections.abc import Iterator, Mapping

from agent.catalog.type_class import TypeClass
from agent.errors import SpecProblem
from agent.queryspec.datasets import Scope, nearest
from agent.queryspec.expressions import Call, Node, names_in, parse, walk, windows_in
from agent.queryspec.outputs import base_outputs, parsed, row_level, times_of
from agent.queryspec.spec import Derived, QuerySpec

MAX_EXPANDED = 300
"""Parts of an expression of rows, with all that it is made of put into it."""

MAX_LAYERS = 6
"""Steps from what is derived of nothing derived to what is derived of it."""


def check_derived(spec: QuerySpec, scope: Scope) -> Iterator[SpecProblem]:
    """Yield what is wrong with the derived columns of `spec`."""
    checker = _Checker(spec, scope)
    for index, each in enumerate(spec.derived):
        yield from checker.problems(index, each)


def made_of_aggregates(spec: QuerySpec, nodes: Mapping[str, Node], scope: Scope) -> set[str]:
    """Return the names of the aggregations and of what is derived of them, but for those of columns."""
    made = {each.name for each in spec.aggregations if not scope.places(each.name)}
    for _ in nodes:
        made |= {name for name, node in nodes.items() if made & set(names_in(node)) and not scope.places(name)}
    return made


class _Checker:
    """The checks of one spec, in the order of what it derives."""

    def __init__(self, spec: QuerySpec, scope: Scope) -> None:
        self._spec, self._scope = spec, scope
        self._nodes = parsed(spec)
        made = made_of_aggregates(spec, self._nodes, scope)
        self._rows = row_level(spec, self._nodes, scope) - made
        self._base = {output.name: output.type_class for output in base_outputs(spec, scope)}
        self._size: dict[str, int] = {}
        self._layer: dict[str, int] = {}
        """The sizes of what is derived of rows, and the layers of what is derived of the result, so far."""

    def problems(self, index: int, each: Derived) -> Iterator[SpecProblem]:
        """Yield what is wrong with the derived column at `index`."""
        path = f"derived[{index}].expr"
        try:
            node = parse(each.expr)
        except ValueError as error:
            yield SpecProblem(path, str(error))
            return
        is_row = each.name in self._rows
        for name in names_in(node):
            yield from self._in_row(name, each, path) if is_row else self._in_result(name, each, path)
        yield from self._windows(node, each, path, is_row)
        yield from self._sizes(node, each, path, is_row)

    def _in_row(self, name: str, each: Derived, path: str) -> Iterator[SpecProblem]:
        if name in self._size and not self._scope.places(name):
            return
        places = self._scope.places(name)
        if len(places) == 1:
            yield from _not_a_number(name, places[0].column.type_class, path)
        elif places:
            full = tuple(f"{place.dataset}.{name}" for place in places)
            yield SpecProblem(path, f"more than one joined dataset has a column {name}", full)
        else:
            yield self._unknown(name, each, path, {**dict.fromkeys(self._scope.columns), **self._size})

    def _in_result(self, name: str, each: Derived, path: str) -> Iterator[SpecProblem]:
        if name in self._layer and name not in self._base:
            return
        if name in self._base:
            yield from _not_a_number(name, self._base[name], path)
        elif name in self._rows:
            yield SpecProblem(path, f"{name} is of each row, not of the result: aggregate it", tuple(self._base))
        elif self._spec.is_grouped and self._scope.places(name):
            text = f"{name} is a column of the rows, not of the result: group by it or aggregate it"
            yield SpecProblem(path, text, nearest(name, self._base))
        else:
            yield self._unknown(name, each, path, {**self._base, **self._layer})

    def _unknown(self, name: str, each: Derived, path: str, known: Mapping[str, object]) -> SpecProblem:
        if name == each.name or each.name in self._all_of(name):
            return SpecProblem(path, f"{each.name} is made of itself, in a circle")
        if name in self._nodes:
            return SpecProblem(path, f"{name} is derived later: put it before {each.name}")
        return SpecProblem(path, f"there is no column {name}", nearest(name, known))

    def _all_of(self, name: str) -> set[str]:
        """Return the names that the derived column `name` is made of, however many steps away."""
        found: set[str] = set()
        todo = [name]
        while todo:
            node = self._nodes.get(todo.pop())
            fresh = set(names_in(node)) - found if node else set()
            found |= fresh
            todo += fresh
        return found

    def _windows(self, node: Node, each: Derived, path: str, is_row: bool) -> Iterator[SpecProblem]:
        for call in windows_in(node):
            if is_row:
                text = f"{call.function} is of the result, and {each.name} is of each row, since it is aggregated"
                yield SpecProblem(path, text)
            if any(inner is not call and inner in windows_in(call) for inner in windows_in(call)):
                text = f"a window function stands in {call.function}: derive it first, under a name of its own"
                yield SpecProblem(path, text)
            if call.function == "change_from_previous" and not is_row:
                yield from self._order(call, each, path)

    def _order(self, call: Call, each: Derived, path: str) -> Iterator[SpecProblem]:
        if times_of(self._spec, self._scope):
            return
        later = [sort.by for sort in self._spec.sort if sort.by not in self._base and sort.by not in self._layer]
        if not self._spec.sort:
            yield SpecProblem(
                path, f"{call.function} needs a group that is a period, or a sort, to know what is before"
            )
        elif later:
            text = f"{call.function} goes by the sort, and {later[0]} is not there before {each.name}"
            yield SpecProblem(path, text)

    def _sizes(self, node: Node, each: Derived, path: str, is_row: bool) -> Iterator[SpecProblem]:
        used = names_in(node)
        if is_row:
            size = sum(self._size.get(getattr(part, "name", ""), 1) for part in walk(node))
            self._size[each.name] = min(size, MAX_EXPANDED)
            if size > MAX_EXPANDED:
                yield SpecProblem(path, f"with all that it is made of it has more than {MAX_EXPANDED} parts")
            return
        layer = 1 + max((self._layer.get(name, 0) for name in used), default=0)
        self._layer[each.name] = layer
        if layer > MAX_LAYERS:
            yield SpecProblem(path, f"it is derived of what is derived, more than {MAX_LAYERS} steps deep")


def _not_a_number(name: str, kind: TypeClass, path: str) -> Iterator[SpecProblem]:
    if kind != "number":
        yield SpecProblem(path, f"{name} holds {kind}, and expressions are of numbers")
