"""Low-rank adaptation (LoRA; Hu et al. 2021) of the linear layers of a causal language model.

Written out here, and not taken from peft, for speed on a CPU: the adapter's product is added by the matrix
multiplication itself, where peft writes three more arrays of the layer's output size for each layer, and so are the
gradients of what goes in.
"""

import math
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd import Function

from agent.models.training.norm import RootMeanSquareNorm

TARGETS = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
"""The linear layers of each block that are adapted, by transformers' names."""


class LowRankLinear(nn.Module):
    """A frozen linear layer without bias, plus `scale` times the product of two trained matrices.

    `a` has the shape (rank, inputs), `b` (outputs, rank); `b` begins with zeros, so that nothing changes at first.
    The frozen weight has the type in which training multiplies; the trained matrices are kept in fp32.
    """

    def __init__(self, base: nn.Linear, rank: int, scale: float) -> None:
        super().__init__()
        self.weight = base.weight
        self.a = nn.Parameter(torch.empty(rank, base.in_features))
        self.b = nn.Parameter(torch.zeros(base.out_features, rank))
        self.scale = scale
        nn.init.kaiming_uniform_(self.a, a=math.sqrt(5))

    def forward(self, x: Tensor) -> Tensor:
        """Return the layer's output for `x`, of shape (..., inputs) and of the type of the weight."""
        flat = x.reshape(-1, x.shape[-1])
        out: Tensor = _LowRank.apply(flat, self.weight, self.a * self.scale, self.b)
        return out.view(*x.shape[:-1], -1)


class _LowRank(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, a: Tensor, b: Tensor) -> Tensor:
        a, b = a.to(x.dtype), b.to(x.dtype)
        narrow = x @ a.T
        ctx.save_for_backward(x, weight, a, b, narrow)
        return (x @ weight.T).addmm_(narrow, b.T)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, Tensor, Tensor]:
        (given,) = gradients
        x, weight, a, b, narrow = ctx.saved_tensors
        of_narrow = given @ b
        return (given @ weight).addmm_(of_narrow, a), None, (of_narrow.T @ x).float(), (given.T @ narrow).float()


def adapt(model: nn.Module, rank: int, scale: float, dtype: torch.dtype) -> None:
    """Freeze `model` in `dtype` and put a `LowRankLinear` in the place of each target layer, in place."""
    model.requires_grad_(False).to(dtype)
    for parent, name, layer in list(_layers(model)):
        if name in TARGETS and isinstance(layer, nn.Linear):
            setattr(parent, name, LowRankLinear(layer, rank, scale))
        elif hasattr(layer, "variance_epsilon"):
            setattr(parent, name, RootMeanSquareNorm(layer.weight, layer.variance_epsilon))


def adapter_weights(model: nn.Module) -> dict[str, Tensor]:
    """Return the trained matrices by name, such as `model.layers.0.mlp.up_proj.a`."""
    return {name: weight for name, weight in model.named_parameters() if weight.requires_grad}


def _layers(model: nn.Module) -> Iterator[tuple[nn.Module, str, nn.Module]]:
    for parent in model.modules():
        for name, layer in parent.named_children():
            yield parent, name, layer
