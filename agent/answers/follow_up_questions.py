"""Questions that follow an answer of one figure: the figure by groups or by month."""

from collections.abc import Iterator, Sequence

from sqlglot import exp

from datasphinx.agent.answers.starting_questions import Candidate, group_column, offered_columns, shown_name, with_rows
from datasphinx.agent.core.cancellation import Cancellation
from datasphinx.agent.core.text import question_key
from datasphinx.agent.messages import Language, language_of, render
from datasphinx.agent.sources.source import Source
from datasphinx.agent.sql.dialects import print_statement
from datasphinx.agent.sql.guard import parse
from datasphinx.agent.sql.names import key_of, qualify_names

COUNT = 3
_MAX_TRIED = 4
_MAX_ROWS = 50
_ENDS = "?.!？。！ "


def follow_up_questions(
    question: str, sql: str, source: Source, asked: Sequence[str] = (), stop: Cancellation | None = None
) -> list[str]:
    """Return up to three questions that break down the figure of `sql`, the answer of `question`.

    They are `question` itself, so that its filters hold, by a column with few values or by month, and their statements
    return rows. There are none for a statement that returns more than one figure, and none of `asked`. `stop` cancels
    the statements, of which at most four are executed. The questions are kept until the source is opened again.

    Raises:
        SourceUnreachable: the database does not answer.
        StatementCancelled: a statement was cancelled.
    """

    def find() -> list[str]:
        return list(with_rows(_candidates(question, sql, source, stop), COUNT, _MAX_TRIED))

    found = source.memoized(("follow-up questions", question, sql), find)
    return without_asked(found, asked)


def without_asked(questions: Sequence[str], asked: Sequence[str]) -> list[str]:
    """Return up to three of `questions`, without those of a conversation."""
    earlier = set(map(question_key, asked))
    return [question for question in questions if question_key(question) not in earlier][:COUNT]


def _candidates(question: str, sql: str, source: Source, stop: Cancellation | None) -> Iterator[Candidate[str]]:
    select, dialect = _single_figure(sql, source), source.catalog.dialect
    if select is None:
        return
    language = language_of(question)
    nodes = [select.args["from_"].this, *(join.this for join in select.args.get("joins") or ())]
    shown, tables = source.shown_catalog.tables, []
    for node in nodes:
        key = key_of(node, source.catalog) if isinstance(node, exp.Table) else None
        if key is None or key not in shown:
            return
        tables.append((node.alias_or_name, shown[key]))

    def candidate(code: str, key: exp.Expr, **names: str) -> Candidate[str]:
        grouped = select.select(key.copy()).group_by(key.copy()).limit(_MAX_ROWS)
        return Candidate(
            _extended(question, code, language, **names),
            lambda: source.execute(print_statement(grouped, dialect), stop),
            min_rows=2,
        )

    filtered = {(column.table, column.name.lower()) for column in _columns(select.args.get("where"))}
    for alias, table in tables:
        free = [each for each in offered_columns(source, table) if (alias, each.name.lower()) not in filtered]
        column = group_column(free, table)
        if column:
            group = exp.column(column.name, table=alias, quoted=True)
            yield candidate("follow_up_groups", group, group=shown_name(column.name))
    days = [
        (alias, column.name)
        for alias, table in tables
        for column in offered_columns(source, table)
        if column.type_class in ("date", "datetime")
    ]
    # A filter says which of several dates is meant.
    days = [(alias, name) for alias, name in days if (alias, name.lower()) in filtered] or days
    if len(days) == 1:
        day = exp.column(days[0][1], table=days[0][0], quoted=True)
        yield candidate("follow_up_months", source.catalog.engine.period(day, "month"))


def _extended(question: str, code: str, language: Language, **names: str) -> str:
    text = question.strip()
    stem = text.rstrip(_ENDS)
    return render(code, language, question=stem, end=text[len(stem) :], **names)


def _columns(node: exp.Expr | None) -> Iterator[exp.Column]:
    return node.find_all(exp.Column) if node else iter(())


def _single_figure(sql: str, source: Source) -> exp.Select | None:
    """Return the SELECT of `sql` with qualified names if it is one aggregate of joined tables; None for others."""
    try:
        (tree,) = parse(sql, source.catalog.dialect)
    except ValueError:
        return None
    resolved = qualify_names(tree, source.catalog)
    select = resolved.scopes[0].expression if resolved and len(resolved.scopes) == 1 else None
    if not isinstance(select, exp.Select) or len(select.expressions) != 1:
        return None
    clauses = {name for name, value in select.args.items() if value} - {"expressions", "from_", "joins", "where"}
    is_figure = select.expressions[0].find(exp.AggFunc) and not select.find(exp.Window)
    return select if is_figure and not clauses and select.args.get("from_") else None
