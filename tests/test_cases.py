"""One test over a golden set runs every case and names those that fail."""

import pytest

from tests.cases import all_cases


def test_every_failing_case_is_listed() -> None:
    seen = []

    @all_cases("number", [1, 2, 3], ids="case {}".format)
    @all_cases("text, length", [("a", 1), ("bb", 2)])
    def check(text: str, length: int, number: int, fixture: str) -> None:
        seen.append((number, text, fixture))
        assert len(text) == length and number == 2, "wrong number"

    with pytest.raises(AssertionError) as caught:
        check(fixture="f")
    assert len(seen) == 6
    assert "case 1" in str(caught.value) and "case 3" in str(caught.value) and "case 2" not in str(caught.value)
    assert "('bb', 2)" in str(caught.value) and "wrong number" in str(caught.value)


def test_a_check_that_did_not_raise_fails_its_case() -> None:
    @all_cases("kind", [ValueError, KeyError], ids=str)
    def check(kind: type[Exception]) -> None:
        with pytest.raises(kind):
            raise ValueError

    with pytest.raises((AssertionError, KeyError, ValueError), match="KeyError"):
        check()
