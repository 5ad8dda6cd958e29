"""Charts as PNG, drawn from their ECharts options by the library of the page. Needs the extra `charts`."""

import json
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from datasphinx.agent.charts.echarts import Option
from datasphinx.agent.errors import DriverMissing
from datasphinx.agent.formatting.formats import ColumnFormat, format_tick, format_value

if TYPE_CHECKING:
    from quickjs import Function

_HERE = Path(__file__).parent
_ECHARTS = _HERE.parent / "web/vendor/echarts/echarts.esm.min.mjs"
_EXPORTS = re.compile(r"export\s*\{([^}]*)\};?\s*$")
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
"""Characters that XML does not allow; ECharts may cut a text between the two halves of one."""
_MEMORY_BYTES = 256 << 20


def png_of_option(option: Option) -> bytes:
    """Return the PNG, 1000 x 600 pixels, of an option created by `datasphinx.agent.charts.echarts`.

    Equal arguments give equal bytes with the same versions of ECharts, resvg and fonts.

    Raises:
        DriverMissing: the extra `charts` is not installed.
        ValueError: the option names a picture to be drawn.
    """
    try:
        import pylopdf_fonts_zh_cn
        from resvg_py import svg_to_bytes

        drawing = svg_of_option(option)
    except ModuleNotFoundError as error:
        raise DriverMissing(error.name or "resvg-py", "charts") from error
    if "<image" in drawing:
        # It could be a file of this machine.
        raise ValueError("the option of the chart names a picture to be drawn")
    # The font has Latin, Cyrillic and Chinese letters; for others, those of the system are searched.
    font = str(pylopdf_fonts_zh_cn.sans_path())
    return bytes(svg_to_bytes(svg_string=drawing, font_files=[font], sans_serif_family="Noto Sans SC"))


def svg_of_option(option: Option) -> str:
    """Return the drawing of `png_of_option` as SVG with texts. Raise ModuleNotFoundError without QuickJS."""
    # QuickJS frees its memory itself; to be told so it would also collect the garbage of all of Python each time.
    drawing: str = json.loads(_draw()(json.dumps(option), run_gc=False))
    return _CONTROL.sub("\ufffd", drawing)


@cache
def _draw() -> "Function":
    """Return the function that draws an option, both as JSON, with ECharts and `png.js`."""
    from quickjs import Function

    source = _ECHARTS.read_text(encoding="utf-8")
    exports = _EXPORTS.search(source)
    assert exports
    names = (name.strip().partition(" as ")[::2] for name in exports[1].split(","))
    library = ", ".join(f"{public}: {own}" for own, public in names)
    module = f"const echarts = (() => {{{source[: exports.start()]}; return {{{library}}};}})();"
    function = Function("draw", module + (_HERE / "png.js").read_text(encoding="utf-8"))
    function.set_memory_limit(_MEMORY_BYTES)
    function.add_callable("written", _written)
    return function


def _written(value: float, fmt: str, language: str, is_tick: bool) -> str:
    return (format_tick if is_tick else format_value)(value, ColumnFormat(**json.loads(fmt)), language)
