"""Groups of examples as arrays in which the shared beginning stands once.

Each example sees the beginning and itself and no other example, and counts its positions from the end of the beginning:
to the model it is the same as if it stood alone behind it (as in prefix sharing at inference; here for training).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from agent.models.training.groups import Group

IGNORED = -100
"""The label of a token that is not to be learned, by torch's convention."""

Encode = Callable[[str], Sequence[int]]


@dataclass(frozen=True)
class Pack:
    """A group as arrays of the shape (length,). `owners` has the number of each token's example, 0 in the beginning."""

    tokens: Tensor
    positions: Tensor
    labels: Tensor
    owners: Tensor

    @property
    def head(self) -> int:
        """The length of the beginning."""
        return int((self.owners == 0).sum())

    @cached_property
    def filled(self) -> Tensor:
        """Which places hold a token, of the shape (examples, longest), each example in a row of its own."""
        lengths = torch.bincount(self.owners)[1:]
        return torch.arange(int(lengths.max()))[None] < lengths[:, None]


def packs_of(group: Group, encode: Encode, most_tokens: int) -> Iterator[Pack]:
    """Return `group` as packs of at most `most_tokens`; an example too long to fit alone is left out."""
    head = list(encode(group.head))
    bodies = [(list(encode(each.tail)), list(encode(each.answer))) for each in group.examples]
    part: list[tuple[list[int], list[int]]] = []
    length = len(head)
    for body in bodies:
        size = len(body[0]) + len(body[1])
        if len(head) + size > most_tokens:
            continue
        if part and length + size > most_tokens:
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
