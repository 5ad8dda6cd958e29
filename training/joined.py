"""Batches for a GPU: packs joined into rows of equal length, and the attention over them.

One shape for all batches needs one compilation. FlexAttention (Dong et al. 2024) skips the blocks of tokens that do not
see each other; on a CPU, which has no gradients for it, the same mask is applied to ordinary attention.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import torch
from torch import Tensor
from torch.nn.attention.flex_attention import BlockMask, create_block_mask, create_mask, flex_attention
from torch.nn.functional import scaled_dot_product_attention
from transformers import AttentionInterface

from training.packing import IGNORED, Pack

ATTENTION = "joined"
"""The `attn_implementation` under which `joined_attention` is registered with transformers."""

_CHUNK = 16
"""Number of batches whose packs are distributed over rows together."""


@dataclass(frozen=True)
class Batch:
    """Packs in rows, as arrays of the shape (rows, length).

    A token sees the tokens before it with its own `owners` number, and those whose number is its `heads` number: the
    prefix of its pack. Padding has a number of its own.
    """

    tokens: Tensor
    positions: Tensor
    owners: Tensor
    heads: Tensor
    answers: Tensor
    """Indices, in the flattened batch, of the tokens after which the next token is learned."""
    targets: Tensor
    """The tokens to learn."""

    def to(self, device: str) -> "Batch":
        """Return the batch on `device`."""
        return Batch(*(getattr(self, name).to(device, non_blocking=True) for name in self.__dataclass_fields__))

    def mask(self) -> BlockMask | Tensor:
        """Return which tokens see each other: for FlexAttention on a GPU, else as an array."""
        owners, heads = self.owners, self.heads

        def sees(row: Tensor, _: Tensor, query: Tensor, key: Tensor) -> Tensor:
            owner = owners[row, key]
            return (query >= key) & ((owner == owners[row, query]) | (owner == heads[row, query]))

        rows, length = owners.shape
        device = str(owners.device)
        if owners.is_cuda:
            return create_block_mask(sees, rows, None, length, length, device=device)
        return create_mask(sees, rows, None, length, length, device=device)


def batches(packs: Sequence[Pack], rows: int, length: int, rng: Random) -> Iterator[list[list[Pack]]]:
    """Yield `packs`, shuffled, as batches of at most `rows` rows of packs with at most `length` tokens together.

    A pack that is longer than a row is left out.
    """
    shuffled = [pack for pack in rng.sample(packs, len(packs)) if len(pack.tokens) <= length]
    waiting: list[list[Pack]] = []
    start = 0
    while start < len(shuffled):
        tokens, end = 0, start
        while end < len(shuffled) and tokens < _CHUNK * rows * length:
            tokens, end = tokens + len(shuffled[end].tokens), end + 1
        filled = waiting + _distributed(shuffled[start:end], length)
        rng.shuffle(filled)
        whole = len(filled) // rows * rows
        yield from (filled[at : at + rows] for at in range(0, whole, rows))
        waiting, start = filled[whole:], end
    if waiting:
        yield waiting


def _distributed(packs: Sequence[Pack], length: int) -> list[list[Pack]]:
    """Return `packs` in rows of at most `length` tokens, each in the first row with space, the longest first."""
    rows: list[list[Pack]] = []
    free: list[int] = []
    for pack in sorted(packs, key=lambda pack: -len(pack.tokens)):
        size = len(pack.tokens)
        at = next((at for at, space in enumerate(free) if space >= size), len(rows))
        if at == len(rows):
            rows.append([])
            free.append(length)
        rows[at].append(pack)
        free[at] -= size
    return rows


def joined(rows: Sequence[Sequence[Pack]], count: int, length: int) -> Batch:
    """Return `rows` as a batch of `count` rows of `length` tokens."""
    shape = (count, length)
    tokens, positions, owners, heads = (torch.zeros(shape, dtype=torch.int32) for _ in range(4))
    labels = torch.full(shape, IGNORED)
    for number, row in enumerate(rows):
        at, first = 0, 1
        for pack in row:
            end = at + len(pack.tokens)
            tokens[number, at:end], positions[number, at:end] = pack.tokens, pack.positions
            owners[number, at:end], heads[number, at:end] = pack.owners + first, first
            labels[number, at:end] = pack.labels
            at, first = end, first + int(pack.owners.max()) + 1
    # The first token of a row has no token before it, and is never learned.
    following = labels.flatten()[1:]
    answers = (following != IGNORED).nonzero().squeeze(1)
    return Batch(tokens, positions, owners, heads, answers, following[answers])


def joined_attention(
    module: Any, query: Tensor, key: Tensor, value: Tensor, attention_mask: None, scaling: float, sees: Any, **_: Any
) -> tuple[Tensor, None]:
    """Return the attention output under the mask `sees` of a batch, of the shape (rows, length, heads, size)."""
    if isinstance(sees, BlockMask):
        output = flex_attention(query, key, value, block_mask=sees, scale=scaling, enable_gqa=True)
    else:
        output = scaled_dot_product_attention(query, key, value, sees, scale=scaling, enable_gqa=True)
    return output.transpose(1, 2).contiguous(), None


AttentionInterface.register(ATTENTION, joined_attention)
