"""Train an adapter on a training set and export it in the format that the agent loads."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Literal

from datasphinx.agent.embedded.tiers import Tier
from datasphinx.agent.embedded.weights import embedded_weights
from datasphinx.agent.errors import DriverMissing


@dataclass(frozen=True)
class TrainingPlan:
    """The training parameters. Over the last `decay` share of the training, the learning rate falls to a tenth."""

    device: Literal["cpu", "cuda"] = "cpu"
    rows: int = 0
    """Number of rows of a batch, for a GPU; 0 for steps of two packs in two threads, for a CPU."""
    row_tokens: int = 4096
    variants: int = 1
    """Number of variants of each group, in addition to the group as it is."""
    rank: int = 32
    scale: float = 2.0
    learning_rate: float = 1e-3
    warmup_steps: int = 20
    decay: float = 0.5
    steps: int = 2000
    total_minutes: float | None = None
    """Duration of the training over all runs, if it should end before `steps`; the learning rate falls accordingly."""
    validate_every: int = 50
    checkpoint_minutes: float = 5.0
    """Interval of the checkpoints; the end of a run saves one, too."""
    minutes: float | None = None
    """Time limit of this run; a stopped run saves a checkpoint and can be resumed."""
    seed: int = 0

    def progress(self, step: int, seconds: float) -> float:
        """Return the completed share of the training, at least 1 at its end, after `step` steps in `seconds`."""
        by_time = seconds / (60 * self.total_minutes) if self.total_minutes else 0.0
        return max(step / self.steps, by_time)

    def rate(self, step: int, seconds: float = 0.0) -> float:
        """Return the learning rate of a step, numbered from 0, that begins after `seconds` of training."""
        left = (1.0 - self.progress(step, seconds)) / max(1 / self.steps, self.decay)
        return self.learning_rate * min(1.0, (step + 1) / self.warmup_steps) * max(0.1, min(1.0, left))


GPU_ROWS = 4
"""Rows of a batch on a GPU: 16,384 tokens, whose gradients need about 20 GB with the 0.5 billion weights of `base`."""
_MAX_TOKENS, _MAX_ROW_TOKENS = 1200, 2048
"""Maximum length of a pack: on a CPU, where its gradients need about 5 GB, and in a row."""
_VALIDATION_PACKS = 8
"""Number of packs whose loss is computed on a CPU; on a GPU, it is that of all."""


def train_adapter(
    out: Path, cache: Path, tier: Tier, plan: TrainingPlan, start: Path | None = None
) -> dict[str, float]:
    """Train on the set in `out` written by `build_training_set`, export the adapter to `out`, and return the metrics.

    Every group is used unchanged and as `plan.variants` variants (`augmented`). A first run starts from the adapter
    file `start`, if any. The weights of the base model, that of `tier`, are stored in `cache`.

    Raises:
        DriverMissing: torch or transformers is not installed.
        Unavailable: the base model is not available.
        OSError: a file cannot be read or written.
        ValueError: the architecture of the base model is not supported, or not that of `start`.
    """
    try:
        import torch  # noqa: F401
        import transformers  # noqa: F401
    except ImportError as error:
        raise DriverMissing(error.name or "torch", "train") from error
    from training.augment import augmented
    from training.export import Architecture, export_adapter, read_adapter
    from training.groups import Group, read_groups
    from training.packing import Pack, packs_of
    from training.train import best_adapter, load_base, train

    model, tokenizer = load_base(embedded_weights(cache, tier.weights))
    architecture = Architecture.of(model.config)

    def encode(text: str) -> list[int]:
        ids: list[int] = tokenizer(text, add_special_tokens=False)["input_ids"]
        return ids

    max_tokens = _MAX_ROW_TOKENS if plan.rows else _MAX_TOKENS

    def packed(groups: Iterable[Group]) -> list[Pack]:
        return [pack for group in groups for pack in packs_of(group, encode, max_tokens)]

    rng = Random(plan.seed)
    groups = read_groups(out / "training.jsonl")
    training = packed(groups) + packed(augmented(group, rng) for _ in range(plan.variants) for group in groups)
    validation = packed(read_groups(out / "validation.jsonl"))
    initial = read_adapter(start, architecture) if start else None
    sample = validation if plan.rows else validation[:: max(1, len(validation) // _VALIDATION_PACKS)]
    metrics = train(model, training, sample, out, plan, initial)
    export_adapter(
        best_adapter(out), out / tier.adapter.name, scale=plan.scale, base=tier.model, architecture=architecture
    )
    return metrics | {"training_tokens": sum(len(pack.tokens) for pack in training)}
