"""Plain values shared by the state, the inputs and the outputs of both graphs, without project imports.

The keys are a public contract: users' code, HTTP clients and recorded traces use them.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NotRequired, get_args

from typing_extensions import TypedDict

TABLE_SUFFIXES = (".csv", ".xlsx", ".parquet")
"""The suffixes of files for the rows of an answer."""

MASK = "***"
"""Replaces secret values in rows that a model or a log reads."""
MAX_EMBEDDED_CANDIDATES = 8


class Interval(str):
    """An interval as an ISO 8601 duration."""

    __slots__ = ()


class Result(TypedDict):
    """Rows of JSON values; `types` has the type of each column; `truncated` is True if there are more rows."""

    columns: list[str]
    types: list[str]
    rows: list[list[Any]]
    truncated: bool
    secret: NotRequired[list[int]]
    """Positions of the columns that contain, or may contain, values of secret columns; absent if there are none."""
    formats: NotRequired[list[dict[str, Any]]]
    """The format of each column, as `kind`, `decimals` and `unit`; see `datasphinx.agent.formatting.formats`."""
    additive: NotRequired[list[int]]
    """Positions of the columns whose sum means something."""


def masked_rows(rows: Sequence[Sequence[Any]], secret: Collection[int]) -> list[list[Any]]:
    """Return `rows` with every value except NULL replaced by `MASK` in the columns at the positions `secret`."""
    return [[MASK if at in secret and value is not None else value for at, value in enumerate(row)] for row in rows]


def masked(result: Result) -> Result:
    """Return `result` without the values of secret columns, for a model or a log."""
    secret = result.get("secret")
    return {**result, "rows": masked_rows(result["rows"], set(secret))} if secret else result


class QueryCondition(TypedDict):
    """A condition on the rows of a query: the words for a column, an operator, and the values it is compared with."""

    column: str
    operator: str
    """`= ≠ < ≤ > ≥`, `between`, `during` (first and last day), `month` (of any year, by number), `contains`,
    `contains all`, `lacks` (does not contain), `starts`, `ends`, `missing` or `present`; `first` (only the first rows
    of an order by the column); `with` and `without` (rows of a table, with these conditions); `on` (another condition,
    with the names of its columns). `not` before one of them negates it.

    `=` and `contains` with several values mean one of them, and `≠` and `lacks` none of them."""
    values: list[Any]
    figure: NotRequired[str]
    """Of a figure of groups, which one of the column: `sum`, `avg`, `min`, `max` or `distinct_values`, or `count` of
    the rows of a table; empty for one whose name is `column`."""
    are_meanings: NotRequired[bool]
    """Whether the values are the meanings of codes, such as "yes", which do not say of what."""
    are_columns: NotRequired[bool]
    """Whether the values are the words for columns."""
    or_missing: NotRequired[bool]
    """Whether rows without a value meet it too."""
    descends: NotRequired[bool]
    """Of the first rows, whether the highest come first."""
    groups: NotRequired[list[str]]
    """The columns by whose values the first rows are taken."""


class QuerySummary(TypedDict):
    """What a query returns, in words and positions of its outputs."""

    keys: list[int]
    """The indexes of the outputs that name the groups."""
    conditions: list[QueryCondition]
    more_conditions: bool
    """Whether it has conditions without words: on secret columns, or in queries that are united."""


class KeptResult(TypedDict):
    """The result of a query of the analyst, with its statement and query spec."""

    sql: str
    result: Result
    summary: QuerySummary
    query: NotRequired[dict[str, Any]]
    """The query spec as JSON, from which later queries over this result are computed."""
    repeated: NotRequired[list[str]]
    """The columns that hold values of a row several times, because of a join; they cannot be aggregated."""


class EarlierResult(TypedDict):
    """A result of an earlier question of a conversation: its query, from which later queries compute it again."""

    question: str
    columns: list[str]
    query: dict[str, Any]
    repeated: list[str]
    """As in `KeptResult`."""


@dataclass(frozen=True)
class Limits:
    """Limits of one statement: seconds, rows and bytes of its result, megabytes of memory in a worker process.

    `max_bytes_billed` limits the bytes that BigQuery bills for a statement; None: no limit.
    """

    timeout_s: float
    row_limit: int
    byte_limit: int = 50_000_000
    memory_mb: int = 1024
    max_bytes_billed: int | None = None


OutputType = Literal["number", "string", "dataframe", "plot"]


ChartType = Literal["line", "bar", "pie", "scatter", "area", "heatmap", "histogram"]


class ChartForm(TypedDict, total=False):
    """A chart as a model asks for it: columns of the result by name."""

    type: ChartType
    x: str
    y: list[str]
    series: str | None
    stacked: bool
    horizontal: bool


class AnswerForm(TypedDict, total=False):
    """How the answer of one statement is worded and shown, as the model that wrote the statement proposes it.

    Its texts refer to values of the rows, which did not exist yet; see `datasphinx.agent.answers.references`.
    """

    answer: list[str]
    """One or two sentences with references; the second one only adds."""
    empty_answer: str
    """The sentence for no rows, only NULL, or a count of 0."""
    formats: dict[str, str]
    """Formats of output columns that their types do not say; see `datasphinx.agent.formatting.formats`."""
    chart: ChartForm | None
    follow_ups: list[str]
    """Further questions that the tables can answer."""


class Validation(TypedDict):
    """A validation of a statement against the question."""

    is_valid: bool
    reason: str
    issues: list[str]
    corrected_sql: str | None
    problem: NotRequired[str]
    """Why a correction cannot run, which is left out."""
    form: NotRequired["AnswerForm"]
    """That of the answer of `corrected_sql`."""


class Evidence(TypedDict, total=False):
    """Facts about a generated statement from which the confidence in it is estimated; absent keys are unknown."""

    logprob: float
    """The natural logarithm of its probability under the model."""
    violations: int
    """Number of parts of the question that it leaves out, and of texts in it that the question does not support."""
    unused_values: list[str]
    """Phrases of the question that name stored values, none of which is in it."""
    agreement: float
    """The share of the statements written for the question, by probability, that have its result, from 0 to 1."""
    rivals: list[str]
    """The statements written for the question that have other results, the most likely one first."""
    gives_rows: bool
    """Whether it returns rows other than a single row of NULL."""
    findings: int
    """Number of warnings of the static checks, and of figures that the question asks for and it lacks.

    With any, the answer is presented as not sure.
    """
    is_confirmed: bool
    """The verdict of the validation by a model."""


Origin = Literal["model", "metric", "candidate", "verified", "option", "earlier", "repair", "validation", "user"]
Outcome = Literal[
    "refused", "unknown name", "failed", "wrong form", "unstored values", "corrected", "objected", "not used"
]


class Attempt(TypedDict):
    """A statement for the question, and what became of it."""

    sql: str
    origin: Origin
    """Who wrote it: "metric" if it was made of declared metrics that the model named, "candidate" for the model, to
    compare the results, "user" for a person who edited the state, "earlier" for the statement of an earlier answer."""
    outcome: Outcome | None
    """Why it is no answer: refused by the guard, failed in the database, for an unknown name or otherwise, its rows
    have another form than requested, it compares with values that are not stored, validation corrected it or objected
    to it, or it is a verified query that failed; None otherwise."""
    problem: NotRequired[str]
    """The same in words, for the next attempt: its kind is the outcome, and its names are in the words."""
    objection: NotRequired[str]
    """Why validation judged it wrong, in the words of the model."""
    form: NotRequired[AnswerForm]
    """How its answer is worded and shown, if its writer said so."""
    evidence: NotRequired[Evidence]
    """Facts from which the confidence in it is estimated."""
    is_validated: NotRequired[bool]
    """Whether the model was asked to validate it."""
    verified: NotRequired["VerifiedAnswer"]
    """The verified query that it is."""
    doubts: NotRequired[list[str]]
    """Reasons to validate it, besides those found in the statement itself."""


class Confidence(TypedDict):
    """The confidence in an answer."""

    value: float
    """The estimated probability that the answer is right, from 0 to 1."""
    word: str
    """How far the answer can be trusted, in the language of the question."""
    reason: str
    """The main reasons against the answer, or for it if there are none."""


Status = Literal["ok", "unsure", "clarification", "error"]
"""How a run ended: with an answer, a draft of one, a clarifying question or an error."""


class ErrorInfo(TypedDict):
    """An error: a stable code and a text in the language of the question."""

    code: str
    message: str
    tables: NotRequired[list[str]]
    """Names of some tables that can be asked about, if the question is not about the data."""


class AnswerTable(TypedDict):
    """A table of an answer."""

    name: str
    columns: list[str]
    rows: list[list[Any]]
    secret: NotRequired[list[int]]
    """Positions of the columns that may contain secret values, which were not passed to models and logs."""
    formats: NotRequired[list[dict[str, Any]]]
    """As in `Result`; absent in answers of earlier versions."""
    additive: NotRequired[list[int]]


class AnswerChart(TypedDict):
    """A chart of an answer: `option` is an ECharts option."""

    type: str
    option: dict[str, Any]
    id: NotRequired[str]
    """The id of the chart on a stored thread, valid as long as the thread."""


Effort = Literal["low", "medium", "high"]
"""How many model calls a question may cost."""
EmbeddedModel = Literal["base", "large"]

Clarify = Literal["never", "auto", "always"]
"""When to ask clarifying questions."""


class Preview(TypedDict):
    """The result of a reading: the number of rows, 0 for a single row of NULL, and the first value of the first row."""

    rows: int
    more: bool
    """Whether there are more rows than counted."""
    first: Any
    format: NotRequired[dict[str, Any]]
    """The format of `first`, as in `Result`; absent in questions of earlier versions."""


class Option(TypedDict):
    """One option of a clarifying question; `preview` is None if no statement was executed for it."""

    label: str
    reading: str
    preview: Preview | None


class Alternative(Option):
    """Another statement for the question of a draft, with its result."""

    sql: str


class Clarification(TypedDict):
    """The user's answer to a clarifying question, or a remark if `question` is empty."""

    question: str
    answer: str
    ambiguity_type: NotRequired[str]
    options: NotRequired[list[str]]
    """The labels of the options."""
    results: NotRequired[list[str]]
    """The hashes of the options' results; absent unless all are known."""


def clarified(clarification: Clarification) -> str:
    """Return a clarifying question and its answer as a line of a prompt; to own words belong the options.

    >>> clarified({"question": "Which year?", "answer": "both", "options": ["2024", "2025"]})
    'Clarified: Which year? (1. 2024; 2. 2025) - both'
    """
    asked, answer, options = clarification["question"], clarification["answer"], clarification.get("options", ())
    if not asked:
        return f"The user remarks: {answer}"
    shown = "; ".join(f"{number}. {label}" for number, label in enumerate(options, start=1))
    is_chosen = any(answer == label or answer.startswith(f"{label}: ") for label in options)
    return f"Clarified: {asked}{f' ({shown})' if shown and not is_chosen else ''} - {answer}"


class ClarifyingQuestion(TypedDict):
    """A multiple-choice question to the user, who may also answer in free text.

    It contains the state needed to continue without a thread: send it back unchanged, together with the answer.
    """

    question: str
    ambiguity_type: str
    options: list[Option]
    about: str
    """The user's question that it refers to."""
    language: NotRequired[str]
    """The code of its language; absent in questions of earlier versions."""
    earlier: list[Clarification]
    """Earlier answers and remarks of the user."""
    rejected_sql: list[str]
    """Statements whose answers the user rejected."""
    results: NotRequired[list[str]]
    """The hashes of the options' results; absent unless all are known. The same results are not asked about again."""


class Feedback(TypedDict):
    """The user's feedback on an answer."""

    accepted: bool
    comment: NotRequired[str]


class AppliedDefinition(TypedDict):
    """An entry of the business knowledge that a statement uses."""

    name: str
    kind: str
    """`metric`, `term` or `label`."""
    definition: str
    place: str
    """The file and line of the entry, as `knowledge/shop/metrics.yml:12`."""


class VerifiedAnswer(TypedDict):
    """The verified query that answered a question, and its parameters, taken from the literals of the question."""

    question: str
    """The verified question."""
    parameters: dict[str, str | int | float]
    author: str | None
    date: str | None
    """Day of the verification, in ISO 8601."""
    note: str | None
    place: str
    """The file and line of the entry, as `knowledge/shop/verified.yml:4`."""


class Exchange(TypedDict):
    """What the user said about an answer, and a reply without data."""

    question: str
    answer: str


class Turn(TypedDict):
    """An answered question of a conversation, in its standalone form, with its statement.

    Turns of earlier versions lack the later keys.
    """

    question: str
    sql: str
    answer: str
    clarifications: list[Clarification]
    source: NotRequired[str]
    """The source, without its password."""
    trace_id: NotRequired[str]
    """The trace id of the run that answered it."""
    forms: NotRequired[list[str]]
    """Follow-ups that only changed the form of the answer, oldest first."""
    output_type: NotRequired[OutputType | None]
    form: NotRequired[AnswerForm]
    """How the answer is worded and shown, without further questions."""
    follow_ups: NotRequired[list[str]]
    """The further questions that were shown."""
    columns: NotRequired[list[str]]
    """The names of the columns of its rows."""
    assumptions: NotRequired[list[str]]
    language: NotRequired[str]
    """The code of the language of the answer."""
    replies: NotRequired[list[Exchange]]
    """What was said about the answer, oldest first."""


class PlannedChange(TypedDict):
    """A change of a metric from one period to another, to be broken down by the members of dimensions."""

    metric: str
    """The name of a declared metric, or empty, with `expression`: an aggregate of columns as `table.column`."""
    expression: str
    date_column: str
    first: tuple[str, str]
    """The first day of the period and the day after its last one."""
    second: tuple[str, str]
    dimensions: list[str]
    filters: list[str]


class PlannedQuestion(TypedDict):
    """A question of a report; ids are "q1", "q2" and so on."""

    id: str
    question: str
    purpose: str
    """What the report needs the answer for."""
    change: NotRequired[PlannedChange]
    """The change that it asks about, if code breaks it down instead of a statement of the model."""


class ReportPart(PlannedQuestion):
    """A question of a report with the outcome of its run."""

    trace_id: str
    """The trace id of its run; empty if it did not start."""
    status: Status
    answer: str
    """The text of its answer without tables, or of its error."""
    sql: str | None
    result: Result | None
    """The rows that figures of the report come from."""
    chart: AnswerChart | None
    filters: list[str]
    """The filters of the statement in words."""
    remarks: list[str]
    """What its answer assumes, and what limits it."""
    clarification: ClarifyingQuestion | None
    error: ErrorInfo | None


class ReportFigure(TypedDict):
    """A value in a text of a report: its place, and the rows of a part that it comes from, from 0."""

    start: int
    end: int
    part: str
    rows: list[int]


class ReportText(TypedDict):
    """A checked text of a report."""

    text: str
    figures: list[ReportFigure]


class ReportSection(TypedDict):
    """A section of a report: its title, its text, and the ids of the parts whose rows it shows."""

    title: str
    text: ReportText
    parts: list[str]


ReportSuffix = Literal["html", "md", "json", "pdf"]
REPORT_SUFFIXES = tuple(f".{suffix}" for suffix in get_args(ReportSuffix))
"""The endings of the names of files with reports."""


class Report(TypedDict):
    """A report: every figure in its texts comes from the rows of a part."""

    title: str
    summary: ReportText
    sections: list[ReportSection]
    parts: list[ReportPart]
    """All questions that were asked, also those without an answer."""
    limits: list[ReportText]
    """What was not found, contradictions, and what the answers assume."""


@dataclass(frozen=True)
class EmbeddedOptions:
    """Decoding options of the embedded model."""

    adapter: bool = True
    """Whether the trained adapter is used, in contrast to the base model."""
    candidates: int = 3
    """Number of candidate statements per question, from 1 to 8, of which the most likely is selected."""
