"""A dataset: one table made of a file, and the report of what was guessed on the way."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, NamedTuple, get_args

from agent.messages import Language, render

SourceType = Literal["excel", "csv", "parquet", "jsonl", "dataframe"]
SOURCE_TYPES: tuple[SourceType, ...] = get_args(SourceType)


class ColumnType(NamedTuple):
    """A column of a dataset; `type` is DuckDB's name for its type."""

    name: str
    type: str


@dataclass(frozen=True)
class Warning:
    """What a reader of the data should know of one column, or of the whole table where `column` is empty.

    `code` is stable; `facts` fill its text.
    """

    code: str
    column: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)

    def message(self, language: Language = "en") -> str:
        """Return what was found and what was done, in the given language."""
        text = render(f"data_{self.code}", language, **self.facts)
        return f"{self.column}: {text}" if self.column else text


@dataclass(frozen=True)
class Report:
    """What was guessed of a file; None where there was nothing to guess. Rows are counted from 1 as in the file."""

    sheet: str | None = None
    sheets: tuple[str, ...] = ()
    """All sheets of the workbook; one is read."""
    header_row: int | None = None
    """The first row of the header; 0 where there is none."""
    header_rows: int | None = None
    encoding: str | None = None
    delimiter: str | None = None
    decimal_mark: str | None = None
    """That of numbers written as text; None where no number shows it."""
    empty_rows: int = 0
    """Rows without a value that were left out."""
    empty_columns: int = 0
    """Columns without a name and a value that were left out."""
    warnings: tuple[Warning, ...] = ()


@dataclass(frozen=True)
class Dataset:
    """An immutable table. `dataset_id` comes from the content of the file, the sheet and the header row."""

    dataset_id: str
    source_type: SourceType
    schema: tuple[ColumnType, ...]
    row_count: int
    name: str
    """The name of the file that it was made of."""
    file_id: str
    report: Report = Report()

    @property
    def table(self) -> str:
        """The name of its one table in SQL."""
        return self.dataset_id

    def summary(self) -> dict[str, Any]:
        """Return `dataset_id, source_type, schema, row_count`, as JSON holds them."""
        schema = [column._asdict() for column in self.schema]
        return {
            "dataset_id": self.dataset_id,
            "source_type": self.source_type,
            "schema": schema,
            "row_count": self.row_count,
        }

    def to_json(self) -> dict[str, Any]:
        """Return everything as JSON holds it."""
        return {**self.summary(), "name": self.name, "file_id": self.file_id, "report": asdict(self.report)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Dataset":
        """Return what `to_json` was made of."""
        report = dict(data["report"])
        warnings = tuple(Warning(**warning) for warning in report.pop("warnings"))
        sheets = tuple(report.pop("sheets"))
        schema = tuple(ColumnType(**column) for column in data["schema"])
        return cls(**{**data, "schema": schema, "report": Report(**report, sheets=sheets, warnings=warnings)})
