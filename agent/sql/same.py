"""Whether two statements are the same but for how they are written."""

from sqlglot.errors import SqlglotError
from sqlglot.optimizer.normalize_identifiers import normalize_identifiers

from agent.sql.dialects import print_statement
from agent.sql.guard import parse


def same_form(sql: str, dialect: str) -> str:
    """Return a text that is equal for statements with the same tree, whatever their spaces, remarks and cases.

    For what cannot be parsed that is its words.
    """
    try:
        trees = [normalize_identifiers(tree, dialect=dialect) for tree in parse(sql, dialect)]
        return "; ".join(print_statement(tree, dialect) for tree in trees)
    except (ValueError, SqlglotError, RecursionError):
        return " ".join(sql.split())
