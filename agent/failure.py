"""An error as a value in the state: its code and facts, from which its text is made in any language."""

from typing import Any

from agent.errors import DatasphinxError
from agent.messages import Language, render
from agent.state import ErrorInfo


def failure_of(error: DatasphinxError) -> dict[str, Any]:
    """Return `error` as JSON can hold it."""
    facts = {name: list(fact) if isinstance(fact, tuple) else fact for name, fact in error.details().items()}
    return {"code": error.code, "facts": facts}


def error_info(failure: dict[str, Any], language: Language) -> ErrorInfo:
    """Return the stable code of `failure` and its text in `language`."""
    return ErrorInfo(code=failure["code"], message=render(failure["code"], language, **failure["facts"]))
