"""Candidate statements of the embedded model: sampled, parsed, executed, and selected by a vote over their results."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from typing import Protocol

import sqlglot
from sqlglot import exp

from agent.embedded.constraints import QuestionConstraints
from agent.embedded.expand import expand
from agent.embedded.voting import ExecutedCandidate, executed_candidate, is_decided, winners
from agent.errors import BudgetExceeded, ModelAnswerUnreadable, PermissionDenied, StatementError
from agent.record.step import note
from agent.sources.source import Source
from agent.sql.compare import canonical_sql, is_ordered
from agent.sql.repair import repair

_TEMPERATURE, _FALLBACK_TEMPERATURE = 0.4, 1.0
"""Sampling temperatures: of the regular candidates, and of the additional ones if all of those are doubtful."""

_DUPLICATE_OUTPUT = "it gives the same output twice"
_NO_CONSTRAINTS = QuestionConstraints()
_TIMEOUT_S = 5.0
_ROW_LIMIT = 1000
_BYTE_LIMIT = 5_000_000


class Write(Protocol):
    """Answers a fixed prompt; equal seeds give equal texts."""

    def __call__(self, *, temperature: float, seed: int) -> str:
        """Return the model's text."""


def sample_texts(write: Write, count: int) -> Iterator[str]:
    """Yield the most likely text, then sampled texts; equal prompts give equal texts.

    After the first `count` texts, as many more follow at a higher temperature. A truncated text is yielded as empty. If
    the budget of the question is used up, the texts end early.

    Raises:
        BudgetExceeded: the budget does not allow a single text.
        ModelUnreachable, ModelRejected: see `ModelClient.write`.
    """
    for seed, temperature in enumerate([0.0] + [_TEMPERATURE] * (count - 1) + [_FALLBACK_TEMPERATURE] * count):
        try:
            yield write(temperature=temperature, seed=seed)
        except ModelAnswerUnreadable:
            yield ""
        except BudgetExceeded:
            if seed == 0:
                raise
            return


@dataclass(frozen=True)
class Candidate:
    """A statement written by the model."""

    compact: str
    """The text of the model."""
    sql: str
    """The statement in the dialect of the database; empty if the text cannot be translated."""
    repairs: str = ""
    """The repairs made without the model."""
    problem: str = ""
    """The reason why `sql` is empty."""
    has_duplicate_output: bool = False
    """Whether the text selects an output twice, which indicates that the model was uncertain."""


def read_candidate(text: str, source: Source, *, may_repair: bool, question: str = "") -> Candidate:
    """Translate the model's text into a statement for the database; with `may_repair`, apply unambiguous repairs.

    `question` is passed to `agent.embedded.expand.expand`.
    """
    try:
        sql = expand(text, source.catalog, question)
    except ValueError as error:
        return Candidate(text, "", problem=str(error))
    deduplicated = _without_duplicate_outputs(sql, source.catalog.dialect)
    if deduplicated and not may_repair:
        return Candidate(text, "", problem=_DUPLICATE_OUTPUT)
    repaired = repair(deduplicated or sql, source.catalog) if may_repair else None
    repairs = "; ".join(([_DUPLICATE_OUTPUT] if deduplicated else []) + ([repaired.description] if repaired else []))
    return Candidate(
        text, repaired.sql if repaired else deduplicated or sql, repairs, has_duplicate_output=deduplicated is not None
    )


def _without_duplicate_outputs(sql: str, dialect: str) -> str | None:
    """Return `sql` without duplicate outputs; None if it has none."""
    tree = sqlglot.parse_one(sql, read=dialect)
    if not isinstance(tree, exp.Select):
        return None
    unique: dict[str, exp.Expr] = {}
    for output in tree.selects:
        unique.setdefault(output.unalias().sql(), output)
    if len(unique) == len(tree.selects):
        return None
    return tree.select(*unique.values(), append=False).sql(dialect=dialect)


def choose_candidate(
    candidates: Iterator[Candidate],
    count: int,
    source: Source,
    refused: Collection[str] = (),
    constraints: QuestionConstraints = _NO_CONSTRAINTS,
) -> Candidate:
    """Return the earliest candidate whose result most of `candidates` share.

    Of the first `count` candidates, only as many are generated as the vote needs; further ones only until one has no
    violations. Candidates whose `canonical_sql` is in `refused` are not executed. `candidates` has at least
    one item. If every candidate fails, the first one not in `refused` is returned, so that its error can be reported to
    the model.

    `agent.embedded.voting.winners` defines the vote; a duplicate output counts as one violation of `constraints`.

    Raises:
        Terminal: an error that concerns every statement: the connection, a cancellation.
    """
    votes: list[ExecutedCandidate[Candidate]] = []
    by_canonical_sql: dict[str, Candidate] = {}
    executed: dict[str, ExecutedCandidate[Candidate] | None] = {}
    for number, candidate in enumerate(candidates, 1):
        canonical = canonical_sql(candidate.sql, source.catalog.dialect)
        if by_canonical_sql.setdefault(canonical, candidate) is candidate:
            violations = candidate.has_duplicate_output + constraints.count_violations(candidate.compact)
            may_execute = candidate.sql and canonical not in refused
            executed[canonical] = _execute(candidate, source, violations) if may_execute else None
        vote = executed[canonical]
        votes += [vote] if vote else []
        if is_decided(votes, count - number):
            break
    winning = winners(votes)
    if not winning:
        not_refused = (candidate for canonical, candidate in by_canonical_sql.items() if canonical not in refused)
        return next(not_refused, next(iter(by_canonical_sql.values())))
    note(f"{len(winning)} of {number} candidate statements agree on the result")
    return winning[0].candidate


def _execute(candidate: Candidate, source: Source, violations: int) -> ExecutedCandidate[Candidate] | None:
    """Execute the statement of `candidate` within short limits; return None if it fails."""
    source = with_short_limits(source)
    try:
        result = source.execute(candidate.sql)
    except (StatementError, PermissionDenied):
        return None
    ordered = is_ordered(candidate.sql, source.catalog.dialect)
    return executed_candidate(candidate, result, violations, ordered=ordered)


def with_short_limits(source: Source) -> Source:
    """Return `source` with the limits for candidates, which are executed only to compare their results."""
    limits = source.limits
    short_limits = replace(
        limits,
        timeout_s=min(_TIMEOUT_S, limits.timeout_s),
        row_limit=min(_ROW_LIMIT, limits.row_limit),
        byte_limit=min(_BYTE_LIMIT, limits.byte_limit),
    )
    return replace(source, limits=short_limits)
