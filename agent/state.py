"""States of the graphs. The keys are a public contract: users' code, HTTP clients and recorded traces use them."""

from collections.abc import Callable, Mapping
from functools import cache
from types import UnionType
from typing import Annotated, Any, NotRequired, Union, get_origin, get_type_hints

from langchain_core.messages import AnyMessage, BaseMessage, convert_to_messages
from langgraph.channels import EphemeralValue
from typing_extensions import TypedDict

from datasphinx.agent.record.step import Audit, merge_audit
from datasphinx.agent.types import (
    Alternative,
    AnswerChart,
    AnswerTable,
    AppliedDefinition,
    Attempt,
    Clarification,
    Clarify,
    ClarifyingQuestion,
    Confidence,
    EarlierResult,
    Effort,
    ErrorInfo,
    Evidence,
    Feedback,
    KeptResult,
    OutputType,
    PlannedQuestion,
    Report,
    ReportPart,
    Result,
    Status,
    Turn,
    Validation,
    VerifiedAnswer,
)

CARRIED_ON = (
    "turns",
    "follows",
    "rejected_sql",
    "clarifications",
    "clarification",
    "clarification_count",
    "readings",
    "language",
    "relevant_tables",
    "relevant_tables_with_rel_columns",
    "table_list_tokens",
    "result",
    "earlier_results",
    "plan",
    "parts",
)
"""Keys that a run may take over from earlier runs of its thread; see `datasphinx.nodes.begin`."""


def messages_of(value: Any) -> list[BaseMessage]:
    """Return messages in any form that LangChain reads; an empty list if `value` has another form."""
    try:
        return convert_to_messages(value if isinstance(value, list) else [value])
    except (NotImplementedError, ValueError, TypeError, KeyError):
        return []


def add_messages(earlier: Any, added: Any) -> Any:
    """Return the messages of a thread with `added`, as LangGraph's reducer; what is no message is left out."""
    from langgraph.graph.message import add_messages

    return add_messages(messages_of(earlier), messages_of(added))  # type: ignore[arg-type]


Messages = Annotated[list[AnyMessage] | None, add_messages]
"""The messages of a chat on a thread; absent until an input contains some."""


class AnalystContext(TypedDict, total=False):
    """The context of the analyst's runs, set by a LangGraph assistant or with the run.

    Its values are defaults: inputs take precedence, and on a thread the data of the conversation.
    """

    model: str | None
    """The model, instead of that of the settings: one that the settings name, or have a price for."""
    source: str | None
    """The name of the source."""
    clarify: Clarify | None
    """When to ask clarifying questions."""


class Context(AnalystContext, total=False):
    """The context of the SQL agent's runs."""

    effort: Effort | None
    """How many model calls a question may cost."""


class RunInput(TypedDict, total=False):
    """The input of all graphs. Everything except the question applies to one question only, unless it says so."""

    question: str
    """The question, in natural language. Required, unless `messages` contains it."""
    messages: Messages
    """Instead of a question, the messages of a chat: the last one of the user is the question."""
    output_type: Annotated[OutputType | None, EphemeralValue]
    """The requested form of the answer; by default, chosen from the result."""
    source: Annotated[str | None, EphemeralValue]
    """The SQLAlchemy URL or name of the source."""
    clarify: Annotated[Clarify | None, EphemeralValue]
    """When to ask clarifying questions."""
    clarification_answer: Annotated[str | None, EphemeralValue]
    """The answer to the clarifying question of the last run: the label or number of an option, or free text."""
    clarification: ClarifyingQuestion | None
    """That clarifying question, unchanged, if it is not stored on a thread."""


class Input(RunInput, total=False):
    """The input of the SQL agent; by default, the source is the configured one or the sample shop.

    Everything except the source applies to one question only, and is not kept for the next one on the thread.
    """

    feedback: Annotated[Feedback | None, EphemeralValue]
    """The user's feedback on the last answer of the thread."""
    enable_sql_validation: Annotated[bool | None, EphemeralValue]
    """Whether the model validates the statement; by default, as the settings say."""
    effort: Annotated[Effort | None, EphemeralValue]
    """How many model calls the question may cost; by default, as the settings say."""
    sql_only: Annotated[bool | None, EphemeralValue]
    """Whether the statement is written and checked, but not executed; no clarifying question is asked then."""


class AnalystInput(RunInput, total=False):
    """The input of the analyst: at least one file, dataset or source.

    The tables of a source are the datasets. The data of a question are kept for the next one on the thread.
    """

    files: Annotated[list[str] | None, EphemeralValue]
    """The files to analyse: paths or ids of stored files."""
    load: Annotated[dict[str, Any] | None, EphemeralValue]
    """How to read the files: the fields of `datasphinx.agent.datasets.options.LoadOptions`; the rest is detected."""
    datasets: Annotated[list[str] | None, EphemeralValue]
    """The ids of the datasets to analyse."""


class ReportInput(AnalystInput, total=False):
    """The input of the report graph: a request, and files, datasets or a source; by default, the configured source."""

    effort: Annotated[Effort | None, EphemeralValue]
    """How many model calls each question may cost; by default, as the settings say."""
    approve_plan: Annotated[bool | None, EphemeralValue]
    """Whether the user is asked to approve the plan before its questions are answered."""
    questions: Annotated[list[str] | None, EphemeralValue]
    """The questions to answer, instead of a plan of the model; with the answer to the question about a plan, an edited
    plan."""


class Output(TypedDict, total=False):
    """The output of all graphs."""

    answer: str
    """The answer in the language of the question, or the text of the error."""
    language: str
    """The code of that language, English for one without texts."""
    output_type: OutputType | None
    """The form of the answer; None if there is no answer."""
    value: Any
    """The value of the answer: a number, a text, an `AnswerTable` or an `AnswerChart`."""
    sql: str | None
    """The executed statement."""
    tables: list[AnswerTable]
    """The result rows behind the answer."""
    charts: list[AnswerChart]
    """The charts of the answer."""
    confidence: Confidence | None
    """The confidence in the answer; None if none was fitted, or there is no answer."""
    status: Status
    """Whether the run ended with an answer, a draft with low confidence, a clarifying question or an error."""
    alternatives: list[Alternative]
    """The other statements for the question of a draft that have other results, with these; empty for other answers."""
    clarification: ClarifyingQuestion | None
    """The open clarifying question."""
    definitions: list[AppliedDefinition]
    """The entries of the business knowledge that the statement uses; empty for the analyst."""
    filters: list[str]
    """The filters of the statement in words, without those that assumptions, definitions or `verified` state."""
    checked: bool
    """Whether a model compared the statement with the question and confirmed it."""
    metric: bool
    """Whether the statement was made of declared metrics of the business knowledge, which the model named."""
    chosen: bool
    """Whether the statement is that of the option which the user chose."""
    verified: VerifiedAnswer | None
    """The verified query that answered the question; None if a model wrote the statement."""
    follow_ups: list[str]
    """Questions that the model proposes to ask next; empty for the analyst."""
    title: str
    """The title that the model gives a conversation with its first question; empty for other questions."""
    error: ErrorInfo | None
    """The error, if there is no answer."""
    audit: Annotated[Audit, merge_audit]
    """The steps of the run and their cost."""


class GraphOutput(Output, total=False):
    """The output of a compiled graph."""

    messages: Messages
    """The messages of the chat with the answer; absent if no input on the thread contained messages."""


class ReportOutput(GraphOutput, total=False):
    """The output of the report graph; its `answer` is the report as Markdown."""

    report: Report | None
    """The report; None if there is none, or the user is asked something."""


class RunState(TypedDict, total=False):
    """What the nodes of all graphs read besides the input. The last node writes the keys of `Output`."""

    given: dict[str, Any]
    """The input of the run, which its own keys hold for one step only, and the keys taken over from the thread.

    Nodes read them as state keys."""
    failure: dict[str, Any] | None
    """The error that ends the question: its code and attributes."""
    error: Any
    """The reason why no table was found (text), until the last node sets the `ErrorInfo` of the output."""
    language: str
    """The code of the language of the answer."""
    turns: list[Turn]
    """The answered questions of this conversation, oldest first."""
    clarifications: list[Clarification]
    """The user's answers and remarks about the question."""
    clarification_count: int
    """Number of clarifying questions put to the user."""
    reply: str
    """A text of the model in place of an answer: a courtesy, a definition, or what the data can say."""
    audit: Annotated[Audit, merge_audit]


class State(Input, RunState, total=False):
    """The working state of the SQL agent: the input, and the intermediate results of the nodes."""

    other_sources: dict[str, list[str]]
    """Sources besides the chosen one that the question may be about, with the words that only their tables have."""
    relevant_tables: dict[str, list[str]]
    """The retrieved tables, with all their columns."""
    table_counter: int
    """Number of attempts to retrieve tables."""
    relevant_tables_with_rel_columns: dict[str, list[str]]
    """The tables and columns shown to generation."""
    table_list_tokens: int
    """Token limit of a list of all tables and columns in prompts, so that a statement may use any; 0 for no list."""
    follows: Turn | None
    """The turn before a question that may continue it."""
    follow_ups: list[str]
    """Questions that the model proposes with a `reply`."""
    forms: list[str]
    """Follow-ups that only changed the form of the last answer, including the current one."""
    rejected_sql: list[str]
    """Statements whose answers the user rejected."""
    readings: dict[str, Attempt]
    """The statements of the options of the clarifying question, by label, if available."""
    examples: list[dict[str, Any]] | None
    """Few-shot examples for generation, most similar first; None until they are selected, once per question."""
    sql_request: str
    """The current statement."""
    sql_generate_count: int
    """Number of attempts to generate a statement."""
    attempts: list[Attempt]
    """The statements for the question, oldest first; the last one is `sql_request`, unless a person edited that."""
    title: str
    """The title that the model gives the conversation."""
    not_answered: list[str]
    """The parts of the question that the statement leaves out, in the words of its writer."""
    assumptions: list[str]
    """Assumptions of generation about the question."""
    proposed_output_type: OutputType | None
    """The output type that generation proposes; it is used if the rows allow it and the user requested none."""
    stop_words: bool
    """Whether the statement contains a forbidden operation."""
    used_stop_words: list[str]
    """The forbidden operations, by name."""
    validation: Validation | None
    """The last validation of the statement."""
    sql_validation_count: int
    """Number of validations."""
    sql_request_is_valid: bool
    """Whether the statement returned a usable result."""
    result: Result | None
    """The result rows."""
    sql_error_info: str | None
    """The error of the statement, for the next attempt."""


class ToolCall(TypedDict):
    """A planned tool call; `is_given` if it follows from the files of the question and was not chosen by the model."""

    tool: str
    arguments: str
    is_given: bool


class Observation(TypedDict):
    """A completed tool call: its normalised arguments and the content reported to the model, both JSON values."""

    tool: str
    arguments: dict[str, Any]
    content: dict[str, Any]
    failed: bool


class DrawnChart(TypedDict):
    """A chart of the answer with its spec, from which a PNG can be drawn."""

    result_id: str
    spec: dict[str, Any]
    chart: AnswerChart


class Conclusion(TypedDict):
    """The conclusion of the model: its text, and the results that contain the answer, the main one first."""

    answer: str
    result_ids: list[str]
    output_type: NotRequired[OutputType | None]
    """The output type that the model proposes."""
    formats: NotRequired[dict[str, str]]
    """The formats of columns that it proposes."""


class AnalystState(AnalystInput, RunState, total=False):
    """The working state of the analyst: the input, and the intermediate results of the nodes."""

    file_ids: list[str]
    """The ids of the files that tools may read."""
    dataset_ids: list[str]
    """The ids of the datasets that tools may read."""
    pending: list[ToolCall]
    """The next calls: those that follow from the files and datasets, and the further calls of a reply."""
    call: ToolCall | None
    """The next call."""
    step_count: int
    """Number of calls chosen by the model."""
    observations: list[Observation]
    """The completed calls, oldest first."""
    results: dict[str, KeptResult]
    """The results by id."""
    earlier_results: dict[str, EarlierResult]
    """The queries of results of earlier questions of the conversation, by id, oldest first."""
    drawn: list[DrawnChart]
    """The charts, oldest first."""
    notes: dict[str, list[str]]
    """Notes for the reader of the answer, by the dataset or result that they are about."""
    conclusion: Conclusion | None
    """The conclusion of the model, at the end of the analysis."""
    evidence: Evidence
    """What is known about the query of the embedded model, to estimate the confidence in it."""
    rejected: dict[str, Any] | None
    """The end of the analysis if a draft was returned to the model and no better one follows; at most once."""


class ReportState(ReportInput, RunState, total=False):
    """The working state of the report graph: the input, and the intermediate results of the nodes."""

    dataset_ids: list[str]
    """The ids of the datasets that the questions are about; empty for a source."""
    plan: list[PlannedQuestion]
    """The questions of the report."""
    parts: dict[str, ReportPart]
    """The outcomes of the questions of `plan` that were asked, by id."""
    review_count: int
    """Number of reviews of the answers."""


def new_run(state: type, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the initial working state of a run with `inputs`; all other keys of the thread are reset.

    A key of `state` that is no input begins with the empty value of its type, or with None.
    """
    carried_on = {name: inputs[name] for name in CARRIED_ON if inputs.get(name) is not None}
    return {**{name: empty() for name, empty in _empty_values(state).items()}, **carried_on}


@cache
def _empty_values(state: type) -> dict[str, Callable[[], Any]]:
    """Return what makes the empty value of each key of `state` that is no input.

    This is false, 0, "", [] or {}; None for a union and for any type.
    """
    inputs_only = {*Input.__annotations__, *ReportInput.__annotations__} - {"clarification"}
    hints = {name: hint for name, hint in get_type_hints(state).items() if name not in inputs_only}
    kinds = {name: get_origin(hint) or hint for name, hint in hints.items()}
    return {name: (lambda: None) if kind in (UnionType, Union, Any) else kind for name, kind in kinds.items()}
