"""How many real foreign keys are found again from names alone, and how many inferred ones are real.

The 156 schemas of Spider with their foreign keys hidden: `python -m benchmarks.joins ../shared/benchmarks`.
The schemas of spider_dev are among them, and are counted apart, also with the values of their databases. Likely keys,
which prompts show, are counted too.
"""

import json
import sys
from dataclasses import replace
from pathlib import Path

from datasphinx.agent.schema.catalog import Column, Table
from datasphinx.agent.schema.inferred_keys import infer_foreign_keys
from datasphinx.agent.sources.profile import Sampler, profile
from datasphinx.agent.sources.reflect import reflect
from datasphinx.agent.sql.database import Database
from training.spider import SpiderSchema, SpiderTable, read_held_out, read_schemas

Join = frozenset[tuple[str, str]]


def main(folder: Path) -> None:
    """Print precision and recall over all schemas and over those of spider_dev."""
    schemas = list(read_schemas(folder / "spider_schemas.json.gz").values())
    dev = read_held_out(folder / "spider_dev" / "questions.jsonl").db_ids
    figures = {
        "train": measure([schema for schema in schemas if schema.db_id not in dev]),
        "dev": measure([schema for schema in schemas if schema.db_id in dev]),
        "dev, with values": counts(
            [
                (declared(schema), with_values(folder / "spider_dev" / "databases" / f"{schema.db_id}.sqlite"))
                for schema in schemas
                if schema.db_id in dev
            ]
        ),
        "train, primary keys hidden too": measure([s for s in schemas if s.db_id not in dev], primary=False),
    }
    print(json.dumps(figures, indent=2))


def with_values(path: Path) -> dict[str, Table]:
    """Return the tables of a database without its foreign keys, with those inferred from names and values."""
    database = Database(f"sqlite:///{path}")
    catalog = reflect(database)
    tables = {key: replace(table, foreign_keys=()) for key, table in catalog.tables.items()}
    return dict(profile(Sampler(database, replace(catalog, tables=infer_foreign_keys(tables)), budget_s=30.0)).tables)


def measure(schemas: list[SpiderSchema], *, primary: bool = True) -> dict[str, float]:
    """Return counts and shares of the keys that are inferred from the names in `schemas`."""
    return counts([(declared(each), infer_foreign_keys(tables_of(each, primary=primary))) for each in schemas])


def counts(schemas: list[tuple[set[Join], dict[str, Table]]]) -> dict[str, float]:
    """Return counts and shares of declared and inferred keys; a join is the unordered pair of its two columns."""
    real = inferred = both = likely = likely_both = 0
    for wanted, tables in schemas:
        found, clear = joins(tables), joins(tables, only_likely=True)
        real, inferred, both = real + len(wanted), inferred + len(found), both + len(wanted & found)
        likely, likely_both = likely + len(clear), likely_both + len(wanted & clear)
    return {
        "schemas": len(schemas),
        "real": real,
        "inferred": inferred,
        "precision": round(both / inferred, 3),
        "recall": round(both / real, 3),
        "likely": likely,
        "precision of likely": round(likely_both / likely, 3),
        "recall of likely": round(likely_both / real, 3),
    }


def declared(schema: SpiderSchema) -> set[Join]:
    """Return the foreign keys that Spider gives."""
    return {frozenset(((key.table, key.column), (key.target, key.target_column))) for key in schema.foreign_keys}


def joins(tables: dict[str, Table], *, only_likely: bool = False) -> set[Join]:
    """Return the joins of `tables`, all of which are inferred."""
    return {
        frozenset(((key, foreign.columns[0]), (foreign.target, foreign.target_columns[0])))
        for key, table in tables.items()
        for foreign in table.foreign_keys
        if foreign.likely or not only_likely
    }


def tables_of(schema: SpiderSchema, *, primary: bool) -> dict[str, Table]:
    """Return the tables of a schema without their foreign keys."""

    def without_keys(table: SpiderTable) -> Table:
        columns = (Column(each.name, "datetime" if each.type == "time" else each.type) for each in table.columns)
        return Table(table.name, tuple(columns), primary_key=table.primary_key if primary else ())

    return {table.name: without_keys(table) for table in schema.tables}


if __name__ == "__main__":
    main(Path(sys.argv[1]))
