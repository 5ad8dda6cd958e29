"""Writing a checked statement down again, so that the engine reads what was checked.

Where sqlglot would write what an engine reads otherwise, or does not know, the spelling is set here.
"""

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.dialects.mysql import MySQL
from sqlglot.errors import ErrorLevel
from sqlglot.generators.mysql import MySQLGenerator


class _MariaDBGenerator(MySQLGenerator):
    TRANSFORMS = {
        **MySQLGenerator.TRANSFORMS,
        exp.RegexpLike: lambda self, node: self.binary(node, "REGEXP"),
    }


class _MariaDB(MySQL):
    """MySQL in words that MariaDB has too."""

    Generator = _MariaDBGenerator


_PRINTED_AS: dict[str, type[Dialect]] = {"mysql": _MariaDB}


def print_statement(tree: exp.Expr, dialect: str) -> str:
    """Return `tree` as SQL of `dialect` without remarks, names and strings as they were.

    Raises:
        sqlglot.errors.SqlglotError: a node has no spelling in this dialect.
    """
    written = Dialect.get_or_raise(_PRINTED_AS.get(dialect, dialect))
    generator = written.generator(comments=False, unsupported_level=ErrorLevel.RAISE, normalize_functions=False)
    return generator.generate(tree)
