"""The options for loading a file: the same in the tool, the command line, Python and HTTP."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, ValidationError, model_validator

from datasphinx.agent.datasets.encoding import check_encoding
from datasphinx.agent.errors import FileNotLoaded, InputInvalid
from datasphinx.agent.messages import Message

_MAX_COLUMNS = 2000
_SHOWN_NAMES = 30
COLUMN_KINDS = (
    "text", "number", "number_point", "number_comma", "currency", "boolean", "date", "date_day_first",
    "date_month_first", "timestamp", "time",
)  # fmt: skip
"""Types that a column can be read as; `timestamp+02:00` also sets the zone of the times without one."""
_Name = Annotated[str, StringConstraints(min_length=1, max_length=300)]
_TableNumber = Annotated[int, Field(ge=1, le=10_000_000)]

ColumnKind = Annotated[str, StringConstraints(pattern=rf"^({'|'.join(COLUMN_KINDS)}|timestamp[+-]\d\d:\d\d)$")]

ALL_SHEETS = "*"


class Unpivot(BaseModel):
    """Columns that become rows, such as one column per month."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    columns: Annotated[tuple[_Name, ...], Field(min_length=1, max_length=_MAX_COLUMNS)] | None = Field(
        None, description="default: those named by a month, a year or a date"
    )
    name: _Name = Field("name", description="Column for their names.")
    value: _Name = Field("value", description="Column for their values.")


class LoadOptions(BaseModel):
    """How to read a file. What is left out is detected."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    sheet: _Name | None = Field(None, description="Sheet of a workbook.")
    sheets: Annotated[tuple[_Name, ...], Field(min_length=1, max_length=300)] | None = Field(
        None,
        description='Sheets, one below the other, with a new column `sheet`; ["*"]: all with columns like the first.',
    )
    header_row: Annotated[int, Field(ge=0, le=10_000_000)] | None = Field(
        None, description="First header row, from 1; 0: no header."
    )
    header_rows: Annotated[int, Field(ge=1, le=10)] | None = Field(None, description="Their number; names are joined.")
    footer_rows: Annotated[int, Field(ge=1, le=1000)] | None = Field(
        None, description="Number of last rows that are no rows of the table."
    )
    tables: Annotated[tuple[_TableNumber, ...], Field(min_length=1, max_length=100)] | None = Field(
        None,
        description="Tables of a sheet, by number from 1; several one below the other, with a new column `table`.",
    )
    types: Annotated[dict[_Name, ColumnKind], Field(max_length=_MAX_COLUMNS)] | None = Field(
        None,
        description=f"By column: {', '.join(COLUMN_KINDS)}. currency: amount, and a new column with the code; "
        "timestamp+02:00: the zone of times without one.",
    )
    fill_down: Annotated[tuple[_Name, ...], Field(max_length=_MAX_COLUMNS)] | None = Field(
        None, description="Columns whose empty cells get the value above."
    )
    drop_totals: bool | None = Field(
        None,
        description="Leave out rows with totals, and those beside them such as tax (default).",
    )
    sections: bool | None = Field(
        None,
        description="Make labels above groups of rows a new column `section`, and leave out notes below (default).",
    )
    encoding: Annotated[_Name, AfterValidator(check_encoding)] | None = Field(
        None, description="Of a text file, such as cp1252."
    )
    delimiter: Annotated[str, StringConstraints(pattern=r"^[^\w\s\"'\\]$|^[\t ]$")] | None = Field(
        None, description="Of a text file."
    )
    unpivot: Unpivot | None = Field(None)
    split: Annotated[dict[_Name, Annotated[str, Field(max_length=10)]], Field(max_length=20)] | None = Field(
        None,
        description="Columns with several values in a cell, with the separator: a row for each value, and a new column "
        "`row` with the number of the row before.",
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


def checked_options(given: LoadOptions | Mapping[str, Any] | None) -> LoadOptions:
    """Return the options of the input `load`. Raise InputInvalid if they are invalid or contradict each other."""
    try:
        return LoadOptions.model_validate(given or {})
    except ValidationError as error:
        raise InputInvalid("load", problem_of(error)) from None


def problem_of(error: ValidationError) -> str:
    """Return the first problem of invalid options, with the name of the option."""
    first = error.errors(include_url=False, include_context=False)[0]
    place = ".".join(map(str, first["loc"]))
    return f"{place}: {first['msg']}".removeprefix(": ")


def option_invalid(option: str, code: str, **facts: Any) -> FileNotLoaded:
    """Return the error for an option that does not fit the file; the message `code` says why."""
    return FileNotLoaded("load_option_invalid", option=option, reason=Message(code, **facts))


def place_of_column(names: Sequence[str], option: str, name: str) -> int:
    """Return the place of the column `name` that an option names; the case of letters does not matter.

    Raises:
        FileNotLoaded: There is no such column.
    """
    for place, existing in enumerate(names):
        if existing.casefold() == name.casefold():
            return place
    raise option_invalid(option, "option_column_unknown", column=name, columns=", ".join(names[:_SHOWN_NAMES]))
