"""Repair of statements without a model: unambiguous names, and syntax of other dialects."""

import logging
import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import cache

import sqlglot
from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ErrorLevel, SqlglotError
from sqlglot.optimizer.scope import Scope
from sqlglot.tokenizer_core import TokenType

from datasphinx.agent.engines import engine_of, engines
from datasphinx.agent.schema.catalog import Catalog, ReadableNames, Table
from datasphinx.agent.sql.compare import canonical_sql
from datasphinx.agent.sql.dialects import arguments_of, build_call, exact_dialect, print_statement
from datasphinx.agent.sql.guard import parse, sanitize
from datasphinx.agent.sql.guard.finding import Statement
from datasphinx.agent.sql.guard.functions import called_name
from datasphinx.agent.sql.guard.tables import names_cte, system_names
from datasphinx.agent.sql.names import (
    column_names,
    connected_groups,
    inner_join_equalities,
    qualify_names,
    table_of,
    unresolved_columns,
)
from datasphinx.agent.sql.rankings import with_null_order
from datasphinx.agent.sql.selects import PREDICATES, output_of
from datasphinx.agent.sql.validation import find_problem

_DOUBLE_QUOTED_TABLE = re.compile(r'(?i)\b(from|join)\s+"')
_LITERAL_TOKENS = {TokenType.STRING, TokenType.NUMBER}
_LITERAL_NODES = (exp.Literal, exp.Var, exp.Interval)

_RANK = "rank_with_ties"

_INDEX = "index"
_REPAIRABLE = {"parsable", "round_trip", "harmless_functions", "known_syntax", "catalog_tables"}
"""Guard rules that a statement with foreign syntax or a misspelt name may violate."""


@dataclass(frozen=True)
class Repair:
    """A replacement for a statement, and a description of the change."""

    sql: str
    description: str


def repair(sql: str, catalog: Catalog) -> Repair | None:
    """Return a repair of `sql` that passes validation; None if there is none.

    A `sql` that its own dialect parses is repaired by functions of the engine in place of others and by corrected
    names. Otherwise it is read as another dialect. A valid `sql` is not repaired.
    """
    try:
        text, findings = sanitize(sql, catalog.dialect, catalog.readable)
        if findings:
            if any(finding.rule not in _REPAIRABLE for finding in findings) or system_names(findings):
                return None
        elif not (_is_foreign(sql, catalog.dialect) or find_problem(sql, catalog)):
            return _with_twins(sql, catalog)
        before = canonical_sql(text or sql, catalog.dialect)
        for candidate in _candidates(sql, catalog):
            changed = canonical_sql(candidate.sql, catalog.dialect) != before
            if changed and find_problem(candidate.sql, catalog) is None:
                return candidate
    except Exception:
        # A parser failure must not stop the run: the statement can still go back to the model.
        _log.exception("the repair of a statement failed")
    return None


def _with_twins(sql: str, catalog: Catalog) -> Repair | None:
    """Return `sql` with quotes around the names that are folded, if there is a table or column in that case too."""
    tree = _parse_one(sql, catalog.dialect) if catalog.engine.folds_unquoted else None
    tables = [(node, table_of(node, catalog)) for node in tree.find_all(exp.Table)] if tree is not None else []
    changes = []
    for node, table in tables:
        written, names = node.name, {catalog.full_names[key].name for key in catalog.keys_named(node.name)}
        if table and _quote_twin(node, table.name, names):
            changes.append(f"took {written} as the table {table.name}, although {written} exists")
    columns = {name for _, table in tables if table for name in table.column_names}
    for column in tree.find_all(exp.Column) if tree is not None else ():
        written, folded = column.name, catalog.engine.stored_name(column.this)
        if folded in columns and _quote_twin(column, folded, columns):
            changes.append(f"took {written} as the column {folded}, although {written} exists")
    changes = list(dict.fromkeys(changes))
    return Repair(print_statement(tree, catalog.dialect), "; ".join(changes)) if tree is not None and changes else None


def _quote_twin(node: exp.Expr, folded: str, names: Collection[str]) -> bool:
    """Quote the `folded` name of `node` if it is written as another one of `names`; return whether it is."""
    is_twin = node.name in names and node.name != folded and not node.this.args.get("quoted")
    if is_twin:
        node.set("this", exp.to_identifier(folded, quoted=True))
    return is_twin


def _candidates(sql: str, catalog: Catalog) -> Iterator[Repair]:
    own = None if _is_foreign(sql, catalog.dialect) else _parse_one(sql, catalog.dialect)
    if own is not None:
        # A statement that its own dialect parses is not read as another: it would mean something else there.
        changes = _translate_calls(own, catalog.dialect)
        yield from _ranked_and_named(own, changes, catalog, print_statement)
        return
    for dialect, tree in _parse_in_dialects(sql, catalog.dialect):
        yield from _ranked_and_named(tree, [f"read as {dialect}"], catalog, _to_sql)


def _ranked_and_named(
    tree: exp.Expr, changes: list[str], catalog: Catalog, to_sql: Callable[[exp.Expr, str], str | None]
) -> Iterator[Repair]:
    if not catalog.engine.has_ties or changes:
        ranked = _with_ranks(tree)
        if ranked is None:
            return
        changes = changes if ranked is tree else [*changes, "took WITH TIES as RANK"]
        tree = ranked
    text = to_sql(tree, catalog.dialect)
    if text:
        yield Repair(text, "; ".join(changes) or "rewritten")
        yield from _with_names(text, changes, catalog)


def _with_names(sql: str, changes_so_far: list[str], catalog: Catalog) -> Iterator[Repair]:
    tree = _parse_one(sql, catalog.dialect)
    changes = _repair_names(tree, catalog) if tree is not None else []
    if tree is not None and changes:
        yield Repair(
            print_statement(tree, catalog.dialect),
            "; ".join([*changes_so_far, *(f"took {change}" for change in changes)]),
        )


def _translate_calls(tree: exp.Expr, dialect: str) -> list[str]:
    """Replace calls of functions that the engine lacks by calls with the same meaning; return the changes.

    A function of another engine is taken as the one of the first dialect whose function the engine can express.
    """
    engine = engine_of(dialect)
    for node in list(tree.find_all(exp.Func)):
        rewritten = engine.rewritten_call(node)
        if rewritten is not node:
            node.replace(rewritten)
    statement = Statement((tree,), ReadableNames(None), dialect)
    changes = []
    for node in list(tree.find_all(exp.Func)):
        name, arguments = called_name(node, statement), arguments_of(node)
        if name is None or arguments is None or name in engine.allowed_functions:
            continue
        for other in (each for each in _foreign_dialects() if name in engine_of(each).allowed_functions):
            call = build_call(name, [argument.copy() for argument in arguments], Dialect.get_or_raise(other))
            translated = _to_sql(call, dialect) if call else None
            if call is not None and translated and not translated.lower().startswith(f"{name}("):
                node.replace(call)
                changes.append(f"took {name} from {other}")
                break
    return changes


def _with_ranks(tree: exp.Expr) -> exp.Expr | None:
    """Return `tree` with LIMIT ... WITH TIES as a condition on RANK; None if that is not possible."""
    for select in list(tree.find_all(exp.Select)):
        limit = select.args.get("limit")
        options = limit.args.get("limit_options") if limit else None
        if limit is None or options is None or not options.args.get("with_ties"):
            continue
        names = select.named_selects
        order = select.args.get("order")
        count = limit.args.get("count") or limit.args.get("expression") or exp.Literal.number(1)
        is_plain = not (select.args.get("distinct") or select.args.get("offset") or options.args.get("percent"))
        if not (is_plain and order and select.is_star is False and len(set(names)) == len(names) and all(names)):
            return None
        keys = [term.copy() for term in order.expressions]
        for key, term in zip(keys, order.expressions, strict=True):
            key.set("this", output_of(term.this, select).copy())
        inner = select.copy()
        for part in ("order", "limit", "with_"):
            inner.set(part, None)
        rank = exp.Window(this=exp.Rank(), order=exp.Order(expressions=keys))
        inner.select(exp.alias_(rank, _RANK, quoted=True), copy=False)
        outer = exp.select(*(exp.column(name, quoted=True) for name in names)).from_(inner.subquery("ranked"))
        outer = outer.where(exp.column(_RANK, quoted=True) <= count.copy()).order_by(exp.column(_RANK, quoted=True))
        outer.set("with_", select.args.get("with_"))
        if select is tree:
            return outer
        select.replace(outer)
    return tree


def _parse_one(sql: str, dialect: str) -> exp.Expr | None:
    try:
        (tree,) = parse(sql, dialect)
    except ValueError:
        return None
    return tree


@cache
def _foreign_dialects() -> tuple[str, ...]:
    """Return the dialects that models confuse most often, in the order in which they are tried."""
    confused = (engine for engine in engines().values() if engine.confusion_rank)
    return tuple(dict.fromkeys(engine.dialect for engine in sorted(confused, key=lambda each: each.confusion_rank)))


def _parse_in_dialects(sql: str, dialect: str) -> Iterator[tuple[str, exp.Expr]]:
    """Yield the other dialects in which `sql` can be parsed, each with its tree adapted to `dialect`.

    sqlglot and the engine translate the functions. Dialects in which a literal would be lost are skipped.
    """
    names = [name for name in _foreign_dialects() if name != engine_of(dialect).dialect]
    if _is_foreign(sql, dialect):
        names = [name for name in names if not engine_of(name).double_quotes_are_text]
    for name in names:
        tree = _parse_as(sql, name, dialect)
        if tree is not None:
            yield name, tree.transform(engine_of(dialect).rewritten_call)


def _is_foreign(sql: str, dialect: str) -> bool:
    """Return whether quoted table names show that `sql` is in another dialect, which sqlglot would misread."""
    return engine_of(dialect).double_quotes_are_text and bool(_DOUBLE_QUOTED_TABLE.search(sql))


def _to_sql(tree: exp.Expr, dialect: str) -> str | None:
    """Return `tree` as SQL of `dialect`; None if it cannot be expressed."""
    try:
        return tree.sql(dialect=dialect, comments=False, unsupported_level=ErrorLevel.RAISE)
    except (SqlglotError, RecursionError, ValueError):
        return None


def _parse_as(sql: str, name: str, dialect: str) -> exp.Expr | None:
    if engine_of(name).pipes_are_or and "||" in sql:
        return None
    try:
        # An order that does not place NULL is printed as it stands.
        null_order = exact_dialect(dialect).NULL_ORDERING
        trees = sqlglot.parse(sql, dialect=with_null_order(Dialect.get_or_raise(name).__class__, null_order))
        literals = sum(token.token_type in _LITERAL_TOKENS for token in Dialect.get_or_raise(name).tokenize(sql))
    except (SqlglotError, RecursionError, ValueError):
        return None
    if len(trees) != 1 or not isinstance(trees[0], exp.Query):
        return None
    literal_nodes = sum(1 for _ in trees[0].find_all(*_LITERAL_NODES))
    return trees[0] if literals <= literal_nodes and _quotes_are_values(sql, trees[0], name) else None


def _quotes_are_values(sql: str, tree: exp.Expr, name: str) -> bool:
    """Return whether all texts in double quotes are compared with something, and so are values rather than names."""
    if not engine_of(name).double_quotes_are_text:
        return True
    quoted = set(re.findall(r'"([^"]*)"', sql))
    texts = (node for node in tree.find_all(exp.Literal) if node.is_string and node.name in quoted)
    return all(isinstance(node.parent, PREDICATES) for node in texts)


def _repair_names(tree: exp.Expr, catalog: Catalog) -> list[str]:
    """Replace unknown names in `tree` by the only catalog name that each can mean; return the changes, none if unsure.

    Names match if they differ only in case, plural or underscores. A column qualified with the wrong table matches the
    only table of the same FROM that has it. An ambiguous column matches any of the columns that an inner join sets
    equal, or the one that is grouped. Names of tables that row rules deny are not used.
    """
    tables = (table_of(node, catalog) for node in tree.find_all(exp.Table))
    if any(table.key in catalog.denied for table in tables if table):
        return []
    changes = [*_repair_tables(tree, catalog)]
    columns = _repair_columns(tree, catalog)
    return [] if columns is None else list(dict.fromkeys([*changes, *columns]))


def _is_same_name(one: str, other: str) -> bool:
    """Return whether two names differ only in case, plural, underscores and spaces."""
    return bool(_forms(one) & _forms(other))


def _forms(name: str) -> set[str]:
    plain = re.sub(r"[\W_]+", "", name.lower())
    endings = ((r"s$", ""), (r"es$", ""), (r"ies$", "y"))
    return {plain} | {re.sub(ending, singular, plain) for ending, singular in endings if len(plain) > 3}


def _repair_tables(tree: exp.Expr, catalog: Catalog) -> Iterator[str]:
    for node in list(tree.find_all(exp.Table)):
        if isinstance(node.this, exp.Func) or names_cte(node, catalog.engine):
            continue
        exact = table_of(node, catalog)
        if exact and (catalog.engine.ignores_case or exact.name == catalog.engine.stored_name(node.this)):
            continue
        allowed = (table for key, table in catalog.tables.items() if key not in catalog.denied and not node.catalog)
        tables = (
            [exact]
            if exact
            else [
                table
                for table in allowed
                if node.db.lower() in {"", (table.schema or catalog.default_schema or "").lower()}
                and _is_same_name(node.name, table.name)
            ]
        )
        if len(tables) == 1:
            yield f"{node.name} as {tables[0].key}"
            _rename(tree, node, tables[0])


def _rename(tree: exp.Expr, node: exp.Table, table: Table) -> None:
    old = node.name
    if not node.alias:
        for column in tree.find_all(exp.Column):
            if column.table.lower() == old.lower():
                column.set("table", exp.to_identifier(table.name, quoted=True))
    node.set("this", exp.to_identifier(table.name, quoted=True))
    node.set("db", exp.to_identifier(table.schema, quoted=True) if table.schema else None)


def _repair_columns(tree: exp.Expr, catalog: Catalog) -> list[str] | None:
    """Return the changes; None if a column stays unknown, or if a change compares a column with itself."""
    columns = list(tree.find_all(exp.Column))
    for number, column in enumerate(columns):
        column.meta[_INDEX] = number
    query = qualify_names(tree, catalog)
    changes: dict[int, tuple[exp.Expr, str]] = {}
    unknown: set[int] = set()
    aliases = {node.alias.lower() for node in tree.find_all(exp.Alias, exp.TableAlias, exp.CTE)}
    # The innermost scope that has a name gives it its meaning.
    for scope, column in unresolved_columns(query) if query else ():
        if _INDEX not in column.meta:
            return None
        number = column.meta[_INDEX]
        original = columns[number]
        is_alias = not original.table and original.name.lower() in aliases
        intended = None if is_alias or number in changes else _intended_column(column, scope, catalog)
        if intended is not None:
            source, name = intended
            is_clear = not original.table and len(scope.selected_sources) == 1
            new = exp.column(name, None if is_clear else source, quoted=True)
            changes[number] = new, f"{source}.{name}"
        else:
            unknown.add(number)
    for number in unknown - changes.keys():
        original = columns[number]
        if not (original.this.args.get("quoted") and not original.table and isinstance(original.parent, PREDICATES)):
            return None
        changes[number] = exp.Literal.string(original.name), "a text"
    # A name in ORDER BY or HAVING that is an output too stays that of the output.
    same = {_place_of(columns[number]): change for number, change in changes.items()}
    for number, column in enumerate(columns):
        change = same.get(_place_of(column)) if column.find_ancestor(exp.Order, exp.Having) else None
        if change and number not in changes and column.name.lower() not in aliases:
            changes[number] = change[0].copy(), change[1]
    descriptions = [f"{columns[number].sql(comments=False)} as {text}" for number, (_, text) in changes.items()]
    for number, (replacement, _) in changes.items():
        column = columns[number]
        is_named = _is_output_of_subquery(column)
        # Outer queries name it as it was written.
        column.replace(exp.alias_(replacement, column.this.copy(), copy=False) if is_named else replacement)
    return None if any(_compares_with_itself(each) for each, _ in changes.values()) else descriptions


def _is_output_of_subquery(column: exp.Column) -> bool:
    """Return whether `column` is an output of a CTE or subquery, also of a UNION in it."""
    outside = (
        column.parent.parent if column.arg_key == "expressions" and isinstance(column.parent, exp.Select) else None
    )
    while isinstance(outside, exp.SetOperation):
        outside = outside.parent
    return isinstance(outside, exp.CTE | exp.Subquery)


def _place_of(column: exp.Column) -> tuple[int, str, str]:
    return id(column.parent_select), column.table.lower(), column.name.lower()


def _compares_with_itself(column: exp.Expr) -> bool:
    """Return whether `column` is compared with the same column, as in a join whose other table lacks it."""
    comparison = column.parent
    if not isinstance(comparison, exp.Binary) or not isinstance(comparison.left, exp.Column):
        return False
    sides = [(side.text("table").lower(), side.name.lower()) for side in (comparison.left, comparison.right)]
    return sides[0] == sides[1]


def _intended_column(column: exp.Column, scope: Scope, catalog: Catalog) -> tuple[str, str] | None:
    """Return the source and column that `column` must mean, or None."""
    columns = {name: column_names(source, catalog) for name, (_, source) in scope.selected_sources.items()}
    exact = [
        (source, name) for source, names in columns.items() for name in names if name.lower() == column.name.lower()
    ]
    if not column.table and len(exact) > 1:
        return _any_equal_column(column, exact, scope)
    near = [
        (source, name)
        for source, names in columns.items()
        for name in names
        if source == (column.table or source) and _is_same_name(name, column.name)
    ]
    own = [(source, name) for source, name in exact if source == column.table]
    options = own or list(dict.fromkeys([*exact, *near]))
    return options[0] if len(options) == 1 else None


def _any_equal_column(column: exp.Column, exact: list[tuple[str, str]], scope: Scope) -> tuple[str, str] | None:
    sources = {source for source, _ in exact}
    select = scope.expression
    equal = [
        {condition.this.table, condition.expression.table}
        for condition in inner_join_equalities(select)
        if condition.this.name.lower() == condition.expression.name.lower() == column.name.lower()
    ]
    if any(sources <= group for group in connected_groups(sources, equal)):
        return exact[0]
    group = select.args.get("group")
    grouped = {item.table for item in (group.expressions if group else ()) if item.name.lower() == column.name.lower()}
    candidates = [(source, name) for source, name in exact if source in grouped]
    return candidates[0] if len(candidates) == 1 and not column.find_ancestor(exp.Group) else None


_log = logging.getLogger(__name__)
