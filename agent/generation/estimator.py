"""Confidence in a statement: the probability that its result is right, estimated from evidence."""

from dataclasses import dataclass
from typing import Protocol

from datasphinx.agent.types import Evidence


class ConfidenceEstimator(Protocol):
    """Estimates the confidence in the statements of a model."""

    @property
    def threshold(self) -> float:
        """The default of `min_confidence`."""

    def estimate(self, evidence: Evidence) -> float | None:
        """Return the probability that a statement with `evidence` is right, from 0 to 1; None if nothing is known."""


@dataclass(frozen=True)
class AgreementConfidence:
    """The estimate for chat models: how many of the statements written for a question have its result.

    Of a statement that was written alone nothing is estimated, and neither of one that the model confirmed.
    """

    threshold: float = 0.5

    def estimate(self, evidence: Evidence) -> float | None:
        """Return the estimate by the rule of succession for three statements. See `ConfidenceEstimator.estimate`."""
        if "agreement" not in evidence or evidence.get("is_confirmed"):
            return None
        return round((3 * evidence["agreement"] + 1) / 5, 4)
