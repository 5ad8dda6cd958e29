"""Read numbers written as text, as DuckDB SQL: thousands separators, decimal commas, percentages, currencies."""

from collections.abc import Mapping
from typing import Literal

from agent.datasets.cells import Cells, Layer, PendingWarning, Plan

Mark = Literal[".", ","]

_WIDE = "０１２３４５６７８９，．％－−＋" + "\u00a0\u202f\u2009’"
_NARROW = "0123456789,.%--+" + "   ''''"
_CURRENCY = r"(?i)\s*(USD|EUR|RUB|CNY|руб\.?|р\.|元|[$€£¥￥₽₴₸])\s*"
_GRAMMAR: dict[Mark, str] = {
    ".": r"[-+]?(\d+|[1-9]\d{0,2}([ ,'']\d{3})+)(\.\d*)?([eE][-+]?\d+)?|[-+]?\.\d+",
    ",": r"[-+]?(\d+|[1-9]\d{0,2}([ .'']\d{3})+)(,\d*)?([eE][-+]?\d+)?|[-+]?,\d+",
}
_MARKED: dict[Mark, str] = {".": " ,'", ",": " ,.'"}
_CODE = r"[-+]?(0\d+|\d{19,})"
"""Identifiers that look like numbers. As a number they would lose leading zeros or final digits."""


_SUFFIX: dict[Mark, str] = {".": "dot", ",": "comma"}


def layers(cells: Cells) -> tuple[Layer, ...]:
    """Return the layers that parse each cell.

    `plain`: whether DuckDB casts it directly, which is much faster than the regular expressions. `bare`: the text
    without currency, percent sign, and parentheses around a negative number. `dot` and `comma`: the number in DuckDB's
    notation, by either decimal mark, before division by 100 for a percentage.
    """
    text, plain, narrow, bare = cells.text, cells("plain"), cells("narrow"), cells("bare")
    ascii_text = f"translate({text}, '{_WIDE}', '{_NARROW}')"
    without = f"regexp_replace({narrow}, '{_CURRENCY}', '')"
    stripped = rf"rtrim(regexp_replace({without}, '^\((.*)\)$', '-\1'), '% ')"
    return (
        *cells.base,
        {plain: f"coalesce(isfinite(TRY_CAST({text} AS DOUBLE)) AND NOT contains({text}, '_'), false)"},
        {narrow: f"CASE WHEN NOT {plain} AND regexp_matches({text}, '[0-9０-９]') THEN {ascii_text} END"},
        {bare: f"CASE WHEN {plain} THEN {text} WHEN {narrow} IS NOT NULL THEN {stripped} END"},
        {cells(_SUFFIX[mark]): _digits(cells, mark) for mark in _GRAMMAR},
    )


def _digits(cells: Cells, mark: Mark) -> str:
    bare, plain = cells("bare"), cells("plain")
    if mark == ",":
        # Here a plain number with a point is valid only if the point separates thousands.
        decimal = f"{plain} AND contains({cells.text}, '.') AND right({cells.text}, 4) NOT LIKE '.%'"
        plain = f"{decimal} THEN NULL WHEN {plain} AND NOT contains({cells.text}, '.')"
    stripped = f"translate({bare}, ' ,''', '')" if mark == "." else f"translate({bare}, ',. ''', '.')"
    is_number = f"regexp_full_match({bare}, '{_GRAMMAR[mark]}') AND isfinite(TRY_CAST({stripped} AS DOUBLE))"
    return (
        f"CASE WHEN {cells.value} IS NOT NULL THEN CASE WHEN TRY_CAST({cells.value} AS DOUBLE) IS NOT NULL "
        f"THEN {cells.value} END WHEN {plain} THEN {cells.text} WHEN {is_number} THEN {stripped} END"
    )


def _is_percent(cells: Cells) -> str:
    return f"coalesce(suffix({cells('narrow')}, '%'), false)"


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _has_any(text: str, characters: str) -> str:
    conditions = (f"contains({text}, {_literal(character)})" for character in characters)
    return f"({' OR '.join(conditions)})"


def _is_code(cells: Cells) -> str:
    # Nineteen digits may still fit 64 bits.
    is_exact = f"TRY_CAST({cells.text} AS BIGINT) IS NOT NULL AND NOT regexp_matches({cells.text}, '^[-+]?0')"
    may_be = f"length({cells.text}) > 18 OR {cells.text} LIKE '0%' OR {cells.text} LIKE '_0%'"
    return f"(CASE WHEN {may_be} THEN regexp_full_match({cells.text}, '{_CODE}') AND NOT ({is_exact}) END)"


def fits(cells: Cells, mark: Mark) -> str:
    """Return SQL over `layers` that is true if the cell is a number with this decimal mark."""
    return f"{cells(_SUFFIX[mark])} IS NOT NULL"


def count_conditions(cells: Cells) -> dict[str, str]:
    """Return the conditions over `layers` to count before a column is read as numbers."""
    conditions = {}
    for mark, name in _SUFFIX.items():
        conditions[f"fits_{name}"] = fits(cells, mark)
        number = cells(name)
        is_whole = f"TRY_CAST({number} AS BIGINT) IS NOT NULL AND NOT {_has_any(number, '.eE')}"
        conditions[f"whole_{name}"] = f"({is_whole})"
        conditions[f"marked_{name}"] = _is_marked(cells, mark)
    number = f"({fits(cells, '.')} OR {fits(cells, ',')})"
    return {
        **conditions,
        "text": f"{cells.text} IS NOT NULL AND {number}",
        "percent": f"{_is_percent(cells)} AND {number}",
        "currency": f"CASE WHEN {number} THEN regexp_matches({cells('narrow')}, '{_CURRENCY}') END",
        "codes": _is_code(cells),
    }


def _is_marked(cells: Cells, mark: Mark) -> str:
    return f"({fits(cells, mark)} AND {_has_any(cells('bare'), _MARKED[mark])})"


def decimal_mark(counts: Mapping[str, int]) -> Mark | None:
    """Return the decimal mark that more cells fit; None if both fit equally."""
    if counts["fits_dot"] == counts["fits_comma"]:
        return None
    return "." if counts["fits_dot"] > counts["fits_comma"] else ","


def plan(cells: Cells, counts: Mapping[str, int], usual: Mark) -> Plan:
    """Return the conversion to numbers, with the `usual` decimal mark if no cell shows one."""
    mark = decimal_mark(counts) or usual
    suffix = _SUFFIX[mark]
    number, fitting = cells(suffix), counts[f"fits_{suffix}"]
    is_whole = counts[f"whole_{suffix}"] == fitting and not counts["percent"]
    sql = f"TRY_CAST({number} AS {'BIGINT' if is_whole else 'DOUBLE'})"
    if counts["percent"]:
        sql = f"{sql} / CASE WHEN {_is_percent(cells)} THEN 100 ELSE 1 END"
    return Plan(
        layers(cells), sql, "BIGINT" if is_whole else "DOUBLE", fitting, tuple(_warnings(cells, counts, mark, suffix))
    )


def _warnings(cells: Cells, counts: Mapping[str, int], mark: Mark, suffix: str) -> list[PendingWarning]:
    pending = []
    if cells.paired and counts["text"]:
        pending.append(PendingWarning("text_converted", {"count": counts["text"]}))
    if counts["percent"]:
        pending.append(PendingWarning("percent", {"count": counts["percent"]}))
    if counts["currency"]:
        pending.append(PendingWarning("currency", {"count": counts["currency"]}))
    # `1,234` and `1.234` are ambiguous if no cell decides. Numbers with only spaces are whole either way.
    differs = counts["whole_dot"] != counts["whole_comma"]
    if decimal_mark(counts) is None and counts["marked_comma"] and differs:
        where = f"({fits(cells, '.')} AND {_has_any(cells('bare'), '.,')})"
        pending.append(PendingWarning("marks_ambiguous", {"decimal": mark}, where))
    elif counts[f"marked_{suffix}"]:
        pending.append(PendingWarning("marks", {"decimal": mark}, _is_marked(cells, mark)))
    return pending


def codes(cells: Cells, counts: Mapping[str, int]) -> PendingWarning | None:
    """Return the warning about identifiers that must stay text; None if there are none."""
    return PendingWarning("codes", {"count": counts["codes"]}, _is_code(cells)) if counts["codes"] else None
