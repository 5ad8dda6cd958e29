"""The question as it comes in."""

import unicodedata
from typing import Any

from agent.errors import InvalidQuestion, QuestionTooLong
from agent.text import valid_text


def clean_question(question: Any, max_chars: int) -> str:
    """Return `question` without control characters and outer white space, in Unicode's composed form.

    Raises:
        InvalidQuestion: it is not text, is empty, or has no words.
        QuestionTooLong: it has more than `max_chars` characters.
    """
    if not isinstance(question, str):
        raise InvalidQuestion("it is not text" if question is not None else "there is none")
    if len(question) > max_chars:
        raise QuestionTooLong(len(question), max_chars)
    unreadable = {"Cc", "Co"}
    text = valid_text(question).replace("\ufffd", " ")
    readable = "".join(" " if unicodedata.category(char) in unreadable else char for char in text)
    cleaned = " ".join(unicodedata.normalize("NFC", readable).split())
    if not any(char.isalnum() for char in cleaned):
        raise InvalidQuestion("it has no words" if cleaned else "it is empty")
    return cleaned
