"""The log of one question in Sphinteract's shape, with what is needed besides to make a report of it."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from agent.audit.step import add_costs
from agent.evals.experiments.entries import Said
from agent.evals.experiments.method import FAILED, Failed
from agent.evals.naming import Overlap
from agent.evals.report import Outcome

_SUMMED = ("llm_calls", "tokens", "generations", "seconds", "written_tokens", "writing_s")

Entry = tuple[int, str, str, float | None]
"""Order among all entries of the question, from 0; prompt; output; perplexity."""


@dataclass(frozen=True)
class Round:
    """What a round came to; round 0 is the first answer. `asked` is whether a question was put to the user in it."""

    number: int
    match: bool
    sql: str | None
    error: str | None = None
    asked: bool = False


@dataclass(frozen=True)
class Spent:
    """Calls of a model, their tokens and their price in US dollars; None where that is not known."""

    calls: int = 0
    tokens: int = 0
    cost_usd: float | None = 0.0


@dataclass
class QuestionLog:
    """All that happened to one question."""

    id: str
    db_id: str
    question: str
    sql_log: list[Entry] = field(default_factory=list)
    """The statements, each with the prompt that brought it."""
    cq_log: list[Entry] = field(default_factory=list)
    """The reviews of ambiguities, each with the question that was put to the user, or NO AMBIGUITY."""
    feedback_log: list[Entry] = field(default_factory=list)
    """What the oracle answered."""
    num_cq_asked: int | Failed = FAILED
    """The round that brought the match, from 0, as the published program counts; "Failed" where none did."""
    questions_asked: int = 0
    """Questions that were put to the user."""
    rounds: list[Round] = field(default_factory=list)
    outcome: Outcome = field(default_factory=lambda: Outcome(""))
    """How the last round ended, with the calls, tokens, money and time of all rounds."""
    oracle: Spent = Spent()
    """What the oracle spent."""

    @property
    def match(self) -> bool:
        """Whether the last round brought the rows of the reference."""
        return self.outcome.match

    @property
    def perplexity(self) -> float | None:
        """The perplexity of the last statement; None where it is not known."""
        return self.sql_log[-1][3] if self.sql_log else None

    def add(self, kind: str, said: Said) -> None:
        """Put what was said at the end of the log `kind`: "sql", "cq" or "feedback"."""
        order = len(self.sql_log) + len(self.cq_log) + len(self.feedback_log)
        getattr(self, f"{kind}_log").append((order, said.prompt, said.output, said.perplexity))

    def count(self, outcome: Outcome) -> None:
        """Make `outcome` that of the question, with what the turns before it cost added."""
        before = self.outcome
        sums = {name: getattr(before, name) + getattr(outcome, name) for name in _SUMMED}
        cost = add_costs((before.cost_usd, outcome.cost_usd))
        self.outcome = replace(outcome, cost_usd=cost, **sums)

    def count_feedback(self, spent: Spent) -> None:
        """Count a question that was answered, and what the answer took."""
        self.questions_asked += 1
        cost = add_costs((self.oracle.cost_usd, spent.cost_usd))
        self.oracle = Spent(self.oracle.calls + spent.calls, self.oracle.tokens + spent.tokens, cost)

    def as_json(self) -> dict[str, Any]:
        """Return the log as plain values, the four fields of the published logs among them."""
        return asdict(self)


def log_of(record: Mapping[str, Any]) -> QuestionLog:
    """Return the log that `as_json` gave.

    Raises:
        KeyError, TypeError: it gave no such thing.
    """
    outcome = record["outcome"]
    overlaps = {name: Overlap(**outcome[name]) for name in ("tables", "columns")}
    entries = {name: [tuple(entry) for entry in record[name]] for name in ("sql_log", "cq_log", "feedback_log")}
    rounds = [Round(**each) for each in record["rounds"]]
    made = {"rounds": rounds, "oracle": Spent(**record["oracle"]), "outcome": Outcome(**{**outcome, **overlaps})}
    return QuestionLog(**{**record, **entries, **made})
