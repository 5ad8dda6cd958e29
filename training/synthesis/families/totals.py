"""Questions for totals, averages and extremes: overall, by group, rounded, of a product, and ratios of totals."""

from collections.abc import Mapping
from dataclasses import replace

from training.synthesis.draft import Draft, Wordings, words
from training.synthesis.nouns import Term
from training.synthesis.quantities import Function, Quantity, aggregate, product, some_quantity
from training.synthesis.subject import Group, Subject, required_group, some, some_group
from training.synthesis.view import Reader

_OVERALL: Wordings = {
    "en": (
        "What is the {what}?",
        "Give me the {what}.",
        "{what}",
        "Show the {what}.",
        "Calculate the {what}.",
        "What was the {what}?",
        "I want to see the {what}.",
        "Tell me the {what}, please.",
    ),
    "ru": (
        "Сколько составляет {what}?",
        "Покажи {what:a}.",
        "{what}",
        "Посчитай {what:a}.",
        "Чему равно значение: {what}?",
    ),
    "zh": ("{what}是多少？", "计算{what}。", "{what}", "请告诉我{what}。", "查询{what}。"),
}
_GROUPED: Wordings = {
    "en": (
        "What is the {what} by {group}?",
        "What is the {what} for each {group}?",
        "{what} by {group}",
        "{what} per {group}",
        "Show the {what} per {group}.",
        "Break down the {what} by {group}.",
        "For each {group}, what is the {what}?",
        "List every {group} with its {what}.",
        "Give me the {what} of each {group}.",
    ),
    "ru": (
        "Сколько составляет {what} по {group:D}?",
        "Покажи {what:a} по {group:D}.",
        "{what} по {group:D}",
        "{what} в разбивке по {group:D}",
        "Выведи {what:a} в разрезе: {group}.",
        "{what} для каждого значения «{group}»",
    ),
    "zh": (
        "按{group}统计{what}。",
        "每个{group}的{what}是多少？",
        "各{group}的{what}",
        "按{group}列出{what}。",
        "不同{group}的{what}分别是多少？",
    ),
}
_COUNTED: Wordings = {
    "en": (
        "How many {rows:N} are there for each {group}?",
        "How many {rows:N} are there per {group}?",
        "How many {rows:N} does each {group} have?",
        "Number of {rows:N} by {group}",
        "{rows:N} per {group}",
        "Count the {rows:N} by {group}.",
        "Show the number of {rows:N} in each {group}.",
        "Break the {rows:N} down by {group}.",
    ),
    "ru": (
        "Сколько {rows:G} по {group:D}?",
        "Количество {rows:G} по {group:D}",
        "Покажи число {rows:G} в разбивке по {group:D}.",
        "Как {rows:N} распределены по {group:D}?",
        "Посчитай число {rows:G} по {group:D}.",
    ),
    "zh": (
        "每个{group}有多少{rows}？",
        "按{group}统计{rows}数量。",
        "各{group}的{rows}数量",
        "不同{group}分别有多少{rows}？",
        "{rows}按{group}的分布",
    ),
}
_ROUNDED: Wordings = {
    "en": (
        "What is the {what} by {group}, rounded to {places}?",
        "{what} per {group}, rounded to {places}",
        "Show the {what} for each {group}, rounded to {places}.",
        "For each {group}, what is the {what}? Round to {places}.",
        "Give the {what} by {group} to {places}.",
        "Compute the {what} of each {group} and round it to {places}.",
    ),
    "ru": (
        "{what} по {group:D}, округлить до {places}",
        "Покажи {what:a} по {group:D} с округлением до {places}.",
        "Сколько составляет {what} по {group:D}? Округли до {places}.",
        "Посчитай {what:a} по {group:D}, округлив до {places}.",
    ),
    "zh": (
        "按{group}统计{what}，{places}。",
        "每个{group}的{what}是多少？{places}。",
        "各{group}的{what}（{places}）",
        "计算不同{group}的{what}，结果{places}。",
    ),
}
_RATIO: Wordings = {
    "en": (
        "What is the ratio of the {one} to the {other}?",
        "What is the {one} divided by the {other}?",
        "How many times the {other} is the {one}?",
        "Ratio of {one} to {other}",
        "Give me the {one} over the {other}.",
        "Compute the {one} relative to the {other}.",
    ),
    "ru": (
        "Каково отношение двух величин: {one} и {other}?",
        "Раздели первое на второе: {one}, {other}.",
        "Посчитай отношение: {one} / {other}.",
        "Соотношение: {one} / {other}",
    ),
    "zh": (
        "{one}与{other}的比率是多少？",
        "{one}除以{other}是多少？",
        "计算{one}和{other}之比。",
        "{one}/{other}的比值",
    ),
}
_PLACES = {
    0: words("whole numbers", "целых", "取整"),
    1: words("one decimal", "одного знака после запятой", "保留一位小数"),
    2: words("two decimals", "двух знаков после запятой", "保留两位小数"),
}


def overall(reader: Reader) -> Draft:
    """Ask for an aggregate over all rows or those that meet a condition."""
    rows = some(reader.entity_with("measures"), reader, plain=0.35)
    what = _any_aggregate(rows, reader)
    query = rows.query(what.sql)
    return Draft(query, _OVERALL, {"what": what.of}, baseline=query.without_filter() if rows.conditions else None)


def computed(reader: Reader) -> Draft:
    """Ask for the total of a product of two columns, overall or by group."""
    subjects = [some(entity, reader, plain=0.7) for entity in reader.view.all_with("measures")]
    products = [(rows, what) for rows, what in ((s, product(s, reader)) for s in subjects) if what]
    rows, what = reader.pick(products)
    group = some_group(rows.entity, reader)
    if group is None or reader.rng.random() < 0.3:
        return Draft(rows.query(what.sql), _OVERALL, {"what": what.of})
    return _grouped(rows, what, group, {"what": what.of, "group": group.term}, _GROUPED)


def by_group(reader: Reader) -> Draft:
    """Ask for a count, total or average per value of a category, of the table or a parent."""
    return _by(reader, label=False)


def by_label(reader: Reader) -> Draft:
    """Ask for a count, total or average per row of a parent table, by name."""
    return _by(reader, label=True)


def rounded(reader: Reader) -> Draft:
    """Ask for a rounded average per group."""
    rows = some(reader.entity_with("measures"), reader, plain=0.7)
    group = required_group(rows.entity, reader)
    places = reader.rng.choice([1, 2, 2, 0])
    what = aggregate("AVG", reader.rng.choice(rows.entity.measures), rows, reader)
    what = replace(what, sql=f"ROUND({what.sql}, {places})" if places else f"ROUND({what.sql})")
    slots = {"what": what.of, "group": group.term, "places": _PLACES[places]}
    return _grouped(rows, what, group, slots, _ROUNDED)


def ratio(reader: Reader) -> Draft:
    """Ask for the ratio of two totals of a table, overall or by group."""
    entities = [entity for entity in reader.view.entities.values() if len(entity.sums) > 1]
    rows = some(reader.pick(entities), reader, plain=1)
    one, other = reader.rng.sample(rows.entity.sums, 2)
    a, b = (aggregate("SUM", measure, rows, reader) for measure in (one, other))
    query = rows.query(f"1.0 * {a.sql} / {b.sql}")
    return Draft(query, _RATIO, {"one": a.name, "other": b.name})


def _by(reader: Reader, *, label: bool) -> Draft:
    rows = some(reader.entity_with(), reader, plain=0.6)
    group = required_group(rows.entity, reader, rows.where, label=label)
    what = some_quantity(rows, reader)
    if what.inner:
        slots = {"what": what.of, "group": group.term}
        return _grouped(rows, what, group, slots, _GROUPED)
    slots = {"rows": rows.term, "group": group.term}
    return _grouped(rows, what, group, slots, _COUNTED)


def _grouped(rows: Subject, what: Quantity, group: Group, slots: Mapping[str, Term], wordings: Wordings) -> Draft:
    query = group.query(rows, what.sql)
    return Draft(query, wordings, slots, min_rows=2, baseline=query.without_filter() if rows.conditions else None)


def _any_aggregate(rows: Subject, reader: Reader) -> Quantity:
    functions: list[Function] = ["AVG", "MAX", "MIN"]
    if rows.entity.sums and reader.rng.random() < 0.5:
        return aggregate("SUM", reader.rng.choice(rows.entity.sums), rows, reader)
    return aggregate(reader.rng.choice(functions), reader.rng.choice(rows.entity.measures), rows, reader)
