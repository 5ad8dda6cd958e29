"""Statements of the embedded model for one question: each is run, what fails is dropped, and the results vote.

Statements that fail, or give nothing where others give something, are dropped, as in execution-guided decoding (Wang et
al. 2018, "Robust Text-to-SQL Generation with Execution-Guided Decoding"); of the others those with equal results stand
for one answer, and the answer with the most of them is taken (Wang et al. 2022, "Self-Consistency Improves Chain of
Thought Reasoning in Language Models").
"""

from collections.abc import Collection, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace

import sqlglot
from sqlglot import exp

from agent.audit.step import note
from agent.catalog.source import Source
from agent.errors import PermissionDenied, StatementError
from agent.said import Said
from agent.sql.equal_rows import content_of, is_ordered
from agent.sql.expand import expand
from agent.sql.repair import repair
from agent.sql.result import Result
from agent.sql.same import same_form

_TWICE = "it gives the same output twice"
_NOTHING = Said()
_AGREEING = 2
_TIMEOUT_S = 5.0
_ROW_LIMIT = 1000
_BYTE_LIMIT = 5_000_000


@dataclass(frozen=True)
class Candidate:
    """A statement that the model wrote."""

    compact: str
    """As it wrote it."""
    sql: str
    """The same for the database that is asked; empty where it cannot be said so."""
    how: str = ""
    """What was repaired without the model."""
    problem: str = ""
    """Why there is no `sql`."""
    stutters: bool = False
    """True where it gave an output twice: a sign that the model did not know what to write."""


@dataclass(frozen=True)
class _Ballot:
    """A candidate, and what it found."""

    candidate: Candidate
    content: Hashable
    gives_rows: bool
    lost: int
    """How much of what the question names it leaves out."""
    is_zero: bool


def read_candidate(text: str, source: Source, *, may_repair: bool, question: str = "") -> Candidate:
    """Return what the model wrote as a statement for the database, with `may_repair` repaired where that is sure.

    With its `question`, it is what `expand` makes of it for that.
    """
    try:
        sql = expand(text, source.catalog, question)
    except ValueError as error:
        return Candidate(text, "", problem=str(error))
    once = _each_output_once(sql, source.catalog.dialect)
    if once and not may_repair:
        return Candidate(text, "", problem=_TWICE)
    mended = repair(once or sql, source.catalog) if may_repair else None
    how = "; ".join(([_TWICE] if once else []) + ([mended.how] if mended else []))
    return Candidate(text, mended.sql if mended else once or sql, how, stutters=once is not None)


def _each_output_once(sql: str, dialect: str) -> str | None:
    """Return `sql` without outputs that stand in it already; None where each stands there once."""
    tree = sqlglot.parse_one(sql, read=dialect)
    if not isinstance(tree, exp.Select):
        return None
    once: dict[str, exp.Expr] = {}
    for output in tree.selects:
        once.setdefault(output.unalias().sql(), output)
    return tree.select(*once.values(), append=False).sql(dialect=dialect) if len(once) < len(tree.selects) else None


def choose_candidate(
    candidates: Iterator[Candidate],
    count: int,
    source: Source,
    refused: Collection[str] = (),
    said: Said = _NOTHING,
) -> Candidate:
    """Return the candidate whose result most of `candidates` have, the earliest of these.

    Where all fail it is the first that is not among `refused`, so that its error can be shown to the model.

    Of the first `count` no more are taken than it takes to decide, and of those behind them only until something speaks
    against one of them no longer. Those whose form (`same_form`) is among `refused` are not run. There is at least one.

    - A result without rows, or with nothing but NULL in its one row, loses against every other: most often it comes of
      a condition that nothing meets.
    - A statement that leaves out something of what is `said` in the question loses against those that leave out less.
    - One that gave an output twice loses likewise.
    - One row with a 0, which a count of nothing gives too, is an answer that people ask for; it loses a tie alone.

    Raises:
        Terminal: what stops every statement: the connection, a cancellation.
    """
    ballots: list[_Ballot] = []
    drawn: dict[str, Candidate] = {}
    found: dict[str, _Ballot | None] = {}
    for number, candidate in enumerate(candidates, 1):
        form = same_form(candidate.sql, source.catalog.dialect)
        if drawn.setdefault(form, candidate) is candidate:
            lost = candidate.stutters + said.left_out_by(candidate.compact)
            found[form] = _cast(candidate, source, lost) if candidate.sql and form not in refused else None
        ballot = found[form]
        ballots += [ballot] if ballot else []
        if _is_decided(ballots, count - number):
            break
    groups = _groups(ballots)
    if not groups:
        fresh = (candidate for form, candidate in drawn.items() if form not in refused)
        return next(fresh, next(iter(drawn.values())))
    winners = max(groups, key=lambda group: (len(group), not group[0].is_zero))
    note(f"{len(winners)} of {number} candidate statements agree on the result")
    return winners[0].candidate


def _cast(candidate: Candidate, source: Source, lost: int) -> _Ballot | None:
    """Return what the statement of `candidate` finds within short limits; None where it does not run."""
    limits = source.limits
    short = replace(
        limits,
        timeout_s=min(_TIMEOUT_S, limits.timeout_s),
        row_limit=min(_ROW_LIMIT, limits.row_limit),
        byte_limit=min(_BYTE_LIMIT, limits.byte_limit),
    )
    source = replace(source, limits=short)
    try:
        result = source.execute(candidate.sql)
    except (StatementError, PermissionDenied):
        return None
    ordered = len(result["rows"]) > 1 and is_ordered(candidate.sql, source.catalog.dialect)
    content = (ordered, result["truncated"], content_of(result, ordered=ordered))
    return _Ballot(candidate, content, _gives_rows(result), lost, result["rows"] == [[0]])


def _gives_rows(result: Result) -> bool:
    rows = result["rows"]
    return len(rows) > 1 or any(value is not None for row in rows for value in row)


def _groups(ballots: Sequence[_Ballot]) -> list[list[_Ballot]]:
    """Return the ballots that count, those with equal results together, in the order of the first of each."""
    standing = [each for each in ballots if each.gives_rows] or ballots
    least = min((each.lost for each in standing), default=0)
    counting = [each for each in standing if each.lost == least]
    groups: dict[Hashable, list[_Ballot]] = {}
    for ballot in counting:
        groups.setdefault(ballot.content, []).append(ballot)
    return list(groups.values())


def _is_decided(ballots: Sequence[_Ballot], left: int) -> bool:
    """True where two agree that nothing speaks against, or the candidates left cannot change what is ahead.

    With none left it is enough that nothing speaks against one, or that all have failed.

    To stop at the first agreement costs little accuracy and saves much time (Aggarwal et al. 2023, "Let's Sample Step
    by Step: Adaptive-Consistency for Efficient Reasoning and Coding with LLMs").
    """
    unobjected = [each for each in ballots if each.gives_rows and not each.lost]
    sizes = sorted((len(group) for group in _groups(unobjected)), reverse=True)
    ahead, second = (*sizes, 0, 0)[:2]
    if left <= 0:
        return ahead > 0 or not ballots
    return ahead > second and (ahead >= _AGREEING or ahead > second + left)
