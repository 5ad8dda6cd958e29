"""Examples of the repair task: the prompt with a wrong statement and its error, answered by the right statement.

Wrong statements are compact statements with a typical error of a small model. Each corruption changes one place of the
text and leaves the rest as it is. Corruptions that do not fail are not used.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import TypeVar

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from datasphinx.agent.embedded.candidates import read_candidate
from datasphinx.agent.embedded.compact import conditions_between, quoted, table_name
from datasphinx.agent.embedded.prompts import describe_briefly, statement_messages
from datasphinx.agent.errors import StatementError
from datasphinx.agent.llm.client import WrittenText
from datasphinx.agent.retrieval.linked_values import linked_values
from datasphinx.agent.schema.catalog import Catalog
from datasphinx.agent.sources.source import Source
from datasphinx.agent.sql.names import key_of
from training.compact import compact
from training.dataset import GoldQuestion, Selection, selection_with, tables_of
from training.groups import Group, grouped

_Item = TypeVar("_Item")
_JOIN_ENDS = {TokenType.SELECT, TokenType.JOIN, TokenType.LEFT}
_HAVING_ENDS = {
    TokenType.ORDER_BY, TokenType.LIMIT, TokenType.QUALIFY, TokenType.INTERSECT, TokenType.EXCEPT, TokenType.UNION,
}  # fmt: skip
_RANKED = re.compile(r"( WHERE .+?)? ORDER BY ([\w.\"]+)( DESC)? LIMIT 1(?=\)|$)")
_HAVING = re.compile(r"( WHERE .+?)?( GROUP BY .+?) HAVING ")


def corruptions(text: str, catalog: Catalog, shown: Selection, rng: Random) -> Iterator[str]:
    """Yield corrupted forms of the compact statement `text`, at most one of each kind, in random order.

    Misplaced tables and columns are taken from `shown`; names that do not exist resemble existing ones.
    """
    try:
        statement = _Statement(text, catalog, shown, rng)
    except SqlglotError:
        return
    for kind in _order(rng):
        wrong = kind(statement)
        if wrong and wrong != text:
            yield wrong


class _Statement:
    """A compact statement with its names and their positions."""

    def __init__(self, text: str, catalog: Catalog, shown: Selection, rng: Random) -> None:
        self.text, self.catalog, self.shown, self.rng = text, catalog, shown, rng
        self.tree = sqlglot.parse_one(text, read="sqlite")
        self.tokens: Sequence[Token] = sqlglot.tokenize(text, read="sqlite")
        self.columns = [node for node in self.tree.find_all(exp.Column) if isinstance(node.this, exp.Identifier)]
        self.tables = list(self.tree.find_all(exp.Table))

    def scope(self, column: exp.Column) -> list[str]:
        """Return the keys of the tables in scope of `column`."""
        nodes = [table for table in self.tables if table.parent_select is column.parent_select]
        return [key for key in map(self.key, nodes) if key]

    def key(self, table: exp.Table) -> str | None:
        """Return the key of `table`."""
        return key_of(table, self.catalog)

    def replaced(self, first: exp.Expr, last: exp.Expr, new: str) -> str:
        """Return the text with the identifiers from `first` to `last` replaced by `new`."""
        return self.text[: first.meta["start"]] + new + self.text[last.meta["end"] + 1 :]


def _other_tables_column(statement: _Statement) -> str | None:
    """Assign a column to a table that does not have it, preferably one in scope."""
    rng = statement.rng
    column = _choice(statement.columns, rng)
    scope = statement.scope(column) if column else []
    if column is None or not scope:
        return None
    names_in_scope = {name.lower() for key in scope for name in statement.catalog.tables[key].column_names}
    if column.table:
        owner = statement.catalog.key_of(column.table)
        own = {name.lower() for name in statement.catalog.tables[owner].column_names} if owner else set()
        names = [n for key in scope for n in statement.catalog.tables[key].column_names if n.lower() not in own]
    else:
        names = [n for columns in statement.shown.values() for n in columns if n.lower() not in names_in_scope]
    name = _choice(names, rng)
    return statement.replaced(column.this, column.this, quoted(name)) if name else None


def _table_out_of_scope(statement: _Statement) -> str | None:
    """Use a column of a table that is not joined, with or without the name of the table."""
    column = _choice(statement.columns, statement.rng)
    scope = statement.scope(column) if column else []
    others = [key for key in statement.shown if key not in scope]
    key = _choice(others, statement.rng)
    if column is None or key is None:
        return None
    name = quoted(statement.rng.choice(statement.shown[key]))
    new = (
        name
        if not column.table and statement.rng.random() < 0.5
        else f"{table_name(statement.catalog.tables[key])}.{name}"
    )
    return statement.replaced(column.parts[0], column.this, new)


def _near_column(statement: _Statement) -> str | None:
    column = _choice(statement.columns, statement.rng)
    if column is None:
        return None
    existing = {name.lower() for columns in statement.shown.values() for name in columns}
    name = _choice([near for near in _near(column.name, column.table) if near.lower() not in existing], statement.rng)
    return statement.replaced(column.this, column.this, quoted(name)) if name else None


def _near_table(statement: _Statement) -> str | None:
    """Replace the name of a table by a similar one everywhere."""
    table = _choice(statement.tables, statement.rng)
    names = [] if table is None else [n for n in _near(table.name, "") if statement.catalog.key_of(n) is None]
    name = _choice(names, statement.rng)
    if table is None or name is None:
        return None
    nodes = [node.this for node in statement.tables] + [node.args.get("table") for node in statement.columns]
    places = [node for node in nodes if node is not None and node.name.lower() == table.name.lower()]
    text = statement.text
    for place in sorted(places, key=lambda place: -place.meta["start"]):
        text = text[: place.meta["start"]] + quoted(name) + text[place.meta["end"] + 1 :]
    return text


def _without_join(statement: _Statement) -> str | None:
    """Remove one JOIN, so that its columns have no table, or the next join has no key."""
    spans = _joins(statement)
    span = _choice(spans, statement.rng)
    return f"{statement.text[: span[0]].rstrip()} {statement.text[span[1] :]}" if span else None


def _without_condition(statement: _Statement) -> str | None:
    """Remove the ON of a JOIN that no key, or more than one, could replace."""
    spans = [(begin, end) for begin, end in _joins(statement) if " ON " in statement.text[begin:end]]
    span = _choice(spans, statement.rng)
    if span is None:
        return None
    joined = statement.text[span[0] : span[1]].partition(" ON ")[0]
    return f"{statement.text[: span[0]]}{joined} {statement.text[span[1] :]}"


def _join_without_key(statement: _Statement) -> str | None:
    """Add a JOIN to a table that has no key to the tables before it."""
    select = statement.tree.find(exp.Select)
    nodes = [node for node in statement.tables if node.parent_select is select]
    keys = [key for key in map(statement.key, nodes) if key]
    others = [k for k in statement.shown if k not in keys and not conditions_between(statement.catalog, k, keys)]
    other = _choice(others, statement.rng)
    if other is None:
        return None
    at = statement.text.find(" SELECT ")
    return f"{statement.text[:at]} JOIN {table_name(statement.catalog.tables[other])}{statement.text[at:]}"


def _aggregate_in_where(statement: _Statement) -> str | None:
    """Move the condition of HAVING to WHERE, or replace ORDER BY and LIMIT by a comparison with MAX or MIN."""
    having = _HAVING.search(statement.text)
    if having:
        end = next((t.start for t in statement.tokens if t.start > having.end() and t.token_type in _HAVING_ENDS), None)
        condition = statement.text[having.end() : end].rstrip()
        where = f"{having[1]} AND" if having[1] else " WHERE"
        rest = f" {statement.text[end:]}" if end else ""
        return f"{statement.text[: having.start()]}{where} {condition}{having[2]}{rest}"
    ranked = _RANKED.search(statement.text)
    if ranked is None or " GROUP BY " in statement.text:
        return None
    where = f"{ranked[1]} AND" if ranked[1] else " WHERE"
    best = f"{ranked[2]} = {'MAX' if ranked[3] else 'MIN'}({ranked[2]})"
    return f"{statement.text[: ranked.start()]}{where} {best}{statement.text[ranked.end() :]}"


def _unqualified(statement: _Statement) -> str | None:
    """Remove the table of a column, whose name may then be ambiguous."""
    column = _choice([node for node in statement.columns if node.table], statement.rng)
    return statement.replaced(column.parts[0], column.this, quoted(column.name)) if column else None


_Kind = Callable[[_Statement], str | None]
_COMMON: tuple[_Kind, ...] = (_other_tables_column, _table_out_of_scope, _near_column, _near_table, _join_without_key)
_RARE: tuple[_Kind, ...] = (_without_join, _without_condition, _aggregate_in_where, _unqualified)
"""Corruptions that few statements permit; they come first in half of the cases, or they would hardly occur."""


def _order(rng: Random) -> list[_Kind]:
    if rng.random() < 0.5:
        return [*rng.sample(_RARE, len(_RARE)), *rng.sample(_COMMON, len(_COMMON))]
    kinds = _COMMON + _RARE
    return rng.sample(kinds, len(kinds))


def _choice(of: Sequence[_Item], rng: Random) -> _Item | None:
    return rng.choice(of) if of else None


def _near(name: str, table: str) -> Iterator[str]:
    parts = [part for part in name.split("_") if part]
    yield name[:-1] if name.endswith("s") else f"{name}s"
    if len(parts) > 1:
        yield from (parts[0], parts[-1], "".join(parts))
    if table:
        yield f"{table}_{name}"
    yield from (f"{name}_id", f"{name}_name")
    if name.lower().endswith("id") and len(name) > 3:
        yield "id"


def _joins(statement: _Statement) -> list[tuple[int, int]]:
    """Return start and end of each JOIN with its ON."""
    tokens = statement.tokens
    spans = []
    for at, token in enumerate(tokens):
        if token.token_type == TokenType.JOIN:
            begin = tokens[at - 1].start if tokens[at - 1].token_type == TokenType.LEFT else token.start
            ends = (later.start for later in tokens[at + 1 :] if later.token_type in _JOIN_ENDS)
            spans.append((begin, next(ends, len(statement.text))))
    return spans


def repairs(
    source: Source, database: str, questions: Sequence[GoldQuestion], rng: Random, *, size: int, limit: int
) -> Iterator[Group]:
    """Yield at most `limit` of `questions`, each with a wrong statement that fails, in groups of at most `size`.

    The error is the one that the agent reports: that of parsing the statement, else that of executing it.

    Raises:
        Terminal: the database rejects all statements.
    """
    pairs = [(gold, answer) for gold in questions if (answer := compact(gold.sql, source.catalog)) is not None]
    sample = rng.sample(pairs, min(limit, len(pairs)))
    sample.sort(key=lambda pair: min(tables_of(pair[0].sql, source.catalog), default=""))
    for start in range(0, len(sample), size):
        group = _group(source, database, sample[start : start + size], rng)
        if group:
            yield group


def error_of(text: str, source: Source) -> str | None:
    """Return the error of the compact statement `text` on one line; None if it runs.

    Raises:
        Terminal: the database rejects all statements.
    """
    candidate = read_candidate(WrittenText(text), source, may_repair=False)
    if candidate.problem:
        return " ".join(candidate.problem.split())
    try:
        source.execute(candidate.sql)
    except StatementError as error:
        return " ".join(str(error).split())
    return None


def _group(source: Source, database: str, part: Sequence[tuple[GoldQuestion, str]], rng: Random) -> Group | None:
    needed = {key for gold, _ in part for key in tables_of(gold.sql, source.catalog)}
    selection = selection_with(needed, source.catalog, rng)
    exchanges = []
    for gold, answer in part:
        failed = _failed(answer, source, selection, rng)
        if failed:
            values = linked_values(gold.question, source.values, selection)
            exchanges.append(
                (statement_messages(source.catalog, selection, gold.question, values, failed=failed), answer)
            )
    return grouped(database, "repair", describe_briefly(source.catalog, selection), exchanges) if exchanges else None


def _failed(answer: str, source: Source, selection: Selection, rng: Random) -> tuple[str, str] | None:
    """Return the first corruption of `answer` that fails, with its error; None if none fails."""
    wrong = ((text, error_of(text, source)) for text in corruptions(answer, source.catalog, selection, rng))
    return next(((text, error) for text, error in wrong if error), None)
