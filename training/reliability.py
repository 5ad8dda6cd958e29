"""How well confidence separates right answers from wrong ones: calibration error, AUROC, risk and coverage."""

from collections.abc import Iterator, Sequence

_BINS = 10


def calibration_error(values: Sequence[float], is_right: Sequence[bool]) -> float:
    """Return the expected calibration error, from 0 to 1, over ten bins of equal width (Guo et al. 2017).

    It is the mean difference between the confidence of the answers in a bin and their share of right answers.
    """
    gaps = [0.0] * (_BINS + 1)
    for value, is_correct in zip(values, is_right, strict=True):
        gaps[int(value * _BINS)] += value - is_correct
    return sum(map(abs, gaps)) / len(values)


def auroc(values: Sequence[float], is_right: Sequence[bool]) -> float | None:
    """Return the probability that a right answer has a higher confidence than a wrong one; equal values count half.

    None if all answers or none are right.
    """
    right = [value for value, is_correct in zip(values, is_right, strict=True) if is_correct]
    wrong = [value for value, is_correct in zip(values, is_right, strict=True) if not is_correct]
    if not right or not wrong:
        return None
    return sum((a > b) + 0.5 * (a == b) for a in right for b in wrong) / (len(right) * len(wrong))


def risk_coverage(values: Sequence[float], is_right: Sequence[bool]) -> Iterator[tuple[float, float, float]]:
    """Yield (coverage, share of right answers, lowest confidence) if only the most confident answers are given.

    All are shares from 0 to 1; the coverage increases. Answers of equal confidence are given together.
    """
    ranked = sorted(zip(values, is_right, strict=True), key=lambda pair: -pair[0])
    right = 0
    for count, (value, is_correct) in enumerate(ranked, 1):
        right += is_correct
        if count == len(ranked) or ranked[count][0] < value:
            yield count / len(ranked), right / count, value
