"""Writing of entries into knowledge files."""

import fcntl
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from datasphinx.agent.core.replaced_file import replaced_file
from datasphinx.agent.errors import Unavailable
from datasphinx.agent.knowledge.yaml_text import LocatedValue, YamlError, dump_yaml, read_yaml
from datasphinx.agent.messages import Message


def add_entry(path: Path, part: str, entry: Mapping[str, Any]) -> int:
    """Add an entry at the end of a part of the file at `path`, and return its line.

    All other lines of the file, comments included, are unchanged. The file is replaced atomically. It is created if it
    does not exist. An `entry` of a list is a mapping; of any other part, it has one key, the name.
    """
    return _change(path, lambda text: with_entry(text, part, entry))


def set_label(path: Path, column: tuple[str, str], code: str, meaning: str) -> int:
    """Set the meaning of a code in `column`, a table and its column, in the file at `path`; return its line.

    The file is written anew, without its comments.
    """

    def change(text: str) -> tuple[str, int]:
        contents = read_yaml(text).value or {}
        labels, keys = contents, ("tables", column[0], "columns", column[1], "labels")
        for key in keys:
            inner = labels.get(key) or {} if isinstance(labels, dict) else None
            if not isinstance(inner, dict):
                raise ValueError(Message("part_not_extensible", part=keys[0]))
            labels[key] = inner
            labels = inner
        labels[code] = meaning
        changed = dump_yaml(contents)
        return changed, read_yaml(changed).line_of((*keys, code))

    return _change(path, change)


def _change(path: Path, change: Callable[[str], tuple[str, int]]) -> int:
    """Replace the text of a file by what `change` returns for it, with a line, which is returned."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _locked(path.parent):
            changed, line = change(path.read_text(encoding="utf-8-sig") if path.exists() else "")
            _replace(path, changed)
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or type(error).__name__
        raise Unavailable("knowledge_not_writable", file=str(path), reason=reason) from error
    except (YamlError, ValueError) as error:
        raise Unavailable("knowledge_not_writable", file=str(path), reason=str(error)) from error
    return line


def with_entry(text: str, part: str, entry: Mapping[str, Any]) -> tuple[str, int]:
    """Return the text of a file with `entry` at the end of `part`, and the line of the entry.

    Raises:
        YamlError: the text is not YAML.
        ValueError: the part cannot be extended without changing other lines.
    """
    before = read_yaml(text)
    lines = text.splitlines(keepends=True)
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    is_list = part == "verified"
    contents = before.value if before.value is not None else {}
    if not isinstance(contents, dict):
        raise ValueError(Message("part_not_extensible", part=part))
    if part in contents:
        at, indent = _end_of(part, before, lines)
        added = _dumped(entry, indent, is_list)
    else:
        at, added = len(lines), [f"{part}:\n", *_dumped(entry, "  ", is_list)]
        if lines and lines[-1].strip():
            added.insert(0, "\n")
    changed = "".join([*lines[:at], *added, *lines[at:]])
    after = read_yaml(changed)
    _require_only_addition(part, before, after, is_list=is_list)
    return changed, at + 1 + sum(line in ("\n", f"{part}:\n") for line in added[:2])


def _end_of(part: str, located: LocatedValue, lines: list[str]) -> tuple[int, str]:
    """Return the number of lines before the end of a part, and the indentation of its entries."""
    start = located.line_of((part,))
    following = [line for path, line in located.lines.items() if len(path) == 1 and line > start]
    at = min(following) - 1 if following else len(lines)
    # Comments before the next part belong to it.
    while at > start and (not lines[at - 1].strip() or lines[at - 1].startswith("#")):
        at -= 1
    entries = [line for path, line in located.lines.items() if len(path) == 2 and path[0] == part]
    first = lines[min(entries) - 1] if entries else "  "
    return at, first[: len(first) - len(first.lstrip(" "))]


def _dumped(entry: Mapping[str, Any], indent: str, is_list: bool) -> list[str]:
    dumped = dump_yaml([entry] if is_list else entry)
    return [f"{indent}{line}" if line.strip() else line for line in dumped.splitlines(keepends=True)]


def _require_only_addition(part: str, before: LocatedValue, after: LocatedValue, *, is_list: bool) -> None:
    old, new = before.value or {}, after.value
    if not isinstance(new, dict):
        raise ValueError(Message("part_not_extensible", part=part))
    earlier = old.get(part)
    kept = new[part][:-1] if is_list else dict(list(new[part].items())[:-1])
    is_same = kept == (earlier or ([] if is_list else {})) and len(new[part]) == len(earlier or ()) + 1
    if not is_same or {**new, part: None} != {**old, part: None}:
        raise ValueError(Message("part_not_extensible", part=part))


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold a lock on `folder` that all writers of its files acquire."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _replace(path: Path, text: str) -> None:
    with replaced_file(path) as new:
        with new.open("w", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        new.chmod(path.stat().st_mode & 0o777 if path.exists() else 0o644)
