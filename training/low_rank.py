"""Low-rank adaptation (LoRA; Hu et al. 2021) of the linear layers of a causal language model.

This implementation replaces peft for speed on a CPU: the product of the adapter, and the gradient of the input, are
added within the matrix multiplication, where peft writes three more arrays of the output size per layer.
"""

import math
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd import Function
from torch.nn.functional import linear


class RootMeanSquareNorm(nn.Module):
    """Root mean square normalisation (Zhang and Sennrich 2019) of the last axis, with frozen weights.

    Only the sum of squares is computed in fp32 or wider. With all steps in fp32, as in transformers, four arrays of the
    size of the input are written instead of two.
    """

    def __init__(self, weight: nn.Parameter, epsilon: float) -> None:
        super().__init__()
        self.weight, self.epsilon = weight, epsilon

    def forward(self, x: Tensor) -> Tensor:
        """Return `x` normalised, with the same shape and data type."""
        normal: Tensor = _Normalise.apply(x, self.weight, self.epsilon)
        return normal


class _Normalise(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, epsilon: float) -> Tensor:
        wide = torch.promote_types(x.dtype, torch.float32)
        length = torch.linalg.vector_norm(x, dim=-1, keepdim=True, dtype=wide)
        factor = (length.square() / x.shape[-1] + epsilon).rsqrt().to(x.dtype)
        normal = x * factor
        ctx.save_for_backward(normal, factor, weight)
        return normal * weight

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        normal, factor, weight = ctx.saved_tensors
        gradient = gradients[0] * weight
        along = (gradient * normal).mean(-1, keepdim=True)
        return gradient.addcmul_(normal, along, value=-1).mul_(factor), None, None


TARGETS = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
"""Names of the adapted linear layers of each block, as in transformers."""


class LowRankLinear(nn.Module):
    """A frozen linear layer, plus `scale` times the product of two trained matrices.

    `a` has the shape (rank, inputs), `b` (outputs, rank); `b` starts with zeros, which leaves the output unchanged.
    The frozen weight and bias have the data type of the matrix multiplication; the trained matrices are fp32. The
    gradients are computed by hand (`by_hand`) on a CPU, and by a compiler on a GPU.
    """

    def __init__(self, base: nn.Linear, rank: int, scale: float, *, by_hand: bool = True) -> None:
        super().__init__()
        self.weight, self.bias = base.weight, base.bias
        self.a = nn.Parameter(torch.empty(rank, base.in_features))
        self.b = nn.Parameter(torch.zeros(base.out_features, rank))
        self.scale, self.by_hand = scale, by_hand
        nn.init.kaiming_uniform_(self.a, a=math.sqrt(5))

    def forward(self, x: Tensor) -> Tensor:
        """Return the output for `x`, which has the shape (..., inputs) and the data type of the weight."""
        if not self.by_hand:
            narrow = linear(x, (self.a * self.scale).to(x.dtype))
            return linear(x, self.weight, self.bias) + linear(narrow, self.b.to(x.dtype))
        flat = x.reshape(-1, x.shape[-1])
        out: Tensor = _LowRank.apply(flat, self.weight, self.a * self.scale, self.b)
        if self.bias is not None:
            out = out + self.bias
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
        (gradient,) = gradients
        x, weight, a, b, narrow = ctx.saved_tensors
        of_narrow = gradient @ b
        of_x = (gradient @ weight).addmm_(of_narrow, a)
        return of_x, None, (of_narrow.T @ x).float(), (gradient.T @ narrow).float()


def adapt(model: nn.Module, rank: int, scale: float, dtype: torch.dtype, *, by_hand: bool = True) -> None:
    """Freeze `model` in `dtype` and replace each target layer by a `LowRankLinear`, in place.

    With `by_hand`, the norms are replaced too, and the gradients of both are those written here.
    """
    for weight in model.parameters():
        # Not the buffers: the frequencies of the rotary embedding must not be rounded.
        weight.requires_grad_(False).data = weight.to(dtype)
    for parent, name, layer in list(_layers(model)):
        if name in TARGETS and isinstance(layer, nn.Linear):
            setattr(parent, name, LowRankLinear(layer, rank, scale, by_hand=by_hand))
        elif by_hand and hasattr(layer, "variance_epsilon"):
            setattr(parent, name, RootMeanSquareNorm(layer.weight, layer.variance_epsilon))


def adapter_weights(model: nn.Module) -> dict[str, Tensor]:
    """Return the trained matrices by name, such as `model.layers.0.mlp.up_proj.a`."""
    return {name: weight for name, weight in model.named_parameters() if weight.requires_grad}


def _layers(model: nn.Module) -> Iterator[tuple[nn.Module, str, nn.Module]]:
    for parent in model.modules():
        for name, layer in parent.named_children():
            yield parent, name, layer
