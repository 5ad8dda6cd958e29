"""The folder of an experiment: its settings, one log line per finished question, and the report."""

import json
import os
import pickle
import threading
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

from pydantic import PlainValidator, TypeAdapter

from benchmarks.experiments.log import QuestionLog, log_from_json
from benchmarks.experiments.options import MatchRule
from datasphinx.agent.core.canonical import value_hash
from datasphinx.agent.errors import DatasetInvalid
from datasphinx.agent.evals.datasets import Question, read_lines
from datasphinx.agent.services import Services

_RECORDED_SETTINGS = (
    "llm_temperature",
    "llm_structured_output",
    "effort",
    "enable_sql_validation",
    "sql_validation_max_retries",
    "max_sql_generations",
    "schema_token_budget",
)
"""Settings that can change an answer."""


SETTINGS, QUESTIONS, PICKLE, REPORT, PLOT = (
    "settings.json",
    "questions.jsonl",
    "logs.pkl",
    "report.json",
    "report.png",
)


def settings_of(
    services: Services,
    questions: Sequence[Question],
    *,
    method: str,
    oracle: str | None,
    rounds: int,
    rule: MatchRule,
    recorded: Mapping[str, str],
) -> dict[str, Any]:
    """Return the experiment's settings: method, model, and hashes of all `questions` with their SQL and of `recorded`.

    The degree of parallelism and the location of the database files are not included.
    """
    settings, embedded = services.settings, services.models.embedded
    identities = [[question.id, question.db_id, question.question, question.sql] for question in questions]
    return {
        "method": method,
        "rounds": rounds,
        "oracle": oracle,
        "match": rule.value,
        "model": services.models.of("generate").name,
        **({"models": {role: own.model for role, own in settings.llm_models.items()}} if settings.llm_models else {}),
        "embedded": asdict(embedded) if embedded else None,
        **{name: getattr(settings, name) for name in _RECORDED_SETTINGS},
        "n": len(questions),
        "questions": value_hash(identities),
        **({"recorded": value_hash(dict(recorded))} if recorded else {}),
    }


class ExperimentFolder:
    """The folder of an experiment. Safe to write from several threads of one process."""

    def __init__(self, path: Path, settings: Mapping[str, Any]) -> None:
        """Start an experiment with `settings` in `path`, or continue the existing one.

        Raises:
            DatasetInvalid: The folder cannot be written, or has an experiment with other settings.
        """
        self.path = path
        self._lock = threading.Lock()
        try:
            path.mkdir(parents=True, exist_ok=True)
            if (path / SETTINGS).exists():
                _check_settings(path, read_settings(path), json.loads(json.dumps(settings)))
            elif (path / QUESTIONS).exists():
                raise DatasetInvalid(str(path), f"it has {QUESTIONS} but no {SETTINGS}")
            else:
                self._replace(SETTINGS, json.dumps(settings, indent=2, ensure_ascii=False).encode())
            self._drop_partial_line()
        except OSError as error:
            raise DatasetInvalid(str(path), f"it cannot be written ({error.strerror})") from error

    def append(self, log: QuestionLog) -> None:
        """Append the log of a finished question; it is on disk when this returns."""
        line = json.dumps(log.as_json(), ensure_ascii=False) + "\n"
        with self._lock, (self.path / QUESTIONS).open("ab") as file:
            file.write(line.encode("utf-8", "backslashreplace"))
            file.flush()
            os.fsync(file.fileno())

    def finish(self, logs: Sequence[QuestionLog], report: Mapping[str, Any]) -> None:
        """Write the report, and the pickle of `logs`: a list of dicts, as in the published logs."""
        self._replace(PICKLE, pickle.dumps([log.as_json() for log in logs], protocol=4))
        self._replace(REPORT, json.dumps(report, indent=2, ensure_ascii=False).encode())

    def _replace(self, name: str, content: bytes) -> None:
        # Replace atomically, since the run may be killed at any time.
        new = self.path / f"{name}.new"
        new.write_bytes(content)
        new.replace(self.path / name)

    def _drop_partial_line(self) -> None:
        file = self.path / QUESTIONS
        content = file.read_bytes() if file.exists() else b""
        complete = content[: content.rfind(b"\n") + 1]
        if len(complete) < len(content):
            self._replace(QUESTIONS, complete)


def read_settings(path: Path) -> dict[str, Any]:
    """Return the settings of the experiment in the folder `path`.

    Raises:
        DatasetInvalid: There is no experiment, or its settings cannot be read.
    """
    try:
        settings = json.loads((path / SETTINGS).read_bytes())
    except FileNotFoundError as error:
        raise DatasetInvalid(str(path), f"it contains no experiment: {SETTINGS} is missing") from error
    except (OSError, ValueError) as error:
        raise DatasetInvalid(str(path / SETTINGS), f"it cannot be read ({error})") from error
    if not isinstance(settings, dict):
        raise DatasetInvalid(str(path / SETTINGS), "it is not a JSON object")
    return settings


def read_logs(path: Path) -> dict[str, QuestionLog]:
    """Return the logs of the finished questions in the folder `path`, by id; the last one of a repeated id.

    Raises:
        DatasetInvalid: A line is not a log.
    """
    file = path / QUESTIONS
    kind = TypeAdapter(Annotated[QuestionLog, PlainValidator(_read)])
    return {log.id: log for log in read_lines(file, kind)} if file.exists() else {}


def _read(record: Any) -> QuestionLog:
    try:
        return log_from_json(record)
    except (KeyError, TypeError) as error:
        raise ValueError(f"it is not the log of a question ({error})") from error


def _check_settings(path: Path, stored: Mapping[str, Any], new: Mapping[str, Any]) -> None:
    names = [name for name in {**stored, **new} if stored.get(name) != new.get(name)]
    if names:
        was, now = (
            ", ".join(f"{name} {json.dumps(settings.get(name), ensure_ascii=False)}" for name in names)
            for settings in (stored, new)
        )
        raise DatasetInvalid(str(path), f"its experiment was started with {was}, but this run has {now}")
