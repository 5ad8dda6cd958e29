"""Reads questions that were made ambiguous on purpose, with their readings, and clear ones beside them."""

from dataclasses import dataclass
from pathlib import Path

from agent.errors import DatasetInvalid
from agent.evals.datasets.dataset import Question
from agent.evals.datasets.records import Record, identifier, read_lines, refuse_repeated, text_of

_TYPES = ("AmbQuestion", "AmbTableColumn", "AmbOutput", "AmbValue")


@dataclass(frozen=True)
class ReadQuestion(Question):
    """A question with what is known of its ambiguity. Its statement is that of the reading that is meant."""

    type: str | None = None
    """One of Sphinteract's four types; None for a clear question."""
    matters: bool = False
    """Whether two of its readings have different results, so that it is worth asking."""


def read_readings(path: Path) -> list[ReadQuestion]:
    """Return the questions of a file as `tests/fixtures/clarification/README.md` describes it.

    Where the file does not say by `meant` (a number from 0) which reading is meant, it is the first.

    Raises:
        DatasetInvalid: the file cannot be read or is empty, or a line is broken, lacks a field or repeats an id.
    """
    questions = list(read_lines(path, _question))
    refuse_repeated([question.id for question in questions], path)
    if not questions:
        raise DatasetInvalid(str(path), "there is no question in it")
    return questions


def _question(record: Record) -> ReadQuestion:
    asked = identifier(record), text_of(record, "db_id"), text_of(record, "question")
    if record.get("type") is None:
        return ReadQuestion(*asked, text_of(record, "sql"))
    kind, matters = text_of(record, "type"), record.get("differs")
    if kind not in _TYPES or not isinstance(matters, bool):
        raise ValueError(f"it has no type of {', '.join(_TYPES)}, or does not say by true or false whether it differs")
    return ReadQuestion(*asked, _meant(record), type=kind, matters=matters)


def _meant(record: Record) -> str:
    readings, meant = record.get("readings"), record.get("meant", 0)
    if not isinstance(readings, list) or type(meant) is not int or not 0 <= meant < len(readings):
        raise ValueError("it has no reading that is meant")
    return text_of(readings[meant], "sql")
