"""Aliases for output columns that an engine would name by their text, so that no column header shows a row rule.

SQLite, DuckDB, MySQL and MariaDB name an output without an alias by its expression. After row rules are applied that
text would contain them; the MariaDB driver also inserts parameter values. PostgreSQL, ClickHouse, Trino and Spark name
outputs with subqueries without their text.
"""

from collections.abc import Collection

from sqlglot import exp

from agent.sql.dialects import print_statement
from agent.sql.parameters import without_markers

_NAMED_BY_TEXT = {"sqlite", "duckdb", "mysql"}
_NAMED_OUTPUTS = (exp.Alias, exp.Aliases, exp.Column, exp.Columns, exp.Star)
_MAX_LENGTHS = {"mysql": 64}
"""Maximum length of column names in derived tables, in characters."""
_BASIC_PLANE = 0xFFFF


def name_outputs(tree: exp.Expr, tables: Collection[exp.Table], dialect: str) -> None:
    """Give each unnamed output of `tree` that contains one of `tables` an alias: its current text, cut if too long."""
    if dialect not in _NAMED_BY_TEXT:
        return
    restricted = {id(table) for table in tables}
    names: list[tuple[exp.Expr, str]] = []
    for select in tree.find_all(exp.Select):
        names_in_use = {output.alias_or_name for output in select.expressions}
        for output in select.expressions:
            if isinstance(output, _NAMED_OUTPUTS) or output.alias:
                continue
            if any(id(table) in restricted for table in output.find_all(exp.Table)):
                name = _name(output, names_in_use, dialect)
                names_in_use.add(name)
                names.append((output, name))
    for output, name in names:
        # Print all texts before replacing any output: outputs may be nested.
        alias = exp.Alias(alias=exp.to_identifier(name, quoted=True))
        output.replace(alias)
        alias.set("this", output)


def _name(output: exp.Expr, names_in_use: Collection[str], dialect: str) -> str:
    """Return the text of `output` as a name; if it has to be cut, a name that is not in `names_in_use`."""
    text = " ".join(print_statement(without_markers(output), dialect).split())
    if dialect == "mysql":
        text = "".join(character if ord(character) <= _BASIC_PLANE else "?" for character in text)
    longest = _MAX_LENGTHS.get(dialect, len(text))
    name, number = text[:longest].rstrip(), 1
    while len(text) > longest and name in names_in_use:
        number += 1
        name = f"{text[: longest - len(str(number)) - 1].rstrip()} {number}"
    return name
