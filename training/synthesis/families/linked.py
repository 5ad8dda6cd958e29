"""Questions over foreign keys: rows of a parent with a given name, and rows linked through a bridge table."""

from training.synthesis.draft import Draft, Query, Wordings, literal, words
from training.synthesis.nouns import Term
from training.synthesis.subject import enumerated, some, some_columns
from training.synthesis.view import NoFit, Reader

_OF_PARENT: Wordings = {
    "en": (
        "Show the {columns} of the {rows:N} of {parent:n} {value}.",
        "Which {rows:N} belong to the {parent:n} {value}? List their {columns}.",
        "List the {columns} of all {rows:N} of the {parent:n} {value}.",
        "{columns} of {rows:N} for {parent:n} {value}",
        "Give me the {columns} of every one of the {rows:N} with {parent:n} {value}.",
        "For the {parent:n} {value}, show the {columns} of the {rows:N}.",
    ),
    "ru": (
        "Покажи {columns:a} для {rows:G}, {parent}: {value}.",
        "Какие {rows:N} относятся к значению {value} ({parent})? Покажи {columns:a}.",
        "{rows:N}, {parent} {value}: {columns}",
        "Для {parent:g} {value} выведи {columns:a} всех {rows:G}.",
    ),
    "zh": (
        "列出{parent}为{value}的{rows}的{columns}。",
        "{parent}{value}的{rows}有哪些？显示{columns}。",
        "查询{value}这个{parent}的{rows}的{columns}。",
        "{parent}是{value}的{rows}：{columns}",
    ),
}
_COUNT_OF_PARENT: Wordings = {
    "en": (
        "How many {rows:N} does the {parent:n} {value} have?",
        "How many {rows:N} belong to the {parent:n} {value}?",
        "Number of {rows:N} of the {parent:n} {value}",
        "Count the {rows:N} for {parent:n} {value}.",
        "How many {rows:N} are there for the {parent:n} {value}?",
        "{parent:n} {value}: how many {rows:N}?",
    ),
    "ru": (
        "Сколько {rows:G} у {parent:g} {value}?",
        "Количество {rows:G}, {parent}: {value}",
        "Посчитай число {rows:G} для {parent:g} {value}.",
        "Сколько {rows:G} относится к {value} ({parent})?",
    ),
    "zh": (
        "{parent}为{value}的{rows}有多少？",
        "{value}这个{parent}有多少{rows}？",
        "统计{parent}{value}的{rows}数量。",
        "{parent}{value}的{rows}数量",
    ),
}
_BRIDGE: Wordings = {
    "en": (
        "Which {ones:N} are linked to the {other:n} {value} through {bridge:N}?",
        "List the {ones:N} of the {other:n} {value}, by way of its {bridge:N}.",
        "Through {bridge:N}, which {ones:N} belong to the {other:n} {value}?",
        "{ones:N} of {other:n} {value} (over {bridge:N})",
        "Show all {ones:N} that have {bridge:N} with the {other:n} {value}.",
        "Find the {ones:N} having any {bridge:N} for the {other:n} {value}.",
    ),
    "ru": (
        "Какие {ones:N} связаны с {value} ({other}) через {bridge:N}?",
        "Покажи список {ones:G}, у которых есть {bridge:N} со значением {value} ({other}).",
        "{ones:N}: {other} {value}, связь через {bridge:N}",
        "Выведи список {ones:G}, для которых {other} — {value} (через {bridge:N}).",
    ),
    "zh": (
        "通过{bridge}，哪些{ones}与{other}{value}有关？",
        "列出在{bridge}中涉及{other}{value}的{ones}。",
        "{other}为{value}的{bridge}涉及哪些{ones}？",
        "查找通过{bridge}与{value}（{other}）相关的{ones}。",
    ),
}


def of_parent(reader: Reader) -> Draft:
    """Ask for the rows whose parent has a given name, or their number."""
    links = [link for entity in reader.view.entities.values() for link in entity.parents]
    link = reader.pick([link for link in links if len(reader.view.parent(link).labels) == 1])
    parent, [label] = reader.view.parent(link), reader.view.parent(link).labels
    value = reader.value(label)
    if not value:
        raise NoFit
    rows = some(reader.view.entities[link.child], reader, plain=0.8)
    where = (f"{label.sql} = {literal(str(value))}", *rows.where)
    slots: dict[str, Term] = {"rows": rows.term, "parent": parent.term, "value": _value_term(str(value), reader)}
    columns = some_columns(rows.entity, reader)
    if columns and reader.rng.random() < 0.5:
        query = Query(tuple(column.sql for column in columns), rows.entity.sql, (link.join(link.parent),), where)
        return Draft(query, _OF_PARENT, {**slots, "columns": enumerated(columns)})
    return Draft(Query(("COUNT(*)",), rows.entity.sql, (link.join(link.parent),), where), _COUNT_OF_PARENT, slots)


def over_bridge(reader: Reader) -> Draft:
    """Ask for the names on one side of a bridge table, given a name on the other side."""
    named = [
        (entity, [link for link in entity.parents if reader.view.parent(link).labels])
        for entity in reader.view.entities.values()
    ]
    bridge, links = reader.pick([(entity, links) for entity, links in named if len(links) >= 2])
    one, other = reader.rng.sample(links, 2)
    names = tuple(label.sql for label in reader.view.parent(one).labels)
    far = reader.view.parent(other)
    value = reader.value(far.labels[0]) if len(far.labels) == 1 else None
    if not value:
        raise NoFit
    joins = (one.join(one.parent), other.join(other.parent))
    query = Query(names, bridge.sql, joins, (f"{far.labels[0].sql} = {literal(str(value))}",), distinct=True)
    slots = {"ones": reader.view.parent(one).term, "other": far.term, "bridge": bridge.term}
    return Draft(query, _BRIDGE, {**slots, "value": _value_term(str(value), reader)})


def _value_term(value: str, reader: Reader) -> Term:
    quote = reader.rng.random() < 0.4
    return words(f'"{value}"', f"«{value}»", f"“{value}”") if quote else words(value, value, value)
