"""The Python API: `chat("...", source)` for one question, `Agent` for conversations. Failures raise typed errors."""

import asyncio
import threading
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from sqlalchemy import URL
from sqlalchemy import Engine as SQLAlchemyEngine

from datasphinx.agent.answers.stored_chart import drawn_by_default, first_result
from datasphinx.agent.core.failure import error_of
from datasphinx.agent.core.redact import without_password
from datasphinx.agent.datasets.options import LoadOptions, checked_options
from datasphinx.agent.datasets.registry import Registry, is_data_frame
from datasphinx.agent.engines import engine_of_file
from datasphinx.agent.errors import (
    Conflict,
    DatasphinxError,
    InputInvalid,
    InvalidQuestion,
    Refused,
    SourceNotFound,
    Unanswered,
)
from datasphinx.agent.graph import build_graph
from datasphinx.agent.messages import Message, language_in
from datasphinx.agent.record.step import Audit
from datasphinx.agent.responses import (
    ChartResponse,
    DataFrameResponse,
    NumberResponse,
    Response,
    StringResponse,
    response_of,
)
from datasphinx.agent.services import Services
from datasphinx.agent.settings import Settings, SourceSettings, load_settings
from datasphinx.agent.sql.database import parse_url
from datasphinx.agent.types import Clarify, Effort, OutputType

if TYPE_CHECKING:
    from datasphinx.agent.report.export import ReportResponse

__all__ = ["Agent", "ChartResponse", "DataFrameResponse", "NumberResponse", "Response", "StringResponse", "chat"]

DataSource = Any
"""A SQLAlchemy URL or Engine, the name of a configured source, the path of a file, or a table in memory: a pandas
DataFrame or an object with `__arrow_c_stream__`, as those of polars, pyarrow, DuckDB and Ibis have.
"""


@dataclass(frozen=True)
class SelectedSources:
    """The sources of an agent: databases by name, or files and DataFrames; empty for the configured sources."""

    databases: dict[str, SourceSettings]
    files: tuple[Path, ...]
    frames: tuple[Any, ...]

    @property
    def are_tables(self) -> bool:
        """Whether the sources are files or tables in memory."""
        return bool(self.files or self.frames)

    def register(self, registry: Registry) -> dict[str, list[str]]:
        """Add the files and tables to `registry`, and return the `files` and `datasets` of a question, by id.

        Raises:
            TooLarge: a file or a table is larger than the settings allow.
            FileUnreadable: a column of a table in memory cannot be stored.
            DriverMissing: the extra `analyst` is not installed.
        """
        files = [registry.add_file(path) for path in self.files]
        frames = [registry.create_from_frame(frame, f"frame_{number}") for number, frame in enumerate(self.frames, 1)]
        return {"files": files, "datasets": [dataset.dataset_id for dataset in frames]}


def read_sources(sources: DataSource | Sequence[DataSource], services: Services) -> SelectedSources:
    """Classify `sources`, one or several; names refer to the settings of `services`.

    Raises:
        SourceNotFound: a source is neither a URL, a configured source, an existing file nor a table.
        Refused: the sources are databases of several engines, or databases and files.
        ConfigurationError, DriverMissing: the engine of a URL is unknown, or its driver is not installed.
    """
    # A URL is a tuple too.
    is_one = isinstance(sources, URL) or not isinstance(sources, list | tuple)
    all_sources: list[Any] = [sources] if is_one else list(sources)
    databases: dict[str, SourceSettings] = {}
    files: list[Path] = []
    frames: list[Any] = []
    engines: list[tuple[str, str]] = []
    for source in (_with_url(source, services) for source in all_sources):
        if is_data_frame(source) or hasattr(source, "__arrow_c_stream__"):
            frames.append(source)
            engines.append((f"a {type(source).__name__} in memory", ""))
        elif path := _file(source, services):
            files.append(path)
            engines.append((str(path), ""))
        else:
            settings = _database(source, services)
            databases[source if "://" not in source else f"database_{len(databases) + 1}"] = settings
            engines.append((without_password(source), parse_url(settings.url.get_secret_value())[1].dialect))
    for label, engine in engines:
        if engine != engines[0][1]:
            raise Refused("sources_not_together", first=engines[0][0], second=label)
    return SelectedSources(databases, tuple(files), tuple(frames))


def _with_url(source: DataSource, services: Services) -> DataSource:
    """Return the URL, as text, of an Engine, a URL or the file of a database; other sources as they are."""
    if isinstance(source, SQLAlchemyEngine):
        source = source.url
    if path := _file(source, services):
        with path.open("rb") as file:
            engine = engine_of_file(file)
        if engine:
            source = URL.create(engine.name, database=str(path.absolute()))
    return source.render_as_string(hide_password=False) if isinstance(source, URL) else source


def _file(source: DataSource, services: Services) -> Path | None:
    is_name = isinstance(source, str) and ("://" in source or source in services.settings.sources)
    if is_name or not isinstance(source, str | Path):
        return None
    path = Path(source).expanduser()
    return path if path.is_file() else None


def _database(source: DataSource, services: Services) -> SourceSettings:
    if not isinstance(source, str):
        label = str(source) if isinstance(source, Path) else type(source).__name__
        raise SourceNotFound(label, Message("not_a_source"))
    try:
        return services.settings_of(source)
    except SourceNotFound as error:
        raise SourceNotFound(error.source, Message("and_no_such_file", reason=error.reason)) from None


def chat(
    question: str,
    *sources: DataSource,
    output_type: OutputType | None = None,
    effort: Effort | None = None,
    load: LoadOptions | Mapping[str, Any] | None = None,
    validate: bool | None = None,
) -> Response:
    """Return the answer to one question about `sources`. See `Agent` and `Agent.chat`."""
    return Agent(sources, effort=effort, load=load).chat(question, output_type=output_type, validate=validate)


class Agent:
    """Conversations about databases, or about files and tables in memory.

    A source is a SQLAlchemy URL, as text or object, an Engine, whose URL is opened anew, the name of a configured
    source, the path of a SQLite, DuckDB, spreadsheet, CSV, Parquet or JSON lines file, or a pandas DataFrame; by
    default, the configured sources are used. Of several databases of one engine, a question goes to the one whose
    tables fit best. An agent has one conversation at a time; only `aask` is thread-safe.
    """

    def __init__(
        self,
        sources: DataSource | Sequence[DataSource] = (),
        *,
        settings: Settings | None = None,
        model: BaseChatModel | None = None,
        effort: Effort | None = None,
        load: LoadOptions | Mapping[str, Any] | None = None,
    ) -> None:
        """Create an agent; `model` replaces the configured model, and `effort` the configured effort.

        Questions about files do not depend on `effort`; `load` says how to read the files.

        Raises:
            SourceNotFound: a source does not exist.
            Refused: one question cannot query all sources.
            ConfigurationError, DriverMissing: a setting is invalid, or a driver is not installed.
            InputInvalid: `load` is invalid, or there are no files.
        """
        settings = settings or load_settings()
        options = checked_options(load).content()
        self._sources = read_sources(sources, Services(settings))
        if self._sources.databases:
            settings = settings.model_copy(update={"sources": self._sources.databases, "source": ""})
        if options and not self._sources.files:
            raise InputInvalid("load", Message("load_without_files"))
        self._load = {"load": options} if options else {}
        self._services = Services(settings, model=model)
        self._effort = effort
        self._checkpointer = InMemorySaver()
        self._graph: Any = None
        self._lock = threading.Lock()
        self._tables: dict[str, list[str]] = {}
        self._thread = ""
        self._has_started = False
        self._output: Mapping[str, Any] = {}

    def chat(self, question: str, output_type: OutputType | None = None, *, validate: bool | None = None) -> Response:
        """Start a conversation and return the answer to its first question; `output_type` forces the form.

        With `validate`, the model validates every statement before it runs; with False, none; None is the setting
        `enable_sql_validation`. Questions about files have no statements of a model.

        Raises:
            InvalidOutputType: the result does not fit `output_type`, even after one correction by the model.
            DatasphinxError: any other failure, by its class.
        """
        self._checkpointer.delete_thread(self._thread)
        self._thread, self._has_started = uuid.uuid4().hex, False
        return self._ask({"question": question, "enable_sql_validation": validate}, output_type)

    async def aask(
        self, question: str, output_type: OutputType | None = None, *, validate: bool | None = None
    ) -> Response:
        """Return the answer to one question, which is not part of the conversation; the arguments are those of `chat`.

        Questions may run concurrently, each in a thread of its own. If the task is cancelled, its statement is stopped
        and no further model call is made. A clarifying question in the answer cannot be answered.
        """
        graph = await asyncio.to_thread(self._prepare)
        inputs = {"question": question, "enable_sql_validation": validate}
        config = RunnableConfig(configurable={"thread_id": uuid.uuid4().hex})
        try:
            output = await graph.ainvoke(self._inputs(inputs, output_type), config)
            return self._response(output, config)
        finally:
            self._checkpointer.delete_thread(config["configurable"]["thread_id"])

    def follow_up(self, question: str, output_type: OutputType | None = None) -> Response:
        """Return the answer to a question that refers to earlier ones: "and by month?", "as a chart".

        Raises:
            InvalidQuestion: there is no earlier question.
        """
        self._check_started()
        return self._ask({"question": question}, output_type)

    def clarify(self, answer: str | int, output_type: OutputType | None = None) -> Response:
        """Answer the open clarifying question, and return the answer to the last question.

        `answer` is the label of an option, its number counted from 1, or free text.

        Raises:
            InvalidQuestion: there is no earlier question.
            Conflict: no clarifying question is open.
            Refused: no option has this number; the clarifying question stays open.
        """
        self._check_started()
        if not self._output.get("clarification"):
            raise Conflict("nothing_asked")
        return self._ask({"clarification_answer": str(answer)}, output_type)

    def reject(self, comment: str = "", output_type: OutputType | None = None) -> Response:
        """Reject the last answer, and return another answer or a clarifying question.

        Raises:
            InvalidQuestion: there is no earlier question.
            Conflict: no question was answered, or a clarifying question is open.
            InputInvalid: the question was about files, which does not support feedback.
        """
        return self._feedback({"accepted": False, "comment": comment}, output_type)

    def accept(self) -> Response:
        """Accept the last answer, which becomes a proposal for the business knowledge."""
        return self._feedback({"accepted": True}, None)

    def report(
        self,
        request: str,
        *,
        questions: Sequence[str] | None = None,
        approve_plan: bool = False,
        clarify: Clarify | None = None,
    ) -> "ReportResponse":
        """Return a report that answers `request` by several questions; it is no part of the conversation.

        `questions` replace the plan of the model, which with `approve_plan` is put to you first: as `clarification`,
        answered with `reply`. So are the clarifying questions of its questions, at most once; with "never" as
        `clarify` there are none.

        Raises:
            DatasphinxError: the report could not be planned, or none of its questions was answered.
        """
        from datasphinx.agent.report.graph import build_report

        graph, thread = build_report(self._services, self._checkpointer), uuid.uuid4().hex
        self._prepare()
        given = {"questions": questions and list(questions), "approve_plan": approve_plan, "clarify": clarify}
        inputs = {**self._inputs({"question": request}, None), **given}
        return self._reported(graph, inputs, RunnableConfig(configurable={"thread_id": thread}))

    def _reported(self, graph: Any, inputs: Any, config: RunnableConfig) -> "ReportResponse":
        from langgraph.types import Command

        from datasphinx.agent.report.export import ReportResponse

        output = graph.invoke(inputs, config)
        if output["error"]:
            raise _error_of(output, graph, config)
        return ReportResponse(
            output["report"],
            output["clarification"],
            output["audit"],
            language_in(output),
            lambda answer: self._reported(graph, Command(resume=answer), config),
        )

    def close(self) -> None:
        """Close the connections and files of the sources; `with Agent(...) as agent` does it at the end of the block.

        The agent cannot be used afterwards.
        """
        self._services.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.to_thread(self.close)

    @property
    def last_sql(self) -> str | None:
        """The last statement, also of a failed question; None before the first one."""
        return self._output.get("sql")

    @property
    def trace(self) -> Audit | None:
        """The audit of the last question: trace id, steps and cost; None before the first question."""
        return self._output.get("audit")

    def build_graph(self, services: Services, checkpointer: BaseCheckpointSaver[Any]) -> Any:
        """Return the graph: the analyst for files and tables, otherwise the SQL agent.

        Raises:
            DriverMissing: a package of the analyst is not installed.
        """
        if self._sources.are_tables:
            from datasphinx.agent.analyst import build_analyst

            return build_analyst(services, checkpointer)
        return build_graph(services, checkpointer)

    def _check_started(self) -> None:
        if not self._has_started:
            raise InvalidQuestion("invalid_question", reason=Message("chat_not_begun"))

    def _feedback(self, feedback: dict[str, Any], output_type: OutputType | None) -> Response:
        self._check_started()
        if self._sources.are_tables:
            raise InputInvalid("feedback", Message("no_feedback_on_files"))
        return self._ask({"feedback": feedback}, output_type)

    def _ask(self, inputs: dict[str, Any], output_type: OutputType | None) -> Response:
        graph, config = self._prepare(), RunnableConfig(configurable={"thread_id": self._thread})
        self._output = graph.invoke(self._inputs(inputs, output_type), config)
        response = self._response(self._output, config, self.clarify)
        self._has_started = True
        return response

    def _prepare(self) -> Any:
        """Return the graph; the first call builds it and registers the files."""
        with self._lock:
            if self._graph is None:
                if self._sources.are_tables:
                    self._tables = self._sources.register(self._services.registry)
                self._graph = self.build_graph(self._services, self._checkpointer)
            return self._graph

    def _inputs(self, inputs: dict[str, Any], output_type: OutputType | None) -> dict[str, Any]:
        return {**inputs, "output_type": output_type, "effort": self._effort, **self._tables, **self._load}

    def _response(
        self,
        output: Mapping[str, Any],
        config: RunnableConfig,
        reply: Callable[[str], Response] | None = None,
    ) -> Response:
        """Return the answer in `output`, or raise its error; `reply` answers a clarifying question."""
        if output.get("error"):
            raise _error_of(output, self._graph, config)
        state = self._graph.get_state(config).values
        is_drawn = output["output_type"] == "dataframe" and not output.get("charts")
        draw = (lambda: drawn_by_default(state, self._services.source)) if is_drawn else None
        return response_of(output, reply, draw, first_result(state))


def _error_of(output: Mapping[str, Any], graph: Any, config: RunnableConfig) -> DatasphinxError:
    """Return the error that ended a run, with its text in the language of the question as a note."""
    failure = graph.get_state(config).values.get("failure")
    error = error_of(failure) if failure else Unanswered("question_failed", reason=output["error"]["message"])
    error.add_note(output["answer"])
    return error
