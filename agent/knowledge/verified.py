"""Verified questions, by their normalised text, and their statements with the examples of their parameters."""

from collections.abc import Mapping
from dataclasses import dataclass

from datasphinx.agent.knowledge.entries import VerifiedEntry
from datasphinx.agent.knowledge.knowledge import Item
from datasphinx.agent.sql.dialects import print_statement
from datasphinx.agent.sql.guard import parse
from datasphinx.agent.sql.parameters import Value, with_literals


@dataclass(frozen=True)
class VerifiedMatch:
    """A verified question that is equal to a question, or whose statement a model wrote for it."""

    item: Item
    entry: VerifiedEntry

    @property
    def parameters(self) -> Mapping[str, Value]:
        """The examples of its parameters."""
        return {name: parameter.value for name, parameter in self.entry.parameters.items()}

    def statement(self, dialect: str) -> str:
        """Return the statement with the parameters bound in its tree. Raise ValueError if it cannot be parsed."""
        (tree,) = parse(self.entry.sql, dialect)
        return print_statement(with_literals(tree, self.parameters), dialect)
