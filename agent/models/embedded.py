"""How the embedded model is asked; each part can be left out, to measure what it is worth."""

from dataclasses import dataclass

MOST_CANDIDATES = 8


@dataclass(frozen=True)
class EmbeddedOptions:
    """The parts of the embedded model's decoding."""

    adapter: bool = True
    """What it was trained for; without it, it is the base model."""
    grammar: bool = True
    """It can only write statements over the tables that it is shown."""
    candidates: int = 3
    """How many statements it writes for a question, from 1 to 8; their results vote."""
    repair: bool = True
    """A statement that cannot run is repaired without a model, and the model is told and asked again."""
