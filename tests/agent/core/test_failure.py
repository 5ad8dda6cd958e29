from dataclasses import fields
from typing import Any

import pytest

import datasphinx.agent.errors
from datasphinx.agent.core.failure import error_of, failure_of
from datasphinx.agent.errors import DatasphinxError
from tests.cases import all_cases

ERRORS = [
    error
    for error in vars(datasphinx.agent.errors).values()
    if isinstance(error, type) and issubclass(error, DatasphinxError) and hasattr(error, "code")
]
EXAMPLES: dict[str, Any] = {"float": 1.5, "int": 7, "tuple": ("first", "second")}


@all_cases("kind", ERRORS, ids=lambda kind: kind.code)
def test_error_comes_back_from_its_failure(kind: type[DatasphinxError]) -> None:
    facts = {field.name: EXAMPLES.get(getattr(field.type, "__name__", ""), "fact") for field in fields(kind)}  # type: ignore[arg-type]
    back = error_of(failure_of(kind(**facts)))

    assert type(back) is kind
    assert back.details() == facts


def test_code_of_no_error_is_refused() -> None:
    with pytest.raises(KeyError):
        error_of({"code": "nonsense", "facts": {}})
