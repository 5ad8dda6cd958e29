"""YAML texts as plain values with the line of each part.

Every plain scalar is text, so that a code such as `NO` or `1` stays as written; fields convert the text to their type.
Aliases are not supported: they could expand to any size.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from datasphinx.agent.errors import DriverMissing

KeyPath = tuple[str | int, ...]
"""The keys and positions that lead to a part of a value."""

_MAX_DEPTH = 20


class YamlError(ValueError):
    """A text that cannot be read; `line` counts from 1."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


@dataclass
class LocatedValue:
    """A mapping, list, text or None, and the line of each of its parts by path."""

    value: Any
    lines: dict[KeyPath, int]
    problems: list[tuple[int, str]] = field(default_factory=list)
    """Messages about keys that occur twice, with their lines; the first one is used."""

    def line_of(self, path: KeyPath) -> int:
        """Return the line of the part at `path`, or of the nearest part around it."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)


def read_yaml(text: str) -> LocatedValue:
    """Return the value of a YAML document.

    Raises:
        YamlError: the text is not YAML, or has several documents, an alias, or more than 20 levels.
        DriverMissing: the package `pyyaml` is not installed.
    """
    try:
        import yaml
    except ImportError as error:
        raise DriverMissing("pyyaml", "knowledge") from error
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    located = LocatedValue(None, {})
    try:
        events = (event for event in yaml.parse(text, Loader=loader) if not isinstance(event, yaml.StreamStartEvent))
        first = next(events)
        if isinstance(first, yaml.DocumentStartEvent):
            located.value = _read(next(events), events, (), located)
            next(events)
            following = next(events)
            if isinstance(following, yaml.DocumentStartEvent):
                raise YamlError("the file has several documents", following.start_mark.line + 1)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise YamlError(error.problem or "the file is not YAML", mark.line + 1 if mark else 1) from None
    except yaml.YAMLError as error:
        raise YamlError(str(error).splitlines()[0], 1) from None
    return located


def dump_yaml(value: Mapping[str, Any] | Sequence[Any]) -> str:
    """Return `value` as YAML without aliases, its keys in their order, and texts of several lines as they are.

    Raises:
        DriverMissing: the package `pyyaml` is not installed.
    """
    try:
        import yaml
    except ImportError as error:
        raise DriverMissing("pyyaml", "knowledge") from error

    class Dumper(yaml.SafeDumper):  # type: ignore[misc]
        def ignore_aliases(self, data: Any) -> bool:
            return True

    def text(dumper: Any, value: str) -> Any:
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value else None)

    Dumper.add_representer(str, text)
    return str(yaml.dump(value, Dumper=Dumper, allow_unicode=True, sort_keys=False, width=110))


def _read(event: Any, events: Iterator[Any], path: KeyPath, located: LocatedValue) -> Any:
    kind = type(event).__name__
    line = event.start_mark.line + 1
    located.lines.setdefault(path, line)
    if len(path) > _MAX_DEPTH:
        raise YamlError(f"the value has more than {_MAX_DEPTH} levels", line)
    if kind == "AliasEvent":
        raise YamlError("aliases are not supported", line)
    if kind == "ScalarEvent":
        is_null = event.implicit[0] and event.value in ("", "~", "null")
        return None if is_null else event.value
    if kind == "SequenceStartEvent":
        items: list[Any] = []
        while type(item := next(events)).__name__ != "SequenceEndEvent":
            items.append(_read(item, events, (*path, len(items)), located))
        return items
    mapping: dict[str, Any] = {}
    while type(key := next(events)).__name__ != "MappingEndEvent":
        key_line = key.start_mark.line + 1
        if type(key).__name__ != "ScalarEvent":
            raise YamlError("a key must be text", key_line)
        is_repeated = key.value in mapping
        if is_repeated:
            located.problems.append((key_line, f"`{key.value}` occurs twice; the first one is used"))
            _read(next(events), events, (), LocatedValue(None, {}))
            continue
        located.lines[*path, key.value] = key_line
        mapping[key.value] = _read(next(events), events, (*path, key.value), located)
    return mapping
