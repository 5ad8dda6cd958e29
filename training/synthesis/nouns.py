"""Names of tables and columns as nouns in three languages, with the grammatical forms that questions need."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.resources import files
from typing import Literal

from datasphinx.agent.schema.words import spelt_words

Language = Literal["en", "ru", "zh"]

_IRREGULAR = {
    "person": "people",
    "child": "children",
    "man": "men",
    "woman": "women",
    "staff": "staff",
    "series": "series",
    "aircraft": "aircraft",
    "equipment": "equipment",
    "downtime": "downtimes",
}
_SINGULAR = {plural: singular for singular, plural in _IRREGULAR.items()}
_PREFIXES = {"ref", "tbl", "dim", "fact"}
_LONG_FORMS = {"dept": "department", "qty": "quantity", "amt": "amount", "num": "number", "desc": "description"}
_DATES = {
    "created": "creation", "booked": "booking", "hired": "hire", "joined": "joining", "paid": "payment", "sold": "sale",
    "issued": "issue", "opened": "opening", "closed": "closing", "started": "start", "ended": "end",
    "bought": "purchase",
    "registered": "registration", "published": "publication", "returned": "return", "delivered": "delivery",
    "shipped": "shipping", "billed": "billing", "placed": "order", "ordered": "order", "visited": "visit",
}  # fmt: skip
"""The noun that replaces a participle before "date"."""
_MEASURED = {"seconds", "minutes", "hours", "days", "mg", "mib", "dollars", "usd", "miles", "meters"}
_UNITS = {"kg", "km", "mg", "kwh", "gb", "m2"}


@dataclass(frozen=True)
class Noun:
    """The forms of a noun; a format string selects one by its field, as in `{thing:G}`.

    `n`, `g`, `a` are nominative, genitive and accusative singular; `N`, `G`, `D` are nominative, genitive and dative
    plural. English and Chinese do not distinguish cases. `gender` is empty if the English word replaces a missing
    Russian one.
    """

    n: str
    g: str
    a: str
    N: str
    G: str
    D: str
    gender: str = ""

    def __format__(self, form: str) -> str:
        return str(getattr(self, form or "n"))

    def within(self, before: str = "", after: str = "") -> "Noun":
        """Return this noun with words before and after it, in all forms."""
        forms = {form: f"{before}{getattr(self, form)}{after}" for form in ("n", "g", "a", "N", "G", "D")}
        return replace(self, **forms)


Term = Mapping[Language, Noun]


def plain(text: str) -> Noun:
    """Return `text` in every form."""
    return Noun(text, text, text, text, text, text)


def english(singular: str) -> Noun:
    """Return the noun with this singular of one or more words; "duration in minutes" has no plural."""
    *first, last = singular.split(" ")
    if last in _MEASURED:
        return plain(singular)
    plural = " ".join([*first, pluralised(last)])
    return Noun(singular, singular, singular, plural, plural, plural)


def term_of(words: Sequence[str]) -> Term:
    """Return the noun of English words, with Russian and Chinese forms if the glossary has every word."""
    name = " ".join(words)
    bare = words[1:] if words[0] == "total" and len(words) > 1 else words
    russian, chinese = _russian(bare), _chinese(bare)
    own = english(name)
    return {"en": own, "ru": russian or own, "zh": plain(chinese or name)}


def table_words(name: str) -> list[str]:
    """Return the words of a table name, the last in the singular."""
    words = [word for word in spelt_words(name) if not word.isdigit()] or [name]
    words = words[1:] if words[0] in _PREFIXES and len(words) > 1 else words
    return [*words[:-1], singular(words[-1])]


def column_words(name: str, table: Sequence[str]) -> list[str]:
    """Return the words of a column name, without those of the table name unless no others remain."""
    words = [word for word in spelt_words(name) if not word.isdigit()] or [name]
    if words[-1] in _UNITS or re.fullmatch(r"m\d?", words[-1]):
        words = words[:-1] or words
    words = [_LONG_FORMS.get(word, word) for word in words]
    if words[-1] in ("on", "at") and len(words) > 1:
        return [_DATES.get("_".join(words[:-1]), " ".join(words[:-1])), "date"]
    if len(words) > 1 and words[-1] in _MEASURED:
        return [*words[:-1], "in", words[-1]]
    own = {*table, *(pluralised(word) for word in table)}
    rest = [word for word in words if word not in own]
    return rest if rest else words


def singular(word: str) -> str:
    """Return the singular of an English noun, by rules and a list of exceptions."""
    if word in _SINGULAR or re.search(r"(ss|us|is|[^aeiou]ics)$", word):
        return _SINGULAR.get(word, word)
    if word.endswith("ies") and len(word) > 4 and word not in ("movies", "series"):
        return word[:-3] + "y"
    if re.search(r"(sses|shes|ches|xes|zes)$", word):
        return word[:-2]
    return word[:-1] if word.endswith("s") else word


def pluralised(word: str) -> str:
    """Return the plural of an English noun, by rules and a list of exceptions."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if re.search(r"[^aeiou]y$", word):
        return word[:-1] + "ies"
    if re.search(r"(s|x|z|ch|sh)$", word):
        return word + "es"
    return word + "s"


def _russian(words: Sequence[str]) -> Noun | None:
    entries = [_glossary().get(singular(word)) for word in words]
    if not entries or not all(entries) or len(entries) > 2:
        return None
    head, modifiers = entries[-1], entries[:-1]
    assert head is not None
    after = "".join(f" {modifier[0].g}" for modifier in modifiers if modifier)
    return head[0].within(after=after)


def _chinese(words: Sequence[str]) -> str | None:
    entries = [_glossary().get(singular(word)) for word in words]
    return "".join(entry[1] for entry in entries if entry) if entries and all(entries) else None


@lru_cache(maxsize=1)
def _glossary() -> dict[str, tuple[Noun, str]]:
    text = files("training.synthesis").joinpath("glossary.txt").read_text(encoding="utf-8")
    entries = (line.split() for line in text.splitlines() if not line.startswith("#"))
    return {
        word: (_declined(gender, [form.replace("_", " ") for form in forms]), chinese)
        for word, gender, *forms, chinese in entries
    }


def _declined(gender: str, forms: Sequence[str]) -> Noun:
    nominative, genitive, many, many_genitive, many_dative = forms
    accusative = re.sub("я$", "ю", re.sub("а$", "у", nominative)) if gender == "f" else nominative
    return Noun(nominative, genitive, accusative, many, many_genitive, many_dative, gender)
