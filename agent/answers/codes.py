"""The meanings of codes in a result, from the comments on their columns."""

from collections.abc import Iterator

from sqlglot import exp

from datasphinx.agent.messages import CONVENTIONS, Language, render
from datasphinx.agent.schema.catalog import Catalog, Column
from datasphinx.agent.schema.codes import codes_of
from datasphinx.agent.schema.describe import one_line
from datasphinx.agent.sql.guard import shared_nodes
from datasphinx.agent.sql.output_columns import output_columns
from datasphinx.agent.types import Result

_MAX_CODES, _MAX_MEANING_CHARS = 12, 60


def explained_codes(sql: str, result: Result, catalog: Catalog, language: Language) -> str:
    """Return sentences that explain the codes in `result`, the rows of `sql`; empty if no comment explains any.

    There is one sentence per column, such as "channel: S = store, W = web.", unless the column is secret.
    """
    sentences = []
    for at, column in _commented_outputs(sql, catalog):
        meanings = codes_of(column)
        cells = {str(row[at]) for row in result["rows"] if row[at] is not None} if meanings else set()
        pairs = [
            f"{code} = {one_line(meaning, _MAX_MEANING_CHARS).rstrip('.。')}"
            for code, meaning in meanings.items()
            # "18 - 64" is a range, and "10:30" a time.
            if code in cells and not meaning[:1].isdigit()
        ]
        names = CONVENTIONS[language].list_comma.join(pairs[:_MAX_CODES])
        if len(pairs) > _MAX_CODES:
            names = render("names_and_more", language, names=names, count=len(pairs) - _MAX_CODES)
        if pairs:
            label = one_line(result["columns"][at])
            sentences.append(render("answer_names", language, label=label, names=names))
    return CONVENTIONS[language].space.join(sentences)


def _commented_outputs(sql: str, catalog: Catalog) -> Iterator[tuple[int, Column]]:
    """Yield the index of each output that is a column with a comment, and the column; none of a UNION."""
    if any(shared_nodes(sql, catalog.dialect, exp.SetOperation)):
        return
    for at, output in enumerate(output_columns(sql, catalog)):
        column = output.stored.column if output.stored and isinstance(output.expression.unnest(), exp.Column) else None
        if column and column.comment and not column.secret:
            yield at, column
