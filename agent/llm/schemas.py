"""Schemas of the structured answers of a model.

Names and fields are a stable interface: recorded runs and other tools rely on them.
Docstrings and descriptions are part of the prompts.
"""

import json
from typing import Any, Literal

from pydantic import BaseModel, Field, field_validator


class TableSelection(BaseModel):
    """Which tables are needed to answer; none when the question is not about this data."""

    tables: list[str] = Field(description="names of the tables, as given")
    reason: str = Field("", description="one sentence")


class TableColumns(BaseModel):
    """Columns of one table."""

    table: str
    columns: list[str]


class ColumnSelection(BaseModel):
    """Which columns of which tables are needed."""

    tables: list[TableColumns]


class GeneratedSQL(BaseModel):
    """A statement that answers the question."""

    sql: str = Field(description="one SELECT statement; empty when off_topic")
    assumptions: list[str] = Field(
        default_factory=list, description="what was assumed where the question leaves it open"
    )
    off_topic: bool = Field(False, description="true when the tables cannot answer the question at all")


class SQLValidation(BaseModel):
    """A judgement of a statement against the question."""

    is_valid: bool = Field(description="true when the statement answers the question as it stands")
    reason: str = Field("", description="one sentence")
    issues: list[str] = Field(default_factory=list, description="what is wrong, an item each")
    corrected_sql: str | None = Field(None, description="the whole corrected statement, or null")


class NarratedAnswer(BaseModel):
    """An answer in words."""

    answer: str
    output_type: Literal["number", "string", "dataframe", "plot"]


class StandaloneQuestion(BaseModel):
    """A question of a conversation, as it reads without those before it."""

    question: str = Field(description="the question, complete, in the language of the new one")


class ReadingOption(BaseModel):
    """One reading of an ambiguous question."""

    label: str = Field(description="a few words of the user's, no SQL")
    reading: str = Field(description="what the question then means, one sentence, no SQL")
    sql: str | None = Field(None, description="one SELECT statement that answers this reading, if it can be written")


class AmbiguityReview(BaseModel):
    """What is still ambiguous in a question, and the question that would settle it."""

    summary: str = Field(description="what is clear by now, one or two sentences")
    no_ambiguity: bool = Field(description="true where every reading that is left gives the same result")
    ambiguity_type: Literal["AmbQuestion", "AmbTableColumn", "AmbOutput", "AmbValue"] | None = None
    question: str | None = Field(None, description="one question to the user, in the language of theirs, no SQL")
    options: list[ReadingOption] = Field(default_factory=list, description="two or three readings to choose from")


class AnalystStep(BaseModel):
    """The next step of an analysis: the call of one tool."""

    tool: str = Field(description="the name of a tool")
    arguments: str = Field("{}", description="its arguments: a JSON object, as text")

    @field_validator("arguments", mode="before")
    @classmethod
    def _as_text(cls, value: Any) -> Any:
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
