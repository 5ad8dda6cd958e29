"""Questions that a model proposed to follow its answer."""

from collections.abc import Sequence

from datasphinx.agent.answers.references import Said, unsupported
from datasphinx.agent.schema.describe import one_line
from datasphinx.agent.types import Result

_MAX_CHARS = 200


def proposed_questions(proposed: Sequence[str], said: Said, result: Result) -> list[str]:
    """Return those questions of a model that type no figure, and no text of `result`, except those that were `said`."""
    names = {cell for row in result["rows"] for cell in row if isinstance(cell, str)}
    return [
        one_line(question, _MAX_CHARS)
        for question in proposed
        if question.strip() and not unsupported(question, said, names)
    ]
