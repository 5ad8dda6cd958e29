"""Statements in lines that people read."""

from sqlglot.errors import SqlglotError

from datasphinx.agent.sql.dialects import print_statement
from datasphinx.agent.sql.guard import parse

_LINE_CHARS = 100


def in_lines(sql: str, dialect: str) -> str:
    """Return a statement that is one line of more than 100 characters with each clause on its own line.

    Others stay as they are, and so does one that cannot be parsed or printed.
    """
    if "\n" in sql or len(sql) <= _LINE_CHARS:
        return sql
    try:
        (tree,) = parse(sql, dialect)
        return print_statement(tree, dialect, in_lines=True, copy=False)
    except (ValueError, SqlglotError, RecursionError):
        return sql
