"""Meanings of codes in the comments of columns."""

import re

_CODE = re.compile(
    r"(?<![\w'-])['\"]?([\w.+]{1,12})['\"]?\s*(=|:|->|→|[-–—](?=\s))\s*['\"]?([^\s,;|/()=:'\"][^,;|/()=:'\"]*?)"
    r"['\"]?(?=\s*(?:[,;|/)]|$)|\s+[\w.+]{1,12}\s*=)"
)


def codes_in(comment: str) -> dict[str, str]:
    """Return the meanings in a comment that lists codes; empty if it lists none.

    >>> codes_in("state of the unit: D = down, U = up and running")
    {'D': 'down', 'U': 'up and running'}
    >>> codes_in("1 - new; 2 - paid")
    {'1': 'new', '2': 'paid'}
    """
    pairs = _CODE.findall(comment)
    is_list = len(pairs) > 1 or any(sign == "=" for _, sign, _ in pairs)
    return {code: meaning.strip() for code, sign, meaning in pairs} if is_list else {}
