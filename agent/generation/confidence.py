"""Confidence in a statement: the probability that its result is right, estimated from evidence."""

import math
from dataclasses import dataclass
from typing import Protocol

from agent.types import Evidence

_INTERCEPT = 0.5
_LOGPROB, _LOWEST_LOGPROB = 0.15, -15.0
_AGREEMENT = 3.0
_CONFIRMED, _REJECTED = 0.7, -1.5
_FINDING = -0.5
_NO_ROWS = -1.0
"""Weights in logits for models without a calibration of their own. They are not fitted."""


class ConfidenceEstimator(Protocol):
    """Estimates the confidence in the statements of a model."""

    @property
    def threshold(self) -> float:
        """The default of `min_confidence`."""

    def estimate(self, evidence: Evidence) -> float | None:
        """Return the probability that a statement with `evidence` is right, from 0 to 1; None if nothing is known."""


@dataclass(frozen=True)
class StandardConfidence:
    """The estimate for chat models: log probabilities, validation, agreement of three statements, static findings.

    Without one of the first three, there is no estimate.
    """

    threshold: float = 0.5

    def estimate(self, evidence: Evidence) -> float | None:
        """Return the estimate. See `ConfidenceEstimator.estimate`."""
        if not {"logprob", "is_confirmed", "agreement"} & evidence.keys():
            return None
        logit = _INTERCEPT + _FINDING * evidence.get("findings", 0)
        if "logprob" in evidence:
            logit += 1 + _LOGPROB * max(evidence["logprob"], _LOWEST_LOGPROB)
        if "agreement" in evidence:
            logit += _AGREEMENT * (evidence["agreement"] - 0.5)
        if "is_confirmed" in evidence:
            logit += _CONFIRMED if evidence["is_confirmed"] else _REJECTED
        if not evidence.get("gives_rows", True):
            logit += _NO_ROWS
        return sigmoid(logit)


def sigmoid(logit: float) -> float:
    """Return the probability with the log odds `logit`, rounded to four decimals.

    >>> sigmoid(0.0), sigmoid(2.0)
    (0.5, 0.8808)
    """
    return round(1 / (1 + math.exp(-logit)), 4)
