"""The log of one question in Sphinteract's format, with the additional data of the report."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from benchmarks.experiments.options import FAILED, Failed
from datasphinx.agent.clarify.feedback import describe_option
from datasphinx.agent.evals.report import Outcome, Overlap
from datasphinx.agent.llm.parse import read_answer
from datasphinx.agent.llm.schemas import AmbiguityReview, GeneratedSQL, ReadingOption, SQLValidation
from datasphinx.agent.record.events import Event
from datasphinx.agent.record.step import add_costs
from datasphinx.agent.types import ClarifyingQuestion

_captured_events: ContextVar[list[Event] | None] = ContextVar("captured_events", default=None)


_SUMMED = ("llm_calls", "tokens", "generations", "seconds", "written_tokens", "writing_s")


@contextmanager
def capture_events() -> Iterator[list[Event]]:
    """Yield a list that receives the events of the block in order."""
    events: list[Event] = []
    token = _captured_events.set(events)
    try:
        yield events
    finally:
        _captured_events.reset(token)


class EventCapture:
    """A sink of the record that passes events to `capture_events` in the same context."""

    def append(self, events: Sequence[Event]) -> None:
        """Add `events` to the active capture, if there is one."""
        captured = _captured_events.get()
        if captured is not None:
            captured.extend(events)


Body = Mapping[str, Any]
ChooseCall = Callable[[Sequence[Body], str], Body]
"""Selects, from the calls that wrote candidates, the one that wrote the executed statement."""


@dataclass(frozen=True)
class Exchange:
    """A prompt and its output, with the perplexity if known."""

    prompt: str
    output: str
    perplexity: float | None = None


def last_call(calls: Sequence[Body], statement: str) -> Body:
    """Return the last of `calls`, for a model that writes one statement."""
    return calls[-1]


def generated_statements(events: Sequence[Event], choose: ChooseCall = last_call) -> Iterator[Exchange]:
    """Yield the statements of a run in order, whether generated, corrected or repaired.

    For a repair without the model, the prompt is the note of the repair. An answer without SQL is yielded unchanged.
    """
    calls: list[Body] = []
    statement = ""
    for event in events:
        body = event.body
        if event.kind == "llm" and body["schema"] in (GeneratedSQL.__name__, SQLValidation.__name__):
            calls.append(body)
        if event.kind != "step":
            continue
        sql = body.get("sql_request", "")
        is_new = bool(sql) and sql != statement
        if calls and (is_new or body["node"] == "generate_sql"):
            call = choose(calls, sql)
            yield _exchange(call, sql or call["output"])
        elif is_new:
            yield Exchange("; ".join(body["notes"]), sql)
        statement, calls = sql or statement, []


def ambiguity_review(events: Sequence[Event]) -> Exchange | None:
    """Return the model's last ambiguity review or answer with alternatives; None if there was none."""
    calls = [event.body for event in events if event.kind == "llm"]
    reviews = [call for call in calls if call["schema"] == AmbiguityReview.__name__ or proposed_options(call)]
    return _exchange(reviews[-1], reviews[-1]["output"]) if reviews else None


def proposed_options(call: Body) -> list[ReadingOption]:
    """Return the readings in the output of a recorded call: those of a review, or alternatives to a statement."""
    try:
        if call["schema"] == AmbiguityReview.__name__:
            return read_answer(call["output"], AmbiguityReview).options
        if call["schema"] == GeneratedSQL.__name__:
            return read_answer(call["output"], GeneratedSQL).alternatives
    except ValueError:
        pass
    return []


def format_clarification(clarification: ClarifyingQuestion) -> str:
    """Return a clarifying question with its options, numbered from 1, as text for the user."""
    lines = (f"{number}) {describe_option(option)}" for number, option in enumerate(clarification["options"], 1))
    return "\n".join([clarification["question"], *lines])


def _exchange(call: Body, output: str) -> Exchange:
    prompt = "\n\n".join(str(message["content"]) for message in call["messages"])
    return Exchange(prompt, output, call.get("perplexity"))


Entry = tuple[int, str, str, float | None]
"""Position among all entries of the question, from 0; prompt; output; perplexity."""


@dataclass(frozen=True)
class Round:
    """The outcome of a round; round 0 is the first answer. `asked` is whether the user was asked a question in it."""

    number: int
    match: bool
    sql: str | None
    error: str | None = None
    asked: bool = False


@dataclass(frozen=True)
class Usage:
    """Model calls, their tokens and their price in US dollars; the price is None if unknown."""

    calls: int = 0
    tokens: int = 0
    cost_usd: float | None = 0.0


@dataclass
class QuestionLog:
    """The complete log of one question."""

    id: str
    db_id: str
    question: str
    sql_log: list[Entry] = field(default_factory=list)
    """The statements, with their prompts."""
    cq_log: list[Entry] = field(default_factory=list)
    """The ambiguity reviews, with the question put to the user, or NO AMBIGUITY."""
    feedback_log: list[Entry] = field(default_factory=list)
    """The answers of the oracle."""
    num_cq_asked: int | Failed = FAILED
    """Round of the match, from 0, as the published program counts; "Failed" if there was none."""
    questions_asked: int = 0
    """Number of questions put to the user."""
    rounds: list[Round] = field(default_factory=list)
    outcome: Outcome = field(default_factory=lambda: Outcome(""))
    """Outcome of the last round, with the calls, tokens, price and time of all rounds."""
    oracle: Usage = Usage()
    """Usage of the oracle."""

    @property
    def match(self) -> bool:
        """Whether the last round gave the rows of the reference."""
        return self.outcome.match

    @property
    def perplexity(self) -> float | None:
        """Perplexity of the last statement; None if unknown."""
        return self.sql_log[-1][3] if self.sql_log else None

    def add(self, kind: str, exchange: Exchange) -> None:
        """Append `exchange` to the log `kind`: "sql", "cq" or "feedback"."""
        order = len(self.sql_log) + len(self.cq_log) + len(self.feedback_log)
        getattr(self, f"{kind}_log").append((order, exchange.prompt, exchange.output, exchange.perplexity))

    def count(self, outcome: Outcome) -> None:
        """Set the outcome to `outcome`, plus the usage of all previous turns."""
        previous = self.outcome
        sums = {name: getattr(previous, name) + getattr(outcome, name) for name in _SUMMED}
        cost = add_costs((previous.cost_usd, outcome.cost_usd))
        self.outcome = replace(outcome, cost_usd=cost, **sums)

    def count_feedback(self, usage: Usage) -> None:
        """Count an answered question and the `usage` of its answer."""
        self.questions_asked += 1
        cost = add_costs((self.oracle.cost_usd, usage.cost_usd))
        self.oracle = Usage(self.oracle.calls + usage.calls, self.oracle.tokens + usage.tokens, cost)

    def as_json(self) -> dict[str, Any]:
        """Return the log as JSON values, including the four fields of the published logs."""
        return asdict(self)


def log_from_json(record: Mapping[str, Any]) -> QuestionLog:
    """Return the log that `as_json` serialised.

    Raises:
        KeyError, TypeError: `record` is not a log.
    """
    outcome = record["outcome"]
    overlaps = {name: Overlap(**outcome[name]) for name in ("tables", "columns")}
    entries = {name: [tuple(entry) for entry in record[name]] for name in ("sql_log", "cq_log", "feedback_log")}
    rounds = [Round(**fields) for fields in record["rounds"]]
    nested = {"rounds": rounds, "oracle": Usage(**record["oracle"]), "outcome": Outcome(**{**outcome, **overlaps})}
    return QuestionLog(**{**record, **entries, **nested})
