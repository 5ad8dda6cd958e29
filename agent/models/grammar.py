"""A grammar in GBNF, llama.cpp's notation, under which a model can only write a SELECT over given names.

A context-free grammar cannot follow names through scopes, so each scope gets rules of its own: one for every table
(`SELECT ... FROM that_table`: only its columns) and one for joins (columns by `table.column`, or bare where only one
table has the name). Tables get no aliases, so a table cannot be joined to itself. Every repetition is bounded, so that
decoding always ends. It is an aid to a small model and no guard: the statement is still checked like any other.

Notation: https://github.com/ggml-org/llama.cpp/blob/master/grammars/README.md
"""

import os.path
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from string import Template

from sqlalchemy.dialects.mysql.reserved_words import RESERVED_WORDS_MYSQL
from sqlalchemy.dialects.postgresql.base import RESERVED_WORDS as RESERVED_WORDS_POSTGRESQL
from sqlalchemy.dialects.sqlite.base import SQLiteIdentifierPreparer

SUBQUERY_DEPTH = 2
"""How deep subqueries may be nested in one another."""

_MAX_SCOPES = 25
"""With more tables the automaton's width, not the model, would set the pace; then all tables share one scope."""

_RESERVED = RESERVED_WORDS_MYSQL | RESERVED_WORDS_POSTGRESQL | SQLiteIdentifierPreparer.reserved_words
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ESCAPES = {'"': r"\"", "\\": r"\\", "\n": r"\n", "\r": r"\r", "\t": r"\t"}

_SHARED = r"""
root ::= query0 ";"?
number ::= "-"? [0-9]{1,12} ("." [0-9]{1,6})?
string ::= "'" ([^'\\\x00-\x1F] | "''"){0,60} "'"
literal ::= number | string
alias ::= ("num" | "total" | "avg" | "min" | "max" | "share" | "ratio" | "diff") "_" [a-z0-9_]{1,24}
op ::= " " [-+*/] " "
cmp ::= "=" | "!=" | "<" | "<=" | ">" | ">="
bool ::= " AND " | " OR "
set ::= " UNION " | " INTERSECT " | " EXCEPT "
like ::= "LIKE " string
between ::= "BETWEEN " literal " AND " literal
limit ::= " LIMIT " [1-9] [0-9]{0,3}
list ::= literal (", " literal){0,19}
"""

_SCOPE = Template(r"""
col$k ::= $columns
from$k ::= $tables
date$k ::= $dates
part$k ::= col$k | number
test$k ::= col$k " " (cmp " " (literal | col$k) | "IN (" list ")" | like | "IS " "NOT "? "NULL")
case$k ::= "CASE" (" WHEN " test$k (bool test$k){0,2} " THEN " leaf$k){1,3} (" ELSE " leaf$k)? " END"
leaf$k ::= col$k | literal
unit$k ::= col$k | case$k | date$k
lhs$k ::= unit$k (op part$k){0,2}
plain$k ::= (number op)? plainterm$k (op (plainterm$k | number)){0,2}
plainterm$k ::= unit$k | "(" part$k (op part$k){1,2} ")"
agg$k ::= "COUNT(*)" | ("COUNT" | "SUM" | "AVG" | "MIN" | "MAX") "(" "DISTINCT "? plain$k ")"
term$k ::= unit$k | agg$k | "(" (agg$k | part$k) (op (agg$k | part$k)){1,2} ")"
calc$k ::= (number op)? term$k (op (term$k | number)){0,3}
val$k ::= calc$k | "ROUND(" calc$k (", " [0-9])? ")"
item$k ::= val$k (" AS " alias)?
key$k ::= col$k | date$k
order$k ::= " ORDER BY " by$k (", " by$k){0,2}
by$k ::= (val$k | alias) (" ASC" | " DESC")?
""")

_SELECT = Template(r"""
query${d}s$k ::= core${d}s$k (order$k? limit? | set core$d)
core${d}s$k ::= "SELECT " "DISTINCT "? $items rest${d}s$k
rest${d}s$k ::= from$k (" WHERE " where${d}s$k)? (" GROUP BY " key$k (", " key$k){0,3} (" HAVING " having${d}s$k)?)?
where${d}s$k ::= clause${d}s$k (bool clause${d}s$k){0,4}
clause${d}s$k ::= pred${d}s$k | "(" pred${d}s$k (bool pred${d}s$k){1,3} ")"
pred${d}s$k ::= lhs$k tail${d}s$k
having${d}s$k ::= calc$k tail${d}s$k (bool calc$k tail${d}s$k){0,2}
tail${d}s$k ::= " " (cmp " " right${d}s$k | "NOT "? (like | between | "IN (" $members ")") | "IS " "NOT "? "NULL")
right${d}s$k ::= literal | lhs$k$scalar
""")


def select_grammar(
    selection: Mapping[str, Sequence[str]], quote: Callable[[str], str], *, dialect: str = "sqlite"
) -> str:
    """Return a GBNF grammar of the SELECT statements that name only the tables and columns of `selection`.

    Args:
        selection: the columns that may be used, by table key; `*` is no column, so only COUNT may have it.
        quote: gives the quoted form of a name that cannot stand bare. A key `schema.name` is such a name and comes
            whole: where to split it is for the caller to know.
        dialect: sqlglot's name of the SQL. It decides how dates are cut and whether capitals must be quoted.

    Raises:
        ValueError: there is no table, or none has a column.
    """
    names = {
        _name(table, quote, dialect): [_name(column, quote, dialect) for column in columns]
        for table, columns in selection.items()
        if columns
    }
    if not names:
        raise ValueError("a grammar needs at least one table with a column")
    scopes = _scopes(names)
    parts = [_SHARED, *_table_rules(names)]
    parts += [_scope_rules(number, *scope, dialect) for number, scope in enumerate(scopes)]
    parts += [_depth_rules(depth, len(scopes)) for depth in range(SUBQUERY_DEPTH + 1)]
    return "\n".join(line for part in parts for line in part.splitlines() if line) + "\n"


def _name(name: str, quote: Callable[[str], str], dialect: str) -> str:
    folds_case = dialect in ("postgres", "redshift") and name != name.lower()
    plain = _PLAIN.fullmatch(name) and name.lower() not in _RESERVED and not folds_case
    return name if plain else quote(name)


def _scopes(names: Mapping[str, Sequence[str]]) -> list[tuple[str, str]]:
    # Each scope is its choice of columns and its FROM clause.
    if len(names) > _MAX_SCOPES:
        return [(_joined_columns(names), f'" FROM " ({_choice(names)}) join{{0,5}}')]
    single = [
        (f"({_literal(table + '.')})? own{number}", _literal(f" FROM {table}")) for number, table in enumerate(names)
    ]
    return [*single, (_joined_columns(names), '" FROM " first join{0,4}')] if len(names) > 1 else single


def _joined_columns(names: Mapping[str, Sequence[str]]) -> str:
    count = Counter(column for columns in names.values() for column in set(columns))
    unique = [column for column, tables in count.items() if tables == 1]
    return f"full | {_choice(unique)}" if unique else "full"


def _table_rules(names: Mapping[str, Sequence[str]]) -> list[str]:
    numbers = range(len(names))
    own = [f"own{number} ::= {_choice(columns)}" for number, columns in enumerate(names.values())]
    if len(names) == 1:
        return own
    full = [f"full{number} ::= {_literal(table + '.')} own{number}" for number, table in enumerate(names)]
    # One side of the condition is a column of the table that joins; otherwise it would be no condition for it.
    joins = [
        f'join{number} ::= {_literal(f"JOIN {table} ON ")} (full{number} " = " full | full " = " full{number})'
        for number, table in enumerate(names)
    ]
    return [
        *own, *full, *joins,
        f"full ::= {' | '.join(f'full{number}' for number in numbers)}",
        f'join ::= " " "LEFT "? ({" | ".join(f"join{number}" for number in numbers)})',
        *(_first_joins(list(names)) if len(names) <= _MAX_SCOPES else []),
    ]  # fmt: skip


def _first_joins(tables: Sequence[str]) -> list[str]:
    # Of the first join both tables are known: they differ, and the condition is between the two.
    rules = [f"first ::= {' | '.join(f'first{number}' for number in range(len(tables)))}"]
    for left, table in enumerate(tables):
        joins = [
            f'{_literal(f"JOIN {other} ON ")} (full{left} " = " full{right} | full{right} " = " full{left})'
            for right, other in enumerate(tables)
            if right != left
        ]
        rules.append(f'first{left} ::= {_literal(table)} " " "LEFT "? ({" | ".join(joins)})')
    return rules


def _scope_rules(number: int, columns: str, tables: str, dialect: str) -> str:
    column = f"col{number}"
    dates = f""""strftime('%Y" "-%m"? "', " {column} ")\""""
    if dialect != "sqlite":
        dates = f'"EXTRACT(" ("YEAR" | "MONTH") " FROM " {column} ")"'
    return _SCOPE.substitute(k=number, columns=columns, tables=tables, dates=dates)


def _depth_rules(depth: int, scopes: int) -> str:
    deepest = depth == SUBQUERY_DEPTH
    inner = f"query{depth + 1}"
    rules = [
        _SELECT.substitute(
            k=number, d=depth,
            # A subquery stands for a value or a set of values: it has one column.
            items=f"val{number}" if depth else f'item{number} (", " item{number}){{0,7}}',
            members="list" if deepest else f"(list | {inner})",
            scalar="" if deepest else f' | "(" {inner} ")"',
        )
        for number in range(scopes)
    ]  # fmt: skip
    for rule in ("query", "core"):
        rules.append(f"{rule}{depth} ::= {' | '.join(f'{rule}{depth}s{number}' for number in range(scopes))}")
    return "\n".join(rules)


def _choice(words: Iterable[str]) -> str:
    # Words that begin alike share their beginning: the sampler follows every alternative that is still open.
    groups = [list(group) for _, group in groupby(sorted(set(words)), key=lambda word: word[:1])]
    return " | ".join(_branch(group) for group in groups)


def _branch(words: Sequence[str]) -> str:
    if len(words) == 1:
        return _literal(words[0])
    prefix = os.path.commonprefix(words)
    rest = [word.removeprefix(prefix) for word in words]
    optional = "?" if "" in rest else ""
    return f"{_literal(prefix)} ({_choice(word for word in rest if word)}){optional}"


def _literal(text: str) -> str:
    return '"' + "".join(_ESCAPES.get(char, char if char.isprintable() else _code(char)) for char in text) + '"'


def _code(char: str) -> str:
    return f"\\U{ord(char):08x}"
