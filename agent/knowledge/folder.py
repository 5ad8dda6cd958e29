"""Folders of knowledge files: reading, and reading again after a change."""

import hashlib
import os
import re
import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from datasphinx.agent.errors import DriverMissing
from datasphinx.agent.knowledge.entries import (
    MAX_INSTRUCTIONS_CHARS,
    CalendarEntry,
    ChoiceEntry,
    ColumnEntry,
    ForbiddenJoinEntry,
    InstructionEntry,
    JoinEntry,
    KnowledgeFile,
    MetricEntry,
    Origin,
    TableEntry,
    TermEntry,
    VerifiedEntry,
)
from datasphinx.agent.knowledge.knowledge import NO_KNOWLEDGE, Item, Kind, Knowledge, Place, Problem
from datasphinx.agent.knowledge.yaml_text import KeyPath, LocatedValue, YamlError, read_yaml
from datasphinx.agent.schema.spelling import nearest

_MAX_FILE_BYTES = 20_000_000
_CUTOFF = 70
_SPACES = re.compile(r"\s+")
_RANKS: tuple[Origin, ...] = ("hand-written", "imported", "proposal")
"""Origins by precedence: of two entries with the same name, the one with the earlier origin is used."""

NAMED: Mapping[str, tuple[Kind, type[BaseModel]]] = {
    "tables": ("table", TableEntry),
    "terms": ("term", TermEntry),
    "metrics": ("metric", MetricEntry),
    "choices": ("choice", ChoiceEntry),
}
"""The parts of a file that are mappings from names to entries."""
LISTED: Mapping[str, tuple[Kind, type[BaseModel]]] = {
    "joins": ("join", JoinEntry),
    "forbidden_joins": ("forbidden_join", ForbiddenJoinEntry),
    "instructions": ("instruction", InstructionEntry),
    "verified": ("verified", VerifiedEntry),
}
"""The parts that are lists of entries."""
_FROM_TEXT: Mapping[type[BaseModel], str] = {InstructionEntry: "text", ChoiceEntry: "means"}
"""Entries that may be written as the text of this field."""


def read_folder(folder: Path, label: str) -> Knowledge:
    """Return the entries of all files `*.yml` and `*.yaml` below `folder`; `label` precedes file names in places.

    Files and entries with mistakes are left out and reported as problems of the value.
    """
    reader = _Reader()
    digest = hashlib.sha256()
    if not folder.is_dir():
        reader.report(Place(label, 1), "the folder does not exist")
    for path in sorted(Path(path) for path in _paths(folder) if Path(path).is_file()):
        name = f"{label}/{path.relative_to(folder).as_posix()}"
        try:
            if path.stat().st_size > _MAX_FILE_BYTES:
                reader.report(Place(name, 1), f"the file is larger than {_MAX_FILE_BYTES} bytes")
                continue
            content = path.read_bytes()
            text = content.decode("utf-8-sig")
        except (OSError, UnicodeError) as error:
            reader.report(Place(name, 1), f"the file cannot be read: {type(error).__name__}")
            continue
        digest.update(repr((name, len(content))).encode() + content)
        try:
            located = read_yaml(text)
        except YamlError as error:
            reader.report(Place(name, error.line), f"the file is not valid YAML: {error}")
            continue
        reader.read_file(name, located)
    return Knowledge(tuple(reader.items), tuple(reader.problems), digest.hexdigest())


def read_text(text: str, name: str) -> Knowledge:
    """Return the entries of the text of one file, called `name` in places. Raise YamlError if the text is not YAML."""
    reader = _Reader()
    reader.read_file(name, read_yaml(text))
    return Knowledge(tuple(reader.items), tuple(reader.problems))


def folder_label(folder: Path) -> str:
    """Return the name of a folder in places: as given, without its parents if it is absolute."""
    return folder.name if folder.is_absolute() else folder.as_posix()


_SUFFIXES = {".yml", ".yaml"}


class KnowledgeFolder:
    """A folder whose entries are read again when a file changes. Thread-safe."""

    def __init__(self, folder: Path, label: str | None = None, *, is_optional: bool = False) -> None:
        """Set the folder; `label` precedes file names in places, by default that of `folder_label`.

        One that `is_optional` has no entries where the package `pyyaml` is not installed.
        """
        self._folder, self._is_optional = folder, is_optional
        self.label = label or folder_label(folder)
        self._lock = threading.Lock()
        self._stamp: object = None
        self._knowledge = NO_KNOWLEDGE

    def current(self) -> Knowledge:
        """Return the entries of the files as they are now. The same value is returned until a file changes."""
        stamp = _stamp(self._folder)
        with self._lock:
            if stamp != self._stamp:
                try:
                    self._knowledge = read_folder(self._folder, self.label)
                except DriverMissing:
                    if not self._is_optional:
                        raise
                self._stamp = stamp
            return self._knowledge


def _paths(folder: Path) -> Iterator[str]:
    """Yield the paths of the knowledge files below `folder`, in any order."""
    for directory, _, names in os.walk(folder):
        yield from (os.path.join(directory, name) for name in names if os.path.splitext(name)[1] in _SUFFIXES)


def _stamp(folder: Path) -> object:
    # Every node compares the stamp, so it is computed without `Path`, which is slower.
    stamps = []
    for path in _paths(folder):
        try:
            status = os.stat(path)
        except OSError:
            continue
        stamps.append((path, status.st_mtime_ns, status.st_size, status.st_ino))
    return os.path.isdir(folder), frozenset(stamps)


@dataclass
class _Reader:
    """Collects the entries of several files."""

    items: list[Item] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    _positions: dict[str, int] = field(default_factory=dict)
    """Positions in `items` by key."""
    _instruction_chars: int = 0
    _file: str = ""
    _located: LocatedValue = field(default_factory=lambda: LocatedValue(None, {}))
    """The content of the file that is read."""
    _origin: str = ""
    """The origin of its entries that state none."""

    def _place(self, *path: str | int) -> Place:
        return Place(self._file, self._located.line_of(path))

    def report(self, place: Place, message: str, suggestion: str = "") -> None:
        self.problems.append(Problem(place, message, suggestion))

    def read_file(self, file: str, located: LocatedValue) -> None:
        self._file, self._located = file, located
        for line, message in located.problems:
            self.report(Place(file, line), message)
        content = located.value
        if content is None:
            return
        if not isinstance(content, dict):
            valid = ", ".join(f"`{name}`" for name in _field_names(KnowledgeFile))
            self.report(Place(file, 1), "a knowledge file must be a mapping", f"Valid keys: {valid}.")
            return
        self._origin = content.get("origin", "hand-written")
        if self._origin not in get_args(Origin):
            text = f"`origin` must be one of {', '.join(get_args(Origin))}"
            self.report(self._place("origin"), text, _nearest(str(self._origin), get_args(Origin)))
            return
        for part, value in content.items():
            if part not in KnowledgeFile.model_fields:
                self.report(self._place(part), f"unknown key `{part}`", _nearest(part, KnowledgeFile.model_fields))
            elif part in NAMED and value is not None:
                self._read_named(part, value)
            elif part in LISTED and value is not None:
                self._read_listed(part, value)
            elif part == "calendar" and value is not None:
                self._add("calendar", "calendar", CalendarEntry, value, (part,))

    def _read_named(self, part: str, value: Any) -> None:
        kind, model = NAMED[part]
        if not isinstance(value, dict):
            self.report(self._place(part), f"`{part}` must be a mapping from names to entries")
            return
        for name, body in value.items():
            path: KeyPath = (part, name)
            columns = None
            if part == "tables" and isinstance(body, dict) and "columns" in body:
                columns = body["columns"]
                body = {key: inner for key, inner in body.items() if key != "columns"}
            if body or columns is None:
                self._add(kind, name, model, {} if body is None else body, path)
            if columns is None:
                continue
            if not isinstance(columns, dict):
                self.report(self._place(*path, "columns"), "`columns` must be a mapping from names to entries")
                continue
            for column, column_body in columns.items():
                self._add("column", f"{name}.{column}", ColumnEntry, column_body or {}, (*path, "columns", column))

    def _read_listed(self, part: str, value: Any) -> None:
        kind, model = LISTED[part]
        if not isinstance(value, list):
            self.report(self._place(part), f"`{part}` must be a list of entries")
            return
        for number, body in enumerate(value):
            self._add(kind, _name_of(kind, body), model, body, (part, number))

    def _add(self, kind: Kind, name: str, model: type[BaseModel], body: Any, path: KeyPath) -> None:
        if isinstance(body, dict) and "origin" not in body:
            body = {**body, "origin": self._origin}
        elif isinstance(body, str) and model in _FROM_TEXT:
            body = {_FROM_TEXT[model]: body, "origin": self._origin}
        try:
            entry = model.model_validate(body)
        except ValidationError as error:
            for message, suggestion, inner in _explain(error, model):
                self.report(self._place(*path, *inner), f"{kind} `{name}`: {message}", suggestion)
            return
        place = self._place(*path)
        if isinstance(entry, InstructionEntry):
            self._instruction_chars += len(entry.text)
            if self._instruction_chars > MAX_INSTRUCTIONS_CHARS:
                self.report(place, f"the instructions together exceed {MAX_INSTRUCTIONS_CHARS} characters")
                return
        self._keep(Item(kind, name, entry, place))  # type: ignore[arg-type]

    def _keep(self, item: Item) -> None:
        """Add an item, or let it take the place of the one with its name, or report that there is one."""
        position = self._positions.setdefault(item.key, len(self.items))
        if position == len(self.items) or item.kind == "instruction":
            self.items.append(item)
            return
        first = self.items[position]
        if with_labels := _with_labels(first, item) or _with_labels(item, first):
            self.items[position] = with_labels
            return
        ranks = [_RANKS.index(each.entry.origin) for each in (first, item)]
        if ranks[0] == ranks[1]:
            message = f"{item.kind} `{item.name}` is already defined at {first.place}"
            self.report(item.place, message, "Rename or remove one of them.")
        elif ranks[1] < ranks[0]:
            self.items[position] = item


def _with_labels(item: Item, other: Item) -> Item | None:
    """Return `item` with the labels of `other` if both are used columns and `other` has only labels, of other codes."""
    entry, more = item.entry, other.entry
    if not (isinstance(entry, ColumnEntry) and isinstance(more, ColumnEntry) and item.is_used and other.is_used):
        return None
    if more.model_dump(exclude_defaults=True).keys() != {"labels"} or not entry.labels.keys().isdisjoint(more.labels):
        return None
    return replace(item, entry=entry.model_copy(update={"labels": {**entry.labels, **more.labels}}))


def _name_of(kind: Kind, body: Any) -> str:
    """Return the name of an entry that states none, from its contents."""
    if kind == "instruction" or not isinstance(body, dict):
        return _short(body.get("text", "") if isinstance(body, dict) else str(body))
    if kind == "verified":
        return _short(str(body.get("question", "")))
    ends = (body.get("from"), body.get("to"))
    return " = ".join(", ".join(map(str, end if isinstance(end, list) else [end])) for end in ends)


def _short(text: object) -> str:
    return _SPACES.sub(" ", str(text)).strip()[:200]


def _explain(error: ValidationError, model: type[BaseModel]) -> Iterator[tuple[str, str, KeyPath]]:
    """Yield the text, the suggestion and the path of each mistake of an entry."""
    for detail in error.errors(include_url=False, include_input=False):
        path = tuple(part for part in detail["loc"] if part != "function-after")
        name = ".".join(map(str, path))
        if detail["type"] == "extra_forbidden":
            yield f"unknown key `{name}`", _nearest(name, _field_names(model)), path
        elif detail["type"] == "missing":
            yield f"`{name}` is missing", "", path
        elif detail["type"] == "value_error":
            yield str(detail["ctx"]["error"]), "", path
        else:
            message = detail["msg"][0].lower() + detail["msg"][1:]
            yield f"`{name}`: {message}" if name else message, "", path


def _field_names(model: type[BaseModel]) -> list[str]:
    return [field.alias or name for name, field in model.model_fields.items()]


def _nearest(name: str, names: Iterable[str]) -> str:
    names = list(names)
    found = nearest(name, names, _CUTOFF)
    return f"Did you mean `{found[0]}`?" if found else f"Valid: {', '.join(f'`{each}`' for each in names)}."
