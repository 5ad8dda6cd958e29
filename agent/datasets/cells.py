"""The cells of one column in the staging table, and what a column is to become."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

STAGING = "cells"
"""The temporary table of raw text: `t0, t1, ...`, and `v0, v1, ...` for what is not text in a workbook."""

_WHITE = r"' ' || chr(9) || chr(10) || chr(13) || chr(160) || chr(12288)"
_NOTHING = (
    "", "-", "--", "—", "–", "n/a", "na", "nan", "nil", "none", "null", "#n/a", "#div/0!", "#ref!", "#value!", "#name?",
    "#num!", "#null!", "?", "нет", "н/д", "无", "暂无", "空",
)  # fmt: skip
"""What stands for no value; it does not speak against a type, and becomes NULL where the column has one."""

_TOTALS = (
    r"(?i)((grand |sub-?|general )?totals?|sum|всего|(общий |промежуточный )?итого?в?|合计|总计|小计|总和)([\s:：].*)?"
)


@dataclass(frozen=True)
class Cells:
    """A column of the staging table, as SQL."""

    place: int
    paired: bool

    @property
    def text(self) -> str:
        """The text without white space around it; NULL where nothing is left."""
        return f"nullif(trim(t{self.place}, {_WHITE}), '')"

    @property
    def value(self) -> str:
        """A number, a date or a truth value of a workbook as text; NULL where the cell is none."""
        return f"v{self.place}" if self.paired else "NULL::VARCHAR"

    @property
    def either(self) -> str:
        """The cell as text, as it stands in the file; NULL where it is blank."""
        return f"coalesce({self.value}, CASE WHEN {self.text} IS NOT NULL THEN t{self.place} END)"

    @property
    def is_filled(self) -> str:
        """True where the cell is not blank."""
        return f"({self.either} IS NOT NULL)"

    @property
    def is_nothing(self) -> str:
        """True where a word stands for no value, or names the totals of its row."""
        words = ", ".join(f"'{word}'" for word in _NOTHING)
        return f"(lower({self.text}) IN ({words}) OR {self.is_total})"

    @property
    def is_total(self) -> str:
        """True where the cell names a row of totals."""
        return f"regexp_full_match({self.text}, '{_TOTALS}')"


class Remark(NamedTuple):
    """A warning in the making: `examples` of cells for which `where` holds are added to its facts."""

    code: str
    facts: Mapping[str, Any]
    where: str = ""


@dataclass(frozen=True)
class Plan:
    """What a column becomes: the SQL of its values, their type, how many cells fit, and what has to be said."""

    sql: str
    type: str
    fits: int
    remarks: tuple[Remark, ...] = ()
