"""The examples of options in tests/fixtures/load_options.md."""

import json
from pathlib import Path
from typing import Any, NamedTuple

from tests.agent.datasets.files import text
from tests.agent.datasets.workbooks import Cells, book

PAGE = Path(__file__).parents[3] / "tests/fixtures/load_options.md"
HEADER = "| options | file | dataset |\n|---|---|---|\n"


class Example(NamedTuple):
    """The options as JSON, the cells of the file, and the columns and rows it gives."""

    options: dict[str, Any]
    cells: Cells | dict[str, Cells]
    rows: list[list[Any]]

    @property
    def name(self) -> str:
        return "book.xlsx" if isinstance(self.cells, dict) else "table.csv"

    @property
    def content(self) -> bytes:
        return book(**self.cells) if isinstance(self.cells, dict) else text(*self.cells)


def documented_examples() -> list[Example]:
    """Return the examples, in the order of the page."""
    table = PAGE.read_text(encoding="utf-8").partition(HEADER)[2].partition("\n\n")[0]
    cells = ([cell.strip("`") for cell in line.strip("| ").split(" | ")] for line in table.splitlines())
    return [Example(*map(json.loads, row)) for row in cells]
