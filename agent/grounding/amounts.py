"""Amounts that cells hold as text, such as `€ 1.234,50`, `CHF 1'000.00` or `12.5 %`."""

import re
from collections.abc import Sequence
from typing import NamedTuple

_SPACE = " \u00a0\u2009\u202f"
_UNIT = r"[$€£¥₽]|[A-Z]{3}|руб(?:\.|лей|ля)?|р\.|元|美元|欧元|%"
_CELL = re.compile(
    rf"(?P<open>\()?(?P<sign>[-−+])?[{_SPACE}]?(?P<before>{_UNIT})?[{_SPACE}]?(?P<inner>[-−])?"
    rf"(?P<digits>\d[\d.,'’{_SPACE}]*?)(?P<trailing>-)?[{_SPACE}]?(?P<after>{_UNIT})?\)?"
)
_NUMBERS = {
    decimal: re.compile(rf"(?P<whole>\d{{1,3}}(?:[{group}'’{_SPACE}]\d{{3}})+|\d+)(?:\{decimal}(?P<fraction>\d+))?")
    for decimal, group in ((".", ","), (",", "."))
}
_UNITS = {
    "$": "usd", "€": "eur", "£": "gbp", "¥": "cny", "₽": "rub", "元": "cny", "美元": "usd", "欧元": "eur", "р.": "rub",
    **{code.upper(): code for code in ("usd", "eur", "gbp", "rub", "cny", "jpy", "kzt")},
}  # fmt: skip


class Amounts(NamedTuple):
    """The values of text cells; `unit` is their common currency or "%", None if unknown or different."""

    values: list[float]
    unit: str | None


def amounts_of(cells: Sequence[str]) -> Amounts | None:
    """Return the amounts of `cells`, or None if one is not an amount. All cells have the same decimal sign.

    Where a sign can be a decimal one or group thousands, as in `1,234`, it groups thousands.

    >>> amounts_of(["€ 1.234,50", "€ 12.000,00"])
    Amounts(values=[1234.5, 12000.0], unit='eur')
    >>> amounts_of(["1,234", "12 apples"]) is None
    True
    """
    matches = [match for cell in cells if (match := _CELL.fullmatch(cell.strip()))]
    if not matches or len(matches) < len(cells):
        return None
    readings = []
    for number in _NUMBERS.values():
        parsed = [number.fullmatch(match["digits"].strip()) for match in matches]
        values = [
            float(f"{re.sub(r'[^0-9]', '', part['whole'])}.{part['fraction'] or 0}")
            for part in parsed
            if part is not None
        ]
        readings += [values] if len(values) == len(matches) else []
    if not readings:
        return None
    signs = [-1.0 if any(match[name] in {"-", "−", "("} for name in _SIGNS) else 1.0 for match in matches]
    units = {match["before"] or match["after"] or "" for match in matches}
    unit = units.pop() if len(units) == 1 else ""
    known = "rub" if unit.startswith("руб") else "%" if unit == "%" else _UNITS.get(unit)
    return Amounts([sign * value for sign, value in zip(signs, max(readings, key=sum), strict=True)], known)


_SIGNS = ("open", "sign", "inner", "trailing")
