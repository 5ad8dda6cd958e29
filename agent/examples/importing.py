"""Examples from a file of JSON lines."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agent.catalog.source import Source
from agent.clarify.types import Clarification
from agent.errors import ExampleInvalid, ExamplesRefused, StatementError
from agent.examples.checked import checked_example
from agent.examples.example import Example

_SHOWN = 10


class Line(BaseModel):
    """A line of the file; other fields are passed over. `source` is a name or a URL; left out: as the caller says."""

    model_config = ConfigDict(strict=True)

    question: str = Field(min_length=1)
    sql: str = Field(min_length=1)
    source: str | None = None
    clarifications: list[Clarification] = []


def read_examples(path: Path, source_of: Callable[[str, str | None], Source]) -> list[Example]:
    """Return the examples of the file at `path`, all of which may be shown.

    `source_of` gives the source of a line for its question and the source it names.

    Raises:
        ExampleInvalid: the file cannot be read, or a line is no such object; it says which.
        ExamplesRefused: statements or questions cannot be shown, with the reasons as `checked_example` gives them.
        Terminal: a source cannot be opened.
    """
    examples, problems = [], []
    for number, line in _lines(path):
        try:
            source = source_of(line.question, line.source)
            examples.append(checked_example(line.question, line.sql, source, line.clarifications))
        except (StatementError, ExampleInvalid) as error:
            problems.append(f"line {number}: {error}")
    if problems:
        more = [f"and {len(problems) - _SHOWN} more"] if len(problems) > _SHOWN else []
        raise ExamplesRefused(str(path), (*problems[:_SHOWN], *more))
    return examples


def _lines(path: Path) -> list[tuple[int, Line]]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ExampleInvalid(str(path), f"it cannot be read ({error.strerror})") from error
    except UnicodeError as error:
        raise ExampleInvalid(str(path), "it is no UTF-8 text") from error
    numbered = enumerate(text.split("\n"), 1)
    return [(number, _line(line, f"{path}, line {number},")) for number, line in numbered if line.strip()]


def _line(line: str, place: str) -> Line:
    try:
        given: Any = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ExampleInvalid(place, f"it is no JSON ({error})") from error
    try:
        return Line.model_validate(given)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise ExampleInvalid(place, f"{where}: {first['msg']}" if where else first["msg"]) from None
