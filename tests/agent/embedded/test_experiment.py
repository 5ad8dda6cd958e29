"""An experiment over the real weights: that it completes and logs, not how well it scores."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from datasphinx.agent.embedded.server import Endpoint
from datasphinx.agent.evals.datasets import Dataset, Question
from datasphinx.agent.evals.experiments.folder import read_logs
from datasphinx.agent.evals.experiments.report import write_report
from datasphinx.agent.evals.experiments.rounds import simple_feedback
from datasphinx.agent.evals.experiments.run import Plan, run_with, services_for
from datasphinx.agent.evals.options import Method
from datasphinx.agent.settings import load_settings
from datasphinx.agent.types import EmbeddedOptions

BOOKS = Path(__file__).resolve().parents[2] / "fixtures" / "experiments" / "library.sql"
ASKED = [
    ("How many books are there?", "SELECT COUNT(*) FROM books"),
    ("What are the titles of all books?", "SELECT title FROM books"),
    ("How many copies of Emma were sold?", "SELECT sold FROM books WHERE title = 'Emma'"),
    ("What is the average rating of books?", "SELECT AVG(rating) FROM books"),
    ("Which book has the most pages?", "SELECT title FROM books ORDER BY pages DESC LIMIT 1"),
]


@pytest.mark.heavy
@pytest.mark.embedded
def test_twenty_questions_complete_and_are_logged(endpoint: Endpoint, user_cache: Path, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "library.sqlite")) as connection:
        connection.executescript(BOOKS.read_text(encoding="utf-8"))
    questions = [Question(f"q{number}", "library", *ASKED[number % len(ASKED)]) for number in range(20)]
    plan = Plan(tmp_path / "out", Method.SIMPLE_FEEDBACK, rounds=1)
    settings = load_settings(cache_dir=user_cache)
    seen: list[int] = []
    services = services_for(settings, EmbeddedOptions(candidates=1))
    folder, _ = run_with(
        services,
        Dataset(questions, tmp_path),
        plan,
        "simple_feedback",
        simple_feedback,
        lambda found, _: seen.append(found.n),
    )
    services.models.of().chat.root_client.close()
    report, table = write_report(folder, list(read_logs(folder.path).values()))
    logs = read_logs(tmp_path / "out")

    assert seen == list(range(21))
    assert (report["n"], len(logs), sum(report["num_cq_asked"].values())) == (20, 20, 20)
    assert all(1 <= len(log.rounds) <= 2 and log.sql_log for log in logs.values())
    assert all(log.perplexity is not None and log.perplexity >= 1 for log in logs.values())
    assert {path.name for path in (tmp_path / "out").iterdir()} >= {"logs.pkl", "report.json", "questions.jsonl"}
    assert table.splitlines()[2].startswith("| simple_feedback | 20 |")
