"""How well confidence tells right answers from wrong ones."""

import pytest

from training.reliability import auroc, calibration_error, risk_coverage


def test_the_calibration_error_is_the_mean_gap_between_confidence_and_share_of_right_answers() -> None:
    values = [0.15] * 10 + [0.95] * 10

    assert calibration_error(values, [True, False] * 5 + [True] * 9 + [False]) == pytest.approx((0.35 + 0.05) / 2)
    assert calibration_error([1.0] * 20, [False] * 20) == 1.0
    assert calibration_error([0.25], [True]) == 0.75


def test_auroc_is_the_share_of_pairs_in_the_right_order() -> None:
    assert auroc([0.9, 0.8, 0.3], [True, False, False]) == 1.0
    assert auroc([0.9, 0.8, 0.8, 0.3], [False, True, False, True]) == pytest.approx(0.125)
    assert auroc([0.5, 0.5], [True, False]) == 0.5
    assert auroc([0.5, 0.7], [True, True]) is None


def test_risk_and_coverage_take_the_most_confident_answers_first() -> None:
    points = list(risk_coverage([0.2, 0.9, 0.5, 0.5], [False, True, True, False]))

    assert points == [(0.25, 1.0, 0.9), (0.75, pytest.approx(2 / 3), 0.5), (1.0, 0.5, 0.2)]
