"""The folder of an experiment: its contents, and when an experiment can be continued."""

import json
import pickle
from pathlib import Path
from typing import Any

import pytest

from datasphinx.agent.errors import DatasetInvalid
from datasphinx.agent.evals.experiments.folder import ExperimentFolder, read_logs, read_settings
from datasphinx.agent.evals.experiments.log import QuestionLog, Round
from datasphinx.agent.evals.report import Outcome

SETTINGS = {"method": "clarify", "rounds": 4, "model": "m"}


def log(name: str, **given: Any) -> QuestionLog:
    entries: Any = {"sql_log": [(0, "Frage: ä\n", "SELECT 1", 1.5)], "rounds": [Round(0, True, "SELECT 1")]}
    return QuestionLog(name, "shop", "Which?", **{**entries, "outcome": Outcome(name, True), **given})


def test_what_is_done_is_there_again(tmp_path: Path) -> None:
    folder = ExperimentFolder(tmp_path / "a" / "b", SETTINGS)
    folder.append(log("1"))
    folder.append(log("2"))

    again = ExperimentFolder(tmp_path / "a" / "b", SETTINGS)
    assert read_logs(again.path) == {"1": log("1"), "2": log("2")}
    assert read_settings(again.path) == SETTINGS


def test_the_line_that_a_kill_left_unfinished_is_dropped(tmp_path: Path) -> None:
    folder = ExperimentFolder(tmp_path, SETTINGS)
    folder.append(log("1"))
    with (tmp_path / "questions.jsonl").open("a") as file:
        file.write('{"id": "2", "db_')

    ExperimentFolder(tmp_path, SETTINGS).append(log("3"))
    assert list(read_logs(tmp_path)) == ["1", "3"]


def test_other_settings_are_refused_and_named(tmp_path: Path) -> None:
    ExperimentFolder(tmp_path, SETTINGS)

    with pytest.raises(DatasetInvalid) as refused:
        ExperimentFolder(tmp_path, {**SETTINGS, "rounds": 2, "model": "n"})
    assert refused.value.path == str(tmp_path)
    assert 'started with rounds 4, model "m", but this run has rounds 2, model "n"' in refused.value.reason
    assert read_settings(tmp_path) == SETTINGS


@pytest.mark.parametrize(
    ("name", "content", "word"),
    [
        ("questions.jsonl", "{}\n", "no settings.json"),
        ("settings.json", "{", "cannot be read"),
        ("settings.json", "[]", "not a JSON object"),
    ],
)
def test_a_folder_that_is_no_experiment_is_refused(tmp_path: Path, name: str, content: str, word: str) -> None:
    (tmp_path / name).write_text(content)

    with pytest.raises(DatasetInvalid, match=word):
        ExperimentFolder(tmp_path, SETTINGS)


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(DatasetInvalid, match="cannot be written"):
        ExperimentFolder(tmp_path / "file" / "below", SETTINGS)


@pytest.mark.parametrize("line", ['{"id": "1"}', "no JSON", '{"id": "1", "outcome": {}}'])
def test_a_line_that_is_no_log_is_named(tmp_path: Path, line: str) -> None:
    ExperimentFolder(tmp_path, SETTINGS).append(log("1"))
    with (tmp_path / "questions.jsonl").open("a") as file:
        file.write(line + "\n")

    with pytest.raises(DatasetInvalid, match="line 2"):
        read_logs(tmp_path)


def test_the_pickle_is_a_list_of_dicts_as_the_published_logs_are(tmp_path: Path) -> None:
    folder = ExperimentFolder(tmp_path, SETTINGS)
    folder.finish([log("1", num_cq_asked=2), log("2")], {"n": 2})

    first, second = pickle.loads((tmp_path / "logs.pkl").read_bytes())
    assert {"sql_log", "cq_log", "feedback_log", "num_cq_asked"} <= set(first)
    assert first["sql_log"] == [(0, "Frage: ä\n", "SELECT 1", 1.5)]
    assert (first["num_cq_asked"], second["num_cq_asked"]) == (2, "Failed")
    assert json.loads((tmp_path / "report.json").read_text()) == {"n": 2}
    assert not list(tmp_path.glob("*.new"))
