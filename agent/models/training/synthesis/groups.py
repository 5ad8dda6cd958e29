"""What rows are told apart by: a category of their own, a parent's name, a parent's category."""

from dataclasses import dataclass

from agent.models.training.synthesis.nouns import Term, term_of
from agent.models.training.synthesis.reader import Reader
from agent.models.training.synthesis.view import Entity, Field, Link, View


@dataclass(frozen=True)
class Group:
    """What to select and to group by, the joins that bring it in, and what it is called in the singular."""

    select: tuple[str, ...]
    by: tuple[str, ...]
    joins: tuple[str, ...]
    term: Term
    label: bool = False
    """True where each group is one row of another table."""


def groups(entity: Entity, view: View) -> list[Group]:
    """Return all that rows of `entity` can be grouped by, over at most two foreign keys."""
    found = [_category(column, ()) for column in entity.categories]
    for joins, parent in _above(entity, view):
        found.extend(_category(column, joins, parent) for column in parent.categories)
        if parent.labels:
            found.append(_label(parent, joins))
    return found


def some_group(entity: Entity, reader: Reader, *, label: bool | None = None) -> Group | None:
    """Return one of the groups, only those by a parent's name or only the others where `label` says so."""
    found = [group for group in groups(entity, reader.view) if label is None or group.label == label]
    near = [group for group in found if len(group.joins) < 2]
    if not found:
        return None
    return reader.rng.choice(near if near and reader.rng.random() < 0.75 else found)


def _above(entity: Entity, view: View) -> list[tuple[tuple[str, ...], Entity]]:
    found: list[tuple[tuple[str, ...], Entity]] = []
    met = {entity.table.name}
    for link in entity.parents:
        if link.parent not in met:
            met.add(link.parent)
            found.append(((link.join(link.parent),), view.parent(link)))
    for joins, parent in list(found):
        for link in parent.parents:
            if link.parent not in met:
                met.add(link.parent)
                found.append(((*joins, link.join(link.parent)), view.parent(link)))
    return found


def _category(column: Field, joins: tuple[str, ...], parent: Entity | None = None) -> Group:
    words = (*parent.words, *column.words) if parent and not set(parent.words) & set(column.words) else column.words
    return Group((column.sql,), (column.sql,), joins, term_of(words))


def _label(parent: Entity, joins: tuple[str, ...]) -> Group:
    """A name may belong to several rows, so the key stands in the GROUP BY too."""
    names = tuple(label.sql for label in parent.labels)
    key = parent.key_sql
    return Group(names, names if key is None or key in names else (key, *names), joins, parent.term, label=True)


def path(link: Link, to: str) -> tuple[str, ...]:
    """Return the join that brings `to`, one of the ends of `link`, in."""
    return (link.join(to),)
