"""Finds the stored values that a phrase of a question means, however it spells or shortens them."""

import os
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rapidfuzz.distance import OSA
from rapidfuzz.fuzz import token_sort_ratio

from agent.catalog import value_store as store
from agent.catalog.abbreviations import acronym, other_names
from agent.catalog.normal_form import normal_form
from agent.catalog.sampling import LONGEST_VALUE
from agent.catalog.values import ColumnValues

Kind = Literal["exact", "normalised", "abbreviation", "fuzzy"]

_CANDIDATES = 2000
_SMALL_COLUMN = 5000
_LEAST_LIKENESS = 0.6
_NORMALISED, _ABBREVIATION, _FUZZY = 0.98, 0.9, 0.88


@dataclass(frozen=True, slots=True)
class ValueMatch:
    """A stored value. `score` is from 0 to 1, and 1 for the very text."""

    table: str
    column: str
    value: str
    score: float
    kind: Kind


class ValueIndex:
    """Values of text columns, on disk or in memory. Safe to share between threads."""

    def __init__(self, connection: store.Connection, path: Path | None = None) -> None:
        """Take a connection as `value_store` opens it, and the file behind it."""
        self._connection, self._path = connection, path
        self._lock = threading.Lock()
        self._folds_case = store.fact(connection, "folds_case") == "1"

    @classmethod
    def build(
        cls,
        columns: Iterable[ColumnValues],
        path: Path | None = None,
        *,
        folds_case: bool = False,
        stop: Callable[[], bool] = lambda: False,
    ) -> "ValueIndex":
        """Return an index of `columns`: in the file at `path`, written at once or not at all, or in memory.

        `folds_case` says that the database itself does not tell upper from lower case. Where the file cannot be
        written, the index is in memory.
        """
        if path is not None:
            with suppress(OSError, store.Broken):
                return cls._write(columns, path, folds_case, stop)
        return cls(store.build(None, columns, folds_case=folds_case, stop=stop))

    @classmethod
    def of(cls, values: Mapping[tuple[str, str], Iterable[str]]) -> "ValueIndex":
        """Return an index in memory of complete columns, given by (table, column)."""
        return cls.build(ColumnValues(*place, tuple(dict.fromkeys(each)), True) for place, each in values.items())

    @classmethod
    def load(cls, path: Path) -> "ValueIndex | None":
        """Return the index in the file at `path`; None, and no file, where it cannot be read."""
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
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle, name = tempfile.mkstemp(dir=path.parent, suffix=".part")
        os.close(handle)
        try:
            store.build(Path(name), columns, folds_case=folds_case, stop=stop).close()
            os.replace(name, path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
        opened = store.open_file(path)
        if opened is None:
            raise OSError("the file was replaced meanwhile")
        return cls(opened, path)

    def find(self, text: str, limit: int = 10) -> list[ValueMatch]:
        """Return up to `limit` stored values that `text`, a word or phrase, may mean, the likeliest first.

        Case, accents and punctuation do not count. Other names of countries, states, currencies, languages, months and
        weekdays are tried, initials, up to two errors of typing, and texts that contain all the words.
        """
        form = normal_form(text[:LONGEST_VALUE])
        if not form:
            return []
        with self._lock:
            try:
                found = list(self._search(text, form, limit))
            except store.Broken:
                self._discard()
                return []
        best: dict[tuple[str, str, str], ValueMatch] = {}
        for match in sorted(found, key=_by_likeness):
            best.setdefault((match.table, match.column, match.value), match)
        return list(best.values())[:limit]

    def named(self, texts: Iterable[str]) -> dict[str, list[ValueMatch]]:
        """Return, for each of `texts` that has any, the stored values that it names in full, the likeliest first.

        Case, accents and punctuation do not count, and other names are tried as in `find`; errors of typing, initials
        and parts are not, so that all texts together take one reading of the index.
        """
        wanted: dict[str, list[tuple[str, bool]]] = {}
        for text in dict.fromkeys(texts):
            form = normal_form(text[:LONGEST_VALUE])
            for name in [form] if form else []:
                wanted.setdefault(name, []).append((text, True))
            for name in other_names(text):
                wanted.setdefault(name, []).append((text, False))
        with self._lock:
            try:
                rows = store.with_forms(self._connection, list(wanted), _CANDIDATES) if wanted else []
            except store.Broken:
                self._discard()
                return {}
        found: dict[str, list[ValueMatch]] = {}
        for form, table, column, value in rows:
            for text, is_own in wanted[form]:
                score, kind = _likeness_of_name(text, value, is_own)
                found.setdefault(text, []).append(ValueMatch(table, column, value, score, kind))
        return {text: sorted(each, key=_by_likeness) for text, each in found.items()}

    def contains(self, table: str, column: str, literal: str) -> bool | None:
        """Return whether the column holds `literal`; None where the column is not completely indexed."""
        with self._lock:
            try:
                place = store.place_of(self._connection, table, column)
                if place is None:
                    return None
                rows = store.with_forms(self._connection, [normal_form(literal)], _CANDIDATES)
            except store.Broken:
                self._discard()
                return None
        if any((row[1], row[2]) == (table, column) and self._same(row[3], literal) for row in rows):
            return True
        return False if place[1] and len(literal) <= LONGEST_VALUE and len(rows) < _CANDIDATES else None

    def nearest(self, table: str, column: str, literal: str, limit: int = 3) -> list[str]:
        """Return up to `limit` values of the column that `literal` may stand for, the likeliest first."""
        matches = self.find(literal, _CANDIDATES)
        own = [match.value for match in matches if (match.table, match.column) == (table, column)]
        if len(own) < limit:
            own += self._alike_in(table, column, normal_form(literal))
        return list(dict.fromkeys(own))[:limit]

    def close(self) -> None:
        """Let go of the file, or of the memory."""
        with self._lock:
            self._connection.close()

    def _search(self, text: str, form: str, limit: int) -> Iterator[ValueMatch]:
        connection = self._connection
        same = store.with_forms(connection, [form], limit)
        for _, table, column, value in same:
            yield ValueMatch(table, column, value, *_likeness_of_name(text, value, True))
        others = list(other_names(text))
        rows = store.with_forms(connection, others, limit) if others else []
        initials = [*store.with_initials(connection, form, limit)] if " " not in form and len(form) >= 3 else []
        short = acronym(form)
        rows += store.of_forms(connection, initials, limit) if initials else []
        rows += store.with_forms(connection, [short], limit) if short else []
        yield from (ValueMatch(*row[1:], _ABBREVIATION, "abbreviation") for row in rows)
        if len(same) < limit:
            yield from self._alike(form, limit)

    def _alike(self, form: str, limit: int) -> Iterator[ValueMatch]:
        allowed = store.edits(len(form))
        scores: dict[int, float] = {}
        for number, other in store.with_words(self._connection, form, limit * 5):
            scores[number] = token_sort_ratio(form, other) / 100
        for number, other in store.like(self._connection, form, _CANDIDATES) if allowed else ():
            if OSA.distance(form, other, score_cutoff=allowed) <= allowed:
                scores[number] = max(scores.get(number, 0.0), OSA.normalized_similarity(form, other))
        best = sorted(scores, key=lambda number: -scores[number])[:limit]
        likeness = {}
        for row in store.of_forms(self._connection, best, limit * 2) if best else ():
            likeness[row] = max(OSA.normalized_similarity(form, row[0]), token_sort_ratio(form, row[0]) / 100)
        yield from (
            ValueMatch(*row[1:], round(_FUZZY * share, 4), "fuzzy") for row, share in likeness.items() if row[0] != form
        )

    def _alike_in(self, table: str, column: str, form: str) -> list[str]:
        with self._lock:
            try:
                place = store.place_of(self._connection, table, column)
                rows = store.in_place(self._connection, place[0], _SMALL_COLUMN) if place else []
            except store.Broken:
                self._discard()
                return []
        likeness = {value: OSA.normalized_similarity(form, other) for other, value in rows}
        close = [value for value in likeness if likeness[value] >= _LEAST_LIKENESS]
        return sorted(close, key=lambda value: (-likeness[value], value))

    def _same(self, value: str, literal: str) -> bool:
        return value.casefold() == literal.casefold() if self._folds_case else value == literal

    def _discard(self) -> None:
        """A broken file is removed, so that the next source builds it again."""
        if self._path:
            with suppress(OSError):
                self._path.unlink(missing_ok=True)


def _likeness_of_name(text: str, value: str, is_own: bool) -> tuple[float, Kind]:
    """Return score and kind of a value that has the form of `text`, or with `is_own` off that of another name of it."""
    if not is_own:
        return _ABBREVIATION, "abbreviation"
    return (1.0, "exact") if value == text else (_NORMALISED, "normalised")


def _by_likeness(match: ValueMatch) -> tuple[float, str, str, str]:
    return -match.score, match.table, match.column, match.value
