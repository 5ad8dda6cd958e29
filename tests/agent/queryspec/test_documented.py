"""The examples in tests/fixtures/query_specs.md, which docs/query-specs.md refers to, return what they show."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from datasphinx.agent.queryspec.columns import Datasets
from datasphinx.agent.queryspec.compile import run
from datasphinx.agent.queryspec.expressions import FUNCTIONS
from datasphinx.agent.queryspec.spec import QuerySpec, read_spec
from datasphinx.agent.sources.source import Source
from datasphinx.agent.types import Limits
from tests.agent.queryspec.tables import engine
from tests.support.databases import open_url

PAGE = Path(__file__).parents[2] / "fixtures/query_specs.md"
EXAMPLE = re.compile(r"```json\n(.+?)```\s+Rows: `(.+?)`\n", re.DOTALL)
TYPES = ("INTEGER", "VARCHAR", "VARCHAR", "DECIMAL(10,2)", "INTEGER", "DATE", "TIMESTAMP", "BOOLEAN")


def tables() -> dict[str, list[list[str]]]:
    """Return the tables of the page by the first word of their header, without headers."""
    found: dict[str, list[list[str]]] = {}
    for block in re.findall(r"(?:^\|.*\n)+", PAGE.read_text(encoding="utf-8"), re.MULTILINE):
        rows = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in block.splitlines()]
        found.setdefault(rows[0][0], []).extend(rows[2:])
    return found


def code(cell: str) -> Any:
    return json.loads(cell.strip("`")) if cell.startswith("`") else cell


@pytest.fixture(scope="module")
def orders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Source]:
    rows = tables()["no"]
    with engine("duckdb", tmp_path_factory.mktemp("documented")) as (url, admin):
        names = ("no", "region", "product", "price", "quantity", "ordered", "shipped", "paid")
        admin(f"CREATE TABLE orders ({', '.join(map(' '.join, zip(names, TYPES, strict=True)))})")
        for row in rows:
            admin(f"INSERT INTO orders VALUES ({', '.join(repr(cell) if cell else 'NULL' for cell in row)})")
    source = open_url(url, Limits(10, 100))
    yield source
    source.close()


def rows_of(spec: dict[str, Any], source: Source) -> list[list[Any]]:
    return run(read_spec(spec), Datasets("orders", dict(source.catalog.tables)), source)["rows"]


def shown(value: Any) -> Any:
    return round(value, 2) if isinstance(value, float) else value


def results(source: Source) -> Iterator[tuple[str, Any, Any]]:
    """Yield each example, its result, and the result on the page."""
    found, by_number = tables(), [{"by": "no"}]
    for example, wanted in found["filter"]:
        rows = rows_of({"filters": [code(example)], "sort": by_number}, source)
        yield example, [row[0] for row in rows], code(f"`[{wanted}]`")
    for example, wanted in found["aggregation"]:
        ((value,),) = rows_of({"aggregations": [{"as": "x", **code(example)}]}, source)
        yield example, shown(value), code(wanted)
    for example, wanted in found["expression"]:
        expression = example.strip("`")
        rows = rows_of({"derived": [{"as": "x", "expr": expression}], "sort": by_number}, source)
        yield example, [shown(row[-1]) for row in rows], code(wanted)
    for example, wanted in found["spec"]:
        yield example, [list(map(shown, row)) for row in rows_of(code(example), source)], code(wanted)


@pytest.mark.heavy
def test_the_examples_give_what_the_page_shows(orders: Source) -> None:
    wrong = [(example, result, wanted) for example, result, wanted in results(orders) if result != wanted]

    assert wrong == []


def fields(data: Any) -> Iterator[tuple[str, str]]:
    """Yield each field in `data` with its value, if that is a text, else with an empty text."""
    if isinstance(data, list):
        for each in data:
            yield from fields(each)
    elif isinstance(data, dict):
        for name, value in data.items():
            yield name, value if isinstance(value, str) else ""
            yield from fields(value)


def test_there_is_an_example_of_everything() -> None:
    found = tables()
    expressions = " ".join(row[0] for row in found["expression"])
    texts = [text for text, _ in EXAMPLE.findall(PAGE.read_text(encoding="utf-8"))]
    texts += [row[0].strip("`") for kind in ("filter", "aggregation", "spec") for row in found[kind]]
    shown = set(fields(list(map(json.loads, texts))))
    schema = QuerySpec.model_json_schema()
    parts = [schema, *schema["$defs"].values()]
    wanted = {
        (name, value) for part in parts for name, each in part.get("properties", {}).items() for value in values(each)
    }

    assert [name for name, _ in wanted if name not in {each for each, _ in shown}] == []
    assert sorted(wanted - shown - {(name, "") for name, _ in wanted} - {("how", "inner")}) == []
    words = ["and", "or", "not", "in", "between", "is null", "case when", "within:", "order_by:", "over ("]
    assert [name for name in (*(f"{name}(" for name in FUNCTIONS), *words) if name not in expressions] == []


def values(field: dict[str, Any]) -> list[str]:
    """Return the texts that a field of a JSON schema allows, or an empty text if it allows others."""
    return field.get("enum") or [field.get("const", "")]


def test_examples_of_sources_return_their_rows(tmp_path: Path) -> None:
    with engine("duckdb", tmp_path) as (place, admin):
        admin("CREATE TABLE orders (id BIGINT, customer VARCHAR, day DATE, amount BIGINT)")
        admin(
            "INSERT INTO orders VALUES (1, '007', '2024-01-05', 10), (2, '007', '2024-01-09', 20), "
            "(3, '8', '2024-03-01', 5), (4, '9', '2024-03-02', 7)"
        )
        admin("CREATE TABLE customers (number BIGINT, city VARCHAR, credit BIGINT)")
        admin("INSERT INTO customers VALUES (7, 'Riga', 100), (8, 'Oslo', 50), (9, 'Oslo', 10)")
    source = open_url(place, Limits(10, 1_000))
    examples = EXAMPLE.findall(PAGE.read_text(encoding="utf-8"))
    results: dict[str, QuerySpec] = {}
    assert len(examples) >= 8
    for text, rows in examples:
        spec = read_spec(text)
        found = run(spec, Datasets("orders", source.catalog.tables, results), source)
        assert found["rows"] == json.loads(rows), text
        results[f"r{len(results) + 1}"] = spec
    source.close()
