"""The folder of an experiment: its settings, a line for each question that is done, and what is made of them."""

import json
import os
import pickle
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from agent.errors import DatasetInvalid
from agent.evals.datasets.records import read_lines
from agent.evals.experiments.log import QuestionLog, log_of

SETTINGS, QUESTIONS, PICKLE, REPORT, PLOT = (
    "settings.json",
    "questions.jsonl",
    "logs.pkl",
    "report.json",
    "report.png",
)


class ExperimentFolder:
    """The folder. Safe to write to from several threads of one process."""

    def __init__(self, path: Path, settings: Mapping[str, Any]) -> None:
        """Begin an experiment with `settings` in `path`, or go on with the one that is there.

        Raises:
            DatasetInvalid: it cannot be written, or an experiment with other settings is there.
        """
        self.path = path
        self._lock = threading.Lock()
        try:
            path.mkdir(parents=True, exist_ok=True)
            if (path / SETTINGS).exists():
                _refuse_others(path, read_settings(path), json.loads(json.dumps(settings)))
            elif (path / QUESTIONS).exists():
                raise DatasetInvalid(str(path), f"it has {QUESTIONS} and no {SETTINGS}")
            else:
                self._replace(SETTINGS, json.dumps(settings, indent=2, ensure_ascii=False).encode())
            self._drop_half_a_line()
        except OSError as error:
            raise DatasetInvalid(str(path), f"it cannot be written ({error.strerror})") from error

    def append(self, log: QuestionLog) -> None:
        """Put a question that is done at the end, on the disk before this returns."""
        line = json.dumps(log.as_json(), ensure_ascii=False) + "\n"
        with self._lock, (self.path / QUESTIONS).open("ab") as file:
            file.write(line.encode("utf-8", "backslashreplace"))
            file.flush()
            os.fsync(file.fileno())

    def finish(self, logs: Sequence[QuestionLog], report: Mapping[str, Any]) -> None:
        """Write the pickle of `logs`, a list of dicts as the published logs are, and the report."""
        self._replace(PICKLE, pickle.dumps([log.as_json() for log in logs], protocol=4))
        self._replace(REPORT, json.dumps(report, indent=2, ensure_ascii=False).encode())

    def _replace(self, name: str, content: bytes) -> None:
        # Whole or not at all: a run may be killed at any time.
        new = self.path / f"{name}.new"
        new.write_bytes(content)
        new.replace(self.path / name)

    def _drop_half_a_line(self) -> None:
        file = self.path / QUESTIONS
        content = file.read_bytes() if file.exists() else b""
        whole = content[: content.rfind(b"\n") + 1]
        if len(whole) < len(content):
            self._replace(QUESTIONS, whole)


def read_settings(path: Path) -> dict[str, Any]:
    """Return the settings of the experiment in the folder `path`.

    Raises:
        DatasetInvalid: there is none, or it cannot be read.
    """
    try:
        settings = json.loads((path / SETTINGS).read_bytes())
    except FileNotFoundError as error:
        raise DatasetInvalid(str(path), f"there is no experiment in it: no {SETTINGS}") from error
    except (OSError, ValueError) as error:
        raise DatasetInvalid(str(path / SETTINGS), f"it cannot be read ({error})") from error
    if not isinstance(settings, dict):
        raise DatasetInvalid(str(path / SETTINGS), "it is no JSON object")
    return settings


def read_logs(path: Path) -> dict[str, QuestionLog]:
    """Return the questions that are done in the folder `path`, by id; of one that stands there twice, the last.

    Raises:
        DatasetInvalid: a line is no log.
    """
    file = path / QUESTIONS
    return {log.id: log for log in read_lines(file, _read)} if file.exists() else {}


def _read(record: dict[str, Any]) -> QuestionLog:
    try:
        return log_of(record)
    except (KeyError, TypeError) as error:
        raise ValueError(f"it is no log of a question ({error})") from error


def _refuse_others(path: Path, begun: Mapping[str, Any], given: Mapping[str, Any]) -> None:
    names = [name for name in {**begun, **given} if begun.get(name) != given.get(name)]
    if names:
        was, now = (", ".join(f"{name} {_shown(each.get(name))}" for name in names) for each in (begun, given))
        raise DatasetInvalid(str(path), f"its experiment was begun with {was}, and this is {now}")


def _shown(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
