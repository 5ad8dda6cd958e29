"""Secret columns: their values are never sampled, and are masked in results shown to models."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase, translate
from functools import lru_cache
from types import MappingProxyType

from datasphinx.agent.schema.catalog import Catalog, Table

SECRET_NAMES = tuple(
    """*password* *passwd* *passphrase* pwd *_pwd pwd_* secret *_secret secret_* *credentials* token *_token token_hash
    *api_key* *apikey* *private_key* *access_key* ssn *_ssn *social_security* *credit_card* *creditcard* *card_number*
    cvv cvc *_cvv pin *_pin pin_code iban *_iban *passport_n* *tax_id*""".split()
)
"""Column names that are always secret, as patterns over words joined by underscores."""

_SECRET_NAME = re.compile("|".join(map(translate, SECRET_NAMES)))
_LETTERS = tuple(dict.fromkeys(re.sub(r"[*_]", "", name) for name in SECRET_NAMES))
"""The letters of `SECRET_NAMES`."""
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
    tables: Mapping[str, Table],
    patterns: Sequence[str],
    definitions: Mapping[str, str | None],
    expressions: Mapping[str, Mapping[str, str]] = MappingProxyType({}),
    dialect: str = "",
) -> dict[str, Table]:
    """Return `tables` with `secret` set on all secret columns.

    A column is also secret if it may show values of one: its foreign key refers to a secret column, it has the name of
    a secret column in a parent or child of its table, or its expression names one. Columns of tables that share rows
    with unknown tables are secret if any table has a secret column of that name. All columns of a view, and of a table
    with a definition, are secret if the definition is not readable, or names a table with secret columns and one of
    these, all columns or the whole row. `definitions` contains these texts by table, and `expressions` those of
    generated columns and defaults.
    """
    secret = {key: _secret_names(table, patterns) for key, table in tables.items()}
    unknown = [key for key, table in tables.items() if table.shares_rows and key not in definitions]
    described = {key: definitions.get(key) for key, table in tables.items() if table.is_view or key in definitions}
    count = -1
    while count != (count := sum(map(len, secret.values()))):
        for key, table in tables.items():
            for reference in table.foreign_keys:
                pairs = zip(reference.columns, reference.target_columns, strict=False)
                secret[key] |= {name for name, target in pairs if target in secret.get(reference.target, ())}
            for parent in table.parents:
                shared = _folded(secret[key] | secret.get(parent, set()))
                for relative in {key, parent} & tables.keys():
                    secret[relative] |= {name for name in tables[relative].column_names if name.lower() in shared}
            secret[key] |= {name for name, text in expressions.get(key, {}).items() if _names_any(text, secret[key])}
        everywhere = _folded(name for names in secret.values() for name in names)
        for key in unknown:
            secret[key] |= {name for name in tables[key].column_names if name.lower() in everywhere}
        for key, text in described.items():
            others = ((tables[other], names) for other, names in secret.items() if names and other != key)
            if any(_exposes(text, other, names, dialect) for other, names in others):
                secret[key] = set(tables[key].column_names)
    marked = {
        key: tuple(
            each._replace(secret=True, examples=()) if each.name in names else each._replace(secret=False)
            for each in tables[key].columns
        )
        for key, names in secret.items()
        if names
    }
    return {key: replace(table, columns=marked[key]) if key in marked else table for key, table in tables.items()}


def _secret_names(table: Table, patterns: Sequence[str]) -> set[str]:
    """Return the columns for which `is_secret` is true."""
    # Most tables have none, which the letters of all names tell much faster.
    text = "".join(table.column_names).replace("_", "")
    letters = (text if text.isalnum() else _SEPARATORS.sub("", text)).lower()
    if not patterns and not any(each in letters for each in _LETTERS):
        return set()
    return {name for name in table.column_names if is_secret(table, name, patterns)}


def _folded(names: Iterable[str]) -> set[str]:
    return {name.lower() for name in names}


def _names_any(text: str, names: Iterable[str]) -> bool:
    return any(name.lower() in text.lower() for name in names)


def _exposes(definition: str | None, table: Table, secret: Collection[str], dialect: str) -> bool:
    if definition is None:
        return True
    if not _names_any(definition, [table.name]):
        return False
    return "*" in definition or _names_any(definition, secret) or _reads_rows(definition, dialect)


@lru_cache(maxsize=1024)
def _reads_rows(definition: str, dialect: str) -> bool:
    """Return whether `definition` may use a whole row as a value, such as `to_json(c)`; True if it is no query."""
    from sqlglot import exp, parse_one
    from sqlglot.errors import SqlglotError

    try:
        tree = parse_one(definition, dialect=dialect)
    except (SqlglotError, RecursionError, ValueError):
        return True
    if tree.find(exp.Select) is None:
        return True
    sources = _folded(node.alias_or_name for node in tree.find_all(exp.Table, exp.Subquery, exp.CTE, exp.Lateral))
    return any(not column.table and column.name.lower() in sources for column in tree.find_all(exp.Column)) or any(
        tree.find_all(exp.TableColumn)
    )
