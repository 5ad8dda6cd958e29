import pytest

from datasphinx.agent.core.failure import error_of, failure_of
from datasphinx.agent.errors import BY_CODE, error_with
from tests.support.errors import example_facts


@pytest.mark.parametrize("code", BY_CODE)
def test_error_comes_back_from_its_failure(code: str) -> None:
    facts = example_facts(code)
    error = error_with(code, **facts)

    back = error_of(failure_of(error))
    assert type(back) is type(error) is BY_CODE[code]
    assert (back.code, back.exit_code, back.details()) == (code, error.exit_code, facts)


def test_code_of_no_error_is_refused() -> None:
    with pytest.raises(KeyError):
        error_of({"code": "nonsense", "facts": {}})
