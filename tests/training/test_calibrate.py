"""The fit of the confidence."""

import math
from random import Random

import pytest

from datasphinx.agent.types import Evidence
from training.calibrate import Observation, fit


def observations(count: int) -> list[Observation]:
    """Return answers whose probability of being right is that of their text."""
    rng = Random(0)
    made = []
    for _ in range(count):
        logprob = -rng.random() * 6
        evidence = Evidence(
            logprob=logprob, violations=0, unused_values=[], agreement=1.0, gives_rows=rng.random() < 0.5
        )
        is_right = rng.random() < 1 / (1 + math.exp(-2 + 1.5 * math.log1p(-logprob)))
        made.append(Observation("statement", "shop", "?", evidence, is_right))
    return made


def test_the_fit_finds_the_probability_of_being_right() -> None:
    calibration = fit(observations(4000))

    assert calibration.intercept == pytest.approx(2.0, abs=0.3)
    assert calibration.weights["uncertainty"] == pytest.approx(-1.5, abs=0.2)
    assert abs(calibration.weights.get("no_rows", 0.0)) < 0.25
    # Where a wrong answer costs as much as four right ones.
    assert calibration.threshold == pytest.approx(0.8, abs=0.05)


def test_what_speaks_against_an_answer_gets_no_weight_in_its_favour() -> None:
    seen = [
        Observation("statement", "shop", "?", Evidence(logprob=-1.0, violations=number % 2), number % 2 == 1)
        for number in range(40)
    ]

    assert "violations" not in fit(seen).weights
