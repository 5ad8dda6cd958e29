"""The guard as a linter for statements in JSON lines."""

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from datasphinx.agent.engines import engines
from datasphinx.agent.engines.base import Engine
from datasphinx.agent.errors import DatasetInvalid
from datasphinx.agent.sql.guard import check

DIALECTS = tuple(dict.fromkeys(engine.dialect for engine in engines().values() if engine.allowed_functions))
"""The dialects that have a list of harmless functions, by sqlglot's names."""


def read_tables(path: Path) -> frozenset[str]:
    """Return `allowed_tables` of a JSON file, also in lower case. Raise DatasetInvalid without such a list."""
    try:
        schema = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise DatasetInvalid(str(path), f"it cannot be read as JSON ({error})") from error
    names = schema.get("allowed_tables") if isinstance(schema, dict) else None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise DatasetInvalid(str(path), "it has no list of names under allowed_tables")
    return frozenset(names) | frozenset(name.lower() for name in names)


def lint_file(path: Path, schema: Path | None) -> Iterator[dict[str, Any]]:
    """Run `lint` on the file at `path`, or on standard input if it is `-`.

    Raises:
        DatasetInvalid: a file cannot be read, or a line is invalid (see `lint`).
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
    """Yield the objects in the JSON lines `lines`, each with the guard's verdict on its `sql` in its `dialect`.

    Added keys: `verdict` (`block` or `allow`), and `rule`, `explanation`, `token` and `position` (line and column) of
    the first finding, all None without findings. An input `verdict` is kept as `expected`. If `tables` is None, all
    tables except those of system catalogs are readable. `name` identifies the input in error messages.

    Raises:
        DatasetInvalid: a line is not a JSON object with `sql` and a supported `dialect`; the error contains its number.
    """
    for number, line in enumerate(lines, 1):
        if line.strip():
            place = f"{name}, line {number}"
            case = _case(line, place)
            yield {**case, **_verdict(case, _engine_of(case, place), tables)}


def _case(line: bytes, place: str) -> dict[str, Any]:
    try:
        case = json.loads(line.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise DatasetInvalid(place, f"it is not JSON ({error})") from error
    if not isinstance(case, dict):
        raise DatasetInvalid(place, 'it is not a JSON object such as {"dialect": "sqlite", "sql": "SELECT 1"}')
    for key in ("dialect", "sql"):
        if not isinstance(case.get(key), str):
            raise DatasetInvalid(place, f"it has no text under {key!r}")
    return case


def _engine_of(case: Mapping[str, Any], place: str) -> Engine:
    name = case["dialect"].strip().lower()
    for engine in engines().values():
        if engine.dialect in DIALECTS and name in (engine.name, engine.dialect, *engine.other_dialects):
            return engine
    reason = f"the dialect {case['dialect']!r} is not one of {', '.join(DIALECTS)}"
    raise DatasetInvalid(place, reason)


def _verdict(case: Mapping[str, Any], engine: Engine, tables: frozenset[str] | None) -> dict[str, Any]:
    readable = tables
    if tables is not None and engine.usual_schema:
        readable = tables | {f"{engine.usual_schema}.{table}" for table in tables if "." not in table}
    first = next(iter(check(case["sql"], engine.dialect, readable)), None)
    expected = {"expected": case["verdict"]} if "verdict" in case and "expected" not in case else {}
    return expected | {
        "verdict": "block" if first else "allow",
        "rule": first and first.rule,
        "explanation": first and first.explanation,
        "token": first and first.token,
        "position": first.position._asdict() if first and first.position else None,
    }
