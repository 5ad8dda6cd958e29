"""The meanings of codes in a result, from the comments on their columns."""

from sqlglot import exp

from agent.messages import CONVENTIONS, Language, render
from agent.retrieval.linked_values import codes_in
from agent.schema.catalog import Catalog
from agent.schema.describe import one_line
from agent.sql.guard import shared_trees
from agent.sql.summary import QueryReader
from agent.types import Result

_MAX_CODES, _MEANING_CHARS = 12, 60


def code_meanings(sql: str, result: Result, catalog: Catalog, language: Language) -> str:
    """Return what the codes in `result`, the rows of `sql`, mean; empty without codes that a comment explains.

    Each column has a sentence, such as "channel: S = store, W = web.", with at most twelve codes in the order of its
    comment. Secret columns have none.
    """
    (tree,) = shared_trees(sql, catalog.dialect)
    if not isinstance(tree, exp.Select):
        return ""
    reader, names = QueryReader(tree, catalog), result["columns"]
    outputs = [item.unalias() for item in tree.expressions]
    if len(outputs) != len(names) or tree.is_star:
        outputs = [exp.column(name) for name in names]
    sentences = []
    for at, (name, output) in enumerate(zip(names, outputs, strict=True)):
        is_shown = isinstance(output, exp.Column) and not reader.is_secret(output)
        origin = reader.origin(output, tree) if is_shown else None
        comment = _comment_on(origin.table, origin.column, catalog) if origin else None
        if not comment:
            continue
        cells = {str(row[at]) for row in result["rows"]}
        codes = {code: one_line(meaning, _MEANING_CHARS) for code, meaning in codes_in(comment).items()}
        pairs = [f"{code} = {meaning}" for code, meaning in codes.items() if code in cells]
        if pairs:
            listed = CONVENTIONS[language].list_comma.join(pairs[:_MAX_CODES])
            sentences.append(render("answer_names", language, label=name, names=listed))
    return " ".join(sentences)


def _comment_on(table: str, column: str, catalog: Catalog) -> str | None:
    """Return the comment on a column; None if there is none, or if several schemas have the table."""
    keys = catalog.keys_named(table)
    columns = catalog.tables[keys[0]].columns if len(keys) == 1 else ()
    return next((found.comment for found in columns if found.name.lower() == column.lower()), None)
