"""Every error of the project, in one file.

To add an error, define its class here and its text in `datasphinx.agent.messages`, under the class's `code`. Attributes
hold the facts that the text shows. Whether a retry may succeed is decided by the base class. A `reason` of our own is a
`Message`, so that it has the language of the text; another string is a quotation of a database or a library.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from datasphinx.agent.messages import Language, Message, render

ANSWERED, USAGE, DOMAIN, NEEDS_CLARIFICATION, UNREACHABLE = 0, 2, 3, 4, 5
"""Exit codes of the command line."""

BY_CODE: dict[str, type["DatasphinxError"]] = {}
"""The error classes by `code`."""


class DatasphinxError(Exception):
    """Base class of all errors of the project."""

    code: ClassVar[str]
    """The stable identifier of the error and the key of its text in `datasphinx.agent.messages`."""
    http_status: ClassVar[int] = 422
    """The status of an HTTP response with this error."""
    exit_code: ClassVar[int] = DOMAIN
    """The exit code of a command that ends with this error."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "code" in vars(cls):
            BY_CODE[cls.code] = cls

    def message(self, language: Language = "en") -> str:
        """Return the text for users: the problem, its place and the remedy."""
        return render(self.code, language, **self.details())

    def as_message(self) -> Message:
        """Return the text as a message, which can be the reason of another error."""
        return Message(self.code, **self.details())

    def details(self) -> dict[str, Any]:
        """Return the attributes of this error by name."""
        return {name: value for name, value in vars(self).items() if not name.startswith("_")}

    def __str__(self) -> str:
        """Return the English text, followed by the reason if the text does not contain it."""
        text, reason = self.message(), str(getattr(self, "reason", ""))
        return text if reason in text else f"{text}: {reason}"


class Retryable(DatasphinxError):
    """Retrying within the same question may succeed."""


class Terminal(DatasphinxError):
    """The question ends with this error."""


@dataclass(eq=False)
class SourceNotFound(Terminal):
    """The named source does not exist."""

    code = "source_not_found"
    http_status = 404
    exit_code = USAGE
    source: str
    reason: str


@dataclass(eq=False)
class SourceNameTaken(Terminal):
    """A new source has the name of another one."""

    code = "source_name_taken"
    http_status = 409
    exit_code = USAGE
    source: str


@dataclass(eq=False)
class SourceFixed(Terminal):
    """A source cannot be removed over HTTP, because other settings contain or name it."""

    code = "source_fixed"
    http_status = 409
    source: str
    reason: str


@dataclass(eq=False)
class SourcesNotEditable(Terminal):
    """The settings of a tenant name its sources, so its operators must not add or remove any."""

    code = "sources_not_editable"
    http_status = 403
    tenant: str


@dataclass(eq=False)
class SettingsNotWritable(Terminal):
    """The file with the settings cannot be written."""

    code = "settings_not_writable"
    http_status = 503
    exit_code = USAGE
    file: str
    reason: str


@dataclass(eq=False)
class SourcesNotTogether(Terminal):
    """One question cannot query both sources: different engines, or a database and a file."""

    code = "sources_not_together"
    exit_code = USAGE
    first: str
    second: str


@dataclass(eq=False)
class SourceEmpty(Terminal):
    """The source has no table that the account can see."""

    code = "source_empty"
    source: str


@dataclass(eq=False)
class SourceUnreachable(Terminal):
    """The database of a source does not respond."""

    code = "source_unreachable"
    http_status = 503
    exit_code = UNREACHABLE
    source: str
    reason: str


@dataclass(eq=False)
class SourceFilesUnreadable(Terminal):
    """A file of a source over files is missing, damaged or of another format; `files` names the path or the view."""

    code = "source_files_unreadable"
    http_status = 503
    exit_code = UNREACHABLE
    files: str
    reason: str


@dataclass(eq=False)
class StorageDenied(Terminal):
    """The object storage refuses access to `path`."""

    code = "storage_denied"
    http_status = 503
    exit_code = UNREACHABLE
    path: str
    reason: str


@dataclass(eq=False)
class SourceBusy(Terminal):
    """All `places` connections or worker processes of a database stayed in use."""

    code = "source_busy"
    http_status = 503
    source: str
    places: int


@dataclass(eq=False)
class AccountCanWrite(Terminal):
    """The account of a source has more than read access, and the settings do not allow that."""

    code = "account_can_write"
    exit_code = USAGE
    source: str
    rights: str


@dataclass(eq=False)
class DriverMissing(Terminal):
    """An optional package is not installed; installing the extra `extra` adds it."""

    code = "driver_missing"
    http_status = 501
    exit_code = UNREACHABLE
    package: str
    extra: str


@dataclass(eq=False)
class PackageConflict(Terminal):
    """An installed package prevents the use of another one."""

    code = "package_conflict"
    http_status = 501
    exit_code = UNREACHABLE
    package: str


class StatementError(Retryable):
    """A statement did not run."""


@dataclass(eq=False)
class StatementRefused(StatementError):
    """The guard refused a statement; `findings` lists the violated rules."""

    code = "statement_refused"
    findings: tuple[str, ...]


@dataclass(eq=False)
class NamesUnknown(StatementError):
    """A statement names tables or columns that are not in the catalog."""

    code = "names_unknown"
    unknown: str


@dataclass(eq=False)
class StatementUnsound(StatementError):
    """The database would refuse a statement: incompatible types, or columns that are not grouped."""

    code = "statement_unsound"
    problems: tuple[str, ...]


@dataclass(eq=False)
class StatementFailed(StatementError):
    """The database refused a statement; `kind` is one of `datasphinx.agent.sql.failures.Kind`.

    `reason` is the database's error message; for a source with row rules, the class of the error and its position.
    """

    code = "statement_failed"
    reason: str
    kind: str = "other"


@dataclass(eq=False)
class StatementTimeout(StatementError):
    """A statement was stopped after `seconds` seconds, its time limit."""

    code = "statement_timeout"
    seconds: float


@dataclass(eq=False)
class StatementTooCostly(StatementError):
    """The query plan expects `rows` rows in its largest step; the limit is `limit`.

    For a source with row rules, `rows` equals `limit`, because the estimate counts hidden rows.
    """

    code = "statement_too_costly"
    rows: float
    limit: float


@dataclass(eq=False)
class StatementCancelled(Terminal):
    """A statement was cancelled on request."""

    code = "statement_cancelled"


@dataclass(eq=False)
class PermissionDenied(Terminal):
    """The account of a source lacks the privilege to read a table of the statement."""

    code = "permission_denied"
    source: str
    reason: str


@dataclass(eq=False)
class SystemCatalogRefused(Terminal):
    """A statement reads the engine's system tables. No other statement would be permitted, so there is no retry."""

    code = "system_catalog_refused"
    names: str


@dataclass(eq=False)
class NotPermitted(Terminal):
    """A row rule denies the user all access to `table`, in contrast to a table without rows."""

    code = "not_permitted"
    table: str


@dataclass(eq=False)
class RowRuleParameterMissing(Terminal):
    """The row rule of `table` uses `parameter`, which has no value."""

    code = "row_rule_parameter_missing"
    exit_code = USAGE
    table: str
    parameter: str


@dataclass(eq=False)
class RowRuleNotApplied(Terminal):
    """The row rule of `table` cannot be applied to a reference in the statement, so the statement does not run."""

    code = "row_rule_not_applied"
    table: str
    reason: str


@dataclass(eq=False)
class InvalidQuestion(Terminal):
    """The question is empty, contains no words, or is not text."""

    code = "invalid_question"
    reason: str


@dataclass(eq=False)
class QuestionTooLong(Terminal):
    """The question has `chars` characters; the limit is `limit`."""

    code = "question_too_long"
    chars: int
    limit: int


@dataclass(eq=False)
class OffTopic(Terminal):
    """No table of the source is related to the question; `reason` says why, and `tables` names some of the tables."""

    code = "off_topic"
    reason: str = ""
    tables: tuple[str, ...] = ()


@dataclass(eq=False)
class CannotAnswer(Terminal):
    """The datasets of the question cannot answer it; `reason` says what they lack, in the words of the model."""

    code = "cannot_answer"
    reason: str = ""


@dataclass(eq=False)
class SqlNotGenerated(Terminal):
    """Every attempt to generate a statement failed; `reason` is the last problem."""

    code = "sql_not_generated"
    reason: str


@dataclass(eq=False)
class InvalidOutputType(Terminal):
    """The result does not fit the requested output type; `shape` describes the result."""

    code = "invalid_output_type"
    wanted: str
    shape: str


@dataclass(eq=False)
class BudgetExceeded(Terminal):
    """A limit per question was exceeded; `setting` raises it."""

    code = "budget_exceeded"
    limit: str
    setting: str


@dataclass(eq=False)
class ConfigurationError(Terminal):
    """A setting is missing or invalid."""

    code = "configuration"
    http_status = 500
    exit_code = USAGE
    setting: str
    reason: str


@dataclass(eq=False)
class DatasetInvalid(Terminal):
    """A file or folder of an evaluation is missing, invalid, or inconsistent with the others."""

    code = "dataset_invalid"
    exit_code = USAGE
    path: str
    reason: str


@dataclass(eq=False)
class QuestionFailed(Terminal):
    """A graph ended without an answer and without the facts for a more specific error; `reason` is its text."""

    code = "question_failed"
    reason: str


@dataclass(eq=False)
class InternalError(Terminal):
    """A defect of datasphinx; the log has the traceback under the trace id."""

    code = "internal_error"
    http_status = 500
    reason: str
    trace_id: str


@dataclass(eq=False)
class ModelAnswerUnreadable(Retryable):
    """The model's answer does not fit the schema, even after one repair attempt; `text` is the answer."""

    code = "model_answer_unreadable"
    schema: str
    text: str
    reason: str = Message("answer_without_json")


@dataclass(eq=False)
class ModelUnreachable(Terminal):
    """The model's endpoint does not respond, or responds with server errors."""

    code = "model_unreachable"
    http_status = 503
    exit_code = UNREACHABLE
    endpoint: str
    reason: str


@dataclass(eq=False)
class ModelRejected(Terminal):
    """The model's endpoint rejected the request: invalid key, unknown model, or prompt too long."""

    code = "model_rejected"
    http_status = 503
    endpoint: str
    reason: str


@dataclass(eq=False)
class EmbeddedModelUnavailable(Terminal):
    """The embedded model cannot be found, downloaded or started."""

    code = "embedded_model_unavailable"
    http_status = 503
    exit_code = UNREACHABLE
    reason: str


@dataclass(eq=False)
class EmbeddedModelSilent(Terminal):
    """The embedded model did not answer within the time limit of a question."""

    code = "embedded_model_silent"
    http_status = 503
    exit_code = UNREACHABLE
    seconds: float


@dataclass(eq=False)
class RecordUnavailable(Terminal):
    """The event log cannot be written or read."""

    code = "record_unavailable"
    http_status = 503
    exit_code = UNREACHABLE
    store: str
    reason: str


@dataclass(eq=False)
class TraceUnknown(Terminal):
    """No run is logged under this trace id, or the logged run cannot be replayed."""

    code = "trace_unknown"
    http_status = 404
    exit_code = USAGE
    trace_id: str
    reason: str


@dataclass(eq=False)
class NothingAsked(Terminal):
    """An answer was given, but no clarifying question is open."""

    code = "nothing_asked"
    http_status = 409
    exit_code = USAGE


@dataclass(eq=False)
class OptionUnknown(Terminal):
    """No option has the given number; there are `options` options."""

    code = "option_unknown"
    exit_code = USAGE
    given: str
    options: int


@dataclass(eq=False)
class NothingAnswered(Terminal):
    """Feedback was given, but there is no answer that it could refer to."""

    code = "nothing_answered"
    http_status = 409
    exit_code = USAGE


@dataclass(eq=False)
class InputInvalid(Terminal):
    """An input other than the question has the wrong form."""

    code = "input_invalid"
    exit_code = USAGE
    name: str
    reason: str


@dataclass(eq=False)
class ThreadUnknown(Terminal):
    """No thread has this id."""

    code = "thread_unknown"
    http_status = 404
    exit_code = USAGE
    thread_id: str


@dataclass(eq=False)
class ThreadBusy(Retryable):
    """Another run of the thread is in progress."""

    code = "thread_busy"
    http_status = 409
    thread_id: str


@dataclass(eq=False)
class ThreadsUnavailable(Terminal):
    """The database of the threads cannot be used."""

    code = "threads_unavailable"
    http_status = 503
    exit_code = UNREACHABLE
    url: str
    reason: str


@dataclass(eq=False)
class ExampleInvalid(Terminal):
    """A few-shot example is invalid; `place` locates it."""

    code = "example_invalid"
    exit_code = USAGE
    place: str
    reason: str


@dataclass(eq=False)
class KnowledgeFileInvalid(Terminal):
    """A file of another system cannot be imported as business knowledge."""

    code = "knowledge_file_invalid"
    exit_code = USAGE
    path: str
    reason: str


@dataclass(eq=False)
class ExamplesRefused(Terminal):
    """Statements of `file` cannot be used as examples, so none was stored; `problems` lists them by line."""

    code = "examples_refused"
    file: str
    problems: tuple[str, ...]


@dataclass(eq=False)
class ExampleUnknown(Terminal):
    """No example has this id."""

    code = "example_unknown"
    exit_code = USAGE
    example_id: str


@dataclass(eq=False)
class ProposalUnknown(Terminal):
    """No proposal for the business knowledge has this id."""

    code = "proposal_unknown"
    http_status = 404
    exit_code = USAGE
    proposal_id: str


@dataclass(eq=False)
class ProposalClosed(Terminal):
    """A proposal for the business knowledge has been reviewed before; `status` is "accepted" or "rejected"."""

    code = "proposal_closed"
    http_status = 409
    proposal_id: str
    status: str


@dataclass(eq=False)
class ProposalInvalid(Terminal):
    """The entry of a proposal has mistakes, so it was not written."""

    code = "proposal_invalid"
    proposal_id: str
    problems: tuple[str, ...]


@dataclass(eq=False)
class KnowledgeNotWritable(Terminal):
    """A file of business knowledge cannot be written, or an entry cannot be added without changing others."""

    code = "knowledge_not_writable"
    http_status = 503
    exit_code = UNREACHABLE
    file: str
    reason: str


@dataclass(eq=False)
class ReviewNotPermitted(Terminal):
    """The API key or token of a request must not review proposals."""

    code = "review_not_permitted"
    http_status = 403


@dataclass(eq=False)
class ExamplesUnavailable(Terminal):
    """The file of the examples cannot be written or read."""

    code = "examples_unavailable"
    http_status = 503
    exit_code = UNREACHABLE
    store: str
    reason: str


@dataclass(eq=False)
class FileUnreadable(Terminal):
    """A file is damaged, or its content does not match its name."""

    code = "file_unreadable"
    http_status = 415
    exit_code = USAGE
    file: str
    reason: str


@dataclass(eq=False)
class FileEncrypted(Terminal):
    """A file is password-protected."""

    code = "file_encrypted"
    exit_code = USAGE
    file: str


@dataclass(eq=False)
class ArchiveSuspicious(Terminal):
    """A packed file expands so far that it may be a zip bomb."""

    code = "archive_suspicious"
    http_status = 413
    exit_code = USAGE
    file: str
    unpacked: int
    limit: int


@dataclass(eq=False)
class FileTooLarge(Terminal):
    """A file exceeds the limit of `setting`; `what` is the unit: bytes, rows, columns or megabytes in memory.

    `hint` is a further sentence for formats of which other formats of the same content can be larger, else empty.
    """

    code = "file_too_large"
    http_status = 413
    exit_code = USAGE
    file: str
    what: str
    limit: int
    setting: str
    hint: str = ""


@dataclass(eq=False)
class SheetNotFound(Terminal):
    """The workbook has no sheet with this name."""

    code = "sheet_not_found"
    exit_code = USAGE
    file: str
    sheet: str
    sheets: tuple[str, ...]


@dataclass(eq=False)
class HeaderNotFound(Terminal):
    """No row of a file can be its header, or the specified header row does not exist."""

    code = "header_not_found"
    exit_code = USAGE
    file: str
    reason: str


@dataclass(eq=False)
class LoadOptionInvalid(Terminal):
    """An option for loading a file does not fit the file."""

    code = "load_option_invalid"
    exit_code = USAGE
    option: str
    reason: str


@dataclass(eq=False)
class FileEmpty(Terminal):
    """A file, or its specified sheet, has no data rows."""

    code = "file_empty"
    exit_code = USAGE
    file: str
    where: str


@dataclass(eq=False)
class FileUnknown(Terminal):
    """No stored file has this id."""

    code = "file_unknown"
    http_status = 404
    exit_code = USAGE
    file_id: str


@dataclass(eq=False)
class LoadUnknown(Terminal):
    """No file is being loaded under this id."""

    code = "load_unknown"
    http_status = 404
    exit_code = USAGE
    load_id: str


@dataclass(eq=False)
class DatasetUnknown(Terminal):
    """No dataset has this id."""

    code = "dataset_unknown"
    http_status = 404
    exit_code = USAGE
    dataset_id: str


@dataclass(frozen=True)
class SpecProblem:
    """One problem of a spec.

    `path` locates it, such as `filters[0].col`; it is empty if the problem concerns the whole spec. `nearest` lists
    similar valid names.
    """

    path: str
    reason: str
    nearest: tuple[str, ...] = ()

    def __str__(self) -> str:
        hint = f" (nearest: {', '.join(self.nearest)})" if self.nearest else ""
        return f"{self.path or 'the spec'}: {self.reason}{hint}"

    def in_language(self, language: Language) -> str:
        """Return the problem for users: in English with its reason, which is for models, else its place and names."""
        if language == "en":
            return str(self)
        if not self.path:
            return render("spec_wrong", language)
        if not self.nearest:
            return render("spec_place_wrong", language, place=self.path)
        return render("spec_place_wrong_nearest", language, place=self.path, nearest=", ".join(self.nearest))


@dataclass(eq=False)
class QuerySpecInvalid(Retryable):
    """A query spec does not fit its schema or its datasets; `problems` lists all problems."""

    code = "query_spec_invalid"
    problems: tuple[SpecProblem, ...]


@dataclass(eq=False)
class PlotSpecInvalid(Retryable):
    """A plot spec does not fit its schema or its result; `problems` lists all problems."""

    code = "plot_spec_invalid"
    problems: tuple[SpecProblem, ...]


@dataclass(eq=False)
class ToolCallInvalid(Retryable):
    """A call of `tool` is invalid; `problems` lists all problems."""

    code = "tool_call_invalid"
    tool: str
    problems: tuple[SpecProblem, ...]


@dataclass(eq=False)
class ToolTimeout(Retryable):
    """A call of `tool` was stopped after `seconds` seconds, its time limit."""

    code = "tool_timeout"
    tool: str
    seconds: float


@dataclass(eq=False)
class DataMissing(Terminal):
    """A question to the analyst has neither a file nor a dataset."""

    code = "data_missing"
    exit_code = USAGE


@dataclass(eq=False)
class QueryNotWritten(Terminal):
    """The embedded model wrote a query that does not fit the dataset. A retry would give the same query."""

    code = "query_not_written"
    reason: str


@dataclass(eq=False)
class RequestTooLarge(Terminal):
    """An HTTP request has more bytes than `setting` allows."""

    code = "request_too_large"
    http_status = 413
    limit: int
    setting: str


@dataclass(eq=False)
class RequestTimeout(Terminal):
    """The server did not complete a request within its time limit."""

    code = "request_timeout"
    http_status = 504
    seconds: float


@dataclass(eq=False)
class OriginRefused(Terminal):
    """The Origin or Host header of a request to a server without API keys is not allowed."""

    code = "origin_refused"
    http_status = 403
    origin: str


@dataclass(eq=False)
class ChartUnknown(Terminal):
    """No stored chart has this id."""

    code = "chart_unknown"
    http_status = 404
    chart_id: str


@dataclass(eq=False)
class RunUnknown(Terminal):
    """The thread has no run with this id."""

    code = "run_unknown"
    http_status = 404
    run_id: str


@dataclass(eq=False)
class TableUnknown(Terminal):
    """The answer of a run has no table with this number, counted from 1."""

    code = "table_unknown"
    http_status = 404
    number: int


@dataclass(eq=False)
class BoardUnknown(Terminal):
    """The tenant has no board with this id, or the board has no pinned answer with this id."""

    code = "board_unknown"
    http_status = 404
    board_id: str


@dataclass(eq=False)
class BoardReadOnly(Terminal):
    """A board can be changed only by those who created it: users with the same row parameters."""

    code = "board_read_only"
    http_status = 403
    board_id: str


@dataclass(eq=False)
class BoardLimit(Terminal):
    """A tenant has as many boards, or a board as many pinned answers, as is allowed."""

    code = "board_limit"
    http_status = 409
    limit: int


@dataclass(eq=False)
class AnswerNotPinnable(Terminal):
    """An answer has no statement that can be executed again."""

    code = "answer_not_pinnable"
    http_status = 422
    reason: str


@dataclass(eq=False)
class ModelUnknown(Terminal):
    """No model of the routes for chat clients has this id."""

    code = "model_unknown"
    http_status = 404
    model: str


@dataclass(eq=False)
class KeyMissing(Terminal):
    """A request to a server with API keys has no key or an invalid one."""

    code = "key_missing"
    http_status = 401


@dataclass(eq=False)
class TokenInvalid(Terminal):
    """The bearer token of a request is malformed, expired, not signed by the issuer, or for another audience."""

    code = "token_invalid"
    http_status = 401
    reason: str


@dataclass(eq=False)
class TokenNotPermitted(Terminal):
    """A valid token has no tenant of this server, or a claim without a usable value."""

    code = "token_not_permitted"
    http_status = 403
    reason: str


@dataclass(eq=False)
class IssuerUnavailable(Terminal):
    """The keys of the issuer of tokens cannot be fetched, and none are cached."""

    code = "issuer_unavailable"
    http_status = 503
    exit_code = UNREACHABLE
    issuer: str
    reason: str


@dataclass(eq=False)
class RoleMissing(Terminal):
    """The API key or token of a request lacks the role that the route requires."""

    code = "role_missing"
    http_status = 403
    role: str


@dataclass(eq=False)
class LimitReached(Terminal):
    """A tenant has used up its quota; it can retry after `seconds` seconds."""

    code = "limit_reached"
    http_status = 429
    limit: str
    seconds: int


def exit_code_of(code: str) -> int:
    """Return the exit code for an error code; `DOMAIN` for a code that no class has."""
    return BY_CODE.get(code, DatasphinxError).exit_code


def exit_code(output: Mapping[str, Any]) -> int:
    """Return the exit code for the output of a graph; that of a draft is that of a clarifying question."""
    if output.get("error"):
        return exit_code_of(output["error"]["code"])
    is_open = output.get("clarification") or output.get("status") == "unsure"
    return NEEDS_CLARIFICATION if is_open else ANSWERED
