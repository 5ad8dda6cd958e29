"""Runs a recorded question again: the model says what it said then, the statements run on the data of today."""

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver

from agent.audit.bodies import CARRIED_ON, REPLAYED_SETTINGS
from agent.audit.compare import Difference, compare, steps_of
from agent.audit.events import Event, StoredEvent
from agent.audit.known_secrets import secrets_of
from agent.audit.record import Recorder
from agent.audit.store import Store
from agent.conversation.last_rows import shown_rows
from agent.conversation.thread_again import replayed
from agent.datasets.registry import Registry
from agent.errors import DatasphinxError, SourceNotFound, TraceUnknown
from agent.examples.choose import RecordedExamples
from agent.graph import build_graph
from agent.models.embedded import EmbeddedOptions
from agent.models.recorded import RecordedModel
from agent.replay_analyst import ask_again
from agent.services import Services
from agent.settings import Settings
from agent.sql.redact import without_password
from agent.state import Output

_UNLIMITED = 10**9


@dataclass(frozen=True)
class Replay:
    """How a replay went."""

    trace_id: str
    steps: int
    output: Output
    differences: list[Difference]

    def as_json(self) -> dict[str, Any]:
        """Return it as `datasphinx trace replay --json` prints it."""
        different = [vars(each) for each in self.differences]
        return {"trace_id": self.trace_id, "steps": self.steps, "same": not different, "differences": different}


@dataclass
class _Kept:
    """Keeps the events of the replay, which is itself not put on the record."""

    events: list[Event] = field(default_factory=list)

    def append(self, events: Sequence[Event]) -> None:
        self.events.extend(events)


def replay(
    store: Store,
    trace_id: str,
    settings: Settings,
    source: str | None = None,
    *,
    any_source: bool = True,
    registry: Registry | None = None,
) -> Replay:
    """Run the question of a trace with the recorded outputs of the model, and return what differs.

    No model is asked, nor an endpoint for embeddings. `source` is asked in place of the recorded one, whose password
    is not on the record; one that stands in `settings` is found there, and with `any_source` off no other is opened.
    `registry` has the files and datasets, left out: that of the settings.

    Raises:
        TraceUnknown: there is no such trace, or its beginning is not on the record.
        RecordUnavailable: the record cannot be read.
        SourceNotFound, SourceUnreachable, DriverMissing, AccountCanWrite: the source cannot be asked, and could then.
        FileUnknown, DatasetUnknown: what the analyst was asked of is not kept any more.
    """
    recorded = store.run(trace_id)
    trace_id, contents = recorded[0].trace_id, [(event.kind, event.content) for event in recorded]
    if contents[0][0] != "run":
        raise TraceUnknown(trace_id, "its beginning is not on the record")
    begun, kept = contents[0][1], _Kept()
    is_analyst, given = begun["graph"] == "analyst", dict(begun["input"])
    if given.get("source"):
        given = _at_source(given, source or _with_password(given["source"], settings))
    elif is_analyst and source:
        raise SourceNotFound(without_password(source), "the run asked datasets, and is replayed on the same ones")
    now = _settings(begun["settings"], settings) if is_analyst else _settings_of_agent(begun, settings, source)
    embedded = EmbeddedOptions(**begun["embedded"]) if begun["embedded"] else None
    services = Services(
        now,
        model=RecordedModel((body for kind, body in contents if kind == "llm"), now, embedded),
        any_source=any_source,
        recorder=Recorder(kept, secrets_of(settings)),
        registry=registry,
        examples=RecordedExamples([body for kind, body in contents if kind == "examples"]),
        validations={body["key"]: body["validation"] for kind, body in contents if kind == "cached"},
        today=lambda: date.fromisoformat(begun["date"]),
    )
    ask = ask_again if is_analyst else _ask_again
    with closing(services):
        output = ask(given, contents, services, _error_of(recorded))
    again = [(event.kind, event.body) for event in kept.events]
    return Replay(trace_id, steps_of(again), output, compare(contents, again))


def _settings(recorded: dict[str, Any], settings: Settings) -> Settings:
    """Return the settings of the run, as far as they change what it does; what it may cost was decided then."""
    same = {name: recorded[name] for name in REPLAYED_SETTINGS if name in recorded}
    free = dict.fromkeys(("max_llm_calls", "max_llm_tokens", "max_cost_usd", "max_question_s"), _UNLIMITED)
    # What was kept of an answer then is kept.
    still = {"embeddings_model": None, "keep_accepted_examples": False}
    return settings.model_copy(update={**same, **free, **still})


def _settings_of_agent(begun: dict[str, Any], settings: Settings, source: str | None) -> Settings:
    asked = source or _with_password(begun["settings"]["source"], settings)
    return _settings(begun["settings"], settings).model_copy(update={"source": asked})


def _ask_again(
    given: dict[str, Any], recorded: Sequence[tuple[str, dict[str, Any]]], services: Services, error: str | None
) -> Output:
    """Return the output of the SQL agent.

    Rows that a run found on its thread are not on the record: they are read again, before it.
    """
    _open(services, given.get("source"), error)
    carried = {name: given.pop(name) for name in CARRIED_ON if name in given}
    if carried.get("turns") and not any(kind in ("statement", "llm") for kind, _ in recorded):
        carried["result"] = shown_rows(carried["turns"][-1], services.source(given.get("source")))
    return replayed(build_graph(services, InMemorySaver()), given, carried, error, last="answer")


def _at_source(given: dict[str, Any], source: str) -> dict[str, Any]:
    """Return `given` with `source` in place of its own, also in the turns that asked that."""
    turns: list[dict[str, Any]] = given.get("turns") or []
    same = {"source": without_password(source)}
    moved = [{**turn, **same} if turn.get("source") == given["source"] else turn for turn in turns]
    return {**given, "source": source, **({"turns": moved} if moved else {})}


def _with_password(recorded: str, settings: Settings) -> str:
    """Return the source of the record as it can be opened: with the password that `settings` have for it."""
    if ":***@" not in recorded:
        return recorded
    known = [settings.source, *(each.url.get_secret_value() for each in settings.sources.values())]
    for url in known:
        if without_password(url) == recorded:
            return url
    raise SourceNotFound(recorded, "its password is not on the record; give the source with --source")


def _open(services: Services, source: str | None, error: str | None) -> None:
    """Open the source that will be asked, unless the run ended because it could not be opened."""
    try:
        services.source(source)
    except DatasphinxError as problem:
        if problem.code != error:
            raise


def _error_of(recorded: Sequence[StoredEvent]) -> str | None:
    error = recorded[-1].content.get("error")
    return str(error["code"]) if isinstance(error, dict) else None
