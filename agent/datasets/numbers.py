"""Read numbers written as text, as DuckDB SQL: separators of thousands, percentages, currencies, scales."""

import re
from collections.abc import Mapping
from typing import Literal

from agent.datasets.cells import Cells, Layer, PendingWarning, Plan
from agent.schema.currencies import CURRENCY_CODES, CURRENCY_SIGNS

Mark = Literal[".", ","]

_WIDE = "０１２３４５６７８９，．％－−–＋" + "\u00a0\u202f\u2009’"
_NARROW = "0123456789,.%---+" + "   ''''"
_CURRENCY = r"(?i)(" + "|".join(CURRENCY_CODES + [re.escape(sign) for sign in CURRENCY_SIGNS]) + ")"
_CURRENCY_BEFORE, _CURRENCY_AFTER = rf"^([-+(]*)\s*{_CURRENCY}\s*", rf"\s*{_CURRENCY}\s*([-)]*)$"
_SCALES = {
    "k": 1e3, "тыс": 1e3, "тыс.": 1e3, "千": 1e3, "万": 1e4, "mn": 1e6, "mln": 1e6, "млн": 1e6, "млн.": 1e6, "亿": 1e8,
    "bn": 1e9, "млрд": 1e9, "млрд.": 1e9,
}  # fmt: skip
_SCALE = r"(?i)\d\s*(" + "|".join(map(re.escape, sorted(_SCALES, key=len, reverse=True))) + r")$|\d\s*(M)$"
_UNIT = r"[<>≤≥~≈]?\s*[-+]?\d[\d .,]*\s*[^\d\s.,;:/()-][^\d\s;:()]{0,11}"
"""A number with a unit: `5 kg`, `3шт.`, `12 mg/l`."""

_GRAMMAR: dict[Mark, str] = {
    ".": r"[-+]?(\d+|[1-9]\d{0,2}([ ,'']\d{3})+)(\.\d*)?([eE][-+]?\d+)?|[-+]?\.\d+",
    ",": r"[-+]?(\d+|[1-9]\d{0,2}([ .'']\d{3})+)(,\d*)?([eE][-+]?\d+)?|[-+]?,\d+",
}
_MARKED: dict[Mark, str] = {".": " ,'", ",": " ,.'"}
_FOOTNOTE = r"([\d%)])\s*(\*+|[＊†‡§¹²³⁴⁵⁶⁷⁸⁹⁰]+|\[[0-9a-z]{1,2}\])+$"
_CODE = r"'?[-+]?0\d+([.,]\d+)*|\d+[eE]\d+|\+\d{10,}"
"""Identifiers that look like numbers: with leading zeros, `12E3`, telephone numbers."""

_LONG_CODE = r"[-+]?\d{19,}"
"""As a number such an identifier may lose its final digits."""


_SUFFIX: dict[Mark, str] = {".": "dot", ",": "comma"}


def layers(cells: Cells, *, with_units: bool = False) -> tuple[Layer, ...]:
    """Return the layers that parse each cell.

    `plain`: whether DuckDB casts it directly, which is much faster than the regular expressions. `scale`: the word of a
    scale, such as `k`. `bare`: the text without currency, scale, percent sign, and marks of a negative number. `dot`
    and `comma`: the number in DuckDB's notation, by either decimal mark, before multiplication with the scale and
    division by 100 for a percentage. With `with_units`, words around the number are left out.
    """
    text, plain, narrow, amount, bare = cells.text, cells("plain"), cells("narrow"), cells("amount"), cells("bare")
    ascii_text = f"translate({text}, '{_WIDE}', '{_NARROW}')"
    unmarked = rf"ltrim(regexp_replace({ascii_text}, {_literal(_FOOTNOTE)}, '\1'), '''')"
    without = rf"regexp_replace({narrow}, {_literal(_CURRENCY_BEFORE)}, '\1')"
    without = rf"trim(regexp_replace({without}, {_literal(_CURRENCY_AFTER)}, '\2'))"
    # `1'000.-` is the Swiss notation of a whole amount.
    without = rf"regexp_replace({without}, '\.-+$', '')"
    scale = f"coalesce(nullif(regexp_extract({amount}, {_literal(_SCALE)}, 1), ''), "
    scale += f"nullif(regexp_extract({amount}, {_literal(_SCALE)}, 2), ''))"
    unscaled = f"rtrim(left({amount}, length({amount}) - coalesce(length({cells('scale')}), 0)))"
    if with_units:
        unscaled = rf"regexp_replace(regexp_replace({unscaled}, '^[^\d.,()+-]+', ''), '[^\d.,()%-]+$', '')"
    signed = rf"regexp_replace(regexp_replace({unscaled}, '^\((.*)\)$', '-\1'), '^((?:[^-+].*)?\d)\s*-$', '-\1')"
    stripped = f"rtrim({signed}, '% ')"
    return (
        *cells.base,
        {plain: f"coalesce(isfinite(TRY_CAST({text} AS DOUBLE)) AND NOT contains({text}, '_'), false)"},
        {narrow: f"CASE WHEN NOT {plain} AND regexp_matches({text}, '[0-9０-９]') THEN {unmarked} END"},
        {amount: f"CASE WHEN {narrow} IS NOT NULL THEN {without} END"},
        {cells("scale"): f"CASE WHEN right({amount}, 1) > '9' OR right({amount}, 1) = '.' THEN {scale} END"},
        {bare: f"CASE WHEN {plain} THEN {text} WHEN {narrow} IS NOT NULL THEN {stripped} END"},
        {cells(_SUFFIX[mark]): _digits(cells, mark) for mark in _GRAMMAR},
    )


def currency_code(cells: Cells) -> str:
    """Return SQL over `layers` of the currency's ISO code, or its symbol if that has several; NULL without one."""
    found = f"lower(nullif(regexp_extract({cells('narrow')}, {_literal(_CURRENCY)}, 1), ''))"
    symbols = ", ".join(f"{_literal(sign)}: '{code}'" for sign, code in CURRENCY_SIGNS.items())
    return f"coalesce(MAP {{{symbols}}}[{found}], upper({found}))"


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


def _has_footnote(cells: Cells) -> str:
    return f"CASE WHEN {cells('narrow')} IS NOT NULL THEN regexp_matches({cells.text}, {_literal(_FOOTNOTE)}) END"


def _is_percent(cells: Cells) -> str:
    return f"coalesce(suffix({cells('narrow')}, '%'), false)"


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _has_any(text: str, characters: str) -> str:
    conditions = (f"contains({text}, {_literal(character)})" for character in characters)
    return f"({' OR '.join(conditions)})"


def _is_code(cells: Cells) -> str:
    # Nineteen digits may still fit 64 bits.
    may_be = (
        f"left({cells.text}, 1) IN ('0', '+', '''') OR {cells.text} LIKE '_0%' OR contains(lower({cells.text}), 'e')"
    )
    return (
        f"(CASE WHEN length({cells.text}) > 18 AND regexp_full_match({cells.text}, '{_LONG_CODE}') "
        f"THEN TRY_CAST({cells.text} AS BIGINT) IS NULL "
        f"WHEN {may_be} THEN regexp_full_match({cells.text}, {_literal(_CODE)}) END)"
    )


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
        "fits_any": number,
        "scaled": f"{cells('scale')} IS NOT NULL AND {number}",
        "text": f"{cells.text} IS NOT NULL AND {number}",
        "percent": f"{_is_percent(cells)} AND {number}",
        "currency": f"CASE WHEN {number} THEN regexp_matches({cells('narrow')}, {_literal(_CURRENCY)}) END",
        "codes": _is_code(cells),
        "footnotes": f"{_has_footnote(cells)} AND {number}",
    }


def _is_marked(cells: Cells, mark: Mark) -> str:
    return f"({fits(cells, mark)} AND {_has_any(cells('bare'), _MARKED[mark])})"


def decimal_mark(counts: Mapping[str, int]) -> Mark | None:
    """Return the decimal mark that more cells fit; None if both fit equally."""
    if counts["fits_dot"] == counts["fits_comma"]:
        return None
    return "." if counts["fits_dot"] > counts["fits_comma"] else ","


def plan(
    cells: Cells, counts: Mapping[str, int], usual: Mark, forced: Mark | None = None, *, with_units: bool = False
) -> Plan:
    """Return the conversion to numbers, with the `usual` decimal mark if no cell shows one.

    A cell that fits only the other decimal mark is read with that, unless the mark is `forced`.
    """
    mark: Mark = forced or decimal_mark(counts) or usual
    suffix, other = _SUFFIX[mark], _SUFFIX["," if mark == "." else "."]
    number, fitting = cells(suffix), counts[f"fits_{suffix}"]
    is_mixed = not forced and counts["fits_any"] > fitting
    if is_mixed:
        number, fitting = f"coalesce({number}, {cells(other)})", counts["fits_any"]
    is_whole = counts[f"whole_{suffix}"] == fitting and not counts["percent"] and not counts["scaled"]
    sql = f"TRY_CAST({number} AS {'BIGINT' if is_whole else 'DOUBLE'})"
    if counts["scaled"]:
        factors = ", ".join(f"{_literal(word)}: {factor:.0f}" for word, factor in {**_SCALES, "m": 1e6}.items())
        sql = f"{sql} * coalesce(MAP {{{factors}}}[lower({cells('scale')})], 1)"
    if counts["percent"]:
        sql = f"{sql} / CASE WHEN {_is_percent(cells)} THEN 100 ELSE 1 END"
    pending = _warnings(cells, counts, mark, suffix)
    if is_mixed:
        where = f"({cells(suffix)} IS NULL AND {cells(other)} IS NOT NULL)"
        pending.append(PendingWarning("marks_mixed", {"count": fitting - counts[f"fits_{suffix}"]}, where))
    return Plan(layers(cells, with_units=with_units), sql, "BIGINT" if is_whole else "DOUBLE", fitting, tuple(pending))


def _warnings(cells: Cells, counts: Mapping[str, int], mark: Mark, suffix: str) -> list[PendingWarning]:
    pending = []
    if cells.paired and counts["text"]:
        pending.append(PendingWarning("text_converted", {"count": counts["text"]}))
    if counts["percent"]:
        pending.append(PendingWarning("percent", {"count": counts["percent"]}))
    if counts["footnotes"]:
        pending.append(PendingWarning("footnotes", {"count": counts["footnotes"]}, _has_footnote(cells)))
    if counts["scaled"]:
        where = f"({cells('scale')} IS NOT NULL)"
        pending.append(PendingWarning("scaled", {"count": counts["scaled"]}, where))
    # `1,234` and `1.234` are ambiguous if no cell decides. Numbers with only spaces are whole either way.
    differs = counts["whole_dot"] != counts["whole_comma"]
    if decimal_mark(counts) is None and counts["marked_comma"] and differs:
        where = f"({fits(cells, '.')} AND {_has_any(cells('bare'), '.,')})"
        pending.append(PendingWarning("marks_ambiguous", {"decimal": mark}, where))
    elif counts[f"marked_{suffix}"]:
        pending.append(PendingWarning("marks", {"decimal": mark}, _is_marked(cells, mark)))
    return pending


def has_unit(cells: Cells) -> str:
    """Return SQL that is true if the cell is a number with a unit."""
    return f"CASE WHEN {cells.text} < ':' THEN regexp_full_match({cells.text}, {_literal(_UNIT)}) END"


def codes(cells: Cells, counts: Mapping[str, int]) -> PendingWarning | None:
    """Return the warning about identifiers that must stay text; None if there are none."""
    return PendingWarning("codes", {"count": counts["codes"]}, _is_code(cells)) if counts["codes"] else None
