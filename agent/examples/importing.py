"""Import of few-shot examples from a file of JSON lines."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from datasphinx.agent.errors import ExampleInvalid, Refused, StatementError
from datasphinx.agent.examples.example import Example, checked_example
from datasphinx.agent.sources.source import Source
from datasphinx.agent.types import Clarification

_MAX_PROBLEMS = 10


class Line(BaseModel):
    """A line of the file; unknown fields are ignored. `source` is a name or a URL; the caller resolves None."""

    model_config = ConfigDict(strict=True)

    question: str = Field(min_length=1)
    sql: str = Field(min_length=1)
    source: str | None = None
    clarifications: list[Clarification] = []


def read_examples(path: Path, source_of: Callable[[str, str | None], Source]) -> list[Example]:
    """Return the examples of the file at `path`, all of them validated.

    `source_of` returns the source for a line, from its question and its `source`.

    Raises:
        ExampleInvalid: the file cannot be read, or a line is malformed; the error names the line.
        Refused: examples are not valid, with the reasons of `checked_example` for the first ten.
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
        further = [f"and {len(problems) - _MAX_PROBLEMS} more"] if len(problems) > _MAX_PROBLEMS else []
        raise Refused("examples_refused", file=str(path), problems=(*problems[:_MAX_PROBLEMS], *further))
    return examples


def _lines(path: Path) -> list[tuple[int, Line]]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ExampleInvalid(str(path), f"it cannot be read ({error.strerror})") from error
    except UnicodeError as error:
        raise ExampleInvalid(str(path), "it is not UTF-8 text") from error
    numbered_lines = enumerate(text.split("\n"), 1)
    return [(number, _line(line, f"{path}, line {number}")) for number, line in numbered_lines if line.strip()]


def _line(line: str, place: str) -> Line:
    try:
        value: Any = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ExampleInvalid(place, f"it is not JSON ({error})") from error
    try:
        return Line.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        reason = f"{where}: {first['msg']}" if where else first["msg"]
        raise ExampleInvalid(place, reason) from None
