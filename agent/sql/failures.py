"""Errors of databases by class, which decides what may be done next.

SQLSTATE classes are those of the SQL standard and of PostgreSQL's appendix A; numbers are MySQL's and MariaDB's server
error reference. Engines without codes are told by the words of their messages.
"""

import re
from typing import Literal

Kind = Literal["unknown name", "type", "syntax", "permission", "timeout", "connection", "resource", "other"]

_SQLSTATE: tuple[tuple[str, Kind], ...] = (
    ("42501", "permission"), ("28", "permission"),
    ("42703", "unknown name"), ("42P01", "unknown name"), ("42702", "unknown name"), ("3F000", "unknown name"),
    ("42883", "type"), ("42804", "type"), ("42846", "type"), ("22P02", "type"), ("22007", "type"), ("22008", "type"),
    ("42601", "syntax"), ("42803", "syntax"), ("42P10", "syntax"),
    ("57014", "timeout"), ("25P03", "timeout"), ("55P03", "timeout"),
    ("08", "connection"), ("57P", "connection"),
    ("53", "resource"), ("54", "resource"),
)  # fmt: skip
"""Beginnings of SQLSTATE, the longer ones before the classes that they are in."""

_ERRNO: dict[int, Kind] = {
    **dict.fromkeys((1044, 1045, 1142, 1143, 1227, 1370, 1410), "permission"),
    **dict.fromkeys((1052, 1054, 1049, 1051, 1109, 1146, 1305), "unknown name"),
    **dict.fromkeys((1292, 1366, 1367, 1411), "type"),
    **dict.fromkeys((1064, 1055, 1140, 1149, 1248), "syntax"),
    **dict.fromkeys((1205, 1317, 1969, 3024), "timeout"),
    **dict.fromkeys((1040, 1053, 1927, 2002, 2003, 2006, 2013), "connection"),
    **dict.fromkeys((1021, 1037, 1038, 1041, 1114, 1104, 3), "resource"),
}  # fmt: skip

_WORDS: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    ("permission", re.compile(r"permission denied|insufficient.permission|access.?denied|not enough privileges")),
    ("timeout", re.compile(r"interrupted|timeout|time limit|\(code:? 159\)|code: 159\b")),
    ("resource", re.compile(r"out of memory|memory.?limit|disk (is )?full|too big|no space|too many (terms|columns)")),
    ("connection", re.compile(r"connection (refused|reset|closed|lost)|broken pipe|unable to open database")),
    (
        "unknown name",
        re.compile(
            r"no such (column|table)|ambiguous column|unresolved_column|table_or_view_not_found|unknown[_ ]"
            r"(identifier|table|column)|ambiguous reference|(column|table|catalog error: table)\b.*\bnot (found|exist)"
            r"|does not exist|cannot be resolved|missing columns|referenced (column|table)"
        ),
    ),
    (
        "type",
        re.compile(
            r"conversion error|no function matches|cannot compare|datatype_mismatch|type mismatch|cast_invalid"
            r"|illegal type|type_mismatch|cannot parse|cannot cast|no supertype|no such function"
            r"|unresolved_routine|unknown function"
        ),
    ),
    ("syntax", re.compile(r"syntax|parser error|unrecognized token|incomplete input|misuse of|not_an_aggregate")),
)  # fmt: skip
"""In the order in which they are tried."""


def kind_of(error: Exception) -> Kind:
    """Return the class of what a driver raised, by its code where it has one and else by its words."""
    original = getattr(error, "orig", None) or error
    first = original.args[0] if original.args else None
    if isinstance(first, int):
        # MySQL's numbers say more than the SQLSTATE that comes with them.
        return _ERRNO.get(first, "other")
    state = getattr(original, "sqlstate", None)
    if isinstance(state, str):
        return next((kind for start, kind in _SQLSTATE if state.startswith(start)), "other")
    return kind_of_text(str(original), type(original).__name__)


def kind_of_text(text: str, name: str = "") -> Kind:
    """Return the class of an error by its words; `name` is the type that the driver gave it."""
    said = f"{name} {text}".lower()
    return next((kind for kind, pattern in _WORDS if pattern.search(said)), "other")
