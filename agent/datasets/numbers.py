"""Numbers written as text: thousands separators, decimal commas, percentages, currencies, as SQL of DuckDB."""

from collections.abc import Mapping
from typing import Literal

from agent.datasets.cells import Cells, Layer, Plan, Remark

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
"""Identifiers that look like numbers: a number would lose their zeros or their last digits."""


_SUFFIX: dict[Mark, str] = {".": "dot", ",": "comma"}


def layers(cells: Cells) -> tuple[Layer, ...]:
    """Return what is computed of each cell.

    `plain`: DuckDB reads it by itself, which is much faster than looking closely. `bare`: without currency, per cent
    sign, and brackets around a negative number. `dot` and `comma`: as DuckDB writes numbers, still in per cent, by
    either decimal mark.
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
        # With a point in its text a plain number is none by this mark, but for one that separates thousands.
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
    found = (f"contains({text}, {_literal(character)})" for character in characters)
    return f"({' OR '.join(found)})"


def _is_whole(cells: Cells, mark: Mark) -> str:
    number = cells(_SUFFIX[mark])
    return f"(TRY_CAST({number} AS BIGINT) IS NOT NULL AND NOT {_has_any(number, '.eE')})"


def _is_code(cells: Cells) -> str:
    # Nineteen digits may still be within 64 bits.
    is_exact = f"TRY_CAST({cells.text} AS BIGINT) IS NOT NULL AND NOT regexp_matches({cells.text}, '^[-+]?0')"
    may_be = f"length({cells.text}) > 18 OR {cells.text} LIKE '0%' OR {cells.text} LIKE '_0%'"
    return f"(CASE WHEN {may_be} THEN regexp_full_match({cells.text}, '{_CODE}') AND NOT ({is_exact}) END)"


def fits(cells: Cells, mark: Mark) -> str:
    """Return SQL over `layers` that is true where the cell is a number with this decimal mark."""
    return f"{cells(_SUFFIX[mark])} IS NOT NULL"


def counters(cells: Cells) -> dict[str, str]:
    """Return the conditions over `layers` whose cells are counted before a column is read as numbers."""
    counted = {}
    for mark, name in _SUFFIX.items():
        counted[f"fits_{name}"] = fits(cells, mark)
        counted[f"whole_{name}"] = _is_whole(cells, mark)
        counted[f"marked_{name}"] = _is_marked(cells, mark)
    number = f"({fits(cells, '.')} OR {fits(cells, ',')})"
    return {
        **counted,
        "text": f"{cells.text} IS NOT NULL AND {number}",
        "percent": f"{_is_percent(cells)} AND {number}",
        "currency": f"CASE WHEN {number} THEN regexp_matches({cells('narrow')}, '{_CURRENCY}') END",
        "codes": _is_code(cells),
    }


def _is_marked(cells: Cells, mark: Mark) -> str:
    return f"({fits(cells, mark)} AND {_has_any(cells('bare'), _MARKED[mark])})"


def _has_mark(cells: Cells) -> str:
    return f"({fits(cells, '.')} AND {_has_any(cells('bare'), '.,')})"


def mark_of(counts: Mapping[str, int]) -> Mark | None:
    """Return the decimal mark that more cells fit; None where both fit all the same."""
    if counts["fits_dot"] == counts["fits_comma"]:
        return None
    return "." if counts["fits_dot"] > counts["fits_comma"] else ","


def plan(cells: Cells, counts: Mapping[str, int], usual: Mark) -> Plan:
    """Return the column as numbers; where no cell tells the decimal mark it is the `usual` one of the file."""
    mark = mark_of(counts) or usual
    suffix = _SUFFIX[mark]
    number, found = cells(suffix), counts[f"fits_{suffix}"]
    is_whole = counts[f"whole_{suffix}"] == found and not counts["percent"]
    sql = f"TRY_CAST({number} AS {'BIGINT' if is_whole else 'DOUBLE'})"
    if counts["percent"]:
        sql = f"{sql} / CASE WHEN {_is_percent(cells)} THEN 100 ELSE 1 END"
    return Plan(
        layers(cells), sql, "BIGINT" if is_whole else "DOUBLE", found, tuple(_remarks(cells, counts, mark, suffix))
    )


def _remarks(cells: Cells, counts: Mapping[str, int], mark: Mark, suffix: str) -> list[Remark]:
    remarks = []
    if cells.paired and counts["text"]:
        remarks.append(Remark("text_converted", {"count": counts["text"]}))
    if counts["percent"]:
        remarks.append(Remark("percent", {"count": counts["percent"]}))
    if counts["currency"]:
        remarks.append(Remark("currency", {"count": counts["currency"]}))
    # Where no cell decides, a comma that separates thousands and a point that does are the same text.
    if mark_of(counts) is None and counts["marked_comma"] and _could_be_both(counts):
        remarks.append(Remark("marks_ambiguous", {"decimal": mark}, _has_mark(cells)))
    elif counts[f"marked_{suffix}"]:
        remarks.append(Remark("marks", {"decimal": mark}, _is_marked(cells, mark)))
    return remarks


def _could_be_both(counts: Mapping[str, int]) -> bool:
    """Numbers with spaces alone are whole either way."""
    return counts["whole_dot"] != counts["whole_comma"]


def codes(cells: Cells, counts: Mapping[str, int]) -> Remark | None:
    """Return the remark on identifiers that have to stay text; None where there are none."""
    return Remark("codes", {"count": counts["codes"]}, _is_code(cells)) if counts["codes"] else None
