"""Validation of few-shot examples: a question about a source, and the statement that answers it."""

from collections.abc import Iterator

from sqlglot import exp

from datasphinx.agent.core.text import clean_question
from datasphinx.agent.errors import InvalidQuestion, Refused, StatementError
from datasphinx.agent.messages import Message
from datasphinx.agent.schema.catalog import Catalog
from datasphinx.agent.schema.describe import one_line
from datasphinx.agent.sources.source import Source
from datasphinx.agent.sql.guard import parse
from datasphinx.agent.sql.names import table_of
from datasphinx.agent.sql.statement_cache import StatementCache
from datasphinx.agent.sql.validation import validated_sql

MAX_CHARACTERS = 4_000
"""Maximum length of an example in characters, so that five examples fit into a prompt."""
_ERROR_QUESTION_CHARS = 60
_CONDITION_PARENTS = (exp.Connector, exp.Where, exp.Having, exp.Qualify, exp.Join, exp.Select, exp.SetOperation)
"""Parents of a complete condition or result column."""


def check_example(question: str, sql: str, source: Source) -> str:
    """Return the normalised question of a statement that may become an example; the statement is not executed.

    Raises:
        Refused: it is too long, the question has no words, or the statement contains a value of a secret column.
        StatementRefused: the statement cannot be parsed, the guard refuses it, or it reads an unknown table.
        NamesUnknown, StatementUnsound: a column is unknown, or the database would refuse the statement.
    """
    cleaned = _cleaned_question(question, sql)
    validated_sql(sql, source.catalog)
    secret = compared_secret(sql, source.catalog)
    if secret:
        raise _invalid(question, Message("secret_compared", column=secret))
    return cleaned


_usable: StatementCache[bool] = StatementCache()
"""Whether a statement is usable; the same examples are compared with every question."""


def is_usable(sql: str, catalog: Catalog) -> bool:
    """Return whether the statement of an example is still valid for `catalog` and contains no secret."""

    def check() -> bool:
        try:
            validated_sql(sql, catalog)
        except StatementError:
            return False
        return compared_secret(sql, catalog) is None

    return _usable.value(sql, catalog, check)


def compared_secret(sql: str, catalog: Catalog) -> str | None:
    """Return the first secret column, or alias of one, that a query compares with a value; None if there is none.

    Errs on the side of caution: any text literal in an expression with a secret column counts as a comparison.
    """
    (tree,) = parse(sql, catalog.dialect)
    secret = _secret_names(tree, catalog)
    if not secret:
        return None
    for value in _values(tree, catalog):
        condition, is_comparison = _enclosing_condition(value)
        if is_comparison:
            columns = (column.name for column in condition.find_all(exp.Column))
            name = next((name for name in columns if name.lower() in secret), None)
            if name:
                return name
    return None


def _secret_names(tree: exp.Expr, catalog: Catalog) -> set[str]:
    """Return the lower-case names of the secret columns of the query's tables, and of aliases derived from them."""
    tables = filter(None, (table_of(source, catalog) for source in tree.find_all(exp.Table)))
    names = {column.name.lower() for table in tables for column in table.columns if column.secret}
    aliases = [
        (alias.alias.lower(), {column.name.lower() for column in alias.this.find_all(exp.Column)})
        for alias in tree.find_all(exp.Alias)
    ]
    size = -1
    while size != len(names):
        size = len(names)
        names |= {alias for alias, columns in aliases if columns & names}
    return names


def _values(tree: exp.Expr, catalog: Catalog) -> Iterator[exp.Expr]:
    """Yield literals, and quoted names that are not columns where the engine reads them as texts."""
    yield from tree.find_all(exp.Literal)
    if catalog.engine.reads_unknown_names_as_text:
        column_names = {name.lower() for columns in catalog.selection().values() for name in columns}
        for column in tree.find_all(exp.Column):
            if not column.table and column.this.args.get("quoted") and column.name.lower() not in column_names:
                yield column


def _enclosing_condition(value: exp.Expr) -> tuple[exp.Expr, bool]:
    """Return the condition or expression that contains `value`, and whether it may compare a column with `value`.

    A number outside of a predicate does not count: it may round or scale a column.
    """
    node, is_comparison = value, not (isinstance(value, exp.Literal) and not value.is_string)
    while node.parent is not None and not isinstance(node.parent, _CONDITION_PARENTS):
        node = node.parent
        is_comparison = is_comparison or isinstance(node, exp.Predicate | exp.Case)
    return node, is_comparison


def _cleaned_question(question: str, sql: str) -> str:
    """Return the normalised question, after checking the length and encoding of it and `sql` together."""
    length = len(question) + len(sql)
    if length > MAX_CHARACTERS:
        raise _invalid(question, Message("length_over_limit", count=length, limit=MAX_CHARACTERS))
    try:
        sql.encode()
        return clean_question(question, MAX_CHARACTERS)
    except UnicodeEncodeError as error:
        raise _invalid(question, Message("contains_surrogate")) from error
    except InvalidQuestion as error:
        raise _invalid(question, Message("as_question", reason=error.details()["reason"])) from error


def _invalid(question: str, reason: str) -> Refused:
    return Refused("example_invalid", place=repr(one_line(question, _ERROR_QUESTION_CHARS)), reason=reason)
