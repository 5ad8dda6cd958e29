"""Checks of entries against a catalog, and against the data of a source."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol

from sqlglot import exp

from datasphinx.agent.errors import DatasphinxError, SourceUnreachable, StatementError
from datasphinx.agent.knowledge.entries import (
    CalendarEntry,
    ChoiceEntry,
    ColumnEntry,
    ForbiddenJoinEntry,
    InstructionEntry,
    JoinEntry,
    MetricEntry,
    TableEntry,
    TermEntry,
    VerifiedEntry,
)
from datasphinx.agent.knowledge.knowledge import Item, Knowledge, Problem, content_words
from datasphinx.agent.knowledge.references import (
    Unresolved,
    definition_of,
    find_column,
    find_column_or_table,
    find_table,
    table_of,
)
from datasphinx.agent.schema.catalog import Catalog, ColumnKey
from datasphinx.agent.schema.describe import one_line
from datasphinx.agent.sql.dialects import print_statement
from datasphinx.agent.sql.guard import parse
from datasphinx.agent.sql.names import resolve
from datasphinx.agent.sql.parameters import Value
from datasphinx.agent.sql.validation import ValueLookup, missing_literals, validated_sql
from datasphinx.agent.types import Result

_MAX_MESSAGE_CHARS = 500


class Run(Protocol):
    """Executes a statement, as `Source.execute` does."""

    def __call__(self, sql: str, *, parameters: Mapping[str, Value] = ...) -> Result:
        """Return the rows of `sql` with `parameters` bound."""


def static_problems(item: Item, catalog: Catalog) -> tuple[Problem, ...]:
    """Return the errors in an entry that are found without querying the database, or its warnings if there are none.

    Errors are unknown names, expressions of another form, and statements that the guard refuses.
    """
    try:
        _check_names(item, catalog)
        for sql, parameters in _statements(item, catalog):
            validated_sql(sql, catalog, parameters)
    except Unresolved as error:
        return (_problem(item, str(error), error.suggestion),)
    except StatementError as error:
        return (_problem(item, str(error)),)
    return tuple(_warnings(item))


def problems_in_data(item: Item, catalog: Catalog, run: Run, values: Callable[[], ValueLookup]) -> Iterator[Problem]:
    """Yield the errors and warnings that are found by querying the database, for an entry without static errors.

    `run` executes a statement. The SQL of terms and metrics runs with LIMIT 0, verified queries run with the examples
    of their parameters, and one statement counts the rows that contradict the cardinality of a join.
    """
    try:
        for sql, parameters in _statements(item, catalog):
            run(sql, parameters=parameters)
            query = resolve(sql, catalog)
            for remark in missing_literals(query, values, excluded=True) if query else ():
                yield _problem(item, remark.text, is_warning=True)
        if isinstance(item.entry, JoinEntry):
            yield from _cardinality_problems(item, item.entry, catalog, run)
    except SourceUnreachable:
        raise
    except DatasphinxError as error:
        yield _problem(item, str(error))
    if isinstance(item.entry, ColumnEntry) and item.entry.labels:
        yield from _label_problems(item, item.entry, catalog, values())


def shared_names(knowledge: Knowledge) -> Iterator[Problem]:
    """Yield a warning for each name that several terms or metrics share and no choice decides."""
    for name, items in knowledge.shared_names():
        if name in knowledge.choices:
            continue
        first, *others = items
        yield Problem(
            others[0].place,
            f"`{name}` names {', '.join(f'the {item.kind} `{item.name}`' for item in items)}",
            "Questions that use this name lead to a clarifying question.",
            is_warning=True,
        )


def _problem(item: Item, message: str, suggestion: str = "", *, is_warning: bool = False) -> Problem:
    text = f"{item.kind} `{item.name}`: {one_line(message, _MAX_MESSAGE_CHARS)}"
    return Problem(item.place, text, suggestion, is_warning)


def _check_names(item: Item, catalog: Catalog) -> None:
    entry = item.entry
    if isinstance(entry, TableEntry):
        find_table(item.name, catalog)
    elif isinstance(entry, ColumnEntry):
        find_column(item.name, catalog)
    elif isinstance(entry, JoinEntry):
        _ends_of(entry, catalog)
    elif isinstance(entry, ForbiddenJoinEntry):
        find_column_or_table(entry.source, catalog)
        find_column_or_table(entry.target, catalog)
    elif isinstance(entry, MetricEntry):
        for name in (*filter(None, [entry.date_column]), *entry.dimensions):
            find_column(name, catalog)


def _ends_of(entry: JoinEntry, catalog: Catalog) -> tuple[list[ColumnKey], list[ColumnKey]]:
    source = [find_column(name, catalog) for name in entry.source]
    target = [find_column(name, catalog) for name in entry.target]
    if len(source) != len(target):
        raise Unresolved(f"`from` has {len(source)} columns and `to` has {len(target)}")
    for name, columns in (("from", source), ("to", target)):
        if len({table for table, _ in columns}) > 1:
            raise Unresolved(f"the columns of `{name}` belong to several tables")
    for first, second in zip(source, target, strict=True):
        classes = [
            next(column.type_class for column in catalog.tables[table].columns if column.name == name)
            for table, name in (first, second)
        ]
        if {*classes} == {"number", "text"}:
            names = " and ".join(f"`{table}.{column}`" for table, column in (first, second))
            raise Unresolved(f"{names} have the types {classes[0]} and {classes[1]}")
    return source, target


def _statements(item: Item, catalog: Catalog) -> Iterator[tuple[str, Mapping[str, Value]]]:
    """Yield the statements with which an entry is checked, with the values of their parameters."""
    entry = item.entry
    if isinstance(entry, TermEntry | MetricEntry):
        definition = definition_of(entry, catalog)
        if definition:
            yield definition.statement(catalog), {}
    elif isinstance(entry, VerifiedEntry):
        try:
            trees = parse(entry.sql, catalog.dialect)
        except ValueError as error:
            raise Unresolved(f"its SQL cannot be parsed: {error}") from None
        if len(trees) != 1 or not isinstance(trees[0], exp.Query):
            raise Unresolved("its SQL is not a single query")
        parameters = {name: parameter.value for name, parameter in entry.parameters.items()}
        yield print_statement(trees[0], catalog.dialect), parameters


def _warnings(item: Item) -> Iterator[Problem]:
    entry = item.entry
    if isinstance(
        entry, CalendarEntry | InstructionEntry | VerifiedEntry | JoinEntry | ForbiddenJoinEntry | ChoiceEntry
    ):
        return
    names = [*entry.synonyms, *([item.name] if isinstance(entry, TermEntry | MetricEntry) else [])]
    for name in names:
        if not content_words(name):
            yield _problem(item, f"no question can name `{name}`: it has only function words", is_warning=True)


def _cardinality_problems(item: Item, entry: JoinEntry, catalog: Catalog, run: Run) -> Iterator[Problem]:
    source, target = _ends_of(entry, catalog)
    unique = {
        "one-to-one": (source, target),
        "many-to-one": (target,),
        "one-to-many": (source,),
        "many-to-many": (),
    }[entry.cardinality]
    if not unique:
        return
    counts = [_count_repeated(columns, catalog).as_(f"repeated_{at}") for at, columns in enumerate(unique)]
    result = run(print_statement(exp.select(*counts), catalog.dialect))
    for columns, count in zip(unique, result["rows"][0], strict=True):
        if count:
            names = ", ".join(f"`{table}.{column}`" for table, column in columns)
            yield _problem(
                item,
                f"it is declared {entry.cardinality}, but {count} values of {names} occur in several rows",
                "Declare another cardinality, or add the missing columns of the key.",
            )


def _count_repeated(columns: Sequence[ColumnKey], catalog: Catalog) -> exp.Subquery:
    """Return a query in parentheses for the number of values of `columns` that several rows have."""
    names = [exp.column(name, quoted=True) for _, name in columns]
    repeated = exp.select(*(name.copy() for name in names)).from_(table_of(columns[0][0], catalog))
    present = exp.and_(*(exp.Not(this=exp.Is(this=name.copy(), expression=exp.Null())) for name in names))
    repeated = repeated.where(present).group_by(*(name.copy() for name in names)).having("COUNT(*) > 1")
    return exp.select("COUNT(*)").from_(repeated.subquery("repeated_values")).subquery()


def _label_problems(item: Item, entry: ColumnEntry, catalog: Catalog, values: ValueLookup) -> Iterator[Problem]:
    table, column = find_column(item.name, catalog)
    for code in entry.labels:
        if values.contains(table, column, code) is False:
            nearest = ", ".join(f"`{value}`" for value in values.nearest(table, column, code))
            suggestion = f"Nearest stored values: {nearest}." if nearest else ""
            yield _problem(item, f"no row has the code `{code}`", suggestion, is_warning=True)
