"""How long and how fast the adapter is trained."""

from dataclasses import dataclass


@dataclass(frozen=True)
class TrainingPlan:
    """How to train. `decay` is the share of the steps over which the learning rate falls to a tenth."""

    rank: int = 32
    scale: float = 2.0
    learning_rate: float = 1e-3
    warmup_steps: int = 20
    decay: float = 0.5
    steps: int = 2000
    validate_every: int = 50
    minutes: float | None = None
    """After this long the run saves itself and stops, to be taken up again."""
    seed: int = 0

    def rate(self, step: int) -> float:
        """Return the learning rate of the step with this number, from 0."""
        left = (self.steps - step) / max(1.0, self.decay * self.steps)
        return self.learning_rate * min(1.0, (step + 1) / self.warmup_steps) * max(0.1, min(1.0, left))
