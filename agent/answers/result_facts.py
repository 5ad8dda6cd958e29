"""What the rows of a statement are, as far as a text may say: the cut, the order, sums, names and periods."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cached_property
from itertools import permutations
from typing import Any

from babel import Locale
from babel.dates import get_month_names
from sqlglot import exp
from sqlglot.optimizer.scope import Scope

from datasphinx.agent.answers.typed_values import Said, says_more, without_figures
from datasphinx.agent.charts.calendar_names import calendar_places
from datasphinx.agent.formatting.checks import may_be_percent
from datasphinx.agent.formatting.formats import (
    CALENDAR,
    INTERVALS,
    ColumnFormat,
    common_year,
    formats_of,
    place_in_year,
    quantity_of,
    rounded,
    spoken,
)
from datasphinx.agent.messages import LANGUAGES, Language
from datasphinx.agent.schema.catalog import Catalog
from datasphinx.agent.sql.compare import is_blank, names_in
from datasphinx.agent.sql.guard import shared_nodes, shared_trees
from datasphinx.agent.sql.names import resolved_query
from datasphinx.agent.sql.output_columns import OutputColumn, additive_columns, output_columns
from datasphinx.agent.sql.selects import conjuncts, is_aggregated
from datasphinx.agent.sql.summary import constant, days_in, period_unit, sort_key, unwrapped
from datasphinx.agent.types import Result

_MEASURES = {"number", "currency", "percent", "fraction", "scientific", "duration", *INTERVALS}
_PER_CENT = {"percent", "fraction"}
_PARTS_OF_DATES = (
    exp.Extract, exp.Year, exp.Quarter, exp.Month, exp.Week, exp.TimeToStr, exp.TimestampTrunc, exp.DateTrunc,
)  # fmt: skip
_PERIOD = re.compile(r"\d{4}(?:-?[QW]?\d{1,2}(?:-\d{2}.*)?|/\d{2,4})?")
"""A period as text that sorts in time, such as 2024/25."""
_YEAR = re.compile(r"(?<!\d)(?:19|20)\d{2}(?!\d)")
_WIDTHS = ("wide", "abbreviated")
_RANKS = (exp.RowNumber, exp.Rank, exp.DenseRank, exp.Ntile)
_SUBTOTALS = (exp.Rollup, exp.Cube, exp.GroupingSets)
_WITH_VALUES = (
    exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Like, exp.ILike, exp.Between, exp.In, exp.Limit, exp.Fetch,
)  # fmt: skip
"""Comparisons and limits."""


def average_format(shown: ColumnFormat) -> ColumnFormat:
    """Return the format of an average of values with the format `shown`."""
    return shown if shown.kind in {"currency", *INTERVALS} else replace(shown, decimals=max(2, shown.decimals))


@dataclass(frozen=True)
class ColumnFacts:
    """A column of a result."""

    name: str
    format: ColumnFormat
    cells: Sequence[Any]
    is_additive: bool
    """Whether the sum of its values means something."""
    is_name: bool
    """Whether it tells rows apart, rather than being measured of them."""
    is_period: bool
    is_count: bool = False
    """Whether it counts rows."""
    may_be_percent: bool = False
    """Whether its values may be percentages, as far as its expression tells."""
    key: Sequence[int] = ()
    """The outputs that tell apart what it names, such as persons with the same name; none if they are not known."""
    told: Sequence[Decimal] | None = None
    """The numbers that a sentence tells of it, which have the same decimals; None for all, and their sum."""

    @cached_property
    def numbers(self) -> list[Decimal] | None:
        """The values as numbers; None if one of them is NULL or no number."""
        found = self._quantities
        return [one for one in found if one is not None] if self.is_numeric and None not in found else None

    @cached_property
    def _quantities(self) -> list[Decimal | None]:
        return [quantity_of(cell, self.format) for cell in self.cells]

    @cached_property
    def ranks(self) -> list[Any] | None:
        """The values in a form that can be compared; None if there is no order of all of them.

        They are dates, or numbers as they are shown: values that a reader cannot tell apart are equal.
        """
        if self.numbers is not None:
            return [rounded(number, self.format) for number in self.numbers]
        is_sorted = all(isinstance(cell, str) and _PERIOD.fullmatch(cell) for cell in self.cells)
        lengths = {len(str(cell)) for cell in self.cells}
        if is_sorted and len(lengths) == 1:
            return list(self.cells)
        return _years(self.cells) or calendar_order(self.cells) if self.is_period else None

    @cached_property
    def spoken(self) -> ColumnFormat:
        """The format of its values, and of their sum, in a sentence."""
        if self.told is not None:
            return spoken(self.format, self.told)
        found = [number for number in self._quantities if number is not None]
        return spoken(self.format, [*found, sum(found, Decimal())] if self.is_additive else found)

    @cached_property
    def year(self) -> int | None:
        """The year of its values, if they are months or quarters of one alone."""
        return common_year(self.cells, self.format)

    def period_names(self, language: Language) -> list[tuple[range, set[str]]]:
        """Return the months of each month or quarter among its values, with its names in CLDR that have no digits."""
        kind = self.format.kind
        if kind in {"month", "quarter"}:
            cycle = f"{kind}s"
            places = {place_in_year(cell, self.format) for cell in self.cells}
        else:
            cycle, places = "months", set[int | None](_months_named(self.cells) or ())
        widths = [form[width] for form in getattr(Locale.parse(language), cycle).values() for width in _WIDTHS]
        length = 1 if cycle == "months" else 3
        return [
            (
                range(length * (place - 1) + 1, length * place + 1),
                {name for names in widths if not any(map(str.isdigit, name := names[place].strip(".")))},
            )
            for place in places
            if place
        ]

    @property
    def is_numeric(self) -> bool:
        """Whether its values may be numbers."""
        return self.format.kind in _MEASURES or self.format.kind in {"year", "month", "code", "boolean"}

    @property
    def is_label(self) -> bool:
        """Whether figures in its values are no amounts."""
        return self.format.kind not in _MEASURES or not self.format.is_grouped

    @property
    def is_share(self) -> bool:
        """Whether its values are percentages."""
        return self.format.kind in _PER_CENT

    @property
    def is_text(self) -> bool:
        """Whether its values name something, rather than being amounts."""
        return self.format.kind not in _MEASURES


@dataclass(frozen=True)
class ResultFacts:
    """The rows of a statement, and what its parse tree says about them."""

    result: Result
    columns: Sequence[ColumnFacts]
    language: Language
    limit: int | None = None
    """The number of rows at which the statement cuts them, if it was reached."""
    is_shifted: bool = False
    """Whether the first rows are left out."""
    is_ranked: bool = False
    """Whether a rank selects the rows."""
    ranked_by: tuple[int, bool] | None = None
    """The output whose first values a rank keeps, of all rows or of each group, and whether those are the highest."""
    is_one_per_group: bool = False
    """Whether the rows are the first ones of all groups."""
    has_totals: bool = False
    """Whether rows sum up others of them, as those of ROLLUP or of a UNION with a total do."""
    extremes: frozenset[str] = frozenset()
    """`max` or `min` if the statement selects all rows with that value: by a rank, ties or a comparison."""
    order: tuple[int | None, bool] | None = None
    """The first key by which rows are sorted: its output, if it is one, and whether it descends."""
    literals: Sequence[Any] = ()
    """The values that the statement compares with."""
    written: Sequence[str] = ()
    """The texts that it writes anywhere."""
    computed: Mapping[str, Any] = field(default_factory=dict)
    """Computed facts by id."""
    others: Mapping[str, "ResultFacts"] = field(default_factory=dict)
    """Results that a text is about, by id."""
    seen_rows: int = 0
    """How many of the rows, from the first one on, the model of a text has seen; it may refer to each of them."""

    @property
    def rows(self) -> list[list[Any]]:
        """The rows."""
        return self.result["rows"]

    @property
    def is_cut(self) -> bool:
        """Whether there may be more rows than these."""
        return self.result["truncated"] or self.limit is not None or self.is_shifted or self.is_ranked

    @property
    def has_only_ranks(self) -> bool:
        """Whether nothing but a rank cuts the rows."""
        return self.is_ranked and not (self.result["truncated"] or self.limit is not None or self.is_shifted)

    @property
    def is_blank(self) -> bool:
        """Whether the rows are blank; no other 0 than a count means that there were none."""
        return is_blank(self.rows, zeros=[at for at, column in enumerate(self.columns) if column.is_count])

    @property
    def names(self) -> set[str]:
        """The texts in the rows."""
        return names_in(self.result)

    @cached_property
    def period_names(self) -> list[tuple[range, set[str]]]:
        """The months of each month and quarter that is the period of a row, with its names."""
        return [period for column in self.columns if column.is_period for period in column.period_names(self.language)]

    @cached_property
    def sorted_by(self) -> tuple[int, bool] | None:
        """The output by whose values the rows are sorted, and whether they descend."""
        if self.order is None or self.order[0] is None:
            return None
        at, descends = self.order[0], self.order[1]
        ranks = self.columns[at].ranks
        return (at, descends) if ranks is not None and ranks == sorted(ranks, reverse=descends) else None

    def named(self, *path: str) -> int | None:
        """Return the index of the column that a path names, with or without its table; None if there is not one.

        A name may be written in other capitals, and with underscores for spaces, as for the column of a metric.
        """
        names = [column.name for column in self.columns]
        for wanted in (".".join(path), path[-1], path[-1].rpartition(".")[2]):
            for form in (str, _plain_name):
                found = [at for at, name in enumerate(names) if form(name) == form(wanted)]
                if len(found) == 1:
                    return found[0]
        return None

    def with_rows(self, result: Result) -> "ResultFacts":
        """Return the facts about `result`, which differs in the values of secret columns."""
        cells = ([row[at] for row in result["rows"]] for at in range(len(self.columns)))
        columns = [replace(column, cells=own) for column, own in zip(self.columns, cells, strict=True)]
        return replace(self, result=result, columns=columns)

    def with_written_names(self, names: Sequence[str]) -> "ResultFacts":
        """Return the facts with the names that a model wrote for the columns, to which its texts refer."""
        columns = [replace(column, name=name) for column, name in zip(self.columns, names, strict=True)]
        return replace(self, columns=columns)

    def with_literals(self, said: Said) -> Said:
        """Return `said` with the values that the statement compares with, and the names that the statements write."""
        written = (text for one in (self, *self.others.values()) for text in one.written)
        return replace(said, literals=[*said.literals, *self.literals], written=[*said.written, *written])

    def telling(self, numbers: Mapping[int, Sequence[Decimal]]) -> "ResultFacts":
        """Return the facts for a sentence that tells `numbers` by column."""
        told = [replace(one, told=numbers[at]) if at in numbers else one for at, one in enumerate(self.columns)]
        return replace(self, columns=told)

    def identifies(self, columns: Collection[int], row: int) -> bool:
        """Return whether no other row has the values of `row` in `columns`."""
        wanted = [self.rows[row][at] for at in columns]
        return bool(columns) and [[one[at] for at in columns] for one in self.rows].count(wanted) == 1

    def with_keys(self, columns: Iterable[int]) -> set[int]:
        """Return `columns` with those that tell apart what they name."""
        return {each for at in columns for each in (at, *self.columns[at].key)}


def _plain_name(name: str) -> str:
    return name.casefold().replace("_", " ")


def with_plain_names(result: Result, sql: str, catalog: Catalog, said: Said) -> Result:
    """Return `result` with other names of the columns whose names, which a model typed, say more than was said.

    An identifier loses its figures; others become the expression in `sql`. A name may also say what the statement
    compares and computes with, and the stored columns that it reads.
    """
    tree = shared_trees(sql, catalog.dialect)[0].unnest()
    outputs = tree.selects if isinstance(tree, exp.Query) else []
    columns, names = list(result["columns"]), names_in(result)
    if len(outputs) != len(columns) or any(output.is_star for output in outputs):
        return result
    sources = output_columns(sql, catalog)
    expressions = [source.expression for source in sources] if len(sources) == len(columns) else outputs
    read = [column.name for expression in expressions for column in expression.find_all(exp.Column)]
    literals = (literal.name for literal in shared_nodes(sql, catalog.dialect, exp.Literal))
    known = replace(said, literals=[*said.literals, *read, *literals])
    for at, (name, expression) in enumerate(zip(columns, expressions, strict=True)):
        if says_more(name, known, names):
            is_stored = isinstance(expression, exp.Column)
            plain = without_figures(name, known) if name.isidentifier() and not is_stored else ""
            if not plain or plain in columns or says_more(plain, known, names):
                plain = _without_tables(expression.unalias().unnest()).sql(catalog.dialect)
            columns[at] = plain
    return {**result, "columns": columns}


def _without_tables(node: exp.Expr) -> exp.Expr:
    """Return a copy of `node` whose columns have no tables."""
    return node.transform(lambda one: exp.column(one.name) if isinstance(one, exp.Column) else one)


def facts_of(result: Result, sql: str, catalog: Catalog, language: Language) -> ResultFacts:
    """Return the facts about `result`, the rows of `sql` with their formats."""
    shown = formats_of(result)
    trees, nodes = shared_trees(sql, catalog.dialect), list(shared_nodes(sql, catalog.dialect, exp.Expr))
    tree = trees[0].unnest() if trees else exp.Null()
    kept = _kept_rank(tree, nodes)
    width = len(result["columns"])
    outputs = tree.expressions if isinstance(tree, exp.Select) and len(tree.expressions) == width else [None] * width
    is_grouped = tree.args.get("group") is not None
    sources = output_columns(sql, catalog)
    additive = additive_columns(sql, catalog)
    keys = [*_keys_of_names(sources, shown, result)] if len(sources) == width else [()] * width
    columns = [
        ColumnFacts(
            name,
            shown[at],
            [row[at] for row in result["rows"]],
            is_additive=shown[at].is_amount and output is not None and at in additive,
            is_name=shown[at].kind not in _MEASURES
            or (is_grouped and output is not None and output.find(exp.AggFunc) is None),
            is_period=len(sources) == width
            and _is_period(sources[at].expression, shown[at], [row[at] for row in result["rows"]]),
            is_count=output is not None and isinstance(unwrapped(output), exp.Count),
            may_be_percent=len(sources) == width and may_be_percent(sources[at]),
            key=keys[at],
        )
        for at, (name, output) in enumerate(zip(result["columns"], outputs, strict=True))
    ]
    return ResultFacts(
        result,
        columns,
        language,
        limit=_reached_limit(tree, nodes, len(result["rows"])),
        is_shifted=any(isinstance(node, exp.Offset) for node in nodes),
        is_ranked=_compares_ranks(nodes),
        has_totals=bool(trees) and (any(map(_has_subtotals, nodes)) or _unites_totals(sql, catalog)),
        extremes=frozenset([*_selected_extremes(nodes, kept), *(_equal_extremes(sql, catalog) if trees else ())]),
        **_ranking(tree, kept),
        order=sort_key(tree) if isinstance(tree, exp.Query) else None,
        literals=tuple(compared_values(nodes)),
        written=tuple(written_texts(nodes)),
    )


def _compares_ranks(nodes: Sequence[exp.Expr]) -> bool:
    """Return whether a condition among `nodes` has a rank, or the name of an output that is computed from one.

    QUALIFY, which selects rows by their windows, counts beside any rank.
    """
    names = set[str]()

    def has_rank(node: exp.Expr) -> bool:
        return any(
            isinstance(one, _RANKS) or (isinstance(one, exp.Column | exp.Identifier) and one.name.lower() in names)
            for one in node.walk()
        )

    ranks = [node for node in nodes if isinstance(node, _RANKS)]
    is_renamed = any(isinstance(node, exp.TableAlias) and node.columns for node in nodes)
    if not ranks or is_renamed or any(isinstance(node, exp.Qualify) for node in nodes):
        return bool(ranks)
    outputs = [output for node in nodes if isinstance(node, exp.Select) for output in node.expressions]
    while found := {each.alias_or_name.lower() for each in outputs if has_rank(each.unalias())} - names:
        names |= found
    conditions = [node for node in nodes if isinstance(node, exp.Where | exp.Having)]
    for join in (node for node in nodes if isinstance(node, exp.Join)):
        conditions += filter(None, [join.args.get("on"), *(join.args.get("using") or ())])
    return any(map(has_rank, conditions))


def _has_subtotals(node: exp.Expr) -> bool:
    return isinstance(node, _SUBTOTALS) or (isinstance(node, exp.Group) and bool(node.args.get("totals")))


def _unites_totals(sql: str, catalog: Catalog) -> bool:
    """Return whether a query of a UNION in `sql` aggregates the rows of another one to fewer groups."""
    query = resolved_query(sql, catalog)
    unions = [scope for scope in query.scopes if scope.set_operation_scopes] if query else []
    return any(_is_total(*pair) for union in unions for pair in permutations(_queries(union), 2))


def _queries(scope: Scope) -> list[Scope]:
    """Return the queries of a UNION, or the one query."""
    return [each for part in scope.set_operation_scopes for each in _queries(part)] or [scope]


def _is_total(scope: Scope, other: Scope) -> bool:
    """Return whether a query aggregates all rows that another one reads, to fewer groups."""
    total, parts = scope.expression, other.expression
    if not (isinstance(total, exp.Select) and isinstance(parts, exp.Select) and is_aggregated(total)):
        return False
    tables, conditions = _rows_read(scope)
    other_tables, other_conditions = _rows_read(other)
    if not (tables <= other_tables and conditions <= other_conditions):
        return False
    groups = [len(group.expressions) if (group := each.args.get("group")) else 0 for each in (total, parts)]
    has_more_rows = conditions < other_conditions and groups[0] <= groups[1]
    return groups[0] < groups[1] or has_more_rows or not is_aggregated(parts)


def _keys_of_names(
    sources: Sequence[OutputColumn], shown: Sequence[ColumnFormat], result: Result
) -> Iterator[Sequence[int]]:
    """Yield for each output those that are the key of the rows that it names; none if it is not their name.

    A column before it in their table, of which the rows have more different texts, is their name instead.
    """
    texts = [
        len({cell for row in result["rows"] if isinstance(cell := row[at], str)}) if each.kind == "text" else 0
        for at, each in enumerate(shown)
    ]
    for own, source in zip(texts, sources, strict=True):
        has_name = any(texts[other] > own for other in source.siblings if other not in source.key)
        yield source.key if own and not has_name else ()


def _ranking(tree: exp.Expr, kept: tuple[exp.Window, Any] | None) -> dict[str, Any]:
    """Return `ranked_by` and `is_one_per_group` of the facts, if `tree` keeps the first rows of one rank."""
    if kept is None or not isinstance(tree, exp.Select):
        return {}
    rank, count = kept
    inner, first = rank.find_ancestor(exp.Select), rank.args["order"].expressions[0]
    names = {item.alias_or_name for item in (inner.selects if inner else ()) if _is_same(item.unalias(), first.this)}
    if inner is tree:
        found = (at for at, output in enumerate(tree.selects) if output.alias_or_name in names)
    else:
        outputs = (output.unalias() for output in tree.selects)
        found = (at for at, one in enumerate(outputs) if isinstance(one, exp.Column) and one.name in names)
    at = next(found, None)
    return {
        "ranked_by": None if at is None else (at, bool(first.args.get("desc"))),
        "is_one_per_group": isinstance(rank.this, exp.RowNumber) and count == 1 and bool(rank.args.get("partition_by")),
    }


def _kept_rank(tree: exp.Expr, nodes: Sequence[exp.Expr]) -> tuple[exp.Window, Any] | None:
    """Return the only rank in `tree` and what it is compared with, if `tree` keeps its first rows and no fewer.

    Any other condition, join or group of the query that compares the rank could take the first row away.
    """
    windows = (node for node in nodes if isinstance(node, exp.Window))
    ranks = [one for one in windows if isinstance(one.this, exp.RowNumber | exp.Rank | exp.DenseRank)]
    if len(ranks) != 1 or not ranks[0].args.get("order") or not isinstance(tree, exp.Select):
        return None
    inner = ranks[0].find_ancestor(exp.Select)
    is_own = inner is tree
    if not is_own and (_only_source(tree) is not inner or any(map(tree.args.get, ("group", "having", "distinct")))):
        return None
    conditions = list(conjuncts(tree.args.get("qualify" if is_own else "where")))
    match conditions:
        case [exp.EQ() | exp.LT() | exp.LTE() as one] if one.this is ranks[0] or isinstance(one.this, exp.Column):
            count = constant(one.expression)
            is_first = count == 1 if isinstance(one, exp.EQ) else count is not None
            is_rank = one.this is ranks[0] or one.this.name == ranks[0].parent.alias_or_name  # type: ignore[union-attr]
            return (ranks[0], count) if is_first and is_rank else None
    return None


def _only_source(select: exp.Select) -> exp.Expr | None:
    """Return the query that is all that `select` reads: a subquery, or one that WITH names."""
    source = select.args.get("from_")
    if source is None or select.args.get("joins"):
        return None
    named = {query.alias: query.this for query in select.ctes}
    return named.get(source.this.name) if isinstance(source.this, exp.Table) else source.this.unnest()


def _is_same(one: exp.Expr, other: exp.Expr) -> bool:
    """Return whether two expressions of a query are equal, columns with or without their tables."""
    are_columns = isinstance(one, exp.Column) and isinstance(other, exp.Column)
    return one.name == other.name if are_columns else one == other


def _selected_extremes(nodes: Sequence[exp.Expr], kept: tuple[exp.Window, Any] | None) -> Iterator[str]:
    """Yield `max` or `min` for the rank and each FETCH WITH TIES."""
    for fetch in (node for node in nodes if isinstance(node, exp.Fetch)):
        options = fetch.args.get("limit_options")
        if options and options.args.get("with_ties") and fetch.parent:
            yield from _first_in(fetch.parent.args.get("order"))
    if kept and isinstance(kept[0].this, exp.Rank | exp.DenseRank):
        yield from _first_in(kept[0].args["order"])


def _equal_extremes(sql: str, catalog: Catalog) -> Iterator[str]:
    """Yield `max` or `min` for each equality with the extreme of the same rows."""
    query = resolved_query(sql, catalog)
    if query is None:
        return
    inner = {id(select): (scope, select) for scope, select in query.selects()}
    equalities = [(scope, node) for scope in query.scopes for node in query.find_all(scope, exp.EQ)]
    for outer, equality in equalities:
        for side in (equality.left.unnest(), equality.right.unnest()):
            if id(side) not in inner:
                continue
            scope, select = inner[id(side)]
            tables, conditions = _rows_read(scope)
            all_tables, other_conditions = _rows_read(outer, equality)
            if tables <= all_tables and conditions == other_conditions:
                values = map(unwrapped, select.selects)
                yield from (value.key for value in values if isinstance(value, exp.Max | exp.Min))


def _rows_read(scope: Scope, extreme: exp.Expr | None = None) -> tuple[set[str], set[str]]:
    """Return the tables that a query reads, and the conditions on their rows apart from that on the `extreme`.

    Those of its sources are among them; the names of tables are not in conditions.
    """
    clauses = map(scope.expression.args.get, ("where", "having"))
    found = [each for clause in clauses for each in conjuncts(clause) if each is not extreme]
    tables, conditions = set[str](), {_without_tables(condition).sql() for condition in found}
    for _, source in scope.selected_sources.values():
        if isinstance(source, exp.Table):
            tables.add(exp.table_name(source))
        elif isinstance(source.expression, exp.Select):
            more, others = _rows_read(source)
            tables, conditions = tables | more, conditions | others
        else:
            tables.add(source.expression.sql())
    return tables, conditions


def _first_in(order: exp.Expr | None) -> Iterator[str]:
    """Yield which extreme comes first in `order`, if there is one."""
    if order is not None:
        yield "max" if order.expressions[0].args.get("desc") else "min"


def _is_period(expression: exp.Expr, shown: ColumnFormat, cells: Sequence[Any]) -> bool:
    has_part = expression.find(*_PARTS_OF_DATES) is not None
    is_written_so = bool(cells) and all(isinstance(cell, str) and _PERIOD.fullmatch(cell) for cell in cells)
    labels = [*expression.args["ifs"], expression.args.get("default")] if isinstance(expression, exp.Case) else []
    is_labelled = bool(labels) and all(isinstance(constant(one.args.get("true") or one), str) for one in labels if one)
    return expression.find(exp.AggFunc) is None and (
        has_part
        or shown.kind in CALENDAR
        or is_written_so
        or (is_labelled and _years(cells) is not None)
        or (shown.kind == "text" and calendar_order(cells) is not None)
    )


def calendar_order(cells: Sequence[Any]) -> list[int] | None:
    """Return the places of names of months or quarters, each once in the order of the calendar; None for others."""
    named = [cell for cell in cells if isinstance(cell, str)]
    places = calendar_places(named) if 1 < len(named) == len(cells) else None
    order = [places[cell] for cell in named] if places else []
    return order if order and order == sorted(set(order)) else None


def _months_named(cells: Sequence[Any]) -> list[int] | None:
    """Return the places of names of months in the order of the calendar; None for those of quarters and weekdays."""
    order = calendar_order(cells)
    months = (get_month_names("wide", "stand-alone", language).values() for language in LANGUAGES)
    return order if order and any(calendar_places([*cells, *names]) for names in months) else None


def _years(cells: Sequence[Any]) -> list[Any] | None:
    """Return the year in each label, such as that of "spring 2025"; None if one has none or several, or they repeat."""
    found = [_YEAR.findall(cell) if isinstance(cell, str) else [] for cell in cells]
    years = [one[0] for one in found if len(one) == 1]
    return years if len(set(years)) == len(cells) else None


def _reached_limit(tree: exp.Expr, nodes: Sequence[exp.Expr], rows: int) -> int | None:
    """Return the number of rows at which `tree`, or a query in it, cuts the rows, if there are so many."""
    for node in (each for each in nodes if isinstance(each, exp.Limit | exp.Fetch)):
        count = node.args.get("count") if isinstance(node, exp.Fetch) else node.expression
        value = constant(count) if count is not None else 1
        most = value if isinstance(value, int) else 0
        if rows == most or (node.parent is tree and rows > most):
            return most
    return None


def compared_values(nodes: Iterable[exp.Expr]) -> Iterator[Any]:
    """Yield the values that conditions among `nodes` compare with, and limits; not 0, 1 and exclusive dates."""
    for node in (each for each in nodes if isinstance(each, _WITH_VALUES)):
        if isinstance(node, exp.Between):
            sides = [node.args["low"], node.args["high"]]
        elif isinstance(node, exp.In):
            sides = node.expressions
        else:
            sides = [node.this, node.expression, node.args.get("count")]
        for side in sides:
            value = constant(side) if isinstance(side, exp.Expr) else None
            if isinstance(node, exp.GT | exp.LT) and _is_period_bound(node, value):
                continue
            if value is not None and value not in (0, 1):
                yield value.replace("%", " ").replace("_", " ") if isinstance(node, exp.Like | exp.ILike) else value


def written_texts(nodes: Iterable[exp.Expr]) -> Iterator[str]:
    """Yield the texts among `nodes`."""
    return (node.name for node in nodes if isinstance(node, exp.Literal) and node.is_string)


def _is_period_bound(comparison: exp.Binary, value: Any) -> bool:
    """Return whether `value` is a date, month or year that something is compared with."""
    if isinstance(value, str):
        return days_in(value) is not None
    return any(period_unit(side) for side in (comparison.this, comparison.expression))
