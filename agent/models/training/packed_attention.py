"""Attention in a pack without the pairs of tokens that do not see each other.

The beginning attends to itself; each example attends to the beginning and to itself, all examples side by side, padded
to the longest. The result is that of attention under a mask (a test compares them).
"""

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention
from transformers import AttentionInterface

from agent.models.training.packing import Pack

NAME = "packed"
"""The `attn_implementation` by which transformers knows `packed_attention`."""


def packed_attention(
    module: Any, query: Tensor, key: Tensor, value: Tensor, attention_mask: None, scaling: float, pack: Pack, **_: Any
) -> tuple[Tensor, None]:
    """Return what the tokens of `pack` attend to, of the shape (1, length, heads, size), and no weights.

    `query` has the shape (1, heads, length, size); `key` and `value` may have fewer heads.
    """
    key, value = (each.repeat_interleave(query.shape[1] // key.shape[1], 1) for each in (key, value))
    size, slots = pack.head, pack.slots.to(query.device)
    head_key, head_value = key[:, :, :size], value[:, :, :size]
    beginning = scaled_dot_product_attention(query[:, :, :size], head_key, head_value, is_causal=True, scale=scaling)
    own_query, own_key, own_value = (each[0][:, slots] for each in (query, key, value))
    seen = own_query.flatten(1, 2) @ head_key[0].transpose(1, 2)
    own = own_query @ own_key.transpose(2, 3)
    later = torch.ones(own.shape[-2:], dtype=torch.bool, device=own.device).triu(1)
    own = own.masked_fill(later, float("-inf"))
    weights = (torch.cat([seen.unflatten(1, slots.shape), own], -1) * scaling).softmax(-1)
    found = (weights[..., :size].flatten(1, 2) @ head_value[0]).unflatten(1, slots.shape)
    found = found + weights[..., size:] @ own_value
    examples = found[:, pack.filled.to(query.device)][None]
    return torch.cat([beginning, examples.to(beginning.dtype)], 2).transpose(1, 2), None


AttentionInterface.register(NAME, packed_attention)
