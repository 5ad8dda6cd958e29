"""Notes for the reader of an answer about how a file was read, and the options that change it."""

from collections.abc import Sequence
from typing import Any

from datasphinx.agent.datasets.dataset import Dataset, Warning
from datasphinx.agent.messages import Language, render

_MAX_NOTES = 5
_MAX_COLUMNS = 4
_IMPORTANCE = (
    "currencies", "percent_mixed", "totals_dropped", "totals", "beside_totals", "sections", "notes_below",
    "other_tables",
    "mixed", "not_dates", "units", "misfits", "spellings", "marks_ambiguous", "date_ambiguous", "date_century",
    "rounded", "no_header",
    "unlike_sheets", "json_array",
    "zones_mixed", "split_rows", "unpivoted", "unpivoted_blanks", "replaced_characters", "encoding_guessed",
    "stray_quotes", "tables_unknown",
    "formulas", "renamed_type", "errors", "hidden_rows", "long_rows", "rows_above", "other_sheets",
    "blanks_below", "zones", "marks_mixed", "scaled", "footnotes", "merged_cells", "header_repeated",
    "codes", "date_serials", "months", "currency", "percent", "marks", "date_style",
    "period_columns", "text_converted", "merged_header", "renamed", "unnamed", "no_values",
)  # fmt: skip
"""Codes of warnings, those that can change an answer first."""


def ordered(warnings: Sequence[Warning]) -> list[Warning]:
    """Return the warnings, the most important first."""
    return sorted(warnings, key=lambda warning: _IMPORTANCE.index(warning.code))


def notes_of(dataset: Dataset, language: Language, limit: int = _MAX_NOTES) -> list[str]:
    """Return the most important warnings as at most `limit` texts, and how many are left out.

    One text names all columns with the same problem.
    """
    texts = [_text(group, language) for group in _groups(dataset)]
    more = [render("more_notes", language, count=len(texts) - limit)] if len(texts) > limit else []
    return [*texts[:limit], *more]


def _groups(dataset: Dataset) -> list[list[Warning]]:
    """Return the warnings by their codes, the most important and the most cells first."""
    groups: dict[str, list[Warning]] = {}
    for warning in ordered(dataset.report.warnings):
        groups.setdefault(warning.code, []).append(warning)
    return [sorted(group, key=lambda warning: -_count(warning)) for group in groups.values()]


def _count(warning: Warning) -> int:
    """Return how many cells the warning is about; 0 if it does not say so."""
    count = warning.facts.get("count")
    return count if isinstance(count, int) else 0


def _text(group: Sequence[Warning], language: Language) -> str:
    """Return the text of the first warning with the columns of the others, and their counts where they differ."""
    text = group[0].message(language)
    others = [
        warning.column if _count(warning) == _count(group[0]) else f"{warning.column}: {_count(warning)}"
        for warning in group[1:]
        if warning.column
    ]
    shown = ", ".join(others[:_MAX_COLUMNS]) + (", ..." if len(others) > _MAX_COLUMNS else "")
    return f"{text} (+ {shown})" if others else text


def option_for(warning: Warning) -> dict[str, Any] | None:
    """Return an example of the loader option that changes what the warning is about; None if there is none."""
    column = warning.column
    by_code: dict[str, dict[str, Any]] = {
        "currencies": {"types": {column: "number"}},
        "currency": {"types": {column: "currency"}},
        "totals_dropped": {"drop_totals": False},
        "totals": {"drop_totals": True},
        "beside_totals": {"drop_totals": False},
        "sections": {"sections": False},
        "encoding_guessed": {"encoding": "cp1250" if warning.facts.get("encoding") == "cp1252" else "cp1252"},
        "notes_below": {"sections": False},
        "other_tables": {"tables": [2]},
        "mixed": {"types": {column: "date" if warning.facts.get("type") in ("DATE", "TIMESTAMP") else "number"}},
        "not_dates": {"types": {column: "date"}},
        "units": {"types": {column: "number"}},
        "codes": {"types": {column: "number"}},
        "misfits": {"types": {column: "text"}},
        "marks_ambiguous": {
            "types": {column: "number_comma" if warning.facts.get("decimal") == "." else "number_point"}
        },
        "marks": {"types": {column: "text"}},
        "marks_mixed": {"types": {column: "text"}},
        "date_ambiguous": {
            "types": {
                column: "date_month_first" if str(warning.facts.get("style", "")).startswith("DD") else "date_day_first"
            }
        },
        "date_style": {"types": {column: "text"}},
        "date_century": {"types": {column: "text"}},
        "rounded": {"types": {column: "text"}},
        "date_serials": {"types": {column: "number"}},
        "months": {"types": {column: "text"}},
        "zones": {"types": {column: "text"}},
        "zones_mixed": {"types": {column: "timestamp+02:00"}},
        "no_header": {"header_row": 1},
        "rows_above": {"header_row": 1},
        "merged_header": {"header_rows": 1},
        "other_sheets": {"sheets": ["*"]} if warning.facts.get("alike") else {"sheet": warning.facts.get("next")},
        "unlike_sheets": {"sheet": str(warning.facts.get("sheets", "")).split(", ")[0]},
        "blanks_below": {"fill_down": [column]},
        "period_columns": {"unpivot": {"name": "period", "value": "value"}},
    }
    return by_code.get(warning.code)


def guesses_of(dataset: Dataset, limit: int) -> list[dict[str, Any]]:
    """Return what was detected, the most important first: `guess` in English, and `option` that changes it, if any.

    One guess names all columns that it was made for. Of more than `limit`, the last one tells how many are left out.
    """
    groups = _groups(dataset)
    guesses: list[dict[str, Any]] = []
    for group in groups[:limit]:
        option = option_for(group[0])
        guesses.append({"guess": _text(group, "en"), **({"option": option} if option else {})})
    return [*guesses, {"guess": f"and {len(groups) - limit} more"}] if len(groups) > limit else guesses
