"""Tool: create a dataset from a file."""

from datasphinx.agent.core.cancellation import Cancellation
from datasphinx.agent.datasets.dataset import Dataset
from datasphinx.agent.datasets.notes import notes_of
from datasphinx.agent.datasets.options import DETECT, LoadOptions
from datasphinx.agent.tools.layout import with_layout
from datasphinx.agent.tools.tool import Arguments, Outcome, Tool, Workbench, check_known, type_name

_SHOWN_WARNINGS = 20
_SHOWN_SHEETS = 30


class CreateDataset(Arguments, LoadOptions):
    """A file, and how to read it."""

    file_id: str


def create_dataset(arguments: CreateDataset, bench: Workbench, cancellation: Cancellation) -> Outcome:
    """Return the dataset's id, type, schema and size, and what was detected.

    Raises:
        ToolCallInvalid: the file is not among those of the question.
        DatasphinxError: an error of `Registry.create`; no partial dataset remains.
    """
    check_known(TOOL.name, "file_id", arguments.file_id, bench.file_ids)
    options = LoadOptions.model_validate(arguments.model_dump(exclude={"file_id"}))
    dataset = bench.registry.create(arguments.file_id, options, bench.loading, cancellation)
    proposal = None
    if options == DETECT:
        dataset, proposal = with_layout(dataset, bench, cancellation)
    proposed = [proposal.in_language(bench.language)] if proposal else []
    notes = [*proposed, *notes_of(dataset, bench.language)]
    # With several files, a warning has to name the one it is about.
    named = tuple(f"{dataset.name}: {text}" for text in notes) if len(bench.file_ids) > 1 else tuple(notes)
    warnings = [*proposed, *notes_of(dataset, bench.language, _SHOWN_WARNINGS)]
    return Outcome(_content(dataset, warnings), dataset.row_count, dataset.dataset_id, notes=named)


def _content(dataset: Dataset, warnings: list[str]) -> dict[str, object]:
    report = dataset.report
    detected = {
        "sheet": report.sheet,
        "sheets": list(report.sheets[:_SHOWN_SHEETS]),
        "tables": list(report.tables[:_SHOWN_SHEETS]),
        "header_row": report.header_row,
    }
    return {
        "dataset_id": dataset.dataset_id,
        "file": dataset.name,
        "source_type": dataset.source_type,
        "row_count": dataset.row_count,
        "schema": [{"name": column.name, "type": type_name(column.type)} for column in dataset.schema],
        **{name: value for name, value in detected.items() if value not in (None, [])},
        "warnings": warnings,
    }


TOOL = Tool(
    "create_dataset",
    "Read a file again with other options. What is left out is detected; get_schema tells what was, and which option "
    "changes it.",
    CreateDataset,
    create_dataset,
)
