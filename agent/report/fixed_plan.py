"""The plan of a report for a model that cannot plan: total, course, breakdowns, extremes and change of one measure."""

from collections.abc import Iterator, Mapping
from itertools import islice

from datasphinx.agent.answers.starting_questions import group_column, shown_name
from datasphinx.agent.core.text import capitalised
from datasphinx.agent.embedded.periods import periods_of, years_alone
from datasphinx.agent.knowledge.entries import MetricEntry
from datasphinx.agent.knowledge.knowledge import Item, names_of
from datasphinx.agent.messages import CONVENTIONS, Language, render
from datasphinx.agent.schema.catalog import TIMES, Table
from datasphinx.agent.schema.describe import one_line
from datasphinx.agent.schema.words import words
from datasphinx.agent.sources.source import Source

_MAX_DIMENSIONS = 3
_MAX_NAME_CHARS = 60


def fixed_plan(request: str, source: Source, language: Language, names: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return the questions, each with its purpose, about the table of `source` that `request` fits best.

    The measure is a metric or a column that the request names, or else the number of rows. Periods and stored values
    that the request names are part of each question. `names` has the words for tables by key, if they are not their
    names.
    """
    table, metric = _table(request, source), _metric(request, source)
    name = shown_name(names.get(table.key) or table.name)
    measure = one_line(metric.name, _MAX_NAME_CHARS) if metric else _measure(request, table, language, name, source)
    spans = {(each.start, each.end) for each in (*periods_of(request), *years_alone(request))}
    # The year of a quarter is part of its words.
    periods = sorted(one for one in spans if not any(_contains(other, one) for other in spans))
    filters = [request[start:end] for start, end in periods] + _values(request, table, source)
    if filters:
        listed = CONVENTIONS[language].comma.join(filters)
        measure = render("report_filtered", language, measure=measure, filters=listed)
    total = capitalised(measure)
    questions = [("total", total)]
    has_dates = any(column.type_class in TIMES for column in source.open_columns(table))
    if has_dates:
        questions.append(("course", render("by_months", language, measure=total)))
    groups = metric.entry.dimensions if metric and isinstance(metric.entry, MetricEntry) else ()
    dimensions = list(islice(map(_words, groups) if groups else _dimensions(source, table), _MAX_DIMENSIONS))
    for name in dimensions:
        questions.append(("breakdown", render("by_groups", language, measure=total, group=name)))
    if dimensions:
        highest = render("report_highest", language, group=dimensions[0], measure=measure)
        questions.append(("extremes", highest))
    if has_dates and not periods:
        questions.append(("change", render("by_years", language, measure=total)))
    return [(question, render(f"report_{purpose}", language)) for purpose, question in questions]


def _contains(span: tuple[int, int], other: tuple[int, int]) -> bool:
    return span != other and span[0] <= other[0] and other[1] <= span[1]


def _values(request: str, table: Table, source: Source) -> list[str]:
    """Return the words of `request` for stored values of `table` and of those that it refers to."""
    shown = source.shown_catalog.tables
    keys = [key for key in (table.key, *(key.target for key in table.foreign_keys)) if key in shown]
    links = source.linked_values(request, {key: shown[key].column_names for key in keys})
    return list(dict.fromkeys(link.phrase for link in links))


def _table(request: str, source: Source) -> Table:
    """Return the first of the tables that fit the request best that has dates, else the first, else the largest one."""
    shown = source.shown_catalog.tables
    ranked = [shown[key] for key in source.index.rank(source.knowledge.expanded(request)) if key in shown]
    dated = (each for each in ranked if any(column.type_class in TIMES for column in each.columns))
    return next(dated, None) or next(iter(ranked), None) or max(shown.values(), key=lambda each: each.rows or 0)


def _metric(request: str, source: Source) -> Item | None:
    """Return the metric of whose name the request has the largest share, at least half: "sales" names net sales."""
    asked = words(request)
    metrics = filter(source.knowledge.is_valid, source.knowledge.knowledge.of_kind("metric"))
    shares = {item: max(_share(name, asked) for name, _ in names_of(item)) for item in metrics}
    best = max(shares, key=shares.__getitem__, default=None)
    return best if best and shares[best] >= 0.5 else None


def _share(name: str, asked: frozenset[str]) -> float:
    named = words(name)
    return len(named & asked) / max(len(named), 1)


def _measure(request: str, table: Table, language: Language, name: str, source: Source) -> str:
    """Return the words for the sum of a column that the request names, or for the number of rows of `table`."""
    asked = words(request)
    for column in source.open_columns(table):
        is_amount = column.type_class == "number" and column.name not in table.key_columns
        if is_amount and words(column.name) & asked:
            return render("figure_sum", language, measure=shown_name(column.name), table=name)
    return render("figure_count", language, table=name, measure="")


def _words(column: str) -> str:
    return shown_name(column.replace(".", " "))


def _dimensions(source: Source, table: Table) -> Iterator[str]:
    """Yield the words for columns by which the rows of `table` can be grouped: its own, and those it refers to."""
    shown = source.shown_catalog.tables
    referred = [shown[key.target] for key in table.foreign_keys if key.target in shown and key.likely]
    for each in [table, *referred]:
        columns = source.open_columns(each)
        while column := group_column(columns, each):
            yield shown_name(column.name) if each is table else _words(f"{each.name}.{column.name}")
            columns = [one for one in columns if one is not column]
