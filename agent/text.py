"""Text from outside the process, as Unicode that can be encoded: models, users, databases, files."""

from typing import Any


def valid_text(text: str) -> str:
    r"""Return `text` without lone surrogates, which UTF-8 cannot encode: each becomes U+FFFD.

    Two halves of a pair become the character that they encode.

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
    """Return a JSON value with each text in it, keys too, as `valid_text` returns it; others stay as they are."""
    if isinstance(value, str):
        return valid_text(value)
    if isinstance(value, dict):
        return {valid_json(name): valid_json(part) for name, part in value.items()}
    if isinstance(value, list):
        return [valid_json(part) for part in value]
    if isinstance(value, tuple):
        return tuple(valid_json(part) for part in value)
    return value
