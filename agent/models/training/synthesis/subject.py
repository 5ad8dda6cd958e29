"""The rows that a question is about: a table with conditions, as a noun with all that is said of it."""

from collections.abc import Callable
from dataclasses import dataclass

from agent.models.training.synthesis.conditions import Condition, any_condition, by_period
from agent.models.training.synthesis.nouns import Term, english, term_of
from agent.models.training.synthesis.periods import Period, period
from agent.models.training.synthesis.query import Query
from agent.models.training.synthesis.reader import Reader
from agent.models.training.synthesis.view import Entity, Field

_SYNONYMS = {
    "customer": ("client",),
    "client": ("customer",),
    "employee": ("staff member", "worker"),
    "staff": ("employee", "staff member"),
    "movie": ("film",),
    "donation": ("gift",),
    "pupil": ("student",),
    "shop": ("store",),
    "store": ("shop",),
    "courier": ("rider",),
    "purchase": ("order",),
}


@dataclass(frozen=True)
class Subject:
    """Rows of `entity` that meet all `conditions`; `term` says so."""

    entity: Entity
    term: Term
    conditions: tuple[Condition, ...] = ()

    @property
    def where(self) -> tuple[str, ...]:
        """The predicates."""
        return tuple(condition.sql for condition in self.conditions)

    def query(self, *select: str) -> Query:
        """Return a query that selects from these rows."""
        return Query(select, self.entity.sql, where=self.where)

    def when(self, condition: Condition | None) -> "Subject":
        """Return the rows that meet `condition` too."""
        if condition is None:
            return self
        return Subject(self.entity, condition.on(self.term), (*self.conditions, condition))


def subject(entity: Entity, reader: Reader) -> Subject:
    """Return all rows of `entity`, called by its name or now and then by a synonym of it."""
    synonyms = _SYNONYMS.get(" ".join(entity.words), ())
    if synonyms and reader.rng.random() < 0.3:
        other = reader.rng.choice(synonyms)
        return Subject(entity, {**term_of(entity.words), "en": english(other)})
    return Subject(entity, entity.term)


def restricted(entity: Entity, reader: Reader) -> Subject:
    """Return rows of `entity` with a condition on them, where it has a column for one."""
    return subject(entity, reader).when(any_condition(entity, reader))


def dated(entity: Entity, reader: Reader, make: Callable[..., Period] = period, column: Field | None = None) -> Subject:
    """Return rows of `entity` in a stretch of time, where it has a date."""
    return subject(entity, reader).when(by_period(entity, reader, make, column))


def some(entity: Entity, reader: Reader, *, plain: float = 0.5) -> Subject:
    """Return rows of `entity`: with probability `plain` all, else with a condition or in a stretch of time."""
    if reader.rng.random() < plain:
        return subject(entity, reader)
    return (dated if entity.dates and reader.rng.random() < 0.5 else restricted)(entity, reader)
