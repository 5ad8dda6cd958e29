"""Other forms of plot specs that models write, rewritten to the published form before validation."""

import json
import re
from collections.abc import Mapping
from typing import Any

_NAMES: dict[str, tuple[str, ...]] = {
    "chart_type": ("type", "chart", "kind", "plot_type", "charttype", "mark"),
    "title": ("name", "chart_title"),
    "x": ("x_axis", "xaxis", "x_column", "category", "categories", "labels", "names", "dimension"),
    "y": ("y_axis", "yaxis", "y_column", "y_columns", "values", "value", "measure", "measures", "metrics"),
    "series": ("hue", "group", "group_by", "split_by", "split", "legend", "breakdown"),
    "stacked": ("stack",),
    "horizontal": ("orientation",),
    "y_format": ("format", "value_format", "yformat"),
}
_COLUMN_FIELDS = ("col", "column", "field", "name")
_TYPES: dict[str, dict[str, Any]] = {
    "column": {"chart_type": "bar"},
    "columns": {"chart_type": "bar"},
    "bars": {"chart_type": "bar"},
    "vertical_bar": {"chart_type": "bar"},
    "grouped_bar": {"chart_type": "bar"},
    "barh": {"chart_type": "bar", "horizontal": True},
    "horizontal_bar": {"chart_type": "bar", "horizontal": True},
    "stacked_bar": {"chart_type": "bar", "stacked": True},
    "stacked_column": {"chart_type": "bar", "stacked": True},
    "stacked_area": {"chart_type": "area", "stacked": True},
    "lines": {"chart_type": "line"},
    "multi_line": {"chart_type": "line"},
    "donut": {"chart_type": "pie"},
    "doughnut": {"chart_type": "pie"},
    "point": {"chart_type": "scatter"},
    "points": {"chart_type": "scatter"},
    "heat_map": {"chart_type": "heatmap"},
    "boxplot": {"chart_type": "box"},
}
_FORMATS = {
    "%": "percent", "percentage": "percent", "pct": "percent", "money": "number", "currency": "number",
    "integer": "number", "int": "number", "float": "number", "decimal": "number",
}  # fmt: skip


def standard_form(data: Any) -> Any:
    """Return `data`, a plot spec as parsed JSON or as JSON text, in the published form where another one is known."""
    if isinstance(data, str):
        try:
            data = json.loads(data)
        except (ValueError, RecursionError):
            return data
    if not isinstance(data, Mapping):
        return data
    spec = _renamed(data)
    if isinstance(spec.get("chart_type"), str):
        word = re.sub(r"[\s-]+", "_", spec["chart_type"].strip().lower())
        word = re.sub(r"_?(chart|plot|graph)$", "", word) if word != "boxplot" else word
        spec |= _TYPES.get(word, {"chart_type": word})
    for name in ("x", "series"):
        if name in spec:
            spec[name] = _column(spec[name])
    if "y" in spec:
        spec["y"] = [_column(item) for item in spec["y"]] if isinstance(spec["y"], list) else _column(spec["y"])
    if isinstance(spec.get("horizontal"), str):
        spec["horizontal"] = spec["horizontal"].lower() in {"h", "horizontal", "true"}
    if isinstance(spec.get("y_format"), str):
        spec["y_format"] = _FORMATS.get(spec["y_format"].strip().lower(), spec["y_format"].strip().lower())
    return spec


def _renamed(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return `data` with the published names, without NULL; a field given by two names keeps the second one."""
    known = {alias: name for name, aliases in _NAMES.items() for alias in aliases}
    spec: dict[str, Any] = {}
    for given, value in data.items():
        folded = str(given).strip().lower().replace(" ", "_").replace("-", "_")
        name = folded if folded in _NAMES else known.get(folded, given)
        if value is not None:
            spec[given if name in spec or name != given and name in data else name] = value
    return spec


def _column(value: Any) -> Any:
    """Return the name of a column: of an object, its name, and of a list with one, that."""
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, Mapping):
        return next((value[name] for name in _COLUMN_FIELDS if isinstance(value.get(name), str)), value)
    return value
