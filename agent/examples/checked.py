"""Whether a question with its statement may be shown to a model as an example."""

from collections.abc import Sequence

from agent.catalog.cache import source_identity
from agent.catalog.describe import one_line
from agent.catalog.schema import Catalog
from agent.catalog.source import Source
from agent.clarify.types import Clarification
from agent.errors import ExampleInvalid, InvalidQuestion, StatementError
from agent.examples.example import Example
from agent.examples.secrets import compared_secret
from agent.question import clean_question
from agent.sql.preflight import approved

MAX_CHARACTERS = 4_000
"""Characters that an example may have in all, so that five of them leave room in a prompt."""

_NAMED = 60


def checked_example(question: str, sql: str, source: Source, clarifications: Sequence[Clarification] = ()) -> Example:
    """Return the example; its statement is looked at, and not run.

    Raises:
        ExampleInvalid: it is too long, the question has no words, or the statement shows a value of a secret column.
        StatementRefused: it cannot be parsed, the guard refuses it, or it reads a table that does not exist.
        NamesUnknown, StatementUnsound: a column does not exist, or the database would refuse the statement.
    """
    cleaned = _cleaned(question, [sql, *(text for known in clarifications for text in known.values())])
    approved(sql, source.catalog)
    secret = compared_secret(sql, source.catalog)
    if secret:
        raise _invalid(question, f"its statement compares the secret column {secret} with a value")
    return Example(cleaned, sql.strip(), source_identity(source.database), list(clarifications))


def is_usable(sql: str, catalog: Catalog) -> bool:
    """Return whether the statement of an example may still be shown: its tables are there and nothing is refused."""
    try:
        approved(sql, catalog)
    except StatementError:
        return False
    return compared_secret(sql, catalog) is None


def _cleaned(question: str, others: Sequence[object]) -> str:
    """Return the question as a question comes in, where it and the `others` are texts that fit."""
    texts = [question, *map(str, others)]
    length = sum(map(len, texts))
    if length > MAX_CHARACTERS:
        raise _invalid(question, f"it has {length} characters, at most {MAX_CHARACTERS} are shown to a model")
    try:
        "".join(texts[1:]).encode()
        return clean_question(question, MAX_CHARACTERS)
    except UnicodeEncodeError as error:
        raise _invalid(question, "it holds half of a character") from error
    except InvalidQuestion as error:
        raise _invalid(question, f"as a question, {error.reason}") from error


def _invalid(question: str, reason: str) -> ExampleInvalid:
    return ExampleInvalid(repr(one_line(question, _NAMED)), reason)
