"""Terms and metrics of a question for the embedded model: columns that stand for their SQL.

The model is not trained to copy expressions. A condition is shown to it as a column with one stored value, as in
`customers(..., term 'active customer')`, and a metric as a column of numbers, which only SUM and AVG may read or, if it
counts, COUNT. The statement that it writes is then rewritten with the expressions.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp
from sqlglot.errors import SqlglotError

from datasphinx.agent.core.unused_name import unused_name
from datasphinx.agent.embedded.grammar.columns import Kind
from datasphinx.agent.knowledge.entries import MetricEntry
from datasphinx.agent.knowledge.overlay import ChangedTables
from datasphinx.agent.knowledge.source_knowledge import NamedDefinition, RelevantKnowledge
from datasphinx.agent.knowledge.translation import filtered
from datasphinx.agent.retrieval.linked_values import LinkedValue
from datasphinx.agent.schema.catalog import Catalog, Column, ColumnKey, Table
from datasphinx.agent.sql.dialects import print_statement
from datasphinx.agent.sql.guard import parse

_TERM = "term"
"""Name of the column whose values are the terms of a table."""
_NON_WORD = re.compile(r"\W+")


@dataclass(frozen=True)
class DefinedColumns:
    """The schema with a column for each term and metric that the question names, and their SQL."""

    catalog: Catalog
    selection: Mapping[str, Sequence[str]]
    question: str
    """The question with the names of metrics instead of their synonyms."""
    values: Sequence[LinkedValue] = ()
    """The terms, as values of the columns that stand for them."""
    metrics: Mapping[ColumnKey, NamedDefinition] = field(default_factory=dict)
    terms: Mapping[ColumnKey, Sequence[NamedDefinition]] = field(default_factory=dict)

    @property
    def names(self) -> list[str]:
        """The names of the metrics' columns, and the terms as texts in quotes."""
        texts = (term.item.name.replace("'", "''") for group in self.terms.values() for term in group)
        return [*(name for _, name in self.metrics), *(f"'{text}'" for text in texts)]

    @property
    def metric_kinds(self) -> dict[ColumnKey, Kind]:
        """The kinds of the columns of metrics in a grammar."""
        return {
            key: "c" if metric.definition and isinstance(metric.definition.expression, exp.Count) else "m"
            for key, metric in self.metrics.items()
        }

    def resolved(self, sql: str) -> str:
        """Return `sql`, a statement of `catalog`, with the SQL of the terms and metrics instead of their columns.

        Raises:
            ValueError: the statement uses such a column where its SQL is not possible.
        """
        if not self.metrics and not self.terms:
            return sql
        (tree,) = parse(sql, self.catalog.dialect)
        for select in list(tree.find_all(exp.Select)):
            self._resolve_terms(select)
            self._resolve_metrics(select)
        try:
            return print_statement(tree, self.catalog.dialect)
        except SqlglotError as error:
            raise ValueError(str(error)) from None

    def _columns(self, select: exp.Select, names: set[str]) -> list[exp.Column]:
        return [
            column
            for column in select.find_all(exp.Column)
            if column.name.lower() in names and column.parent_select is select
        ]

    def _resolve_terms(self, select: exp.Select) -> None:
        terms = {term.item.name: term for group in self.terms.values() for term in group}
        names = {name.lower() for _, name in self.terms}
        for column in self._columns(select, names):
            parent = column.parent
            if isinstance(parent, exp.EQ | exp.NEQ):
                named = [parent.expression.name]
            elif isinstance(parent, exp.In):
                named = [value.name for value in parent.expressions]
            else:
                named = []
            if parent is None or not named or any(name not in terms for name in named):
                raise ValueError("a term is used outside of a comparison with its name")
            condition = exp.paren(exp.or_(*(_condition(terms[name], column) for name in named), copy=False))
            parent.replace(exp.Not(this=condition) if isinstance(parent, exp.NEQ) else condition)

    def _resolve_metrics(self, select: exp.Select) -> None:
        metrics = {name.lower(): metric for (_, name), metric in self.metrics.items()}
        columns = self._columns(select, set(metrics))
        if not columns:
            return
        used = {metrics[column.name.lower()].item.name for column in columns}
        calls = [
            call for call in select.find_all(exp.AggFunc) if call.parent_select is select and call.this not in columns
        ]
        # Where nothing else is counted, the filters of the metric decide which rows there are.
        filters_rows = len(used) == 1 and not calls
        for column in columns:
            call, metric = column.parent, metrics[column.name.lower()]
            if not isinstance(call, exp.Sum | exp.Avg | exp.Count) or call.find_ancestor(
                exp.Where, exp.Group, exp.Join
            ):
                raise ValueError(f"the metric {metric.item.name} is used outside of its aggregate function")
            assert metric.definition is not None and metric.definition.expression is not None, "a metric has SQL"
            conditions = metric.definition.conditions
            tree = metric.definition.expression
            if conditions and not filters_rows:
                tree = filtered(tree, conditions)
            tree = _qualified(tree, column)
            output = call.parent
            if isinstance(output, exp.Alias):
                output.set("alias", column.this.copy())
            call.replace(tree if isinstance(tree, exp.AggFunc) or isinstance(output, exp.Alias) else exp.paren(tree))
        if filters_rows:
            first = metrics[columns[0].name.lower()].definition
            conditions = first.conditions if first else ()
            select.where(*(_qualified(condition, columns[0]) for condition in conditions), copy=False)


def defined_columns(
    relevant: RelevantKnowledge, catalog: Catalog, selection: Mapping[str, Sequence[str]], question: str
) -> DefinedColumns:
    """Return the columns of the terms and metrics of `question` whose SQL belongs to one selected table."""
    changes: dict[str, Table | None] = {}
    chosen = {key: list(names) for key, names in selection.items()}
    metrics: dict[ColumnKey, NamedDefinition] = {}
    terms: dict[ColumnKey, list[NamedDefinition]] = {}
    values = []
    taken = {column.lower() for key in chosen for column in catalog.tables[key].column_names}
    for named in relevant.definitions:
        definition = named.definition
        if definition is None or len(definition.tables) != 1 or definition.tables[0] not in chosen:
            continue
        key = definition.tables[0]
        if isinstance(named.entry, MetricEntry):
            name = unused_name(_NON_WORD.sub("_", named.item.name).strip("_").lower() or "metric", taken)
            taken.add(name)
            metrics[key, name] = named
            question = question.replace(named.phrase, named.item.name, 1)
        elif definition.conditions:
            name = unused_name(_TERM, taken - {name for _, name in terms})
            taken.add(name)
            terms.setdefault((key, name), []).append(named)
            values.append(LinkedValue(key, name, named.item.name, named.phrase))
    columns = {place: Column(place[1], "NUMERIC", nullable=False) for place in metrics}
    for place, group in terms.items():
        names = tuple(term.item.name for term in group)
        columns[place] = Column(place[1], "TEXT", nullable=False, distinct=len(names), examples=names)
    for (key, name), column in columns.items():
        table = changes.get(key) or catalog.tables[key]
        changes[key] = replace(table, columns=(*table.columns, column))
        chosen[key].append(name)
    if not changes:
        return DefinedColumns(catalog, selection, question)
    extended = replace(catalog, tables=ChangedTables(catalog, changes))
    return DefinedColumns(extended, chosen, question, values, metrics, terms)


def _condition(defined: NamedDefinition, column: exp.Column) -> exp.Expr:
    assert defined.definition is not None, "the term has SQL"
    return exp.and_(*(_qualified(condition, column) for condition in defined.definition.conditions), copy=False)


def _qualified(tree: exp.Expr, column: exp.Column) -> exp.Expr:
    """Return a copy of `tree`; columns without a table, outside of subqueries, get that of `column`."""
    copy = tree.copy()
    for own in copy.find_all(exp.Column):
        if not own.table and column.table and not own.find_ancestor(exp.Query):
            own.set("table", column.args["table"].copy())
            if column.args.get("db"):
                own.set("db", column.args["db"].copy())
    return copy
