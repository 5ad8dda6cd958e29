"""Questions for rankings: the top N rows by a measure, the top groups, and the top N of each group."""

from dataclasses import replace

from training.synthesis.conditions import Condition
from training.synthesis.draft import Draft, Wordings, same, words
from training.synthesis.nouns import Language
from training.synthesis.quantities import some_quantity
from training.synthesis.subject import Group, enumerated, groups, required_group, some
from training.synthesis.view import Field, NoFit, Reader

_MOST = words("highest", "наибольшие", "最高")
_LEAST = words("lowest", "наименьшие", "最低")
_MAXIMAL = words("", "максимально", "")
_MINIMAL = words("", "минимально", "")
_TOP_ROWS: Wordings = {
    "en": (
        "What are the {n} {rows:N} with the {most} {measure:n}? Show {label} and {measure:n}.",
        "Show the {n} {rows:N} with the {most} {measure:n}, with {label} and {measure:n}.",
        "Top {n} {rows:N} by {most} {measure:n}, with {label} and {measure:n}",
        "List {label} and {measure:n} of the {n} {rows:N} that have the {most} {measure:n}.",
        "Which {n} {rows:N} have the {most} {measure:n}, and what is it?",
        "Give me {label} and {measure:n} of the {n} {rows:N} with the {most} {measure:n}.",
    ),
    "ru": (
        "Топ {n} среди {rows:G} по полю «{measure}», сначала {most}: {label} и {measure}",
        "Покажи {label:a} и {measure:a} для топ-{n} {rows:G}, сначала {most} по полю «{measure}».",
        "Рейтинг {rows:G} по полю «{measure}» (сначала {most}), первые {n}: {label} и {measure}",
        "Отсортируй список {rows:G} по полю «{measure}», сначала {most}, и покажи первые {n}: {label} и {measure}.",
    ),
    "zh": (
        "{measure}{most}的{n}个{rows}，列出{label}和{measure}。",
        "哪{n}个{rows}的{measure}{most}？显示{label}和{measure}。",
        "按{measure}{most}排前{n}的{rows}：{label}和{measure}",
        "查询{measure}{most}的前{n}个{rows}的{label}与{measure}。",
    ),
}
_ONE: Wordings = {
    "en": (
        "Which of the {rows:N} has the {most} {measure:n}? Give the {label}.",
        "What is the {label} of the {rows:n} with the {most} {measure:n}?",
        "Name the {rows:n} with the {most} {measure:n}.",
        "Show the {label} of the {rows:n} that has the {most} {measure:n}.",
        "{label} of the {rows:n} with the {most} {measure:n}",
        "Tell me the {label} of the {rows:n} having the {most} {measure:n}.",
    ),
    "ru": (
        "Среди {rows:G} найди запись, где поле «{measure}» {extreme}. Нужно только {label}.",
        "Покажи {label:a} для записи среди {rows:G}, где поле «{measure}» {extreme}.",
        "{rows:N}: {label} там, где поле «{measure}» {extreme}",
        "Выведи {label:a}: {rows:N}, поле «{measure}» {extreme}.",
    ),
    "zh": (
        "{measure}{most}的{rows}的{label}是什么？",
        "哪个{rows}的{measure}{most}？给出{label}。",
        "{measure}{most}的{rows}",
        "查询{measure}{most}的{rows}的{label}。",
    ),
}
_TOP_GROUPS: Wordings = {
    "en": (
        "Which {n} {group:N} have the {most} {what}, and how much is it?",
        "Top {n} {group:N} by {what}",
        "Show the {n} {group:N} with the {most} {what}, with the value.",
        "List the {n} {group:N} with the {most} {what} and the figure.",
        "What are the top {n} {group:N} by {what}?",
        "Give me the {n} {group:N} with the {most} {what} and what it is.",
        "Rank the {group:N} by {what} and show the first {n}.",
    ),
    "ru": (
        "Топ {n} по {group:D}: {what}",
        "Покажи первые {n} {group:G}, по убыванию: {what}.",
        "Какие {n} {group:G} лидируют: {what}?",
        "{n} {group:G} с наибольшим показателем: {what}",
    ),
    "zh": (
        "{what}最高的{n}个{group}是哪些？数值是多少？",
        "{what}排名前{n}的{group}",
        "按{what}列出前{n}个{group}及数值。",
        "哪{n}个{group}的{what}最高？",
    ),
}
_MOST_GROUP: Wordings = {
    "en": (
        "Which {group:n} has the {most} {what}, and what is it?",
        "What {group:n} has the {most} {what}? Show it with the value.",
        "Find the {group:n} with the {most} {what} and the figure.",
        "{group:n} with the {most} {what}, with the value",
        "Show the {group:n} that has the {most} {what}, and how much it is.",
        "Tell me which {group:n} leads in {what}, and the value.",
    ),
    "ru": (
        "По {group:D}: где самый высокий показатель и какой — {what}?",
        "Кто на первом месте по {group:D} и с каким значением: {what}?",
        "Найди лидера по {group:D} и значение: {what}.",
        "Лидер по {group:D} с показателем: {what}",
    ),
    "zh": (
        "哪个{group}的{what}最高？是多少？",
        "{what}最高的{group}及数值",
        "找出{what}最高的{group}和该值。",
        "{what}第一的{group}是哪个，数值多少？",
    ),
}
_RANKED: Wordings = {
    "en": (
        "{what} by {group}, highest first",
        "Show the {what} per {group}, sorted from highest to lowest.",
        "Rank the {group:N} by {what}.",
        "List every {group} with its {what} in descending order.",
        "What is the {what} of each {group}? Largest first.",
        "Order the {group:N} by {what}, from most to least, with the values.",
    ),
    "ru": (
        "{what} по {group:D}, по убыванию",
        "Покажи {what:a} по {group:D}, от большего к меньшему.",
        "Рейтинг по {group:D}: {what}",
        "Отсортируй по убыванию {what:a} по {group:D}.",
    ),
    "zh": (
        "按{what}从高到低排列{group}。",
        "各{group}的{what}，从高到低",
        "{group}按{what}降序排名",
        "列出每个{group}的{what}，由大到小。",
    ),
}
_PER_GROUP: Wordings = {
    "en": (
        "For each {outer}, what are the top {n} {inner:N} by {what}?",
        "Top {n} {inner:N} per {outer} by {what}",
        "Which {n} {inner:N} have the {most} {what} in each {outer}? Show the value.",
        "Show the {n} {inner:N} with the {most} {what} within every {outer}, with the value.",
        "Within each {outer}, list the {n} best {inner:N} by {what}.",
        "Give the top {n} {inner:N} of every {outer}, ranked by {what}.",
        "Per {outer}: the {n} {inner:N} with the {most} {what}",
    ),
    "ru": (
        "Топ {n} {inner:G} внутри каждой группы «{outer}»: {what}",
        "Для каждого значения «{outer}» покажи {n} {inner:G} с наибольшим показателем: {what}.",
        "По {n} лучших {inner:G} в разрезе по {outer:D}: {what}",
        "Какие {n} {inner:G} лидируют по {outer:D}: {what}?",
    ),
    "zh": (
        "每个{outer}中{what}最高的{n}个{inner}是哪些？",
        "各{outer}按{what}排名前{n}的{inner}",
        "列出每个{outer}里{what}前{n}的{inner}及数值。",
        "按{outer}分组，{what}最高的{n}个{inner}",
    ),
}
_ONE_PER_GROUP: Wordings = {
    "en": (
        "Which {inner:n} has the {most} {what} in each {outer}?",
        "For each {outer}, which {inner:n} has the {most} {what}, and what is it?",
        "Leading {inner:n} per {outer} by {what}, with the value",
        "Show for every {outer} the {inner:n} with the {most} {what} and the value.",
        "Within each {outer}, find the {inner:n} with the {most} {what}.",
        "What is the number one {inner:n} of each {outer} by {what}?",
    ),
    "ru": (
        "Лидер среди {inner:G} для каждого значения «{outer}»: {what}",
        "По {outer:D} покажи того, кто первый среди {inner:G}: {what}.",
        "Для каждого значения «{outer}» найди лучшее значение «{inner}»: {what}.",
        "Кто лидирует среди {inner:G} в разрезе по {outer:D}: {what}?",
    ),
    "zh": (
        "每个{outer}中{what}最高的{inner}是哪个？",
        "各{outer}里{what}第一的{inner}及数值",
        "按{outer}找出{what}最高的{inner}。",
        "每个{outer}的{what}冠军{inner}是谁？",
    ),
}


def top_rows(reader: Reader) -> Draft:
    """Ask for the N rows with the highest or lowest measure, or the name of the first only."""
    rows = some(reader.entity_with("measures", "labels"), reader, plain=0.6)
    measure, most = reader.rng.choice(rows.entity.measures), reader.rng.random() < 0.7
    if any(measure.sql in condition for condition in rows.where):
        raise NoFit
    names = [label.sql for label in rows.entity.labels]
    label = enumerated(rows.entity.labels)
    slots = {"rows": rows.term, "measure": measure.term, "label": label, "most": _MOST if most else _LEAST}
    slots["extreme"] = _MAXIMAL if most else _MINIMAL
    order = (f"{measure.sql}{' DESC' if most else ''}",)
    rows = rows if most or measure not in rows.entity.gaps else rows.when(_known(measure))
    if reader.rng.random() < 0.45:
        return Draft(replace(rows.query(*names), order=order, limit=1), _ONE, slots)
    n = reader.rng.choice([3, 5, 10, 4])
    query = replace(rows.query(*names, measure.sql), order=order, limit=n)
    return Draft(query, _TOP_ROWS, {**slots, "n": same(n)}, min_rows=n)


def top_groups(reader: Reader) -> Draft:
    """Ask for the groups with the highest quantity, or for all groups in that order."""
    rows = some(reader.entity_with(), reader, plain=0.6)
    group = required_group(rows.entity, reader, rows.where)
    what = some_quantity(rows, reader)
    n, wordings = reader.rng.choice(
        [(0, _RANKED), (1, _MOST_GROUP), (3, _TOP_GROUPS), (5, _TOP_GROUPS), (10, _TOP_GROUPS)]
    )
    query = replace(group.query(rows, what.sql), order=(f"{what.sql} DESC",), limit=n)
    slots = {"group": group.term, "what": what.of, "n": same(n), "most": _MOST}
    return Draft(query, wordings, slots, min_rows=max(n, 1 if n else 2))


def top_per_group(reader: Reader) -> Draft:
    """Ask for the top N groups or rows of each group."""
    rows = some(reader.entity_with(), reader, plain=0.7)
    groupings = groups(rows.entity, reader.view)
    pairs = [(a, b) for a in groupings for b in groupings if not a.label and b.label and _apart(a, b)]
    pairs += [(a, b) for a in groupings for b in groupings if a.label and not b.label and _apart(a, b)][:2]
    outer, inner = reader.pick(pairs)
    what = some_quantity(rows, reader)
    n = reader.rng.choice([1, 2, 3, 3])
    rank = f"RANK() OVER (PARTITION BY {outer.by[0]} ORDER BY {what.sql} DESC) <= {n}".replace("<= 1", "= 1")
    joins = tuple(dict.fromkeys((*outer.joins, *inner.joins)))
    by = tuple(dict.fromkeys((*outer.by, *inner.by)))
    query = replace(rows.query(*outer.select, *inner.select, what.sql), joins=joins, group=by, qualify=rank)
    slots = {"outer": outer.term, "inner": inner.term, "what": what.of, "n": same(n)}
    wordings = _ONE_PER_GROUP if n == 1 else _PER_GROUP
    return Draft(query, wordings, {**slots, "most": _MOST}, min_rows=3, max_rows=80)


def _apart(a: Group, b: Group) -> bool:
    return a.term["en"].n != b.term["en"].n and not set(a.select) & set(b.select)


def _known(measure: Field) -> Condition:
    """Return the condition that the measure is not NULL, which a question for the lowest value implies."""
    nothing: dict[Language, str] = {"en": "", "ru": "", "zh": ""}
    return Condition(f"{measure.sql} IS NOT NULL", nothing, nothing)
