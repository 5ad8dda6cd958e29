"""The queries of docs/analyst.md return the rows that stand below them."""

import json
import re
from pathlib import Path

from agent.queryspec.columns import Datasets
from agent.queryspec.compile import run
from agent.queryspec.spec import QuerySpec, read_spec
from agent.types import Limits
from tests.agent.queryspec.tables import engine
from tests.databases import open_url

ANALYST = Path(__file__).parents[3] / "docs/analyst.md"
EXAMPLE = re.compile(r"```json\n(.+?)```\s+Rows: `(.+?)`\n", re.DOTALL)


def test_examples_return_their_rows(tmp_path: Path) -> None:
    with engine("duckdb", tmp_path) as (place, admin):
        admin("CREATE TABLE orders (id BIGINT, customer VARCHAR, day DATE, amount BIGINT)")
        admin(
            "INSERT INTO orders VALUES (1, '007', '2024-01-05', 10), (2, '007', '2024-01-09', 20), "
            "(3, '8', '2024-03-01', 5), (4, '9', '2024-03-02', 7)"
        )
        admin("CREATE TABLE customers (number BIGINT, city VARCHAR, credit BIGINT)")
        admin("INSERT INTO customers VALUES (7, 'Riga', 100), (8, 'Oslo', 50), (9, 'Oslo', 10)")
    source = open_url(place, Limits(10, 1_000))
    examples = EXAMPLE.findall(ANALYST.read_text(encoding="utf-8"))
    results: dict[str, QuerySpec] = {}
    assert len(examples) >= 8
    for text, rows in examples:
        spec = read_spec(text)
        found = run(spec, Datasets("orders", source.catalog.tables, results), source)
        assert found["rows"] == json.loads(rows), text
        results[f"r{len(results) + 1}"] = spec
    source.close()
