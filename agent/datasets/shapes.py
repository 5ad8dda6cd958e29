"""Count the shapes of the cells of all columns at once: each cell with its digits as 9."""

import unicodedata
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from datasphinx.agent.datasets.cells import Cells
from datasphinx.agent.datasets.dates import read_date
from datasphinx.agent.datasets.numbers import ascii_of, read_number
from datasphinx.agent.datasets.workspace import Workspace

_MAX_SHAPES = 1000
"""Number of shapes of a column that are returned, the most frequent ones."""

_MAX_LENGTH = 60
_MAX_WORD = 32
PLAIN_INTEGER = "-?(0|[1-9][0-9]{0,17})"
PLAIN_DECIMAL = r"-?(0|[1-9][0-9]{0,14})\.([0-9]{1,2}|[0-9]{4,15})"
"""Numbers that DuckDB casts and no other reading fits; three decimals may be thousands. Each is one shape."""
LATE_MONTH = r"1[0-2]\.[12][0-9]{3}"
"""October to December with a year, which are numbers too. The shape is that of the earlier months."""


class Shape(NamedTuple):
    """Equal cells but for their digits: `number` of them, the first in the row `first`, `low` to `high` as numbers."""

    text: str
    is_value: bool
    """Whether the file stores the cells as numbers, dates or truth values."""
    leading_zero: bool
    number: int
    first: int
    example: str
    low: float | None
    high: float | None

    @property
    def has_digit(self) -> bool:
        """Whether the cells have digits, of any script."""
        return any(char.isdigit() for char in self.text)


def shape_sql(cell: str) -> str:
    """Return SQL of the shape of a cell; long text and words are cut."""
    sign = f"CASE WHEN left({cell}, 1) = '-' THEN '-' ELSE '' END"
    return (
        f"CASE WHEN NOT regexp_matches({cell}, '[0-9]') THEN lower(left({cell}, {_MAX_WORD})) "
        f"WHEN regexp_full_match({cell}, '{PLAIN_INTEGER}') THEN {sign} || '9' "
        f"WHEN length({cell}) <= 17 AND regexp_full_match({cell}, '{PLAIN_DECIMAL}') "
        f"AND NOT regexp_full_match({cell}, '{LATE_MONTH}') THEN {sign} || '9.9' "
        f"WHEN length({cell}) > {_MAX_LENGTH} THEN left({cell}, {_MAX_WORD}) "
        f"ELSE translate({cell}, '012345678', '999999999') END"
    )


def count_shapes(
    work: Workspace,
    columns: Sequence[Cells],
    source: str,
    stage: tuple[str, float, float] | None = None,
    *,
    are_repeated: bool = False,
) -> dict[int, list[Shape]]:
    """Return the shapes of each column by its place, the most frequent first.

    If cells `are_repeated`, the shape of each distinct one is found once, which is faster.
    """
    if not columns:
        return {}
    cells = ", ".join(column.ascii_text for column in columns)
    values = ", ".join(f"{column.value} IS NOT NULL" for column in columns)
    places = [column.place for column in columns]
    number = "TRY_CAST(CASE WHEN cell < ':' THEN cell END AS DOUBLE)"
    found = (
        f"(SELECT rowid, 1 AS number, unnest([{cells}]) AS cell, unnest([{values}]) AS is_value, "
        f"unnest({places}) AS place FROM {source})"
    )
    if are_repeated:
        found = f"(SELECT min(rowid) AS rowid, count(*) AS number, cell, is_value, place FROM {found} GROUP BY ALL)"
    rows = work.run(
        "SELECT place, shape, is_value, zero, sum(number)::BIGINT AS n, min(rowid), arg_min(cell, rowid), "
        f"min({number}), max({number}) FROM (SELECT rowid, number, place, is_value, cell, "
        f"{shape_sql('cell')} AS shape, regexp_matches(cell, '^[-+'']?0[0-9]') AS zero "
        f"FROM {found} WHERE cell IS NOT NULL) GROUP BY place, shape, is_value, zero "
        f"QUALIFY row_number() OVER (PARTITION BY place ORDER BY n DESC, min(rowid)) <= {_MAX_SHAPES}",
        stage=stage,
    )
    shapes: dict[int, list[Shape]] = {place: [] for place in places}
    for place, text, is_value, zero, count, first, example, low, high in rows:
        shapes[place].append(Shape(text, is_value, zero, count, first, example, low, high))
    return shapes


def foreign_characters(shapes: Sequence[Shape]) -> str:
    """Return the digits of other scripts and the marks other than ASCII in the numbers and dates of a column."""
    texts = [shape.text for shape in shapes if not shape.text.isascii() and shape.has_digit]
    read = [
        text for text in texts if not any("0" <= char <= "9" for char in text) or read_number(text) or read_date(text)
    ]
    found = {char for text in read for char in text if ascii_of(char) != char}
    zeros = {ord(char) - unicodedata.decimal(char) for char in found if unicodedata.category(char) == "Nd"}
    return "".join(sorted(found | {chr(zero + digit) for zero in zeros for digit in range(10)}))


def examples_of(shapes: Sequence[Shape], limit: int, length: int) -> Mapping[str, str]:
    """Return examples of cells with these shapes as facts of a warning."""
    examples = [shape.example[:length] for shape in sorted(shapes, key=lambda shape: shape.first)[:limit]]
    return {"example": examples[0] if examples else "", "examples": "; ".join(examples)}
