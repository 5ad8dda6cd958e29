"""SQL for the cells of one column in the staging table, and for converting the column to its type."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

STAGING = "cells"
"""The view of raw text: `rowid`, `t0, t1, ...`, and `v0, v1, ...` for workbook cells that are not text."""

_WHITE = "' ' || " + " || ".join(f"chr({code})" for code in (9, 10, 13, 160, 8195, 8201, 8203, 8239, 12288, 65279))
MISSING_MARKERS = (
    "", "-", "--", "—", "–", "n/a", "na", "nan", "nil", "none", "null", "#n/a", "#div/0!", "#ref!", "#value!", "#name?",
    "#num!", "#null!", "?", "n.d.", "n.a.", "нет", "н/д", "无", "暂无", "空",
)  # fmt: skip
"""Words that mean a missing value. They do not count against a type and become NULL in a typed column."""

_TOTALS = (
    r"(?i)((grand |sub-?|general |sub )?totals?|sum|(общий |промежуточный )?итого?|всего|summe|gesamt(summe)?|"
    r"(opening|closing) balance|(входящий|исходящий) остаток|остаток на (начало|конец).*|"
    r"合计|总计|小计|总和|共计|期初余额|期末余额)\s*[:：]?"
)
"""A cell that is nothing but the label of a totals row."""

_WESTERN_TOTALS = (
    r"(zwischen|gesamt|end|teil|monats|jahres)?summen?|(gesamt|zwischen)(betrag|wert)|(ins)?gesamt|(sous-?|sub-?)?tota(l|le|les|is|ux|al)|"
    r"subtota(le|al)|suma|somma|soma|summa|delsumma|razem|łącznie|ogółem|toplam|ara toplam|celkem|összesen"
)
_NAMED_TOTALS = (
    r"(?i)((grand |sub-?|general |sub )?totals?|sum|итого?|всего|合计|总计|小计|" + _WESTERN_TOTALS + r")([\s:：(-].*)|"
    r".+[\s:：-]((grand |sub-?|sub )?totals?|итого?|всего|" + _WESTERN_TOTALS + r")|.+(合计|总计|小计|总和)"
)
"""A cell that may label the total of a group: `Total North`, `North Total`, `Итого по Москве`, `华东小计`."""


Layer = dict[str, str]
"""SQL expressions by name, over the columns of the layers below. Each is computed once per row."""


@dataclass(frozen=True)
class Cells:
    """The cells of one staging column. `text`, `value` and `original` are columns of its lowest layers."""

    place: int
    paired: bool

    def __call__(self, name: str) -> str:
        """Return the name of the layer column `name` for this staging column."""
        return f"{name}_{self.place}"

    @property
    def raw(self) -> str:
        """Cell as text, exactly as in the staging table; NULL if blank."""
        return f"coalesce(v{self.place}, t{self.place})" if self.paired else f"t{self.place}"

    @property
    def text(self) -> str:
        """Text without surrounding white space; NULL if nothing is left."""
        return self("text")

    @property
    def value(self) -> str:
        """A workbook's number, date or truth value as text; NULL for any other cell."""
        return self("value")

    @property
    def original(self) -> str:
        """Cell as text, exactly as in the file; NULL if blank."""
        return self("original")

    @property
    def trimmed(self) -> str:
        """Cell as text without surrounding white space; NULL if blank."""
        return f"coalesce({self.value}, {self.text})"

    @property
    def words(self) -> str:
        """The cell in a column of text: without surrounding white space, and with usual spaces only."""
        return f"replace({self.trimmed}, chr(160), ' ')"

    @property
    def base(self) -> tuple[Layer, ...]:
        """The lowest layers, over the staging table."""
        raw = f"t{self.place}"
        value = f"v{self.place}" if self.paired else "NULL::VARCHAR"
        raw_text = f"CASE WHEN {self.text} IS NOT NULL THEN {raw} END"
        original = f"coalesce({self.value}, {raw_text})" if self.paired else raw_text
        is_trimmed = f"{_starts_visible(raw)} AND right({raw}, 1) BETWEEN '!' AND '~'"
        text = f"CASE WHEN {is_trimmed} THEN {raw} ELSE nullif({_trim_sql(raw)}, '') END"
        return {self.text: text, self.value: value}, {self.original: original}

    @property
    def is_filled(self) -> str:
        """True if the cell is not blank, else false or NULL; evaluated over the staging table."""
        raw = f"t{self.place}"
        cases = f"WHEN {_starts_visible(raw)} THEN true " + (f"WHEN v{self.place} IS NOT NULL THEN true " * self.paired)
        return f"(CASE {cases}ELSE {_trim_sql(raw)} <> '' END)"

    def distinct(self, rows: str, *, repeats: bool) -> str:
        """Return a subquery that selects this column's cells from `rows`, each with its count as `n`.

        With `repeats`, equal cells are grouped and keep their first `rowid`, because parsing a cell is slower than
        grouping.
        """
        fields = f"t{self.place}, v{self.place}" if self.paired else f"t{self.place}"
        if not repeats:
            return f"(SELECT {fields}, rowid, 1 AS n FROM {rows})"
        return f"(SELECT {fields}, min(rowid) AS rowid, count(*) AS n FROM {rows} GROUP BY {fields})"

    @property
    def is_missing_marker(self) -> str:
        """True for a word that means a missing value, or that labels a totals row."""
        words = ", ".join(f"'{word}'" for word in MISSING_MARKERS)
        return f"coalesce(lower({self.text}) IN ({words}) OR coalesce({self.is_total}, false), false)"

    @property
    def is_total(self) -> str:
        """True for a word that labels a totals row."""
        # Letters sort after digits, so this comparison skips the regular expression for numbers.
        return f"(CASE WHEN {self.text} >= 'A' THEN regexp_full_match({self.text}, '{_TOTALS}') END)"

    @property
    def may_be_total(self) -> str:
        """True for a text that may label the total of a group."""
        return f"(CASE WHEN {self.text} >= 'A' THEN regexp_full_match({self.text}, '{_NAMED_TOTALS}') END)"


def _starts_visible(raw: str) -> str:
    """Return SQL that is true if the text starts with a visible ASCII character, which is faster than trimming it."""
    return f"{raw} >= '!' AND {raw} < chr(127)"


def _trim_sql(raw: str) -> str:
    return f"trim({raw}, {_WHITE})"


def select_layers(columns: Sequence[tuple[Layer, ...]], source: str = STAGING) -> str:
    """Return a subquery over `source` with the layers of several columns, each expression computed once."""
    for level in range(max(map(len, columns), default=0)):
        layers = [layers[level] for layers in columns if level < len(layers)]
        expressions = ", ".join(f"{sql} AS {name}" for layer in layers for name, sql in layer.items())
        source = f"(SELECT *, {expressions} FROM {source})"
    return source


class PendingWarning(NamedTuple):
    """A warning without its examples, which are taken from cells that satisfy `where`."""

    code: str
    facts: Mapping[str, Any]
    where: str = ""
    layers: tuple[Layer, ...] = ()
    """The layers that `where` uses; by default those of the column's conversion."""


@dataclass(frozen=True)
class Plan:
    """The conversion of a column: SQL over `layers`, the resulting type, the number of cells that fit, and warnings."""

    layers: tuple[Layer, ...]
    sql: str
    type: str
    fits: int
    pending: tuple[PendingWarning, ...] = ()
