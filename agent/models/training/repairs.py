"""Training examples of repair: the statement prompt with a wrong statement and its error; answered by the right one."""

from collections.abc import Iterator, Sequence
from random import Random

from agent.candidates import read_candidate
from agent.catalog.brief import describe_briefly
from agent.catalog.linked_values import linked_values
from agent.catalog.source import Source
from agent.errors import StatementError
from agent.models.embedded_prompt import statement_messages
from agent.models.training.corruptions import corruptions
from agent.models.training.dataset import Asked
from agent.models.training.gold import Selection, selection_with, tables_of
from agent.models.training.groups import Group, grouped
from agent.sql.compact import compact


def repairs(
    source: Source, database: str, asked: Sequence[Asked], rng: Random, *, size: int, most: int
) -> Iterator[Group]:
    """Return at most `most` of `asked`, each with a wrong statement that fails, in groups of at most `size`.

    The error is what the agent passes on: that of reading the statement, or else that of running it.

    Raises:
        Terminal: the database stops every statement.
    """
    sayable = [(each, answer) for each in asked if (answer := compact(each.sql, source.catalog)) is not None]
    chosen = rng.sample(sayable, min(most, len(sayable)))
    chosen.sort(key=lambda pair: min(tables_of(pair[0].sql, source.catalog), default=""))
    for start in range(0, len(chosen), size):
        group = _group(source, database, chosen[start : start + size], rng)
        if group:
            yield group


def error_of(text: str, source: Source) -> str | None:
    """Return what is wrong with the compact statement `text`, in one line; None where it runs.

    Raises:
        Terminal: the database stops every statement.
    """
    candidate = read_candidate(text, source, may_repair=False)
    if candidate.problem:
        return " ".join(candidate.problem.split())
    try:
        source.execute(candidate.sql)
    except StatementError as error:
        return " ".join(str(error).split())
    return None


def _group(source: Source, database: str, part: Sequence[tuple[Asked, str]], rng: Random) -> Group | None:
    needed = {key for each, _ in part for key in tables_of(each.sql, source.catalog)}
    shown = selection_with(needed, source.catalog, rng)
    exchanges = []
    for each, answer in part:
        failed = _failed(answer, source, shown, rng)
        if failed:
            values = linked_values(each.question, source.values, shown)
            exchanges.append((statement_messages(source.catalog, shown, each.question, values, failed=failed), answer))
    return grouped(database, "repair", describe_briefly(source.catalog, shown), exchanges) if exchanges else None


def _failed(answer: str, source: Source, shown: Selection, rng: Random) -> tuple[str, str] | None:
    """Return the first wrong form of `answer` that fails, with its error."""
    wrong = ((text, error_of(text, source)) for text in corruptions(answer, source.catalog, shown, rng))
    return next(((text, error) for text, error in wrong if error), None)
