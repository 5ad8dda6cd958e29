"""Names that differ from others."""

from collections.abc import Iterable


def unused_name(name: str, names: Iterable[str]) -> str:
    """Return `name`, or the first of `name_2`, `name_3` and so on that is not among `names` in any case.

    >>> unused_name("total", ["Total", "total_2"])
    'total_3'
    """
    taken = {other.casefold() for other in names}
    number, free = 1, name
    while free.casefold() in taken:
        number += 1
        free = f"{name}_{number}"
    return free
