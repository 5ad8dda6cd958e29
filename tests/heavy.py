"""The size of tests that draw examples: small by default, full with HEAVY=1, as in CI."""

import os

HEAVY = bool(os.environ.get("HEAVY"))


def sample(full: int, small: int) -> int:
    """Return how many examples to draw: `full` with HEAVY=1, else `small`."""
    return full if HEAVY else small
