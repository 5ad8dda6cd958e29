"""Clean text from outside the process: models, users, databases, files."""

import unicodedata
from typing import Any

from datasphinx.agent.errors import InvalidQuestion
from datasphinx.agent.messages import Message

MAX_QUESTION_CHARS = 10_000


def valid_text(text: str) -> str:
    r"""Return `text` with U+FFFD in place of lone surrogates, which UTF-8 cannot encode.

    A surrogate pair becomes the character that it encodes.

    >>> valid_text("50 \ud83d\ude00 \ud800")
    '50 😀 �'
    """
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def valid_json(value: Any) -> Any:
    """Return a JSON value with `valid_text` applied to each string, including keys."""
    if isinstance(value, str):
        return valid_text(value)
    if isinstance(value, dict):
        return {valid_json(name): valid_json(part) for name, part in value.items()}
    if isinstance(value, list):
        return [valid_json(part) for part in value]
    if isinstance(value, tuple):
        return tuple(valid_json(part) for part in value)
    return value


def capitalised(text: str) -> str:
    """Return `text` with a capital letter at its beginning."""
    return text[:1].upper() + text[1:]


def question_key(question: str) -> str:
    """Return a text that is equal for questions that differ only in case, spaces, width, and the mark at their end.

    >>> question_key(" How many  orders?") == question_key("how many orders")
    True
    """
    return " ".join(unicodedata.normalize("NFKC", question).casefold().split()).rstrip("?.!\u3002 ")


def clean_question(question: Any, max_chars: int = MAX_QUESTION_CHARS) -> str:
    r"""Return `question` in Unicode normal form C, without control characters and repeated or outer white space.

    >>> clean_question("  How many\n customers? ")
    'How many customers?'

    Raises:
        InvalidQuestion: it is not text, is empty, or contains no letters or digits.
        InvalidQuestion: it is longer than `max_chars` characters.
    """
    if not isinstance(question, str):
        raise InvalidQuestion("invalid_question", reason=Message("not_text" if question is not None else "no_question"))
    if len(question) > max_chars:
        raise InvalidQuestion("question_too_long", chars=len(question), limit=max_chars)
    unreadable = {"Cc", "Co"}
    text = valid_text(question).replace("\ufffd", " ")
    readable = "".join(" " if unicodedata.category(char) in unreadable else char for char in text)
    cleaned = " ".join(unicodedata.normalize("NFC", readable).split())
    if not any(char.isalnum() for char in cleaned):
        raise InvalidQuestion("invalid_question", reason=Message("no_words" if cleaned else "empty"))
    return cleaned
