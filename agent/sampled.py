"""What the embedded model writes for one prompt, several times."""

from collections.abc import Iterator
from typing import Protocol

from agent.errors import BudgetExceeded, ModelAnswerUnreadable

_NEAR, _FAR = 0.4, 1.0
"""Temperatures: of sampled candidates, and of those that are asked for where something speaks against all others."""


class Write(Protocol):
    """Has a prompt answered; the same seed gives the same text again."""

    def __call__(self, *, temperature: float, seed: int) -> str:
        """Return the text."""


def sampled_texts(write: Write, count: int) -> Iterator[str]:
    """Yield what the model writes: the likeliest text, then sampled ones, each the same again for the same prompt.

    Behind the first `count` come as many more, farther from the likeliest. One that is broken off is empty. Where the
    question may cost no more, there are fewer.

    Raises:
        BudgetExceeded: there is not even one.
        ModelUnreachable, ModelRejected: as `ModelClient.write` says.
    """
    for seed, temperature in enumerate([0.0] + [_NEAR] * (count - 1) + [_FAR] * count):
        try:
            yield write(temperature=temperature, seed=seed)
        except ModelAnswerUnreadable:
            yield ""
        except BudgetExceeded:
            if seed == 0:
                raise
            return
