"""Titles of statements that answer the same question in different ways, in words."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from types import MappingProxyType
from typing import Any

from sqlglot import exp

from datasphinx.agent.core.text import capitalised
from datasphinx.agent.formatting.filters import condition_words, short_words
from datasphinx.agent.formatting.formats import format_constant
from datasphinx.agent.llm.schemas import ReadingOption
from datasphinx.agent.messages import CONVENTIONS, Language, render
from datasphinx.agent.schema.catalog import Catalog, ColumnKey
from datasphinx.agent.schema.describe import one_line
from datasphinx.agent.schema.words import readable
from datasphinx.agent.sql.guard import shared_trees
from datasphinx.agent.sql.selects import output_of
from datasphinx.agent.sql.summary import (
    AGGREGATES,
    OPERATORS,
    QueryReader,
    constant,
    merged,
    period_unit,
    unwrapped,
)
from datasphinx.agent.types import QueryCondition

_MAX_READINGS = 3
_MAX_LABEL_CHARS = 100
_MAX_DEPTH = 20
_SIGNS: dict[type[exp.Expr], str] = {exp.Add: "+", exp.Sub: "−", exp.Mul: "×", exp.Div: "/"}
_OF_NUMBERS = (exp.Sum, exp.Avg, exp.Min, exp.Max)
_CONSTANTS = (*_SIGNS, *_OF_NUMBERS, exp.Literal, exp.Paren, exp.Neg)
"""The nodes of a calculation with constants alone."""


def is_expressible(sql: str, catalog: Catalog) -> bool:
    """Return whether words can say what a statement computes: no part of it calculates with constants alone.

    A small model that guesses writes such as `SUM(1 * (1 * 1) / 100)`.
    """
    (tree,) = shared_trees(sql, catalog.dialect)
    calculations = tree.find_all(*_SIGNS, *_OF_NUMBERS)
    return not any(all(isinstance(part, _CONSTANTS) for part in node.walk()) for node in calculations)


def options_of(
    statements: Sequence[str],
    catalog: Catalog,
    language: Language,
    meanings: Mapping[ColumnKey, Mapping[str, str]] = MappingProxyType({}),
) -> list[ReadingOption]:
    """Return the first three of `statements` as options, with the `meanings` of codes by column instead of the codes.

    A label says in words what a statement has and the others do not: its measures, conditions, groups, order and limit,
    and the tables that not all read, if labels would be equal without them. Labels that are equal nevertheless have a
    number. The reading has all parts of the statement, but for its tables.
    """
    shown = statements[:_MAX_READINGS]
    parts = [_parts_of(sql, catalog, language, meanings) for sql in shown]
    labels = _labels(parts, language)
    if len({*labels}) < len(labels):
        tables = _tables_of(shown, catalog, language)
        labels = _labels([[*own, *read] for own, read in zip(parts, tables, strict=True)], language)
    separator = CONVENTIONS[language].semicolon
    readings = [capitalised(separator.join(_parts_of(sql, catalog, language, meanings, short_words))) for sql in shown]
    return [
        ReadingOption(label=label, reading=reading, sql=sql)
        for sql, label, reading in zip(shown, _numbered(labels, language), readings, strict=True)
    ]


def difference(sql: str, other: str, catalog: Catalog, language: Language) -> str:
    """Return in words what the statement `other` has and `sql` does not; empty if nothing can be said."""
    common = _parts_of(sql, catalog, language, {})
    own = [part for part in _parts_of(other, catalog, language, {}) if part and part not in common]
    return one_line(CONVENTIONS[language].semicolon.join(own), _MAX_LABEL_CHARS)


def _labels(parts: Sequence[Sequence[str]], language: Language) -> list[str]:
    """Return the parts of each statement that are not parts of all; the first one if there are none."""
    common = set(parts[0]).intersection(*parts[1:])
    own = ([part for part in each if part not in common] or each[:1] for each in parts)
    texts = (CONVENTIONS[language].semicolon.join(each) for each in own)
    return [capitalised(one_line(text, _MAX_LABEL_CHARS)) for text in texts]


def _numbered(labels: Sequence[str], language: Language) -> list[str]:
    """Return `labels`, those that equal an earlier one with their number."""
    counts = [labels[: at + 1].count(label) for at, label in enumerate(labels)]
    return [
        label if count == 1 else f"{label}{CONVENTIONS[language].aside.format(count)}"
        for label, count in zip(labels, counts, strict=True)
    ]


def _parts_of(
    sql: str,
    catalog: Catalog,
    language: Language,
    meanings: Mapping[ColumnKey, Mapping[str, str]],
    in_words: Callable[[Sequence[QueryCondition], Language], list[str]] = condition_words,
) -> list[str]:
    """Return the measures, conditions, groups, order and limit of a statement in words."""
    (tree,) = shared_trees(sql, catalog.dialect)
    parts = (_Words(tree, catalog, language, meanings).parts(select, in_words) for select in _selects(tree))
    return list(dict.fromkeys(chain.from_iterable(parts)))


def _selects(tree: exp.Expr) -> Iterator[exp.Select]:
    """Yield the SELECT of a statement, or those that a UNION and the like combine."""
    if isinstance(tree, exp.SetOperation):
        yield from _selects(tree.this)
        yield from _selects(tree.expression)
    elif isinstance(tree, exp.Subquery):
        yield from _selects(tree.this)
    elif isinstance(tree, exp.Select):
        yield tree


def _tables_of(statements: Sequence[str], catalog: Catalog, language: Language) -> list[list[str]]:
    """Return for each statement a text with the tables that it reads and not all read; none if there are no such."""
    read: list[set[str]] = []
    for sql in statements:
        (tree,) = shared_trees(sql, catalog.dialect)
        ctes = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
        tables = (table for table in tree.find_all(exp.Table) if table.db or table.name.lower() not in ctes)
        read.append({readable(table.name) for table in tables})
    own = [sorted(names - read[0].intersection(*read)) for names in read]
    comma = CONVENTIONS[language].list_comma
    return [[render("reading_tables", language, names=comma.join(names))] if names else [] for names in own]


class _Words(QueryReader):
    """The parts of a SELECT in words; its conditions may concern computed values."""

    def __init__(
        self, tree: exp.Expr, catalog: Catalog, language: Language, meanings: Mapping[ColumnKey, Mapping[str, str]]
    ) -> None:
        super().__init__(tree, catalog)
        self.language, self.meanings = language, meanings
        self.depth = 0

    def parts(
        self, select: exp.Select, in_words: Callable[[Sequence[QueryCondition], Language], list[str]]
    ) -> list[str]:
        """Return the outputs, conditions (by `in_words`), groups, first order and limit of `select`, each in words."""
        self.read(select)
        conditions = in_words(merged(self.conditions), self.language)
        conditions += [self._wordless(node, own) for node, own in self.others]
        outputs = self._outputs(select)
        groups = self._groups(select, outputs)
        return [*outputs, *conditions, *self._optional_tables(select), *groups, *self._order(select)]

    def name(self, node: exp.Expr, select: exp.Select) -> str | None:
        """Return the words for a column or a computed value of `select`; None if it has none or is secret."""
        if self.is_secret(node) or self.depth > _MAX_DEPTH:
            return None
        self.depth += 1
        try:
            return self._computed(node, select) or super().name(node, select)
        finally:
            self.depth -= 1

    def _meaning(self, value: Any, node: exp.Expr, select: exp.Select) -> Any:
        stored = self._stored(node, select) if self.meanings else ()
        known = (self.meanings.get((table.key, column.name), {}).get(str(value)) for column, table in stored)
        return next(filter(None, known), None) or super()._meaning(value, node, select)

    def words(self, node: exp.Expr, select: exp.Select) -> str:
        """Return the words for a value of `select`; without others, those for the columns that it is computed from."""
        node = unwrapped(output_of(node, select))
        named = self._operand(node, select)
        if named:
            return named
        columns = self._columns(node)
        return self._say("reading_computed", names=columns) if columns else self._say("reading_value")

    def _say(self, code: str, **facts: str | int) -> str:
        return render(code, self.language, **facts)

    def _list(self, names: Sequence[str]) -> str:
        return CONVENTIONS[self.language].list_comma.join(dict.fromkeys(names))

    def _columns(self, node: exp.Expr) -> str:
        columns = (column for column in node.find_all(exp.Column) if not self.is_secret(column))
        return self._list([readable(column.name) for column in columns])

    # Clauses

    def _outputs(self, select: exp.Select) -> list[str]:
        """Return the outputs; of a grouped query only those that are computed from its rows, if there are any."""
        if any(item.is_star for item in select.expressions):
            tables = [source for source in self.sources(select).values() if isinstance(source, str)]
            outputs = [self._say("reading_all", names=self._list(list(map(readable, tables))))]
        else:
            items = [item.unalias() for item in select.expressions]
            measures = [item for item in items if item.find(exp.AggFunc)] if select.args.get("group") else []
            outputs = [self.words(item, select) for item in measures or items]
        return [self._say("reading_distinct", names=self._list(outputs))] if select.args.get("distinct") else outputs

    def _groups(self, select: exp.Select, outputs: Sequence[str]) -> list[str]:
        """Return the groups of `select` and of the queries that it reads, without those that are `outputs`."""
        group = select.args.get("group")
        items = [output_of(item, select) for item in group.expressions] if group else []
        named = [item for item in items if self.table_of_key(unwrapped(item), select) is None]
        words = [self.words(item, select) for item in named or items]
        names = self._list([each for each in words if each not in outputs])
        inner = [source for source in self.sources(select).values() if isinstance(source, exp.Select)]
        own = [self._say("reading_groups", names=names)] if names else []
        return [*own, *chain.from_iterable(self._groups(each, outputs) for each in inner[:_MAX_DEPTH])]

    def _order(self, select: exp.Select) -> list[str]:
        order, limit, parts = select.args.get("order"), select.args.get("limit"), list[str]()
        if order:
            first = order.expressions[0]
            outputs = [unwrapped(item) for item in select.expressions if item.find(exp.AggFunc)]
            descends = bool(first.args.get("desc"))
            if unwrapped(output_of(first.this, select)) in outputs:
                parts.append(self._say("reading_highest" if descends else "reading_lowest"))
            else:
                name = self.words(first.this, select)
                name = self._say("reading_descending", name=name) if descends else name
                parts.append(self._say("reading_order", names=name))
        count = limit and (limit.args.get("count") if isinstance(limit, exp.Fetch) else limit.expression)
        if isinstance(count, exp.Literal):
            is_one = count.name == "1"
            parts.append(self._say("reading_first") if is_one else self._say("reading_limit", count=count.name))
        return parts

    def _optional_tables(self, select: exp.Select) -> list[str]:
        """Return that rows without a row of a joined table are included, for each outer join."""
        from_, joins = select.args.get("from_"), select.args.get("joins") or []
        optional = [from_.this] if from_ and any(join.side in {"RIGHT", "FULL"} for join in joins) else []
        optional += [join.this for join in joins if join.side in {"LEFT", "FULL"}]
        names = [readable(node.name) for node in optional if isinstance(node, exp.Table)]
        return [self._say("reading_optional", names=self._list(names))] if names else []

    def _wordless(self, node: exp.Expr, select: exp.Select) -> str:
        """Return a comparison of two computed values, or the columns of another condition."""
        operator = OPERATORS.get(type(node.unnest()))
        if operator and not self.is_secret(node):
            left, right = (self.words(side, select) for side in (node.unnest().this, node.unnest().expression))
            return f"{left} {operator} {right}"
        columns = self._columns(node)
        return self._say("reading_condition", names=columns) if columns else self._say("reading_conditions")

    # Values

    def _computed(self, node: exp.Expr, select: exp.Select) -> str | None:
        """Return the words for a figure, a calculation, a nested query, a period or a column of a nested query."""
        unit = period_unit(node)
        if unit:
            return self._say(f"reading_{unit}", column=self.words(next(node.find_all(exp.Column)), select))
        if isinstance(node, exp.AggFunc):
            return self._figure(node, select)
        if type(node) in _SIGNS:
            left, right = (self._operand(side, select) for side in (node.this, node.expression))
            return f"{left} {_SIGNS[type(node)]} {right}" if left and right else None
        if isinstance(node, exp.Subquery):
            inner = node.unnest()
            if isinstance(inner, exp.Select) and len(inner.expressions) == 1:
                return self.words(inner.expressions[0], inner)
        return self._derived(node, select) if isinstance(node, exp.Column) else None

    def _operand(self, node: exp.Expr, select: exp.Select) -> str | None:
        plain = unwrapped(node)
        value = constant(plain)
        words = self.name(plain, select) if value is None else format_constant(value, self.language)
        return f"({words})" if words and isinstance(node, exp.Paren) and type(plain) in _SIGNS else words

    def _derived(self, column: exp.Column, select: exp.Select) -> str | None:
        """Return the words for a column that a query in FROM computes."""
        value, own = self.resolved(column, select)
        return self.name(unwrapped(value), own) if own is not select else None

    def _figure(self, node: exp.AggFunc, select: exp.Select) -> str | None:
        operand = node.this
        code = AGGREGATES.get(type(node))
        if isinstance(node, exp.Count):
            code = "distinct_values" if isinstance(operand, exp.Distinct) else "present"
            operand = operand.expressions[0] if code == "distinct_values" and len(operand.expressions) == 1 else operand
            counted = self._counted(operand, select)
            if counted:
                return self._say("figure_count", table=counted, measure="")
        operand = unwrapped(operand) if code and operand else None
        measure = self.name(operand, select) if operand else None
        if not code or not measure or operand is None:
            return None
        origins = (self.origin(column, select) for column in operand.find_all(exp.Column))
        tables = self._list([readable(origin.table) for origin in origins if origin])
        return self._say(f"figure_{code}" if tables else f"reading_{code}", table=tables, measure=measure)

    def _counted(self, operand: exp.Expr, select: exp.Select) -> str | None:
        """Return the words for the table whose rows `COUNT(operand)` counts; None if it counts values of a column."""
        if isinstance(operand, exp.Column):
            table = self.table_of_key(operand, select)
            return readable(table.name) if table else None
        if not isinstance(operand, exp.Star | exp.Literal):
            return None
        main = self.main_table(select)
        names = [main[1].name] if main else [each for each in self.sources(select).values() if isinstance(each, str)]
        return self._list(list(map(readable, names)))
