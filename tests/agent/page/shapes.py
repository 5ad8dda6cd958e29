"""Charts of different shapes, to be looked at and checked beside each other."""

import json
from typing import Any

from tests.agent.charts.results import GOLDEN, option, result

MONTHS = [f"{year}-{month:02}" for year in (2023, 2024, 2025) for month in range(1, 13)]
WEEK = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
REGIONS = ("North", "South", "East", "West", "Central", "Overseas", "Islands", "Online")
LONG = ("Furniture and living", "Garden and outdoor tools", "Books", "Office supplies", "Toys for small children")


def _bars(values: Any, names: Any = REGIONS, **more: Any) -> dict[str, Any]:
    rows = result({"region": "string", "sales": "float"}, *zip(names, values, strict=False))
    return option(rows, "bar", "region", "sales", **more)


def _pairs(count: int, **more: Any) -> dict[str, Any]:
    cells = [(name, 900 + at, 700 - 90 * at) for at, name in enumerate(REGIONS[:count])]
    rows = result({"region": "string", "sales": "integer", "cost": "integer"}, *cells)
    return option(rows, "bar", "region", ["sales", "cost"], **more)


def _split(kind: str, names: Any, count: int = 12, **more: Any) -> dict[str, Any]:
    months = enumerate(MONTHS[:count])
    cells = [(each, name, 900 + 37 * at * (1 + step % 5)) for step, each in months for at, name in enumerate(names)]
    rows = result({"month": "string month", "line": "string", "sales": "integer"}, *cells)
    return option(rows, kind, "month", "sales", series="line", **more)


def _line(values: Any, places: Any = MONTHS, kind: str = "string month") -> dict[str, Any]:
    return option(result({"at": kind, "sales": "integer"}, *zip(places, values, strict=False)), "line", "at", "sales")


def _pie(values: Any, names: Any) -> dict[str, Any]:
    return option(result({"k": "string", "v": "float"}, *zip(names, values, strict=False)), "pie", "k", "v")


_POINTS = result({"x": "float", "y": "float"}, *((at * 1.5, (at * 37 % 11) * 100) for at in range(40)))
_CELLS = result({"k": "string", "s": "string", "v": "integer"}, *((a, b, len(a + b)) for a in REGIONS for b in LONG))
SHAPES: dict[str, dict[str, Any]] = {
    "two bars": _bars((70.5, 30)),
    "three names": _bars((12500.5, 1787.25, 90)),
    "weekdays": _bars((3, 5, 4, 6, 9, 2, 1), WEEK),
    "negative bars": _bars((120, -80.5, 40, -15, 60)),
    "negative ranking": _bars((120, 60, 40, -15, -80.5), LONG, horizontal=True),
    "bars of very different size": _bars((125000000, 3, 0.5, 20000)),
    "ranking of eight": _bars(range(800, 0, -100)),
    "ranking of thirty": _bars(range(3000, 0, -100), [f"{LONG[at % 5]} {at}" for at in range(30)]),
    "two measures of three": _pairs(3),
    "two measures of eight": _pairs(8),
    "two measures lying": _pairs(8, horizontal=True),
    "stacked months": _split("bar", REGIONS[:4], stacked=True),
    "grouped months": _split("bar", REGIONS[:2], 6),
    "years": _line((5, 7, 9), (2023, 2024, 2025), "integer year"),
    "twelve months": _line([900 + at % 5 * 100 for at in range(12)]),
    "thirty-six months": _line([900 + at % 7 * 100 for at in range(36)]),
    "far from zero": _line([100000 + at for at in range(12)]),
    "two lines": _split("line", REGIONS[:2]),
    "six lines": _split("line", REGIONS[:6]),
    "eight lines": _split("line", REGIONS),
    "lines with long names": _split("line", LONG),
    "stacked areas": _split("area", REGIONS[:3], stacked=True),
    "pie of two": _pie((30, 70), ("new", "old")),
    "pie of seven": _pie(range(90, 20, -10), REGIONS),
    "pie with long names": _pie(range(50, 0, -10), LONG),
    "points": option(_POINTS, "scatter", "x", "y"),
    "heat map": option(_CELLS, "heatmap", "k", "v", series="s"),
    **{path.stem: json.loads(path.read_text(encoding="utf-8"))["option"] for path in GOLDEN},
}
