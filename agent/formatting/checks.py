"""Formats of columns that a model proposes, checked, and those that the catalog and the statement give."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import asdict
from types import MappingProxyType

from babel.numbers import get_currency_name, list_currencies
from sqlglot import exp

from datasphinx.agent.formatting.formats import (
    CALENDAR,
    DURATION_UNITS,
    EXACT_DECIMALS,
    FEW_DECIMALS,
    ColumnFormat,
    column_format,
    column_formats,
    number_of,
)
from datasphinx.agent.messages import LANGUAGES
from datasphinx.agent.schema.catalog import Catalog, Table
from datasphinx.agent.schema.currencies import CURRENCY_SIGNS
from datasphinx.agent.sql.guard import shared_nodes
from datasphinx.agent.sql.names import resolved_query
from datasphinx.agent.sql.output_columns import OutputColumn, additive_columns, output_columns
from datasphinx.agent.sql.rows import type_of
from datasphinx.agent.sql.summary import YEARS, constant, days_in, period_unit, unwrapped
from datasphinx.agent.types import Result

NO_FORMATS: Mapping[str, str] = MappingProxyType({})
_NO_LETTER = r"[^\W\d_])"


def with_formats(
    result: Result, sql: str, catalog: Catalog, formats: Mapping[str, str] = NO_FORMATS, said: Iterable[str] = ()
) -> Result:
    """Return `result`, the rows of `sql`, with the formats of its columns, and which of them add up.

    `formats` are those that a model proposes; see `checked_formats`.
    """
    checked = checked_formats(formats, result["columns"], sql, catalog, said)
    found = _with_years_of_rows(column_formats(result, checked), result)
    amounts = {at for at, each in enumerate(found) if each.is_amount}
    additive = [at for at in additive_columns(sql, catalog) if at in amounts]
    return {**result, "formats": [asdict(each) for each in found], "additive": additive}


def _with_years_of_rows(formats: list[ColumnFormat], result: Result) -> list[ColumnFormat]:
    """Return `formats` with years for the numbers that may be years, if these alone tell the rows apart."""
    named = [at for at, each in enumerate(formats) if not (each.is_quantity and each.is_grouped)]
    if len(named) != 1 or formats[named[0]].is_grouped:
        return formats
    cells = [row[named[0]] for row in result["rows"]]
    if len(cells) == 1 or len(set(cells)) < len(cells) or any(number_of(cell) not in YEARS for cell in cells):
        return formats
    year = column_format("year", result["types"][named[0]], cells)
    return [year if at == named[0] and year.kind == "year" else each for at, each in enumerate(formats)]


def checked_formats(
    formats: Mapping[str, str], columns: Sequence[str], sql: str, catalog: Catalog, said: Iterable[str] = ()
) -> dict[str, str]:
    """Return the formats of `columns`, the output columns of `sql`: those of a model that hold, and what is known.

    Values, sums, averages, minima and maxima have the format that a file shows of their column. `percent` on a computed
    column needs a factor of 100 in its expression, and `fraction` must not have one. A currency
    has to occur in the tables of the statement, in their comments, or in `said`: the question and its knowledge. Keys
    are codes, and the years and months of a date are known from the expression.
    """
    outputs, keys = output_columns(sql, catalog), _keys(sql, catalog)
    given = {name.lower(): spec.strip() for name, spec in formats.items()}
    checked = dict[str, str]()
    for at, name in enumerate(columns):
        output = outputs[at] if len(outputs) == len(columns) else None
        spec = formats.get(name, given.get(name.lower(), "")).strip()
        if output and _is_format(output.shown):
            checked[name] = output.shown
        elif _is_format(spec) and _holds(spec, output, sql, catalog, said):
            checked[name] = spec
        elif output and (known := _known_format(name, output, keys, catalog)):
            checked[name] = known
    return checked


def _is_format(spec: str) -> bool:
    match spec.split():
        case ["percent" | "fraction" | "integer" | "year" | "quarter" | "month" | "week" | "date" | "code"]:
            return True
        case ["decimal", digits]:
            return digits in {"0", "1", "2", "3", "4", "5", "6"}
        case ["currency", code]:
            return code in list_currencies()
        case ["duration", unit]:
            return unit in DURATION_UNITS
    return False


def _holds(spec: str, output: OutputColumn | None, sql: str, catalog: Catalog, said: Iterable[str]) -> bool:
    kind, *unit = spec.split()
    if kind == "currency":
        return _is_named(unit[0], [*said, *_schema_texts(sql, catalog)])
    if kind == "percent":
        return output is not None and may_be_percent(output)
    if kind == "fraction":
        return output is not None and not _has_factor(output.expression)
    return True


def may_be_percent(output: OutputColumn) -> bool:
    """Return whether 12.5 in an output may be 12.5 %: it is stored, or computed with a factor of 100."""
    return output.stored is not None or _has_factor(output.expression)


def _has_factor(expression: exp.Expr) -> bool:
    """Return whether `expression` multiplies by 100, or counts 100 for each row of a case."""
    for literal in expression.find_all(exp.Literal):
        parent = literal.parent
        while isinstance(parent, exp.Paren | exp.Cast):
            parent = parent.parent
        is_hundred = not literal.is_string and number_of(literal.name) == 100
        if is_hundred and isinstance(parent, exp.Mul | exp.If | exp.Case):
            return True
    return False


def _keys(sql: str, catalog: Catalog) -> set[str]:
    """Return the names of the columns by which `sql` groups, or sorts upwards first, in lower case."""
    found: list[exp.Expr] = []
    for clause in shared_nodes(sql, catalog.dialect, exp.Group, exp.Order):
        first = [
            each.this for each in clause.expressions[:1] if isinstance(each, exp.Ordered) and not each.args.get("desc")
        ]
        for key in clause.expressions if isinstance(clause, exp.Group) else first:
            at = int(key.name) - 1 if isinstance(key, exp.Literal) and key.name.isdecimal() else None
            selects = clause.parent.selects if at is not None and isinstance(clause.parent, exp.Query) else []
            found.append(selects[at].unalias() if at is not None and at < len(selects) else key)
    return {key.name.lower() for key in found if isinstance(key, exp.Column)}


def _known_format(name: str, output: OutputColumn, keys: Set[str], catalog: Catalog) -> str:
    """Return the format that the catalog or the expression gives an output; empty if they give none.

    Whole numbers that may be years are years if the rows are grouped or sorted by them, which are `keys`. Others, such
    as rents, have no separators, which years would not have; see `_with_years_of_rows`. An average of amounts with
    decimals has two, or theirs if they have more: further ones come from dividing.
    """
    if _is_share(output.expression):
        return "percent" if _has_factor(output.expression) else "fraction"
    unit = period_unit(output.expression)
    if unit or _is_year_of_text(output.expression):
        return unit or "year"
    if isinstance(output.expression.unnest(), exp.Predicate | exp.Connector | exp.Not):
        # SQLite and MySQL have numbers for conditions.
        return "boolean"
    decimals = output.averaged_decimals or 0
    averaged = f"decimal {max(decimals, FEW_DECIMALS)}" if 0 < decimals <= EXACT_DECIMALS else ""
    if output.stored is None:
        return "ungrouped" if output.is_of_years else averaged
    table, column = output.stored
    if column.type_class == "boolean":
        return "boolean"
    is_date = column.type_class in {"date", "datetime"} or (
        column.type_class == "text" and days_in(column.minimum or "") is not None
    )
    is_key = column.name in table.key_columns and not is_date
    if is_key or _are_codes(catalog.values.get((table.key, column.name), ())):
        return "code"
    bounds = [number_of(bound or "") for bound in (column.minimum, column.maximum)]
    if not all(bound in YEARS for bound in bounds):
        return averaged
    return "ungrouped" if keys.isdisjoint({name.lower(), column.name.lower()}) else "year"


def _is_share(expression: exp.Expr) -> bool:
    """Return whether `expression` divides an amount by the sum of this amount over several rows."""
    quotient = _amount(expression)
    total = _amount(quotient.expression) if isinstance(quotient, exp.Div) else None
    if not isinstance(total, exp.Window) or not isinstance(total.this, exp.Sum):
        return False
    return _amount(quotient.this) == _amount(total.this.this)


def _amount(node: exp.Expr) -> exp.Expr:
    """Return `node` without names, conversions, the test for 0, and a factor of 1 or 100."""
    node = unwrapped(node)
    if isinstance(node, exp.Nullif):
        return _amount(node.this)
    if isinstance(node, exp.Mul):
        for factor, other in ((node.left, node.right), (node.right, node.left)):
            if constant(factor) in {1, 100}:
                return _amount(other)
    return node


def _are_codes(stored: Sequence[str]) -> bool:
    """Return whether most of the texts `stored` in a column are no dates, so that one such as 2001-10 is none."""
    dates = sum(column_format("", type_of(text), [text]).kind in CALENDAR for text in stored)
    return 2 * dates < len(stored)


def _is_year_of_text(expression: exp.Expr) -> bool:
    """Return whether `expression` is the first four characters of a text as a number, as the year of a date is."""
    cast = expression.unnest()
    text = cast.this.unnest() if isinstance(cast, exp.Cast | exp.TryCast) else None
    if not isinstance(text, exp.Substring):
        return False
    bounds = [text.args.get(name) for name in ("start", "length")]
    return [bound.name if bound else "" for bound in bounds] == ["1", "4"]


def _schema_texts(sql: str, catalog: Catalog) -> list[str]:
    """Return the names and comments of the tables that `sql` reads, and of their columns."""
    query = resolved_query(sql, catalog)
    scopes = query.scopes if query else ()
    found = (query.table(source) for scope in scopes for source in scope.sources.values()) if query else ()
    tables = {table.key: table for table in found if table}
    return [text for table in tables.values() for text in _texts_of(table)]


def _texts_of(table: Table) -> list[str]:
    own = [table.name, table.comment]
    return [
        text for text in [*own, *(text for column in table.columns for text in (column.name, column.comment))] if text
    ]


def _is_named(code: str, texts: Collection[str]) -> bool:
    """Return whether a currency occurs in `texts`: its code, a sign, its name in any language, or its English noun."""
    names = {code, *(sign for sign, meant in CURRENCY_SIGNS.items() if meant == code)}
    for language in LANGUAGES:
        names |= {get_currency_name(code, count, language) for count in (1, 2, 5)}
    names |= {get_currency_name(code, count, "en").split()[-1] for count in (1, 2)}
    pattern = re.compile("|".join(map(_as_word, names)), re.IGNORECASE)
    return any(map(pattern.search, texts))


def _as_word(name: str) -> str:
    """Return a pattern of `name` that no letter precedes or follows, in scripts that separate words."""
    before, after = ("" if char.lower() == char.upper() else _NO_LETTER for char in (name[0], name[-1]))
    return f"{before and '(?<!' + before}{re.escape(name)}{after and '(?!' + after}"
