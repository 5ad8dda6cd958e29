"""The error tree.

    DatasphinxError
    ├── Retryable                    another try inside the same question may succeed
    │   ├── StatementError           a statement did not run; the text goes back to SQL generation
    │   │   ├── StatementRefused     the guard refused it                     findings
    │   │   ├── NamesUnknown         it names what the catalog does not have  unknown
    │   │   ├── StatementFailed      the database refused it                  reason
    │   │   └── StatementTimeout     it ran past its time limit               seconds
    │   └── ModelAnswerUnreadable    no structured answer could be read       schema, text
    └── Terminal                     the question ends here
        ├── InvalidQuestion          empty, without words, not text           reason
        ├── QuestionTooLong          more characters than are read            chars, limit
        ├── OffTopic                 no table answers it
        ├── SqlNotGenerated          every try failed                         reason
        ├── InvalidOutputType        the result cannot have the wanted form   wanted, shape
        ├── SourceNotFound           no such source                           source, reason
        ├── SourceEmpty              the source has no table                  source
        ├── SourceUnreachable        the database does not answer             source, reason
        ├── DriverMissing            an optional package is not installed     package, extra
        ├── ModelUnreachable         the endpoint does not answer             endpoint, reason
        ├── ModelRejected            the endpoint refused the request         endpoint, reason
        ├── EmbeddedModelUnavailable the local model cannot be had            reason
        ├── ConfigurationError       a setting is missing or wrong            setting, reason
        ├── DatasetInvalid           questions or databases of an evaluation  path, reason
        ├── NotPermitted             a row rule closes the table              table
        ├── RowRuleParameterMissing  a row rule has no value for a parameter  table, parameter
        ├── RowRuleNotApplied        a row rule does not hold on a reference  table, reason
        ├── BudgetExceeded           a limit per question was reached         limit, setting
        └── InternalError            a defect of datasphinx itself            reason, trace_id

Whether an error may be tried again is its type, not a flag. Attributes carry the facts; `agent.messages` turns them
into text in the language of the question.
"""

from dataclasses import dataclass

from agent.error_kinds import DatasphinxError as DatasphinxError
from agent.error_kinds import Retryable as Retryable
from agent.error_kinds import Terminal as Terminal


class StatementError(Retryable):
    """A statement did not run."""


@dataclass(eq=False)
class StatementRefused(StatementError):
    """The guard refused a statement; `findings` says by which rules."""

    code = "statement_refused"
    findings: tuple[str, ...]


@dataclass(eq=False)
class NamesUnknown(StatementError):
    """A statement names tables or columns that the catalog does not have."""

    code = "names_unknown"
    unknown: str


@dataclass(eq=False)
class StatementFailed(StatementError):
    """The database refused a statement."""

    code = "statement_failed"
    reason: str


@dataclass(eq=False)
class StatementTimeout(StatementError):
    """A statement was stopped at its time limit, in seconds."""

    code = "statement_timeout"
    seconds: float


@dataclass(eq=False)
class ModelAnswerUnreadable(Retryable):
    """The model's answer held nothing that fits the schema, also after one repair attempt."""

    code = "model_answer_unreadable"
    schema: str
    text: str


@dataclass(eq=False)
class InvalidQuestion(Terminal):
    """The question cannot be read as one."""

    code = "invalid_question"
    reason: str


@dataclass(eq=False)
class QuestionTooLong(Terminal):
    """The question has `chars` characters, where at most `limit` are read."""

    code = "question_too_long"
    chars: int
    limit: int


@dataclass(eq=False)
class OffTopic(Terminal):
    """No table of the source answers the question."""

    code = "off_topic"


@dataclass(eq=False)
class SqlNotGenerated(Terminal):
    """Every try at a statement failed; `reason` is what the last one ran into."""

    code = "sql_not_generated"
    reason: str


@dataclass(eq=False)
class InvalidOutputType(Terminal):
    """The result cannot have the form that was wanted; `shape` says what it is."""

    code = "invalid_output_type"
    wanted: str
    shape: str


@dataclass(eq=False)
class SourceEmpty(Terminal):
    """The source has no table that the account can see."""

    code = "source_empty"
    source: str


@dataclass(eq=False)
class SourceNotFound(Terminal):
    """The named source does not exist."""

    code = "source_not_found"
    source: str
    reason: str


@dataclass(eq=False)
class SourceUnreachable(Terminal):
    """The database of a source does not answer."""

    code = "source_unreachable"
    source: str
    reason: str


@dataclass(eq=False)
class DriverMissing(Terminal):
    """An optional package is not installed; `extra` brings it."""

    code = "driver_missing"
    package: str
    extra: str


@dataclass(eq=False)
class ModelUnreachable(Terminal):
    """The model's endpoint does not answer, or only with errors of its own."""

    code = "model_unreachable"
    endpoint: str
    reason: str


@dataclass(eq=False)
class ModelRejected(Terminal):
    """The model's endpoint refused the request: wrong key, unknown model, prompt too long."""

    code = "model_rejected"
    endpoint: str
    reason: str


@dataclass(eq=False)
class EmbeddedModelUnavailable(Terminal):
    """The embedded model can be neither found nor fetched, or does not start."""

    code = "embedded_model_unavailable"
    reason: str


@dataclass(eq=False)
class ConfigurationError(Terminal):
    """A setting is missing or wrong."""

    code = "configuration"
    setting: str
    reason: str


@dataclass(eq=False)
class DatasetInvalid(Terminal):
    """A file or folder that an evaluation reads is missing, broken, or does not fit the others."""

    code = "dataset_invalid"
    path: str
    reason: str


@dataclass(eq=False)
class NotPermitted(Terminal):
    """A row rule closes `table` to whoever asks; that is not the same as a table without rows."""

    code = "not_permitted"
    table: str


@dataclass(eq=False)
class RowRuleParameterMissing(Terminal):
    """The row rule of `table` compares with `parameter`, for which no value was given."""

    code = "row_rule_parameter_missing"
    table: str
    parameter: str


@dataclass(eq=False)
class RowRuleNotApplied(Terminal):
    """A statement refers to `table` in a way that its row rule cannot be put on, so that it does not run."""

    code = "row_rule_not_applied"
    table: str
    reason: str


@dataclass(eq=False)
class BudgetExceeded(Terminal):
    """A limit per question was reached; `setting` raises it."""

    code = "budget_exceeded"
    limit: str
    setting: str


@dataclass(eq=False)
class InternalError(Terminal):
    """A defect of datasphinx itself; the log has the traceback under the trace id."""

    code = "internal_error"
    reason: str
    trace_id: str
