"""Selection of a chart for a result: the columns of its axes and series, and the chart type."""

import re
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import get_args

from datasphinx.agent.charts.cells import (
    NUMERIC,
    axis_title,
    column,
    format_of,
    is_text,
    is_year_column,
    labels_of,
    places_in_cycle,
    scale_of,
    type_of_column,
    with_durations,
)
from datasphinx.agent.charts.plot_spec import MAX_SERIES, PlotSpec, fits
from datasphinx.agent.formatting.formats import ColumnFormat
from datasphinx.agent.messages import Language, render
from datasphinx.agent.schema.words import words
from datasphinx.agent.types import ChartForm, ChartType, Result

_MAX_GROUPED_BARS = 120
"""Bars beside each other; more are drawn as a heatmap."""
_MAX_GROUPS = 48
"""Groups that a histogram shows as bars of their own."""

_NAME_WORD = re.compile(r"[a-zßäöü]+|[а-яё]+|[\u3400-\u9fff]+")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_PARTS: dict[str, tuple[int, int]] = {
    **dict.fromkeys(("month", "mon", "monat", "месяц", "月", "月份"), (1, 12)),
    **dict.fromkeys(("quarter", "qtr", "quartal", "квартал", "季度"), (1, 4)),
}
"""Range of the integers of a column that ends in the name of a month or quarter.

Words are needed where the statement says nothing: groups are known by its GROUP BY, which `keys` has, while a stored
column of numbers from 1 to 12, as spreadsheets have beside a year, may as well hold ratings. They also choose the form
of the period of a year and such a part.
"""
_FORMS = {(1, 12): "{}-{:02}", (1, 4): "{}-Q{}"}
"""The period of a year and a month or quarter."""


@dataclass(frozen=True)
class Selection:
    """A chart of a result: `result` has the columns that `spec` names, some of which may be derived from others."""

    result: Result
    spec: PlotSpec
    notes: tuple[str, ...] = ()
    """Notes on what the chart leaves out or changes."""


def select_chart(
    result: Result,
    title: str,
    asked: ChartForm | None = None,
    language: Language = "en",
    keys: Collection[int] = (),
) -> Selection | None:
    """Return the chart that suits a result, or None if there is none.

    Periods along x are a line, categories bars, a second dimension series, two measures without a dimension a scatter,
    one measure alone a histogram, and many values for each category a scatter. The type that is `asked` for is used if
    the rows allow it, otherwise a note says so. `keys` are the positions of columns known to name groups, numbers
    included. Columns that share a name are ignored, and a result without numbers or with fewer than two rows has no
    chart, except for one row with several measures.
    """
    return _Selector(with_durations(result), title, asked or {}, language, frozenset(keys)).select()


class _Selector:
    """Selects the chart of one result."""

    def __init__(self, result: Result, title: str, asked: ChartForm, language: Language, keys: frozenset[int]) -> None:
        self.result = result
        self.title, self.language, self.keys = title, language, keys
        kind = asked.get("type")
        self.kind = kind if kind in get_args(ChartType) else None
        self.stacked = asked.get("stacked", False)
        self.horizontal = asked.get("horizontal", False)
        self.groups = [result["columns"][at] for at in sorted(keys)]
        self.notes: list[str] = []
        self.times: list[str] = []
        self.parts: list[str] = []
        self.categories: list[str] = []
        self.identifiers: list[str] = []
        self.measures: list[str] = []
        for at, name in enumerate(result["columns"]):
            if result["columns"].count(name) == 1 and type_of_column(result, name) != "null":
                self._role(at, name).append(name)

    def _role(self, at: int, name: str) -> list[str]:
        """Return the list of columns that the column belongs to."""
        kind, cells = type_of_column(self.result, name), column(self.result, name)
        if is_year_column(self.result, name):
            return self.times
        if kind in NUMERIC:
            if any(map(is_text, cells)):
                return self.categories
            low, high = _PARTS.get(_name_words(name)[-1], (1, 0))
            is_part = all(isinstance(cell, int) and low <= cell <= high for cell in cells if cell is not None)
            if at in self.keys or (is_part and not self.keys):
                return self.parts
            return self.identifiers if format_of(self.result, name).kind == "code" else self.measures
        scale = scale_of(self.result, name)
        if scale and scale.is_calendar:
            return self.times
        return self.parts if places_in_cycle([cell for cell in cells if cell is not None]) else self.categories

    def select(self) -> Selection | None:
        self._find_measures()
        if not self.measures or not self.result["rows"]:
            return None
        if len(self.result["rows"]) == 1:
            if len(self.measures) < 2:
                return None
            self._melt([])
        self._join_year_and_part()
        dimensions = self._needed(self._dimensions())
        if len(dimensions) > 1 and len(self.measures) > 1:
            dimensions = self._one_measure_for(dimensions)
        asked = self._spec(self.kind, dimensions) if self.kind else None
        if asked and fits(asked, self.result):
            return self._selection(asked)
        spec = self._default(dimensions)
        if spec is None or not fits(spec, self.result):
            return None
        if self.kind:
            self.notes.append(render("chart_other_type", self.language))
        return self._selection(spec)

    def _find_measures(self) -> None:
        """Take the last number that could be a key or a part of a date as the measure if there is no other number."""
        if not self.measures and len(self.identifiers) > (0 if self._dimensions() else 1):
            self.measures = [self.identifiers.pop()]
        if not self.measures and len(self.parts) > 1:
            self.measures = [self.parts.pop()]

    def _selection(self, spec: PlotSpec) -> Selection:
        shown = [name for name in [spec.x, *spec.y] if name in self.measures]
        if 0 < len(shown) < len(self.measures):
            columns = ", ".join(axis_title(name, self.language) for name in shown)
            count = len(self.measures)
            self.notes.append(render("chart_measures", self.language, count=count, shown=len(shown), columns=columns))
        return Selection(self.result, spec, tuple(self.notes))

    # Dimensions

    def _dimensions(self) -> list[str]:
        """Return the columns that may name a place or a series: times first; without the constant ones of several."""
        names = [*self.times, *self.parts, *self.categories]
        varied = [name for name in names if len(set(labels_of(self.result, name))) > 1]
        return varied or names[:1]

    def _needed(self, names: Sequence[str]) -> list[str]:
        """Return the dimensions that tell the rows apart, at most two: more are joined into one column of names.

        If no dimensions do, the first ones are returned; several rows then have the same place.
        """
        unique = [name for name in names if self._is_unique([name])]
        if unique:
            return unique[:1]
        for pair in combinations(names, 2):
            if self._is_unique(pair):
                return list(pair)
        if len(names) > 2 and self._is_unique(names):
            rest = next(
                (
                    list(some)
                    for size in range(2, len(names))
                    for some in combinations(names[1:], size)
                    if self._is_unique([names[0], *some])
                ),
                list(names[1:]),
            )
            cells = list(zip(*(labels_of(self.result, name) for name in rest), strict=True))
            return [names[0], self._add_column(", ".join(rest), [", ".join(cell) for cell in cells])]
        for identifier in self.identifiers:
            if self._is_unique([identifier]) and not names:
                return [identifier]
        return list(names)

    def _is_unique(self, names: Sequence[str]) -> bool:
        places = list(zip(*(labels_of(self.result, name) for name in names), strict=True))
        return len(set(places)) == len(places)

    def _add_column(self, name: str, cells: Sequence[str]) -> str:
        while name in self.result["columns"]:
            name += "_"
        rows = [[*row, cell] for row, cell in zip(self.result["rows"], cells, strict=True)]
        self.result = {
            **self.result,
            "columns": [*self.result["columns"], name],
            "types": [*self.result["types"], "string"],
            "rows": rows,
        }
        return name

    def _join_year_and_part(self) -> None:
        """Replace a year and a month or quarter in columns of their own by one column of periods.

        Years stay series beside the months if the question compares them by another dimension of the same rows.
        """
        years = [name for name in self.times if is_year_column(self.result, name)]
        for name in self.parts:
            cells = column(self.result, name)
            form = _FORMS.get(_PARTS.get(_name_words(name)[-1], (0, 0)))
            if len(years) != 1 or form is None or None in cells or None in column(self.result, years[0]):
                continue
            if not all(isinstance(cell, int) for cell in cells):
                continue
            pairs = zip(column(self.result, years[0]), cells, strict=True)
            joined = self._add_column(f"{years[0]}, {name}", [form.format(*pair) for pair in pairs])
            self.times, self.parts = [joined], [other for other in self.parts if other != name]
            return

    # Measures

    def _melt(self, dimensions: Sequence[str]) -> str:
        """Replace the measures by one column of values and one of their names, which is returned."""
        names = [render(code, self.language) for code in ("axis_measure", "axis_value")]
        while set(names) & set(dimensions):
            names = [f"{name}_" for name in names]
        rows = [
            [*cells, axis_title(measure, self.language), value]
            for row, cells in enumerate(self._cells(dimensions))
            for measure in self.measures
            for value in [column(self.result, measure)[row]]
        ]
        types = {type_of_column(self.result, measure) for measure in self.measures}
        formats = {format_of(self.result, measure) for measure in self.measures}
        shared = [*(format_of(self.result, name) for name in dimensions), ColumnFormat(), *formats]
        self.result = {
            **self.result,
            "formats": list(map(asdict, shared[: len(dimensions) + 1 + (len(formats) == 1)])),
            "columns": [*dimensions, *names],
            "types": [
                *(type_of_column(self.result, name) for name in dimensions),
                "string",
                types.pop() if len(types) == 1 else "float",
            ],
            "rows": rows,
        }
        self.measures = [names[1]]
        if not dimensions:
            self.times, self.parts, self.categories, self.identifiers = [], [], [names[0]], []
        return names[0]

    def _cells(self, names: Sequence[str]) -> list[list[object]]:
        if not names:
            return [[] for _ in self.result["rows"]]
        return [list(cells) for cells in zip(*(column(self.result, name) for name in names), strict=True)]

    def _one_measure_for(self, dimensions: list[str]) -> list[str]:
        """Combine several measures with the second of two dimensions if there are few series, else keep one measure."""
        if not self._is_unique(dimensions) or self.kind in {"scatter", "histogram"}:
            return dimensions
        x, series = self._axes(dimensions)
        if len(set(labels_of(self.result, series))) * len(self.measures) > MAX_SERIES:
            named = [name for name in self.measures if words(name) and words(name) <= words(self.title)]
            first = (named or self.measures)[0]
            # The other measures are still counted for the note.
            self.measures = [first, *(name for name in self.measures if name != first)]
            return dimensions
        measure = self._melt([x, series])
        pairs = zip(labels_of(self.result, series), column(self.result, measure), strict=True)
        self.times = [name for name in self.times if name == x]
        return [x, self._add_column(f"{series}, {measure}", [", ".join(pair) for pair in pairs])]

    # Specs

    def _axes(self, dimensions: Sequence[str]) -> tuple[str, str]:
        """Return x and series of two dimensions: periods run along x, otherwise the dimension with more values."""
        first, second = dimensions[:2]
        if first in (*self.times, *self.parts) and second not in self.times:
            return first, second
        sizes = [len(set(labels_of(self.result, name))) for name in (first, second)]
        return (second, first) if sizes[0] <= MAX_SERIES < sizes[1] else (first, second)

    def _make(self, kind: ChartType, x: str, y: Sequence[str] = (), **options: object) -> PlotSpec:
        data = {"chart_type": kind, "title": self.title, "x": x, **({"y": list(y)} if y else {}), **options}
        return PlotSpec.model_validate(data)

    def _default(self, dimensions: Sequence[str]) -> PlotSpec | None:
        if not dimensions:
            return self._spec("scatter" if len(self.measures) > 1 else "histogram", dimensions)
        if len(dimensions) == 1 and self._is_unique(dimensions):
            return self._spec("line" if dimensions[0] in self.times else "bar", dimensions)
        if self._is_unique(dimensions[:2]):
            x, series = self._axes(dimensions)
            if x in self.times:
                kind: ChartType = "bar" if self.stacked else "line"
                return self._spec(kind, dimensions)
            sizes = [len(set(labels_of(self.result, name))) for name in (x, series)]
            is_dense = sizes[1] > MAX_SERIES or sizes[0] * sizes[1] > _MAX_GROUPED_BARS and not self.stacked
            return self._spec("heatmap" if is_dense else "bar", dimensions)
        return self._spec("scatter", dimensions)

    def _spec(self, kind: ChartType, dimensions: Sequence[str]) -> PlotSpec | None:
        """Return the spec of a chart of this type, or None if the columns do not allow it."""
        if kind == "pie":
            return self._make(kind, dimensions[0], self.measures[:1]) if len(dimensions) == 1 else None
        special = {"histogram": self._histogram, "scatter": self._scatter, "heatmap": self._heatmap}
        return special[kind](dimensions) if kind in special else self._along(kind, dimensions)

    def _along(self, kind: ChartType, dimensions: Sequence[str]) -> PlotSpec | None:
        """Return a line, area or bar chart along the first dimension."""
        if not dimensions:
            # A line over numbers, such as a demand over a price.
            is_line = kind != "bar" and len(self.measures) > 1
            return self._make(kind, self.measures[0], self.measures[1 : MAX_SERIES + 1]) if is_line else None
        stacked = self.stacked and kind in {"bar", "area"}
        options = {"stacked": stacked, "horizontal": self.horizontal and kind == "bar"}
        if len(dimensions) == 1:
            return self._make(kind, dimensions[0], self.measures[:MAX_SERIES], **options)
        x, series = self._axes(dimensions)
        return self._make(kind, x, self.measures[:1], series=series, **options)

    def _heatmap(self, dimensions: Sequence[str]) -> PlotSpec | None:
        """Return a heatmap of two dimensions, or of one dimension and the names of several measures."""
        if len(dimensions) == 1 and len(self.measures) > 1:
            dimensions = [dimensions[0], self._melt(dimensions)]
        if len(dimensions) != 2:
            return None
        x, series = self._axes(dimensions)
        return self._make("heatmap", x, self.measures[:1], series=series)

    def _histogram(self, dimensions: Sequence[str]) -> PlotSpec | None:
        """Return a histogram, or bars for rows that are grouped already."""
        if len(dimensions) == 1 and self._is_unique(dimensions):
            x = dimensions[0]
            is_grouped = x in (*self.times, *self.parts) or (
                x in self.groups and len(self.result["rows"]) <= _MAX_GROUPS
            )
            if is_grouped:
                return self._spec("bar", dimensions)
        elif len(dimensions) == 2 and self._is_unique(dimensions):
            return self._spec("bar", dimensions)
        return self._make("histogram", self.measures[0])

    def _scatter(self, dimensions: Sequence[str]) -> PlotSpec | None:
        if len(self.measures) == 1:
            if not dimensions:
                return None
            series = next(filter(self._is_series, dimensions[1:]), None)
            return self._make("scatter", dimensions[0], self.measures, series=series)
        groups = [name for name in (*self.categories, *self.parts) if self._is_series(name)]
        if groups and len(self.measures) == 2:
            return self._make("scatter", self.measures[0], self.measures[1:], series=groups[0])
        return self._make("scatter", self.measures[0], self.measures[1 : MAX_SERIES + 1])

    def _is_series(self, name: str) -> bool:
        """Return whether a column splits the rows into a few groups."""
        count = len(set(labels_of(self.result, name)))
        return 1 < count <= MAX_SERIES and 2 * count <= len(self.result["rows"])


def _name_words(name: str) -> list[str]:
    """Return the words of the name of a column in lower case; at least one, which may be empty."""
    return _NAME_WORD.findall(_CAMEL.sub(" ", name).lower()) or [""]
