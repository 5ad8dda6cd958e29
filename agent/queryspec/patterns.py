"""Regular expressions of specs: the syntax on which RE2 and Python agree, without what needs backtracking."""

import re

MAX_REPEATS = 100
_PART = re.compile(
    r"\\[dDwWsSbBAnrtf.\\+*?()|\[\]{}^$/\-]|\[\^?(?:\\[dDwWsSnrt\\\]\[^\-./]|[^\\\[\]])+\]"
    r"|\((?:\?:|\?i\)|(?!\?))|\)|(?P<repeat>[*+?]\??|\{(?P<low>\d+)(?:,(?P<high>\d*))?\}\??)|[.^$|]"
    r"|[^\\\[\]{}()*+?.^$|]"
)


def check_pattern(pattern: str) -> None:
    """Check that `pattern` is a regular expression that can be matched in time linear in the text.

    Raises:
        ValueError: It is invalid, or uses lookaround, backreferences or other syntax that is not common.
    """
    at, is_repeated = 0, False
    while at < len(pattern):
        part = _PART.match(pattern, at)
        if part is None or (part[0] == "(?i)" and at) or (part["repeat"] and is_repeated):
            raise ValueError(f"{pattern[at : at + 4]!r} at character {at + 1} is not supported in a regular expression")
        repeats = [int(number) for number in part.group("low", "high") if number]
        if repeats and max(repeats) > MAX_REPEATS:
            raise ValueError(f"a regular expression repeats at most {MAX_REPEATS} times, not {part[0]}")
        at, is_repeated = part.end(), bool(part["repeat"])
    try:
        re.compile(pattern)
    except re.error as error:
        raise ValueError(f"the regular expression is invalid: {error}") from None
