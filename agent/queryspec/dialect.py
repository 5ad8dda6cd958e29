"""The engines that query specs are compiled for, and parts of dates that none of them has."""

import calendar

from sqlglot import exp

from datasphinx.agent.engines import engine_of, engines
from datasphinx.agent.engines.spelling import Spelling
from datasphinx.agent.errors import ConfigurationError
from datasphinx.agent.messages import Message

DIALECTS = tuple(dict.fromkeys(engine.dialect for engine in engines().values() if engine.spelling))


def spelling_of(dialect: str) -> Spelling:
    """Return how query specs are spelled in the dialect of a source.

    Raises:
        ConfigurationError: Specs cannot be compiled to this dialect.
    """
    spelling = engine_of(dialect).spelling
    if spelling is None:
        raise ConfigurationError(
            "DATASPHINX_SOURCES", Message("spec_engine_not_supported", supported=", ".join(DIALECTS), engine=dialect)
        )
    return spelling


def weekday_name(node: exp.Expr, spelling: Spelling) -> exp.Expr:
    """Return the English name of the weekday of a date."""
    names = [exp.Literal.string(name) for name in calendar.day_name]
    return exp.Case(
        this=spelling.date_part(node, "weekday"),
        ifs=[exp.If(this=exp.Literal.number(day), true=name) for day, name in enumerate(names, 1)],
    )


def fiscal_year(node: exp.Expr, start_month: int, spelling: Spelling) -> exp.Expr:
    """Return the year in which the fiscal year of a date ends, as an integer."""
    year = spelling.date_part(node, "year")
    if start_month == 1:
        return year
    month = spelling.date_part(node.copy(), "month")
    is_next = exp.GTE(this=month, expression=exp.Literal.number(start_month))
    added = exp.Case().when(is_next, exp.Literal.number(1)).else_(exp.Literal.number(0))
    return exp.Paren(this=exp.Add(this=year, expression=added))


def fiscal_quarter(node: exp.Expr, start_month: int, spelling: Spelling) -> exp.Expr:
    """Return the quarter of a date within its fiscal year, from 1 to 4."""
    month = spelling.date_part(node, "month")
    made = exp.Case()
    for quarter in range(1, 5):
        months = [(start_month - 1 + 3 * (quarter - 1) + offset) % 12 + 1 for offset in range(3)]
        is_within = exp.In(this=month.copy(), expressions=[exp.Literal.number(each) for each in sorted(months)])
        made = made.when(is_within, exp.Literal.number(quarter), copy=False)
    return made
