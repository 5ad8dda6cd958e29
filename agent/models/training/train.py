"""Trains the adapter: resumable, the best checkpoint kept, every figure written down as it is seen.

The learning rate warms up, stays, and falls in a straight line over the last part (warmup-stable-decay; Hu et al. 2024,
MiniCPM), so that a run can be taken up again with more data without knowing beforehand when it would end.
"""

import json
import os
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

import torch
from torch.nn.functional import cross_entropy

from agent.models.training.base import device_and_type
from agent.models.training.low_rank import adapt, adapter_weights
from agent.models.training.packing import IGNORED, Pack
from agent.models.training.plan import TrainingPlan

_CHECKPOINT = "checkpoint.pt"
_BEST = "best.pt"
_LOG = "losses.jsonl"
_PACKS_PER_STEP = 2
"""Two threads use two cores better than the two halves of each operation do; sums of two do not depend on the order."""

_STEPS_SORTED = 8
"""Of so many steps the packs are sorted by length."""

_THREADS = max(1, torch.get_num_threads() // _PACKS_PER_STEP)
"""Of each operation; taken once, so that a second run in the process does not halve it again."""


def train(
    model: Any,
    packs: Sequence[Pack],
    validation: Sequence[Pack],
    folder: Path,
    plan: TrainingPlan,
    start: Mapping[str, Any] | None = None,
) -> dict[str, float]:
    """Train an adapter of `model` on `packs` and return the last figures; the checkpoint in `folder` is taken up.

    Where there is none, the adapter begins as `start` (matrices by the names of `adapter_weights`), if that is given.
    Two packs are one step. Writes `checkpoint.pt` (to go on from), `best.pt` (the adapter with the lowest loss on
    `validation`) and `losses.jsonl` (step, losses in nats a token, tokens a second).
    """
    device, dtype = device_and_type()
    torch.manual_seed(plan.seed)
    torch.set_num_threads(_THREADS)
    adapt(model, plan.rank, plan.scale, dtype)
    model.to(device).train()
    weights = adapter_weights(model)
    optimizer = torch.optim.AdamW(weights.values(), lr=plan.learning_rate, betas=(0.9, 0.99), weight_decay=0.0)
    if start:
        _set(weights, start)
    step, best = _take_up(folder, weights, optimizer)
    schedule = _schedule(packs, plan)
    figures: dict[str, float] = {"step": step}
    started, losses, tokens = time.monotonic(), [], 0
    while step < plan.steps:
        chosen = schedule[step]
        for group in optimizer.param_groups:
            group["lr"] = plan.rate(step)
        losses.append(_learn(model, chosen, optimizer, device))
        step, tokens = step + 1, tokens + sum(len(pack.tokens) for pack in chosen)
        timed_out = plan.minutes is not None and time.monotonic() - started > plan.minutes * 60
        if step % plan.validate_every == 0 or step == plan.steps or timed_out:
            speed = tokens / (time.monotonic() - started)
            figures = {"step": step, "loss": sum(losses) / len(losses), "tokens_per_s": round(speed)}
            figures["validation_loss"] = validation_loss(model, validation, device)
            losses = []
            best = _keep(folder, figures, best, weights, optimizer)
        if timed_out:
            break
    return figures


def _learn(model: Any, packs: Sequence[Pack], optimizer: Any, device: str) -> float:
    """Make one step on `packs`, each in a thread of its own, and return their mean loss."""

    def gradients(pack: Pack) -> float:
        loss = loss_of(model, pack, device) / len(packs)
        loss.backward()
        return loss.item()

    with ThreadPoolExecutor(len(packs)) as threads:
        loss = sum(threads.map(gradients, packs))
    torch.nn.utils.clip_grad_norm_(optimizer.param_groups[0]["params"], 1.0)
    optimizer.step()
    optimizer.zero_grad(set_to_none=False)
    return loss


def best_adapter(folder: Path) -> dict[str, Any]:
    """Return the matrices of the best checkpoint in `folder` as NumPy arrays, by name.

    Raises:
        FileNotFoundError: nothing was trained there.
    """
    saved = torch.load(folder / _BEST, weights_only=True)
    return {name: weight.numpy() for name, weight in saved["adapter"].items()}


def loss_of(model: Any, pack: Pack, device: str) -> torch.Tensor:
    """Return the mean loss of the answers' tokens in `pack`, in nats."""
    hidden = model.model(
        input_ids=pack.tokens[None].to(device),
        position_ids=pack.positions[None].to(device),
        use_cache=False,
        pack=pack,
    )[0][0]
    # Only where an answer is learned are logits needed: the vocabulary's matrix is a fifth of the model.
    learned = (pack.labels[1:] != IGNORED).nonzero().squeeze(1).to(device)
    return cross_entropy(model.lm_head(hidden[learned]).float(), pack.labels.to(device)[learned + 1])


def validation_loss(model: Any, packs: Sequence[Pack], device: str) -> float:
    """Return the mean loss over `packs`, in nats a token."""

    def loss(pack: Pack) -> float:
        with torch.no_grad():
            return loss_of(model, pack, device).item()

    with ThreadPoolExecutor(_PACKS_PER_STEP) as threads:
        return sum(threads.map(loss, packs)) / max(1, len(packs))


def _schedule(packs: Sequence[Pack], plan: TrainingPlan) -> list[list[Pack]]:
    """Return the packs of each step: all in a new order in every epoch, those of one step about equally long.

    A thread with a short pack would wait for the one with a long pack.
    """
    order: list[Pack] = []
    for epoch in count():
        if len(order) >= plan.steps * _PACKS_PER_STEP:
            break
        shuffled = Random(f"{plan.seed} {epoch}").sample(packs, len(packs))
        for near in _chunks(shuffled, _PACKS_PER_STEP * _STEPS_SORTED):
            order += sorted(near, key=lambda pack: len(pack.tokens))
    return _chunks(order, _PACKS_PER_STEP)


def _chunks(packs: list[Pack], size: int) -> list[list[Pack]]:
    return [packs[start : start + size] for start in range(0, len(packs), size)]


def _take_up(folder: Path, weights: dict[str, torch.Tensor], optimizer: Any) -> tuple[int, float]:
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / _CHECKPOINT).exists():
        return 0, float("inf")
    saved = torch.load(folder / _CHECKPOINT, weights_only=True)
    _set(weights, saved["adapter"])
    optimizer.load_state_dict(saved["optimizer"])
    return saved["step"], saved["best"]


@torch.no_grad()
def _set(weights: Mapping[str, torch.Tensor], values: Mapping[str, Any]) -> None:
    for name, weight in weights.items():
        weight.copy_(torch.as_tensor(values[name]))


def _keep(folder: Path, figures: dict[str, float], best: float, weights: dict[str, Any], optimizer: Any) -> float:
    with (folder / _LOG).open("a", encoding="utf-8") as log:
        log.write(json.dumps({name: round(value, 4) for name, value in figures.items()}) + "\n")
    adapter = {name: weight.detach().cpu().clone() for name, weight in weights.items()}
    if figures["validation_loss"] < best:
        best = figures["validation_loss"]
        _save(folder / _BEST, {"adapter": adapter, "step": figures["step"]})
    state = {"adapter": adapter, "optimizer": optimizer.state_dict(), "step": figures["step"], "best": best}
    _save(folder / _CHECKPOINT, state)
    return best


def _save(path: Path, state: dict[str, Any]) -> None:
    partial = path.with_suffix(".part")
    torch.save(state, partial)
    os.replace(partial, path)
