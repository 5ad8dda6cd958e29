"""Statements for questions that are exactly declared metrics by dimensions, without SQL of a model.

Each metric is aggregated over the rows of one table, its own. Further tables are joined along foreign keys towards
their targets alone, which have one row for each of them, so that no join repeats a row. Metrics over other rows or
with other conditions, and the aggregations of a metric over several tables, are aggregated in queries of their own,
which are then put together by their dimensions.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from types import MappingProxyType
from typing import NamedTuple

from sqlglot import exp

from datasphinx.agent.engines.spelling import formula
from datasphinx.agent.knowledge.metric_rows import MetricRows, Period, ratio_parts, rows_of_parts
from datasphinx.agent.knowledge.references import Definition, Unresolved, is_nested
from datasphinx.agent.knowledge.source_knowledge import SourceKnowledge
from datasphinx.agent.llm.schemas import PERIODS, MetricQuery
from datasphinx.agent.schema.catalog import Catalog
from datasphinx.agent.sql.dialects import print_statement


def metric_statement(query: MetricQuery, knowledge: SourceKnowledge) -> str:
    """Return the statement for `query` in the dialect of the source.

    Raises:
        Unresolved: a metric, a column or a condition is unknown, or the rows of a metric cannot be grouped like this.
    """
    catalog = knowledge.catalog
    metrics = [_Named.read(text) for text in query.metrics]
    dimensions = [_Named.read(text) for text in query.dimensions]
    names = [each.name for each in (*dimensions, *metrics)]
    if not metrics or len({name.lower() for name in names}) < len(names):
        raise Unresolved("the names of its outputs must differ" if metrics else "there is no metric")
    if query.compared_since or query.compared_before:
        if len(metrics) > 1:
            raise Unresolved("the changes of several metrics are several statements")
        statement = _change(metrics[0], query, dimensions, knowledge)
    else:
        statement = _values(metrics, dimensions, query, knowledge)
    return print_statement(statement.limit(query.limit) if query.limit else statement, catalog.dialect)


def _values(
    metrics: Sequence["_Named"], dimensions: Sequence["_Named"], query: MetricQuery, knowledge: SourceKnowledge
) -> exp.Select:
    columns, measures, values = [each.name for each in dimensions], dict[str, MetricRows](), dict[str, exp.Expr]()
    for metric in metrics:
        rows, values[metric.name] = _parts(metric, knowledge)
        measures |= rows

    def grouped(rows: MetricRows) -> exp.Select:
        groups = dict(zip(columns, rows.groups([each.text for each in dimensions]), strict=True))
        return rows.grouped(groups, [*map(rows.condition, query.filters), *rows.within(query.since, query.before)])

    statement = _aggregated(measures, grouped, columns)
    if len(measures) > len(values):
        outputs = {**{name: _output(name) for name in columns}, **values}
        selected = (exp.alias_(value, name, quoted=True) for name, value in outputs.items())
        statement = exp.select(*selected).from_(statement.subquery("parts"))
    else:
        names = [*columns, *values]
        statement.set("expressions", sorted(statement.selects, key=lambda output: names.index(output.alias_or_name)))
    for term in _order(query, dimensions, metrics):
        statement = statement.order_by(term)
    return statement


def _parts(metric: "_Named", knowledge: SourceKnowledge) -> tuple[dict[str, MetricRows], exp.Expr]:
    """Return the rows of the aggregations of a metric by names for them, and its value as a formula of these names.

    A metric over the rows of one table is one aggregation. Of a part that is no divisor, no rows are counted as 0.
    """
    definition, catalog = knowledge.metric(metric.text), knowledge.catalog
    assert definition.expression is not None, "a metric has an expression"
    try:
        return {metric.name: MetricRows.of(definition, catalog)}, _output(metric.name)
    except Unresolved:
        value = definition.expression.copy()
        calls = [call for call in value.find_all(exp.AggFunc) if not is_nested(call, value)]
        parts = rows_of_parts(definition, [call.copy() for call in calls], catalog)
    names = [f"{metric.name} ({number})" for number in range(1, len(parts) + 1)]
    divisors = {id(node) for division in value.find_all(exp.Div) for node in division.expression.walk()}
    for name, call in zip(names, calls, strict=True):
        is_zero = isinstance(call, exp.Count) and id(call) not in divisors
        zero = exp.Coalesce(this=_output(name), expressions=[exp.Literal.number(0)])
        call.replace(zero if is_zero else _output(name))
    return dict(zip(names, parts, strict=True)), value


def _aggregated(
    measures: Mapping[str, MetricRows], grouped: Callable[[MetricRows], exp.Select], groups: Sequence[str]
) -> exp.Select:
    """Return the query of the values of measures by name; those with equal groups are in one query."""
    queries: dict[str, exp.Select] = {}
    for name, rows in measures.items():
        query = grouped(rows)
        same = queries.setdefault(query.sql(dialect=rows.catalog.dialect), query)
        same.select(exp.alias_(rows.value, name, quoted=True), copy=False)
    return reduce(lambda first, second: _together(first, second, groups), queries.values())


class _Named(NamedTuple):
    """A metric or dimension, and the name of its output."""

    text: str
    name: str

    @classmethod
    def read(cls, text: str) -> "_Named":
        """Return the parts of `text AS name`; the name is by default the text, without the table of a column."""
        before, _, name = text.partition(" AS ")
        return cls(before.strip(), name.strip(' "') or before.strip().rpartition(".")[2])


_SUM = {
    "before": "n0",
    "after": "n1",
    "contribution": "COALESCE(n1, 0) - COALESCE(n0, 0)",
    "size": "ABS(COALESCE(n0, 0)) + ABS(COALESCE(n1, 0))",
    "total_before": "COALESCE(SUM(n0) OVER (), 0)",
    "total_after": "COALESCE(SUM(n1) OVER (), 0)",
}
_SHARES = {
    "r0": "n0 / NULLIF(d0, 0)",
    "r1": "n1 / NULLIF(d1, 0)",
    "s0": "COALESCE(n0, 0) / NULLIF(SUM(d0) OVER (), 0)",
    "s1": "COALESCE(n1, 0) / NULLIF(SUM(d1) OVER (), 0)",
    "w0": "COALESCE(d0, 0) / NULLIF(SUM(d0) OVER (), 0)",
    "w1": "COALESCE(d1, 0) / NULLIF(SUM(d1) OVER (), 0)",
    "t0": "COALESCE(SUM(n0) OVER (), 0) / NULLIF(SUM(d0) OVER (), 0)",
    "t1": "COALESCE(SUM(n1) OVER (), 0) / NULLIF(SUM(d1) OVER (), 0)",
}
"""Of the numerators and denominators of a group in both periods: its ratios, numerators and denominators as shares of
all denominators, and the ratio of all groups."""
_RATE = "COALESCE((w1 + w0) / 2 * (r1 - r0), 0)"
_CONTRIBUTION = "s1 - s0 - (w1 - w0) * (t0 + t1) / 2"
_RATIO = {
    "before": "r0",
    "after": "r1",
    "contribution": _CONTRIBUTION,
    "mix": f"{_CONTRIBUTION} - {_RATE}",
    "rate": _RATE,
    "size": "w0 + w1",
    "total_before": "t0",
    "total_after": "t1",
}
CONTRIBUTIONS = ("before", "after", "contribution", "mix", "rate")
"""What is computed for each group; the last two of a ratio alone."""


def contributions(
    definition: Definition,
    catalog: Catalog,
    dimensions: Mapping[str, str],
    periods: Sequence[Period],
    filters: Sequence[str],
    names: Mapping[str, str] = MappingProxyType({}),
    details: Sequence[str] = (),
) -> exp.Select:
    """Return the query of a metric in both periods by the named dimensions, with what each contributes to the change.

    In a sum a group contributes its own difference. In a ratio R, with the share w of the group in the denominator and
    its own ratio r, it contributes by Bennet's decomposition, the mean of weighting by the first and by the second
    period (Bennet, "The Theory of Measurement of Changes in Cost of Living", 1920):

        rate = (w1 + w0) / 2 * (r1 - r0)
        mix  = (w1 - w0) * ((r1 + r0) / 2 - (R1 + R0) / 2)

    Shares sum to 1, so that measuring mix against the ratio of both periods changes no sum; a group that gains share
    raises R if its ratio is above it. A group without a ratio in a period, new and lost ones included, contributes by
    mix alone. `names` are those of the outputs, by default `CONTRIBUTIONS`. `details` add the size of a group as a
    weight (`size`) and the value of all groups (`total_before`, `total_after`). The largest contribution comes first.
    """
    # Names within the statement, which those of the outputs may repeat.
    groups = {f"group{number}": text for number, text in enumerate(dimensions.values(), 1)}
    parts = ratio_parts(definition, catalog)
    is_ratio = len(parts) > 1
    measures = dict(zip(("value", "denominator"), rows_of_parts(definition, parts, catalog), strict=False))
    values = _aggregated(measures, lambda rows: rows.of_periods(groups, periods, filters), [*groups, "period"])
    # A division of whole numbers is one of floating-point numbers.
    casts = {"n": "CAST(value AS DOUBLE)", "d": "CAST(denominator AS DOUBLE)"} if is_ratio else {"n": "value"}
    sums = {
        f"{letter}{number}": f"MAX(CASE WHEN period = {number} THEN {part} END)"
        for letter, part in casts.items()
        for number in (0, 1)
    }
    own = {name: name for name in groups}
    query = _of(values, {**own, **sums}).group_by(*map(_output, groups))
    formulas = _RATIO if is_ratio else _SUM
    if is_ratio:
        query = _of(query, {**own, **_SHARES})
    computed = {names.get(name, name): formulas[name] for name in (*CONTRIBUTIONS, *details) if name in formulas}
    query = _of(query, {**dict(zip(dimensions, groups, strict=True)), **computed})
    largest = exp.Ordered(this=_formula(f"ABS({formulas['contribution']})"), desc=True)
    for term in (largest, *map(_output, groups)):
        query = query.order_by(term)
    return query


def _change(metric: _Named, query: MetricQuery, dimensions: Sequence[_Named], knowledge: SourceKnowledge) -> exp.Select:
    """Return the query of a metric in both periods by the dimensions, with each group's part in the change."""
    if not (query.compared_since and query.compared_before and query.since and query.before):
        raise Unresolved("both periods need their first day and the day after their last")
    periods = Period(query.compared_since, query.compared_before), Period(query.since, query.before)
    first, second = map(str, periods)
    names = {"before": first, "after": second, "contribution": "Δ", "mix": "Δ mix", "rate": "Δ rate"}
    groups = {each.name: each.text for each in dimensions}
    return contributions(knowledge.metric(metric.text), knowledge.catalog, groups, periods, query.filters, names)


def _of(query: exp.Select, outputs: Mapping[str, str]) -> exp.Select:
    """Return the query of `outputs`, formulas of the columns of `query` by name."""
    computed = (exp.alias_(_formula(sql), name, quoted=True) for name, sql in outputs.items())
    return exp.select(*computed).from_(query.subquery("parts"))


def _formula(sql: str) -> exp.Expr:
    tree = formula(sql)
    for name in tree.find_all(exp.Identifier):
        name.set("quoted", True)
    return tree


def _output(name: str) -> exp.Column:
    return exp.column(name, quoted=True)


def _together(first: exp.Select, second: exp.Select, dimensions: Sequence[str]) -> exp.Select:
    """Return the groups of both queries, each once, with the metrics of both.

    They are united and grouped again, since the values of a dimension may be NULL, which no join finds.
    """
    outputs = list(dict.fromkeys([*dimensions, *first.named_selects, *second.named_selects]))
    for query in (first, second):
        own = {output.alias_or_name: output for output in query.selects}
        query.set("expressions", [own.get(name) or exp.alias_(exp.null(), name, quoted=True) for name in outputs])
    values = (exp.alias_(exp.Max(this=_output(name)), name, quoted=True) for name in outputs[len(dimensions) :])
    united = exp.union(first, second, distinct=False).subquery("metrics")
    query = exp.select(*map(_output, dimensions), *values).from_(united)
    return query.group_by(*map(_output, dimensions))


def _order(query: MetricQuery, dimensions: Sequence[_Named], metrics: Sequence[_Named]) -> Iterable[exp.Expr]:
    """Return the terms of the order: the given ones, periods ascending, and then the other dimensions."""
    names = {each.name.lower(): each.name for each in (*dimensions, *metrics)}
    asked = {}
    for text in query.order:
        name, is_descending = (text[:-5], True) if text.upper().endswith(" DESC") else (text, False)
        name = name.removesuffix(" ASC").strip(' "')
        if name.lower() not in names:
            raise Unresolved(f"there is no output `{name}`")
        asked[names[name.lower()]] = is_descending
    if query.limit and not asked:
        asked[metrics[0].name] = True
    periods = sorted(dimensions, key=lambda each: each.text not in PERIODS)
    terms = {**asked, **{each.name: False for each in periods if each.name not in asked}}
    return [exp.Ordered(this=_output(name), desc=is_descending) for name, is_descending in terms.items()]
