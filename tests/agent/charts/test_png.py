import builtins
import json
import re
import struct
from dataclasses import asdict
from html import escape, unescape
from typing import Any

import pytest

from datasphinx.agent.charts import png
from datasphinx.agent.charts.echarts import draw
from datasphinx.agent.charts.png import png_of_option, svg_of_option
from datasphinx.agent.errors import DriverMissing
from datasphinx.agent.formatting.formats import ColumnFormat
from datasphinx.agent.messages import Language
from datasphinx.agent.types import Result
from tests.agent.charts.results import GOLDEN, HOSTILE, option, plot_spec, result, spec
from tests.support.heavy import sample

pytestmark = pytest.mark.integration

ROWS = result({"x": "string", "s": "string", "n": "integer"}, ("a", "_s", 1), ("b", "t", 2))
RECORDED = sorted((GOLDEN[0].parent / "recorded").glob("*.json"))
"""Charts as earlier versions stored them."""
_PLACED = re.compile(r"<text[^>]*translate\(([\d.]+) [^>]*>([^<]*)</text>")
_TEXT = re.compile(r"<text[^>]*>([^<]*)</text>")


def texts(drawn: dict[str, Any]) -> list[str]:
    return [unescape(text).replace("\xa0", " ") for text in _TEXT.findall(svg_of_option(drawn))]


def drawn(rows: Result, chart_type: str, language: Language = "en", **more: Any) -> list[str]:
    return texts(draw(rows, plot_spec(spec(chart_type, "x", "n", **more), rows), language).option)


@pytest.mark.parametrize(
    "path", [*GOLDEN, *RECORDED][:: sample(1, 5)], ids=lambda path: f"{path.parent.name}-{path.stem}"
)
def test_a_stored_chart_is_drawn_with_its_title(path: Any) -> None:
    stored = json.loads(path.read_text(encoding="utf-8"))["option"]
    drawing = svg_of_option(stored)
    assert "<path" in drawing and escape(stored["title"]["text"]) in drawing


def test_a_picture_is_the_same_each_time_and_has_no_metadata() -> None:
    stored = option(ROWS, "bar", "x", "n", series="s")
    picture = png_of_option(stored)

    assert picture.startswith(b"\x89PNG\r\n\x1a\n")
    assert struct.unpack(">II", picture[16:24]) == (1000, 600)
    assert not any(chunk in picture for chunk in (b"tEXt", b"iTXt", b"tIME"))
    assert png_of_option(stored) == picture


@pytest.mark.heavy
def test_a_chart_that_was_drawn_leaves_nothing_in_memory() -> None:
    """Else each drawing would take longer than the one before, and the limit of memory would be reached."""
    sizes = []
    for _ in range(3):
        svg_of_option(option(ROWS, "bar", "x", "n"))
        png._draw().gc()
        sizes.append(png._draw().memory()["memory_used_size"])
    assert sizes[2] - sizes[1] < 10_000


@pytest.mark.parametrize("package", ["quickjs", "resvg_py", "pylopdf_fonts_zh_cn"])
def test_what_is_not_installed_is_said_with_its_extra(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name == package:
            raise ModuleNotFoundError(f"No module named {name!r}", name=package)
        return real(name, *rest)

    png._draw.cache_clear()
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(DriverMissing) as caught:
        png_of_option(option(ROWS, "bar", "x", "n"))
    assert (caught.value.package, caught.value.extra) == (package, "charts")


def test_a_text_that_is_cut_between_the_halves_of_a_character_is_drawn() -> None:
    made = option(ROWS, "line", "x", "n")
    made["title"]["text"] = "\ud83d"

    assert png_of_option(made).startswith(b"\x89PNG")


def test_no_picture_of_this_machine_is_drawn() -> None:
    made = option(ROWS, "line", "x", "n")
    made["series"][0]["symbol"] = "image:///etc/logo.png"

    with pytest.raises(ValueError, match="names a picture"):
        png_of_option(made)


@pytest.mark.parametrize("chart_type", ["bar", "line"])
def test_an_axis_of_whole_numbers_has_no_fractions(chart_type: str) -> None:
    rows = result({"x": "string", "n": "integer"}, ("a", 1), ("b", 2))
    assert not {"0.5", "1.5"} & set(drawn(rows, chart_type))


def test_a_ranking_has_all_names_and_values() -> None:
    rows = result({"x": "string", "n": "float"}, *((f"Walker Media {at}", 9000.5 - at) for at in range(30)))

    assert {row[0] for row in rows["rows"]} | {"9,000.5", "8,971.5"} <= set(drawn(rows, "bar"))


@pytest.mark.parametrize("highest", [120.25, -20.0])
def test_bars_below_zero_have_their_values_at_their_left_and_the_axis_its_name_there(highest: float) -> None:
    cells = (("North", highest), ("South", -80.5), ("West", -150.0), ("East", 0.0))
    rows = result({"region": "string", "change": "float currency EUR"}, *cells)
    drawing = svg_of_option(option(rows, "bar", "region", "change", horizontal=True))
    places = {unescape(text): float(x) for x, text in _PLACED.findall(drawing)}

    assert places["Region"] < places["-€150.00"] < places["-€80.50"] < places["€0.00"] < 1000
    assert (places["€120.25"] > places["€0.00"]) if highest > 0 else (places["-€20.00"] > places["-€80.50"])


def test_the_greatest_value_is_within_the_picture() -> None:
    rows = result({"x": "string", "n": "float currency EUR"}, ("a", 2e9), ("b", 10.25))
    drawing = svg_of_option(option(rows, "bar", "x", "n", horizontal=True))
    places = {unescape(text): float(x) for x, text in _PLACED.findall(drawing)}
    assert places["€2,000,000,000.00"] < 1000 - 6 * len("€2,000,000,000.00")


def test_up_to_24_names_stand_below_bars_and_of_periods_those_that_fit() -> None:
    names = [f"Иванов и партнёры {at}" for at in range(24)]
    rows = result({"x": "string", "n": "integer"}, *((name, at) for at, name in enumerate(names)))
    days = result({"x": "date", "n": "integer"}, *((f"2024-01-{at:02}", at) for at in range(1, 25)))

    assert set(names) <= set(drawn(rows, "bar"))
    assert 3 < sum(text.endswith(", 2024") for text in drawn(days, "line")) < 24


@pytest.mark.parametrize("chart_type", ["bar", "line", "area", "scatter"])
def test_legend_has_every_name_as_it_is(chart_type: str) -> None:
    names = ["_hidden", "$x_1$", HOSTILE]
    rows = result({"x": "string", "s": "string", "n": "integer"}, *((at, name, at) for at, name in enumerate(names)))

    assert set(names) <= set(drawn(rows, chart_type, series="s"))


@pytest.mark.parametrize(
    ("y_format", "kind", "unit", "shown"),
    [
        ("percent", "number", "", "2,500%"),
        ("number", "currency", "EUR", "€2,500"),
        ("number", "percent", "", "2,500%"),
        ("number", "duration", "days", "2,500 days"),
    ],
)
def test_axis_says_its_unit(y_format: str, kind: str, unit: str, shown: str) -> None:
    value = 25 if y_format == "percent" else 2500
    formats = [asdict(ColumnFormat()), asdict(ColumnFormat(kind, 0, unit))]
    rows: Result = {**result({"x": "string", "n": "integer"}, ("a", value), ("b", value // 2)), "formats": formats}

    assert shown in drawn(rows, "bar", y_format=y_format)


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("language", "grouped", "half", "share"),
    [("en", "12,000", "0.5", "0.5%"), ("ru", "12 000", "0,5", "0,5 %")],
)
def test_numbers_are_written_as_in_the_language_of_the_chart(
    language: Language, grouped: str, half: str, share: str
) -> None:
    rows = result({"x": "float", "n": "float"}, *((at / 10, 1200.0 * at) for at in range(11)))
    assert {grouped, half.replace("5", "6")} <= set(drawn(rows, "scatter", language))
    parts = result({"x": "string", "n": "integer"}, ("a", 1), ("b", 199))
    assert f"a: {share}" in drawn(parts, "pie", language)
    cells = result({"x": "string", "s": "string", "n": "float"}, ("a", "b", 0.5), ("c", "b", 12_000.0))
    assert {half, grouped} <= set(drawn(cells, "heatmap", language, series="s"))


@pytest.mark.heavy
def test_chinese_and_russian_letters_are_drawn_everywhere() -> None:
    def made(text: str) -> dict[str, Any]:
        rows = result({"x": "string", "g": "string", text: "integer"}, (text, text, 1), ("b", "t", 2))
        return option(rows, "bar", "x", text, series="g", title=text)

    drawing = svg_of_option(made("华东"))
    assert texts(made("华东")).count("华东") == 4
    assert len(set(re.findall(r"font-family:[^;\"]*", drawing))) == 1, "one font, which the pictures below show"
    assert png_of_option(made("华东")) != png_of_option(made("华南"))
    assert png_of_option(made("Север")) != png_of_option(made("Запад"))


def test_long_texts_are_cut_and_leave_room_for_the_chart() -> None:
    rows = result({"x": "string", "s": "string", "n": "integer"}, *((f"{'类别' * 50}{at}", f"{'系列' * 50}{at}", at + 1) for at in range(12)))  # fmt: skip # noqa: E501
    drawing = svg_of_option(option(rows, "bar", "x", "n", series="s", title="标题" * 500))
    shown = _TEXT.findall(drawing)

    assert sum(text.startswith("标题") for text in shown) == 2
    assert max(map(len, shown)) < 70
    heights = [float(height) for height in re.findall(r'<path d="M[\d.]+ [\d.]+l[\d.]+ 0l0 (-[\d.]+)', drawing)]
    assert min(heights) < -200, "the longest bar"
