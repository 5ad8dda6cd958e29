"""Writes what is expected of the specs in `tests/fixtures/query_specs`: SQL from the compiler, rows from DuckDB.

`python -m tests.support.query_spec_fixtures`, and then read the difference; other engines have to give the same rows.
"""

import json
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from datasphinx.agent.queryspec.compile import Compiled, compile_spec, run
from datasphinx.agent.queryspec.spec import read_spec
from datasphinx.agent.queryspec.statement import DIALECTS
from datasphinx.agent.sources.source import Source
from tests.agent.queryspec.tables import datasets, loaded

FOLDER = Path(__file__).parents[1] / "fixtures/query_specs"


Results = dict[str, dict[str, Any]]


def compiled_for_all(dataset: str, spec: dict[str, Any], results: Results | None = None) -> dict[str, Compiled]:
    """Return the statement of a spec, which may read the results of other specs, for each engine."""
    return _compiled(dataset, json.dumps(spec), json.dumps(results))


@cache
def _compiled(dataset: str, spec: str, results: str) -> dict[str, Compiled]:
    known = datasets(dataset, results=json.loads(results))
    return {dialect: compile_spec(read_spec(spec), known, dialect) for dialect in DIALECTS}


def expected(source: Source, dataset: str, spec: dict[str, Any], results: Results | None = None) -> dict[str, Any]:
    """Return what a spec is expected to give; `source` has its tables."""
    compiled = compiled_for_all(dataset, spec, results)
    result = run(read_spec(spec), datasets(dataset, source.catalog.tables, results), source)
    return {
        "dataset": dataset,
        **({"results": results} if results else {}),
        "spec": spec,
        "values": {dialect: each.parameters for dialect, each in compiled.items()},
        "columns": result["columns"],
        "rows": result["rows"],
    }


def given(content: dict[str, Any]) -> tuple[str, dict[str, Any], Results | None]:
    """Return what a file gives: the dataset, the spec, and the results that it reads."""
    return content["dataset"], content["spec"], content.get("results")


def as_text(content: dict[str, Any]) -> str:
    """Return `content` with a line for each engine's values and each row."""
    lines = [f" {json.dumps(name)}: {_value(name, value)}" for name, value in content.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _value(name: str, value: Any) -> str:
    if name == "values":
        items = [f"  {json.dumps(key)}: {json.dumps(item, ensure_ascii=False)}" for key, item in value.items()]
        return "{\n" + ",\n".join(items) + "\n }"
    if name == "rows" and value:
        return "[\n" + ",\n".join(f"  {json.dumps(row, ensure_ascii=False)}" for row in value) + "\n ]"
    return json.dumps(value, ensure_ascii=False)


def main() -> None:
    """Write every file anew from its spec."""
    with TemporaryDirectory() as folder, loaded("duckdb", Path(folder)) as source:
        for path in sorted(FOLDER.glob("*.json")):
            content = json.loads(path.read_text(encoding="utf-8"))
            path.write_text(as_text(expected(source, *given(content))), encoding="utf-8")
            compiled = compiled_for_all(*given(content))
            blocks = [f"-- expect: {dialect}\n{each.sql}\n" for dialect, each in compiled.items()]
            path.with_suffix(".sql").write_text("\n".join(blocks), encoding="utf-8")


if __name__ == "__main__":
    main()
