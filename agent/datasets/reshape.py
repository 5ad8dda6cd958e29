"""Reshape a written table: several values in a cell to rows, and columns to rows."""

from collections import Counter
from collections.abc import Sequence

from datasphinx.agent.core.duckdb_text import quote_name
from datasphinx.agent.datasets.dataset import Warning
from datasphinx.agent.datasets.options import LoadOptions, Unpivot, option_invalid, place_of_column
from datasphinx.agent.datasets.periods import dates_of, is_period, is_year, quarter_of
from datasphinx.agent.datasets.workspace import Workspace

_SEPARATORS = ("\n", ";", "；", "|", "┋", "、", "，", ",", "/")
_SAMPLE = 1000
_SHOWN_NAMES = 30
_NUMBERS = ("BIGINT", "DOUBLE")


def reshape(work: Workspace, table: str, options: LoadOptions) -> list[Warning]:
    """Apply `split` and `unpivot` to `table`; return the warnings about the new rows.

    Raises:
        FileNotLoaded: An option names a column that does not exist or a new name that is taken.
    """
    warnings = [_split(work, table, column, separator) for column, separator in (options.split or {}).items()]
    if options.unpivot:
        warnings += _unpivot(work, table, options.unpivot)
    return warnings


def period_columns(names: Sequence[str]) -> list[str]:
    """Return the columns that are named by periods, if there are at least three."""
    found = [name for name in names if is_period(name)]
    return found if len(found) >= 3 else []


def _split(work: Workspace, table: str, column: str, separator: str) -> Warning:
    place = quote_name(table)
    columns = work.columns(place)
    column, kind = columns[place_of_column([name for name, _ in columns], "split", column)]
    quoted = quote_name(column)
    separator = separator or _separator(work, place, quoted)
    if kind != "VARCHAR":
        raise option_invalid("split", "option_column_not_text", column=column)
    before = work.run(f"SELECT count(*) FROM {place}")[0][0]
    row = "" if any(name == "row" for name, _ in columns) else "rowid + 1 AS row, "
    parts = f"list_filter(list_transform(string_split({quoted}, ?), lambda part: trim(part)), lambda part: part <> '')"
    # A cell without a value keeps its row.
    listed = f"CASE WHEN len({parts}) > 0 THEN {parts} ELSE [NULL] END"
    work.run(
        f"CREATE TABLE scratch.reshaped AS SELECT {row}* REPLACE (unnest({listed}) AS {quoted}) FROM {place}",
        [separator, separator],
    )
    after = _replace(work, place)
    return Warning("split_rows", column, {"separator": separator, "before": before, "after": after})


def _separator(work: Workspace, place: str, quoted: str) -> str:
    """Return the separator that occurs in most cells, a comma if none does."""
    cells = [
        row[0]
        for row in work.run(
            f"SELECT DISTINCT {quoted}::VARCHAR FROM {place} WHERE {quoted} IS NOT NULL LIMIT {_SAMPLE}"
        )
    ]
    counts = Counter(separator for cell in cells for separator in _SEPARATORS if separator in cell)
    return max(_SEPARATORS, key=lambda separator: counts[separator]) if counts else ","


def _unpivot(work: Workspace, table: str, options: Unpivot) -> list[Warning]:
    place, schema = quote_name(table), dict(work.columns(quote_name(table)))
    if options.columns is None:
        columns = period_columns(list(schema))
        if not columns:
            raise option_invalid("unpivot", "option_no_periods", columns=", ".join(list(schema)[:_SHOWN_NAMES]))
    else:
        names = list(schema)
        columns = [names[place_of_column(names, "unpivot", name)] for name in options.columns]
    others = [name for name in schema if name not in columns]
    taken = {name.casefold() for name in others}
    for new in (options.name, options.value):
        if new.casefold() in taken or options.name.casefold() == options.value.casefold():
            raise option_invalid("unpivot", "option_name_taken", column=new)
    kinds = {schema[name] for name in columns}
    kind = kinds.pop() if len(kinds) == 1 else "DOUBLE" if kinds <= {*_NUMBERS} else "VARCHAR"
    before = work.run(f"SELECT count(*) FROM {place}")[0][0]
    name, value = quote_name(options.name), quote_name(options.value)
    casts = ", ".join(f"CAST({quote_name(column)} AS {kind}) AS {quote_name(column)}" for column in columns)
    kept = "".join(f"{quote_name(other)}, " for other in others)
    listed = ", ".join(map(quote_name, columns))
    name_type, values = _typed_names(columns)
    work.run(
        f"CREATE TABLE scratch.reshaped AS SELECT {kept}map(?::VARCHAR[], ?::{name_type}[])[{name}] AS {name}, {value} "
        f"FROM (SELECT {kept}{casts} FROM {place}) UNPIVOT ({value} FOR {name} IN ({listed}))",
        [columns, values],
    )
    after = _replace(work, place)
    facts = {"count": len(columns), "name": options.name, "value": options.value, "before": before, "after": after}
    blanks = before * len(columns) - after
    return [*([Warning("unpivoted_blanks", "", {"count": blanks})] if blanks else []), Warning("unpivoted", "", facts)]


def _typed_names(columns: Sequence[str]) -> tuple[str, list[int] | list[str]]:
    """Return a type for the names of columns, and their values: years, dates, quarters such as `2024-Q1`, or the names.

    Months and quarters without a year keep their names, since they are no dates.
    """
    if all(map(is_year, columns)):
        return "BIGINT", [int("".join(filter(str.isdigit, column))[:4]) for column in columns]
    if dates := dates_of(columns):
        return "DATE", [day.isoformat() for day in dates]
    quarters = [quarter_of(column) for column in columns]
    return "VARCHAR", [quarter for quarter in quarters if quarter] if all(quarters) else list(columns)


def _replace(work: Workspace, place: str) -> int:
    """Put the reshaped table in the place of the written one; return its number of rows."""
    work.run(f"DROP TABLE {place}")
    work.run(f"CREATE TABLE {place} AS FROM scratch.reshaped", stage=("write", 0.5, 1.0))
    work.run("DROP TABLE scratch.reshaped")
    rows: int = work.run(f"SELECT count(*) FROM {place}")[0][0]
    return rows
