"""Questions for lists: columns with a condition, in an order, or of rows above or below the average."""

from dataclasses import replace

from training.synthesis.draft import Draft, Query, Wordings, words
from training.synthesis.nouns import Term
from training.synthesis.subject import dated, enumerated, restricted, some, some_columns
from training.synthesis.view import Entity, NoFit, Reader

_LIST: Wordings = {
    "en": (
        "List the {columns:N} of the {rows:N}.",
        "Show {columns} of all {rows:N}.",
        "What are the {columns:N} of the {rows:N}?",
        "Give me the {columns} of the {rows:N}.",
        "{columns:N} of {rows:N}",
        "Show me the {rows:N} with their {columns:N}.",
        "I want a list of the {rows:N}: {columns}.",
    ),
    "ru": (
        "Покажи {columns:a}: {rows:N}.",
        "Выведи список {rows:G}: {columns}.",
        "{rows:N}: {columns}",
        "Для всех {rows:G} покажи {columns:a}.",
        "Нужен список {rows:G}: {columns}.",
    ),
    "zh": (
        "列出{rows}的{columns}。",
        "显示所有{rows}的{columns}。",
        "{rows}的{columns}有哪些？",
        "查询{rows}的{columns}。",
        "{rows}的{columns}",
    ),
}
_ORDERED: Wordings = {
    "en": (
        "List the {columns} of the {rows:N}, sorted by {key:n}{down}.",
        "Show {columns} of the {rows:N} ordered by {key:n}{down}.",
        "{columns} of {rows:N} by {key:n}{down}",
        "Give me the {columns} of all {rows:N} in order of {key:n}{down}.",
        "Sort the {rows:N} by {key:n}{down} and show their {columns:N}.",
        "What are the {columns:N} of the {rows:N}, ordered by {key:n}{down}?",
    ),
    "ru": (
        "Покажи {columns:a} для {rows:G}, сортировка: {key}{down}.",
        "{rows:N}: {columns}, упорядочить по полю «{key}»{down}",
        "Выведи {columns:a} всех {rows:G}, отсортируй по полю «{key}»{down}.",
        "Список {rows:G} ({columns}) в порядке поля «{key}»{down}",
    ),
    "zh": (
        "按{key}{down}列出{rows}的{columns}。",
        "显示{rows}的{columns}，按{key}{down}排序。",
        "{rows}的{columns}，按{key}{down}排列",
        "把{rows}按{key}{down}排序，显示{columns}。",
    ),
}
_ABOVE: Wordings = {
    "en": (
        "Which {rows:N} have {than} {measure:n}? Show the {columns}.",
        "List the {columns} of the {rows:N} with {than} {measure:n}.",
        "{columns} of {rows:N} with {than} {measure:n}",
        "Show the {columns} of all {rows:N} that have {than} {measure:n}.",
        "Find {rows:N} with {than} {measure:n} and give their {columns}.",
        "What are the {columns:N} of the {rows:N} having {than} {measure:n}?",
    ),
    "ru": (
        "Покажи {columns:a} для {rows:G}, у которых {measure} {than}.",
        "У каких {rows:G} {measure} {than}? Покажи {columns:a}.",
        "{rows:N}, у которых {measure} {than}: {columns}",
        "Выведи {columns:a} всех {rows:G}, где {measure} {than}.",
    ),
    "zh": (
        "{measure}{than}的{rows}有哪些？列出{columns}。",
        "列出{measure}{than}的{rows}的{columns}。",
        "{measure}{than}的{rows}：{columns}",
        "查询{measure}{than}的{rows}的{columns}。",
    ),
}
_ABOVE_COUNT: Wordings = {
    "en": (
        "How many {rows:N} have {than} {measure:n}?",
        "Count the {rows:N} with {than} {measure:n}.",
        "Number of {rows:N} with {than} {measure:n}",
        "How many of the {rows:N} show {than} {measure:n}?",
        "How many {rows:N} are there with {than} {measure:n}?",
        "I need the number of {rows:N} that have {than} {measure:n}.",
    ),
    "ru": (
        "У скольких {rows:G} {measure} {than}?",
        "Сколько {rows:G}, у которых {measure} {than}?",
        "Количество {rows:G}, где {measure} {than}",
        "Посчитай число {rows:G}, у которых {measure} {than}.",
    ),
    "zh": (
        "{measure}{than}的{rows}有多少？",
        "有多少{rows}的{measure}{than}？",
        "统计{measure}{than}的{rows}数量。",
        "{measure}{than}的{rows}数量",
    ),
}


def plain_list(reader: Reader) -> Draft:
    """Ask for one or two columns of rows, usually with a condition."""
    rows = (dated if reader.rng.random() < 0.35 else restricted)(_with_columns(reader), reader)
    columns = some_columns(rows.entity, reader)
    if not columns or (not rows.conditions and reader.rng.random() < 0.7):
        raise NoFit
    query = rows.query(*(column.sql for column in columns))
    baseline = query.without_filter() if rows.conditions else None
    return Draft(query, _LIST, {"columns": enumerated(columns), "rows": rows.term}, baseline=baseline)


def ordered_list(reader: Reader) -> Draft:
    """Ask for one or two columns of rows in the order of a measure, a date or a name."""
    rows = some(_with_columns(reader), reader, plain=0.5)
    columns = some_columns(rows.entity, reader)
    keys = [*rows.entity.measures, *rows.entity.dates, *rows.entity.labels[:1]]
    if not columns or not keys:
        raise NoFit
    key, down = reader.rng.choice(keys), reader.rng.random() < 0.5
    query = replace(rows.query(*(column.sql for column in columns)), order=(f"{key.sql}{' DESC' if down else ''}",))
    direction = words(", descending", " по убыванию", "降序") if down else words("", "", "升序")
    slots = {"columns": enumerated(columns), "rows": rows.term, "key": key.term, "down": direction}
    return Draft(query, _ORDERED, slots, min_rows=2)


def beyond_average(reader: Reader) -> Draft:
    """Ask for the rows whose measure is above or below the average, or their number."""
    rows = some(reader.entity_with("measures"), reader, plain=1)
    measure, above = reader.rng.choice(rows.entity.measures), reader.rng.random() < 0.7
    mean = rows.query(f"AVG({measure.sql})").sql()
    query = Query(("COUNT(*)",), rows.entity.sql, where=(f"{measure.sql} {'>' if above else '<'} ({mean})",))
    than = (
        words("an above-average", "выше среднего", "高于平均值")
        if above
        else words("a below-average", "ниже среднего", "低于平均值")
    )
    slots: dict[str, Term] = {"rows": rows.term, "measure": measure.term, "than": than}
    columns = some_columns(rows.entity, reader)
    if not rows.entity.labels or reader.rng.random() < 0.4:
        return Draft(query, _ABOVE_COUNT, slots)
    query = replace(query, select=tuple(column.sql for column in columns))
    return Draft(query, _ABOVE, {**slots, "columns": enumerated(columns)})


def _with_columns(reader: Reader) -> Entity:
    return reader.pick(reader.view.all_with("labels") or reader.view.all_with())
