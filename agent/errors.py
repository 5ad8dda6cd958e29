"""Every error of the project, in one file.

To add an error, add its code to a subclass of `Coded`, or define a class here if a caller tells it apart, and add its
text to `datasphinx.agent.messages` under the code. Attributes hold the facts that the text shows. Whether a retry may
succeed is decided by the base class. A `reason` of our own is a `Message`, so that it has the language of the text;
another string is a quotation of a database or a library.
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

    code: str
    """The stable identifier of the error and the key of its text in `datasphinx.agent.messages`."""
    http_status: ClassVar[int] = 422
    """The status of an HTTP response with this error."""
    exit_code: int = DOMAIN
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

    def _render_traceback_(self) -> list[str]:
        """Return what IPython shows instead of the frames of the library."""
        return [f"{type(self).__name__}: {self}"]


class Retryable(DatasphinxError):
    """Retrying within the same question may succeed; any other error ends it."""


class Coded(DatasphinxError):
    """An error with one of several codes, which callers need not tell apart. The facts are those of the code's text."""

    exit_codes: ClassVar[Mapping[str, int]]
    """The exit code of a command, by the code of the error."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        BY_CODE.update(dict.fromkeys(cls.exit_codes, cls))

    def __init__(self, code: str, /, **facts: Any) -> None:
        """Raise KeyError if the class has no such `code`."""
        self.exit_code = self.exit_codes[code]
        self.code = code
        vars(self).update(facts)

    def details(self) -> dict[str, Any]:
        """Return the facts by name."""
        return {name: fact for name, fact in super().details().items() if name not in ("code", "exit_code")}


@dataclass(eq=False)
class SourceNotFound(DatasphinxError):
    """The named source does not exist."""

    code = "source_not_found"
    http_status = 404
    exit_code = USAGE
    source: str
    reason: str


class Conflict(Coded):
    """The request does not fit the present state, such as an answer to a question that nobody asked."""

    http_status = 409
    exit_codes = {
        "board_limit": DOMAIN,
        "nothing_answered": USAGE,
        "nothing_asked": USAGE,
        "proposal_closed": DOMAIN,
        "source_fixed": DOMAIN,
        "source_name_taken": USAGE,
    }


class Forbidden(Coded):
    """The sender of a request is known, but lacks a permission; or its Origin or Host is not allowed."""

    http_status = 403
    exit_codes = {
        "board_read_only": DOMAIN,
        "origin_refused": DOMAIN,
        "review_not_permitted": DOMAIN,
        "role_missing": DOMAIN,
        "sources_not_editable": DOMAIN,
        "token_not_permitted": DOMAIN,
    }


class Unavailable(Coded):
    """A store, a file or a service that the settings name cannot be used, or is busy; the facts say why."""

    http_status = 503
    exit_codes = {
        "browser_failed": UNREACHABLE,
        "browser_missing": UNREACHABLE,
        "embedded_model_silent": UNREACHABLE,
        "embedded_model_unavailable": UNREACHABLE,
        "issuer_unavailable": UNREACHABLE,
        "knowledge_not_writable": UNREACHABLE,
        "record_unavailable": UNREACHABLE,
        "settings_not_writable": USAGE,
        "source_busy": DOMAIN,
        "threads_unavailable": UNREACHABLE,
    }


class Unanswered(Coded):
    """A question ends without an answer; `reason` or `names` say why."""

    exit_codes = {
        "cannot_answer": DOMAIN,
        "off_topic": DOMAIN,
        "query_not_written": DOMAIN,
        "question_failed": DOMAIN,
        "source_empty": DOMAIN,
        "sql_not_generated": DOMAIN,
        "system_catalog_refused": DOMAIN,
    }


@dataclass(eq=False)
class SourceUnreachable(DatasphinxError):
    """The database of a source does not respond."""

    code = "source_unreachable"
    http_status = 503
    exit_code = UNREACHABLE
    source: str
    reason: str


@dataclass(eq=False)
class SourceFilesUnreadable(DatasphinxError):
    """A file of a source over files is missing, damaged or of another format; `files` names the path or the view."""

    code = "source_files_unreadable"
    http_status = 503
    exit_code = UNREACHABLE
    files: str
    reason: str


class Refused(Coded):
    """An input cannot be used as it is; its facts say why."""

    exit_codes = {
        "account_can_write": USAGE,
        "answer_not_pinnable": DOMAIN,
        "data_missing": USAGE,
        "example_invalid": USAGE,
        "knowledge_file_invalid": USAGE,
        "option_unknown": USAGE,
        "proposal_invalid": DOMAIN,
        "sources_not_together": USAGE,
    }


@dataclass(eq=False)
class DriverMissing(DatasphinxError):
    """An optional package is not installed; installing the extra `extra` adds it."""

    code = "driver_missing"
    http_status = 501
    exit_code = UNREACHABLE
    package: str
    extra: str


@dataclass(eq=False)
class PackageConflict(DatasphinxError):
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
class StatementCancelled(DatasphinxError):
    """A statement was cancelled on request."""

    code = "statement_cancelled"


@dataclass(eq=False)
class PermissionDenied(DatasphinxError):
    """The account of a source lacks the privilege to read a table of the statement."""

    code = "permission_denied"
    source: str
    reason: str


@dataclass(eq=False)
class NotPermitted(DatasphinxError):
    """A row rule denies the user all access to `table`, in contrast to a table without rows."""

    code = "not_permitted"
    table: str


@dataclass(eq=False)
class RowRuleParameterMissing(DatasphinxError):
    """The row rule of `table` uses `parameter`, which has no value."""

    code = "row_rule_parameter_missing"
    exit_code = USAGE
    table: str
    parameter: str


@dataclass(eq=False)
class RowRuleNotApplied(DatasphinxError):
    """The row rule of `table` cannot be applied to a reference in the statement, so the statement does not run."""

    code = "row_rule_not_applied"
    table: str
    reason: str


class InvalidQuestion(Coded):
    """The question is empty, too long, contains no words, or is not text."""

    exit_codes = {
        "invalid_question": DOMAIN,
        "question_too_long": DOMAIN,
    }


@dataclass(eq=False)
class InvalidOutputType(DatasphinxError):
    """The result does not fit the requested output type; `shape` describes the result."""

    code = "invalid_output_type"
    wanted: str
    shape: str


@dataclass(eq=False)
class BudgetExceeded(DatasphinxError):
    """A limit per question was exceeded; `setting` raises it."""

    code = "budget_exceeded"
    limit: str
    setting: str


@dataclass(eq=False)
class ConfigurationError(DatasphinxError):
    """A setting is missing or invalid. Reasons about those of the process are in English, for operators."""

    code = "configuration"
    http_status = 500
    exit_code = USAGE
    setting: str
    reason: str


@dataclass(eq=False)
class DatasetInvalid(DatasphinxError):
    """A file of a command without a question is missing or invalid; `reason` is in English, as all that it says."""

    code = "dataset_invalid"
    exit_code = USAGE
    path: str
    reason: str


@dataclass(eq=False)
class InternalError(DatasphinxError):
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
class ModelUnreachable(DatasphinxError):
    """The model's endpoint does not respond, or responds with server errors."""

    code = "model_unreachable"
    http_status = 503
    exit_code = UNREACHABLE
    endpoint: str
    reason: str


@dataclass(eq=False)
class ModelRejected(DatasphinxError):
    """The model's endpoint rejected the request: invalid key, unknown model, or prompt too long."""

    code = "model_rejected"
    http_status = 503
    endpoint: str
    reason: str


class NotFound(Coded):
    """Nothing has the given id, name or number, or a recorded run cannot be replayed (`reason`)."""

    http_status = 404
    exit_codes = {
        "board_unknown": DOMAIN,
        "chart_unknown": DOMAIN,
        "dataset_unknown": USAGE,
        "file_unknown": USAGE,
        "model_unknown": DOMAIN,
        "proposal_unknown": USAGE,
        "response_unknown": DOMAIN,
        "run_elsewhere": DOMAIN,
        "run_unknown": DOMAIN,
        "table_unknown": DOMAIN,
        "thread_unknown": USAGE,
        "trace_unknown": USAGE,
    }


@dataclass(eq=False)
class InputInvalid(DatasphinxError):
    """An input other than the question has the wrong form."""

    code = "input_invalid"
    exit_code = USAGE
    name: str
    reason: str


@dataclass(eq=False)
class ThreadBusy(Retryable):
    """Another run of the thread is in progress."""

    code = "thread_busy"
    http_status = 409
    thread_id: str


@dataclass(eq=False)
class FileUnreadable(DatasphinxError):
    """A file is damaged, or its content does not match its name."""

    code = "file_unreadable"
    http_status = 415
    exit_code = USAGE
    file: str
    reason: str


class FileNotLoaded(Coded):
    """A file has no table to load, or a given sheet, header or option does not fit it."""

    exit_codes = {
        "file_empty": USAGE,
        "file_encrypted": USAGE,
        "header_not_found": USAGE,
        "load_option_invalid": USAGE,
        "sheet_not_found": USAGE,
    }


class TooLarge(Coded):
    """A request or a file exceeds a limit, or a file expands so far that it may be a zip bomb.

    `what` is the unit of the limit: bytes, rows, columns or megabytes in memory. `hint` is a further sentence for
    formats of which other formats of the same content can be larger, else empty.
    """

    http_status = 413
    exit_codes = {
        "archive_suspicious": USAGE,
        "file_too_large": USAGE,
        "request_too_large": DOMAIN,
    }


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
        problem = Message("spec_place_wrong", place=self.path)
        if not self.nearest:
            return problem.in_language(language)
        return render("with_nearest", language, problem=problem, nearest=", ".join(self.nearest))


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
class RequestTimeout(DatasphinxError):
    """The server did not complete a request within its time limit."""

    code = "request_timeout"
    http_status = 504
    seconds: float


class Unauthenticated(Coded):
    """A request to a server with API keys or tokens has no valid one."""

    http_status = 401
    exit_codes = {
        "key_missing": DOMAIN,
        "token_invalid": DOMAIN,
    }


@dataclass(eq=False)
class LimitReached(DatasphinxError):
    """A tenant has used up its quota; it can retry after `seconds` seconds."""

    code = "limit_reached"
    http_status = 429
    limit: str
    seconds: int


def exit_code_of(code: str) -> int:
    """Return the exit code for an error code; `DOMAIN` for a code that no class has."""
    kind = BY_CODE.get(code, DatasphinxError)
    return kind.exit_codes[code] if issubclass(kind, Coded) else kind.exit_code


def error_with(code: str, **facts: Any) -> DatasphinxError:
    """Return the error of `code`. Raise KeyError if the code is unknown."""
    kind = BY_CODE[code]
    return kind(code, **facts) if issubclass(kind, Coded) else kind(**facts)


def exit_code(output: Mapping[str, Any]) -> int:
    """Return the exit code for the output of a graph; that of a draft is that of a clarifying question."""
    if output.get("error"):
        return exit_code_of(output["error"]["code"])
    is_open = output.get("clarification") or output.get("status") == "unsure"
    return NEEDS_CLARIFICATION if is_open else ANSWERED
