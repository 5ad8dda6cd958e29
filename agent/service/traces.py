"""Routes: what a run did, from the record, and the same run once more."""

from typing import Annotated, Any

from fastapi import APIRouter, Path

from agent.audit.events import StoredEvent
from agent.audit.store import Store
from agent.errors import TraceUnknown
from agent.failure import server_directories
from agent.replay import replay
from agent.service.apart import apart
from agent.service.tenant import Tenant, asking
from agent.sql.redact import without_directories
from agent.text import valid_text

router = APIRouter(prefix="/traces/{trace_id}", tags=["traces"])

TraceId = Annotated[str, Path(pattern=r"^[0-9a-f]{32}$")]


@router.get("")
async def trace(trace_id: TraceId) -> dict[str, Any]:
    """Everything that is on the record of a run: each model call, statement and step."""
    tenant = asking()
    events = await apart(lambda: _events(tenant, trace_id))
    shown = {"trace_id": trace_id, "events": [event.as_json() for event in events]}
    return {**_without_directories(shown, server_directories(tenant.services.settings))}


@router.post("/replay")
async def again(trace_id: TraceId) -> dict[str, Any]:
    """Run a question again with the recorded outputs of the model, on the data of today, and compare each step."""
    tenant = asking()
    found = await apart(lambda: _again(tenant, trace_id))
    return {**_without_directories(found, server_directories(tenant.services.settings))}


def _events(tenant: Tenant, trace_id: str) -> list[StoredEvent]:
    """Return the events of a run of the tenant.

    Raises:
        TraceUnknown: the tenant has no such run.
        RecordUnavailable: the record cannot be read.
    """
    return _found(tenant, trace_id)[1]


def _found(tenant: Tenant, trace_id: str) -> tuple[Store, list[StoredEvent]]:
    """Return the record, and what `_events` returns."""
    store = tenant.services.store
    if store is None:
        raise TraceUnknown(trace_id, "no record is kept")
    events = store.run(trace_id)
    if events[0].content.get("tenant", "") != tenant.name:
        raise TraceUnknown(trace_id, "no run has it")
    return store, events


def _again(tenant: Tenant, trace_id: str) -> dict[str, Any]:
    (store, _), services = _found(tenant, trace_id), tenant.services
    return replay(store, trace_id, services.settings, any_source=False, registry=services.registry).as_json()


def _without_directories(value: Any, directories: set[str]) -> Any:
    """Return a JSON value with valid texts, from which the directories of this machine are cut.

    Unlike in an error, a path that is not below one of them may be data, and stays.
    """
    if isinstance(value, dict):
        return {name: _without_directories(part, directories) for name, part in value.items()}
    if isinstance(value, list):
        return [_without_directories(part, directories) for part in value]
    return without_directories(valid_text(value), directories) if isinstance(value, str) else value
