"""What takes long: examples are few by default and all with HEAVY=1, as in CI; cases can have the mark `heavy`."""

import os
from typing import Any

import pytest

HEAVY = bool(os.environ.get("HEAVY"))


def sample(full: int, small: int) -> int:
    """Return how many examples to draw: `full` with HEAVY=1, else `small`."""
    return full if HEAVY else small


def heavy(*cases: Any) -> list[Any]:
    """Return the cases of a parametrized test with the mark `heavy`."""
    return [pytest.param(case, marks=pytest.mark.heavy) for case in cases]
