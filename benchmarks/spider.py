"""Spider's schemas as one catalog, its questions with the tables of their gold SQL, and tables that only distract."""

import random
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import sqlglot
from sqlglot import exp

from datasphinx.agent.core.duckdb_text import quote_name
from datasphinx.agent.schema.catalog import Catalog, Column, ForeignKey, Table
from datasphinx.agent.types import Limits
from tests.support.databases import open_url
from training.spider import SpiderSchema, read_schemas, read_training

SHARED = Path(__file__).resolve().parents[2] / "shared"
SCHEMAS = SHARED / "benchmarks" / "spider_schemas.json.gz"
TRAIN = SHARED / "training" / "spider_train.jsonl.gz"
DEV = SHARED / "benchmarks" / "spider_dev"

_SEED = 20_26
_COLUMNS = 20


class Linked(NamedTuple):
    """A question and the keys of the tables that its gold SQL reads."""

    database: str
    question: str
    gold: frozenset[str]


def read_tables() -> dict[str, Table]:
    """Return the tables of all schemas; keys are `database.table`, which no name of a table or column repeats."""
    return {key: table for schema in read_schemas(SCHEMAS).values() for key, table in _tables(schema)}


def one_database(tables: Mapping[str, Table], database: str) -> dict[str, Table]:
    """Return the tables of one database."""
    return {key: table for key, table in tables.items() if key.split(".")[0] == database}


def catalog_of(tables: Mapping[str, Table], values: Mapping[tuple[str, str], tuple[str, ...]] | None = None) -> Catalog:
    """Return `tables` as one catalog."""
    return Catalog("sqlite", tables, values=values or {})


def read_train(tables: Mapping[str, Table]) -> list[Linked]:
    """Return the questions of the training part; one whose SQL reads a table that is not there is left out."""
    return _linked(TRAIN, tables)


def read_dev(tables: Mapping[str, Table]) -> list[Linked]:
    """Return the questions of the ten databases that nothing is fitted to."""
    return _linked(DEV / "questions.jsonl", tables)


def dev_values(tables: Mapping[str, Table]) -> dict[tuple[str, str], tuple[str, ...]]:
    """Return sampled values of the ten databases that have rows, by (table key, column name)."""
    spelt = {key.lower(): key for key in tables}
    found = {}
    for path in sorted((DEV / "databases").glob("*.sqlite")):
        catalog = open_url(f"sqlite:///{path}", Limits(10, 1000)).catalog
        for (table, column), values in catalog.values.items():
            key = spelt.get(f"{path.stem}.{table}".lower())
            if key:
                found[key, column] = values
    return found


def with_distractors(tables: Mapping[str, Table], size: int) -> dict[str, Table]:
    """Return `tables` and as many more as make `size`.

    Each further database has the keys of a real one; its tables are named by one word each of two real names, and have
    20 columns drawn from all real columns. The draw is the same each time.
    """
    chance = random.Random(_SEED)
    names = [word for table in tables.values() for word in table.name.split("_")]
    columns = [column for table in tables.values() for column in table.columns]
    databases: dict[str, dict[str, Table]] = {}
    for key, table in tables.items():
        databases.setdefault(key.split(".")[0], {})[key] = table
    found = dict(tables)
    while len(found) < size:
        copied = databases[chance.choice(sorted(databases))]
        new = {key: f"{chance.choice(names)}_{chance.choice(names)}" for key in copied}
        renamed = {key: f"{len(found)}.{number}.{name}" for number, (key, name) in enumerate(new.items())}
        found |= {renamed[key]: _disguised(new[key], table, renamed, columns, chance) for key, table in copied.items()}
    return dict(list(found.items())[:size])


def combined(tables: Mapping[str, Table], size: int) -> list[dict[str, Table]]:
    """Return groups of whole databases with at most `size` tables each, drawn at random but the same each time.

    Each group is one schema by old key: a table whose name occurs twice in it has the name of its database before it.
    """
    databases = list(dict.fromkeys(key.split(".")[0] for key in tables))
    random.Random(_SEED).shuffle(databases)
    groups: list[dict[str, Table]] = [{}]
    for database in databases:
        added = one_database(tables, database)
        if len(groups[-1]) + len(added) > size:
            groups.append({})
        groups[-1] |= added
    return [dict(_with_own_names(group)) for group in groups]


def create_statements(tables: Iterable[Table]) -> list[str]:
    """Return the statements that create `tables` in a SQLite database; the targets of foreign keys are their names."""
    return [_create_statement(table) for table in tables]


def with_joined_names(tables: Mapping[str, Table], *, prefixed: bool) -> dict[str, Table]:
    """Return `tables` with all names of every second database in lower case and without separators.

    With `prefixed`, they begin with two consonants, drawn for each database.
    """
    chance = random.Random(_SEED)
    databases = list(dict.fromkeys(key.split(".")[0] for key in tables))
    prefixes = {
        database: "".join(chance.choices("bcdfghjklmnpqrstvwxz", k=2)) if prefixed else ""
        for database in databases[::2]
    }

    def joined(key: str, names: Iterable[str]) -> tuple[str, ...]:
        prefix = prefixes.get(key.split(".")[0])
        return tuple(names if prefix is None else (prefix + re.sub(r"\W|_", "", name).lower() for name in names))

    def renamed(key: str, table: Table) -> Table:
        names = joined(key, table.column_names)
        return Table(
            joined(key, [table.name])[0],
            tuple(column._replace(name=name) for column, name in zip(table.columns, names, strict=True)),
            primary_key=joined(key, table.primary_key),
            foreign_keys=tuple(
                ForeignKey(joined(key, each.columns), each.target, joined(each.target, each.target_columns))
                for each in table.foreign_keys
            ),
        )

    return {key: renamed(key, table) for key, table in tables.items()}


def _with_own_names(group: Mapping[str, Table]) -> Iterator[tuple[str, Table]]:
    names: dict[str, str] = {}
    for key, table in group.items():
        # SQLite reserves names that begin with its own.
        is_taken = table.name.lower() in {name.lower() for name in names.values()} | {"sqlite_sequence"}
        names[key] = key.replace(".", "_") if is_taken else table.name
    for key, table in group.items():
        foreign_keys = tuple(replace(each, target=names[each.target]) for each in table.foreign_keys)
        yield key, replace(table, name=names[key], foreign_keys=foreign_keys)


def _create_statement(table: Table) -> str:
    def quoted(names: Iterable[str]) -> str:
        return ", ".join(map(quote_name, names))

    parts = [f"{quoted([column.name])} {column.type}" for column in table.columns]
    parts += [f"PRIMARY KEY ({quoted(table.primary_key)})"] if table.primary_key else []
    parts += [
        f"FOREIGN KEY ({quoted(each.columns)}) REFERENCES {quoted([each.target])} ({quoted(each.target_columns)})"
        for each in table.foreign_keys
    ]
    return f"CREATE TABLE {quoted([table.name])} ({', '.join(parts)})"


def _disguised(
    name: str, table: Table, renamed: Mapping[str, str], columns: list[Column], chance: random.Random
) -> Table:
    keys = tuple(ForeignKey(key.columns, renamed[key.target], key.target_columns) for key in table.foreign_keys)
    return Table(name, tuple(chance.choices(columns, k=_COLUMNS)), foreign_keys=keys)


def _tables(schema: SpiderSchema) -> Iterator[tuple[str, Table]]:
    for table in schema.tables:
        keys = tuple(
            ForeignKey((key.column,), f"{schema.db_id}.{key.target}", (key.target_column,))
            for key in schema.foreign_keys
            if key.table == table.name
        )
        columns = tuple(Column(column.name, "TEXT") for column in table.columns)
        yield (
            f"{schema.db_id}.{table.name}",
            Table(table.name, columns, primary_key=table.primary_key, foreign_keys=keys),
        )


def _linked(questions: Path, tables: Mapping[str, Table]) -> list[Linked]:
    spelt = {key.lower(): key for key in tables}
    found = []
    for asked in read_training(questions):
        gold = {spelt.get(f"{asked.db_id}.{name}".lower(), "") for name in _read_by(asked.sql)}
        if "" not in gold:
            found.append(Linked(asked.db_id, asked.question, frozenset(gold)))
    return found


def _read_by(sql: str) -> set[str]:
    statement = sqlglot.parse_one(sql, read="sqlite")
    named = {expression.alias.lower() for expression in statement.find_all(exp.CTE)}
    return {table.name.lower() for table in statement.find_all(exp.Table)} - named
