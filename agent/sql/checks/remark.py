"""What a static check says of a statement."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from agent.sql.resolved import Resolved


@dataclass(frozen=True)
class Remark:
    """A text in words; `is_problem` where the database would refuse the statement."""

    text: str
    is_problem: bool = False


Check = Callable[[Resolved], Iterator[Remark]]
