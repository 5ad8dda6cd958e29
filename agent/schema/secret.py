"""Secret columns: their values are never sampled, and are masked in results shown to models."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase, translate

from agent.schema.catalog import Catalog, Table

SECRET_NAMES = tuple(
    """*password* *passwd* *passphrase* pwd *_pwd pwd_* secret *_secret secret_* *credentials* token *_token token_hash
    *api_key* *apikey* *private_key* *access_key* ssn *_ssn *social_security* *credit_card* *creditcard* *card_number*
    cvv cvc *_cvv pin *_pin pin_code iban *_iban *passport_n* *tax_id*""".split()
)
"""Column names that are always secret, as patterns over words joined by underscores."""

_SECRET_NAME = re.compile("|".join(map(translate, SECRET_NAMES)))
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_SEPARATORS = re.compile(r"[\W_]+")


def is_secret(table: Table, column: str, patterns: Collection[str] = ()) -> bool:
    """Return whether `column` matches `SECRET_NAMES` or one of `patterns`, ignoring case.

    A pattern with a dot, such as "customers.email" or "*.salary", is matched against the column with its table's name
    and with its table's key; a pattern without a dot against the column alone.
    """
    words = _SEPARATORS.sub("_", column if column.islower() else _CAMEL.sub("_", column)).lower()
    if _SECRET_NAME.match(words):
        return True
    if not patterns:
        return False
    full = {f"{name}.{column}".lower() for name in (table.name, table.key)}
    return any(
        fnmatchcase(name, pattern.lower())
        for pattern in patterns
        for name in (full if "." in pattern else (column.lower(),))
    )


def unmatched_patterns(patterns: Iterable[str], catalog: Catalog) -> list[str]:
    """Return the patterns without a wildcard that match no column of `catalog`; they are probably misspelt."""
    names = set()
    for key, columns in catalog.selection().items():
        for column in columns:
            names |= {name.lower() for name in (column, f"{key}.{column}", f"{catalog.full_names[key].name}.{column}")}
    return [pattern for pattern in patterns if "*" not in pattern and pattern.lower() not in names]


def mark_secrets(
    tables: Mapping[str, Table], patterns: Sequence[str], definitions: Mapping[str, str | None]
) -> dict[str, Table]:
    """Return `tables` with `secret` set on all secret columns.

    A column is also secret if its foreign key refers to a secret column. All columns of a view are secret if it reads a
    table with secret columns and its definition names one of them or selects all columns, or is not readable.
    `definitions` contains the text of each view by its key.
    """
    result = {key: _mark_matches(table, patterns) for key, table in tables.items()}
    while references := _mark_references(result):
        result |= references
    views = {key: definitions.get(key) for key, table in tables.items() if table.is_view}
    changed = True
    while changed:
        secret_tables = [table for table in result.values() if any(column.secret for column in table.columns)]
        exposing_views = [key for key, text in views.items() if any(_exposes(text, table) for table in secret_tables)]
        changed = bool(exposing_views)
        for key in exposing_views:
            columns = tuple(column._replace(secret=True) for column in result[key].columns)
            result[key] = replace(result[key], columns=columns)
            del views[key]
    return result


def _mark_matches(table: Table, patterns: Sequence[str]) -> Table:
    secret_columns = {column.name for column in table.columns if is_secret(table, column.name, patterns)}
    if not secret_columns:
        return table
    columns = tuple(column._replace(secret=column.name in secret_columns) for column in table.columns)
    return replace(table, columns=columns)


def _mark_references(tables: Mapping[str, Table]) -> dict[str, Table]:
    """Return the tables with unmarked columns that refer to a secret column, with these columns marked."""
    secret_columns = {(key, column.name) for key, table in tables.items() for column in table.columns if column.secret}
    references: dict[str, set[str]] = {}
    for key, table in tables.items():
        for foreign_key in table.foreign_keys:
            for column, target in zip(foreign_key.columns, foreign_key.target_columns, strict=False):
                if (foreign_key.target, target) in secret_columns and (key, column) not in secret_columns:
                    references.setdefault(key, set()).add(column)
    return {
        key: replace(
            tables[key], columns=tuple(c._replace(secret=c.secret or c.name in names) for c in tables[key].columns)
        )
        for key, names in references.items()
    }


def _exposes(definition: str | None, table: Table) -> bool:
    if definition is None:
        return True
    text = definition.lower()
    if table.name.lower() not in text:
        return False
    return "*" in text or any(column.secret and column.name.lower() in text for column in table.columns)
