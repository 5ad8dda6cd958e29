"""The encoding of a text file."""

import codecs
from pathlib import Path

from agent.errors import DriverMissing

_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_EIGHT_BIT = ("gb18030", "cp1251", "cp1252", "latin_1")
_SAMPLE = 1 << 16
_CHUNK = 1 << 22


def encoding_of(path: Path) -> str:
    """Return Python's name of the encoding of the text at `path`.

    A mark at the beginning decides, then zeros in every second byte, then whether all of it is UTF-8; what is left is
    told apart by what its letters look like, and latin-1 fits everything.

    Raises:
        DriverMissing: charset-normalizer is needed and not installed.
    """
    with path.open("rb") as file:
        head = file.read(_SAMPLE)
    for bom, encoding in _BOMS:
        if head.startswith(bom):
            return encoding
    if b"\0" in head:
        return "utf-16-le" if head[1::2].count(0) >= head[::2].count(0) else "utf-16-be"
    if _decodes(path, "utf-8"):
        return "utf-8"
    guess = _look(path)
    return guess if _decodes(path, guess) else "latin-1"


def _look(path: Path) -> str:
    """Return the likeliest eight-bit encoding of those lines at the start that are not plain ASCII."""
    try:
        from charset_normalizer import from_bytes
    except ImportError:
        raise DriverMissing("charset-normalizer", "analyst") from None
    telling = bytearray()
    with path.open("rb") as file:
        while len(telling) < _SAMPLE and (lines := file.readlines(_CHUNK)):
            telling += b"".join(line for line in lines if not line.isascii())
    sample = bytes(telling[: _SAMPLE * 4])
    best = from_bytes(sample, cp_isolation=list(_EIGHT_BIT)).best()
    if best and best.encoding == "gb18030" and not _is_common_chinese(sample):
        best = from_bytes(sample, cp_isolation=list(_EIGHT_BIT[1:])).best()
    return best.encoding if best else "latin-1"


def _is_common_chinese(sample: bytes) -> bool:
    """Tell whether most characters are punctuation or common ones; GB 2312 has those under first bytes below D8.

    Small Cyrillic letters in pairs are all rare characters.
    """
    codes = [char.encode("gb18030") for char in sample.decode("gb18030", "ignore") if not char.isascii()]
    return 2 * sum(len(code) == 2 and code[0] < 0xD8 for code in codes) > len(codes)


def _decodes(path: Path, encoding: str) -> bool:
    decoder = codecs.getincrementaldecoder(encoding)()
    with path.open("rb") as file:
        try:
            while chunk := file.read(_CHUNK):
                decoder.decode(chunk)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return False
    return True
