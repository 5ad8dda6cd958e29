"""Where the reader of a file is unsure, a model proposes the layout, and the reader checks and applies it."""

import json
from collections.abc import Sequence
from contextlib import suppress
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import ValidationError

from datasphinx import prompts
from datasphinx.agent.core.cancellation import Cancellation
from datasphinx.agent.core.prompt_data import escaped, shortened
from datasphinx.agent.core.replaced_file import replaced_file
from datasphinx.agent.datasets.dataset import Dataset
from datasphinx.agent.datasets.options import LoadOptions
from datasphinx.agent.errors import DatasphinxError, FileNotLoaded, StatementCancelled, TooLarge
from datasphinx.agent.llm.schemas import FileLayout
from datasphinx.agent.messages import Message
from datasphinx.agent.schema.catalog import Table
from datasphinx.agent.schema.personal import personal_kind
from datasphinx.agent.schema.secret import is_secret
from datasphinx.agent.tools.tool import Workbench, type_name
from datasphinx.agent.types import MASK

if TYPE_CHECKING:
    from datasphinx.agent.datasets.load import Preview

_UNSURE = {"no_header", "rows_above", "merged_header", "unnamed", "other_sheets", "notes_below"}
"""Codes of the warnings with which the reader notes a guess about the sheet, the header or the footer.

A single line above or below a table is its title or a note: no guess.
"""
_FILE = "layout.json"
_MAX_COLUMNS, _MAX_CELL, _MAX_SHEETS = 30, 40, 12
_NAME_ROWS = 10
"""Number of first rows whose cells may be the name of a column."""


class Proposal(NamedTuple):
    """The options that a model proposed, if they differ from what was detected, and why they were not applied."""

    options: dict[str, Any]
    reason: str = ""

    def note(self) -> Message | None:
        """Return the note for the reader of the answer; None if nothing was proposed."""
        shown = ", ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in self.options.items())
        if self.reason:
            return Message("layout_not_applied", options=shown, reason=Message(self.reason))
        return Message("layout_applied", options=shown) if shown else None


def with_layout(dataset: Dataset, bench: Workbench, cancellation: Cancellation) -> tuple[Dataset, Message | None]:
    """Return the dataset of the file as a model proposes to read it, or `dataset`, and a note about that.

    A model is asked once, and only where the reader is unsure; the outcome is kept with `dataset`. Without a reply of
    the model, nothing changes.
    """
    guesses = [each for each in dataset.report.warnings if each.code in _UNSURE and each.facts.get("count") != 1]
    if bench.layout_model is None or not guesses:
        return dataset, None
    path = bench.registry.cache_of([dataset.dataset_id]) / _FILE
    outcome = None
    try:
        model = bench.layout_model()
        if not (model and model.repeats(FileLayout)):
            with suppress(OSError, ValueError):
                outcome = Proposal(**json.loads(path.read_text(encoding="utf-8")))
        if outcome is None:
            preview = model and bench.registry.preview(dataset.file_id, dataset.report.sheet, cancellation)
            if not model or not preview:
                return dataset, None
            messages = prompts.render("propose_layout", reading=_reading(dataset), rows=_rows(preview, dataset))
            layout = model.ask(FileLayout, messages)
            outcome = _checked(_differing(layout, dataset), dataset, preview, bench, cancellation)
            with suppress(OSError), replaced_file(path) as new:
                new.write_text(json.dumps(outcome._asdict(), ensure_ascii=False), encoding="utf-8")
        if outcome.options and not outcome.reason:
            options = LoadOptions.model_validate(outcome.options)
            dataset = bench.registry.create(dataset.file_id, options, cancellation=cancellation)
    except StatementCancelled:
        raise
    except DatasphinxError:
        return dataset, None
    return dataset, outcome.note()


def _checked(
    options: dict[str, Any], dataset: Dataset, preview: "Preview", bench: Workbench, cancellation: Cancellation
) -> Proposal:
    """Return the outcome of a proposal, which is applied if it fits."""
    if not options:
        return Proposal(options)
    try:
        changed = bench.registry.create(dataset.file_id, LoadOptions.model_validate(options), cancellation=cancellation)
    except (FileNotLoaded, TooLarge, ValidationError):
        return Proposal(options, "layout_missing")
    return Proposal(options, _problem(options, dataset, changed, preview))


def _differing(layout: FileLayout, dataset: Dataset) -> dict[str, Any]:
    """Return the options of the layout that differ from what was detected. The rows of another sheet were not shown."""
    report = dataset.report
    if layout.sheet and layout.sheet != report.sheet:
        return {"sheet": layout.sheet}
    options: dict[str, Any] = {}
    header = (layout.header_row, max(1, layout.header_rows) if layout.header_row else 0)
    if layout.header_row is not None and header != (report.header_row, report.header_rows):
        options = {"header_row": header[0], **({"header_rows": header[1]} if header[1] else {})}
    if layout.footer_rows > _cells(dataset, "notes_below", "totals_dropped", "beside_totals"):
        options["footer_rows"] = layout.footer_rows
    return options


def _problem(options: dict[str, Any], before: Dataset, after: Dataset, preview: "Preview") -> str:
    """Return the code of the reason why the dataset `after`, read with `options`, is not better; empty if it is."""
    unnamed = [sum(each.code in ("unnamed", "renamed") for each in one.report.warnings) for one in (before, after)]
    if unnamed[1] > unnamed[0]:
        return "layout_names"
    if "header_row" in options and not preview.finder.fits(options["header_row"], options.get("header_rows", 0)):
        return "layout_header"
    columns, gain = len(before.schema), _count_typed(after) - _count_typed(before)
    last = preview.rows[-count:] if (count := options.get("footer_rows")) else []
    if any(sum(bool(text.strip()) for text in row) > (columns - 1 if gain > 0 else columns // 2) for _, row in last):
        return "layout_footer"
    return "layout_types" if gain < 0 or _cells(after, "misfits") > _cells(before, "misfits") else ""


def _cells(dataset: Dataset, *codes: str) -> int:
    """Return how many rows or cells the warnings with these codes count."""
    return sum(warning.facts["count"] for warning in dataset.report.warnings if warning.code in codes)


def _count_typed(dataset: Dataset) -> int:
    return sum(column.type != "VARCHAR" for column in dataset.schema)


def _reading(dataset: Dataset) -> str:
    """Return how the file was read, as JSON."""
    report = dataset.report
    columns = {column.name: type_name(column.type) for column in dataset.schema[:_MAX_COLUMNS]}
    reading = {"sheet": report.sheet, "header_row": report.header_row, "header_rows": report.header_rows}
    return escaped(shortened({**reading, "rows": dataset.row_count, "columns": columns}))


def _rows(preview: "Preview", dataset: Dataset) -> str:
    """Return the rows, one a line with its number, and the first row of the other sheets; what is personal is masked.

    Values are masked below a cell that is the name of a secret or personal column.
    """
    rows = [row[:_MAX_COLUMNS] for _, row in preview.rows]
    table = Table(dataset.name, ())
    shown = [[_masked(text) for text in row] for row in rows]
    for place, cells in enumerate(zip_longest(*rows, fillvalue="")):
        for at, name in enumerate(cells[:_NAME_ROWS], 1):
            below = tuple(filter(str.strip, cells[at:]))
            if name.strip() and (is_secret(table, name) or personal_kind("", name, below)):
                for row in shown[at:]:
                    row[place : place + 1] = [MASK if text else "" for text in row[place : place + 1]]
                break
    numbers = [number for number, _ in preview.rows]
    lines = [f"{number}: {escaped(shortened(row, _MAX_CELL))}" for number, row in zip(numbers, shown, strict=True)]
    others = [
        f"first row of the sheet {escaped(shortened(name))}: {escaped(shortened(_first(head), _MAX_CELL))}"
        for name in dataset.report.sheets[:_MAX_SHEETS]
        if (head := preview.heads.get(name)) is not None
    ]
    return "\n".join([*lines, *others])


def _first(head: Sequence[Sequence[str]]) -> list[str]:
    return [_masked(text) for text in next(filter(None, head), ())[:_MAX_COLUMNS]]


def _masked(text: str) -> str:
    return MASK if personal_kind("", "", (text,)) else text
