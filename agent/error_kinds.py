"""What every error of the tree in `agent.errors` has, and the two kinds that it is of."""

from typing import Any, ClassVar

from agent.messages import Language, render


class DatasphinxError(Exception):
    """Root of the tree. `code` is stable and is what programs should look at."""

    code: ClassVar[str]

    def message(self, language: Language = "en") -> str:
        """Return what happened, where, and what to do, in the given language."""
        return render(self.code, language, **self.details())

    def details(self) -> dict[str, Any]:
        """Return the facts of this error by attribute name."""
        return {name: value for name, value in vars(self).items() if not name.startswith("_")}

    def __str__(self) -> str:
        return self.message()


class Retryable(DatasphinxError):
    """Another try inside the same question may succeed."""


class Terminal(DatasphinxError):
    """The question ends here."""
