"""A stored file, and a dataset: one table loaded from it, with a report of the detected format."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

from datasphinx.agent.messages import Language, render

SourceType = Literal["excel", "csv", "parquet", "jsonl", "dataframe"]


@dataclass(frozen=True)
class Upload:
    """A stored file: its id, its path, and the user's name for it."""

    file_id: str
    path: Path
    name: str
    source_type: SourceType | None = None
    """Set if the content does not show it: a DataFrame is stored as Parquet."""


class ColumnType(NamedTuple):
    """A column of a dataset; `type` is the DuckDB type name."""

    name: str
    type: str


@dataclass(frozen=True)
class Warning:
    """A warning about one column, or about the whole table if `column` is empty.

    `code` is stable; `facts` are the values for the message.
    """

    code: str
    column: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)

    def message(self, language: Language = "en") -> str:
        """Return the problem and how it was handled, in the given language."""
        text = render(f"data_{self.code}", language, **self.facts)
        return f"{self.column}: {text}" if self.column else text


@dataclass(frozen=True)
class Report:
    """The detected format of a file; None for properties that it does not have. Rows are counted from 1."""

    sheet: str | None = None
    sheets: tuple[str, ...] = ()
    """All sheets of the workbook; only one is read."""
    header_row: int | None = None
    """First row of the header; 0 if there is none."""
    header_rows: int | None = None
    encoding: str | None = None
    delimiter: str | None = None
    decimal_mark: str | None = None
    """Decimal mark of numbers written as text; None if no number shows it."""
    empty_rows: int = 0
    """Number of blank rows that were skipped."""
    empty_columns: int = 0
    """Number of columns without name and values that were dropped."""
    tables: tuple[str, ...] = ()
    """Numbers and titles of the tables on the sheet, if there are several."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """The options that were set; see `LoadOptions`."""
    warnings: tuple[Warning, ...] = ()


@dataclass(frozen=True)
class Dataset:
    """An immutable table. `dataset_id` is a hash of the file's content and of the options with which it was loaded."""

    dataset_id: str
    source_type: SourceType
    schema: tuple[ColumnType, ...]
    row_count: int
    name: str
    """Name of the source file."""
    file_id: str
    report: Report = Report()

    @property
    def table(self) -> str:
        """Name of the table in SQL."""
        return self.dataset_id

    @property
    def formats(self) -> Mapping[str, str]:
        """The formats of columns whose cells show one: `fraction` for percentages, and the code of a currency.

        Columns that became rows leave theirs to the values, if all of them have the same.
        """
        found, names = {"percent": "fraction", "currency": "currency {codes}"}, {column.name for column in self.schema}
        shown = {
            warning.column: found[warning.code].format(**warning.facts)
            for warning in self.report.warnings
            if warning.code in found
        }
        for warning in self.report.warnings:
            if warning.code == "unpivoted":
                value = warning.facts["value"]
                of_rows = [shown.pop(column) for column in list(shown) if column not in names - {value}]
                if len(of_rows) == warning.facts["count"] and len(set(of_rows)) == 1:
                    shown[value] = of_rows[0]
        return {column: spec for column, spec in shown.items() if column in names}

    def summary(self) -> dict[str, Any]:
        """Return `dataset_id, source_type, schema, row_count` as JSON values."""
        schema = [column._asdict() for column in self.schema]
        return {
            "dataset_id": self.dataset_id,
            "source_type": self.source_type,
            "schema": schema,
            "row_count": self.row_count,
        }

    def to_json(self) -> dict[str, Any]:
        """Return all fields as JSON values."""
        return {**self.summary(), "name": self.name, "file_id": self.file_id, "report": asdict(self.report)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Dataset":
        """Return the dataset that `to_json` serialised."""
        report = dict(data["report"])
        warnings = tuple(Warning(**warning) for warning in report.pop("warnings"))
        sheets, tables = tuple(report.pop("sheets")), tuple(report.pop("tables", ()))
        schema = tuple(ColumnType(**column) for column in data["schema"])
        return cls(
            **{**data, "schema": schema, "report": Report(**report, sheets=sheets, tables=tables, warnings=warnings)}
        )
