"""Fonts for pictures: for Latin, Greek and Cyrillic, for Chinese, and of those installed what else is needed."""

from functools import cache

import pylopdf_fonts_zh_cn
from matplotlib import font_manager

_SHIPPED = ("DejaVu Sans", "Noto Sans SC")
"""The first comes with matplotlib; the second has all of GB 2312 and GBK."""


def families_for(text: str) -> tuple[list[str], set[str]]:
    """Return the font families that together have the characters of `text`, and the characters that none has.

    Each character is drawn by the first family that has it. Installed fonts follow those that are shipped, by name.
    """
    _register()
    families = list(_SHIPPED)
    missing = {char for char in text if char.isprintable() and not char.isspace()}
    for family in _SHIPPED:
        missing -= _characters(font_manager.findfont(family))
    for family, path in _installed() if missing else ():
        found = missing & _characters(path)
        if found:
            families.append(family)
            missing -= found
    return families, missing


@cache
def _register() -> None:
    font_manager.fontManager.addfont(pylopdf_fonts_zh_cn.sans_path())


@cache
def _characters(path: str) -> frozenset[str]:
    return frozenset(map(chr, font_manager.get_font(path).get_charmap()))


def _installed() -> list[tuple[str, str]]:
    """Family and file of the upright fonts of plain weight, one for each family, but for those of last resort."""
    fonts = {
        entry.name: entry.fname
        for entry in sorted(font_manager.fontManager.ttflist, key=lambda entry: (entry.name, entry.fname))
        if entry.style == "normal" and entry.weight == 400 and "Last Resort" not in entry.name
    }
    return sorted((name, path) for name, path in fonts.items() if name not in _SHIPPED)
