"""Names for outputs that an engine would name by their text, so that no text of a row rule becomes a column header.

SQLite, DuckDB, MySQL and MariaDB name an output without an alias by its expression as it runs. That would be the text
with the row rules on it; MariaDB's driver writes the values of parameters into it too. PostgreSQL, ClickHouse, Trino
and Spark name an output that contains a subquery without its text.
"""

from collections.abc import Collection

from sqlglot import exp

from agent.sql.dialects import print_statement
from agent.sql.parameters import without_markers

_NAMED_BY_TEXT = {"sqlite", "duckdb", "mysql"}
_MAX_LENGTHS = {"mysql": 64}
"""Longest column name of a derived table, in characters, where there is a limit."""
_BASIC_PLANE = 0xFFFF


def name_outputs(tree: exp.Expr, tables: Collection[exp.Table], dialect: str) -> None:
    """Give each unnamed output of `tree` that contains one of `tables` an alias: its text as it is now, maybe cut."""
    if dialect not in _NAMED_BY_TEXT:
        return
    restricted = {id(table) for table in tables}
    names: list[tuple[exp.Expr, str]] = []
    for select in tree.find_all(exp.Select):
        taken = {output.alias_or_name for output in select.expressions}
        for output in select.expressions:
            if _has_text_as_name(output) and any(id(table) in restricted for table in output.find_all(exp.Table)):
                name = _name(output, taken, dialect)
                taken.add(name)
                names.append((output, name))
    for output, name in names:
        # Nothing is replaced before every text is printed: an output may contain others.
        alias = exp.Alias(alias=exp.to_identifier(name, quoted=True))
        output.replace(alias)
        alias.set("this", output)


def _has_text_as_name(output: exp.Expr) -> bool:
    return not isinstance(output, exp.Alias | exp.Aliases | exp.Column | exp.Columns | exp.Star) and not output.alias


def _name(output: exp.Expr, taken: Collection[str], dialect: str) -> str:
    """Return the text of `output` as a name; where it has to be cut, one that is not `taken`."""
    text = " ".join(print_statement(without_markers(output), dialect).split())
    if dialect == "mysql":
        text = "".join(character if ord(character) <= _BASIC_PLANE else "?" for character in text)
    longest = _MAX_LENGTHS.get(dialect, len(text))
    name, number = text[:longest].rstrip(), 1
    while len(text) > longest and name in taken:
        number += 1
        name = f"{text[: longest - len(str(number)) - 1].rstrip()} {number}"
    return name
