"""Read months without a day, as DuckDB SQL: `2024-01`, `2024年1月`, `01.2024`, `Jan 2024`, `январь 2024`."""

from collections.abc import Mapping

from agent.datasets.cells import Cells, Layer, PendingWarning, Plan
from agent.datasets.periods import MONTHS

_YEAR_FIRST = r"((?:19|20)\d\d)(?:[-/](1[0-2]|0?[1-9])|年(1[0-2]|0?[1-9])月)"
_YEAR_LAST = r"(0[1-9]|1[0-2])[-/.]((?:19|20)\d\d)"
"""The month needs two digits: `1.2024` is more often a number."""

_NAMED = r"([A-Za-zА-Яа-я]{3,9})\.?,?[ -]((?:19|20)\d\d)(?: ?г\.?| года?)?"
MONTH_MAP = "MAP {" + ", ".join(f"'{name}': {number}" for name, number in MONTHS.items()) + "}"
"""SQL of the numbers of the months by their names."""


def layers(cells: Cells) -> tuple[Layer, ...]:
    """Return the layers that parse each cell; `first` is the first day of the month."""
    text = cells.text
    month = rf"{MONTH_MAP}[lower(regexp_extract({text}, '{_NAMED}', 1))]"
    year = f"regexp_extract({text}, '{_NAMED}', 2)"
    first = (
        rf"CASE WHEN regexp_full_match({text}, '{_YEAR_FIRST}') THEN "
        rf"TRY_CAST(regexp_replace({text}, '{_YEAR_FIRST}', '\1-\2\3-01') AS DATE) "
        rf"WHEN regexp_full_match({text}, '{_YEAR_LAST}') THEN "
        rf"TRY_CAST(regexp_replace({text}, '{_YEAR_LAST}', '\2-\1-01') AS DATE) "
        rf"WHEN regexp_full_match({text}, '{_NAMED}') THEN TRY_CAST(concat_ws('-', {year}, {month}, '01') AS DATE) END"
    )
    return (*cells.base, {cells("first"): first})


def count_conditions(cells: Cells) -> dict[str, str]:
    """Return the condition over `layers` that is true for months."""
    return {"months": f"{cells('first')} IS NOT NULL"}


def count_fitting(counts: Mapping[str, int], filled: int) -> int:
    """Return the number of months; 0 if any other value occurs, since the column may then hold days."""
    return counts["months"] if counts["months"] == filled else 0


def plan(cells: Cells, counts: Mapping[str, int], filled: int) -> Plan:
    """Return the conversion to the first day of each month."""
    pending_warning = PendingWarning("months", {"count": counts["months"]}, f"{cells('first')} IS NOT NULL")
    return Plan(layers(cells), cells("first"), "DATE", count_fitting(counts, filled), (pending_warning,))
