"""Texts as a picture has room for them."""

from unicodedata import east_asian_width

from agent.catalog.describe import one_line

_UNKNOWN = "\ufffd"


class Lettering:
    """Cuts texts, and puts a mark in place of each character that no font has."""

    def __init__(self, missing: set[str]) -> None:
        """`missing` are the characters that cannot be drawn."""
        self._missing = dict.fromkeys(map(ord, missing), _UNKNOWN)

    def fitted(self, text: str, columns: int) -> str:
        """Return `text` on one line, cut to `columns` columns, of which a Chinese character takes two."""
        flat = one_line(text, columns + 1)
        width = 0
        for at, char in enumerate(flat):
            width += 2 if east_asian_width(char) in "WF" else 1
            if width > columns:
                flat = flat[:at] + "…"
                break
        return flat.translate(self._missing)
