"""The written questions: on schemas that there are, with statements that run, and none that is measured with."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from rapidfuzz import fuzz, process

from benchmarks import spider
from datasphinx.agent.sources.source import Source
from datasphinx.agent.types import Limits
from tests.support.databases import open_url
from training.business import business_schemas, written_questions
from training.compact import compact
from training.rows import fill
from training.spider import normalised, read_held_out
from training.synthesis import executable


@contextmanager
def opened(name: str, folder: Path) -> Iterator[Source]:
    statements = [each.sql for each in written_questions()[name]]
    fill(business_schemas()[name], statements, folder / f"{name}.sqlite", 0)
    with closing(open_url(f"sqlite:///{folder / name}.sqlite", Limits(timeout_s=20, row_limit=500))) as source:
        yield source


def test_every_schema_has_questions_and_none_is_asked_twice() -> None:
    written = written_questions()
    assert written.keys() == business_schemas().keys()
    for database, asked in written.items():
        assert len(asked) > 25, database
        assert len({normalised(each.question) for each in asked}) > 0.98 * len(asked), database


@pytest.mark.parametrize(
    "database", ["clinic", "warehouse_stock", "football_federation", "world_atlas", "toy_shop", "district_court"]
)
def test_statements_run_and_have_a_compact_form_and_hardly_any_finds_nothing(database: str, tmp_path: Path) -> None:
    written = written_questions()[database]
    with opened(database, tmp_path) as source:
        found = [source.execute(executable(each.sql))["rows"] for each in written]
        assert all(compact(each.sql, source.catalog) for each in written)
    something = [len(rows) > 1 or any(value not in (None, 0) for row in rows for value in row) for rows in found]
    assert sum(something) > 0.95 * len(written)


def test_no_question_is_one_of_those_that_are_measured_with(measured: set[str]) -> None:
    assert len(measured) > 60
    assert not measured & _written()


def test_no_question_is_similar_to_one_that_is_measured_with(measured: set[str]) -> None:
    written = sorted(_written())
    scores = process.cdist(sorted(measured), written, scorer=fuzz.token_sort_ratio, score_cutoff=85)
    similar = [(question, written[row.argmax()]) for question, row in zip(sorted(measured), scores, strict=True)]
    assert not [pair for pair, row in zip(similar, scores, strict=True) if row.max() >= 85]


@pytest.mark.benchdata
@pytest.mark.skipif(not spider.SCHEMAS.is_file(), reason="shared/benchmarks is not beside the project")
def test_no_question_is_one_of_spider_dev() -> None:
    held_out = read_held_out(spider.DEV / "questions.jsonl")
    assert not held_out.questions & _written()
    assert not held_out.db_ids & business_schemas().keys()


def _written() -> set[str]:
    return {normalised(each.question) for asked in written_questions().values() for each in asked}
