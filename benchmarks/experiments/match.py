"""Execution match by the project's rule or by the published one.

The published rule is the one by which Sphinteract (Zhao et al., VLDB 2025) was measured, after the authors' published
program (`evalfunc`), so that results can be compared with theirs:

* Equal numbers of rows. If ORDER BY occurs in capitals anywhere in the reference SQL, rows are compared in order, else
  as a set: a row that occurs twice in one result may occur once or three times in the other. Two empty results match,
  regardless of their columns.
* A row is a multiset of values, so the order of columns is free, row by row; rows of different widths differ.
* Rows are compared by their hashes (XXH3, 128 bits).
* NULL equals only NULL.
* Floats are equal only if all bits are: 0.1 + 0.2 is not 0.3. A whole float equals the integer: 3.0 is 3.
* Other types differ: the text "98" is not 98. Text is compared exactly, including case and white space.

The published program sorts the values of a row by Python's hash, which is equal for -1 and -2; this implementation
distinguishes them.
"""

import json
from typing import Any

from xxhash import xxh3_128_digest

from benchmarks.experiments.options import MatchRule
from datasphinx.agent.errors import DatasphinxError
from datasphinx.agent.evals.match import Match, results_match
from datasphinx.agent.sources.source import Source
from datasphinx.agent.sql.compare import Cell, Rows, sort_cells


def matches_as_published(reference: Rows, answer: Rows, *, ordered: bool) -> bool:
    """Return whether two results are equal by the published rule; with `ordered` in the order of rows."""
    if len(reference["rows"]) != len(answer["rows"]):
        return False
    expected, actual = row_hashes(reference), row_hashes(answer)
    return expected == actual if ordered else set(expected) == set(actual)


def row_hashes(result: Rows) -> list[bytes]:
    """Return a 16-byte hash for each row; rows that are equal by the published rule have equal hashes."""
    return [xxh3_128_digest(json.dumps(row).encode()) for row in sort_cells(result, _typed_value)]


def _published_match(reference: Rows, answer: Rows, sql: str, dialect: str) -> bool:
    return matches_as_published(reference, answer, ordered="ORDER BY" in sql)


MATCH_BY: dict[MatchRule, Match] = {MatchRule.PROJECT: results_match, MatchRule.PUBLISHED: _published_match}
"""The comparison by each rule."""


def execution_match(source: Source, reference: str, sql: str, rule: MatchRule) -> bool:
    """Return whether `sql` gives the result of the SQL `reference`; False if it fails or is truncated.

    Both run through the choke point within the limits of `source`: on a SQLite or DuckDB file in a separate process,
    which is killed at the time limit.

    Raises:
        DatasphinxError: The reference failed.
    """
    expected = source.execute(reference)
    try:
        actual = source.execute(sql)
    except DatasphinxError:
        return False
    if expected["truncated"] or actual["truncated"]:
        return False
    return MATCH_BY[rule](expected, actual, reference, source.catalog.dialect)


def _typed_value(value: Any) -> Cell:
    if value is None:
        return "null", ""
    if isinstance(value, str):
        return "text", value
    if isinstance(value, int):
        return "number", str(int(value))
    if isinstance(value, float):
        return "number", str(int(value)) if value.is_integer() else repr(value)
    return "other", json.dumps(value, sort_keys=True)
