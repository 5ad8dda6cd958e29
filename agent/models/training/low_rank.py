"""Low-rank adaptation (LoRA; Hu et al. 2021) of the linear layers of a causal language model.

Written out here, and not taken from peft, for speed on a CPU: the adapter's product is added by the matrix
multiplication itself, where peft writes three more arrays of the layer's output size for each layer.
"""

import math
from collections.abc import Iterator

import torch
from torch import Tensor, nn

TARGETS = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
"""The linear layers of each block that are adapted, by transformers' names."""


class LowRankLinear(nn.Module):
    """A frozen linear layer without bias, plus `scale` times the product of two trained matrices.

    `a` has the shape (rank, inputs), `b` (outputs, rank); `b` begins with zeros, so that nothing changes at first.
    The frozen weight is kept in `dtype`, the one in which training multiplies.
    """

    def __init__(self, base: nn.Linear, rank: int, scale: float, dtype: torch.dtype) -> None:
        super().__init__()
        self.weight = nn.Parameter(base.weight.to(dtype), requires_grad=False)
        self.a = nn.Parameter(torch.empty(rank, base.in_features))
        self.b = nn.Parameter(torch.zeros(base.out_features, rank))
        self.scale = scale
        nn.init.kaiming_uniform_(self.a, a=math.sqrt(5))

    def forward(self, x: Tensor) -> Tensor:
        """Return the layer's output for `x`, of shape (..., inputs)."""
        flat = x.reshape(-1, x.shape[-1])
        narrow = flat @ (self.a * self.scale).T
        out = torch.addmm(flat @ self.weight.T, narrow, self.b.T)
        return out.view(*x.shape[:-1], -1)


def adapt(model: nn.Module, rank: int, scale: float, dtype: torch.dtype) -> None:
    """Freeze `model` and put a `LowRankLinear` in the place of each target layer, in place."""
    model.requires_grad_(False)
    for parent, name, layer in list(_targets(model)):
        setattr(parent, name, LowRankLinear(layer, rank, scale, dtype))


def adapter_weights(model: nn.Module) -> dict[str, Tensor]:
    """Return the trained matrices by name, such as `model.layers.0.mlp.up_proj.a`."""
    return {name: weight for name, weight in model.named_parameters() if weight.requires_grad}


def _targets(model: nn.Module) -> Iterator[tuple[nn.Module, str, nn.Linear]]:
    for parent in model.modules():
        for name, layer in parent.named_children():
            if name in TARGETS and isinstance(layer, nn.Linear):
                yield parent, name, layer
