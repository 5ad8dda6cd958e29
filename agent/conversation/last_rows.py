"""The rows of the last answer as they were shown: in the order, and as few, as the user wanted them."""

from agent.catalog.source import Source
from agent.clarify.types import Turn
from agent.conversation.form import form_change, is_sorting
from agent.sql.equal_rows import is_ordered
from agent.sql.result import Result


def shown_rows(turn: Turn, source: Source) -> Result:
    """Return the rows of `turn` as of today: its statement runs again, and its forms are given to the rows in turn.

    Raises:
        DatasphinxError: as `Source.execute` says.
    """
    result, dialect = source.execute(turn["sql"]), source.catalog.dialect
    asked = turn.get("forms", [])
    for at, question in enumerate(asked):
        before: Turn = {**turn, "forms": asked[:at]}
        change = form_change(question, result, is_ordered=is_in_order(before, dialect))
        result = change.result if change else result
    return result


def is_in_order(turn: Turn, dialect: str) -> bool:
    """Return whether the rows of `turn` have an order: by its statement, or since the user wanted one."""
    return is_ordered(turn["sql"], dialect) or any(map(is_sorting, turn.get("forms", ())))
