"""Results to draw."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from datasphinx.agent.charts.echarts import draw
from datasphinx.agent.charts.plot_spec import PlotSpec, check_plot_spec
from datasphinx.agent.formatting.formats import column_formats, format_rows
from datasphinx.agent.types import Result

GOLDEN = sorted((Path(__file__).resolve().parents[2] / "fixtures/charts").glob("*.json"))
"""Each holds a result, a spec, and the option that they give."""

HOSTILE = "<img src=x onerror=alert(1)>"


def result(columns: dict[str, str], *rows: Any, truncated: bool = False) -> Result:
    """A result with columns of these types; a format may follow the type, as in `integer year`."""
    kinds = {name: kind.partition(" ") for name, kind in columns.items()}
    made = Result(
        columns=list(columns),
        types=[kind for kind, _, _ in kinds.values()],
        rows=[list(row) for row in rows],
        truncated=truncated,
    )
    formats = {name: spec for name, (_, _, spec) in kinds.items() if spec}
    return {**made, "formats": list(map(asdict, column_formats(made, formats)))} if formats else made


def spec(chart_type: str, x: str, y: Any, **more: Any) -> dict[str, Any]:
    return {"chart_type": chart_type, "x": x, "y": y, **more}


def plot_spec(data: Any, rows: Result) -> PlotSpec:
    """Return a checked spec."""
    made = PlotSpec.model_validate(data)
    check_plot_spec(made, rows)
    return made


def option(rows: Result, chart_type: str, x: str, y: Any, **more: Any) -> dict[str, Any]:
    return draw(rows, plot_spec(spec(chart_type, x, y, **more), rows)).option


def shown(values: Sequence[Any], kind: str) -> list[str]:
    """Return the values of a column as a table shows them."""
    rows = result({"x": kind}, *([value] for value in values))
    return [text for (text,) in format_rows(rows, "en", len(values))]


def written(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
