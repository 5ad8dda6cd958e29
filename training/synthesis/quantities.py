"""Aggregates over rows: counts, totals, averages, extremes, and totals of a product of two columns."""

import re
from dataclasses import dataclass
from typing import Literal

from training.synthesis.nouns import Noun, Term, english, plain
from training.synthesis.subject import Subject
from training.synthesis.view import Entity, Field, Reader

Function = Literal["COUNT", "SUM", "AVG", "MAX", "MIN"]

_ENGLISH = {
    "SUM": ("total", "total", "sum of"),
    "AVG": ("average", "average", "mean"),
    "MAX": ("highest", "maximum", "largest"),
    "MIN": ("lowest", "minimum", "smallest"),
}
_RUSSIAN = {
    "SUM": {"m": "общий", "f": "общая", "n": "общее", "": "сумма по"},
    "AVG": {"m": "средний", "f": "средняя", "n": "среднее", "": "среднее по"},
    "MAX": {"m": "максимальный", "f": "максимальная", "n": "максимальное", "": "максимум по"},
    "MIN": {"m": "минимальный", "f": "минимальная", "n": "минимальное", "": "минимум по"},
}
_CHINESE = {"SUM": "总", "AVG": "平均", "MAX": "最高", "MIN": "最低"}
_SALES = {"order", "sale", "purchase", "booking", "invoice", "ticket", "rental", "receipt"}
_PIECES = re.compile(r"quantity|qty|units$|pieces|hours$", re.I)
_PRICE = re.compile(r"(unit|piece|item|hourly)_?(price|rate|cost)|^price$", re.I)
_VAGUE = {"amount", "total", "price", "cost", "fee", "value", "quantity", "charge", "number", "rate", "date"}


@dataclass(frozen=True)
class Quantity:
    """An aggregate, with its name alone and its name for restricted rows."""

    sql: str
    name: Term
    """ "total order amount" """
    of: Term
    """ "total amount of cancelled orders" """
    function: Function
    inner: str = ""
    """The aggregated expression; empty for a count of rows."""


def count(rows: Subject) -> Quantity:
    """Return the number of `rows`."""
    en, ru, zh = rows.term["en"], rows.term["ru"], rows.term["zh"]
    name: Term = {
        "en": plain(f"number of {en:N}"),
        "ru": _adjusted("количество", f" {ru:G}", "n"),
        "zh": plain(f"{zh}数量"),
    }
    return Quantity("COUNT(*)", name, name, "COUNT")


def aggregate(function: Function, measure: Field, rows: Subject, reader: Reader) -> Quantity:
    """Return `function` of `measure` over `rows`."""
    called = _called(function, measure, rows.entity, reader)
    if rows.conditions:
        bare = aggregate(function, measure, Subject(rows.entity, rows.entity.term), reader)
    word = _english(function, called, reader)
    of: Term = {
        "en": plain(f"{word} of {rows.term['en']:N}"),
        "ru": _russian(function, measure, rows),
        "zh": plain(f"{rows.term['zh']:N}的{_CHINESE[function]}{measure.term['zh']:n}"),
    }
    name = (
        bare.name if rows.conditions else {**of, "en": plain(_english(function, _full(called, measure, rows), reader))}
    )
    return Quantity(f"{function}({measure.sql})", name, of if rows.conditions else name, function, measure.sql)


def product(rows: Subject, reader: Reader) -> Quantity | None:
    """Return the total of quantity times unit price, or None if the table does not have both."""
    counts = [m for m in rows.entity.measures if _PIECES.search(m.column.name)]
    prices = [m for m in rows.entity.measures if _PRICE.search(m.column.name)]
    if len(counts) != 1 or len(prices) != 1:
        return None
    (one,), (other,) = counts, prices
    inner = f"{one.sql} * {other.sql}"
    spelled = f"{one.term['en']:n} times {other.term['en']:n}"
    english_name = reader.rng.choice(
        ["revenue", "sales value", "turnover", f"total value ({spelled})", f"total of {spelled}"]
    )
    russian = f" ({one.term['ru']:n} × {other.term['ru']:n})"
    name: Term = {
        "en": plain(english_name),
        "ru": _adjusted("выручка", reader.rng.choice(["", russian]), "f"),
        "zh": plain(reader.rng.choice(["销售额", f"总额（{one.term['zh']:n}×{other.term['zh']:n}）"])),
    }
    of: Term = {
        "en": plain(f"{english_name} of {rows.term['en']:N}" if rows.conditions else english_name),
        "ru": name["ru"].within(after=f" по {rows.term['ru']:D}" if rows.conditions else ""),
        "zh": plain(f"{rows.term['zh']:N}的{name['zh']:n}" if rows.conditions else f"{name['zh']:n}"),
    }
    return Quantity(f"SUM({inner})", name, of, "SUM", inner)


def some_quantity(rows: Subject, reader: Reader, *, additive: bool = False) -> Quantity:
    """Return a random count, total or average; `additive` excludes averages."""
    entity, rng = rows.entity, reader.rng
    computed = product(rows, reader)
    if computed and rng.random() < 0.6:
        return computed
    if entity.sums and rng.random() < 0.55:
        return aggregate("SUM", rng.choice(entity.sums), rows, reader)
    if entity.measures and not additive and rng.random() < 0.5:
        return aggregate("AVG", rng.choice(entity.measures), rows, reader)
    return count(rows)


def _called(function: Function, measure: Field, entity: Entity, reader: Reader) -> str:
    name = " ".join(measure.words)
    words = measure.words[1:] if measure.words[0] == "total" and len(measure.words) > 1 else measure.words
    if function != "SUM" or reader.rng.random() < 0.5:
        return " ".join(words) if function == "SUM" else name
    if name == "quantity":
        return "units"
    money = [m for m in entity.measures if {"amount", "total", "price"} & set(m.words)]
    sells = bool(_SALES & set(entity.words)) and money == [measure] and bool({"amount", "total"} & set(measure.words))
    return reader.rng.choice(["revenue", "sales", "turnover"]) if sells else " ".join(words)


def _full(called: str, measure: Field, rows: Subject) -> str:
    vague = set(called.split(" ")) <= _VAGUE
    return f"{rows.term['en']:n} {called}" if vague and len(measure.words) == 1 else called


def _english(function: Function, called: str, reader: Reader) -> str:
    if called in ("revenue", "sales", "turnover"):
        return reader.rng.choice([called, f"total {called}"])
    word = reader.rng.choice(_ENGLISH[function])
    if word == "sum of":
        return f"sum of {english(called):N}" if not called.endswith("s") else f"sum of {called}"
    return f"{word} {called}"


def _russian(function: Function, measure: Field, rows: Subject) -> Noun:
    noun = measure.term["ru"]
    adjective = _RUSSIAN[function][noun.gender]
    owner = f" {rows.term['ru']:G}" if rows.entity.term["ru"].gender else f" по {rows.term['ru']:D}"
    if not noun.gender:
        return _adjusted(adjective.removesuffix(" по"), f" по полю «{noun:n}»{owner if rows.conditions else ''}", "n")
    accusative = f"{adjective.replace('ая', 'ую')} {noun:a}"
    whole = plain(f"{adjective} {noun:n}{owner}")
    return Noun(whole.n, whole.g, f"{accusative}{owner}", whole.N, whole.G, whole.D, noun.gender)


def _adjusted(word: str, after: str, gender: str) -> Noun:
    accusative = re.sub("а$", "у", word)
    return Noun(word, word, accusative, word, word, word, gender).within(after=after)
