"""Questions that compare two years: both values, or the growth in percent."""

from training.synthesis.draft import Draft, Wordings, same
from training.synthesis.quantities import Quantity, some_quantity
from training.synthesis.subject import dated_name, some_group, timed
from training.synthesis.view import Field, NoFit, Reader

_VERSUS: Wordings = {
    "en": (
        "Compare the {what} in {a} and {b}.",
        "What was the {what} in {a} and in {b}?",
        "{what}: {b} against {a}",
        "How does the {what} of {b} compare with {a}?",
        "{what} {a} vs {b}",
        "Show the {what} of {a} next to that of {b}.",
    ),
    "ru": (
        "Сравни {what:a} за {a} и {b} годы.",
        "{what}: {a} год против {b} года",
        "Покажи {what:a} за {a} год рядом с {b} годом.",
        "Сколько составляет {what} в {a} и в {b} году?",
    ),
    "zh": (
        "比较{a}年和{b}年的{what}。",
        "{a}年与{b}年的{what}分别是多少？",
        "{what}：{a}年对比{b}年",
        "{b}年的{what}与{a}年相比如何？",
    ),
}
_VERSUS_BY: Wordings = {
    "en": (
        "Compare the {what} in {a} and {b} by {group}.",
        "For each {group}, what was the {what} in {a} and in {b}?",
        "{what} by {group}: {b} against {a}",
        "How does the {what} of {b} compare with {a} for each {group}?",
        "{what} per {group}, {a} vs {b}",
        "Show the {what} of {a} next to that of {b}, by {group}.",
    ),
    "ru": (
        "Сравни {what:a} за {a} и {b} годы по {group:D}.",
        "{what} по {group:D}: {a} год против {b} года",
        "Покажи {what:a} за {a} и {b} годы по {group:D}.",
        "По {group:D}: {what} в {a} и в {b} году",
    ),
    "zh": (
        "按{group}比较{a}年和{b}年的{what}。",
        "各{group}在{a}年与{b}年的{what}",
        "按{group}列出{a}年和{b}年的{what}。",
        "每个{group}{a}年和{b}年的{what}分别是多少？",
    ),
}
_GROWTH: Wordings = {
    "en": (
        "By what percentage did the {what} grow from {a} to {b}?",
        "What was the growth of the {what} from {a} to {b} in percent?",
        "Percentage change of the {what} between {a} and {b}",
        "How much did the {what} change from {a} to {b}, in percent?",
        "{what} growth {b} vs {a} in percent",
        "By how many percent did the {what} rise or fall in {b} compared with {a}?",
    ),
    "ru": (
        "На сколько процентов выросло значение с {a} по {b} год: {what}?",
        "Прирост в процентах {b} к {a}: {what}",
        "На сколько процентов изменилось в {b} году по сравнению с {a}: {what}?",
        "Посчитай изменение в процентах между {a} и {b} годом: {what}.",
    ),
    "zh": (
        "{what}从{a}年到{b}年增长了百分之多少？",
        "{b}年{what}同比{a}年的增长率是多少？",
        "{what}在{b}年比{a}年变化了百分之几？",
        "计算{a}到{b}年{what}的增长百分比。",
    ),
}


def versus(reader: Reader) -> Draft:
    """Ask for a quantity of one year and the year before, sometimes by group."""
    rows, column = timed(reader)
    years = _two_years(column, reader)
    what = some_quantity(rows, reader, additive=True)
    before, after = (_of_year(what, column, year) for year in years)
    slots = {"what": dated_name(what.of, rows, column), "a": same(years[0]), "b": same(years[1])}
    group = some_group(rows.entity, reader) if reader.rng.random() < 0.4 else None
    if group is None:
        return Draft(rows.query(before, after), _VERSUS, slots)
    return Draft(group.query(rows, before, after), _VERSUS_BY, {**slots, "group": group.term}, min_rows=2)


def growth(reader: Reader) -> Draft:
    """Ask for the growth of a quantity from one year to the next, in percent."""
    rows, column = timed(reader)
    years = _two_years(column, reader)
    what = some_quantity(rows, reader, additive=True)
    before, after = (_of_year(what, column, year) for year in years)
    query = rows.query(f"100.0 * ({after} - {before}) / {before}")
    return Draft(query, _GROWTH, {"what": dated_name(what.of, rows, column), "a": same(years[0]), "b": same(years[1])})


def _two_years(column: Field, reader: Reader) -> tuple[int, int]:
    day = reader.day(column)
    if day is None:
        raise NoFit
    return day.year - 1, day.year


def _of_year(what: Quantity, column: Field, year: int) -> str:
    inner = what.inner or "1"
    return f"SUM(CASE WHEN strftime('%Y', {column.sql}) = '{year}' THEN {inner} ELSE 0 END)"
