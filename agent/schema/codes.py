"""Meanings of codes in the comments of columns."""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence

from datasphinx.agent.schema.catalog import Column

_CODE = re.compile(
    r"(?<![\w'-])['\"]?([\w.+]{1,12})['\"]?\s*(=(?!>)|:|->|=>|→|[-–—](?=\s))\s*['\"]?([^\s,;|/()=:'\"][^,;|/()=:'\"]*?)"
    r"['\"]?(?=\s*(?:[,;|/)]|$)|\s+[\w.+]{1,12}\s*=)"
)
_MARK = re.compile(r"(?<![\w-])(?P<code>[\w.+]+)['\"`”»]*\s*(?P<sign>[^\w\s'\"`“”«»]+)\s*")
_OPENING, _CLOSING = "([{（", ")]}）"
_LAST = re.compile(r"\n|\.\s")
"""What ends the last meaning of a list besides what separates the others."""

_BARE = re.compile(r"\s*([^\W_]{1,4})\s+([^\W\d_][^\d:=]*?)\.?\s*")


def codes_of(column: Column, samples: Collection[str] = ()) -> dict[str, str]:
    """Return the meanings in the comment of `column` by its stored values, of which `samples` may be more.

    Empty if it lists none.
    """
    stored = {*samples, *column.examples, *filter(None, (column.minimum, column.maximum))}
    is_coded = column.type_class in ("text", "number") and not column.secret
    return codes_in(column.comment or "", {*map(_plain, stored)} if is_coded else ())


def codes_in(comment: str, values: Collection[str] = ()) -> dict[str, str]:
    """Return the meanings in a comment that lists codes; empty if it lists none.

    Of a column with known `values`, several stand in a list, each before a text, with the same sign between; a list may
    have codes that are not stored yet. Without values, only the most usual signs are recognised.

    >>> codes_in("state of the unit: D = down, U = up and running")
    {'D': 'down', 'U': 'up and running'}
    >>> codes_in("1 - new; 2 - paid"), codes_in("C (completed), N (no-show)", ["C", "N"])
    ({'1': 'new', '2': 'paid'}, {'C': 'completed', 'N': 'no-show'})
    >>> codes_in("VAT: 19, incl. shipping: yes", ["12.5"])
    {}
    """
    if not values:
        pairs = _CODE.findall(comment)
        is_list = len(pairs) > 1 or any(sign == "=" for _, sign, _ in pairs)
        return {code: meaning.strip() for code, sign, meaning in pairs} if is_list else {}
    marks = [*_MARK.finditer(comment)]
    stored = Counter(mark["sign"] for mark in marks if mark["code"] in values)
    for sign, count in stored.most_common():
        found = dict(_meanings(comment, [mark for mark in marks if mark["sign"] == sign]))
        if len(found) > 1 and (count > 1 or sign in ("=", ":")) or (found and sign == "="):
            return found
    return {}


def _meanings(comment: str, marks: Sequence[re.Match[str]]) -> Iterator[tuple[str, str]]:
    """Yield the words of `marks` with the texts between them, without what separates these."""
    ends = [*(mark.start() for mark in marks[1:]), len(comment)]
    texts = [_balanced(comment[mark.end() : end]) for mark, end in zip(marks, ends, strict=True)]
    between = (re.search(r"[^\w\s'\"`”»]?[\W_]*$", text) for text in texts[:-1])
    signs = Counter(found[0].strip("'\"`”» \t")[:1] for found in between if found)
    separator = signs.most_common(1)[0][0] if signs else ""
    last = _LAST.split(texts[-1])[0]
    texts[-1] = last.split(separator)[0] if separator else last
    for mark, text in zip(marks, texts, strict=True):
        meaning = text.strip()
        while meaning and not (meaning[0].isalnum() and (meaning[-1].isalnum() or meaning[-1] in _CLOSING)):
            meaning = meaning[1:] if not meaning[0].isalnum() else meaning[:-1]
        if any(map(str.isalpha, meaning)):
            yield mark["code"], meaning


def _balanced(text: str) -> str:
    """Return `text` up to the first bracket that closes none in it."""
    depth = 0
    for at, char in enumerate(text):
        depth += (char in _OPENING) - (char in _CLOSING)
        if depth < 0:
            return text[:at]
    return text


def _plain(value: str) -> str:
    """Return a stored value as a comment would write it: without padding, and a whole number without decimals."""
    text = value.strip()
    return re.sub(r"(?<=\d)\.0+$", "", text)


def codes_without_signs(comment: str) -> dict[str, str]:
    """Return the meanings in a comment that is a list of codes, each before its meaning; empty for any other comment.

    Codes are numbers, single letters or capitals, and differ.

    >>> codes_without_signs("D done, C cancelled by owner, N no-show")
    {'D': 'done', 'C': 'cancelled by owner', 'N': 'no-show'}
    >>> codes_without_signs("amount in EUR, without tax")
    {}
    """
    parts = re.split("[,;]", comment)
    codes = {match[1]: match[2] for part in parts if (match := _BARE.fullmatch(part))}
    are_codes = all(code.isdecimal() or len(code) == 1 or code.isupper() for code in codes)
    return codes if are_codes and len(codes) == len(parts) > 1 else {}
