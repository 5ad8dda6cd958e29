"""Few-shot examples from the user study of Sphinteract: questions of KaggleDBQA, with the answers of its users."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from sqlalchemy import URL

from datasphinx.agent.errors import DatasetInvalid
from datasphinx.agent.evals.datasets import Dataset, Question, Record, find_databases, read_lines, shorten, text_field
from datasphinx.agent.examples.example import Example, checked_example
from datasphinx.agent.messages import Message
from datasphinx.agent.sources.source import Source
from datasphinx.agent.types import Clarification

_QUESTIONS, _ANSWERS = "Question2Ask", "Answer2Question"


def read_user_study(path: Path, questions: Sequence[Question]) -> list[tuple[Question, list[Clarification]]]:
    """Return the questions of the study that have clarifications, with these, in the order of the file.

    `path` is the published `kaggle_userstudy.jsonl`: on each line the question `nl`, and the lists `Question2Ask` and
    `Answer2Question`. It has no statements: they are those of `questions`, the questions of KaggleDBQA, by the text.

    Raises:
        DatasetInvalid: the file cannot be read, a line is invalid, or a question is not among `questions`.
    """
    by_text = {_normalized(question.question): question for question in questions}
    studied = list(read_lines(path, _line))
    unknown = [text for text, _ in studied if _normalized(text) not in by_text]
    if unknown:
        raise DatasetInvalid(str(path), Message("questions_missing", ids=shorten(unknown)))
    return [(by_text[_normalized(text)], clarifications) for text, clarifications in studied if clarifications]


def user_study_examples(path: Path, dataset: Dataset, open_source: Callable[[str], Source]) -> list[Example]:
    """Return the questions of the study with clarifications as examples for the databases of KaggleDBQA.

    `open_source` returns the source with a URL.

    Raises:
        DatasetInvalid: see `read_user_study` and `find_databases`.
        ExampleInvalid, StatementError: see `checked_example`.
        Terminal: a database cannot be opened.
    """
    studied = read_user_study(path, dataset.questions)
    files = find_databases(Dataset([question for question, _ in studied], dataset.databases))
    urls = {
        db_id: URL.create("sqlite", database=str(file.absolute())).render_as_string() for db_id, file in files.items()
    }
    return [
        checked_example(question.question, question.sql, open_source(urls[question.db_id]), clarifications)
        for question, clarifications in studied
    ]


def _normalized(text: str) -> str:
    return " ".join(text.casefold().split())


def _line(record: Record) -> tuple[str, list[Clarification]]:
    asked, answered = (_texts(record, name) for name in (_QUESTIONS, _ANSWERS))
    if len(asked) != len(answered):
        raise ValueError(Message("answers_differ", first=_QUESTIONS, second=_ANSWERS))
    pairs = zip(asked, answered, strict=True)
    clarifications = [Clarification(question=question, answer=answer) for question, answer in pairs]
    return text_field(record, "nl"), clarifications


def _texts(record: Record, name: str) -> list[str]:
    """Return the texts of a list, which a question that was clear to the users does not have."""
    value: Any = record.get(name) or []
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list) or not all(isinstance(text, str) and text.strip() for text in texts):
        raise ValueError(Message("field_not_texts", name=name))
    return texts
