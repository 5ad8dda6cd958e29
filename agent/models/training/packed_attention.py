"""Attention in a pack without the pairs of tokens that do not see each other.

The beginning attends to itself; each example attends to the beginning and to itself. The result and its gradients are
those of attention under a mask (a test compares them). The gradients are written out, so that what is kept for them is
kept once, in the type of the queries: on a CPU moving arrays takes longer than multiplying them.

Shapes: H tokens of the beginning, N of the examples, E examples of at most L tokens, A heads in G groups that share
a key.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
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
    found: Tensor = _PackedAttention.apply(query[0] * scaling, key[0], value[0], pack)
    return found.transpose(0, 1)[None], None


class _PackedAttention(Function):
    """Takes (A, H + N, size) queries, (G, H + N, size) keys and values, and returns (A, H + N, size)."""

    @staticmethod
    def forward(ctx: Any, query: Tensor, key: Tensor, value: Tensor, pack: Pack) -> Tensor:
        heads, groups, size, filled = len(query), len(key), pack.head, pack.filled.to(query.device)
        keys, values = key[:, :size].contiguous(), value[:, :size].contiguous()
        own_keys, own_values = (_padded(each[:, size:], filled, groups) for each in (key, value))
        first_queries, queries = (_grouped(each, groups) for each in (query[:, :size], query[:, size:]))
        own_queries = _padded(query[:, size:], filled, groups)

        scores = torch.bmm(first_queries, keys.mT).view(heads, size, size)
        first = _grouped(scores.add_(_later(scores)).softmax(-1), groups)
        own_scores = torch.bmm(own_queries, own_keys.mT).unflatten(1, (-1, filled.shape[1]))
        own_scores = _unpadded(own_scores.add_(_later(own_scores)).flatten(1, 2), filled, groups)
        scores = torch.bmm(queries, keys.mT).view(heads, -1, size)
        both = torch.cat([scores, own_scores], -1).softmax(-1)
        seen, own = _grouped(both[..., :size], groups), _padded(both[..., size:], filled, groups)

        found = torch.bmm(seen, values).view(heads, -1, values.shape[-1])
        found += _unpadded(torch.bmm(own, own_values), filled, groups)
        ctx.save_for_backward(
            filled, first_queries, queries, own_queries, keys, own_keys, values, own_values, first, seen, own
        )
        return torch.cat([torch.bmm(first, values).view(heads, size, -1), found], 1)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        filled, first_queries, queries, own_queries, keys, own_keys, values, own_values, first, seen, own = (
            ctx.saved_tensors
        )
        groups, size = len(keys), keys.shape[1]
        of_first, of_seen = (_grouped(each, groups) for each in (gradients[0][:, :size], gradients[0][:, size:]))
        of_own = _padded(gradients[0][:, size:], filled, groups)

        to_first = torch.bmm(of_first, values.mT)
        to_first = to_first.sub_(_sums(to_first, first)).mul_(first)
        to_seen, to_own = torch.bmm(of_seen, values.mT), torch.bmm(of_own, own_values.mT)
        sums = _unpadded(_sums(to_own, own), filled, groups)
        sums += _sums(to_seen, seen).view_as(sums)
        to_seen = to_seen.sub_(_grouped(sums, groups)).mul_(seen)
        to_own = to_own.sub_(_padded(sums, filled, groups)).mul_(own)

        own_query = _unpadded(torch.bmm(to_own, own_keys), filled, groups)
        query = torch.bmm(to_seen, keys).view_as(own_query) + own_query
        key = torch.bmm(to_first.mT, first_queries) + torch.bmm(to_seen.mT, queries)
        value = torch.bmm(first.mT, of_first) + torch.bmm(seen.mT, of_seen)
        own_key, own_value = torch.bmm(to_own.mT, own_queries), torch.bmm(own.mT, of_own)
        return (
            torch.cat([torch.bmm(to_first, keys).view(len(query), size, -1), query], 1),
            torch.cat([key, _unpadded(own_key, filled, groups)], 1),
            torch.cat([value, _unpadded(own_value, filled, groups)], 1),
            None,
        )


def _grouped(each: Tensor, groups: int) -> Tensor:
    """Return (A, tokens, size) as (G, A / G x tokens, size)."""
    return each.reshape(groups, -1, each.shape[-1])


def _padded(each: Tensor, filled: Tensor, groups: int) -> Tensor:
    """Return (A, N, size) by example, as (G x E, A / G x L, size), with zeros where `filled` is false."""
    padded = each.new_zeros(len(each), *filled.shape, each.shape[-1])
    padded[:, filled] = each
    return padded.unflatten(0, (groups, -1)).transpose(1, 2).flatten(2, 3).flatten(0, 1)


def _unpadded(each: Tensor, filled: Tensor, groups: int) -> Tensor:
    """Undo `_padded`."""
    parts = each.view(groups, len(filled), -1, filled.shape[1], each.shape[-1])
    return parts.transpose(1, 2).flatten(0, 1)[:, filled]


def _later(scores: Tensor) -> Tensor:
    """Return what is added to `scores` so that no token sees a later one."""
    return torch.full(scores.shape[-2:], float("-inf"), dtype=scores.dtype, device=scores.device).triu(1)


def _sums(gradient: Tensor, weights: Tensor) -> Tensor:
    return torch.linalg.vecdot(gradient, weights)[..., None]


AttentionInterface.register(NAME, packed_attention)
