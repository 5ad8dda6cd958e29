"""Search for the stored values that a phrase refers to, with spelling variants and abbreviations."""

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeVar

from cachetools import LRUCache
from rapidfuzz.distance import OSA

from datasphinx.agent.core.replaced_file import replaced_file
from datasphinx.agent.retrieval import value_store as store
from datasphinx.agent.retrieval.abbreviations import acronym, other_names
from datasphinx.agent.retrieval.value_store import MAX_VALUE_LENGTH, ColumnValues
from datasphinx.agent.schema.words import normal_form

T = TypeVar("T")
Kind = Literal["exact", "normalised", "abbreviation", "fuzzy", "label"]
"""How a value matches; by a label, the text is a name of the stored code in the business knowledge."""

_CANDIDATES = 2000
_MAX_LOOKED_UP = 5000
"""Texts whose matches are kept: the prompts of a question look up the same phrases."""
_SMALL_COLUMN = 5000
_MIN_SIMILARITY = 0.6
_NORMALISED, _ABBREVIATION, _FUZZY = 0.98, 0.9, 0.88


@dataclass(frozen=True, slots=True)
class ValueMatch:
    """A stored value that matches a text. `score` is from 0 to 1; 1 for identical text."""

    table: str
    column: str
    value: str
    score: float
    kind: Kind


class ValueIndex:
    """Index over the values of text columns, on disk or in memory. Thread-safe."""

    def __init__(self, connection: store.Connection, path: Path | None = None) -> None:
        """Use a connection opened by `value_store`, and the path of its file."""
        self._connection, self._path = connection, path
        self._lock = threading.Lock()
        self._looked_up: LRUCache[str, tuple[ValueMatch, ...]] = LRUCache(maxsize=_MAX_LOOKED_UP)
        self._folds_case = store.read_fact(connection, "folds_case") == "1"

    @property
    def lacks_columns(self) -> bool:
        """Whether columns could not be read when the index was built, for example because a statement timed out."""
        return self._read(lambda: store.read_fact(self._connection, "unread") not in (None, "0")) is not False

    @property
    def is_stored(self) -> bool:
        """Whether the index is in a file."""
        return self._path is not None

    @classmethod
    def build(
        cls,
        columns: Iterable[ColumnValues],
        path: Path | None = None,
        *,
        folds_case: bool = False,
        stop: Callable[[], bool] = lambda: False,
    ) -> "ValueIndex":
        """Return an index of `columns`, written atomically to the file at `path`, or in memory.

        `folds_case` is True if the database compares text without regard to case. If the file cannot be written, or
        `stop` returns True before all columns are read, the index is built in memory.
        """
        if path is not None:
            with suppress(OSError, store.StoreError):
                return cls._write(columns, path, folds_case, stop)
        return cls(store.build(None, columns, folds_case=folds_case, stop=stop))

    @classmethod
    def of(cls, values: Mapping[tuple[str, str], Iterable[str]]) -> "ValueIndex":
        """Return an in-memory index of complete columns, by (table, column)."""
        return cls.build(ColumnValues(*place, tuple(dict.fromkeys(texts)), True) for place, texts in values.items())

    @classmethod
    def load(cls, path: Path) -> "ValueIndex | None":
        """Return the index in the file at `path`; if it cannot be read, delete the file and return None."""
        connection = store.open_file(path)
        if connection is None:
            with suppress(OSError):
                path.unlink(missing_ok=True)
            return None
        return cls(connection, path)

    @classmethod
    def _write(
        cls, columns: Iterable[ColumnValues], path: Path, folds_case: bool, stop: Callable[[], bool]
    ) -> "ValueIndex":
        with replaced_file(path) as new:
            store.build(new, columns, folds_case=folds_case, stop=stop).close()
            if stop():
                raise InterruptedError("columns are missing, and nothing would add them to the file")
        connection = store.open_file(path)
        if connection is None:
            raise OSError("the file was replaced by another process")
        return cls(connection, path)

    def find(self, text: str, limit: int = 10) -> list[ValueMatch]:
        """Return up to `limit` stored values that `text`, a word or phrase, may refer to, best first.

        Case, accents and punctuation are ignored. Also matches other names of countries, states, currencies, languages,
        months and weekdays, initials, up to two typing errors, and values that contain all the words.
        """
        form = normal_form(text[:MAX_VALUE_LENGTH])
        if not form:
            return []
        matches = self._read(lambda: list(self._search(text, form, limit))) or []
        best: dict[tuple[str, str, str], ValueMatch] = {}
        for match in sorted(matches, key=_sort_key):
            best.setdefault((match.table, match.column, match.value), match)
        return list(best.values())[:limit]

    def lookup(self, texts: Iterable[str]) -> dict[str, list[ValueMatch]]:
        """Return the stored values that each of `texts` names in full, best first; texts without match are left out.

        Case, accents and punctuation are ignored, and other names match as in `find`. Typing errors, initials and
        partial matches are not considered, so all texts need only one query.
        """
        with self._lock:
            found = {text: self._looked_up.get(text) for text in texts}
        new = self._lookup([text for text, matches in found.items() if matches is None])
        return {text: list(matches) for text, matches in (found | new).items() if matches}

    def _lookup(self, texts: Sequence[str]) -> dict[str, tuple[ValueMatch, ...]]:
        """Return the matches of each of `texts`, and keep them; none if the index is damaged."""
        queries: dict[str, list[tuple[str, bool]]] = {}
        for text in texts:
            form = normal_form(text[:MAX_VALUE_LENGTH])
            for name in [form] if form else []:
                queries.setdefault(name, []).append((text, True))
            for name in other_names(text):
                queries.setdefault(name, []).append((text, False))
        forms = list(queries)
        rows = self._read(lambda: store.rows_by_form(self._connection, forms, _CANDIDATES))
        if rows is None:
            return {}
        matches: dict[str, list[ValueMatch]] = {text: [] for text in texts}
        for form, table, column, value in rows:
            for text, is_own_form in queries[form]:
                score, kind = _score_name(text, value, is_own_form)
                matches[text].append(ValueMatch(table, column, value, score, kind))
        found = {text: tuple(sorted(text_matches, key=_sort_key)) for text, text_matches in matches.items()}
        if len(rows) < _CANDIDATES:
            # With more rows, what is found for a text depends on the others.
            with self._lock:
                self._looked_up.update(found)
        return found

    def contains(self, table: str, column: str, literal: str) -> bool | None:
        """Return whether the column contains `literal`; None if the column is not completely indexed."""

        def read() -> tuple[bool, list[store.Row]] | None:
            entry = store.column_id(self._connection, table, column)
            return entry and (entry[1], store.rows_by_form(self._connection, [normal_form(literal)], _CANDIDATES))

        found = self._read(read)
        if found is None:
            return None
        is_complete, rows = found
        values = (value for _, *column_key, value in rows if column_key == [table, column])
        if any(value.casefold() == literal.casefold() if self._folds_case else value == literal for value in values):
            return True
        return False if is_complete and len(literal) <= MAX_VALUE_LENGTH and len(rows) < _CANDIDATES else None

    def is_complete(self, table: str, column: str) -> bool:
        """Return whether the index has all values of the column."""
        entry = self._read(lambda: store.column_id(self._connection, table, column))
        return entry is not None and entry[1]

    def nearest(self, table: str, column: str, literal: str, limit: int = 3) -> list[str]:
        """Return up to `limit` values of the column that `literal` may refer to, best first."""
        matches = self.find(literal, _CANDIDATES)
        values = [match.value for match in matches if (match.table, match.column) == (table, column)]
        if len(values) < limit:
            values += self._similar_in_column(table, column, normal_form(literal))
        return list(dict.fromkeys(values))[:limit]

    def spellings(self, table: str, column: str, literal: str) -> list[str]:
        """Return the values of the column, other than `literal`, that differ from it in case, blanks and accents."""
        matches = self.lookup([literal]).get(literal, ())
        values = [match.value for match in matches if (match.table, match.column) == (table, column)]
        return [value for value in values if value != literal and is_spelling(value, literal)]

    def close(self) -> None:
        """Close the file or free the memory."""
        with self._lock:
            self._connection.close()

    def _search(self, text: str, form: str, limit: int) -> Iterator[ValueMatch]:
        connection = self._connection
        exact_rows = store.rows_by_form(connection, [form], limit)
        for _, table, column, value in exact_rows:
            yield ValueMatch(table, column, value, *_score_name(text, value, True))
        names = list(other_names(text))
        rows = store.rows_by_form(connection, names, limit)
        initials = [*store.forms_with_initials(connection, form, limit)] if " " not in form and len(form) >= 3 else []
        initialism = acronym(form)
        rows += store.rows_by_form(connection, initials, limit, "id")
        rows += store.rows_by_form(connection, [initialism], limit) if initialism else []
        yield from (ValueMatch(*row[1:], _ABBREVIATION, "abbreviation") for row in rows)
        if len(exact_rows) < limit:
            yield from self._similar(form, limit)

    def _similar(self, form: str, limit: int) -> Iterator[ValueMatch]:
        max_edits = store.max_edits(len(form))
        scores: dict[int, float] = {}
        for number, other in store.forms_with_words(self._connection, form, limit * 5):
            scores[number] = _similarity(form, other)
        for number, other in store.similar_forms(self._connection, form, _CANDIDATES) if max_edits else ():
            if OSA.distance(form, other, score_cutoff=max_edits) <= max_edits:
                scores[number] = _similarity(form, other)
        best = sorted(scores, key=lambda number: -scores[number])[:limit]
        similarity = {}
        for row in store.rows_by_form(self._connection, best, limit * 2, "id"):
            similarity[row] = _similarity(form, row[0])
        yield from (
            ValueMatch(*row[1:], round(_FUZZY * share, 4), "fuzzy")
            for row, share in similarity.items()
            if row[0] != form
        )

    def _similar_in_column(self, table: str, column: str, form: str) -> list[str]:
        def read() -> list[tuple[str, str]]:
            entry = store.column_id(self._connection, table, column)
            return store.column_rows(self._connection, entry[0], _SMALL_COLUMN) if entry else []

        similarity = {value: OSA.normalized_similarity(form, other) for other, value in self._read(read) or ()}
        candidates = [value for value in similarity if similarity[value] >= _MIN_SIMILARITY]
        return sorted(candidates, key=lambda value: (-similarity[value], value))

    def _read(self, read: Callable[[], T]) -> T | None:
        """Return what `read` does; None if the file is damaged, which is deleted: the next source builds it again."""
        with self._lock:
            try:
                return read()
            except store.StoreError:
                if self._path:
                    with suppress(OSError):
                        self._path.unlink(missing_ok=True)
                return None


def _similarity(form: str, other: str) -> float:
    """Return the share of letters that need no edit, from 0 to 1, with the words in any order."""
    in_order = (" ".join(sorted(text.split())) for text in (form, other))
    return max(OSA.normalized_similarity(form, other), OSA.normalized_similarity(*in_order))


def _score_name(text: str, value: str, is_own_form: bool) -> tuple[float, Kind]:
    """Return score and kind of a value that has the form of `text` or, if not `is_own`, of another name of it."""
    if not is_own_form:
        return _ABBREVIATION, "abbreviation"
    return (1.0, "exact") if value == text else (_NORMALISED, "normalised")


def _sort_key(match: ValueMatch) -> tuple[float, str, str, str]:
    return -match.score, match.table, match.column, match.value


def is_spelling(value: str, text: str) -> bool:
    """Return whether `value` differs from `text` in case, blanks and accents at most."""
    return list(map(normal_form, value.split())) == list(map(normal_form, text.split()))
