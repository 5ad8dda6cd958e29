"""Questions about parents without rows, or with at least N rows."""

from dataclasses import replace

from training.synthesis.draft import Draft, Query, Wordings, same
from training.synthesis.nouns import Term
from training.synthesis.subject import dated, some, subject
from training.synthesis.view import Entity, Link, NoFit, Reader

_WITHOUT: Wordings = {
    "en": (
        "Which {parents:N} have no {rows:N}?",
        "List the {parents:N} without any {rows:N}.",
        "{parents:N} without {rows:N}",
        "Which {parents:N} never had any {rows:N}?",
        "Show {parents:N} that do not have a single one of the {rows:N}.",
        "Find all {parents:N} with no {rows:N}.",
        "Are there {parents:N} that have no {rows:N}? Which?",
    ),
    "ru": (
        "У каких {parents:G} нет {rows:G}?",
        "Какие {parents:N} не имеют {rows:G}?",
        "Покажи список {parents:G}, у которых нет {rows:G}.",
        "Список: {parents:N} без {rows:G}",
        "Выведи список {parents:G}, у которых никогда не было {rows:G}.",
    ),
    "zh": (
        "哪些{parents}没有{rows}？",
        "列出没有任何{rows}的{parents}。",
        "从来没有{rows}的{parents}有哪些？",
        "没有{rows}的{parents}",
        "查找没有{rows}的{parents}。",
    ),
}
_WITHOUT_COUNT: Wordings = {
    "en": (
        "How many {parents:N} have no {rows:N}?",
        "How many {parents:N} never had any {rows:N}?",
        "Count the {parents:N} without {rows:N}.",
        "Number of {parents:N} without any {rows:N}",
        "How many {parents:N} are there without {rows:N}?",
        "How many {parents:N} do not have a single one of the {rows:N}?",
    ),
    "ru": (
        "У скольких {parents:G} нет {rows:G}?",
        "Сколько {parents:G} не имеют {rows:G}?",
        "Количество {parents:G} без {rows:G}",
        "Посчитай число {parents:G}, у которых нет {rows:G}.",
    ),
    "zh": (
        "有多少{parents}没有{rows}？",
        "没有任何{rows}的{parents}有多少个？",
        "统计没有{rows}的{parents}数量。",
        "从未有过{rows}的{parents}数量",
    ),
}
_AT_LEAST: Wordings = {
    "en": (
        "Which {parents:N} have at least {n} {rows:N}, and how many?",
        "List the {parents:N} with {n} or more {rows:N} and the number of them.",
        "{parents:N} with at least {n} {rows:N}, with the count",
        "Show {parents:N} having {n} {rows:N} or more, with how many they have.",
        "Find {parents:N} that have a minimum of {n} {rows:N}, with the number.",
        "Which {parents:N} have no fewer than {n} {rows:N}? Show the counts.",
    ),
    "ru": (
        "У каких {parents:G} не меньше {n} {rows:G} и сколько?",
        "Покажи список {parents:G}, у которых {n} или больше {rows:G}, с количеством.",
        "{parents:N}, у которых от {n} {rows:G}, и их число",
        "Выведи список {parents:G}, у которых как минимум {n} {rows:G}, с количеством.",
    ),
    "zh": (
        "哪些{parents}至少有{n}个{rows}？各有多少？",
        "列出有{n}个及以上{rows}的{parents}及数量。",
        "{rows}不少于{n}个的{parents}和数量",
        "查询至少有{n}个{rows}的{parents}，并显示数量。",
    ),
}
_MORE_THAN: Wordings = {
    "en": (
        "Which {parents:N} have more than {n} {rows:N}?",
        "List the {parents:N} with more than {n} {rows:N}.",
        "{parents:N} that have over {n} {rows:N}",
        "Name all {parents:N} with more than {n} {rows:N}.",
        "Find {parents:N} having more than {n} {rows:N}.",
        "Who or what among the {parents:N} has more than {n} {rows:N}?",
    ),
    "ru": (
        "У каких {parents:G} больше {n} {rows:G}?",
        "Покажи список {parents:G}, у которых больше {n} {rows:G}.",
        "Список: {parents:N}, у которых свыше {n} {rows:G}",
        "Выведи список {parents:G}, у которых более {n} {rows:G}.",
    ),
    "zh": (
        "哪些{parents}有超过{n}个{rows}？",
        "列出{rows}多于{n}个的{parents}。",
        "{rows}超过{n}个的{parents}",
        "查找拥有{n}个以上{rows}的{parents}。",
    ),
}


def never(reader: Reader) -> Draft:
    """Ask for the parents that no row refers to, or their number."""
    parent, link, child = _family(reader)
    dates = dated if reader.rng.random() < 0.4 else subject
    rows = dates(child, reader)
    not_null = (f"{link.child_sql} IS NOT NULL",) if link.nullable else ()
    inner = Query((link.child_sql,), child.sql, where=(*rows.where, *not_null))
    condition = f"{link.parent_sql} NOT IN ({inner.sql()})"
    slots = {"parents": subject(parent, reader).term, "rows": rows.term}
    if reader.rng.random() < 0.35 or not parent.labels:
        return Draft(Query(("COUNT(*)",), parent.sql, where=(condition,)), _WITHOUT_COUNT, slots)
    names = tuple(label.sql for label in parent.labels)
    return Draft(Query(names, parent.sql, where=(condition,)), _WITHOUT, slots)


def at_least(reader: Reader) -> Draft:
    """Ask for the parents that at least, or more than, N rows refer to."""
    parent, link, child = _family(reader)
    if not parent.labels:
        raise NoFit
    rows = some(child, reader, plain=0.75)
    names = tuple(label.sql for label in parent.labels)
    n, with_counts = reader.rng.choice([2, 2, 3, 4]), reader.rng.random() < 0.55
    query = Query(
        (*names, "COUNT(*)") if with_counts else names, child.sql, (link.join(parent.table.name),), rows.where
    )
    by = names if link.parent_sql in names else (link.parent_sql, *names)
    query = replace(query, group=by, having=f"COUNT(*) {'>=' if with_counts else '>'} {n}")
    slots: dict[str, Term] = {"parents": subject(parent, reader).term, "rows": rows.term, "n": same(n)}
    return Draft(query, _AT_LEAST if with_counts else _MORE_THAN, slots)


def _family(reader: Reader) -> tuple[Entity, Link, Entity]:
    link = reader.pick([link for entity in reader.view.entities.values() for link in entity.children])
    return reader.view.parent(link), link, reader.view.entities[link.child]
