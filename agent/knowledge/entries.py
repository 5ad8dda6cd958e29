"""Entries of the knowledge files, and the published JSON Schema of a file.

All entries have an `origin`. Entries of the origin "proposal" are checked but not used.
"""

import re
from datetime import date as Date
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, model_validator

SCHEMA_URL = "https://raw.githubusercontent.com/datasphinx/datasphinx/main/docs/knowledge.schema.json"
"""Where the JSON Schema of the knowledge files is published."""
_NUMBER = re.compile(r"-?\d+(\.\d+)?")
MAX_INSTRUCTION_CHARS = 1000
MAX_INSTRUCTIONS_CHARS = 4000
"""Maximum length of all instructions of a source together."""

Origin = Literal["hand-written", "imported", "proposal"]
"""Who wrote an entry: a person, an import, or a program whose proposal nobody has reviewed."""
Cardinality = Literal["one-to-one", "many-to-one", "one-to-many", "many-to-many"]
Additivity = Literal["additive", "semi-additive", "non-additive"]
Weekday = Literal["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]


def _as_tuple(value: Any) -> Any:
    return (value,) if isinstance(value, str) else value


Text = Annotated[str, StringConstraints(min_length=1, max_length=2000)]
Name = Annotated[str, StringConstraints(min_length=1, max_length=200)]
Sql = Annotated[str, StringConstraints(min_length=1, max_length=10_000)]
Names = Annotated[tuple[Name, ...], BeforeValidator(_as_tuple)]
"""One name, or a list of names."""
SqlList = Annotated[tuple[Sql, ...], BeforeValidator(_as_tuple)]


class Entry(BaseModel):
    """Fields that all entries share."""

    model_config = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=True)

    origin: Origin = Field("hand-written", description="Who wrote the entry. Proposals are checked but not used.")
    imported_from: str | None = Field(None, description="File or system that an imported entry comes from.")


class ColumnEntry(Entry):
    """Facts about a column."""

    description: Text | None = Field(None, description="Meaning of the column; replaces the comment of the database.")
    synonyms: Names = Field((), description="Other names of the column, in any language.")
    unit: Name | None = Field(None, description="Unit of the values, such as `US dollars`.")
    format: Name | None = Field(None, description="Format of the values, such as `YYYYMM`.")
    labels: dict[str, Names] = Field({}, description="By stored code, its name or names, such as `W: web shop`.")
    hidden: bool = Field(False, description="Leave the column out of prompts.")
    personal: bool = Field(False, description="Never sample the values of the column.")


class TableEntry(Entry):
    """Facts about a table and its columns."""

    description: Text | None = Field(None, description="Meaning of the table; replaces the comment of the database.")
    synonyms: Names = Field((), description="Other names of the table, in any language.")
    hidden: bool = Field(False, description="Leave the table out of prompts.")
    columns: dict[str, ColumnEntry] = Field({}, description="Its columns by name.")


class JoinEntry(Entry):
    """A relationship between two tables."""

    model_config = ConfigDict(populate_by_name=True, serialize_by_alias=True)

    source: Names = Field(
        alias="from", min_length=1, description="Column, as `table.column`, or the columns of a composite key."
    )
    target: Names = Field(alias="to", min_length=1, description="The columns that they equal, as `table.column`.")
    cardinality: Cardinality = Field(
        "many-to-one", description="How many rows of `from` belong to how many rows of `to`."
    )
    description: Text | None = None


class ForbiddenJoinEntry(Entry):
    """A join that must not be used."""

    model_config = ConfigDict(populate_by_name=True, serialize_by_alias=True)

    source: Name = Field(alias="from", description="Column, as `table.column`, or table.")
    target: Name = Field(alias="to", description="Column, as `table.column`, or table.")
    reason: Text | None = Field(None, description="Why the join is wrong.")


class TermEntry(Entry):
    """A business term, defined by a condition or an expression."""

    synonyms: Names = Field((), description="Other names, in any language.")
    definition: Text = Field(description="Meaning of the term in one sentence.")
    tables: Names = Field((), description="Tables of the condition; by default those that it names.")
    condition: Sql | None = Field(None, description="SQL condition that holds for its rows.")
    expression: Sql | None = Field(None, description="SQL expression for its value.")

    @model_validator(mode="after")
    def _has_one_meaning(self) -> "TermEntry":
        if self.condition is not None and self.expression is not None:
            raise ValueError("a term has a condition or an expression, not both")
        return self


class MetricEntry(Entry):
    """A business metric."""

    synonyms: Names = Field((), description="Other names, in any language.")
    definition: Text | None = Field(None, description="Meaning of the metric in one sentence.")
    expression: Sql = Field(description="SQL expression with an aggregate function, such as `SUM(orders.amount)`.")
    filters: SqlList = Field((), description="SQL conditions on the rows that are used.")
    tables: Names = Field((), description="Tables of the metric; by default those that its SQL names.")
    date_column: Name | None = Field(None, description="Column, as `table.column`, with the date of a row.")
    unit: Name | None = None
    dimensions: Names = Field((), description="Columns, as `table.column`, by which it may be grouped; empty for any.")
    additivity: Additivity = Field("additive", description="Whether values of groups and periods may be added.")


class ChoiceEntry(Entry):
    """The meaning of a word that several terms or metrics share; a file may contain the name alone."""

    means: Name = Field(description="Name of the term or metric that the word means.")


class CalendarEntry(Entry):
    """The business calendar."""

    fiscal_year_start: int | None = Field(None, ge=1, le=12, description="First month of the fiscal year, 1 to 12.")
    fiscal_year_name: Literal["start", "end"] | None = Field(
        None, description="Whether a fiscal year has the number of the calendar year in which it starts or ends."
    )
    week_start: Weekday | None = None
    default_period: Name | None = Field(None, description="Period of a question that names none, such as `this year`.")
    reference_date: Date | None = Field(None, description="Date used as today, for data that is no longer updated.")


class InstructionEntry(Entry):
    """Free text for the prompts about the source; a file may contain the text alone."""

    text: str = Field(min_length=1, max_length=MAX_INSTRUCTION_CHARS)


class Parameter(BaseModel):
    """A parameter of a verified query."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    type: Literal["text", "number", "date"] = "text"
    example: Name = Field(description="A value with which the query can be checked.")

    @property
    def value(self) -> str | int | float:
        """The example, converted to its type."""
        if self.type != "number":
            return self.example
        return float(self.example) if "." in self.example else int(self.example)

    @model_validator(mode="after")
    def _has_valid_example(self) -> "Parameter":
        if self.type == "number" and not _NUMBER.fullmatch(self.example):
            raise ValueError(f"the example `{self.example}` is not a number")
        return self


class VerifiedEntry(Entry):
    """A question with the SQL that a person has verified."""

    question: Text
    sql: Sql = Field(description="The statement; parameters are written as `:name`.")
    parameters: dict[str, Parameter] = {}
    author: Name | None = None
    date: Date | None = Field(None, description="Day of the verification.")
    note: Text | None = None


AnyEntry = (
    TableEntry | ColumnEntry | JoinEntry | ForbiddenJoinEntry | TermEntry | MetricEntry | ChoiceEntry | CalendarEntry
    | InstructionEntry | VerifiedEntry
)  # fmt: skip


class KnowledgeFile(BaseModel):
    """A file of business knowledge; a folder may have any number of them, with any of these parts."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    origin: Origin = Field("hand-written", description="Origin of the entries of the file that state none.")
    tables: dict[str, TableEntry] = Field({}, description="Tables by name.")
    joins: tuple[JoinEntry, ...] = Field((), description="Relationships between tables.")
    forbidden_joins: tuple[ForbiddenJoinEntry, ...] = Field((), description="Joins that must not be used.")
    terms: dict[str, TermEntry] = Field({}, description="Terms by name.")
    metrics: dict[str, MetricEntry] = Field({}, description="Metrics by name.")
    choices: dict[str, ChoiceEntry] = Field({}, description="By word that several terms or metrics share, its meaning.")
    calendar: CalendarEntry | None = None
    instructions: tuple[InstructionEntry, ...] = Field((), description="Texts for all prompts about the source.")
    verified: tuple[VerifiedEntry, ...] = Field((), description="Questions with verified SQL.")


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of a knowledge file, for editors and other programs."""
    schema = KnowledgeFile.model_json_schema(by_alias=True)
    definitions = schema["$defs"]
    one_or_more = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}
    for definition in definitions.values():
        for field in definition["properties"].values():
            if field.get("type") == "array" and field["items"].get("type") == "string":
                kept = {name: field[name] for name in ("default", "description", "title") if name in field}
                field.clear()
                field.update(kept | one_or_more)
    labels = definitions["ColumnEntry"]["properties"]["labels"]
    labels["additionalProperties"] = one_or_more
    instruction = {
        "anyOf": [{"type": "string", "maxLength": MAX_INSTRUCTION_CHARS}, {"$ref": "#/$defs/InstructionEntry"}]
    }
    schema["properties"]["instructions"]["items"] = instruction
    schema["properties"]["choices"]["additionalProperties"] = {
        "anyOf": [{"type": "string"}, {"$ref": "#/$defs/ChoiceEntry"}]
    }
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
