"""The guard as a linter: statements in JSON lines, each with a verdict on the way out."""

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from agent.errors import DatasetInvalid
from agent.sql.functions import allowed_names
from agent.sql.guard import check

DIALECTS = ("sqlite", "postgres", "mysql", "duckdb", "clickhouse", "spark", "trino")
"""The dialects that have a list of harmless functions, by sqlglot's names."""

_OTHER_NAMES = {"mariadb": "mysql", "postgresql": "postgres", "databricks": "spark", "presto": "trino"}
_DEFAULT_SCHEMAS = {"sqlite": "main", "duckdb": "main", "postgres": "public", "clickhouse": "default"}


def read_tables(path: Path) -> frozenset[str]:
    """Return the names under `allowed_tables` of a JSON file, as they are written and in lower case.

    Raises:
        DatasetInvalid: the file cannot be read, or has no such list of names.
    """
    try:
        schema = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise DatasetInvalid(str(path), f"it cannot be read as JSON ({error})") from error
    names = schema.get("allowed_tables") if isinstance(schema, dict) else None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise DatasetInvalid(str(path), "it has no list of names under allowed_tables")
    return frozenset(names) | frozenset(name.lower() for name in names)


def lint_file(path: Path, schema: Path | None) -> Iterator[dict[str, Any]]:
    """Yield what `lint` does for the file at `path`, or for standard input where that is `-`.

    Raises:
        DatasetInvalid: a file cannot be read, and as `lint` says.
    """
    tables = read_tables(schema) if schema else None
    if str(path) == "-":
        yield from lint(sys.stdin.buffer, "standard input", tables)
        return
    try:
        with path.open("rb") as lines:
            yield from lint(lines, str(path), tables)
    except OSError as error:
        raise DatasetInvalid(str(path), f"it cannot be read ({error.strerror})") from error


def lint(lines: Iterable[bytes], name: str, tables: frozenset[str] | None) -> Iterator[dict[str, Any]]:
    """Yield each object of the JSON lines `lines` with what the guard says of its `sql` in its `dialect`.

    Added are `verdict` (`block` or `allow`), and `rule`, `explanation`, `token` and `position` (line and column) of the
    first finding, all None where there is none. A `verdict` that the object came with is kept as `expected`. With
    `tables` None every table is readable that is no system catalog. `name` is what errors call the lines.

    Raises:
        DatasetInvalid: a line is no JSON object with a `sql` and a known `dialect`; it says which line.
    """
    for number, line in enumerate(lines, 1):
        if line.strip():
            case = _case(line, f"{name}, line {number}")
            yield {**case, **_verdict(case, tables)}


def _case(line: bytes, place: str) -> dict[str, Any]:
    try:
        case = json.loads(line.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise DatasetInvalid(place, f"it is no JSON ({error})") from error
    if not isinstance(case, dict):
        raise DatasetInvalid(place, 'it is no JSON object such as {"dialect": "sqlite", "sql": "SELECT 1"}')
    for key in ("dialect", "sql"):
        if not isinstance(case.get(key), str):
            raise DatasetInvalid(place, f"it has no text under {key!r}")
    if not allowed_names(_dialect_of(case)):
        raise DatasetInvalid(place, f"the dialect {case['dialect']!r} is not one of {', '.join(DIALECTS)}")
    return case


def _dialect_of(case: Mapping[str, Any]) -> str:
    named = case["dialect"].strip().lower()
    dialect = _OTHER_NAMES.get(named, named)
    return dialect if dialect in DIALECTS else ""


def _verdict(case: Mapping[str, Any], tables: frozenset[str] | None) -> dict[str, Any]:
    dialect = _dialect_of(case)
    schema = _DEFAULT_SCHEMAS.get(dialect)
    readable = tables
    if tables is not None and schema:
        readable = tables | {f"{schema}.{table}" for table in tables if "." not in table}
    first = next(iter(check(case["sql"], dialect, readable)), None)
    kept = {"expected": case["verdict"]} if "verdict" in case and "expected" not in case else {}
    return kept | {
        "verdict": "block" if first else "allow",
        "rule": first and first.rule,
        "explanation": first and first.explanation,
        "token": first and first.token,
        "position": first.position._asdict() if first and first.position else None,
    }
