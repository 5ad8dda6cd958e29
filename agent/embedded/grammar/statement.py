"""A grammar in GBNF, the notation of llama.cpp, that restricts the model to statements over given tables.

A context-free grammar cannot resolve names, so each scope has its own rules: one scope for every table, and one for
every set of tables linked by foreign keys. In compact statements FROM comes first, so the scope is known before the
first column. Every repetition is bounded, so decoding always ends. The grammar helps a small model; it is not a
security check, and the guard checks the statement like any other.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from datasphinx.agent.embedded.compact import quoted
from datasphinx.agent.embedded.grammar.columns import Kind, example_rules, table_rules
from datasphinx.agent.embedded.grammar.joins import Joins
from datasphinx.agent.embedded.grammar.literals import asks_for_units, may_need_chains, may_need_windows, string_rules
from datasphinx.agent.embedded.grammar.scope import global_rules, scope_rules
from datasphinx.agent.retrieval.linked_values import LinkedValue
from datasphinx.agent.schema.catalog import Catalog, ColumnKey, Table
from datasphinx.agent.schema.describe import quoted_key
from datasphinx.agent.schema.words import words


def key_kinds(tables: Mapping[str, Table], selection: Mapping[str, Sequence[str]]) -> dict[ColumnKey, str]:
    """Return kinds `k0`, `k1`, ... for the key columns of `selection`; columns linked by foreign keys share one."""
    parents = {(key, column): (key, column) for key, table in tables.items() for column in table.key_columns}

    def root(column_key: ColumnKey) -> ColumnKey:
        while parents.setdefault(column_key, column_key) != column_key:
            column_key = parents[column_key]
        return column_key

    for key, table in tables.items():
        for foreign in table.foreign_keys:
            for column, target in zip(foreign.columns, foreign.target_columns, strict=False):
                parents[root((key, column))] = root((foreign.target, target))
    columns = [(key, column) for key, columns in selection.items() if key in tables for column in columns]
    numbers: dict[ColumnKey, int] = {}
    return {
        column_key: f"k{numbers.setdefault(root(column_key), len(numbers))}"
        for column_key in columns
        if column_key in parents
    }


@dataclass(frozen=True)
class StatementGrammar:
    """A GBNF grammar of statements."""

    text: str
    joins: Joins
    """The FROM clauses that statements begin with."""

    def with_root(self, root: str) -> str:
        """Return the grammar with another root rule, see `Joins.root`."""
        return "\n".join(f"root ::= {root}" if line.startswith("root ::= ") else line for line in self.text.split("\n"))


def statement_grammar(
    catalog: Catalog,
    selection: Mapping[str, Sequence[str]],
    question: str,
    values: Sequence[LinkedValue],
    metrics: Mapping[ColumnKey, Kind] | None = None,
) -> StatementGrammar:
    """Return the grammar of the statements over the tables and columns of `selection`.

    Literals are limited to those of `question`, `values`, and the catalog's examples that the question may mention.

    Args:
        catalog: the source; tables of `selection` that it lacks are omitted.
        selection: the columns that may be used, by table key.
        question: the question of the user.
        values: stored values that the question refers to.
        metrics: the kinds of columns that stand for metrics.

    Raises:
        ValueError: there is no table with a column.
    """
    tables = {
        key: catalog.tables[key]
        for key, columns in selection.items()
        if key in catalog.tables and not set(catalog.tables[key].column_names).isdisjoint(columns)
    }
    if not tables:
        raise ValueError("a grammar needs at least one table with a column")
    keys = key_kinds(tables, selection)
    columns = [
        table_rules(
            f"k{number}-",
            catalog,
            table,
            selection[key],
            question,
            {column: kind for (owner, column), kind in keys.items() if owner == key},
            {column: kind for (owner, column), kind in (metrics or {}).items() if owner == key},
        )
        for number, (key, table) in enumerate(tables.items())
    ]
    names = [quoted_key(table, quoted) for table in tables.values()]
    kinds = [frozenset(rules) for rules in columns]
    chains, windows = may_need_chains(question), may_need_windows(question)
    scopes: list[tuple[str, Mapping[str, str]]] = [(f"k{number}-", rules) for number, rules in enumerate(columns)]
    joins = Joins(catalog, list(tables), names, kinds, chains=chains)
    scopes += joins.scopes()
    # Units times price is money, so multiplication is excluded if the question asks for units.
    operators = f'op ::= " " {"[-+/]" if asks_for_units(question) else "[-+*/]"} " "'
    name_words = {
        word for key, table in tables.items() for name in (table.name, *selection[key]) for word in words(name)
    }
    literals = string_rules(question, values, name_words)
    parts: list[Iterable[str]] = [joins.rules(), (operators, global_rules(), literals)]
    parts += [
        example_rules(f"k{number}-", catalog, table, selection[key], question)
        for number, (key, table) in enumerate(tables.items())
    ]
    parts.append(scope_rules(scope, rules, windows=windows, chains=chains) for scope, rules in scopes)
    lines = (line for part in parts for text in part for line in text.splitlines() if line)
    return StatementGrammar("\n".join(lines) + "\n", joins)
