"""The report of an evaluation, by question and in total, and its progress bar."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import ceil
from statistics import median
from typing import Any

import numpy as np

from datasphinx.agent.errors import StatementRefused
from datasphinx.agent.record.step import add_costs
from datasphinx.agent.schema.catalog import Catalog
from datasphinx.agent.sql.names import ReferencedNames, referenced_names

_RESAMPLES = 10_000
_SEED = 20_250_501
_TAIL_PERCENT = 2.5


@dataclass(frozen=True)
class Overlap:
    """Counts of names used, of names expected, and of names in both."""

    both: int = 0
    named: int = 0
    expected: int = 0

    def __add__(self, other: "Overlap") -> "Overlap":
        return Overlap(self.both + other.both, self.named + other.named, self.expected + other.expected)

    @property
    def precision(self) -> float | None:
        """Share of the used names that were expected; None if none was used."""
        return self.both / self.named if self.named else None

    @property
    def recall(self) -> float | None:
        """Share of the expected names that were used; None if none was expected."""
        return self.both / self.expected if self.expected else None


def overlaps(sql: str | None, reference: str, catalog: Catalog) -> tuple[Overlap, Overlap]:
    """Return the overlaps of the tables and of the columns that `sql` and `reference` name.

    Without `sql` no names are used; if the reference cannot be parsed, the counts are zero.
    """
    expected = referenced_names(reference, catalog)
    if not expected.tables:
        return Overlap(), Overlap()
    used = referenced_names(sql, catalog) if sql else ReferencedNames()
    return _overlap(used.tables, expected.tables), _overlap(used.columns, expected.columns)


def _overlap(used: frozenset[str], expected: frozenset[str]) -> Overlap:
    return Overlap(len(used & expected), len(used), len(expected))


def bootstrap_interval(matched: int, questions: int) -> tuple[float, float]:
    """Return the 95 % confidence interval of `matched / questions`, as shares from 0 to 1; deterministic.

    It is the percentile bootstrap (Efron 1979) with 10,000 resamples and a fixed seed. The number of matches in a
    resample is binomial, so it is drawn directly. Without questions, or if all or none match, the interval has no
    width.
    """
    if not questions:
        return 0.0, 0.0
    resampled = np.random.default_rng(_SEED).binomial(questions, matched / questions, _RESAMPLES) / questions
    low, high = np.percentile(resampled, (_TAIL_PERCENT, 100 - _TAIL_PERCENT))
    return float(low), float(high)


@dataclass(frozen=True)
class Outcome:
    """The outcome of one question. `error` is the code of a failure, `reason` its message, `sql` the last statement."""

    id: str
    match: bool = False
    error: str | None = None
    reason: str | None = None
    sql: str | None = None
    llm_calls: int = 0
    tokens: int = 0
    generations: int = 0
    """Number of generated statements; several candidates for one count once."""
    seconds: float = 0.0
    """Seconds from the question to the answer."""
    written_tokens: int = 0
    """Completion tokens of all statements written by the model."""
    writing_s: float = 0.0
    """Seconds for generating them, including their prompts."""
    cost_usd: float | None = 0.0
    """Price of the model's calls in US dollars; None if unknown."""
    confidence: float | None = None
    """The confidence in the answer, from 0 to 1; None if there is none."""
    tables: Overlap = Overlap()
    """Overlap of the tables named by the statement and the reference."""
    columns: Overlap = Overlap()
    """Overlap of the columns named by the statement and the reference."""

    @property
    def refused(self) -> bool:
        """True if the guard refused the last statement."""
        return self.error in {StatementRefused.code, "system_catalog_refused"}


@dataclass
class Report:
    """The outcomes so far, in the order of the questions."""

    outcomes: list[Outcome] = field(default_factory=list)

    @property
    def n(self) -> int:
        """Number of questions."""
        return len(self.outcomes)

    @property
    def matched(self) -> int:
        """Number of questions whose answer has the rows of the reference."""
        return sum(outcome.match for outcome in self.outcomes)

    @property
    def execution_match(self) -> float:
        """Share of matched questions, from 0 to 1; 0 without questions."""
        return self.matched / self.n if self.n else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % confidence interval of the execution match, by bootstrap."""
        return bootstrap_interval(self.matched, self.n)

    @property
    def refused(self) -> int:
        """Number of questions whose last statement the guard refused."""
        return sum(outcome.refused for outcome in self.outcomes)

    @property
    def errors(self) -> int:
        """Number of questions without an answer for any other reason."""
        return len(self.unanswered) - self.refused

    @property
    def llm_calls(self) -> int:
        """Number of model calls."""
        return sum(outcome.llm_calls for outcome in self.outcomes)

    @property
    def asked_again(self) -> int:
        """Number of questions for which more than one statement was generated."""
        return sum(outcome.generations > 1 for outcome in self.outcomes)

    @property
    def tokens(self) -> int:
        """Prompt and completion tokens."""
        return sum(outcome.tokens for outcome in self.outcomes)

    @property
    def seconds(self) -> dict[str, float]:
        """Seconds per question: the median, and the 95th percentile (nearest rank)."""
        durations = sorted(outcome.seconds for outcome in self.outcomes)
        if not durations:
            return {"median": 0.0, "p95": 0.0}
        return {"median": round(median(durations), 3), "p95": round(durations[ceil(0.95 * len(durations)) - 1], 3)}

    @property
    def tokens_per_second(self) -> float:
        """Statement tokens per second of generation, including prompts; 0 if none was generated."""
        seconds = sum(outcome.writing_s for outcome in self.outcomes)
        return round(sum(outcome.written_tokens for outcome in self.outcomes) / seconds, 1) if seconds else 0.0

    @property
    def cost_usd(self) -> float | None:
        """Price of all calls in US dollars; None if the price of any call is unknown."""
        return add_costs(outcome.cost_usd for outcome in self.outcomes)

    @property
    def per_question(self) -> dict[str, float | None]:
        """Average and median calls, average tokens and US dollars per question; the price is None if any is unknown."""
        questions, cost = max(self.n, 1), self.cost_usd
        calls = [outcome.llm_calls for outcome in self.outcomes]
        means: dict[str, float | None] = {"llm_calls_median": median(calls) if calls else 0.0}
        means |= {"llm_calls": round(self.llm_calls / questions, 3), "tokens": round(self.tokens / questions, 1)}
        return {**means, "cost_usd": None if cost is None else round(cost / questions, 6)}

    @property
    def tables(self) -> Overlap:
        """Overlap of tables over all questions."""
        return sum((outcome.tables for outcome in self.outcomes), Overlap())

    @property
    def columns(self) -> Overlap:
        """Overlap of columns over all questions."""
        return sum((outcome.columns for outcome in self.outcomes), Overlap())

    @property
    def unanswered(self) -> list[Outcome]:
        """Outcomes without an answer, including refused ones."""
        return [outcome for outcome in self.outcomes if outcome.error]

    def as_json(self) -> dict[str, Any]:
        """Return the totals, and the ids and statements of the questions with other rows or without an answer."""
        totals = ("n", "execution_match", "refused", "errors", "llm_calls", "asked_again", "tokens")
        speed = ("seconds", "tokens_per_second")
        unanswered = [
            {"id": outcome.id, "error": outcome.error, "reason": outcome.reason, "sql": outcome.sql}
            for outcome in self.unanswered
        ]
        figures = {name: getattr(self, name) for name in (*totals, *speed)}
        details = {
            "execution_match_interval": [round(bound, 4) for bound in self.interval],
            "cost_usd": self.cost_usd,
            "per_question": self.per_question,
            "tables": _shares(self.tables),
            "columns": _shares(self.columns),
        }
        wrong = [{"id": each.id, "sql": each.sql} for each in self.outcomes if not (each.match or each.error)]
        return {**figures, **details, "wrong": wrong, "unanswered": unanswered}


def _shares(overlap: Overlap) -> dict[str, float | None]:
    shares = {"precision": overlap.precision, "recall": overlap.recall}
    return {name: None if share is None else round(share, 4) for name, share in shares.items()}


Progress = Callable[[Report, int], None]
"""Called before the first question and after each one, with the report so far and the total number of questions."""


@contextmanager
def progress_bar(*, quiet: bool = False) -> Iterator[Progress]:
    """Yield a `Progress` that shows a bar with the current result on standard error, or nothing if it is `quiet`.

    The bar appears with the first call, below any output of the model's download.
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    bar = Bar(*columns, console=Console(stderr=True, quiet=quiet))
    task = bar.add_task("execution match")

    def show(report: Report, total: int) -> None:
        bar.start()
        shown = f"execution match {report.execution_match:.2%}, refused {report.refused}, errors {report.errors}"
        bar.update(task, total=total, completed=report.n, description=shown)

    try:
        yield show
    finally:
        bar.stop()
