"""Candidate statements of the embedded model: sampled, parsed, executed, and selected by their likelihood."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from datasphinx.agent.embedded.constraints import QuestionConstraints
from datasphinx.agent.embedded.date_ranges import Days
from datasphinx.agent.embedded.definitions import DefinedColumns
from datasphinx.agent.embedded.expand import expand
from datasphinx.agent.embedded.grammar.statement import StatementGrammar
from datasphinx.agent.embedded.selection import ExecutedCandidate, Selection, executed_candidate, is_decided, select
from datasphinx.agent.errors import (
    BudgetExceeded,
    ModelAnswerUnreadable,
    PermissionDenied,
    StatementError,
    Unavailable,
)
from datasphinx.agent.llm.client import WrittenText
from datasphinx.agent.llm.logprobs import Token
from datasphinx.agent.record.step import note
from datasphinx.agent.sources.source import Source
from datasphinx.agent.sql.compare import canonical_sql, is_ordered
from datasphinx.agent.sql.repair import repair

_TEMPERATURE, _FALLBACK_TEMPERATURE = 0.4, 1.0
"""Sampling temperatures: of the regular candidates, and of the additional ones if all of those are doubtful."""

_MAX_CHARS = 800
"""After as many characters, about 270 tokens, no further text is begun: the model is guessing if its texts are long and
unlikely."""

_DUPLICATE_OUTPUT = "it gives the same output twice"
_NO_CONSTRAINTS = QuestionConstraints()
_TIMEOUT_S = 5.0
_ROW_LIMIT = 1000
_BYTE_LIMIT = 5_000_000
_END = " SELECT "
_MIN_LOGPROB = -3.9
"""The least logarithm of the probability of a beginning, which is then tried: 2 %."""


class Write(Protocol):
    """Answers a fixed prompt; equal options give equal texts."""

    def __call__(self, **options: Any) -> WrittenText:
        """Return the model's text. The options are those of `ModelClient.write`."""


def sample_texts(write: Write, count: int, grammar: StatementGrammar | None = None) -> Iterator[WrittenText]:
    """Yield the most likely text, then others; equal prompts give equal texts.

    With `grammar`, the first others are those with another FROM clause that may be more likely. The rest of the first
    `count` texts is sampled. They are followed by the less likely FROM clauses, and by `count` texts that are sampled
    at a higher temperature. A truncated text is yielded as empty. The texts end early if the budget or the time of the
    question is used up, or if they have 800 characters together.
    """
    if grammar:
        write = partial(write, grammar=grammar.text)
    try:
        first = write(temperature=0.0, seed=0, **({"alternatives": True} if grammar and count > 1 else {}))
        chars = len(first.text)
    except ModelAnswerUnreadable as error:
        first, chars = WrittenText(""), len(error.text)
    yield first
    branches = from_branches(first.tokens, grammar)[: count - 1] if grammar else []
    rivals = [branch for branch in branches if first.logprob is None or branch.logprob > first.logprob]
    greedy = {"temperature": 0.0, "seed": 0}
    requests: list[dict[str, Any]] = [{**greedy, "grammar": branch.grammar} for branch in rivals]
    requests += [{"temperature": _TEMPERATURE, "seed": seed} for seed in range(1, count - len(rivals))]
    requests += [{**greedy, "grammar": branch.grammar} for branch in branches[len(rivals) :]]
    requests += [{"temperature": _FALLBACK_TEMPERATURE, "seed": seed} for seed in range(count, 2 * count)]
    for options in requests:
        if chars >= _MAX_CHARS:
            return
        try:
            written = write(**options)
            chars += len(written.text)
        except ModelAnswerUnreadable as error:
            written, chars = WrittenText(""), chars + len(error.text)
        except (BudgetExceeded, Unavailable):
            return
        yield written


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
    lacks_dates: bool = False
    """Whether the range of dates in the question could not be applied to the statement."""
    logprob: float | None = None
    """The natural logarithm of the text's probability; None if unknown."""

    def count_violations(self, constraints: QuestionConstraints) -> int:
        """Return the number of `constraints` that the statement violates.

        A duplicate output and a missing range of dates count as one each.
        """
        return self.has_duplicate_output + self.lacks_dates + constraints.count_violations(self.compact)


def read_candidate(
    written: WrittenText,
    source: Source,
    *,
    question: str = "",
    days: Days | None = None,
    defined: DefinedColumns | None = None,
) -> Candidate:
    """Translate the model's text into a statement for the database, and apply unambiguous repairs.

    `question` and `days` are passed to `datasphinx.agent.embedded.expand.expand`; `defined` are the columns that stand
    for terms and metrics.
    """
    text, logprob = written.text, written.logprob
    try:
        sql = expand(text, defined.catalog if defined else source.catalog, question, days)
        sql = defined.resolved(sql) if defined else sql
        deduplicated = _without_duplicate_outputs(sql, source.catalog.dialect)
    except (ValueError, SqlglotError) as error:
        return Candidate(text, "", problem=str(error), logprob=logprob)
    repaired = repair(deduplicated or sql, source.catalog)
    repairs = "; ".join(([_DUPLICATE_OUTPUT] if deduplicated else []) + ([repaired.description] if repaired else []))
    return Candidate(
        text,
        repaired.sql if repaired else deduplicated or sql,
        repairs,
        has_duplicate_output=deduplicated is not None,
        lacks_dates=any(f"'{day.isoformat()}'" not in sql for day in days or () if day),
        logprob=logprob,
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


def select_candidate(
    candidates: Iterator[Candidate],
    count: int,
    source: Source,
    refused: Collection[str] = (),
    constraints: QuestionConstraints = _NO_CONSTRAINTS,
) -> tuple[Candidate, Selection[Candidate] | None]:
    """Return the selected candidate of `candidates`, and the selection.

    If every candidate fails, the selection is None, and the candidate is the first one not in `refused`, so that its
    error can be reported to the model.

    Of the first `count` candidates, only as many are generated as the selection needs; further ones only until one has
    no violations. Candidates whose `canonical_sql` is in `refused` are not executed. `candidates` has at least one
    item.

    `datasphinx.agent.embedded.selection.select` defines the selection.
    """
    by_canonical_sql: dict[str, Candidate] = {}
    executed: list[ExecutedCandidate[Candidate]] = []
    logprobs: dict[str, float | None] = {}
    for number, candidate in enumerate(candidates, 1):
        logprobs[candidate.compact] = candidate.logprob
        canonical = canonical_sql(candidate.sql, source.catalog.dialect)
        is_new = by_canonical_sql.setdefault(canonical, candidate) is candidate
        if is_new and candidate.sql and canonical not in refused:
            outcome = _execute(candidate, source, candidate.count_violations(constraints))
            executed += [outcome] if outcome else []
        if is_decided(executed, list(logprobs.values()), count - number):
            break
    selection = select(executed)
    if selection is None:
        not_refused = (candidate for canonical, candidate in by_canonical_sql.items() if canonical not in refused)
        return next(not_refused, next(iter(by_canonical_sql.values()))), None
    if selection.others:
        results = 1 + len(selection.others)
        note(f"{len(executed)} candidate statements, {results} different results: selected the most likely statement")
    return selection.best.candidate, selection


def _execute(candidate: Candidate, source: Source, violations: int) -> ExecutedCandidate[Candidate] | None:
    """Execute the statement of `candidate` within short limits; return None if it fails."""
    source = with_short_limits(source)
    try:
        result = source.execute(candidate.sql)
    except (StatementError, PermissionDenied):
        return None
    ordered = is_ordered(candidate.sql, source.catalog.dialect)
    return executed_candidate(candidate, result, violations, candidate.logprob, ordered=ordered)


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


@dataclass(frozen=True)
class Branch:
    """The beginning of other statements."""

    start: str
    logprob: float
    """The natural logarithm of the probability of `start`, which no statement that begins so can exceed."""
    grammar: str
    """The grammar of these statements."""


def from_branches(tokens: Sequence[Token], grammar: StatementGrammar) -> list[Branch]:
    """Return the other beginnings of a statement in its first FROM clause, the most probable first.

    `tokens` are those of the generated statement, of which `grammar` allows all.
    """
    statement = "".join(token.text for token in tokens)
    roots: dict[str, tuple[float, str]] = {}
    before, logprob = "", 0.0
    for token in tokens:
        if _END in before:
            break
        for text, alternative in token.alternatives.items():
            start, total = before + text, logprob + alternative
            # Another division of the same statement into tokens is no other beginning.
            if total >= _MIN_LOGPROB and not statement.startswith(start):
                root = grammar.joins.root(start)
                if root and (root not in roots or roots[root][0] < total):
                    roots[root] = total, start
        before += token.text
        logprob += token.logprob
    ranked = sorted(roots.items(), key=lambda item: -item[1][0])
    return [Branch(start, total, grammar.with_root(root)) for root, (total, start) in ranked]
