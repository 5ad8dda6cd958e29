"""Pairs of statements, run on SQLite, with the verdict of both match rules."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from benchmarks.experiments.match import execution_match, row_hashes
from benchmarks.experiments.options import MatchRule
from datasphinx.agent.errors import NamesUnknown, StatementTimeout
from datasphinx.agent.sources.source import Source
from datasphinx.agent.types import Limits
from tests.support.databases import open_url, url

pytestmark = pytest.mark.integration

FOLDER = Path(__file__).parent / "match"
PAIRS = [
    (path.stem, json.loads(line)) for path in sorted(FOLDER.glob("*.jsonl")) for line in path.read_text().splitlines()
]
LIMITS = Limits(timeout_s=0.5, row_limit=1000)
SLOW = next(pair["answer"] for _, pair in PAIRS if pair["case"] == "a statement that takes too long")


@pytest.fixture(scope="module")
def fruit(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Source]:
    path = tmp_path_factory.mktemp("match") / "fruit.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript((FOLDER / "tables.sql").read_text())
    source = open_url(url(path), LIMITS)
    yield source
    source.close()


@pytest.mark.parametrize("rule", MatchRule)
@pytest.mark.parametrize("topic, pair", PAIRS, ids=[f"{topic}: {pair['case']}" for topic, pair in PAIRS])
def test_a_pair_has_the_verdict_that_was_written_beside_it(
    fruit: Source, topic: str, pair: dict[str, Any], rule: MatchRule
) -> None:
    assert execution_match(fruit, pair["reference"], pair["answer"], rule) is pair[rule]


def test_there_are_pairs_of_every_kind_and_each_rule_is_once_the_milder_one() -> None:
    topics = {topic for topic, _ in PAIRS}

    assert len(PAIRS) >= 40
    assert {"order", "duplicates", "columns", "null", "numbers", "empty", "failures"} <= topics
    assert {(pair["published"], pair["project"]) for _, pair in PAIRS} == {
        (published, project) for published in (True, False) for project in (True, False)
    }


@pytest.mark.parametrize("reference, error", [("SELECT title FROM fruit", NamesUnknown), (SLOW, StatementTimeout)])
def test_a_reference_that_does_not_run_is_an_error_and_no_verdict(
    fruit: Source, reference: str, error: type[Exception]
) -> None:
    with pytest.raises(error):
        execution_match(fruit, reference, "SELECT 1", MatchRule.PUBLISHED)


def test_a_result_that_is_cut_on_both_sides_is_no_match(fruit: Source) -> None:
    many = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000) SELECT i FROM n"

    assert execution_match(fruit, many, many, MatchRule.PUBLISHED) is False


def test_a_row_has_one_hash_whatever_the_order_of_its_columns() -> None:
    first, second, other = row_hashes({"columns": ["a", "b"], "rows": [[1, "x"], ["x", 1.0], ["1", "x"]]})

    assert first == second != other
    assert len(first) == 16
