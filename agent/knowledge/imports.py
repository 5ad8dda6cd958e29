"""Imports from other systems: one generated file each, with checked entries and a report.

An imported entry with the kind and name of a hand-written one is left out of the file.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from datasphinx.agent.knowledge.check import Run, problems_in_data
from datasphinx.agent.knowledge.entries import SCHEMA_URL, JoinEntry
from datasphinx.agent.knowledge.folder import LISTED, NAMED, read_text
from datasphinx.agent.knowledge.knowledge import Item, Kind, Knowledge
from datasphinx.agent.knowledge.references import Unresolved
from datasphinx.agent.knowledge.source_knowledge import SourceKnowledge
from datasphinx.agent.knowledge.yaml_text import dump_yaml
from datasphinx.agent.schema.catalog import Catalog
from datasphinx.agent.schema.describe import one_line
from datasphinx.agent.sql.validation import ValueLookup

_NAME = re.compile(r"\W+")
_PARTS: Mapping[Kind, str] = {
    **{kind: part for part, (kind, _) in {**NAMED, **LISTED}.items()},
    "column": "tables",
    "calendar": "calendar",
}


class LeftOut(NamedTuple):
    """Something that an import or export leaves out, and why."""

    subject: str
    reason: str

    def __str__(self) -> str:
        return f"{self.subject}: {self.reason}"


@dataclass(frozen=True)
class ImportedEntry:
    """An entry in the form of the knowledge files. The name of a column is `table.column`; lists need no name."""

    kind: Kind
    name: str
    body: Mapping[str, Any]
    subject: str
    """The name of the entry in the other system."""

    @property
    def content(self) -> dict[str, Any]:
        """The fields with the place from which the entry was imported; its origin is that of the file.

        Only a verified query is a proposal, because nobody has verified it for this source.
        """
        body = {name: value for name, value in self.body.items() if name != "origin"}
        origin = {"origin": "proposal"} if self.kind == "verified" else {}
        return {**body, **origin, "imported_from": self.subject}


@dataclass
class Imported:
    """The entries of another system, and what cannot be imported from it."""

    system: str
    """Short name of the system, such as `dbt`."""
    name: str
    """Name of the project or file."""
    entries: list[ImportedEntry] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)

    @property
    def file(self) -> str:
        """The name of the file in the knowledge folder."""
        return f"imported_{self.system}_{_NAME.sub('_', self.name).strip('_').lower() or 'unnamed'}.yml"

    def add(self, kind: Kind, name: str, body: Mapping[str, Any], subject: str) -> None:
        """Add an entry with the fields of `body` that have a value."""
        content = {key: value for key, value in body.items() if value not in (None, "", [], {})}
        self.entries.append(ImportedEntry(kind, name, content, subject))

    def leave_out(self, subject: str, reason: str) -> None:
        """Report something that is left out."""
        self.left_out.append(LeftOut(subject, reason))

    @contextmanager
    def left_out_if_unresolved(self, subject: str) -> Iterator[None]:
        """End the block at the first `Unresolved`, and report `subject` as left out for this reason."""
        try:
            yield
        except Unresolved as error:
            self.leave_out(subject, str(error))


@dataclass(frozen=True)
class ImportReport:
    """The result of an import, with the ids of entries, such as `metric:revenue`."""

    file: str
    imported: tuple[str, ...]
    hand_written: tuple[str, ...]
    """Entries that were not imported because the folder has a hand-written one."""
    left_out: tuple[LeftOut, ...]
    """What cannot be imported, and entries that failed a check."""
    warnings: tuple[LeftOut, ...]

    def as_json(self) -> dict[str, Any]:
        """Return the report as a JSON object."""
        return {
            "file": self.file,
            "imported": list(self.imported),
            "hand_written": list(self.hand_written),
            "left_out": [each._asdict() for each in self.left_out],
            "warnings": [each._asdict() for each in self.warnings],
        }


def import_entries(
    imported: Imported,
    folder: Path,
    knowledge: Knowledge,
    catalog: Catalog,
    run: Run,
    values: Callable[[], ValueLookup],
) -> ImportReport:
    """Write the entries that pass all checks into their file in `folder`, and return a report.

    `knowledge` are the present entries of the folder, and `catalog` is that of the source without knowledge. `run`
    executes a statement, and `values` returns the index of stored values, as for `datasphinx knowledge check`.
    """
    path = folder / imported.file
    others = [item for item in knowledge.items if Path(item.place.file).name != imported.file]
    left_out, warnings, kept = list(imported.left_out), list[LeftOut](), list[str]()
    candidates = list(_candidates(imported, others, left_out, kept))
    accepted: list[tuple[ImportedEntry, Item]] = []
    # Joins are checked first: the SQL of other entries requires them.
    for is_join in (True, False):
        batch = [each for each in candidates if isinstance(each[1].entry, JoinEntry) is is_join]
        known = [*others, *(item for _, item in accepted), *(item for _, item in batch if is_join)]
        checked = SourceKnowledge.of(Knowledge(tuple(known)), catalog)
        for entry, item in batch:
            problems = [*checked.problems_of(item)]
            if all(problem.is_warning for problem in problems):
                problems += problems_in_data(item, checked.catalog, run, values)
            for problem in problems:
                text = f"{problem.message} {problem.suggestion}".strip()
                (warnings if problem.is_warning else left_out).append(LeftOut(entry.subject, text))
            if all(problem.is_warning for problem in problems):
                accepted.append((entry, item))
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(_document([entry for entry, _ in accepted], _heading(imported)), encoding="utf-8")
    return ImportReport(
        str(path),
        imported=tuple(item.id for _, item in accepted),
        hand_written=tuple(kept),
        left_out=tuple(left_out),
        warnings=tuple(warnings),
    )


def _candidates(
    imported: Imported, others: Iterable[Item], left_out: list[LeftOut], kept: list[str]
) -> Iterator[tuple[ImportedEntry, Item]]:
    """Yield the entries that can be read; report the others, and those that have a hand-written counterpart."""
    hand_written = {item.key for item in others if item.entry.origin == "hand-written"}
    keys: set[str] = set()
    for entry in imported.entries:
        read = read_text(_document([entry]), imported.file)
        left_out += [LeftOut(entry.subject, problem.message) for problem in read.problems]
        for item in read.items:
            if item.key in hand_written:
                kept.append(item.id)
            elif item.key in keys:
                left_out.append(LeftOut(entry.subject, f"another imported entry is called `{item.name}`"))
            else:
                keys.add(item.key)
                yield entry, item


def _heading(imported: Imported) -> str:
    return (
        f"# yaml-language-server: $schema={SCHEMA_URL}\n"
        f"# Written by `datasphinx knowledge import {imported.system}` from {one_line(imported.name)!r}; the next\n"
        "# import overwrites it. To change an entry, write it into another file: hand-written entries take\n"
        "# precedence.\n"
    )


def _document(entries: Iterable[ImportedEntry], heading: str = "") -> str:
    """Return a knowledge file with `entries`."""
    content: dict[str, Any] = {"origin": "imported"}
    for entry in entries:
        part = _PARTS[entry.kind]
        if entry.kind == "table":
            table = content.setdefault(part, {}).setdefault(entry.name, {})
            content[part][entry.name] = {**entry.content, **table}
        elif entry.kind == "column":
            table, _, column = entry.name.rpartition(".")
            columns = content.setdefault(part, {}).setdefault(table, {}).setdefault("columns", {})
            columns[column] = entry.content
        elif part in NAMED:
            content.setdefault(part, {})[entry.name] = entry.content
        elif entry.kind == "calendar":
            content[part] = entry.content
        else:
            content.setdefault(part, []).append(entry.content)
    return heading + dump_yaml(content)


def unique_names(names: Sequence[str], own: str) -> list[str]:
    """Return `names` without repetitions, empty ones and `own`."""
    return [name for name in dict.fromkeys(name.strip() for name in names) if name and name.lower() != own.lower()]
