"""The options for loading a file: the same in the tool, the command line, Python and HTTP."""

from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, ValidationError, model_validator

from datasphinx.agent.datasets.encoding import check_encoding
from datasphinx.agent.datasets.kinds import COLUMN_KINDS

_MAX_COLUMNS = 2000
_Name = Annotated[str, StringConstraints(min_length=1, max_length=300)]
_TableNumber = Annotated[int, Field(ge=1, le=10_000_000)]

ColumnKind = Annotated[str, StringConstraints(pattern=rf"^({'|'.join(COLUMN_KINDS)}|timestamp[+-]\d\d:\d\d)$")]

ALL_SHEETS = "*"


class Unpivot(BaseModel):
    """Columns that become rows: one column with their names, and one with their values."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    columns: Annotated[tuple[_Name, ...], Field(min_length=1, max_length=_MAX_COLUMNS)] | None = Field(
        None, description="Columns to turn into rows; default: those named by a month, a year or a date."
    )
    name: _Name = Field("name", description="New column with the names of these columns.")
    value: _Name = Field("value", description="New column with their values.")


class LoadOptions(BaseModel):
    """How to read a file. What is left out is detected."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    sheet: _Name | None = Field(None, description="Sheet of a workbook; default: the first that is not empty.")
    sheets: Annotated[tuple[_Name, ...], Field(min_length=1, max_length=300)] | None = Field(
        None,
        description='Several sheets with like columns, one below the other, with a new column `sheet`; ["*"]: all that '
        "are like the first.",
    )
    header_row: Annotated[int, Field(ge=0, le=10_000_000)] | None = Field(
        None, description="Number of the first header row, from 1; 0: no header; default: detected."
    )
    header_rows: Annotated[int, Field(ge=1, le=10)] | None = Field(
        None, description="Number of header rows; their names are joined; default: detected."
    )
    tables: Annotated[tuple[_TableNumber, ...], Field(min_length=1, max_length=100)] | None = Field(
        None,
        description="Tables of a sheet with several, by number from 1; two or more are put one below the other, with a "
        "new column `table`; default: the largest.",
    )
    types: Annotated[dict[_Name, ColumnKind], Field(max_length=_MAX_COLUMNS)] | None = Field(
        None,
        description=f"Types by column: {', '.join(COLUMN_KINDS)}. currency: amount, and a new column with the code; "
        "timestamp+02:00: the zone of times without one.",
    )
    fill_down: Annotated[tuple[_Name, ...], Field(max_length=_MAX_COLUMNS)] | None = Field(
        None, description="Columns whose empty cells take the value above."
    )
    drop_totals: bool | None = Field(
        None,
        description="Whether rows with totals and subtotals, and those beside them such as tax, are left out; default: "
        "true.",
    )
    sections: bool | None = Field(
        None,
        description="Whether rows with only a label above a group of rows become the values of a new column `section`, "
        "and notes below the table are left out; default: true.",
    )
    encoding: Annotated[_Name, AfterValidator(check_encoding)] | None = Field(
        None, description="Encoding of a text file, such as cp1252 or shift_jis; default: detected."
    )
    delimiter: Annotated[str, StringConstraints(pattern=r"^[^\w\s\"'\\]$|^[\t ]$")] | None = Field(
        None, description="Character between the cells of a text file; default: detected."
    )
    unpivot: Unpivot | None = Field(None, description="Columns to turn into rows, such as one column per month.")
    split: Annotated[dict[_Name, Annotated[str, Field(max_length=10)]], Field(max_length=20)] | None = Field(
        None,
        description="Columns with several values in a cell, by separator, empty: detected; each value gets a row, and "
        "a new column `row` numbers the rows before.",
    )

    @model_validator(mode="after")
    def _check_combination(self) -> Self:
        if self.sheet and self.sheets:
            raise ValueError("sheet and sheets exclude each other")
        if self.tables and (self.sheets or self.header_row is not None):
            raise ValueError(f"tables and {'sheets' if self.sheets else 'header_row'} exclude each other")
        if self.header_row == 0 and self.header_rows:
            raise ValueError("header_row 0 means no header: leave header_rows out")
        return self

    @classmethod
    def texts(cls) -> set[str]:
        """Return the names of the options whose value is a text."""
        fields = cls.model_json_schema()["properties"]
        return {name for name, field in fields.items() if "string" in {each.get("type") for each in field["anyOf"]}}

    def content(self) -> dict[str, Any]:
        """Return the options that are set, as JSON values."""
        return self.model_dump(mode="json", exclude_none=True)


DETECT = LoadOptions()
"""Options that leave everything to detection."""


def problem_of(error: ValidationError) -> str:
    """Return the first problem of invalid options, with the name of the option."""
    first = error.errors(include_url=False, include_context=False)[0]
    place = ".".join(map(str, first["loc"]))
    return f"{place}: {first['msg']}".removeprefix(": ")
