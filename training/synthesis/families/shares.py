"""Questions for shares in percent: of groups, of rows that meet a condition, and of such rows within groups."""

from training.synthesis.conditions import Condition, any_condition, by_flag, by_gap, by_value
from training.synthesis.draft import Draft, Wordings, words
from training.synthesis.nouns import Term
from training.synthesis.quantities import aggregate
from training.synthesis.subject import Subject, required_group, some, subject
from training.synthesis.view import NoFit, Reader

_OF_ROWS: Wordings = {
    "en": (
        "What percentage of all {rows:N} falls to each {group}{round}?",
        "What share of the {rows:N} does each {group} have, in percent{round}?",
        "Share of {rows:N} by {group} in percent{round}",
        "Percentage of {rows:N} per {group}{round}",
        "Show how the {rows:N} are distributed over the {group:N}, in percent{round}.",
        "For each {group}, give the percentage of all {rows:N}{round}.",
        "Give the percentage breakdown of {rows:N} by {group}{round}.",
        "How many percent of the {rows:N} belong to each {group}{round}?",
    ),
    "ru": (
        "Какой процент {rows:G} приходится на каждое значение «{group}»{round}?",
        "Доля {rows:G} по {group:D} в процентах{round}",
        "Покажи распределение {rows:G} по {group:D} в процентах{round}.",
        "Какова доля {rows:G} по {group:D}, в процентах{round}?",
        "Процент {rows:G} в разбивке по {group:D}{round}",
    ),
    "zh": (
        "每个{group}占{rows}总数的百分比是多少{round}？",
        "各{group}的{rows}占比（百分比）{round}",
        "按{group}统计{rows}的百分比{round}。",
        "{rows}按{group}的占比是多少{round}？",
    ),
}
_OF_SUM: Wordings = {
    "en": (
        "What percentage of the {what} comes from each {group}{round}?",
        "What share of the {what} does each {group} account for, in percent{round}?",
        "Share of the {what} by {group} in percent{round}",
        "{what}: percentage per {group}{round}",
        "How many percent of the {what} does each {group} bring in{round}?",
        "Show the percentage of the {what} by {group}{round}.",
        "For each {group}, give its share of the {what} in percent{round}.",
    ),
    "ru": (
        "Доля по {group:D} в процентах{round}: {what}",
        "Какой процент приходится на каждое значение «{group}»{round}: {what}?",
        "Покажи, как распределяется {what} по {group:D} в процентах{round}.",
        "Процентная доля по {group:D}{round}: {what}",
    ),
    "zh": (
        "每个{group}占{what}的百分比是多少{round}？",
        "各{group}在{what}中的占比{round}",
        "按{group}计算{what}的百分比{round}。",
        "{what}按{group}的占比是多少{round}？",
    ),
}
_OF_CONDITION: Wordings = {
    "en": (
        "What percentage of the {rows:N} are {some:N}{round}?",
        "What share of all {rows:N} is made up by {some:N}, in percent{round}?",
        "Percentage of {some:N} among all {rows:N}{round}",
        "How many percent of the {rows:N} are {some:N}{round}?",
        "Share of {some:N} in all {rows:N}, in percent{round}",
        "Out of all {rows:N}, what percent are {some:N}{round}?",
    ),
    "ru": (
        "Какой процент от всех {rows:G} составляют {some:N}{round}?",
        "Доля {some:G} среди всех {rows:G} в процентах{round}",
        "Какова доля {some:G} от общего числа {rows:G}, в процентах{round}?",
        "Сколько процентов {rows:G} — это {some:N}{round}?",
    ),
    "zh": (
        "{some}占全部{rows}的百分之几{round}？",
        "{some}在所有{rows}中的比例（百分比）{round}",
        "所有{rows}中{some}的占比是多少{round}？",
        "计算{some}占{rows}总数的百分比{round}。",
    ),
}
_WITHIN: Wordings = {
    "en": (
        "For each {group}, what percentage of the {rows:N} are {some:N}{round}?",
        "What share of the {rows:N} of each {group} are {some:N}, in percent{round}?",
        "Percentage of {some:N} by {group}{round}",
        "Show the percentage of {some:N} among the {rows:N} for each {group}{round}.",
        "How many percent of the {rows:N} are {some:N}, per {group}{round}?",
        "Per {group}: share of {some:N} in its {rows:N}, in percent{round}",
    ),
    "ru": (
        "Какой процент {rows:G} составляют {some:N} по {group:D}{round}?",
        "Доля {some:G} среди {rows:G} по {group:D} в процентах{round}",
        "Покажи по {group:D} процент {some:G} от всех {rows:G}{round}.",
        "По {group:D}: сколько процентов {rows:G} — это {some:N}{round}?",
    ),
    "zh": (
        "每个{group}的{rows}中{some}占百分之几{round}？",
        "按{group}统计{some}占{rows}的百分比{round}。",
        "各{group}中{some}的比例{round}",
        "不同{group}的{rows}里{some}占比是多少{round}？",
    ),
}


def of_rows(reader: Reader) -> Draft:
    """Ask for the percentage of rows in each group."""
    rows = some(reader.entity_with(), reader, plain=0.7)
    group = required_group(rows.entity, reader, rows.where)
    total = rows.query("COUNT(*)").sql()
    share, slot = _rounded(f"100.0 * COUNT(*) / ({total})", reader)
    return Draft(
        group.query(rows, share), _OF_ROWS, {"rows": rows.term, "group": group.term, "round": slot}, min_rows=2
    )


def of_sum(reader: Reader) -> Draft:
    """Ask for the percentage of a total that each group contributes."""
    rows = some(reader.entity_with("sums"), reader, plain=0.7)
    group = required_group(rows.entity, reader)
    what = aggregate("SUM", reader.rng.choice(rows.entity.sums), rows, reader)
    share, slot = _rounded(f"100.0 * {what.sql} / ({rows.query(what.sql).sql()})", reader)
    return Draft(group.query(rows, share), _OF_SUM, {"what": what.of, "group": group.term, "round": slot}, min_rows=2)


def of_condition(reader: Reader) -> Draft:
    """Ask for the percentage of rows that meet a condition."""
    rows, condition = _with_condition(reader)
    share, slot = _rounded(_share(condition), reader)
    slots = {"rows": rows.term, "some": condition.on(rows.term), "round": slot}
    return Draft(rows.query(share), _OF_CONDITION, slots)


def within_groups(reader: Reader) -> Draft:
    """Ask for the percentage of rows that meet a condition, per group."""
    rows, condition = _with_condition(reader)
    group = required_group(rows.entity, reader, [condition.sql])
    share, slot = _rounded(_share(condition), reader)
    slots = {"rows": rows.term, "some": condition.on(rows.term), "group": group.term, "round": slot}
    return Draft(group.query(rows, share), _WITHIN, slots, min_rows=2)


def _with_condition(reader: Reader) -> tuple[Subject, Condition]:
    entity = reader.entity_with()
    make = reader.rng.choice([by_value, by_value, by_flag, by_gap, any_condition])
    condition = make(entity, reader)
    if condition is None:
        raise NoFit
    return subject(entity, reader), condition


def _share(condition: Condition) -> str:
    return f"100.0 * SUM(CASE WHEN {condition.sql} THEN 1 ELSE 0 END) / COUNT(*)"


def _rounded(share: str, reader: Reader) -> tuple[str, Term]:
    """Round the expression only if the wording asks for it."""
    places = reader.rng.choice([None, None, 1, 2])
    if places is None:
        return share, words("", "", "")
    decimals = words(
        f", rounded to {'one decimal' if places == 1 else 'two decimals'}",
        f" с округлением до {'одного знака' if places == 1 else 'двух знаков'}",
        f"，保留{'一' if places == 1 else '两'}位小数",
    )
    return f"ROUND({share}, {places})", decimals
