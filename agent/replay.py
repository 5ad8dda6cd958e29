"""Replay of a logged question: recorded model outputs, statements executed on the current data."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver

from datasphinx.agent.analyst import build_analyst
from datasphinx.agent.conversation.conversations import run_recorded
from datasphinx.agent.core.redact import without_password
from datasphinx.agent.datasets.registry import Registry
from datasphinx.agent.errors import DatasphinxError, NotFound, SourceNotFound
from datasphinx.agent.examples.selection import RecordedExamples
from datasphinx.agent.generation.validations import Validations
from datasphinx.agent.generation.verified import RecordedQueries
from datasphinx.agent.graph import build_graph
from datasphinx.agent.llm.recorded import RecordedModel
from datasphinx.agent.messages import Message
from datasphinx.agent.record.compare import Difference, compare, steps_of
from datasphinx.agent.record.credentials import secrets_of
from datasphinx.agent.record.events import Event
from datasphinx.agent.record.recorder import Recorder
from datasphinx.agent.record.store import Store
from datasphinx.agent.report.graph import build_report
from datasphinx.agent.run_events import CONVERSATION, REPLAYED_SETTINGS, RUN_SQL
from datasphinx.agent.services import Services
from datasphinx.agent.settings import Settings
from datasphinx.agent.sql.compare import canonical_sql
from datasphinx.agent.state import Output
from datasphinx.agent.types import EmbeddedOptions

_UNLIMITED = 10**9
_Recorded = Sequence[tuple[str, dict[str, Any]]]
"""The kinds and contents of the events of a run."""


@dataclass(frozen=True)
class Replay:
    """The outcome of a replay."""

    trace_id: str
    steps: int
    output: Output
    differences: list[Difference]

    def as_json(self) -> dict[str, Any]:
        """Return the JSON output of `datasphinx trace replay --json`."""
        differences = [vars(difference) for difference in self.differences]
        return {"trace_id": self.trace_id, "steps": self.steps, "same": not differences, "differences": differences}


@dataclass
class _MemorySink:
    """Collects the events of the replay in memory; a replay is not logged."""

    events: list[Event] = field(default_factory=list)

    def append(self, events: Sequence[Event]) -> None:
        self.events.extend(events)


class ReplayServices(Services):
    """Services with the selections and validations of a recorded run and its date."""

    is_replay = True

    def __init__(
        self,
        settings: Settings,
        model: RecordedModel,
        recorded: _Recorded,
        recorder: Recorder,
        *,
        any_source: bool,
        registry: Registry | None,
        sample_url: Callable[[], str] | None,
        of_part: "Callable[[str], ReplayServices]",
    ) -> None:
        """Create services from the kinds and contents of the `recorded` events; see `replay`.

        `of_part` returns the services for the trace of a question of a report.
        """
        day = date.fromisoformat(recorded[0][1]["date"])
        super().__init__(settings, model=model, any_source=any_source, recorder=recorder, today=lambda: day)
        self.examples = RecordedExamples([body for kind, body in recorded if kind == "examples"])
        self.verified = RecordedQueries([body for kind, body in recorded if kind == "verified"])
        self.validations = Validations({body["key"]: body["validation"] for kind, body in recorded if kind == "cached"})
        if registry:
            self.registry = registry
        self._sample_url, self._services_of_trace = sample_url, of_part
        self._traces = {body["id"]: body["trace_id"] for kind, body in recorded if kind == "part"}
        self._parts: list[ReplayServices] = []

    def of_part(self, part_id: str) -> Services:
        """Return the services with the recorded run for a question of the report. Raise NotFound if there is none."""
        trace_id = self._traces.get(part_id)
        if not trace_id:
            raise NotFound("trace_unknown", trace_id=part_id, reason=Message("run_begin_missing"))
        services = self._services_of_trace(trace_id)
        self._parts.append(services)
        return services

    def close(self) -> None:
        """Close the sources, also those of the questions of a report."""
        for services in self._parts:
            services.close()
        super().close()

    def sample_url(self) -> str:
        """Return the URL of the sample database that the recorded run used."""
        return self._sample_url() if self._sample_url else super().sample_url()


def replay(
    store: Store,
    trace_id: str,
    settings: Settings,
    source: str | None = None,
    *,
    any_source: bool = True,
    registry: Registry | None = None,
    sample_url: Callable[[], str] | None = None,
) -> Replay:
    """Run the question of a trace with the recorded outputs of the model, and return the differences.

    No model is called. `source` replaces the logged source, whose password is not
    logged; if `settings` contain that source, its password is taken from there. Without `any_source`, only sources in
    `settings` are opened. `registry` provides files and datasets, and `sample_url` returns the URL of the sample
    database, by default those of the settings.

    Raises:
        NotFound: there is no such trace, its start is not in the log, it is that of a statement, or a file or dataset
            of the question is no longer stored.
        SourceNotFound, SourceUnreachable, DriverMissing, Refused: the source is no longer available.
    """
    recorded = store.run(trace_id)
    trace_id, contents = recorded[0].trace_id, [(event.kind, event.content) for event in recorded]
    if contents[0][0] != "run":
        raise NotFound("trace_unknown", trace_id=trace_id, reason=Message("run_begin_missing"))
    start, sink = contents[0][1], _MemorySink()
    if start["graph"] == RUN_SQL:
        raise NotFound("trace_unknown", trace_id=trace_id, reason=Message("run_without_question"))
    inputs = dict(start["input"])
    if inputs.get("source"):
        inputs = _replace_source(inputs, source or _with_password(inputs["source"], settings))
    elif start["graph"] == "analyst" and source:
        raise SourceNotFound(without_password(source), Message("replayed_on_datasets"))

    def services_of(recorded: _Recorded, sink: _MemorySink) -> ReplayServices:
        def of_part(trace_id: str) -> ReplayServices:
            events = [(event.kind, event.content) for event in store.run(trace_id)]
            return services_of(events, _MemorySink())

        return ReplayServices(
            *_recorded_model(recorded, settings, source),
            recorded,
            Recorder(sink, secrets_of(settings)),
            any_source=any_source,
            registry=registry,
            sample_url=sample_url,
            of_part=of_part,
        )

    services = services_of(contents, sink)
    with closing(services):
        failed = recorded[-1].content.get("error")
        error = str(failed["code"]) if isinstance(failed, dict) else None
        build, last, prepare = _GRAPHS[start["graph"]]
        carried = {name: inputs.pop(name) for name in CONVERSATION if name in inputs}
        prepare(inputs, carried, contents, services, error)
        output = run_recorded(build(services, InMemorySaver()), inputs, carried, error, last=last)
    replayed = [(event.kind, event.body) for event in sink.events]
    differences = compare(contents, replayed)
    begun = [body for kind, body in replayed if kind == "run"]
    before, now = start.get("knowledge") or {}, (begun[0].get("knowledge") or {}) if begun else {}
    if differences and before != now and not source:
        # Changed definitions explain other differences; by themselves they are none.
        differences.insert(0, Difference(1, differences[0].node, "business knowledge", before, now))
    return Replay(trace_id, steps_of(replayed), output, differences)


def _recorded_model(recorded: _Recorded, settings: Settings, source: str | None) -> tuple[Settings, RecordedModel]:
    """Return the settings and the model of a recorded run; `source` replaces its source."""
    start, is_analyst = recorded[0][1], recorded[0][1]["graph"] == "analyst"
    replay_settings = _settings(start["settings"], start.get("source_instructions") or {}, settings)
    if not is_analyst:
        default_source = source or _with_password(start["settings"]["source"], settings)
        replay_settings = replay_settings.model_copy(update={"source": default_source})
    embedded = EmbeddedOptions(candidates=start["embedded"]["candidates"]) if start["embedded"] else None
    model = RecordedModel((body for kind, body in recorded if kind == "llm"), replay_settings, embedded)
    return replay_settings, model


def _settings(recorded: dict[str, Any], instructions: Mapping[str, str], settings: Settings) -> Settings:
    """Return the settings that affected the run, without budgets, which the recorded run already met.

    `instructions` are those of the sources at that time.
    """
    recorded_settings = {name: recorded[name] for name in REPLAYED_SETTINGS if name in recorded}
    unlimited = dict.fromkeys(("max_llm_calls", "max_llm_tokens", "max_cost_usd", "max_question_s"), _UNLIMITED)
    # A replay has no side effects: accepted examples were stored by the recorded run.
    sources = {
        name: source.model_copy(update={"instructions": instructions.get(name, "")})
        for name, source in settings.sources.items()
    }
    changes = {"sources": sources, **recorded_settings, **unlimited}
    return settings.model_copy(update=changes)


def _prepare_question(
    inputs: dict[str, Any], carried: dict[str, Any], recorded: _Recorded, services: Services, error: str | None
) -> None:
    """Add to `carried` the rows that a change of format took over from its thread, which are not logged.

    Their statement is executed again. `error` is the code of the error of the recorded run, if it failed.
    """
    source = None
    try:
        source = services.source(inputs.get("source"))
    except DatasphinxError as problem:
        # The recorded run may have ended because the source could not be opened.
        if problem.code != error:
            raise
    turns, executed = carried.get("turns"), [body["sql"] for kind, body in recorded if kind == "statement"]
    last = turns[-1]["sql"] if turns else None
    if source and last and last not in executed:
        # The output has the clauses of its statement in lines.
        same = canonical_sql(recorded[-1][1].get("sql") or "", source.catalog.dialect)
        if same == canonical_sql(last, source.catalog.dialect) or all(kind != "llm" for kind, _ in recorded):
            with suppress(DatasphinxError):
                carried["result"] = source.execute(last)


def _replace_source(inputs: dict[str, Any], source: str) -> dict[str, Any]:
    """Return `inputs` with its source replaced by `source`, also in its turns."""
    turns: list[dict[str, Any]] = inputs.get("turns") or []
    new_source = {"source": without_password(source)}
    new_turns = [{**turn, **new_source} if turn.get("source") == inputs["source"] else turn for turn in turns]
    return {**inputs, "source": source, **({"turns": new_turns} if new_turns else {})}


def _with_password(recorded: str, settings: Settings) -> str:
    """Return the logged source with its password from `settings`."""
    if ":***@" not in recorded:
        return recorded
    urls = [settings.source, *(configured.url.get_secret_value() for configured in settings.sources.values())]
    for url in urls:
        if without_password(url) == recorded:
            return url
    raise SourceNotFound(recorded, Message("password_not_recorded"))


def _prepare_analysis(
    inputs: dict[str, Any], carried: dict[str, Any], recorded: _Recorded, services: Services, error: str | None
) -> None:
    """Name the stored copies of the files in `inputs`: the path of a file may have other content now.

    Raises:
        NotFound: a file or dataset of the question is no longer stored.
    """
    if files := _files(recorded):
        inputs["files"] = files
    if any(kind == "tool" for kind, _ in recorded):
        for file_id in inputs.get("files") or ():
            services.registry.file(file_id)
        for dataset_id in inputs.get("datasets") or ():
            services.registry.dataset(dataset_id)


def _files(recorded: _Recorded) -> list[str]:
    """Return the ids of the files of the question: those imported before the first plan of the model."""
    ids: list[str] = []
    for kind, body in recorded:
        if kind == "llm" and body["node"] == "plan":
            break
        if kind == "tool" and body["tool"] == "create_dataset":
            ids.append(body["arguments"]["file_id"])
    return ids


_GRAPHS: Mapping[str, tuple[Callable[..., Any], str, Callable[..., None]]] = {
    "agent": (build_graph, "answer", _prepare_question),
    "analyst": (build_analyst, "narrate", _prepare_analysis),
    # The questions of a report are replayed from traces of their own.
    "report": (build_report, "write", lambda *_: None),
}
"""By graph, what builds it, its last node, and what prepares the input of a replay."""
