"""The subject of a question: rows of a table with conditions, the dates and columns named, and the groups of rows."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from training.synthesis.conditions import Condition, any_condition, by_period, is_main_date, participle
from training.synthesis.draft import Query
from training.synthesis.nouns import Language, Noun, Term, english, plain, term_of
from training.synthesis.periods import Period, period
from training.synthesis.view import Entity, Field, NoFit, Reader, View

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
    """Rows of `entity` that meet all `conditions`; `term` is their wording."""

    entity: Entity
    term: Term
    conditions: tuple[Condition, ...] = ()

    @property
    def where(self) -> tuple[str, ...]:
        """The predicates of the conditions."""
        return tuple(condition.sql for condition in self.conditions)

    def query(self, *select: str) -> Query:
        """Return a query that selects from these rows."""
        return Query(select, self.entity.sql, where=self.where)

    def when(self, condition: Condition | None) -> "Subject":
        """Return the rows that also meet `condition`."""
        if condition is None:
            return self
        return Subject(self.entity, condition.on(self.term), (*self.conditions, condition))


def subject(entity: Entity, reader: Reader) -> Subject:
    """Return all rows of `entity`, named by the table or sometimes by a synonym."""
    synonyms = _SYNONYMS.get(" ".join(entity.words), ())
    if synonyms and reader.rng.random() < 0.3:
        other = reader.rng.choice(synonyms)
        return Subject(entity, {**term_of(entity.words), "en": english(other)})
    return Subject(entity, entity.term)


def restricted(entity: Entity, reader: Reader) -> Subject:
    """Return rows of `entity` with a random condition, if it has a suitable column."""
    return subject(entity, reader).when(any_condition(entity, reader))


def dated(entity: Entity, reader: Reader, make: Callable[..., Period] = period, column: Field | None = None) -> Subject:
    """Return rows of `entity` in a random period, if it has a date."""
    return subject(entity, reader).when(by_period(entity, reader, make, column))


def some(entity: Entity, reader: Reader, *, plain: float = 0.5) -> Subject:
    """Return all rows of `entity` with probability `plain`, else rows with a condition or in a period."""
    if reader.rng.random() < plain:
        return subject(entity, reader)
    return (dated if entity.dates and reader.rng.random() < 0.5 else restricted)(entity, reader)


@dataclass(frozen=True)
class Group:
    """A grouping of rows: its outputs, GROUP BY expressions and joins, and its name in the singular."""

    select: tuple[str, ...]
    by: tuple[str, ...]
    joins: tuple[str, ...]
    term: Term
    label: bool = False
    """Whether each group is one row of another table."""

    def query(self, rows: Subject, *select: str) -> Query:
        """Return a query that selects the groups of `rows` and, for each, `select`."""
        return replace(rows.query(*self.select, *select), joins=self.joins, group=self.by)


def groups(entity: Entity, view: View) -> list[Group]:
    """Return all groupings of rows of `entity`, over at most two foreign keys."""
    groupings = [_category(column, ()) for column in entity.categories]
    for joins, parent in _above(entity, view):
        groupings.extend(_category(column, joins, parent) for column in parent.categories)
        if parent.labels:
            groupings.append(_label(parent, joins))
    return groupings


def some_group(entity: Entity, reader: Reader, *, label: bool | None = None) -> Group | None:
    """Return a random grouping, or None; `label` restricts it to groupings by the name of a parent, or the others."""
    groupings = [group for group in groups(entity, reader.view) if label is None or group.label == label]
    near = [group for group in groupings if len(group.joins) < 2]
    if not groupings:
        return None
    return reader.rng.choice(near if near and reader.rng.random() < 0.75 else groupings)


def _above(entity: Entity, view: View) -> list[tuple[tuple[str, ...], Entity]]:
    parents: list[tuple[tuple[str, ...], Entity]] = []
    visited = {entity.table.name}
    for link in entity.parents:
        if link.parent not in visited:
            visited.add(link.parent)
            parents.append(((link.join(link.parent),), view.parent(link)))
    for joins, parent in list(parents):
        for link in parent.parents:
            if link.parent not in visited:
                visited.add(link.parent)
                parents.append(((*joins, link.join(link.parent)), view.parent(link)))
    return parents


def _category(column: Field, joins: tuple[str, ...], parent: Entity | None = None) -> Group:
    words = (*parent.words, *column.words) if parent and not set(parent.words) & set(column.words) else column.words
    return Group((column.sql,), (column.sql,), joins, term_of(words))


def _label(parent: Entity, joins: tuple[str, ...]) -> Group:
    """Group by the name of a parent; the key is included, since several rows may have the same name."""
    names = tuple(label.sql for label in parent.labels)
    key = parent.key_sql
    return Group(names, names if key is None or key in names else (key, *names), joins, parent.term, label=True)


def required_group(
    entity: Entity, reader: Reader, conditions: Sequence[str] = (), *, label: bool | None = None
) -> Group:
    """Return a random grouping as `some_group` does.

    Raises:
        NoFit: there is none, or one of `conditions` is on an output of it.
    """
    group = some_group(entity, reader, label=label)
    if group is None or any(name in condition for name in group.select for condition in conditions):
        raise NoFit
    return group


def timed(reader: Reader) -> tuple[Subject, Field]:
    """Return rows of a random table with dates and one of the dates.

    Raises:
        NoFit: no table has dates.
    """
    entity = reader.entity_with("dates")
    main = [column for column in entity.dates if is_main_date(entity, column)]
    column = main[0] if main and reader.rng.random() < 0.7 else reader.rng.choice(entity.dates)
    return subject(entity, reader), column


def dated_name(term: Term, rows: Subject, column: Field) -> Term:
    """Return `term` with the name of the date column, unless it is the main date or already named."""
    if is_main_date(rows.entity, column) or any(condition.date == column for condition in rows.conditions):
        return term
    noun = column.term
    english = f"{participle(column)} date" if participle(column) else f"{noun['en']:n}"
    after: dict[Language, str] = {
        "en": f" (by {english})",
        "ru": f" (по полю «{noun['ru']:n}»)",
        "zh": f"（按{noun['zh']:n}）",
    }
    return {language: word.within(after=after[language]) for language, word in term.items()}


def some_columns(entity: Entity, reader: Reader) -> list[Field]:
    """Return the columns of a list: the name of `entity`, if any, and usually one more; may be empty."""
    others = [*entity.categories, *entity.measures, *entity.dates]
    first = list(entity.labels)
    count = reader.rng.choice([0, 1, 1] if first else [1, 2])
    return first + reader.rng.sample(others, min(count, len(others)))


def enumerated(columns: Sequence[Field]) -> Term:
    """Return the names of `columns` as one noun, such as "name, city and price"."""

    def joined(names: list[str], last: str, comma: str) -> str:
        return names[0] if len(names) == 1 else f"{comma.join(names[:-1])}{last}{names[-1]}"

    def forms(language: Language, last: str, comma: str) -> Noun:
        one, accusative, many = (
            joined([format(c.term[language], form) for c in columns], last, comma) for form in "naN"
        )
        return replace(plain(one), a=accusative, N=many)

    return {"en": forms("en", " and ", ", "), "ru": forms("ru", " и ", ", "), "zh": forms("zh", "和", "、")}
