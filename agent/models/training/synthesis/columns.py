"""The columns that a list shows, and how they are enumerated."""

from dataclasses import replace

from agent.models.training.synthesis.nouns import Language, Noun, Term, plain
from agent.models.training.synthesis.reader import Reader
from agent.models.training.synthesis.view import Entity, Field


def some_columns(entity: Entity, reader: Reader) -> list[Field]:
    """Return the name where `entity` has one, and mostly another column; nothing where it has none to show."""
    others = [*entity.categories, *entity.measures, *entity.dates]
    first = list(entity.labels)
    count = reader.rng.choice([0, 1, 1] if first else [1, 2])
    return first + reader.rng.sample(others, min(count, len(others)))


def enumerated(columns: list[Field]) -> Term:
    """Return the names of `columns` as one noun: "name, city and price"."""

    def joined(names: list[str], last: str, comma: str) -> str:
        return names[0] if len(names) == 1 else f"{comma.join(names[:-1])}{last}{names[-1]}"

    def forms(language: Language, last: str, comma: str) -> Noun:
        one, accusative, many = (
            joined([format(c.term[language], form) for c in columns], last, comma) for form in "naN"
        )
        return replace(plain(one), a=accusative, N=many)

    return {"en": forms("en", " and ", ", "), "ru": forms("ru", " и ", ", "), "zh": forms("zh", "和", "、")}
