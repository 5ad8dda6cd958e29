"""From a training set to an adapter as the agent loads it."""

from collections.abc import Iterable
from pathlib import Path
from random import Random

from agent.errors import DriverMissing
from agent.models.local import ADAPTER
from agent.models.training.plan import TrainingPlan

_MOST_TOKENS = 1200
"""In one pack; with the gradients a CPU needs about 5 GB for it."""
_VALIDATION_PACKS = 8


def train_adapter(out: Path, cache: Path, plan: TrainingPlan, start: Path | None = None) -> dict[str, float]:
    """Train on the set that `build_training_set` wrote into `out`; write the adapter there and return the figures.

    Each group trains as it is and as a variant (`augmented`). The first run begins with the adapter in
    the file `start`, if one is given. Weights of the base model are kept in `cache`.

    Raises:
        DriverMissing: torch or transformers is not installed.
        EmbeddedModelUnavailable: the base model cannot be had.
        OSError: a file cannot be read or written.
    """
    try:
        import torch  # noqa: F401
        import transformers  # noqa: F401
    except ImportError as error:
        raise DriverMissing(error.name or "torch", "train") from error
    from agent.models.training.augment import augmented
    from agent.models.training.base import load_base
    from agent.models.training.export import export_adapter, read_adapter
    from agent.models.training.groups import Group, read_groups
    from agent.models.training.packing import Pack, packs_of
    from agent.models.training.train import best_adapter, train

    model, tokenizer = load_base(cache)

    def encode(text: str) -> list[int]:
        ids: list[int] = tokenizer(text, add_special_tokens=False)["input_ids"]
        return ids

    def packed(groups: Iterable[Group]) -> list[Pack]:
        return [pack for group in groups for pack in packs_of(group, encode, _MOST_TOKENS)]

    rng = Random(plan.seed)
    groups = read_groups(out / "training.jsonl")
    training = packed(groups) + packed(augmented(group, rng) for group in groups)
    validation = packed(read_groups(out / "validation.jsonl"))
    heads = {"heads": model.config.num_attention_heads, "key_heads": model.config.num_key_value_heads}
    begun = read_adapter(start, **heads) if start else None
    some = validation[:: max(1, len(validation) // _VALIDATION_PACKS)]
    figures = train(model, training, some, out, plan, begun)
    export_adapter(best_adapter(out), out / ADAPTER.name, scale=plan.scale, **heads)
    return figures | {"training_tokens": sum(len(pack.tokens) for pack in training)}
