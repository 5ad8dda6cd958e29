"""The training loop of the adapter: resumable, with the best checkpoint and a log of the losses.

The learning rate warms up, stays constant, and falls linearly at the end (warmup-stable-decay; Hu et al. 2024,
MiniCPM), so that a run can be continued with more data and steps.
"""

import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count, islice
from pathlib import Path
from random import Random
from typing import Any

import torch
from torch.nn.functional import cross_entropy, linear

from training import joined, packing
from training.adapter import TrainingPlan
from training.joined import Batch
from training.low_rank import adapt, adapter_weights
from training.packing import IGNORED, Pack

_CHECKPOINT = "checkpoint.pt"
_BEST = "best.pt"
_LOG = "losses.jsonl"
_PACKS_PER_STEP = 2
"""Two threads with one pack each use two cores better than parallel operations; the sum of two is order-independent."""

_STEPS_SORTED = 8
"""Number of steps whose packs are sorted by length together."""

Step = Sequence[Sequence[Pack]]
"""The packs of a step by rows; without rows, each pack is one."""

_THREADS = max(1, torch.get_num_threads() // _PACKS_PER_STEP)
"""Threads per operation; computed at import, so that a second run in the process does not halve it again."""


def load_base(weights: Path) -> tuple[Any, Any]:
    """Return the base model in fp32 and its tokenizer, loaded with transformers from the GGUF file `weights`.

    Its architecture is that of the file. Training on the dequantised weights lets the adapter compensate for their
    rounding.

    Raises:
        OSError, ValueError: the file cannot be read, or transformers does not know its architecture.
    """
    from transformers import AutoModelForCausalLM, AutoTokenizer

    options: dict[str, Any] = {"gguf_file": weights.name}
    tokenizer = AutoTokenizer.from_pretrained(weights.parent, **options)
    model = AutoModelForCausalLM.from_pretrained(
        weights.parent, dtype=torch.float32, attn_implementation=packing.ATTENTION, **options
    )
    return model, tokenizer


def _dtype(device: str) -> torch.dtype:
    """Return the data type of the matrix products: bf16 on a GPU or a CPU with bf16 instructions, else fp32."""
    has_bf16 = device != "cpu" or torch.cpu._is_amx_tile_supported() or torch.cpu._is_avx512_bf16_supported()
    return torch.bfloat16 if has_bf16 else torch.float32


def train(
    model: Any,
    packs: Sequence[Pack],
    validation: Sequence[Pack],
    folder: Path,
    plan: TrainingPlan,
    start: Mapping[str, Any] | None = None,
) -> dict[str, float]:
    """Train an adapter of `model` on `packs`, resuming from the checkpoint in `folder`; return the last metrics.

    `progress` among them is the completed share of the training, at least 1 at its end.

    Without a checkpoint, the adapter starts from `start` (matrices named as by `adapter_weights`), if given. A step
    takes two packs, or a batch of `plan.rows`. The function writes `checkpoint.pt` (to resume), `best.pt` (the adapter
    with the lowest loss on `validation`) and `losses.jsonl` (step, losses in nats per token, tokens per second).
    """
    if not packs:
        raise ValueError("the training set has no example, or only examples that are longer than a pack")
    torch.manual_seed(plan.seed)
    torch.set_num_threads(_THREADS)
    adapt(model, plan.rank, plan.scale, _dtype(plan.device), by_hand=not plan.rows)
    model.to(plan.device).train()
    if plan.rows:
        model.set_attn_implementation(joined.ATTENTION)
    if plan.device == "cuda":
        for layer in model.model.layers:
            layer.compile(dynamic=False)
    weights = adapter_weights(model)
    optimizer = torch.optim.AdamW(weights.values(), lr=plan.learning_rate, betas=(0.9, 0.99), weight_decay=0.0)
    if start:
        _set(weights, start)
    step, earlier_s, best = _resume(folder, weights, optimizer)
    schedule = islice(_schedule(packs, plan), step, None)
    validated = _steps(validation, plan, Random(plan.seed))
    vocabulary = vocabulary_of([*packs, *validation]).to(plan.device)
    metrics: dict[str, float] = {"step": step}
    started = saved_at = time.monotonic()
    seconds, losses, tokens, timed_out = earlier_s, [], 0, False
    while plan.progress(step, seconds) < 1 and not timed_out:
        for group in optimizer.param_groups:
            group["lr"] = plan.rate(step, seconds)
        batch = next(schedule)
        losses.append(_learn(model, batch, optimizer, vocabulary, plan))
        step, tokens = step + 1, tokens + _size(batch)
        now = time.monotonic()
        seconds = earlier_s + now - started
        timed_out = plan.minutes is not None and now - started > plan.minutes * 60
        is_last = plan.progress(step, seconds) >= 1 or timed_out
        if is_last or step % plan.validate_every == 0:
            metrics = {"step": step, "loss": float(sum(losses)) / len(losses)}
            metrics["tokens_per_s"] = round(tokens / (time.monotonic() - started))
            metrics["validation_loss"] = validation_loss(model, validated, vocabulary, plan)
            losses = []
            best = _log(folder, metrics, best, weights)
        if is_last or now - saved_at > plan.checkpoint_minutes * 60:
            state = {"adapter": _copied(weights), "optimizer": optimizer.state_dict()}
            _save(folder / _CHECKPOINT, state | {"step": step, "seconds": seconds, "best": best})
            saved_at = now
    return metrics | {"progress": plan.progress(step, seconds)}


def _learn(model: Any, step: Step, optimizer: Any, vocabulary: torch.Tensor, plan: TrainingPlan) -> torch.Tensor:
    """Run one optimiser step on `step` and return its mean loss, which a GPU may still be computing."""
    loss = _loss(model, step, vocabulary, plan, learns=True)
    torch.nn.utils.clip_grad_norm_(optimizer.param_groups[0]["params"], 1.0)
    optimizer.step()
    optimizer.zero_grad(set_to_none=False)
    return loss


def _loss(model: Any, step: Step, vocabulary: torch.Tensor, plan: TrainingPlan, *, learns: bool) -> torch.Tensor:
    """Return the mean loss of `step`, and add its gradients if `learns`."""
    if plan.rows:
        # The layers are compiled once, with gradients.
        loss = loss_of_batch(model, joined.joined(step, plan.rows, plan.row_tokens).to(plan.device), vocabulary)
        if learns:
            loss.backward()
        return loss.detach()

    def of_row(row: Sequence[Pack]) -> torch.Tensor:
        with torch.set_grad_enabled(learns):
            loss = loss_of(model, row[0], vocabulary) / len(step)
            if learns:
                loss.backward()
        return loss.detach()

    with ThreadPoolExecutor(len(step)) as threads:
        return torch.stack(list(threads.map(of_row, step))).sum()


def best_adapter(folder: Path) -> dict[str, Any]:
    """Return the matrices of the best checkpoint in `folder` as NumPy arrays, by name.

    Raises:
        FileNotFoundError: `folder` has no checkpoint.
    """
    saved = torch.load(folder / _BEST, weights_only=True)
    return {name: weight.numpy() for name, weight in saved["adapter"].items()}


def vocabulary_of(packs: Sequence[Pack]) -> torch.Tensor:
    """Return the tokens that occur in `packs`, sorted.

    The loss is computed over these only: of Qwen's 151,936 tokens the training set has 17,476, and logits of all take a
    fifth of a step. When the agent generates, the grammar excludes most of the others.
    """
    return torch.cat([pack.tokens for pack in packs]).unique()


def loss_of(model: Any, pack: Pack, vocabulary: torch.Tensor) -> torch.Tensor:
    """Return the mean loss of the answer tokens of `pack` among those of `vocabulary`, in nats."""
    device = vocabulary.device
    hidden = model.model(
        input_ids=pack.tokens[None].to(device),
        position_ids=pack.positions[None].to(device),
        use_cache=False,
        pack=pack,
    )[0][0]
    labels = pack.labels[1:].to(device)
    is_answer = labels != IGNORED
    logits = linear(hidden[:-1][is_answer], model.lm_head.weight[vocabulary])
    return cross_entropy(logits.float(), torch.searchsorted(vocabulary, labels[is_answer]))


def loss_of_batch(model: Any, batch: Batch, vocabulary: torch.Tensor) -> torch.Tensor:
    """Return the mean loss of the answer tokens of `batch` among those of `vocabulary`, in nats."""
    # The first layer is compiled with the others if its input has gradients, too.
    inputs = model.get_input_embeddings()(batch.tokens).requires_grad_()
    hidden = model.model(inputs_embeds=inputs, position_ids=batch.positions.long(), use_cache=False, sees=batch.mask())[
        0
    ]
    logits = linear(hidden.flatten(0, 1)[batch.answers], model.lm_head.weight[vocabulary])
    return cross_entropy(logits.float(), torch.searchsorted(vocabulary, batch.targets))


def validation_loss(model: Any, steps: Sequence[Step], vocabulary: torch.Tensor, plan: TrainingPlan) -> float:
    """Return the mean loss over the packs of `steps` among the tokens of `vocabulary`, in nats per token."""
    packs = [sum(map(len, step)) for step in steps]
    losses = [_loss(model, step, vocabulary, plan, learns=False) for step in steps]
    return sum(loss.item() * count for loss, count in zip(losses, packs, strict=True)) / max(1, sum(packs))


def _schedule(packs: Sequence[Pack], plan: TrainingPlan) -> Iterator[Step]:
    """Yield the steps of the training without end, in every epoch with another order of `packs`."""
    for epoch in count():
        yield from _steps(packs, plan, Random(f"{plan.seed} {epoch}"))


def _steps(packs: Sequence[Pack], plan: TrainingPlan, rng: Random) -> list[Step]:
    """Return `packs` in random order as steps; without rows, with packs of similar lengths in a step.

    Similar lengths avoid that the thread of a short pack waits for that of a long one.
    """
    if plan.rows:
        return list(joined.batches(packs, plan.rows, plan.row_tokens, rng))
    order: list[Pack] = []
    for part in _chunks(rng.sample(packs, len(packs)), _PACKS_PER_STEP * _STEPS_SORTED):
        order += sorted(part, key=lambda pack: len(pack.tokens))
    return [[[pack] for pack in step] for step in _chunks(order, _PACKS_PER_STEP)]


def _chunks(packs: list[Pack], size: int) -> list[list[Pack]]:
    return [packs[start : start + size] for start in range(0, len(packs), size)]


def _size(step: Step) -> int:
    return sum(len(pack.tokens) for row in step for pack in row)


def _resume(folder: Path, weights: dict[str, torch.Tensor], optimizer: Any) -> tuple[int, float, float]:
    """Return the steps, the seconds and the lowest validation loss of earlier runs, and set their state."""
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / _CHECKPOINT).exists():
        return 0, 0.0, float("inf")
    saved = torch.load(folder / _CHECKPOINT, weights_only=True)
    _set(weights, saved["adapter"])
    optimizer.load_state_dict(saved["optimizer"])
    return saved["step"], saved["seconds"], saved["best"]


@torch.no_grad()
def _set(weights: Mapping[str, torch.Tensor], values: Mapping[str, Any]) -> None:
    for name, weight in weights.items():
        weight.copy_(torch.as_tensor(values[name]))


def _log(folder: Path, metrics: dict[str, float], best: float, weights: dict[str, Any]) -> float:
    """Log the metrics and, if improved, save the best adapter; return the lowest validation loss."""
    with (folder / _LOG).open("a", encoding="utf-8") as log:
        log.write(json.dumps({name: round(value, 4) for name, value in metrics.items()}) + "\n")
    if metrics["validation_loss"] < best:
        best = metrics["validation_loss"]
        _save(folder / _BEST, {"adapter": _copied(weights)})
    return best


def _copied(weights: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return {name: weight.detach().cpu().clone() for name, weight in weights.items()}


def _save(path: Path, state: dict[str, Any]) -> None:
    partial = path.with_suffix(".part")
    torch.save(state, partial)
    os.replace(partial, path)
