"""The filters of a query in words."""

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from typing import Any

from datasphinx.agent.formatting.formats import format_constant, joined
from datasphinx.agent.messages import CONVENTIONS, Language, render
from datasphinx.agent.schema.describe import one_line
from datasphinx.agent.sql.summary import FIRST_MOMENT, negated
from datasphinx.agent.types import QueryCondition

_VALUE_CHARS = 40
_MAX_VALUES = 4


def condition_words(conditions: Sequence[QueryCondition], language: Language) -> list[str]:
    """Return `conditions` in words, such as `city = New York` and `ordered on = 2024`."""
    return [_words(condition, language) for condition in conditions]


def short_words(conditions: Sequence[QueryCondition], language: Language, *, has_more: bool = False) -> list[str]:
    """Return `conditions` as people say them, such as `2024` and `without cancelled`.

    The column is left out where the values say what it is: of the only period, and of texts of several characters.
    The last text tells of conditions without words if `has_more`; alone, it would say nothing.
    """
    periods = sum(condition["operator"] == "during" for condition in conditions)
    short = [_without_column(condition, language, periods) for condition in conditions]
    times = Counter(short)
    pairs = zip(short, conditions, strict=True)
    told = [words if words and times[words] == 1 else _words(condition, language) for words, condition in pairs]
    return [*told, render("filter_more", language)] if has_more and told else told


def _without_column(condition: QueryCondition, language: Language, periods: int) -> str:
    """Return the words of a condition without its column; "" if they would not say what is meant."""
    operator, values = condition["operator"], condition["values"]
    if condition.get("or_missing") or condition.get("are_columns"):
        return ""
    if operator == "during":
        is_only = periods == 1 and "figure" not in condition
        return _alternatives(_values(condition, language), language) if is_only else ""
    says_all = all(isinstance(value, str) and sum(map(str.isalpha, value)) > 1 for value in values)
    if operator not in {"=", "≠"} or not says_all or condition.get("are_meanings") or "figure" in condition:
        return ""
    listed = _alternatives(_values(condition, language), language)
    return listed if operator == "=" else render("filter_without", language, values=listed)


def _values(condition: QueryCondition, language: Language) -> list[str]:
    if condition["operator"] == "during":
        days = map(date.fromisoformat, condition["values"])
        return [period_words(first, last, language) for first, last in zip(days, days, strict=True)]
    if condition["operator"] == "month":
        from babel.dates import get_month_names

        names, runs = get_month_names("wide", "stand-alone", language), list[list[int]]()
        for month in condition["values"]:
            if runs and runs[-1][-1] + 1 == month:
                runs[-1].append(month)
            else:
                runs.append([month])
        return [" – ".join(dict.fromkeys([names[run[0]], names[run[-1]]])) for run in runs]
    return [_value(value, language) for value in condition["values"]]


def _words(condition: QueryCondition, language: Language) -> str:
    words = _words_of_values(condition, language)
    if condition.get("or_missing"):
        missing = render("filter_missing", language, column=_subject(condition, language))
        return render("filter_or", language, values=words, last=missing)
    return words


def _words_of_values(condition: QueryCondition, language: Language) -> str:
    column, operator = _subject(condition, language), condition["operator"]
    if operator.startswith("not "):
        return render("filter_except", language, words=_words({**condition, "operator": negated(operator)}, language))
    if operator in {"missing", "present"}:
        return render(f"filter_{operator}", language, column=column)
    comma = CONVENTIONS[language].list_comma
    if operator == "on":
        return render("reading_condition", language, names=comma.join(map(one_line, condition["values"])))
    if operator in {"with", "without"}:
        own = comma.join(short_words(condition["values"], language))
        return render(f"filter_{operator}", language, values=f"{column} ({own})" if own else column)
    if operator == "first":
        return comma.join(_first(condition, language))
    shown = _values(condition, language)
    if operator == "between":
        return render("filter_range", language, column=column, first=shown[0], last=shown[1])
    if operator == "contains all":
        return render("filter_contains", language, column=column, value=joined(shown, language, _MAX_VALUES))
    if operator in {"contains", "lacks", "starts", "ends"}:
        return render(f"filter_{operator}", language, column=column, value=_alternatives(shown, language))
    if operator == "≠" and len(shown) <= _MAX_VALUES:
        return f"{column} ≠ {', '.join(shown)}"
    sign = "=" if operator in {"during", "month"} else operator
    return f"{column} {sign} {_alternatives(shown, language)}"


def _subject(condition: QueryCondition, language: Language) -> str:
    """Return the words for what a condition is on: a column, or a figure of one."""
    column, figure = one_line(condition["column"]), condition.get("figure")
    code = "figure_count" if figure == "count" else f"reading_{figure}"
    return render(code, language, table=column, measure=column) if figure else column


def _first(condition: QueryCondition, language: Language) -> Iterator[str]:
    """Yield how many rows are taken, and those of which order and groups."""
    name, (count,) = one_line(condition["column"]), condition["values"]
    yield render("reading_first", language) if count == 1 else render("reading_limit", language, count=count)
    name = render("reading_descending", language, name=name) if condition.get("descends") else name
    yield render("reading_order", language, names=name)
    if groups := condition.get("groups"):
        yield render("reading_groups", language, names=CONVENTIONS[language].list_comma.join(map(one_line, groups)))


def _alternatives(shown: list[str], language: Language) -> str:
    if len(shown) > _MAX_VALUES:
        return joined(shown, language, _MAX_VALUES)
    if len(shown) == 1:
        return shown[0]
    values_text = CONVENTIONS[language].list_comma.join(shown[:-1])
    return render("filter_or", language, values=values_text, last=shown[-1])


def period_words(first: date, last: date, language: Language) -> str:
    """Return the days from `first` to `last` as years or months if they are whole ones, else as dates.

    >>> period_words(date(2025, 12, 1), date(2025, 12, 31), "en")
    'December 2025'
    """
    following = last + timedelta(days=1) if last < date.max else last
    if first.day == first.month == following.day == following.month == 1:
        return str(first.year) if first.year == last.year else f"{first.year} – {last.year}"
    if first.day == following.day == 1:
        from babel.dates import format_date

        names = [format_date(day, CONVENTIONS[language].month, locale=language) for day in (first, last)]
        return " – ".join(dict.fromkeys(names))
    return " – ".join(dict.fromkeys(format_constant(day.isoformat(), language) for day in (first, last)))


def _value(value: Any, language: Language) -> str:
    if isinstance(value, bool):
        return render("answer_yes" if value else "answer_no", language).lower()
    day, first_moment = value, ""
    if isinstance(value, str) and value.endswith(FIRST_MOMENT):
        day, first_moment = value.removesuffix(FIRST_MOMENT), FIRST_MOMENT
    text = format_constant(day, language, may_be_year=False) + first_moment
    return (one_line(text, _VALUE_CHARS) or '""') if isinstance(value, str) else text
