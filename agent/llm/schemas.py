"""Schemas of the structured answers of a model.

Names and fields are a stable interface: recorded runs and other tools rely on them.
Docstrings and descriptions are part of the prompts.
"""

import json
import re
from datetime import date
from typing import Annotated, Any, ClassVar, Literal, cast, get_args, get_origin

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
    WithJsonSchema,
    field_validator,
    model_validator,
)
from pydantic.json_schema import SkipJsonSchema

from datasphinx.agent.llm.json_text import json_text_of
from datasphinx.agent.messages import LANGUAGES, Language
from datasphinx.agent.types import AnswerForm, ChartForm, OutputType

_OTHER_NAMES = {
    "sql": ("query", "sql_query", "sqlquery", "statement", "sql_statement"),
    "corrected_sql": ("corrected_query", "correctedsql", "corrected_statement"),
    "is_valid": ("valid", "isvalid"),
    "off_topic": ("offtopic", "is_off_topic"),
    "tool": ("name", "function", "tool_name"),
    "arguments": ("args", "parameters", "input", "tool_input"),
}
"""Field names that models use instead of those of the schema, in lower case."""


class Lenient(BaseModel):
    """Base of the answers: accepts other names of fields, null for a default, and one string for a list of strings."""

    reasoning_fields: ClassVar[tuple[str, ...]] = ()
    """Fields in which a model reasons before it answers; a model that returns reasoning is not asked for them."""

    @model_validator(mode="before")
    @classmethod
    def _in_standard_form(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        by_name = {re.sub(r"[\s-]", "_", str(name)).lower(): item for name, item in value.items()}
        answer: dict[str, Any] = {}
        for name, field in cls.model_fields.items():
            names = (name, *_OTHER_NAMES.get(name, ()))
            present = [alias for alias in names if by_name.get(alias) is not None]
            if present:
                item = by_name[present[0]]
                if field.annotation == list[str]:
                    parts = [part for part in (item if isinstance(item, list) else [item]) if part]
                    item = ["; ".join(map(str, part.values())) if isinstance(part, dict) else part for part in parts]
                elif isinstance(item, list) and len(item) == 1 and get_origin(field.annotation) is not list:
                    (item,) = item
                answer[name] = item
            elif name in by_name and field.is_required():
                answer[name] = None
        return answer


class TableSelection(Lenient):
    """Which tables are needed to answer; none when the question is not about this data."""

    tables: list[str] = Field(description="names of the tables, as given")
    reason: str = Field("", description="when empty: what they lack, one sentence in the language of the question")


class TableColumns(Lenient):
    """Columns of one table."""

    table: str
    columns: list[str]


class ColumnSelection(Lenient):
    """Which columns of which tables are needed."""

    tables: list[TableColumns]


def _texts(value: Any) -> list[str]:
    """Return the texts of a list in any form."""
    parts = value if isinstance(value, list) else [value]
    return [part.strip() for part in parts if isinstance(part, str) and part.strip()]


def _text(value: Any) -> str:
    """Return a text; empty if `value` is none."""
    return next(iter(_texts(value)), "")


def _is_pair(value: Any) -> bool:
    return isinstance(value, dict) and value.keys() == {"column", "format"}


def _formats_by_column(value: Any) -> dict[str, str]:
    """Return formats as a dict; a model writes a list of `column: format`, of objects, or an object."""
    if isinstance(value, dict) and not _is_pair(value):
        return {str(name): each.strip() for name, each in value.items() if isinstance(each, str)}
    items = value if isinstance(value, list) else [value]
    texts = [f"{item['column']}: {item['format']}" if _is_pair(item) else item for item in items]
    pairs = [part.rpartition(":") for part in _texts(texts)]
    return {name.strip(): each.strip() for name, _, each in pairs if name.strip() and each.strip()}


_TextsByColumn = Annotated[
    dict[str, str],
    BeforeValidator(_formats_by_column),
    WithJsonSchema({"type": "array", "items": {"type": "string"}}),
]


def _chart_or_none(value: Any) -> ChartForm | None:
    """Return a chart of columns of the result; None if it is not one."""
    if not isinstance(value, dict):
        return None
    try:
        return _CHART.validate_python({**value, "y": _texts(value.get("y"))})
    except ValidationError:
        return None


_CHART: TypeAdapter[ChartForm] = TypeAdapter(ChartForm)


FORM_FIELDS = frozenset(AnswerForm.__annotations__)


def _form_last(schema: dict[str, Any]) -> None:
    """Move the fields of the form behind those of the statement: a model writes the statement first."""
    properties = schema["properties"]
    schema["properties"] = {
        **{name: field for name, field in properties.items() if name not in FORM_FIELDS},
        **{name: field for name, field in properties.items() if name in FORM_FIELDS},
    }


class WithForm(Lenient):
    """Base of the answers with a statement: how its answer is worded and shown; what is malformed is left out."""

    model_config = ConfigDict(json_schema_extra=_form_last)

    answer: Annotated[list[str], BeforeValidator(_texts)] = Field(
        default_factory=list, description="one or two sentences with references; the second only adds"
    )
    empty_answer: Annotated[str, BeforeValidator(_text)] = Field(
        "", description="the sentence if there are no rows, only NULL, or a count of 0"
    )
    formats: _TextsByColumn = Field(
        default_factory=dict,
        description="`column: format` if its type does not say it: currency EUR, percent (12.5 is 12.5 %), fraction "
        "(0.125 is 12.5 %), integer, decimal 2, year, quarter, month, week, date, code, "
        "duration days (hours, minutes, seconds)",
    )
    chart: Annotated[ChartForm | None, BeforeValidator(_chart_or_none)] = Field(
        None, description="if one is asked for, or for a trend, ranking or share of more than two rows"
    )
    follow_ups: Annotated[list[str], BeforeValidator(_texts)] = Field(
        default_factory=list,
        description="up to three short questions that these tables can answer, in the user's words, with its filters",
    )

    def form(self) -> AnswerForm:
        """Return the form of the answer of the statement, without the fields that are empty."""
        return cast(AnswerForm, {name: value for name in AnswerForm.__annotations__ if (value := getattr(self, name))})


def _form_without_descriptions(schema: dict[str, Any]) -> None:
    """As `_form_last`, for a part of an answer whose own fields have the descriptions."""
    _form_last(schema)
    for name in FORM_FIELDS:
        schema["properties"][name].pop("description", None)


class ReadingOption(WithForm):
    """One reading of an ambiguous question."""

    model_config = ConfigDict(json_schema_extra=_form_without_descriptions)

    label: str = Field(description="a few words of the user's, no SQL")
    reading: str = Field(description="what the question then means, one sentence, no SQL")
    sql: str | None = Field(None, description="one SELECT statement that answers this reading, if it can be written")

    @model_validator(mode="before")
    @classmethod
    def _with_reading(cls, value: Any) -> Any:
        """Accept a label alone, which then says what is meant."""
        return {"reading": value["label"], **value} if isinstance(value, dict) and "label" in value else value


AmbiguityType = Literal["AmbQuestion", "AmbTableColumn", "AmbOutput", "AmbValue"]


def _known_output_type(value: Any) -> Any:
    """Return a common name of an output type as that of the project, and None for any other value."""
    name = value.strip().lower() if isinstance(value, str) else ""
    name = {"chart": "plot", "graph": "plot", "table": "dataframe", "text": "string"}.get(name, name)
    return name if name in get_args(OutputType) else None


ProposedOutputType = Annotated[
    OutputType | None,
    BeforeValidator(_known_output_type),
    Field(description="plot if a chart is asked for, dataframe for rows, number or string for one value or a text"),
]
"""The form of the answer that a model proposes; a value that is no output type counts as none."""


def _known_language(value: Any) -> Language | None:
    """Return the code of a supported language, English for any other; None if there is none."""
    code = value.strip().lower()[:2] if isinstance(value, str) else ""
    return code if code in LANGUAGES else "en" if code else None


QuestionLanguage = Annotated[
    Language | None,
    BeforeValidator(_known_language),
    WithJsonSchema({"type": "string", "enum": LANGUAGES}),
    Field(description="that of the question; en for any other"),
]
"""The language in which an answer is written, as the model recognises it; None if it does not say."""


PERIODS = ("day", "week", "month", "quarter", "year")
"""The periods by which metrics are grouped."""


Day = Annotated[date, WithJsonSchema({"type": "string"})]
"""A day as ISO text. Not all endpoints accept a schema with the format of a text."""


class MetricQuery(Lenient):
    """Metrics by dimensions."""

    metrics: list[str] = Field(description="`name AS output`")
    dimensions: list[str] = Field(
        default_factory=list,
        description=f"`table.column AS output`, or {', '.join(PERIODS)}; `via.table.column` where a table is reached "
        "through several",
    )
    filters: list[str] = Field(default_factory=list, description="further SQL conditions on `table.column`")
    since: Day | None = Field(None, description="first day, as 2024-12-31")
    before: Day | None = Field(None, description="day after the last")
    compared_since: Day | None = Field(None, description="first day of an earlier period, for the parts of the change")
    compared_before: Day | None = Field(None, description="day after its last")
    order: list[str] = Field(default_factory=list, description="outputs, or `output DESC`")
    limit: int | None = None


def _metric_query_or_none(value: Any) -> MetricQuery | None:
    try:
        return MetricQuery.model_validate(value)
    except ValidationError:
        return None


class GeneratedSQL(WithForm):
    """A statement that answers the question, or alternatives where the task allows them."""

    reasoning_fields = ("plan",)
    alternative_fields: ClassVar[frozenset[str]] = frozenset({"alternatives", "question", "ambiguity_type"})
    """Fields for a call that may give alternatives."""
    follow_up_fields: ClassVar[frozenset[str]] = frozenset({"standalone"})
    """Fields for a question of a conversation that is not the first one."""
    metric_fields: ClassVar[frozenset[str]] = frozenset({"metric"})
    """Fields for a question that names a declared metric."""
    first_fields: ClassVar[frozenset[str]] = frozenset({"title"})
    """Fields for the first question of a conversation."""

    plan: str = Field("", description="tables, joins, filters, groups and output columns needed; one or two sentences")
    metric: Annotated[MetricQuery | None, BeforeValidator(_metric_query_or_none)] = Field(
        None,
        description="instead of a statement: metrics of the task, or the parts of which a change of one consists; no "
        "shares, ranks within groups or conditions on their values",
    )
    sql: str = Field(description="one SELECT statement; empty when off_topic, or with alternatives or reply")
    language: QuestionLanguage = None
    standalone: str = Field(
        "", description="a question that continues the conversation, as it reads without it, in the user's words"
    )
    assumptions: list[str] = Field(
        default_factory=list, description="what was assumed where the question leaves it open"
    )
    not_answered: list[str] = Field(
        default_factory=list,
        description="parts and further questions whose answers are not in the rows; mostly empty",
    )
    output_type: ProposedOutputType = None
    off_topic: bool = Field(False, description="true when the tables cannot answer the question at all")
    reason: str = Field("", description="when off_topic: what the tables lack, one sentence in the question's language")
    alternatives: list[ReadingOption] = Field(
        default_factory=list, description="empty, or two or three readings, each with its statement"
    )
    question: str | None = Field(None, description="with alternatives: the question to the user that separates them")
    ambiguity_type: AmbiguityType | None = Field(None, description="with alternatives: what is ambiguous")
    reply: Annotated[str, BeforeValidator(_text)] = Field(
        "", description="instead of a statement: a courtesy, a definition, what the data cannot say; no figures"
    )
    title: Annotated[str, BeforeValidator(_text)] = Field("", description="of the conversation, up to five words")

    @field_validator("plan", mode="before")
    @classmethod
    def _as_text(cls, value: Any) -> Any:
        """Accept a plan in any form, such as a list of steps."""
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)

    @model_validator(mode="before")
    @classmethod
    def _without_statement(cls, value: Any) -> Any:
        """Accept an answer without a statement if it has something in its place, is off topic, or has a form alone."""
        others = ["alternatives", "metric", "off_topic", "reply"]
        if isinstance(value, dict) and "sql" in value:
            others += FORM_FIELDS
        may_lack_statement = isinstance(value, dict) and any(map(value.get, others))
        return {**value, "sql": value.get("sql") or ""} if may_lack_statement else value


class SQLValidation(WithForm):
    """A judgement of a statement against the question."""

    reasoning_fields = ("issues",)

    issues: list[str] = Field(default_factory=list, description="what is wrong, an item each; empty if nothing is")
    is_valid: bool = Field(description="true when the statement answers the question as it stands")
    reason: str = Field("", description="one sentence")
    corrected_sql: str | None = Field(None, description="the whole corrected statement, or null")


class NarratedAnswer(Lenient):
    """An answer in words."""

    answer: str = Field(description="the text, with references")


class CheckedText(Lenient):
    """A comparison of a text with the rows that it is about."""

    unsupported: list[str] = Field(default_factory=list, description="the statements that the rows do not show")


class FileLayout(Lenient):
    """Where the table of a file is."""

    sheet: str = Field("", description="the sheet with the table, if it is another one; the rest is then left out")
    header_row: int | None = Field(None, description="number of the first header row; 0 if there is none")
    header_rows: int = Field(1, description="how many header rows there are, one below the other")
    footer_rows: int = Field(
        0, description="how many of the last rows are no rows of the table, such as notes; up to 10"
    )


class AmbiguityReview(Lenient):
    """What is still ambiguous in a question, and the question that would settle it."""

    summary: str = Field(description="what is clear by now, one or two sentences")
    no_ambiguity: bool = Field(description="true where every reading that is left gives the same result")
    language: QuestionLanguage = None
    ambiguity_type: AmbiguityType | None = None
    question: str | None = Field(None, description="one question to the user, in the language of theirs, no SQL")
    options: list[ReadingOption] = Field(default_factory=list, description="two or three readings to choose from")


FINISH = "finish"
"""The call that ends an analysis. A reply in plain words counts as one."""


class AnalystStep(Lenient):
    """The next step of an analysis: the call of one tool."""

    tool: str = Field(description="the name of a tool")
    arguments: Annotated[str, BeforeValidator(json_text_of)] = Field(
        "{}", description="its arguments: a JSON object, as text"
    )
    further: SkipJsonSchema[list["AnalystStep"]] = Field(default_factory=list)
    """The other calls of the same reply, in order."""

    @model_validator(mode="before")
    @classmethod
    def _with_arguments(cls, value: Any) -> Any:
        """Accept arguments beside the name of the tool."""
        if not isinstance(value, dict) or not isinstance(value.get("tool"), str):
            return value
        others = {name: item for name, item in value.items() if name != "tool"}
        is_flat = not {"arguments", *_OTHER_NAMES["arguments"]} & others.keys()
        return {"tool": value["tool"], "arguments": others} if is_flat else value
