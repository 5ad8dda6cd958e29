"""SQL for the cells of one column in the staging table, and for converting the column to its type."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from datasphinx.agent.core.duckdb_text import literal
from datasphinx.agent.datasets.numbers import ascii_of

STAGING = "cells"
"""The view of raw text: `rowid`, `t0, t1, ...`, and `v0, v1, ...` for workbook cells that are not text."""

_WHITE = literal(" \t\n\r\u00a0\u2003\u2009\u200b\u202f\u3000\ufeff")
MISSING_MARKERS = (
    "", "-", "--", "—", "–", "n/a", "na", "nan", "nil", "none", "null", "#n/a", "#div/0!", "#ref!", "#value!", "#name?",
    "#num!", "#null!", "?", "n.d.", "n.a.", "нет", "н/д", "无", "暂无", "空",
)  # fmt: skip
"""Words that mean a missing value. They do not count against a type and become NULL in a typed column."""

_TOTAL = r"((grand |sub-?)?totals?|sum|(zwischen|gesamt)?summe|(общий )?итого?|всего|合计|合計|总计|總計|小计|小計)"
"""A word for a total in the languages of the messages.

A sum of two rows, or one at the top, may be chance: only a label tells. Other languages have sums that speak for
themselves.
"""


@dataclass(frozen=True)
class Cells:
    """The cells of one staging column, which have no surrounding white space and are NULL if blank."""

    place: int
    paired: bool
    epoch: str = "1899-12-30"
    """The day with the number 0 (ECMA-376, part 1, 18.17.4.1)."""
    foreign: str = ""
    """Digits and marks of another script that the column has."""

    @property
    def text(self) -> str:
        """Text of a cell; NULL if it is a value of a workbook."""
        return f"t{self.place}"

    @property
    def value(self) -> str:
        """A workbook's number, date or truth value as text; NULL for any other cell."""
        return f"v{self.place}" if self.paired else "NULL"

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields of a cell in the staging table."""
        return (self.text, self.value) if self.paired else (self.text,)

    @property
    def trimmed(self) -> str:
        """Cell as text."""
        return f"coalesce(v{self.place}, t{self.place})" if self.paired else f"t{self.place}"

    @property
    def ascii_text(self) -> str:
        """Cell as text with ASCII digits."""
        if not self.foreign:
            return self.trimmed
        return f"translate({self.trimmed}, {literal(self.foreign)}, {literal(''.join(map(ascii_of, self.foreign)))})"

    @property
    def words(self) -> str:
        """The cell in a column of text: with usual spaces only."""
        return f"replace({self.trimmed}, '\u00a0', ' ')"

    @property
    def is_filled(self) -> str:
        """True if the cell is not blank, else false."""
        return f"({self.trimmed} IS NOT NULL)"

    @property
    def is_total(self) -> str:
        """True for a word that labels a totals row."""
        # Letters sort after digits, so this comparison skips the regular expression for numbers.
        return f"(CASE WHEN {self.text} >= 'A' THEN regexp_full_match({self.text}, '(?i){_TOTAL}\\s*[:：]?') END)"


def is_total_word(text: str) -> bool:
    """Return whether a text is nothing but a word for a total."""
    return text >= "A" and re.fullmatch(rf"{_TOTAL}\s*[:：]?", text, re.IGNORECASE) is not None


def has_total_word(text: str) -> bool:
    """Return whether a word for a total is in a text: `Total North`, `Итого по Москве`, `华东小计`."""
    return (
        text >= "A" and re.search(rf"(?<![^\W_]){_TOTAL}(?![^\W_])|[合总總小][计計]", text, re.IGNORECASE) is not None
    )


def is_missing(text: str) -> bool:
    """Return whether a text is a word that means a missing value, or the label of a totals row."""
    return text.lower() in MISSING_MARKERS or is_total_word(text)


def clean_sql(raw: str) -> str:
    """Return SQL of a cell without surrounding white space; NULL if nothing is left."""
    # Most cells start and end with a visible ASCII character, and comparing is faster than trimming.
    return (
        f"CASE WHEN {raw} >= '!' AND {raw} < chr(127) AND {raw}[-1] BETWEEN '!' AND '~' THEN {raw} "
        f"ELSE nullif(trim({raw}, {_WHITE}), '') END"
    )


def count_filled(columns: Iterable[Cells]) -> str:
    """Return SQL of the number of cells of a row that are not blank; a sum of so many terms takes DuckDB long."""
    return f"list_count([{', '.join(cells.trimmed for cells in columns)}])"
