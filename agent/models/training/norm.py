"""Normalisation by the root of the mean square (Zhang and Sennrich 2019) with frozen weights."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd import Function


class RootMeanSquareNorm(nn.Module):
    """Divides by the root of the mean square of the last axis and multiplies by `weight`, which is not trained.

    The sum of squares alone is reckoned in fp32 at least: with everything in fp32, as transformers does it, four arrays
    of the input's size are written where this writes two.
    """

    def __init__(self, weight: nn.Parameter, epsilon: float) -> None:
        super().__init__()
        self.weight, self.epsilon = weight, epsilon

    def forward(self, x: Tensor) -> Tensor:
        """Return `x` normalised, of its shape and type."""
        found: Tensor = _Normalised.apply(x, self.weight, self.epsilon)
        return found


class _Normalised(Function):
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
        given = gradients[0] * weight
        along = (given * normal).mean(-1, keepdim=True)
        return given.addcmul_(normal, along, value=-1).mul_(factor), None, None
