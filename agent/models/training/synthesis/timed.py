"""Rows with a date, and how a question says which of several dates it means."""

from agent.models.training.synthesis.conditions import is_main_date, participle
from agent.models.training.synthesis.nouns import Language, Term
from agent.models.training.synthesis.reader import Reader
from agent.models.training.synthesis.subject import Subject, subject
from agent.models.training.synthesis.view import Field


def timed(reader: Reader) -> tuple[Subject, Field] | None:
    """Return rows of a table with dates, and one of these; None where no table has any."""
    entities = reader.view.all_with("dates")
    if not entities:
        return None
    entity = reader.rng.choice(entities)
    main = [column for column in entity.dates if is_main_date(entity, column)]
    column = main[0] if main and reader.rng.random() < 0.7 else reader.rng.choice(entity.dates)
    return subject(entity, reader), column


def dated_name(term: Term, rows: Subject, column: Field) -> Term:
    """Return `term` with the date that is meant, where that does not go without saying."""
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
