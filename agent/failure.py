"""An error as a value in the state: its code and facts, from which its text is made in any language."""

from typing import Any

import agent.errors
from agent.errors import DatasphinxError
from agent.messages import Language, render
from agent.state import ErrorInfo


def failure_of(error: DatasphinxError) -> dict[str, Any]:
    """Return `error` as JSON can hold it."""
    facts = {name: list(fact) if isinstance(fact, tuple) else fact for name, fact in error.details().items()}
    return {"code": error.code, "facts": facts}


def error_of(failure: dict[str, Any]) -> DatasphinxError:
    """Return the error that `failure` was made of.

    Raises:
        KeyError: no error has its code.
    """
    classes = {each.code: each for each in vars(agent.errors).values() if hasattr(each, "code")}
    facts = {name: tuple(fact) if isinstance(fact, list) else fact for name, fact in failure["facts"].items()}
    error: DatasphinxError = classes[failure["code"]](**facts)
    return error


def error_info(failure: dict[str, Any], language: Language) -> ErrorInfo:
    """Return the stable code of `failure` and its text in `language`."""
    return ErrorInfo(code=failure["code"], message=render(failure["code"], language, **failure["facts"]))
