"""Amounts that cells hold as text, such as `€ 1.234,50`, `CHF 1'000.00` or `12.5 %`."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from agent.schema.currencies import CURRENCY_CODES, CURRENCY_SIGNS

_SPACE = " \u00a0\u2009\u202f"
_UNITS = {code.lower(): code for code in CURRENCY_CODES} | CURRENCY_SIGNS
_UNITS |= {"рублей": "RUB", "рубля": "RUB", "美元": "USD", "欧元": "EUR", "%": "%"}
_UNIT = f"(?i:{'|'.join(re.escape(unit) for unit in sorted(_UNITS, key=len, reverse=True))})"
_CELL = re.compile(
    rf"(?P<open>\()?(?P<sign>[-−+])?[{_SPACE}]?(?P<before>{_UNIT})?[{_SPACE}]?(?P<inner>[-−])?"
    rf"(?P<digits>\d[\d.,'’{_SPACE}]*?)(?P<trailing>-)?[{_SPACE}]?(?P<after>{_UNIT})?\)?"
)
_NUMBERS = {
    decimal: re.compile(rf"(?P<whole>\d{{1,3}}(?:[{group}'’{_SPACE}]\d{{3}})+|\d+)(?:\{decimal}(?P<fraction>\d+))?")
    for decimal, group in ((".", ","), (",", "."))
}


class Amounts(NamedTuple):
    """The values of text cells; `unit` is the code of their common currency in lower case, "%", or None."""

    values: list[float]
    unit: str | None


def amounts_of(cells: Sequence[str]) -> Amounts | None:
    """Return the amounts of `cells`, or None if one is not an amount. All cells have the same decimal sign.

    Where a sign can be a decimal one or group thousands, as in `1,234`, it groups thousands.

    >>> amounts_of(["€ 1.234,50", "€ 12.000,00"])
    Amounts(values=[1234.5, 12000.0], unit='eur')
    >>> amounts_of(["1,234", "12 apples"]), amounts_of(["BMW 320", "BMW 520"])
    (None, None)
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
    units = {_UNITS.get((match["before"] or match["after"] or "").lower(), "").lower() for match in matches}
    unit = units.pop() or None if len(units) == 1 else None
    return Amounts([sign * value for sign, value in zip(signs, max(readings, key=sum), strict=True)], unit)


_SIGNS = ("open", "sign", "inner", "trailing")
