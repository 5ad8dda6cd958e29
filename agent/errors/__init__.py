"""The error tree.

    DatasphinxError
    ├── Retryable                    another try inside the same question may succeed
    │   ├── StatementError           a statement did not run; the text goes back to SQL generation
    │   │   ├── StatementRefused     the guard refused it                     findings
    │   │   ├── NamesUnknown         it names what the catalog does not have  unknown
    │   │   ├── StatementUnsound     the database would refuse it             problems
    │   │   ├── StatementFailed      the database refused it                  reason, kind
    │   │   ├── StatementTimeout     it ran past its time limit               seconds
    │   │   └── StatementTooCostly   its plan goes through too many rows      rows, limit
    │   ├── QuerySpecInvalid         a query spec does not fit its datasets   problems
    │   ├── PlotSpecInvalid          the chart does not fit the result        problems
    │   ├── ToolCallInvalid          a tool of the analyst is called wrongly  tool, problems
    │   ├── ToolTimeout              a tool ran past its time limit           tool, seconds
    │   ├── ModelAnswerUnreadable    no structured answer could be read       schema, text
    │   └── ThreadBusy               another run on the thread goes on        thread_id
    └── Terminal                     the question ends here
        ├── InvalidQuestion          empty, without words, not text           reason
        ├── QuestionTooLong          more characters than are read            chars, limit
        ├── OffTopic                 no table answers it
        ├── InputInvalid             what came beside the question is wrong   name, reason
        ├── NothingAsked             an answer, and no clarifying question
        ├── OptionUnknown            the number of no option                  given, options
        ├── NothingAnswered          feedback, and no answer that it is on
        ├── ThreadUnknown            no such thread                           thread_id
        ├── ThreadsUnavailable       threads cannot be written or read        url, reason
        ├── SqlNotGenerated          every try failed                         reason
        ├── InvalidOutputType        the result cannot have the wanted form   wanted, shape
        ├── SourceNotFound           no such source                           source, reason
        ├── SourceEmpty              the source has no table                  source
        ├── SourcesNotTogether       sources that one question cannot reach   first, second
        ├── SourceUnreachable        the database does not answer             source, reason
        ├── SourceBusy               all its connections stayed in use        source, places
        ├── AccountCanWrite          the account may do more than read        source, rights
        ├── PermissionDenied         the account may not read this            source, reason
        ├── SystemCatalogRefused     it reads the engine's own tables         names
        ├── StatementCancelled       a statement was stopped on request
        ├── DriverMissing            an optional package is not installed     package, extra
        ├── ModelUnreachable         the endpoint does not answer             endpoint, reason
        ├── ModelRejected            the endpoint refused the request         endpoint, reason
        ├── EmbeddedModelUnavailable the local model cannot be had            reason
        ├── EmbeddedModelSilent      the local model takes too long           seconds
        ├── ConfigurationError       a setting is missing or wrong            setting, reason
        ├── DatasetInvalid           questions or databases of an evaluation  path, reason
        ├── FileUnreadable           a file is not what its name says         file, reason
        ├── FileEncrypted            a file has a password                    file
        ├── ArchiveSuspicious        a file unpacks to far too much           file, unpacked, limit
        ├── FileTooLarge             too many bytes, rows or columns          file, what, limit, setting
        ├── SheetNotFound            a workbook has no such sheet             file, sheet, sheets
        ├── HeaderNotFound           no row of a file can be its header       file, reason
        ├── FileEmpty                a file has no row of data                file, where
        ├── FileUnknown              no file is kept under this id            file_id
        ├── DatasetUnknown           no dataset is kept under this id         dataset_id
        ├── DataMissing              the analyst was given no file
        ├── QueryNotWritten          the embedded model wrote no usable query  reason
        ├── ExampleInvalid           this is no few-shot example           place, reason
        ├── ExamplesRefused          statements that are none to show      file, problems
        ├── ExampleUnknown           no example is kept under this id      example_id
        ├── ExamplesUnavailable      examples cannot be written or read    store, reason
        ├── NotPermitted             a row rule closes the table              table
        ├── RowRuleParameterMissing  a row rule has no value for a parameter  table, parameter
        ├── RowRuleNotApplied        a row rule does not hold on a reference  table, reason
        ├── RecordUnavailable        the record cannot be written or read     store, reason
        ├── TraceUnknown             no such run on the record                trace_id, reason
        ├── BudgetExceeded           a limit per question was reached         limit, setting
        ├── RequestTooLarge          a request to the server is too large     limit, setting
        ├── RequestTimeout           the server took too long                 seconds
        ├── OriginRefused            a page of another site asks              origin
        ├── ChartUnknown             no chart is kept under this id           chart_id
        ├── RunUnknown               the thread has no run of this id         run_id
        ├── KeyMissing               a server with keys is asked without one
        ├── LimitReached             a tenant has asked as much as it may     limit, seconds
        ├── QuestionFailed           a graph gave no answer, and no facts     reason
        └── InternalError            a defect of datasphinx itself            reason, trace_id

Whether an error may be tried again is its type, not a flag. Attributes carry the facts; `agent.messages` turns them
into text in the language of the question.
"""

from agent.errors.analyst import DataMissing, QueryNotWritten, ToolCallInvalid, ToolTimeout
from agent.errors.base import DatasphinxError, Retryable, Terminal
from agent.errors.conversation import (
    InputInvalid,
    NothingAnswered,
    NothingAsked,
    OptionUnknown,
    ThreadBusy,
    ThreadsUnavailable,
    ThreadUnknown,
)
from agent.errors.datasets import (
    ArchiveSuspicious,
    DatasetUnknown,
    FileEmpty,
    FileEncrypted,
    FileTooLarge,
    FileUnknown,
    FileUnreadable,
    HeaderNotFound,
    SheetNotFound,
)
from agent.errors.examples import ExampleInvalid, ExamplesRefused, ExamplesUnavailable, ExampleUnknown
from agent.errors.models import (
    EmbeddedModelSilent,
    EmbeddedModelUnavailable,
    ModelAnswerUnreadable,
    ModelRejected,
    ModelUnreachable,
)
from agent.errors.questions import (
    BudgetExceeded,
    ConfigurationError,
    DatasetInvalid,
    InternalError,
    InvalidOutputType,
    InvalidQuestion,
    OffTopic,
    QuestionFailed,
    QuestionTooLong,
    SqlNotGenerated,
)
from agent.errors.record import RecordUnavailable, TraceUnknown
from agent.errors.service import (
    ChartUnknown,
    KeyMissing,
    LimitReached,
    OriginRefused,
    RequestTimeout,
    RequestTooLarge,
    RunUnknown,
)
from agent.errors.sources import (
    AccountCanWrite,
    DriverMissing,
    SourceBusy,
    SourceEmpty,
    SourceNotFound,
    SourcesNotTogether,
    SourceUnreachable,
)
from agent.errors.specs import PlotSpecInvalid, QuerySpecInvalid, SpecProblem
from agent.errors.statements import (
    NamesUnknown,
    NotPermitted,
    PermissionDenied,
    RowRuleNotApplied,
    RowRuleParameterMissing,
    StatementCancelled,
    StatementError,
    StatementFailed,
    StatementRefused,
    StatementTimeout,
    StatementTooCostly,
    StatementUnsound,
    SystemCatalogRefused,
)

__all__ = [
    "AccountCanWrite",
    "ArchiveSuspicious",
    "BudgetExceeded",
    "ChartUnknown",
    "ConfigurationError",
    "DataMissing",
    "DatasetInvalid",
    "DatasetUnknown",
    "DatasphinxError",
    "DriverMissing",
    "EmbeddedModelSilent",
    "EmbeddedModelUnavailable",
    "ExampleInvalid",
    "ExampleUnknown",
    "ExamplesRefused",
    "ExamplesUnavailable",
    "FileEmpty",
    "FileEncrypted",
    "FileTooLarge",
    "FileUnknown",
    "FileUnreadable",
    "HeaderNotFound",
    "InputInvalid",
    "InternalError",
    "InvalidOutputType",
    "InvalidQuestion",
    "KeyMissing",
    "LimitReached",
    "ModelAnswerUnreadable",
    "ModelRejected",
    "ModelUnreachable",
    "NamesUnknown",
    "NotPermitted",
    "NothingAnswered",
    "NothingAsked",
    "OffTopic",
    "OptionUnknown",
    "OriginRefused",
    "PermissionDenied",
    "PlotSpecInvalid",
    "QueryNotWritten",
    "QuerySpecInvalid",
    "QuestionFailed",
    "QuestionTooLong",
    "RecordUnavailable",
    "RequestTimeout",
    "RequestTooLarge",
    "Retryable",
    "RowRuleNotApplied",
    "RowRuleParameterMissing",
    "RunUnknown",
    "SheetNotFound",
    "SourceBusy",
    "SourceEmpty",
    "SourceNotFound",
    "SourceUnreachable",
    "SourcesNotTogether",
    "SpecProblem",
    "SqlNotGenerated",
    "StatementCancelled",
    "StatementError",
    "StatementFailed",
    "StatementRefused",
    "StatementTimeout",
    "StatementTooCostly",
    "StatementUnsound",
    "SystemCatalogRefused",
    "Terminal",
    "ThreadBusy",
    "ThreadUnknown",
    "ThreadsUnavailable",
    "ToolCallInvalid",
    "ToolTimeout",
    "TraceUnknown",
]
