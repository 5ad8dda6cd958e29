"""The metrics, table and plot of an experiment."""

from pathlib import Path
from typing import Any

import pytest

from benchmarks.experiments.folder import ExperimentFolder
from benchmarks.experiments.log import QuestionLog, Round, Usage
from benchmarks.experiments.options import MatchRule
from benchmarks.experiments.report import (
    accuracy_by_round,
    efficiency,
    figures_of,
    read_runs,
    table_of,
    write_report,
)
from datasphinx.agent.errors import DatasetInvalid
from datasphinx.agent.evals.report import Outcome

pytestmark = pytest.mark.heavy

SETTINGS = {"method": "clarify", "rounds": 4, "match": "project", "questions": "hash"}


def log(name: str, right_at: int | None, *, rounds: int = 4, asked: int = 0, perplexity: float | None = None) -> Any:
    """A log that came right in a round, or in none."""
    last = rounds if right_at is None else right_at
    made = [Round(number, number == right_at, "SELECT 1") for number in range(last + 1)]
    outcome = Outcome(name, right_at is not None, llm_calls=last + 1, tokens=100, cost_usd=0.01)
    sql_log: Any = [(0, "p", "SELECT 1", perplexity)]
    return QuestionLog(
        name, "shop", "Which?", sql_log, [], [], "Failed" if right_at is None else right_at, asked, made, outcome,
        Usage(asked, 10 * asked, 0.001 * asked),
    )  # fmt: skip


LOGS = [
    log("a", 0, perplexity=1.0),
    log("b", 2, asked=2, perplexity=2.0),
    log("c", None, asked=4, perplexity=9.0),
    log("d", 1, asked=1),
]


def test_a_right_answer_stays_right_in_later_rounds() -> None:
    assert accuracy_by_round(LOGS, 4) == [0.25, 0.5, 0.75, 0.75, 0.75]
    assert accuracy_by_round([], 1) == [0.0, 0.0]


def test_efficiency_is_what_came_right_for_each_question_asked() -> None:
    # b and d came right after 7 questions in all.
    assert efficiency(LOGS) == round(2 / 7, 4)
    assert efficiency([log("a", 0), log("b", None)]) is None
    assert efficiency([log("c", None, asked=4)]) == 0.0


def test_the_figures_of_all_questions() -> None:
    figures = figures_of(LOGS, 4, MatchRule.PUBLISHED)

    assert (figures["n"], figures["execution_match"], figures["match_rule"]) == (4, 0.75, "published")
    assert figures["num_cq_asked"] == {"0": 1, "1": 1, "2": 1, "3": 0, "4": 0, "Failed": 1}
    assert figures["questions_asked"] == 7
    assert figures["perplexity"] == {"all": 2.0, "right": 1.5, "wrong": 9.0}
    assert figures["oracle"] == {"calls": 7, "tokens": 70, "cost_usd": 0.007}
    assert figures["per_question"] == {"llm_calls_median": 2.5, "llm_calls": 2.75, "tokens": 100.0, "cost_usd": 0.01}


def test_methods_stand_side_by_side_in_a_table() -> None:
    runs = [
        ("clarify", figures_of(LOGS, 4, MatchRule.PROJECT)),
        ("baseline", figures_of(LOGS[:1], 0, MatchRule.PROJECT)),
    ]
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in table_of(runs).splitlines()]

    assert lines[0][:7] == ["method", "n", "round 0", "round 1", "round 2", "round 3", "round 4"]
    assert lines[2][:7] == ["clarify", "4", "25.00%", "50.00%", "75.00%", "75.00%", "75.00%"]
    assert lines[3][:7] == ["baseline", "1", "100.00%", "", "", "", ""]
    assert len({len(line) for line in lines}) == 1


def test_a_finished_experiment_leaves_report_pickle_and_plot(tmp_path: Path) -> None:
    report, table = write_report(ExperimentFolder(tmp_path, SETTINGS), LOGS)

    assert {path.name for path in tmp_path.iterdir()} == {"settings.json", "logs.pkl", "report.json", "report.png"}
    assert (report["settings"], report["execution_match"]) == (SETTINGS, 0.75)
    assert (tmp_path / "report.png").read_bytes().startswith(b"\x89PNG")
    assert table.splitlines()[-1].startswith("| clarify | 4 |")


def experiment(path: Path, *logs: QuestionLog, **settings: Any) -> Path:
    folder = ExperimentFolder(path, {**SETTINGS, **settings})
    for each in logs:
        folder.append(each)
    return path


def test_experiments_are_compared_by_their_folders(tmp_path: Path) -> None:
    folders = [experiment(tmp_path / "a", *LOGS), experiment(tmp_path / "b", LOGS[0], method="baseline", rounds=0)]

    assert [(name, figures["n"]) for name, figures in read_runs(folders)] == [("clarify", 4), ("baseline", 1)]


def test_experiments_on_other_questions_and_empty_ones_are_not_compared(tmp_path: Path) -> None:
    first, other = experiment(tmp_path / "a", *LOGS), experiment(tmp_path / "b", *LOGS, questions="others")
    empty = experiment(tmp_path / "c")

    with pytest.raises(DatasetInvalid, match="differ from those of"):
        read_runs([first, other])
    with pytest.raises(DatasetInvalid, match="no finished question"):
        read_runs([first, empty])
    with pytest.raises(DatasetInvalid, match="no experiment"):
        read_runs([first, tmp_path / "nowhere"])
