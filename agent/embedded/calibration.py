"""Calibrated confidence in the statements of the embedded model."""

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from datasphinx.agent.embedded.tiers import TIERS
from datasphinx.agent.types import EmbeddedModel, Evidence

_FOLDER = TIERS["base"].adapter.parent
"""The folder with the calibrations, which `python -m training.calibrate` fits."""

_MAX_SURPRISAL = 20.0
"""Maximum negative log probability that is told apart, in nats."""


def features_of(evidence: Evidence) -> dict[str, float]:
    """Return the features of the logistic regression, by name; `evidence` is that of a statement with a `logprob`.

    All of them count against the statement. The logarithm makes the confidence fall fastest close to certainty.
    """
    return {
        "uncertainty": math.log1p(min(-evidence["logprob"], _MAX_SURPRISAL)),
        "violations": float(min(evidence.get("violations", 0), 3)),
        "unused_values": float(min(len(evidence.get("unused_values", ())), 2)),
        "disagreement": 1 - evidence.get("agreement", 1.0),
        "findings": float(min(evidence.get("findings", 0), 2)),
        "no_rows": float(not evidence.get("gives_rows", True)),
    }


@dataclass(frozen=True)
class Calibration:
    """A logistic regression from features to the probability that a statement is right (Platt 1999)."""

    intercept: float
    weights: Mapping[str, float]
    """The weights by feature."""
    threshold: float
    """The default of `min_confidence`, below which an answer is presented as not sure."""

    def estimate(self, evidence: Evidence) -> float | None:
        """Return the probability that a statement with `evidence` is right; None without a log probability."""
        if "logprob" not in evidence:
            return None
        features = features_of(evidence)
        logit = self.intercept + sum(weight * features[name] for name, weight in self.weights.items())
        return round(1 / (1 + math.exp(-logit)), 4)


Task = Literal["statement", "query_spec"]


def calibration_path(tier: EmbeddedModel) -> Path:
    """Return the file with the calibrations of `tier`, with its adapter if it is trained."""
    return _FOLDER / f"calibration-{tier}.json"


@cache
def shipped_calibration(tier: EmbeddedModel, task: Task) -> Calibration | None:
    """Return the calibration of `tier` for `task`; None if none was fitted."""
    path = calibration_path(tier)
    fitted = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return Calibration(**fitted[task]) if task in fitted else None


def write_calibrations(calibrations: Mapping[Task, Calibration], path: Path) -> None:
    """Write calibrations by task as JSON."""
    content = {task: asdict(calibration) for task, calibration in calibrations.items()}
    path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
