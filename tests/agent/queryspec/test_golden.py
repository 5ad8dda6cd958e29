"""Specs with the SQL for each engine, and their rows, which are the same on all engines."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from datasphinx.agent.errors import QuerySpecInvalid
from datasphinx.agent.queryspec.compile import compile_spec, run
from datasphinx.agent.queryspec.spec import read_spec
from datasphinx.agent.sources.source import Source
from tests.agent.queryspec.tables import ENGINES, datasets, loaded
from tests.fixtures import read_pairs
from tests.support.heavy import sample
from tests.support.query_spec_fixtures import FOLDER, compiled_for_all, given

GOLDEN = sorted(path.stem for path in FOLDER.glob("*.json"))

every_spec = pytest.mark.parametrize("name", GOLDEN[:: sample(1, 2)])


def content(name: str) -> dict[str, Any]:
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))


@pytest.mark.integration
@every_spec
def test_sql_and_values_are_as_written(name: str) -> None:
    golden = content(name)
    compiled = compiled_for_all(*given(golden))

    assert {pair.expected: pair.sql for pair in read_pairs(f"query_specs/{name}.sql")} == {
        dialect: each.sql for dialect, each in compiled.items()
    }
    assert golden["values"] == {dialect: each.parameters for dialect, each in compiled.items()}


@pytest.fixture(scope="module", params=ENGINES)
def source(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Source]:
    with loaded(request.param, tmp_path_factory.mktemp("specs")) as made:
        yield made


@pytest.mark.integration
@every_spec
def test_rows_are_the_same_on_every_engine(source: Source, name: str) -> None:
    golden = content(name)
    spec, known = read_spec(golden["spec"]), datasets(golden["dataset"], source.catalog.tables, golden.get("results"))
    result = run(spec, known, source)

    assert result["columns"] == golden["columns"]
    assert len(result["rows"]) == len(golden["rows"])
    for row, wanted in zip(result["rows"], golden["rows"], strict=True):
        assert row == [pytest.approx(value) if isinstance(value, float) else value for value in wanted]
        assert [isinstance(value, bool) for value in row] == [isinstance(value, bool) for value in wanted]
    compiled = compile_spec(spec, known, source.catalog.dialect)
    shown = source.execute(compiled.sql_with_values)["rows"]
    bound = source.execute(compiled.sql, parameters=compiled.parameters)["rows"]
    assert sorted(map(str, shown)) == sorted(map(str, bound)), "the statement that the user sees"


def test_repeated_rows_are_not_aggregated_on_any_engine(source: Source) -> None:
    join = {"dataset": "orders", "on": {"id": "customer_id"}, "how": "left"}
    known = datasets("customers", source.catalog.tables)
    cases = [
        ({"agg": "sum", "col": "region id"}, []),
        ({"agg": "count", "col": "*"}, []),
        ({"agg": "max", "col": "region id"}, [[2]]),
        ({"agg": "sum", "col": "orders.количество"}, [[20]]),
        ({"agg": "count", "col": "orders.id"}, [[7]]),
    ]
    for aggregation, rows in cases:
        spec = read_spec({"joins": [join], "aggregations": [{"as": "x", **aggregation}]})
        try:
            assert run(spec, known, source)["rows"] == rows
        except QuerySpecInvalid as error:
            (problem,) = error.problems
            assert not rows and "customer_id is not unique in orders" in problem.reason
