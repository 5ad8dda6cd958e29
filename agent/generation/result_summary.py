"""A result in a few words, for prompts."""

from datasphinx.agent.schema.describe import one_line
from datasphinx.agent.schema.personal import personal_content
from datasphinx.agent.sources.source import Source
from datasphinx.agent.sql.output_columns import output_columns
from datasphinx.agent.types import Result, masked, masked_rows

_SHOWN_ROWS = 3
_MAX_ROW_CHARS = 300


def summary_of(result: Result, sql: str, source: Source) -> str:
    """Return the number of rows and the first rows of the result of `sql` for a prompt.

    Secret values, and those of columns whose values look personal, are masked.
    """
    if [[None]] == result["rows"]:
        return "one empty value"
    outputs, catalog = output_columns(sql, source.catalog), source.catalog
    stored = {at: output.stored for at, output in enumerate(outputs) if output.stored}
    personal = [at for at, place in stored.items() if personal_content(catalog, place.table, place.column)]
    first = masked_rows(masked(result)["rows"][:_SHOWN_ROWS], personal)
    rows = [one_line(str(row), _MAX_ROW_CHARS) for row in first]
    count = f"{len(result['rows'])}{' or more' if result['truncated'] else ''} rows"
    return f"{count}, the first: {'; '.join(rows)}" if rows else "no rows"
