"""Tool: create a dataset from a file."""

from typing import Annotated

from pydantic import Field

from agent.core.cancellation import Cancellation
from agent.datasets.dataset import Dataset
from agent.tools.tool import Arguments, Outcome, Tool, Workbench, check_known

_SHOWN_WARNINGS = 20
_SHOWN_SHEETS = 30


class CreateDataset(Arguments):
    """A file, and the place of the table in it."""

    file_id: str = Field(description="The id of a file of this question.")
    sheet: Annotated[str, Field(max_length=300)] | None = Field(
        None, description="Sheet of a workbook; default: the first that is not empty."
    )
    header_row: Annotated[int, Field(ge=0, le=10_000)] | None = Field(
        None, description="Number of the header row, from 1; 0: no header; default: detected."
    )


def create_dataset(arguments: CreateDataset, bench: Workbench, cancellation: Cancellation) -> Outcome:
    """Return the dataset's id, type, schema and size, and the detected sheet and header row.

    Raises:
        ToolCallInvalid: the file is not among those of the question.
        StatementCancelled: the call was cancelled.
        DatasphinxError: an error of `Registry.create`; no partial dataset remains.
    """
    check_known(TOOL.name, "file_id", arguments.file_id, bench.file_ids)
    file, sheet, header_row = arguments.file_id, arguments.sheet, arguments.header_row
    dataset = bench.registry.create(file, sheet, header_row, bench.loading, cancellation)
    warnings = tuple(warning.message(bench.language) for warning in dataset.report.warnings)
    # With several files, a warning has to name the one it is about.
    notes = tuple(f"{dataset.name}: {text}" for text in warnings) if len(bench.file_ids) > 1 else warnings
    return Outcome(_content(dataset, warnings), dataset.row_count, dataset.dataset_id, notes=notes)


def _content(dataset: Dataset, warnings: tuple[str, ...]) -> dict[str, object]:
    report = dataset.report
    detected = {"sheet": report.sheet, "sheets": list(report.sheets[:_SHOWN_SHEETS]), "header_row": report.header_row}
    return {
        "dataset_id": dataset.dataset_id,
        "file": dataset.name,
        "source_type": dataset.source_type,
        "row_count": dataset.row_count,
        "schema": [column._asdict() for column in dataset.schema],
        **{name: value for name, value in detected.items() if value not in (None, [])},
        "warnings": list(warnings[:_SHOWN_WARNINGS]),
    }


TOOL = Tool(
    "create_dataset",
    "Make a dataset of a file: of another sheet, or with another header row, than the one that was made already.",
    CreateDataset,
    create_dataset,
)
