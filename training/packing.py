"""Packs: groups of examples as arrays that contain the shared prefix once, and the attention over them.

Each example attends to the prefix and to itself, and its positions continue from the end of the prefix, so the model
computes the same as for the example alone after the prefix (prefix sharing, applied to training).

The attention skips pairs of tokens that do not see each other. Its result and gradients equal those of masked
attention, which a test verifies. The gradients are implemented here, so that each array is saved once, in the data type
of the queries: on a CPU, moving arrays takes longer than multiplying them.

Shapes: H tokens of the prefix, N tokens of the examples, E examples of at most L tokens, A heads in G groups that share
a key.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from transformers import AttentionInterface

from training.groups import Group

IGNORED = -100
"""The label of a token without a loss, as defined by torch."""

Encode = Callable[[str], Sequence[int]]


@dataclass(frozen=True)
class Pack:
    """A group as arrays of the shape (length,). `owners` has the example number of each token, 0 in the prefix."""

    tokens: Tensor
    positions: Tensor
    labels: Tensor
    owners: Tensor

    @property
    def head(self) -> int:
        """The length of the prefix."""
        return int((self.owners == 0).sum())

    @cached_property
    def filled(self) -> Tensor:
        """Mask of the padded examples: one row per example, of the shape (examples, longest)."""
        lengths = torch.bincount(self.owners)[1:]
        return torch.arange(int(lengths.max()))[None] < lengths[:, None]


def packs_of(group: Group, encode: Encode, max_tokens: int) -> Iterator[Pack]:
    """Yield `group` as packs of at most `max_tokens`; an example that is too long on its own is left out."""
    head = list(encode(group.head))
    bodies = [(list(encode(example.tail)), list(encode(example.answer))) for example in group.examples]
    part: list[tuple[list[int], list[int]]] = []
    length = len(head)
    for body in bodies:
        size = len(body[0]) + len(body[1])
        if len(head) + size > max_tokens:
            continue
        if part and length + size > max_tokens:
            yield _pack(head, part)
            part, length = [], len(head)
        part.append(body)
        length += size
    if part:
        yield _pack(head, part)


def _pack(head: list[int], bodies: Sequence[tuple[list[int], list[int]]]) -> Pack:
    tokens, positions, labels = list(head), list(range(len(head))), [IGNORED] * len(head)
    owner = [0] * len(head)
    for number, (tail, answer) in enumerate(bodies, 1):
        size = len(tail) + len(answer)
        tokens += tail + answer
        positions += range(len(head), len(head) + size)
        labels += [IGNORED] * len(tail) + answer
        owner += [number] * size
    return Pack(torch.tensor(tokens), torch.tensor(positions), torch.tensor(labels), torch.tensor(owner))


ATTENTION = "packed"
"""The `attn_implementation` under which `packed_attention` is registered with transformers."""


def packed_attention(
    module: Any, query: Tensor, key: Tensor, value: Tensor, attention_mask: None, scaling: float, pack: Pack, **_: Any
) -> tuple[Tensor, None]:
    """Return the attention output for `pack`, of the shape (1, length, heads, size), without weights.

    `query` has the shape (1, heads, length, size); `key` and `value` may have fewer heads.
    """
    output: Tensor = _PackedAttention.apply(query[0] * scaling, key[0], value[0], pack)
    return output.transpose(0, 1)[None], None


class _PackedAttention(Function):
    """Map (A, H + N, size) queries and (G, H + N, size) keys and values to (A, H + N, size)."""

    @staticmethod
    def forward(ctx: Any, query: Tensor, key: Tensor, value: Tensor, pack: Pack) -> Tensor:
        heads, groups, size, filled = len(query), len(key), pack.head, pack.filled.to(query.device)
        keys, values = key[:, :size].contiguous(), value[:, :size].contiguous()
        own_keys, own_values = (_padded(part[:, size:], filled, groups) for part in (key, value))
        first_queries, queries = (_grouped(part, groups) for part in (query[:, :size], query[:, size:]))
        own_queries = _padded(query[:, size:], filled, groups)

        scores = torch.bmm(first_queries, keys.mT).view(heads, size, size)
        first = _grouped(scores.add_(_causal_mask(scores)).softmax(-1), groups)
        own_scores = torch.bmm(own_queries, own_keys.mT).unflatten(1, (-1, filled.shape[1]))
        own_scores = _unpadded(own_scores.add_(_causal_mask(own_scores)).flatten(1, 2), filled, groups)
        scores = torch.bmm(queries, keys.mT).view(heads, -1, size)
        both = torch.cat([scores, own_scores], -1).softmax(-1)
        seen, own = _grouped(both[..., :size], groups), _padded(both[..., size:], filled, groups)

        output = torch.bmm(seen, values).view(heads, -1, values.shape[-1])
        output += _unpadded(torch.bmm(own, own_values), filled, groups)
        ctx.save_for_backward(
            filled, first_queries, queries, own_queries, keys, own_keys, values, own_values, first, seen, own
        )
        return torch.cat([torch.bmm(first, values).view(heads, size, -1), output], 1)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        filled, first_queries, queries, own_queries, keys, own_keys, values, own_values, first, seen, own = (
            ctx.saved_tensors
        )
        groups, size = len(keys), keys.shape[1]
        of_first, of_seen = (_grouped(part, groups) for part in (gradients[0][:, :size], gradients[0][:, size:]))
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


def _grouped(tensor: Tensor, groups: int) -> Tensor:
    """Return (A, tokens, size) as (G, A / G x tokens, size)."""
    return tensor.reshape(groups, -1, tensor.shape[-1])


def _padded(tensor: Tensor, filled: Tensor, groups: int) -> Tensor:
    """Return (A, N, size) padded per example, as (G x E, A / G x L, size), with zeros where `filled` is false."""
    padded = tensor.new_zeros(len(tensor), *filled.shape, tensor.shape[-1])
    padded[:, filled] = tensor
    return padded.unflatten(0, (groups, -1)).transpose(1, 2).flatten(2, 3).flatten(0, 1)


def _unpadded(tensor: Tensor, filled: Tensor, groups: int) -> Tensor:
    """Invert `_padded`."""
    parts = tensor.view(groups, len(filled), -1, filled.shape[1], tensor.shape[-1])
    return parts.transpose(1, 2).flatten(0, 1)[:, filled]


def _causal_mask(scores: Tensor) -> Tensor:
    """Return a mask to add to `scores`: minus infinity for later tokens."""
    return torch.full(scores.shape[-2:], float("-inf"), dtype=scores.dtype, device=scores.device).triu(1)


def _sums(gradient: Tensor, weights: Tensor) -> Tensor:
    return torch.linalg.vecdot(gradient, weights)[..., None]


AttentionInterface.register(ATTENTION, packed_attention)
