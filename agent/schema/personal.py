"""Columns that look like personal data or identifiers: their values do not help a model to write a query."""

import re
from collections.abc import Sequence
from functools import lru_cache

from datasphinx.agent.schema.catalog import Catalog, Column, Table
from datasphinx.agent.schema.words import spelt_words, stem

_MIN_SHARE = 0.8
"""Share of the values that must match a pattern."""
_MAX_CHECKED = 50

_PATTERNS = (
    ("e-mail addresses", re.compile(r"[^@\s]+@[^@\s]+\.[^@\s.]{2,}")),
    ("URLs", re.compile(r"(?:https?|ftp)://\S+|www\.\S+\.\S+", re.I)),
    ("UUIDs", re.compile(r"\{?[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\}?", re.I)),
    ("IP addresses", re.compile(r"(?:\d{1,3}\.){3}\d{1,3}(?:/\d+)?|(?:[0-9a-f]{0,4}:){3,7}[0-9a-f]{0,4}", re.I)),
    ("hashes", re.compile(r"(?=.*[a-f])(?=.*\d)(?:0x)?[0-9a-f]{16,}|\$\w{1,8}\$\S{20,}", re.I)),
    (
        "phone numbers",
        re.compile(
            r"\+\d[\d\s().-]{6,20}(?:\s?x\d+)?|(?:1[-. ]?)?(?:\(\d{3}\) ?|\d{3}[-. ])\d{3}[-. ]\d{4}(?:\s?x\d+)?", re.I
        ),
    ),
    (
        "postal addresses",
        re.compile(
            r"\d.*\b(?:street|st|avenue|ave|road|rd|drive|dr|lane|ln|boulevard|blvd|court|ct|way|place|pl|suite|apt)\b.*"
            r"|.*(?:straße|strasse|str\.|\brue\b|\bvia\b|\bcalle\b|\bул\.|улица|проспект|路|街).*\d.*",
            re.I,
        ),
    ),
)
"""Patterns of whole values, by what the values are."""

_NAMES: tuple[tuple[str, frozenset[tuple[str, ...]], re.Pattern[str]], ...] = tuple(
    (kind, frozenset(tuple(name.split("_")) for name in names.split()), re.compile(evidence))
    for kind, names, evidence in (
        ("e-mail addresses", "email mail e_mail email_address почта 邮箱", r".*@.*"),
        (
            "phone numbers",
            "phone telephone tel mobile cellphone fax phone_number mobile_number cell_number fax_number phone_no "
            "телефон 电话 手机",
            r"(?:.*\d){5}.*",
        ),
        (
            "names of persons",
            "first_name last_name middle_name given_name family_name maiden_name firstname lastname fname lname "
            "surname forename фио имя фамилия отчество 姓名",
            r".*[^\W\d].*",
        ),
        ("postal addresses", "address street addr address_line address1 address2 адрес 地址", r".*[\s\d].*"),
    )
)
"""Last words of column names, by what the values are, with a pattern of such values."""

_PERSON_STEMS = frozenset(
    stem(word)
    for word in """actor actress applicant artist author buyer candidate celebrity client coach contact cook customer
    director doctor driver editor employee faculty friend guest head instructor inspector journalist lawyer lecturer
    lodger manager member mechanic musician nurse officer owner parent participant passenger patient people person
    physician pilot player politician professional professor pupil resident reviewer sailor singer speaker staff student
    supervisor swimmer teacher trainer tutor user visitor voter winner worker wrestler writer""".split()
)
_SEVERAL_WORDS = re.compile(r"\D*[^\W\d_]\D*\s\D*[^\W\d_]\D*")


@lru_cache(maxsize=4096)
def personal_kind(table: str, column: str, values: tuple[str, ...]) -> str:
    """Return what `values` of the column look like, such as "e-mail addresses"; empty if they do not look personal."""
    checked = [value for value in values[:_MAX_CHECKED] if value.strip()]
    if not checked:
        return ""
    parts = [part for value in checked for part in re.split("[,;]", value) if part.strip()]
    for kind, pattern in _PATTERNS:
        if max(_share(pattern, checked), _share(pattern, parts)) >= _MIN_SHARE:
            return kind
    words = tuple(spelt_words(column)) or (column,)
    for kind, names, evidence in _NAMES:
        if (words in names or words[-1:] in names or words[-2:] in names) and _share(evidence, checked) >= _MIN_SHARE:
            return kind
    return "names of persons" if _names_persons(table, words, checked) else ""


def personal_content(catalog: Catalog, table: Table, column: Column) -> str:
    """Return what the sampled values of a column look like, see `personal_kind`."""
    return personal_kind(table.name, column.name, catalog.values.get((table.key, column.name)) or column.examples)


def _names_persons(table: str, words: tuple[str, ...], values: Sequence[str]) -> bool:
    """Return whether a column is called like `customer_name`, `name` in a table of persons, or `owner`, with names."""
    *subject, last = [word for word in words if word != "full"] or ["full"]
    if last in ("name", "fullname"):
        subject = subject or spelt_words(table)
        return bool(subject) and stem(subject[-1]) in _PERSON_STEMS
    return stem(last) in _PERSON_STEMS and _share(_SEVERAL_WORDS, values) >= _MIN_SHARE


def _share(pattern: re.Pattern[str], values: Sequence[str]) -> float:
    return sum(pattern.fullmatch(value.strip()) is not None for value in values) / max(len(values), 1)
