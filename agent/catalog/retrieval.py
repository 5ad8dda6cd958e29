"""Schema linking: the tables and columns that a question is about, decided by the catalog as far as it can."""

from collections.abc import Iterable, Sequence
from itertools import islice

import prompts
from agent.audit.step import note
from agent.catalog.choose import choose_source
from agent.catalog.describe import describe, describe_compactly, estimate_tokens, quoted_key
from agent.catalog.embedded_linking import embedded_columns, embedded_tables
from agent.catalog.source import Source
from agent.catalog.words import content_words, words
from agent.errors import ModelAnswerUnreadable, Terminal
from agent.models.schemas import ColumnSelection, TableSelection
from agent.services import Services

_CANDIDATES = 15
_UNREAD_TABLES = 5
_LINKED_COLUMNS = 12


def fits_budget(source: Source, selection: Iterable[tuple[str, Sequence[str]]], budget: int) -> bool:
    """Return whether names, types and keys of the tables and columns in `selection` fit into `budget` tokens.

    It stops at the first table that does not, so that its time is bounded by the budget and not by the schema.
    """
    tokens = 0
    for key, columns in selection:
        tokens += estimate_tokens(describe(source.catalog, {key: columns}, source.database.quote, values=False))
        if tokens > budget:
            return False
    return True


def link_source(question: str, services: Services) -> str:
    """Return the name of the source that `question` is about; among several the choice is noted on the audit.

    A source that cannot be opened is left out, and that is noted too.

    Raises:
        Terminal: no source can be opened; the error is that of the first.
    """
    names = services.choices
    if len(names) == 1:
        return names[0]
    indexes, errors = {}, []
    for name in names:
        try:
            indexes[name] = services.source(name).index
        except Terminal as error:
            errors.append(error)
            note(f"the source {name} was left out: {str(error).partition('. ')[0]}")
    if not indexes:
        raise errors[0]
    chosen = choose_source(question, indexes)
    note(f"asked the source {chosen}, chosen among {', '.join(indexes)}")
    return chosen


def link_tables(question: str, source: Source, services: Services, attempt: int) -> list[str]:
    """Return the keys of the tables that may answer `question`; none where nothing does.

    A schema within the token budget, and a single table, is taken whole, or not at all where no word of the question
    meets it. From a larger one the model chooses among candidates that the index ranks; the embedded model chooses
    nothing and is given few. Each further attempt (from 1) sees more and is laxer about spelling. Tables that are
    needed to join the chosen ones come along.

    Raises:
        ModelUnreachable, ModelRejected, BudgetExceeded: a choice was needed and could not be had.
    """
    tables, budget = source.catalog.tables, services.settings.schema_token_budget
    fuzzy = attempt - 1
    if services.model.profile == "embedded":
        return embedded_tables(question, source, attempt) if source.index.may_concern(question, fuzzy=fuzzy) else []
    whole = ((key, table.column_names) for key, table in tables.items())
    if len(tables) == 1 or fits_budget(source, whole, budget):
        return list(tables) if source.index.may_concern(question, fuzzy=fuzzy) else []
    limit = _CANDIDATES * attempt
    ranked = source.index.rank(question, fuzzy=fuzzy, limit=limit) or list(islice(tables, limit))
    candidates = source.index.with_neighbours(ranked)
    return _choose_tables(question, source, services, candidates, budget * attempt)


def link_columns(
    question: str, source: Source, services: Services, tables: dict[str, list[str]]
) -> dict[str, list[str]]:
    """Return the columns of `tables` that may be needed; keys of joins are always among them.

    All of them where they fit into the token budget; else the model chooses, and where its answer cannot be read, the
    words. For the embedded model it is words and stored values.

    Raises:
        ModelUnreachable, ModelRejected, BudgetExceeded: a choice was needed and could not be had.
    """
    if services.model.profile == "embedded":
        return embedded_columns(question, source, tables)
    if fits_budget(source, tables.items(), services.settings.schema_token_budget):
        return tables
    schema = describe(source.catalog, tables, source.database.quote, values=False)
    messages = prompts.render("select_columns", services.model.profile, schema=schema, question=question)
    try:
        selection = services.model.ask(ColumnSelection, messages)
    except ModelAnswerUnreadable:
        return _columns_by_words(question, source, tables)
    wanted = {(chosen.table.lower(), name.lower()) for chosen in selection.tables for name in chosen.columns}
    return _keep(source, tables, wanted) or _columns_by_words(question, source, tables)


def _choose_tables(question: str, source: Source, services: Services, candidates: list[str], budget: int) -> list[str]:
    shown: list[str] = []
    lines: list[str] = []
    for key in candidates:
        line = describe_compactly(source.catalog, {key: source.catalog.tables[key].column_names}, str)
        if lines and estimate_tokens("\n".join([*lines, line])) > budget:
            break
        lines.append(line)
        shown.append(key)
    messages = prompts.render("select_tables", services.model.profile, tables="\n".join(lines), question=question)
    try:
        chosen = {name.lower() for name in services.model.ask(TableSelection, messages).tables}
    except ModelAnswerUnreadable:
        return shown[:_UNREAD_TABLES]
    wanted = [key for key in source.catalog.tables if key.lower() in chosen]
    return source.index.connected(wanted)


def _columns_by_words(question: str, source: Source, tables: dict[str, list[str]]) -> dict[str, list[str]]:
    """Return, for each table, the columns that share a word with the question, filled up from its first ones."""
    asked = content_words(question)
    kept = {}
    for key, columns in tables.items():
        linked = [column for column in columns if words(column) & asked]
        keys = source.catalog.tables[key].key_columns
        chosen = set(dict.fromkeys([*linked, *keys, *columns][: max(_LINKED_COLUMNS, len(linked) + len(keys))]))
        kept[key] = [column for column in columns if column in chosen]
    return kept


def _keep(source: Source, tables: dict[str, list[str]], wanted: set[tuple[str, str]]) -> dict[str, list[str]]:
    """Return the columns among `wanted`, which may be in quotes as the prompt shows them, with the keys of joins."""
    quote = source.database.quote
    kept = {}
    for key, columns in tables.items():
        table = source.catalog.tables[key]
        names = {name for table_name, name in wanted if table_name in {key.lower(), quoted_key(table, quote).lower()}}
        chosen = {column for column in columns if names & {column.lower(), quote(column).lower()}}
        if chosen:
            needed = chosen | set(table.key_columns)
            kept[key] = [column for column in columns if column in needed]
    return kept
