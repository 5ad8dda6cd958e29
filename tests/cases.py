"""Golden sets: one test runs all cases and lists every case that fails."""

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

import pytest


def all_cases(
    names: str, cases: Iterable[Any], ids: Callable[[Any], str] = repr
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Call the test with every case, like `pytest.mark.parametrize` within one test.

    Collecting and reporting a test takes longer than most cases do. Fixtures of the test are shared by its cases.
    """
    arguments = [name.strip() for name in names.split(",")]
    values = list(cases)

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def run(**fixtures: Any) -> None:
            __tracebackhide__ = True
            failures = []
            for value in values:
                given = dict(zip(arguments, value if len(arguments) > 1 else (value,), strict=True))
                try:
                    test(**given, **fixtures)
                except (Exception, pytest.fail.Exception) as error:
                    failures.append(f"{ids(value)[:200]}: {type(error).__name__}: {error}")
            assert not failures, f"{len(failures)} of {len(values)} cases:\n" + "\n".join(failures)

        signature = inspect.signature(test)
        left = [parameter for name, parameter in signature.parameters.items() if name not in arguments]
        run.__signature__ = signature.replace(parameters=left)  # type: ignore[attr-defined]
        del run.__wrapped__
        return run

    return decorate
