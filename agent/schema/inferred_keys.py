"""Foreign keys inferred from names, types, primary keys and comments, for databases that do not declare them."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from datasphinx.agent.schema.catalog import Column, ForeignKey, Table

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_WORD = re.compile(r"[^\W_]+")
_NAME = re.compile(r"\w+")
_KEY_WORDS = {"id", "code", "key", "no", "nr", "number", "uuid", "guid", "pk", "ref"}
_KEY_ENDINGS = {(word,) for word in _KEY_WORDS}
_GENERIC = _KEY_WORDS | {"name", "type", "date", "year", "value", "rank", "status", "title", "description"}
"""Words that do not identify the table that a column refers to."""
_IRREGULAR = {"people": "person", "children": "child", "men": "man", "women": "woman"}

_ANY_KEY = ""
"""The last word of the form of a declared primary key, whatever it is called: `user_id` refers to it."""
_NAMED_AS_KEY = 3

Words = tuple[str, ...]


def infer_foreign_keys(tables: Mapping[str, Table]) -> dict[str, Table]:
    """Return `tables` with inferred foreign keys added, each marked `inferred`.

    A column refers to a table if its name is the table's name with that of its key (`customer_id` for `customers.id`),
    ends with it (`home_team_id` for `teams.id`), or equals the name of the key (`customer_id` for
    `customers.customer_id`), if the type classes are equal and exactly one table matches. A column named for a table
    also refers to its primary key if that has another name (`user_id` for `users.handle`). The target is a primary key
    of one column or, in a table without one, a first column named like a key. A column named like a key whose comment
    names one other table refers to its key. Views, and columns with a declared foreign key, are not changed.

    A key is `likely` if the comment says so, or if the whole name of the column matches, and the target is named like
    the key of its table: `customer_id` for `customers.customer_id`, but not `home_team_id` for `teams.id`. The
    precision is in docs/research/catalog.md.
    """
    targets = [_Target(table, column) for table in tables.values() if (column := _key_column(table))]
    by_form, by_name = defaultdict[Words, list[_Target]](list), defaultdict[str, list[_Target]](list)
    for target in targets:
        by_name[target.table.name.lower()].append(target)
        for form in _forms(target.table, target.column):
            by_form[form].append(target)
    return {key: _add_foreign_keys(table, by_form, by_name) for key, table in tables.items()}


def _add_foreign_keys(
    table: Table, by_form: "Mapping[Words, list[_Target]]", by_name: "Mapping[str, list[_Target]]"
) -> Table:
    if table.is_view:
        return table
    declared_columns = {column for key in table.foreign_keys for column in key.columns}
    inferred_keys = [
        ForeignKey((column.name,), target.table.key, (target.column.name,), inferred=True, likely=is_likely)
        for column in table.columns
        if column.name not in declared_columns and (column.comment or _may_refer(column, by_form))
        for target, is_likely in _named_target(table, column, by_name) or _matching_target(table, column, by_form)
    ]
    return replace(table, foreign_keys=(*table.foreign_keys, *inferred_keys)) if inferred_keys else table


def _may_refer(column: Column, targets: "Mapping[Words, list[_Target]]") -> bool:
    """Return False if the name of `column` is neither that of a target nor ends like a key."""
    words = _words(column.name)
    return words in targets or words[-1:] in _KEY_ENDINGS


class _Target:
    """A column that foreign keys may refer to."""

    __slots__ = ("column", "strength", "table")

    def __init__(self, table: Table, column: Column) -> None:
        self.table, self.column = table, column
        self.strength = _strength(table, column)


def _strength(table: Table, column: Column) -> int:
    """Return how clearly the name of `column` identifies it as the key of `table`, from 0 to `_NAMED_AS_KEY`."""
    table_words, column_words = _words(table.name), _key_words(table, column)
    subject = tuple(word for word in column_words if word not in _KEY_WORDS)
    if not subject or subject == table_words:
        return _NAMED_AS_KEY
    if set(subject) <= set(table_words):
        return 2 if subject[-1] == table_words[-1] else 1
    return 0


def _key_column(table: Table) -> Column | None:
    if table.is_view or not table.columns:
        return None
    if table.primary_key:
        name = table.primary_key[0] if len(table.primary_key) == 1 else None
        return next((column for column in table.columns if column.name == name), None)
    first, first_words = table.columns[0], _key_words(table, table.columns[0])
    is_named_as_key = bool(first_words) and first_words[-1] in _KEY_WORDS
    return first if is_named_as_key and (len(first_words) == 1 or set(first_words) & set(_words(table.name))) else None


def _key_words(table: Table, column: Column) -> Words:
    """Return the words of the name of a key of `table`, which may begin with its initial: `users.uid`."""
    words, subject = _words(column.name), _words(table.name)
    return ("id",) if subject and words == (f"{subject[-1][0]}id",) else words


def _forms(table: Table, column: Column) -> set[Words]:
    table_words, column_words = _words(table.name), _key_words(table, column)
    is_key = bool(column_words) and column_words[-1] in _KEY_WORDS
    is_declared, written = table.primary_key == (column.name,), _words(column.name)
    forms = {column_words} if set(column_words) - _GENERIC and (is_key or _strength(table, column)) else set()
    if is_declared:
        forms |= {(*table_words, _ANY_KEY), *([written] if set(written) - _GENERIC else ())}
    if is_key and len(table_words) > 1 and table_words[-1:] == column_words:
        # The key of `delay_codes` is a delay code.
        forms.add(table_words)
    if is_key:
        forms |= {(*table_words, column_words[-1]), (*table_words, *column_words)}
    # A number named like a table is almost certainly its key; a text need not be.
    return forms | {table_words} if column.type_class == "number" else forms


def _named_target(table: Table, column: Column, targets: Mapping[str, list[_Target]]) -> Sequence[tuple[_Target, bool]]:
    """Return the key of the only other table that the comment of a column names, if the column is named like a key."""
    if not column.comment or not column.name.lower().endswith(tuple(_KEY_WORDS)):
        return ()
    found = [
        target
        for name in {name.lower() for name in _NAME.findall(column.comment)}
        for target in targets.get(name, ())
        if target.table.schema == table.schema and target.table.key != table.key
    ]
    return [(found[0], True)] if len(found) == 1 and found[0].column.type_class == column.type_class else ()


def _other_keys(table: Table, form: Words, targets: Mapping[Words, list[_Target]]) -> list[_Target]:
    """Return the primary keys of other tables that are named by `form`, but for its last word, and have another name.

    A table that has a column of that name is left out, because the column is the one that is meant.
    """
    named = targets.get((*form[:-1], _ANY_KEY), ()) if form[-1] in _KEY_WORDS else ()
    return [
        target
        for target in named
        if target.table.key != table.key
        and not any(_words(other.name) in (form, form[-1:]) for other in target.table.columns)
    ]


def _matching_target(
    table: Table, column: Column, targets: Mapping[Words, list[_Target]]
) -> Iterator[tuple[_Target, bool]]:
    """Yield the only target that matches the name of `column`, if there is exactly one, and whether it is likely."""
    words = _words(column.name)
    if not words:
        return
    min_strength = _strength(table, column) + 1 if table.primary_key == (column.name,) else 0
    for start in range(len(words)):
        form = words[start:]
        if start and (len(form) < 2 or form[-1] not in _KEY_WORDS):
            return
        candidates = [
            target
            for target in targets.get(form) or _other_keys(table, form, targets)
            if target.table.schema == table.schema
            and target.column.type_class == column.type_class
            and (target.table.key, target.column.name) != (table.key, column.name)
        ]
        if not candidates:
            continue
        strongest = max(target.strength for target in candidates)
        best = [target for target in candidates if target.strength == strongest]
        if len(best) > 1:
            best = [target for target in best if set(_words(target.table.name)) <= set(form)]
        if len(best) == 1 and strongest >= min_strength:
            yield best[0], start == 0 and strongest == _NAMED_AS_KEY
        return


@lru_cache(maxsize=100_000)
def _words(name: str) -> Words:
    """Return the words of an identifier in the singular; a trailing `id` is split off (`teamid`)."""
    name = name[:200]
    if name.islower():
        words = _WORD.findall(name)
    else:
        words = [word.lower() for word in _WORD.findall(_CAMEL.sub(" ", name))]
    if words and len(words[-1]) > 4 and words[-1].endswith("id") and len(words) == 1:
        words[-1:] = [words[-1][:-2], "id"]
    return tuple(map(_singular, words))


@lru_cache(maxsize=10_000)
def _singular(word: str) -> str:
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("sses", "xes", "ches", "shes", "uses")):
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return _IRREGULAR.get(word, word)
