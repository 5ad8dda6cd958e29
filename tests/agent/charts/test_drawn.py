import json
from pathlib import Path

import pytest

from agent.charts.drawn import png_of_option
from agent.charts.echarts import draw
from agent.charts.png import draw_png
from agent.charts.spec_check import read_plot_spec
from tests.agent.charts.results import GOLDEN, result


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_picture_of_the_option_is_the_picture_of_the_rows(path: Path) -> None:
    case = json.loads(path.read_text(encoding="utf-8"))
    spec = read_plot_spec(case["spec"], case["result"])
    option = json.loads(json.dumps(draw(case["result"], spec).option))

    assert png_of_option(spec.chart_type, option) == draw_png(case["result"], spec).png


@pytest.mark.parametrize("more", [{"horizontal": True}, {"stacked": True}, {"y_format": "percent"}, {"title": "A\nb"}])
def test_what_the_spec_says_of_bars_is_kept(more: dict[str, object]) -> None:
    rows = result({"x": "string", "n": "integer", "m": "float"}, ("a", 1, 2.5), ("b", 2, None))
    spec = read_plot_spec({"chart_type": "bar", "x": "x", "y": ["n", "m"], **more}, rows)

    assert png_of_option("bar", draw(rows, spec).option) == draw_png(rows, spec).png


def test_option_of_another_maker_is_refused() -> None:
    with pytest.raises(KeyError):
        png_of_option("bar", {"series": [{"name": "n", "data": [1]}]})
