"""The Python face: `chat("...", source)`, and `Agent` for conversations. What goes wrong is raised as a typed error."""

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver

from agent.asked_sources import Asked, read_sources
from agent.audit.step import Audit
from agent.errors import DatasphinxError, InputInvalid, InvalidQuestion, NothingAsked, QuestionFailed
from agent.failure import error_of
from agent.graph import build_graph
from agent.responses import (
    ChartResponse,
    DataFrameResponse,
    NumberResponse,
    Response,
    StringResponse,
    response_of,
)
from agent.services import Services
from agent.settings import Settings, load_settings
from agent.state import OutputType

__all__ = ["Agent", "ChartResponse", "DataFrameResponse", "NumberResponse", "Response", "StringResponse", "chat"]


def chat(question: str, *sources: Asked, output_type: OutputType | None = None) -> Response:
    """Return the answer to one question about `sources`; all that `Agent` and `Agent.chat` say holds."""
    return Agent(sources).chat(question, output_type=output_type)


class Agent:
    """Conversations about sources. One question goes to databases, or to files and DataFrames.

    A source is a SQLAlchemy URL, the name of a configured source, the path of a spreadsheet, CSV, Parquet or JSON lines
    file, or a pandas DataFrame; without one the configured sources are asked. Of several databases of one engine the
    question goes to that whose tables fit it best. An agent has one conversation at a time: threads need one each.
    """

    def __init__(
        self,
        sources: Asked | Sequence[Asked] = (),
        *,
        settings: Settings | None = None,
        model: BaseChatModel | None = None,
    ) -> None:
        """Tell the sources apart; take `model` instead of the configured one.

        Raises:
            SourceNotFound: there is no such source.
            SourcesNotTogether: one question cannot reach them all.
            ConfigurationError, DriverMissing: a setting is wrong, or a driver is not installed.
        """
        settings = settings or load_settings()
        self._asked = read_sources(sources, Services(settings))
        if self._asked.databases:
            settings = settings.model_copy(update={"sources": self._asked.databases, "source": ""})
        self._services = Services(settings, model=model)
        self._checkpointer = InMemorySaver()
        self._graph: Any = None
        self._tables: dict[str, list[str]] = {}
        self._thread = ""
        self._begun = False
        self._output: Mapping[str, Any] = {}

    def chat(self, question: str, output_type: OutputType | None = None) -> Response:
        """Return the answer to a question that begins a conversation; `output_type` forces its form.

        Raises:
            InvalidOutputType: the result cannot have that form, also after one correction by the model.
            DatasphinxError: whatever else keeps the question from an answer, by its class.
        """
        self._checkpointer.delete_thread(self._thread)
        self._thread, self._begun = uuid.uuid4().hex, False
        return self._ask({"question": question}, output_type)

    def follow_up(self, question: str, output_type: OutputType | None = None) -> Response:
        """Return the answer to a question that is read together with those before it: "and by month?", "as a chart".

        Raises:
            InvalidQuestion: there is no question before it.
            DatasphinxError: as `chat` says.
        """
        self._check_begun()
        return self._ask({"question": question}, output_type)

    def clarify(self, answer: str | int, output_type: OutputType | None = None) -> Response:
        """Return the answer to the last question; `answer` is an option of what was asked back, or own words.

        An option is named by its label, or by its number from 1.

        Raises:
            InvalidQuestion: there is no question before it.
            NothingAsked: nothing was asked back.
            OptionUnknown: the number is that of no option; the question is still open.
            DatasphinxError: as `chat` says.
        """
        self._check_begun()
        if not self._output.get("clarification"):
            raise NothingAsked()
        return self._ask({"clarification_answer": str(answer)}, output_type)

    def reject(self, comment: str = "", output_type: OutputType | None = None) -> Response:
        """Return another answer to the last question that was answered, or a question back.

        Raises:
            InvalidQuestion: there is no question before it.
            NothingAnswered: none was answered, or a question back is open.
            InputInvalid: it was asked of files, where another question has to be asked.
            DatasphinxError: as `chat` says.
        """
        return self._feedback({"accepted": False, "comment": comment}, output_type)

    def accept(self) -> Response:
        """Take note that the last answer is right: it is kept as an example where `keep_accepted_examples` is set.

        Raises:
            InvalidQuestion, NothingAnswered, InputInvalid: as `reject` says.
        """
        return self._feedback({"accepted": True}, None)

    @property
    def last_sql(self) -> str | None:
        """The last statement, also that of a question that failed; None before the first."""
        return self._output.get("sql")

    @property
    def trace(self) -> Audit | None:
        """What the last question did and cost, by step, under its trace id; None before the first."""
        return self._output.get("audit")

    def build_graph(self, services: Services, checkpointer: BaseCheckpointSaver[Any]) -> Any:
        """Return the graph that answers: the analyst for files and DataFrames, else the SQL agent.

        Raises:
            DriverMissing: a package of the analyst is not installed.
        """
        if self._asked.are_tables:
            return _build_analyst(services, checkpointer)
        return build_graph(services, checkpointer)

    def _check_begun(self) -> None:
        if not self._begun:
            raise InvalidQuestion("no question was answered before it; begin with chat()")

    def _feedback(self, feedback: dict[str, Any], output_type: OutputType | None) -> Response:
        self._check_begun()
        if self._asked.are_tables:
            raise InputInvalid("feedback", "answers about files take none; ask again in other words")
        return self._ask({"feedback": feedback}, output_type)

    def _ask(self, given: dict[str, Any], output_type: OutputType | None) -> Response:
        if self._graph is None:
            self._open()
        config = RunnableConfig(configurable={"thread_id": self._thread})
        given = {**given, "output_type": output_type, **self._tables}
        self._output = self._graph.invoke(given, config, durability="exit")
        if self._output.get("error"):
            raise self._error(self._graph.get_state(config).values.get("failure"))
        self._begun = True
        return response_of(self._output)

    def _open(self) -> None:
        if self._asked.are_tables:
            self._tables = self._asked.registered(self._services.registry)
        self._graph = self.build_graph(self._services, self._checkpointer)

    def _error(self, failure: dict[str, Any] | None) -> DatasphinxError:
        """Return why there is no answer; its text in the language of the question is a note on it."""
        error = error_of(failure) if failure else QuestionFailed(self._output["error"]["message"])
        error.add_note(self._output["answer"])
        return error


def _build_analyst(services: Services, checkpointer: BaseCheckpointSaver[Any]) -> Any:
    from agent.analyst import build_analyst

    return build_analyst(services, checkpointer)
