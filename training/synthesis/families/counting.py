"""Questions for counts: rows with conditions or in periods, distinct values, missing values, and duplicates."""

from training.synthesis.conditions import by_gap
from training.synthesis.draft import Draft, Wordings
from training.synthesis.subject import Subject, dated, restricted, some, subject
from training.synthesis.view import NoFit, Reader

_COUNT: Wordings = {
    "en": (
        "How many {rows:N} are there?",
        "How many {rows:N} do we have?",
        "Count the {rows:N}.",
        "What is the number of {rows:N}?",
        "Number of {rows:N}",
        "Give me the count of {rows:N}.",
        "How many {rows:N}?",
        "I need to know how many {rows:N} there are.",
        "Total number of {rows:N}?",
    ),
    "ru": (
        "Сколько {rows:G}?",
        "Сколько всего {rows:G}?",
        "Сколько у нас {rows:G}?",
        "Посчитай количество {rows:G}.",
        "Количество {rows:G}",
        "Каково число {rows:G}?",
    ),
    "zh": (
        "有多少{rows}？",
        "{rows}有多少？",
        "统计{rows}的数量。",
        "一共有多少{rows}？",
        "{rows}总数是多少？",
        "{rows}数量",
    ),
}
_DISTINCT: Wordings = {
    "en": (
        "How many different {column:N} do the {rows:N} have?",
        "How many distinct {column:N} are there among the {rows:N}?",
        "Number of different {column:N} of {rows:N}",
        "Count the distinct {column:N} of the {rows:N}.",
        "How many unique {column:N} appear in the {rows:N}?",
        "In how many different {column:N} do the {rows:N} fall?",
    ),
    "ru": (
        "Сколько разных {column:G} у {rows:G}?",
        "Количество уникальных {column:G} среди {rows:G}",
        "Сколько различных {column:G} встречается среди {rows:G}?",
        "Посчитай число разных {column:G} у {rows:G}.",
    ),
    "zh": (
        "{rows}有多少种不同的{column}？",
        "{rows}中不同的{column}有几个？",
        "统计{rows}的不同{column}数量。",
        "{rows}涉及多少个{column}？",
    ),
}
_USED: Wordings = {
    "en": (
        "How many different {parent:N} have {rows:N}?",
        "How many {parent:N} have at least one of the {rows:N}?",
        "Number of distinct {parent:N} with {rows:N}",
        "How many unique {parent:N} are there among the {rows:N}?",
        "Count the different {parent:N} that appear in the {rows:N}.",
        "Of how many different {parent:N} are there {rows:N}?",
    ),
    "ru": (
        "У скольких разных {parent:G} есть {rows:N}?",
        "Сколько разных {parent:G} встречается среди {rows:G}?",
        "Количество уникальных {parent:G} среди {rows:G}",
        "Сколько различных {parent:G} в списке {rows:G}?",
    ),
    "zh": (
        "有多少个不同的{parent}有{rows}？",
        "{rows}涉及多少个不同的{parent}？",
        "统计{rows}中不同{parent}的数量。",
        "有{rows}的{parent}共有几个？",
    ),
}
_DUPLICATES: Wordings = {
    "en": (
        "Which {column:N} occur more than once among the {rows:N}, and how often?",
        "Are there duplicate {column:N} among the {rows:N}? Show them with the number of times.",
        "Find {column:N} that several {rows:N} share, and how many have each.",
        "List duplicate {column:N} of {rows:N} with their counts.",
        "Which {rows:N} have the same {column:n}? Show each {column:n} and how often it occurs.",
        "Show {column:N} used by more than one of the {rows:N} and the count.",
    ),
    "ru": (
        "Какие {column:N} повторяются у {rows:G} и сколько раз?",
        "Найди повторяющиеся {column:N} среди {rows:G} с количеством.",
        "Есть ли дубли {column:G} среди {rows:G}? Покажи, сколько раз встречается каждое значение.",
        "Список дублей: {column:N} у {rows:G} и количество",
    ),
    "zh": (
        "哪些{column}在{rows}中出现不止一次？各有多少次？",
        "查找{rows}中重复的{column}及次数。",
        "{rows}里有重复的{column}吗？列出次数。",
        "列出{rows}中重复出现的{column}及其次数。",
    ),
}


def rows_counted(reader: Reader) -> Draft:
    """Ask for the number of rows of a table, all or with a condition."""
    return _counted(some(reader.entity_with(), reader, plain=0.25))


def in_period(reader: Reader) -> Draft:
    """Ask for the number of rows in a period, sometimes with another condition."""
    entity = reader.pick([e for e in reader.view.entities.values() if e.dates or len(e.years) == 1])
    rows = dated(entity, reader)
    if rows.conditions and reader.rng.random() < 0.25:
        extra = restricted(entity, reader)
        rows = subject(entity, reader).when(extra.conditions[0]).when(rows.conditions[0]) if extra.conditions else rows
    return _counted_some(rows)


def with_value(reader: Reader) -> Draft:
    """Ask for the number of rows with a value, a flag, or a number beyond a bound."""
    return _counted_some(restricted(reader.entity_with(), reader))


def missing(reader: Reader) -> Draft:
    """Ask for the number of rows with or without a value."""
    entity = reader.entity_with("gaps")
    return _counted_some(subject(entity, reader).when(by_gap(entity, reader)))


def distinct(reader: Reader) -> Draft:
    """Ask for the number of distinct values of a column, or of parents that rows refer to."""
    entity = reader.entity_with()
    rows = some(entity, reader, plain=0.6)
    if entity.parents and reader.rng.random() < 0.5:
        link = reader.rng.choice(entity.parents)
        query = rows.query(f"COUNT(DISTINCT {link.child_sql})")
        return Draft(query, _USED, {"rows": rows.term, "parent": reader.view.parent(link).term})
    column = reader.pick(entity.categories)
    if any(column.sql in condition for condition in rows.where):
        raise NoFit
    return Draft(rows.query(f"COUNT(DISTINCT {column.sql})"), _DISTINCT, {"rows": rows.term, "column": column.term})


def duplicates(reader: Reader) -> Draft:
    """Ask for the names or texts of more than one row."""
    entity = reader.entity_with("labels")
    names = [label for label in entity.labels if len(entity.labels) == 1]
    columns = [
        *names,
        *(gap for gap in entity.gaps if gap.column.type_class == "text" and gap not in entity.categories),
    ]
    column = reader.pick(columns)
    query = subject(entity, reader).query(column.sql, "COUNT(*)")
    where = () if column in names else (f"{column.sql} IS NOT NULL",)
    query = type(query)(query.select, query.table, where=where, group=(column.sql,), having="COUNT(*) > 1")
    return Draft(query, _DUPLICATES, {"rows": entity.term, "column": column.term})


def _counted_some(rows: Subject) -> Draft:
    if not rows.conditions:
        raise NoFit
    return _counted(rows)


def _counted(rows: Subject) -> Draft:
    query = rows.query("COUNT(*)")
    return Draft(query, _COUNT, {"rows": rows.term}, baseline=query.without_filter() if rows.conditions else None)
