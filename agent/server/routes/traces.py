"""Routes: the recorded events of a run, and its replay."""

from typing import Annotated, Any

from fastapi import Path

from datasphinx.agent.core.canonical import plain
from datasphinx.agent.core.failure import server_directories
from datasphinx.agent.core.redact import without_directories
from datasphinx.agent.core.text import valid_text
from datasphinx.agent.errors import NotFound
from datasphinx.agent.messages import Message
from datasphinx.agent.record.events import StoredEvent
from datasphinx.agent.record.store import Store
from datasphinx.agent.replay import replay
from datasphinx.agent.server.background import run_in_thread
from datasphinx.agent.server.errors import new_router
from datasphinx.agent.server.tenants import Tenant, current_tenant
from datasphinx.agent.settings import Settings

router = new_router(prefix="/traces/{trace_id}", tags=["traces"])

TraceId = Annotated[str, Path(pattern=r"^[0-9a-f]{32}$")]


@router.get("")
async def trace(trace_id: TraceId) -> dict[str, Any]:
    """All recorded events of a run: each model call, statement and step."""
    tenant = current_tenant()
    _, events = await run_in_thread(lambda: open_run(tenant, trace_id))
    body = {"trace_id": trace_id, "events": [event.as_json() for event in events]}
    return {**without_directories_in(body, tenant.services.settings)}


@router.post("/replay")
async def again(trace_id: TraceId) -> dict[str, Any]:
    """Run a question again with the recorded model outputs on the current data, and compare each step."""
    tenant = current_tenant()
    services = tenant.services
    store, _ = await run_in_thread(lambda: open_run(tenant, trace_id))
    comparison = await run_in_thread(
        lambda: replay(
            store,
            trace_id,
            services.settings,
            any_source=False,
            registry=services.registry,
            sample_url=services.sample_url,
        )
    )
    return {**without_directories_in(comparison.as_json(), services.settings)}


def open_run(tenant: Tenant, trace_id: str) -> tuple[Store, list[StoredEvent]]:
    """Return the event log, and the events of a run of the tenant. Raise NotFound if the tenant has no such run."""
    store = tenant.services.store
    if store is None:
        raise NotFound("trace_unknown", trace_id=trace_id, reason=Message("no_record"))
    events = store.run(trace_id)
    if events[0].content.get("tenant", "") != tenant.name:
        raise NotFound("trace_unknown", trace_id=trace_id, reason=Message("no_run"))
    return store, events


def without_directories_in(value: Any, settings: Settings) -> Any:
    """Return a JSON value with valid texts, without the directories of this machine.

    Unlike in errors, paths outside of these directories may be data and stay.
    """
    directories = server_directories(settings)
    return plain(value, lambda text: without_directories(valid_text(text), directories))
