"""What the barrier of row rules costs: `python -m benchmarks.row_rules [ENGINE ...]`.

A table of a million rows of which the rule permits a tenth, with indexes on the key and on the column of the rule. Each
statement runs with the barrier and as it would run without it; the fastest of five runs counts. PostgreSQL and MariaDB
are those of TEST_POSTGRES_URL and TEST_MYSQL_URL.
"""

import json
import sys
import tempfile
from pathlib import Path
from typing import Any
from unittest.mock import patch

from sqlalchemy import Connection, Engine, create_engine, text

from benchmarks.common import timed
from datasphinx.agent.engines import engine_of
from datasphinx.agent.schema.catalog import Catalog, Column, Table
from datasphinx.agent.sql.dialects import print_statement
from datasphinx.agent.sql.guard import parse
from datasphinx.agent.sql.row_rules import RowRules
from tests.support.servers import SERVERS

ROWS = 1_000_000
RUNS = 5
RULES = {
    "equality": "region = 'r3'",
    "subquery": "EXISTS (SELECT 1 FROM rb_access WHERE rb_access.region = rb_sales.region)",
}
STATEMENTS = {
    "count": "SELECT COUNT(*) FROM rb_sales",
    "group by": "SELECT product, SUM(amount) FROM rb_sales GROUP BY product",
    "condition": "SELECT COUNT(*) FROM rb_sales WHERE LENGTH(note) > 8",
    "indexed lookup": "SELECT note FROM rb_sales WHERE id = 500003",
    "self join": "SELECT COUNT(*) FROM rb_sales AS a JOIN rb_sales AS b ON b.id = a.id",
}
NUMBERS = {
    "sqlite": "WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < {rows}) SELECT n FROM s",
    "duckdb": "SELECT range AS n FROM range(1, {rows} + 1)",
    "postgres": "SELECT n FROM generate_series(1, {rows}) AS n",
    "mysql": "SELECT seq AS n FROM seq_1_to_{rows}",
}


def main(*engines: str) -> None:
    """Print milliseconds without and with the barrier, and their ratio."""
    print(json.dumps({name: on_engine(name) for name in engines or NUMBERS}, indent=2))


def on_engine(name: str) -> dict[str, Any]:
    """The statements on one engine, under each rule."""
    with tempfile.TemporaryDirectory() as folder:
        engine = create_engine(SERVERS.get(name) or f"{name}:///{Path(folder)}/sales.{name}")
        fill(engine, name)
        columns = ("id", "region", "product", "amount", "note")
        tables = {
            "rb_sales": Table("rb_sales", tuple(Column(column, "TEXT") for column in columns)),
            "rb_access": Table("rb_access", (Column("region", "TEXT"),)),
        }
        schema = {"postgres": "public", "mysql": engine.url.database}.get(name, "main")
        catalog = Catalog(name, tables, schema)
        figures = {
            rule: under_rule(RowRules({"rb_sales": text_}, name, catalog), engine) for rule, text_ in RULES.items()
        }
        with engine.begin() as connection:
            drop(connection)
        engine.dispose()
    return figures


def under_rule(rules: RowRules, engine: Engine) -> dict[str, Any]:
    figures = {}
    for statement, sql in STATEMENTS.items():
        (tree,) = parse(sql, rules.dialect)
        with patch.object(type(engine_of(rules.dialect)), "with_barrier", lambda engine, rows, cte: rows):
            without = rules.apply(tree)
        texts = (print_statement(each, rules.dialect) for each in (without, rules.apply(tree)))
        bare, barred = (fastest_ms(engine, each) for each in texts)
        figures[statement] = {"without_ms": bare, "with_ms": barred, "ratio": round(barred / bare, 1)}
    return figures


def fastest_ms(engine: Engine, sql: str) -> float:
    with engine.connect() as connection:
        seconds = [timed(lambda: connection.exec_driver_sql(sql).fetchall())[1].wall for _ in range(RUNS)]
    return max(round(min(seconds) * 1000, 2), 0.01)


def fill(engine: Engine, name: str) -> None:
    concat = "CONCAT('note ', n % 1000)" if name == "mysql" else "'note ' || (n % 1000)"
    region = "CONCAT('r', n % 10)" if name == "mysql" else "'r' || (n % 10)"
    with engine.begin() as connection:
        drop(connection)
        for statement in (
            "CREATE TABLE rb_sales (id INT PRIMARY KEY, region VARCHAR(9), product INT, amount INT, note VARCHAR(20))",
            "CREATE TABLE rb_access (region VARCHAR(9))",
            "INSERT INTO rb_access VALUES ('r3')",
            f"INSERT INTO rb_sales SELECT n, {region}, n % 97, n % 1000, {concat} FROM ({NUMBERS[name]}) AS numbers",
            "CREATE INDEX rb_by_region ON rb_sales (region)",
        ):
            connection.execute(text(statement.format(rows=ROWS)))
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text("ANALYZE TABLE rb_sales" if name == "mysql" else "ANALYZE"))


def drop(connection: Connection) -> None:
    for table in ("rb_sales", "rb_access"):
        connection.execute(text(f"DROP TABLE IF EXISTS {table}"))


if __name__ == "__main__":
    main(*sys.argv[1:])
