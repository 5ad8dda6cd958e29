"""The fit of the confidence."""

from random import Random

import pytest

from agent.types import Evidence
from training.calibrate import Observation, fit


def observations(count: int) -> list[Observation]:
    """Return answers whose probability of being right is that of their text."""
    rng = Random(0)
    made = []
    for _ in range(count):
        logprob = -rng.random() * 6
        evidence = Evidence(
            logprob=logprob, violations=0, ignored=[], unused_values=[], agreement=1.0, gives_rows=rng.random() < 0.5
        )
        made.append(Observation("statement", "shop", "?", evidence, rng.random() < 1 / (1 + 2.718 ** (-2 - logprob))))
    return made


def test_the_fit_finds_the_probability_of_being_right() -> None:
    calibration = fit(observations(4000))

    assert calibration.intercept == pytest.approx(2.0, abs=0.3)
    assert calibration.weights["logprob"] == pytest.approx(1.0, abs=0.1)
    assert abs(calibration.weights.get("no_rows", 0.0)) < 0.25
    assert 0.3 < calibration.threshold < 0.8


def test_what_speaks_against_an_answer_gets_no_weight_in_its_favour() -> None:
    seen = [
        Observation("statement", "shop", "?", Evidence(logprob=-1.0, violations=number % 2), number % 2 == 1)
        for number in range(40)
    ]

    assert "violations" not in fit(seen).weights
