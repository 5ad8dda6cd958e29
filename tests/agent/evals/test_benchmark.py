"""A real model's statements for Spider, through the whole graph and directly on the database."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from datasphinx.agent.evals.datasets import Dataset, Question, find_databases, read_predictions, read_questions
from datasphinx.agent.evals.match import matches
from datasphinx.agent.evals.run import replay
from datasphinx.agent.settings import Settings
from datasphinx.agent.sql.compare import is_ordered

FOLDER = Path(__file__).resolve().parents[3].parent / "shared/benchmarks/spider_dev"
FIRST = 60


def rows_of(database: Path, sql: str) -> Any:
    """The rows of `sql` with nothing between it and SQLite; None where it fails."""
    with closing(sqlite3.connect(f"{database.as_uri()}?mode=ro", uri=True)) as connection:
        try:
            cursor = connection.execute(sql)
        except sqlite3.Error:
            return None
        return {"columns": [column[0] for column in cursor.description], "rows": [list(row) for row in cursor]}


def bare_verdict(question: Question, sql: str, database: Path) -> bool:
    reference, answer = rows_of(database, question.sql), rows_of(database, sql)
    return answer is not None and matches(reference, answer, ordered=is_ordered(question.sql, "sqlite"))


@pytest.mark.heavy
@pytest.mark.benchdata
@pytest.mark.skipif(not FOLDER.is_dir(), reason="shared/benchmarks/spider_dev is not beside the project")
def test_the_graph_refuses_nothing_and_changes_no_verdict(settings: Settings) -> None:
    dataset = Dataset(read_questions(FOLDER / "questions.jsonl"), FOLDER / "databases")
    predictions = FOLDER / "predictions_dail_gpt4.jsonl"
    recorded = read_predictions(predictions, dataset.questions)
    asked = dataset.first(FIRST)
    files = find_databases(asked)
    report = replay(dataset, predictions, FIRST, settings, lambda *_: None)
    bare = {each.id: bare_verdict(each, recorded[each.id], files[each.db_id]) for each in asked.questions}
    assert (report.n, report.refused) == (FIRST, 0)
    assert {outcome.id: outcome.match for outcome in report.outcomes} == bare
