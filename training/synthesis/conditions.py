"""Conditions on the rows of a table, with their wording in three languages."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from datasphinx.agent.schema.words import spelt_words
from training.synthesis.draft import literal
from training.synthesis.nouns import Language, Noun, Term
from training.synthesis.periods import Period, period, year_number
from training.synthesis.view import Entity, Field, Reader

_ADJECTIVE_COLUMNS = {"status", "state", "type", "kind", "priority", "segment", "category", "cuisine", "stage", "mode"}
_ADJECTIVE = re.compile(r"(ed|able|ile|ing|ive|ian|paid|sold|spent|held|sent)$")
_PARTICIPLE = re.compile(r"(ed|sold|bought|paid|sent|left|driven|taken|made|spent|held|given)$")
_PEOPLE = re.compile(
    r"customer|client|guest|patient|member|passenger|donor|pupil|student|author|requester|buyer|person|listener|player|"
    r"subscriber|holder|driver|employee|volunteer|supplier|artist|singer"
)
_EVENT = re.compile(r"creat|^date$|issued_on|opened_at|placed|booked|sold|bought", re.I)
_WITH_RU = {
    "status": "со статусом", "state": "в состоянии", "type": "с типом", "kind": "вида", "category": "в категории",
    "city": "из города", "country": "из страны", "region": "из региона", "priority": "с приоритетом",
    "segment": "из сегмента", "genre": "в жанре", "channel": "по каналу", "method": "со способом", "gender": "с полом",
    "industry": "из отрасли", "nationality": "с национальностью",
}  # fmt: skip


@dataclass(frozen=True)
class Condition:
    """A predicate, and for each language the words before and after the noun that it restricts."""

    sql: str
    before: dict[Language, str]
    after: dict[Language, str]
    date: Field | None = None
    """The date column that the predicate restricts to a period."""

    def on(self, noun: Term) -> Term:
        """Return `noun` with the wording of the condition."""
        return {language: word.within(self.before[language], self.after[language]) for language, word in noun.items()}


def wording(en: str, ru: str, zh: str, *, before: bool = False) -> tuple[dict[Language, str], dict[Language, str]]:
    """Return the words before and after the noun; in Chinese, all words come before it."""
    first: dict[Language, str] = {"en": f"{en} " if before else "", "ru": "", "zh": zh}
    return first, {"en": "" if before else f" {en}", "ru": f" {ru}", "zh": ""}


def any_condition(entity: Entity, reader: Reader) -> Condition | None:
    """Return a condition of a random kind on `entity`, or None if it has no suitable column."""
    kinds: tuple[tuple[Callable[[Entity, Reader], Condition | None], int], ...] = (
        (by_value, 6),
        (by_flag, 2),
        (by_gap, 2),
        (by_number, 3),
    )
    [kind] = reader.rng.choices([kind for kind, _ in kinds], [weight for _, weight in kinds])
    return kind(entity, reader)


def by_value(entity: Entity, reader: Reader) -> Condition | None:
    """Return the condition that a category column equals one of its values."""
    if not entity.categories:
        return None
    column = reader.rng.choice(entity.categories)
    value = reader.value(column)
    if not value:
        return None
    head = column.words[-1]
    english, before = _value_en(entity, column, str(value), reader)
    ru, zh = column.term["ru"], column.term["zh"]
    russian = f"{_WITH_RU[head]} {value}" if head in _WITH_RU and ru.gender else f"({ru:n}: {value})"
    return Condition(
        f"{column.sql} = {literal(str(value))}", *wording(english, russian, f"{zh}为{value}的", before=before)
    )


def _value_en(entity: Entity, column: Field, value: str, reader: Reader) -> tuple[str, bool]:
    head, noun = column.words[-1], column.term["en"]
    if head in _ADJECTIVE_COLUMNS and value.islower() and len(value) < 14 and reader.rng.random() < 0.6:
        return value, True
    if value[0].isupper() and len(column.words) == 1 and head in ("city", "country", "region"):
        people = bool(_PEOPLE.search(" ".join(entity.words)))
        return f"{'from' if people else 'in'} {value}", False
    shown = reader.rng.choice([value, value, f"'{value}'", f'"{value}"'])
    return reader.rng.choice(
        [f"with {noun} {shown}", f"whose {noun} is {shown}", f"where the {noun} is {shown}"]
    ), False


def by_flag(entity: Entity, reader: Reader) -> Condition | None:
    """Return the condition that a boolean column is true or false."""
    if not entity.flags:
        return None
    column = reader.rng.choice(entity.flags)
    words = [word for word in column.words if word not in ("is", "has")] or list(column.words)
    name, yes = " ".join(words), reader.rng.random() < 0.6
    if _ADJECTIVE.search(words[-1]):
        english, before = (name, True) if yes else (f"that are not {name}", False)
    elif words[0] == "in":
        english, before = (name if yes else f"not {name}"), False
    else:
        english, before = f"{'with' if yes else 'without'} {name}", False
    russian = f"({name}: {'да' if yes else 'нет'})"
    chinese = f"{name}为{'是' if yes else '否'}的"
    return Condition(f"{column.sql} = {int(yes)}", *wording(english, russian, chinese, before=before))


def by_gap(entity: Entity, reader: Reader) -> Condition | None:
    """Return the condition that a column is NULL or not NULL."""
    gaps = [gap for gap in entity.gaps if gap not in entity.labels and gap.words != entity.words]
    if not gaps:
        return None
    column = reader.rng.choice(gaps)
    missing = reader.rng.random() < 0.75
    noun, ru, zh = column.term["en"], column.term["ru"], column.term["zh"]
    done = participle(column)
    if done:
        english = f"not {done} yet" if missing else f"already {done}"
        english = reader.rng.choice([english, f"that {'have not been' if missing else 'have been'} {done}"])
    elif missing:
        english = reader.rng.choice([f"without {_article(noun.n)}", f"with no {noun}", f"that have no {noun}"])
    else:
        english = f"that have {_article(noun.n)}"
    russian = f"без {ru:g}" if missing and ru.gender else f", у которых {'не ' if missing else ''}указано «{ru:n}»,"
    chinese = f"{'没有' if missing else '有'}{zh}的"
    return Condition(f"{column.sql} IS {'' if missing else 'NOT '}NULL", *wording(english, russian, chinese))


def by_number(entity: Entity, reader: Reader) -> Condition | None:
    """Return the condition that a measure is above, below or at least a value."""
    if not entity.measures:
        return None
    column = reader.rng.choice(entity.measures)
    value = reader.value(column)
    if not isinstance(value, int | float):
        return None
    bound = int(round(value, 0 if abs(value) < 50 else -1 if abs(value) < 1000 else -2))
    sign, english, russian, chinese = reader.rng.choice(
        [
            (">", ("above", "over", "greater than", "of more than"), "больше", "大于"),
            ("<", ("below", "under", "less than", "of less than"), "меньше", "小于"),
            (">=", ("of at least",), "не меньше", "不少于"),
        ]
    )
    noun, ru, zh = column.term["en"], column.term["ru"], column.term["zh"]
    words = f"with {_article(noun.n)} {reader.rng.choice(english)} {bound}"
    after = f", у которых {ru:n} {russian} {bound},"
    return Condition(f"{column.sql} {sign} {bound}", *wording(words, after, f"{zh}{chinese}{bound}的"))


def by_period(
    entity: Entity, reader: Reader, make: Callable[..., Period] = period, column: Field | None = None
) -> Condition | None:
    """Return the condition that a date of `entity` lies in a period."""
    if not entity.dates:
        return _by_year(entity, reader)
    column = column or reader.rng.choice(entity.dates)
    near = reader.day(column)
    if near is None:
        return None
    when = make(column, near, reader.rng)
    return Condition(when.condition, *_period_wording(entity, column, when, reader), date=column)


def _by_year(entity: Entity, reader: Reader) -> Condition | None:
    if len(entity.years) != 1:
        return None
    [column] = entity.years
    year = reader.value(column)
    if not isinstance(year, int):
        return None
    when = year_number(column, year, reader.rng)
    return Condition(when.condition, *_period_wording(entity, column, when, reader))


def _period_wording(
    entity: Entity, column: Field, when: Period, reader: Reader
) -> tuple[dict[Language, str], dict[Language, str]]:
    """Return the wording of a period; the date column is named unless it is the main date of the table."""
    en, ru, zh = when.wording["en"], when.wording["ru"], when.wording["zh"]
    done = participle(column)
    only = is_main_date(entity, column)
    if done and not (only and reader.rng.random() < 0.4):
        return wording(
            f"{done} {en}", ru if only else f"({column.term['ru']:n} {ru})", zh + (f"{done}的" if not only else "的")
        )
    if only:
        return wording(en, ru, f"{zh}的")
    noun: Noun = column.term["en"]
    return wording(f"with {_article(noun.n)} {en}", f"({column.term['ru']:n} {ru})", f"{column.term['zh']:n}在{zh}的")


def is_main_date(entity: Entity, column: Field) -> bool:
    """Return whether `column` is the date of a question that does not name one."""
    if column in entity.years:
        return column.words in (("year",), ("season",)) and not entity.dates
    if re.search(r"birth|due|end|expir|dead", column.column.name, re.I):
        return False
    return len(entity.dates) == 1 or (column == entity.dates[0] and bool(_EVENT.search(column.column.name)))


def participle(column: Field) -> str | None:
    """Return the participle in the name of a date column, "signed up" for `signed_up_on`, or None."""
    *words, last = spelt_words(column.column.name)
    if column.column.type_class not in ("date", "datetime") or last not in ("on", "at") or not words:
        return None
    return " ".join(words) if any(_PARTICIPLE.search(word) for word in words) else None


def _article(noun: str) -> str:
    if re.search(r"[^su]s$", noun):
        return noun
    return f"{'an' if re.match('[aeio]|u(?!n[iI]|se)', noun) else 'a'} {noun}"
