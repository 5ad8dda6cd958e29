"""Which columns are secret: the catalog never reads their values, and results that have them are masked for models."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

from agent.catalog.schema import Catalog, Table

OBVIOUS = tuple(
    """*password* *passwd* *passphrase* pwd *_pwd pwd_* secret *_secret secret_* *credentials* token *_token token_hash
    *api_key* *apikey* *private_key* *access_key* ssn *_ssn *social_security* *credit_card* *creditcard* *card_number*
    cvv cvc *_cvv pin *_pin pin_code iban *_iban *passport_n* *tax_id*""".split()
)
"""Names of columns that are secret wherever they stand, as patterns over words joined by underscores."""

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_NO_LETTER = re.compile(r"[\W_]+")


def is_secret(table: Table, column: str, patterns: Iterable[str] = ()) -> bool:
    """Return whether `column` is named like a secret, or meets one of `patterns`.

    A pattern with a dot, such as "customers.email" or "*.salary", is compared with the table's name and its key, one
    without a dot with the column alone; case does not matter.
    """
    words = _NO_LETTER.sub("_", _CAMEL.sub("_", column)).lower()
    if any(fnmatchcase(words, pattern) for pattern in OBVIOUS):
        return True
    full = {f"{name}.{column}".lower() for name in (table.name, table.key)}
    return any(
        fnmatchcase(name, pattern.lower())
        for pattern in patterns
        for name in (full if "." in pattern else (column.lower(),))
    )


def unmet(patterns: Iterable[str], catalog: Catalog) -> list[str]:
    """Return the patterns that name one column and meet none of `catalog`: most likely they are misspelt."""
    known = set()
    for key, columns in catalog.selection().items():
        for column in columns:
            known |= {name.lower() for name in (column, f"{key}.{column}", f"{catalog.full_names[key].name}.{column}")}
    return [pattern for pattern in patterns if "*" not in pattern and pattern.lower() not in known]


def mark_secrets(
    tables: Mapping[str, Table], patterns: Sequence[str], definitions: Mapping[str, str | None]
) -> dict[str, Table]:
    """Return `tables` with `secret` set on columns, those of views over secret columns included.

    A column whose foreign key refers to a secret column has its values, and is secret too. A view that reads a table
    with secrets is secret as a whole where its definition takes one of them or every column, or where it cannot be
    read. `definitions` has the text of the views, by the key of the view.
    """
    marked = {key: _marked(table, patterns) for key, table in tables.items()}
    while leaks := _referring(marked):
        marked |= leaks
    views = {key: definitions.get(key) for key, table in tables.items() if table.is_view}
    changed = True
    while changed:
        holders = [table for table in marked.values() if any(column.secret for column in table.columns)]
        leaking = [key for key, text in views.items() if any(_shows(text, holder) for holder in holders)]
        changed = bool(leaking)
        for key in leaking:
            columns = tuple(column._replace(secret=True) for column in marked[key].columns)
            marked[key] = replace(marked[key], columns=columns)
            del views[key]
    return marked


def _marked(table: Table, patterns: Sequence[str]) -> Table:
    secret = {column.name for column in table.columns if is_secret(table, column.name, patterns)}
    if not secret:
        return table
    columns = tuple(column._replace(secret=column.name in secret) for column in table.columns)
    return replace(table, columns=columns)


def _referring(tables: Mapping[str, Table]) -> dict[str, Table]:
    """Return the tables with columns that refer to a secret column and are not marked, with these marked."""
    secret = {(key, column.name) for key, table in tables.items() for column in table.columns if column.secret}
    found: dict[str, set[str]] = {}
    for key, table in tables.items():
        for foreign_key in table.foreign_keys:
            for column, target in zip(foreign_key.columns, foreign_key.target_columns, strict=False):
                if (foreign_key.target, target) in secret and (key, column) not in secret:
                    found.setdefault(key, set()).add(column)
    return {
        key: replace(
            tables[key], columns=tuple(c._replace(secret=c.secret or c.name in names) for c in tables[key].columns)
        )
        for key, names in found.items()
    }


def _shows(definition: str | None, holder: Table) -> bool:
    if definition is None:
        return True
    text = definition.lower()
    if holder.name.lower() not in text:
        return False
    return "*" in text or any(column.secret and column.name.lower() in text for column in holder.columns)
