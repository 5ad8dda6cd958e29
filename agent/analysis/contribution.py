"""Contribution analysis: which members of which dimensions a change of a metric between two periods consists of.

It answers "why did it rise?" by arithmetic. It names no cause, since rows do not show one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from datasphinx.agent.knowledge.entries import MetricEntry
from datasphinx.agent.knowledge.metric_query import CONTRIBUTIONS, contributions
from datasphinx.agent.knowledge.metric_rows import Period, ratio_parts, rows_of_parts
from datasphinx.agent.knowledge.references import Definition, Unresolved, definition_of, parse_condition
from datasphinx.agent.schema.catalog import Catalog
from datasphinx.agent.sources.source import Source
from datasphinx.agent.sql.dialects import print_statement

_DETAILS = ("size", "total_before", "total_after")


@dataclass(frozen=True)
class Breakdown:
    """The change by the members of one dimension; their contributions sum to it.

    `rows` have a member, its value in each period (None if it has none), its contribution, and of a ratio the `mix` and
    `rate` that the contribution is the sum of; the largest contribution in either direction comes first.
    """

    dimension: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    before: float
    after: float
    concentration: float
    """From 0, where each member changed in proportion to its size, to 1, where one member changed alone."""
    sql: str
    """The statement that computes the rows."""

    @property
    def is_ratio(self) -> bool:
        """Whether the metric is a ratio of sums."""
        return "mix" in self.columns


def explain_change(
    source: Source,
    metric: str | MetricEntry,
    first: Period,
    second: Period,
    *,
    dimensions: Sequence[str] = (),
    filters: Sequence[str] = (),
) -> tuple[Breakdown, ...]:
    """Return the change of a metric from the first to the second period by each dimension, the best explanation first.

    `metric` is the name of a declared one, or an entry for a measure of the catalog, such as
    `MetricEntry(expression="SUM(orders.total_amount)", date_column="orders.ordered_on")`. It must be a sum or a count,
    or a ratio of them. `dimensions` are columns as `table.column` of the table of the metric, or of tables that its
    rows refer to; by default those of the metric. `filters` are SQL conditions on such columns.

    One statement per dimension is executed; see `contributions` for what it computes. A dimension with more members
    than the row limit, or with secret ones, is left out. The best explanation is the one in which fewest members stand
    out.

    Raises:
        Unresolved: the metric, a dimension or a filter does not fit the source; no dimension is left; a ratio has no
            denominator in one of the periods; the periods overlap.
    """
    catalog = source.shown_catalog
    definition = definition_of(metric, catalog) if isinstance(metric, MetricEntry) else source.knowledge.metric(metric)
    assert definition is not None, "a metric has SQL"
    found, problem = [], Unresolved("there is no dimension by which the change can be broken down")
    for dimension in dimensions or _candidates(definition, filters, catalog):
        try:
            query = contributions(
                definition, catalog, {"member": dimension}, (first, second), filters, details=_DETAILS
            )
        except Unresolved as error:
            if dimensions:
                raise
            problem = error
            continue
        sql = print_statement(query, catalog.dialect)
        result = source.execute(sql)
        if not result["truncated"] and 0 not in result.get("secret", ()):
            found.append(_breakdown(dimension, result["columns"], result["rows"], sql))
    if not found:
        raise problem
    return tuple(sorted(found, key=lambda each: -each.concentration))


def _candidates(definition: Definition, filters: Sequence[str], catalog: Catalog) -> list[str]:
    """Return the columns by which a change may be broken down, without those that its conditions choose values of."""
    conditions = (*definition.conditions, *(parse_condition(text, catalog.dialect) for text in filters))
    chosen = {name.lower() for name in Definition(None, conditions, definition.tables).column_names}
    found = rows_of_parts(definition, ratio_parts(definition, catalog), catalog)[0].candidates()
    return [name for name in found if name.lower() not in chosen] or found


def _breakdown(dimension: str, names: Sequence[str], rows: Sequence[Sequence[Any]], sql: str) -> Breakdown:
    columns = ("member", *(name for name in CONTRIBUTIONS if name in names))
    # The digits of a decimal arrive as text.
    numbers = ([row[0], *(None if cell is None else float(cell) for cell in row[1:])] for row in rows)
    values = [dict(zip(names, row, strict=True)) for row in numbers]
    before, after = (values[0][name] for name in _DETAILS[1:]) if values else (None, None)
    if "mix" in columns and (before is None or after is None):
        raise Unresolved("the ratio has no denominator in one of the periods")
    shown = tuple(tuple(row[name] for name in columns) for row in values)
    concentration = _concentration([row["contribution"] for row in values], [row["size"] for row in values])
    return Breakdown(dimension, columns, shown, before or 0.0, after or 0.0, concentration, sql)


def _concentration(changes: Sequence[float], sizes: Sequence[float]) -> float:
    """Return how much likelier two units of change lie in one member than a unit of change and one of size, 0 to 1.

    As Cohen's kappa, it is scaled so that agreement by chance is 0.
    """
    change, size = sum(map(abs, changes)), sum(sizes)
    if not change or not size:
        return 0.0
    together = sum((each / change) ** 2 for each in changes)
    by_chance = sum(abs(each) / change * own / size for each, own in zip(changes, sizes, strict=True))
    return min(1.0, max(0.0, (together - by_chance) / (1 - by_chance))) if by_chance < 1 else 0.0
