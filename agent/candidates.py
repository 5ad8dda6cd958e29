"""Statements of the embedded model for one question: each is run, what fails is dropped, and the results vote."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

import sqlglot
from sqlglot import exp

from agent.audit.step import note
from agent.catalog.source import Source
from agent.errors import PermissionDenied, StatementError
from agent.said import Said
from agent.sql.equal_rows import is_ordered
from agent.sql.expand import expand
from agent.sql.repair import repair
from agent.sql.same import same_form
from agent.vote import Ballot, ballot_of, is_decided, winners

_TWICE = "it gives the same output twice"
_NOTHING = Said()
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

    What speaks against one is said in `agent.vote.winners`; that it gave an output twice counts like something that is
    `said` in the question and that it leaves out.

    Raises:
        Terminal: what stops every statement: the connection, a cancellation.
    """
    ballots: list[Ballot[Candidate]] = []
    drawn: dict[str, Candidate] = {}
    found: dict[str, Ballot[Candidate] | None] = {}
    for number, candidate in enumerate(candidates, 1):
        form = same_form(candidate.sql, source.catalog.dialect)
        if drawn.setdefault(form, candidate) is candidate:
            lost = candidate.stutters + said.left_out_by(candidate.compact)
            found[form] = _cast(candidate, source, lost) if candidate.sql and form not in refused else None
        ballot = found[form]
        ballots += [ballot] if ballot else []
        if is_decided(ballots, count - number):
            break
    agreeing = winners(ballots)
    if not agreeing:
        fresh = (candidate for form, candidate in drawn.items() if form not in refused)
        return next(fresh, next(iter(drawn.values())))
    note(f"{len(agreeing)} of {number} candidate statements agree on the result")
    return agreeing[0].candidate


def _cast(candidate: Candidate, source: Source, lost: int) -> Ballot[Candidate] | None:
    """Return what the statement of `candidate` finds within short limits; None where it does not run."""
    source = with_short_limits(source)
    try:
        result = source.execute(candidate.sql)
    except (StatementError, PermissionDenied):
        return None
    return ballot_of(candidate, result, lost, ordered=is_ordered(candidate.sql, source.catalog.dialect))


def with_short_limits(source: Source) -> Source:
    """Return `source` with what a candidate may take: it is only run to see what it finds."""
    limits = source.limits
    short = replace(
        limits,
        timeout_s=min(_TIMEOUT_S, limits.timeout_s),
        row_limit=min(_ROW_LIMIT, limits.row_limit),
        byte_limit=min(_BYTE_LIMIT, limits.byte_limit),
    )
    return replace(source, limits=short)
