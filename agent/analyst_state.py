"""The state of the analyst. What comes out is what comes out of the SQL agent: see `agent.state.Output`."""

from collections.abc import Mapping
from typing import Annotated, Any

from langgraph.channels import EphemeralValue
from typing_extensions import TypedDict

from agent.audit.step import Audit, merge_audit
from agent.clarify.types import Clarification, Clarify, ClarifyingQuestion, Turn
from agent.state import AnswerChart, AnswerTable, OutputType
from agent.tools.tool import KeptResult


class ToolCall(TypedDict):
    """A call that is to be made; `is_given` where it follows from the question's files, and no model has chosen it."""

    tool: str
    arguments: str
    is_given: bool


class Observation(TypedDict):
    """A call that was made: its arguments in one form, and what the model was told, both as JSON holds them."""

    tool: str
    arguments: dict[str, Any]
    content: dict[str, Any]
    failed: bool


class DrawnChart(TypedDict):
    """A chart of the answer, with what it was drawn of, from which a PNG can be made."""

    result_id: str
    spec: dict[str, Any]
    chart: AnswerChart


class Conclusion(TypedDict):
    """How the model ended: its words, and the results that hold the answer, the main one first."""

    answer: str
    result_ids: list[str]


class AnalystInput(TypedDict, total=False):
    """What a question comes with. All but the question is forgotten after it."""

    question: str
    """The question, in natural language."""
    files: Annotated[list[str] | None, EphemeralValue]
    """Files to ask: paths, or ids of files that are kept."""
    datasets: Annotated[list[str] | None, EphemeralValue]
    """Datasets to ask, by id. Without any file, dataset and source there is nothing to analyse."""
    source: Annotated[str | None, EphemeralValue]
    """A database to ask in place of files: the name of a source, or its SQLAlchemy URL. Its tables are the datasets."""
    output_type: Annotated[OutputType | None, EphemeralValue]
    """The form of answer that is wanted; left out: chosen from the result."""
    clarify: Annotated[Clarify | None, EphemeralValue]
    """When to ask back."""
    clarification_answer: Annotated[str | None, EphemeralValue]
    """The answer to the clarifying question of the last run: an option's label or number, or own words."""
    clarification: ClarifyingQuestion | None
    """That clarifying question, as it came out, where no thread keeps it."""


class AnalystState(AnalystInput, total=False):
    """The working state: the input, what each node adds, and the output."""

    given: dict[str, Any]
    """What the run began with: its input, and what it carries on from the thread; a node finds it under its names."""
    heard: bool
    """Whether the answer that the run came with was taken in."""
    turns: list[Turn]
    """The questions of this conversation that were answered, oldest first."""
    failure: dict[str, Any] | None
    """The error that ends the question: its code and facts."""
    clarifications: list[Clarification]
    """What the user has said about the question."""
    clarification_count: int
    """Clarifying questions that were put to the user."""
    file_ids: list[str]
    """The files that tools may read."""
    dataset_ids: list[str]
    """The datasets that tools may read."""
    pending: list[ToolCall]
    """Calls that follow from the files and datasets, and are made before the model is asked."""
    call: ToolCall | None
    """The call that is to be made now."""
    step_count: int
    """Calls that the model has chosen."""
    observations: list[Observation]
    """The calls that were made, oldest first."""
    results: dict[str, KeptResult]
    """Rows by result id."""
    drawn: list[DrawnChart]
    """Charts, oldest first."""
    conclusion: Conclusion | None
    """How the model ended, when it has."""
    form_was_corrected: bool
    """Whether the model was told that its result cannot have the wanted form, which is done once."""
    error: Any
    answer: str
    value: Any
    sql: str | None
    tables: list[AnswerTable]
    charts: list[AnswerChart]
    audit: Annotated[Audit, merge_audit]


def new_analysis(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the working state as a run finds it that begins with `given`: nothing else of the thread is left."""
    return {
        "heard": False,
        "turns": given.get("turns") or [],
        "clarifications": [],
        "clarification_count": 0,
        "failure": None,
        "error": None,
        "clarification": None,
        "file_ids": [],
        "dataset_ids": [],
        "pending": [],
        "call": None,
        "step_count": 0,
        "observations": [],
        "results": {},
        "drawn": [],
        "conclusion": None,
        "form_was_corrected": False,
    }
