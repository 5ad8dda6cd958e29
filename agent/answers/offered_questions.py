"""Questions that are offered to a user because a statement for them returns rows."""

import time
from collections.abc import Callable, Iterable, Iterator
from typing import Generic, NamedTuple, TypeVar

from agent.errors import DatasphinxError, SourceUnreachable, StatementCancelled
from agent.generation.attempt import is_blank
from agent.schema.catalog import Column, Table
from agent.schema.describe import one_line
from agent.sources.profile import is_personal
from agent.sources.source import Source
from agent.types import Result

MAX_NAME_CHARS = 60
_BUDGET_S = 5.0
_MIN_GROUPS, _MAX_GROUPS = 2, 30

Q = TypeVar("Q")


class Candidate(NamedTuple, Generic[Q]):
    """A question that may be offered."""

    question: Q
    read: Callable[[], Result]
    """Executes a statement for the question; raises a DatasphinxError or ValueError."""
    min_rows: int = 1
    """The number of rows with a value that the statement has to return."""


def with_rows(candidates: Iterable[Candidate[Q]], count: int, max_tried: int) -> Iterator[Q]:
    """Yield the questions of the first `count` candidates whose statements return enough rows.

    At most `max_tried` statements are executed, which start within five seconds.

    Raises:
        SourceUnreachable: the database does not answer.
        StatementCancelled: a statement was cancelled.
    """
    deadline, found = time.monotonic() + _BUDGET_S, 0
    for tried, candidate in enumerate(candidates):
        if found == count or tried == max_tried or time.monotonic() > deadline:
            return
        try:
            result = candidate.read()
        except (SourceUnreachable, StatementCancelled):
            raise
        except (DatasphinxError, ValueError):
            continue
        rows = [row for row in result["rows"] if any(value is not None for value in row)]
        if not is_blank(result) and len(rows) >= candidate.min_rows:
            found += 1
            yield candidate.question


def offered_columns(source: Source, table: Table) -> list[Column]:
    """Return the columns of a shown table that a question may name: neither secret nor personal."""
    personal = source.knowledge.knowledge.personal
    return [each for each in table.columns if not (each.secret or is_personal(table, each, personal))]


def is_group(column: Column, table: Table) -> bool:
    """Return whether a column is a text with few values, by which rows can be grouped."""
    is_key = column.name in table.key_columns
    return column.type_class == "text" and not is_key and _MIN_GROUPS <= (column.distinct or 0) <= _MAX_GROUPS


def shown_name(name: str) -> str:
    """Return the name of a table or column as words in one line."""
    return one_line(name.replace("_", " "), MAX_NAME_CHARS)
