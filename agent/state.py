"""The state of the SQL agent. Names are a contract: users' code, HTTP clients and recorded traces depend on them."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, NotRequired

from langgraph.channels import EphemeralValue
from typing_extensions import TypedDict

from agent.audit.step import Audit, merge_audit
from agent.clarify.types import Ambiguity, Clarification, Clarify, ClarifyingQuestion, Feedback, Turn
from agent.sql.result import Result

OutputType = Literal["number", "string", "dataframe", "plot"]


class Validation(TypedDict):
    """A judgement of a statement against the question."""

    is_valid: bool
    reason: str
    issues: list[str]
    corrected_sql: str | None


class ErrorInfo(TypedDict):
    """Why there is no answer: a stable code and a text in the language of the question."""

    code: str
    message: str


class AnswerTable(TypedDict):
    """A table of an answer."""

    name: str
    columns: list[str]
    rows: list[list[Any]]
    secret: NotRequired[list[int]]
    """Positions of the columns that may hold values of secret columns, which no model and no log has seen."""


def answer_table(name: str, result: Result) -> AnswerTable:
    """Return `result` as a table of an answer."""
    table = AnswerTable(name=name, columns=result["columns"], rows=result["rows"])
    return {**table, "secret": result["secret"]} if result.get("secret") else table


class AnswerChart(TypedDict):
    """A chart of an answer: `option` is an ECharts option."""

    type: str
    option: dict[str, Any]
    id: NotRequired[str]
    """What it is called where its thread is kept, until the thread is gone."""


class Input(TypedDict, total=False):
    """What a question comes with.

    All but the source is forgotten after it, so that nothing else given with it holds for the next one on the thread.
    """

    question: str
    """The question, in natural language. The one thing that is required."""
    output_type: Annotated[OutputType | None, EphemeralValue]
    """The form of answer that is wanted; left out: chosen from the result."""
    source: Annotated[str | None, EphemeralValue]
    """SQLAlchemy URL of the database to ask; left out: the configured source, or the sample shop."""
    clarify: Annotated[Clarify | None, EphemeralValue]
    """When to ask back."""
    feedback: Annotated[Feedback | None, EphemeralValue]
    """What the user says of the last answer on the thread."""
    clarification_answer: Annotated[str | None, EphemeralValue]
    """The answer to the clarifying question of the last run: an option's label or number, or own words."""
    clarification: ClarifyingQuestion | None
    """That clarifying question, as it came out, where no thread keeps it."""
    enable_sql_validation: Annotated[bool | None, EphemeralValue]
    """Whether the model checks the statement, for this question; left out: as the settings say."""


class Output(TypedDict, total=False):
    """What comes out."""

    answer: str
    """The answer in words, in the language of the question; the error's text where there is one."""
    output_type: OutputType | None
    """The form of the answer; None where there is none."""
    value: Any
    """The answer as a value: a number, a text, an `AnswerTable` or an `AnswerChart`."""
    sql: str | None
    """The statement that gave the result."""
    tables: list[AnswerTable]
    """The rows that prove the answer."""
    charts: list[AnswerChart]
    """The charts of the answer."""
    clarification: ClarifyingQuestion | None
    """The question that the user has to answer first."""
    error: ErrorInfo | None
    """Why there is no answer."""
    audit: Annotated[Audit, merge_audit]
    """What was done and what it cost."""


class State(Input, total=False):
    """The working state: the input, what each node adds, and the output."""

    given: dict[str, Any]
    """What the run began with: its input, and what it carries on from the thread; a node finds it under its names."""
    heard: bool
    """Whether the answer or the feedback that the run came with was taken in."""
    error: Any
    """Why retrieval found nothing (text), until `answer` writes the `ErrorInfo` that comes out."""
    failure: dict[str, Any] | None
    """The error that ends the question: its code and facts."""
    relevant_tables: dict[str, list[str]]
    """Tables that retrieval found, with all their columns."""
    table_counter: int
    """Tries at finding tables."""
    relevant_tables_with_rel_columns: dict[str, list[str]]
    """Tables with the columns that generation sees."""
    turns: list[Turn]
    """The questions of this conversation that were answered, oldest first."""
    follows: Turn | None
    """The turn that the question leans on, where it was rewritten to stand alone."""
    forms: list[str]
    """Follow-ups that changed only the form of the last answer, the one in hand with them."""
    rejected_sql: list[str]
    """Statements whose answer the user rejected."""
    clarifications: list[Clarification]
    """What the user has said about the question."""
    clarification_count: int
    """Clarifying questions that were put to the user."""
    readings: dict[str, str]
    """The statements of the options of the clarifying question, by label, as far as they are known."""
    ambiguities: list[Ambiguity]
    """What in the question may be read in more than one way, as far as catalog and values show it."""
    examples: list[dict[str, Any]] | None
    """Few-shot examples for generation, the most alike first; None until they are chosen, which is done once."""
    sql_request: str
    """The statement in hand."""
    compact_sql: str
    """What the embedded model wrote for it, in its own language."""
    sql_generate_count: int
    """Tries at a statement."""
    assumptions: list[str]
    """What generation assumed where the question leaves something open."""
    tried_sql: list[str]
    """Statements that the guard or the database refused, as `agent.sql.same.same_form` writes them."""
    sql_was_repaired: bool
    """Whether the statement in hand was repaired without the model, which is done once."""
    schema_was_read_again: bool
    """Whether the schema was read again for this question, which is done once."""
    stop_words: bool
    """Whether the statement holds a forbidden operation."""
    used_stop_words: list[str]
    """The forbidden operations, by name."""
    validation: Validation | None
    """The last judgement of the statement."""
    sql_validation_count: int
    """How often the statement was judged."""
    sql_request_is_valid: bool
    """Whether the statement gave rows to answer with."""
    form_was_corrected: bool
    """Whether a statement was asked for again since its rows could not have the wanted form, which is done once."""
    result: Result | None
    """The rows."""
    sql_error_info: str | None
    """Why the statement did not run, for the next try."""
    answer: str
    value: Any
    sql: str | None
    tables: list[AnswerTable]
    charts: list[AnswerChart]
    audit: Annotated[Audit, merge_audit]


CARRIED_ON = (
    "turns",
    "rejected_sql",
    "clarifications",
    "clarification",
    "clarification_count",
    "readings",
    "ambiguities",
    "relevant_tables",
    "relevant_tables_with_rel_columns",
    "result",
)
"""What a run may find of the runs before it on the thread; `agent.routes.begin` says when."""


def new_run(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the working state as a run finds it that begins with `given`: nothing else of the thread is left."""
    return {
        "heard": False,
        "error": None,
        "failure": None,
        "turns": [],
        "follows": None,
        "forms": [],
        "rejected_sql": [],
        "clarifications": [],
        "clarification": None,
        "clarification_count": 0,
        "readings": {},
        "ambiguities": [],
        "relevant_tables": {},
        "table_counter": 0,
        "relevant_tables_with_rel_columns": {},
        "examples": None,
        "sql_request": "",
        "compact_sql": "",
        "sql_generate_count": 0,
        "assumptions": [],
        "tried_sql": [],
        "sql_was_repaired": False,
        "schema_was_read_again": False,
        "stop_words": False,
        "used_stop_words": [],
        "validation": None,
        "sql_validation_count": 0,
        "sql_request_is_valid": False,
        "form_was_corrected": False,
        "result": None,
        "sql_error_info": None,
        **{name: given[name] for name in CARRIED_ON if given.get(name) is not None},
    }
