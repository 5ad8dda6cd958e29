"""The specs that the embedded model is trained on are valid and compile."""

import pytest

from datasphinx.agent.queryspec.columns import Datasets
from datasphinx.agent.queryspec.compile import compile_spec
from datasphinx.agent.queryspec.spec import read_spec
from datasphinx.agent.queryspec.statement import DIALECTS
from datasphinx.agent.schema.catalog import Catalog, Column, Table
from training.query_specs import as_json
from training.spec_of_sql import spec_of

TABLE = Table(
    "sales",
    (
        Column("id", "INTEGER"),
        Column("region", "TEXT"),
        Column("unit price", "REAL"),
        Column("sold_on", "DATE"),
        Column("paid", "BOOLEAN"),
    ),
)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM sales WHERE region = 'North' LIMIT 3",
        "SELECT DISTINCT region FROM sales",
        "SELECT COUNT(*) FROM sales WHERE paid = 1 AND region LIKE '%or%'",
        'SELECT region, SUM("unit price") FROM sales GROUP BY region ORDER BY SUM("unit price") DESC LIMIT 5',
        "SELECT STRFTIME('%Y-%m', sold_on), COUNT(DISTINCT region) FROM sales GROUP BY STRFTIME('%Y-%m', sold_on)",
        "SELECT region FROM sales WHERE id BETWEEN 1 AND 5 AND region IN ('a', 'b') ORDER BY sold_on",
        "SELECT AVG(\"unit price\") FROM sales WHERE sold_on >= '2024-01-01' AND region IS NOT NULL",
        "SELECT region, COUNT(*) FROM sales GROUP BY region ORDER BY MAX(sold_on)",
    ],
)
def test_a_trained_spec_compiles(sql: str) -> None:
    spec = spec_of(sql, Catalog("sqlite", {"sales": TABLE}))

    assert spec is not None
    for dialect in DIALECTS:
        assert compile_spec(read_spec(as_json(spec)), Datasets("sales", {"sales": TABLE}), dialect).sql
