"""Find the encoding of a text file: marks and structure first, then which language its letters spell."""

import codecs
import unicodedata
from functools import cache
from pathlib import Path

_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_WIDE = ("utf-32-le", "utf-32-be", "utf-16-le", "utf-16-be")
_WESTERN, _CENTRAL = "fr de es pt it nl sv da nb fi ca", "pl cs sk hu sl hr ro sq"
_LEGACY = {
    "cp1252": _WESTERN, "cp1250": _CENTRAL, "cp1251": "ru uk bg sr be mk kk", "gb18030": "zh", "cp932": "ja",
    "big5": "zh_Hant", "cp949": "ko", "cp1254": "tr az", "cp1253": "el", "cp1257": "lt lv et", "cp1255": "he",
    "cp1256": "ar fa ur", "cp874": "th", "cp1258": "vi", "euc_jp": "ja", "koi8_r": "ru bg", "koi8_u": "uk",
    "cp866": "ru be", "latin_1": "is", "iso8859_15": _WESTERN, "iso8859_2": _CENTRAL, "iso8859_5": "ru bg sr mk",
    "iso8859_7": "el", "iso8859_8": "he", "mac_roman": _WESTERN, "mac_latin2": _CENTRAL,
    "mac_cyrillic": "ru uk bg sr", "cp850": _WESTERN,
    "cp852": _CENTRAL, "cp737": "el", "cp857": "tr",
}  # fmt: skip
"""Encodings by the locales whose language they were made for, the likelier ones first."""

_COMMON = {
    "gb18030": (0xB0, 0xD7, 0xA1), "big5": (0xA4, 0xC6, 0x40), "cp932": (0x81, 0x97, 0x40),
    "cp949": (0xB0, 0xC8, 0xA1), "euc_jp": (0xA1, 0xCF, 0xA1),
}  # fmt: skip
"""The least and greatest first byte and the least second byte of the common characters of two bytes."""

_PRIORS = {"cp1252": 1.2, "cp1250": 0.8, "cp1251": 0.8, "gb18030": 0.5}
"""What an encoding is worth before any character is seen; a character that spells a word of the language is worth 1."""

_SAMPLE = 1 << 16
_CHUNK = 1 << 22
_MAX_PLACES = 2000
_MAX_ZEROS = 0.02
"""Maximum share of zeros, and of other control characters, in a file of one byte a character."""
_CONTROLS = bytes([*range(2, 9), *range(14, 26)])
"""Control characters that neither separate cells or lines nor switch between sets of letters."""
_MAX_STRAY = 0.25
"""Maximum share of zeros in UTF-8; text with the letters of one language in UTF-16 has more."""

_SYMBOL = 0.7
_ALONE = 0.4
"""Scores of a sign that stands where signs do, and of a letter that stands alone."""

_SIGNS = "µªº"
"""Letters by their category that are used as signs."""
_WORD_MARKS = ("Pf", "Pd", "Lm")
"""Categories of signs that stand inside words, such as an apostrophe."""


def encoding_of(path: Path) -> tuple[str, bool]:
    """Return Python's name for the encoding of the text at `path`, and whether it is a guess.

    Checked in this order: the byte order mark, the places of zeros, UTF-8 in which most sequences are valid, the
    letters of eight-bit and multi-byte encodings. On thin evidence a Western encoding is guessed.
    """
    with path.open("rb") as file:
        head = file.read(_SAMPLE)
    for bom, encoding in _BOMS:
        if head.startswith(bom):
            return encoding, False
    if head.count(0) > _MAX_ZEROS * len(head) and not _is_narrow(head):
        return _wide(head), False
    sample = _not_ascii(path)
    if not sample:
        return "utf-8", False
    text = sample.decode("utf-8", "replace")
    foreign, invalid = len(text) - len(text.encode("ascii", "ignore")), text.count("\ufffd")
    if foreign > 2 * invalid:
        return "utf-8", False
    return _legacy(sample), True


def is_text(head: bytes) -> bool:
    """Return whether a file that begins with `head` may be text.

    Only in UTF-32 two zeros follow each other, and text of one byte a character has hardly any control characters.
    """
    controls = len(head) - len(head.translate(None, _CONTROLS))
    if controls > _MAX_ZEROS * len(head) >= head.count(0):
        return False
    if b"\0\0" not in head or any(head.startswith(bom) for bom, _ in _BOMS) or _is_narrow(head):
        return True
    encoding = _wide(head)
    return encoding.startswith("utf-32") and _is_written(head[: len(head) & ~3].decode(encoding, "replace"))


def _is_narrow(head: bytes) -> bool:
    """Return whether text in UTF-8 has some zeros that do not belong to it."""
    try:
        text = codecs.getincrementaldecoder("utf-8")().decode(head.replace(b"\0", b""))
    except UnicodeDecodeError:
        return False
    return head.count(0) < _MAX_STRAY * len(head) and _is_written(text)


def _is_written(text: str) -> bool:
    return all(char in "\r\n\t\f" or unicodedata.category(char) not in ("Cc", "Cn", "Co") for char in text)


def _wide(head: bytes) -> str:
    """Return the encoding that gives the most characters of ASCII for text with zeros."""
    return max(_WIDE, key=lambda encoding: sum(map(_is_plain, head[: len(head) & ~3].decode(encoding, "replace"))))


def _is_plain(char: str) -> bool:
    return " " <= char < "\x7f" or char in "\r\n\t"


def _not_ascii(path: Path) -> bytes:
    """Return the first lines with bytes outside of ASCII."""
    found = bytearray()
    with path.open("rb") as file:
        while len(found) < _SAMPLE and (lines := file.readlines(_CHUNK)):
            if not all(map(bytes.isascii, lines)):
                found += b"".join(line for line in lines if not line.isascii())
    return bytes(found[: _SAMPLE * 4])


def _legacy(sample: bytes) -> str:
    scores = {}
    for encoding, locales in _LEGACY.items():
        places = _places(sample, encoding)
        if places is not None:
            scores[encoding] = _PRIORS.get(encoding, 0.0) + max(
                sum(_score(place, encoding, locale) for place in places) for locale in locales.split()
            )
    return max(scores, key=lambda encoding: scores[encoding], default="latin-1")


def _places(sample: bytes, encoding: str) -> list[tuple[str, str, str]] | None:
    """Return each character that is not ASCII, with those beside it; None if the sample is not in this encoding."""
    text = sample.decode(encoding, "replace")
    beside = zip(" " + text, text, text[1:] + " ", strict=False)
    places = {(_blank(before), char, _blank(after)) for before, char, after in beside if not char.isascii()}
    undefined = sum(char == "\ufffd" or unicodedata.category(char) in ("Cc", "Co") for _, char, _ in places)
    return None if 20 * undefined > len(places) else sorted(places)[:_MAX_PLACES]


def _score(place: tuple[str, str, str], encoding: str, locale: str) -> float:
    """Return how well a character with its neighbours spells words of a language, from 0 to 1 for each byte."""
    before, char, after = (each.lower()[:1] for each in place)
    letters, pairs = _spelling(locale)
    if encoding in _COMMON:
        first, last, least = _COMMON[encoding]
        code = place[1].encode(encoding, "replace")
        if len(code) != 2:
            return 0.0
        worth = 1.8 if char in letters else 1.4 if first <= code[0] <= last and least <= code[1] else 0.0
        return worth + 0.4 * (before + char in pairs) - 0.7 * sum(_is_latin(each) for each in (before, after))
    if char in _SIGNS or not unicodedata.category(char).startswith(("L", "M")):
        is_inside = before != " " and after != " "
        return _SYMBOL * (not is_inside or unicodedata.category(char) in _WORD_MARKS)
    is_mixed = not _is_latin(char) and (_is_latin(before) or _is_latin(after))
    if char not in letters or is_mixed or (place[0].islower() and place[1].isupper()):
        return 0.0
    if before == after == " ":
        return _ALONE
    return 0.1 + 0.45 * ((before + char in pairs) + (char + after in pairs))


def _is_latin(char: str) -> bool:
    return char.isalpha() and unicodedata.name(char, "").startswith("LATIN")


def _blank(char: str) -> str:
    """Return a letter or sign of a language; a blank for digits, white space and signs of ASCII."""
    return char if char.isalpha() or not char.isascii() else " "


@cache
def _spelling(locale: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the letters of a language and the pairs of neighbours, from the names of countries, languages and days."""
    from babel import Locale

    names = Locale.parse(locale)
    found = [*names.territories.values(), *names.languages.values(), *names.currencies.values()]
    for widths in (names.months, names.days):
        found += [name for forms in widths.values() for words in forms.values() for name in words.values()]
    text = "".join(map(_blank, f" {' '.join(map(str, found))} ".lower()))
    pairs = frozenset(text[at : at + 2] for at in range(len(text) - 1))
    return frozenset(text), pairs


def check_encoding(name: str) -> str:
    """Return `name` if Python can read text in this encoding. Raise ValueError if there is no such encoding."""
    try:
        b"a".decode(name)
    except (LookupError, UnicodeError):
        raise ValueError(f"{name!r} is no encoding of text") from None
    return name
