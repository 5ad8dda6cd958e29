"""Privileges of a database account other than read access. The statements are constants."""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlalchemy import Connection

_READING = {"USAGE", "SELECT", "SHOW VIEW", "SHOW DATABASES", "SHOW", "SHOW TABLES", "SHOW COLUMNS", "PROCESS"}
_GRANT = re.compile(r"GRANT (?P<rights>.+?) ON (?P<on>.+?) TO ", re.DOTALL)
_GRANTED_ROLE = re.compile(r"GRANT (?P<role>[`'\w][^,]*?) TO ")


@dataclass(frozen=True)
class Grants:
    """Privileges of an account other than read access.

    `beyond_reading` lists those that can change data or settings or access files; `open_to_all` those that every
    account on the server has. `known` is False for engines that do not report privileges.
    """

    beyond_reading: tuple[str, ...] = ()
    open_to_all: tuple[str, ...] = ()
    known: bool = True


def column_of(connection: "Connection", sql: str) -> list[str]:
    """Return the first column of the rows of `sql`."""
    return [str(row[0]) for row in connection.execution_options(no_parameters=True).exec_driver_sql(sql)]


def shown_grants(connection: "Connection") -> tuple[str, ...]:
    """Return the privileges other than read access that SHOW GRANTS tells, also those of granted roles."""
    lines = column_of(connection, "SHOW GRANTS")
    # Names of granted roles, with the quotes of the server.
    roles = [match["role"] for line in lines if " ON " not in line and (match := _GRANTED_ROLE.match(line))]
    lines += [line for role in roles for line in column_of(connection, f"SHOW GRANTS FOR {role}")]
    return tuple(dict.fromkeys(f"{right} on {on}" for line in lines for right, on in beyond_reading(line)))


def beyond_reading(line: str) -> list[tuple[str, str]]:
    """Return the privileges other than read access in one line of SHOW GRANTS, each with its object.

    >>> beyond_reading("GRANT SELECT, INSERT (a, b) ON `shop`.* TO `app`@`%`")
    [('INSERT', '`shop`.*')]
    """
    match = _GRANT.match(line)
    if not match:
        return []
    rights = [re.sub(r"\s*\(.*?\)", "", right).strip().upper() for right in re.split(r",(?![^(]*\))", match["rights"])]
    grant_option = ["GRANT OPTION"] if "WITH GRANT OPTION" in line.upper() else []
    return [(right, match["on"]) for right in [*rights, *grant_option] if right not in _READING]
