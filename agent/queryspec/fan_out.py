"""Fan-out: a join that repeats rows, so that sums, averages and counts over them count values several times.

An aggregation is over the rows of a dataset if each of them occurs at most once among the joined and filtered rows, or
if its dataset was looked up for such rows: over orders with the customer of each, the price and the customer's age can
be averaged per order; over customers with the orders of each, a column of the customers cannot.
"""

from collections.abc import Collection, Iterator

from datasphinx.agent.errors import SpecProblem
from datasphinx.agent.queryspec.columns import Names, united_columns
from datasphinx.agent.queryspec.expressions import names_in
from datasphinx.agent.queryspec.spec import Aggregation, Join, Union, output_name

_UNAFFECTED = ("min", "max", "nunique", "first", "last")
"""Aggregations that repeated rows do not change."""


class FanOut:
    """The fan-out of one checked spec. `unique` has the datasets whose rows occur at most once, found in the data."""

    def __init__(self, names: Names, unique: Collection[str] = ()) -> None:
        """Without `unique`, only `joins_to_look_up` can be used."""
        self._spec, self._datasets = names.spec, names.datasets
        self._scope, self._nodes, self._rows = names.scope, names.nodes, names.of_rows
        self._safe = set(unique)
        for join in self._spec.joins:
            if any(place.dataset in self._safe for left in join.on for place in self._scope.find_columns(left)):
                self._safe.add(join.dataset)

    def joins_to_look_up(self) -> list[Join]:
        """Return the joins whose keys may repeat: no primary key and no groups of a result make them unique."""
        return [join for join in self._spec.joins if not self._has_unique_keys(join)]

    def _has_unique_keys(self, join: Join) -> bool:
        keys = set(join.on.values())
        if join.dataset in self._datasets.results:
            spec = self._datasets.results[join.dataset]
            return spec.is_grouped and {output_name(group) for group in spec.group_by} <= keys
        primary_key = set(self._datasets.tables[join.dataset].primary_key)
        return bool(primary_key) and primary_key <= keys and not join.cast

    def problems(self) -> Iterator[SpecProblem]:
        """Yield a problem for each aggregation that counts values several times."""
        for index, aggregation in enumerate(self._spec.aggregations):
            repeated = [name for name in aggregation.cols if self._is_repeated(name)]
            if repeated and aggregation.agg not in _UNAFFECTED:
                yield self._problem(f"aggregations[{index}].col", aggregation, repeated[0])

    def repeated_columns(self) -> frozenset[str]:
        """Return the columns of an ungrouped result that hold values of a row several times."""
        repeated = {name for name in self._scope.columns if self._is_repeated(name)}
        for name, node in self._nodes.items():
            inputs = names_in(node)
            if inputs and repeated.issuperset(inputs):
                repeated.add(name)
        return frozenset() if self._spec.is_grouped else frozenset(repeated)

    def _is_repeated(self, name: str) -> bool:
        """Return whether the values of a column, of `*` or of a column derived for each row repeat."""
        if name == "*":
            return self._scope.main not in self._safe
        if name in self._rows and not self._scope.find_columns(name):
            inputs = names_in(self._nodes[name])
            return bool(inputs) and all(map(self._is_repeated, inputs))
        place = self._scope.find_column(name)
        if place is None:
            return False
        return place.dataset not in self._safe or place.column.name in self._repeated_before(place.dataset)

    def _repeated_before(self, dataset: str) -> frozenset[str]:
        """Return the columns of a dataset that repeat already, as those of a result of joined rows may."""
        source = self._spec.source
        repeated = self._datasets.repeated
        if not isinstance(source, Union) or dataset != self._scope.main:
            return repeated.get(dataset, frozenset())
        return frozenset(
            united.column.name
            for united in united_columns(source, self._datasets)
            for part, own in zip(source.parts, united.parts, strict=True)
            if own and own.name in repeated.get(part.source, ())
        )

    def _problem(self, path: str, aggregation: Aggregation, name: str) -> SpecProblem:
        lookups = self.joins_to_look_up()
        place = self._scope.find_column(name)
        if not lookups or place and place.column.name in self._repeated_before(place.dataset):
            text = f"the result has values of {name} several times, because a join repeated rows: aggregate before it"
            return SpecProblem(path, text)
        join = lookups[0]
        keys = ", ".join(join.on.values())
        subject = f"the rows of {self._scope.main} are" if name == "*" else f"{name} is"
        text = (
            f"{keys} is not unique in {join.dataset}, so the join repeats rows and {subject} counted several times: "
            f"aggregate {join.dataset} by {keys} first, then join that result"
        )
        if name == "*" and join.dataset in self._safe:
            text += f"; or count the rows of {join.dataset} instead"
        return SpecProblem(path, text)
