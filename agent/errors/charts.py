"""Errors of a chart that is asked for."""

from dataclasses import dataclass

from agent.errors.base import Retryable


@dataclass(frozen=True)
class PlotProblem:
    """What is wrong at `path` of a PlotSpec; `nearest` has the columns that may be meant, best first."""

    path: str
    reason: str
    nearest: tuple[str, ...] = ()

    def __str__(self) -> str:
        hint = f" (nearest: {', '.join(self.nearest)})" if self.nearest else ""
        return f"{self.path}: {self.reason}{hint}"


@dataclass(eq=False)
class PlotSpecInvalid(Retryable):
    """A PlotSpec does not fit its schema or its result; `problems` has everything that is wrong."""

    code = "plot_spec_invalid"
    problems: tuple[PlotProblem, ...]
