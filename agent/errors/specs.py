"""Errors of a query spec."""

from dataclasses import dataclass

from agent.errors.base import Retryable


@dataclass(frozen=True)
class SpecProblem:
    """One thing that is wrong with a spec.

    `path` leads to it, such as `filters[0].col`, and is empty for the whole; `nearest` are names that may be meant.
    """

    path: str
    reason: str
    nearest: tuple[str, ...] = ()

    def __str__(self) -> str:
        hint = f" (nearest: {', '.join(self.nearest)})" if self.nearest else ""
        return f"{self.path or 'the spec'}: {self.reason}{hint}"


@dataclass(eq=False)
class QuerySpecInvalid(Retryable):
    """A query spec does not fit its schema or its datasets; `problems` has all that was found."""

    code = "query_spec_invalid"
    problems: tuple[SpecProblem, ...]


@dataclass(eq=False)
class PlotSpecInvalid(Retryable):
    """A plot spec does not fit its schema or its result; `problems` has all that was found."""

    code = "plot_spec_invalid"
    problems: tuple[SpecProblem, ...]
