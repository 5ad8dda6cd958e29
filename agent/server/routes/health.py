"""Routes: liveness, readiness, and a test of the model for operators."""

import asyncio
import time
from functools import partial
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse

from datasphinx.agent.errors import Unavailable
from datasphinx.agent.messages import Message
from datasphinx.agent.server.background import run_in_thread
from datasphinx.agent.server.errors import accepted_language, new_router
from datasphinx.agent.server.readiness import TIMEOUT_S, ask_model, check, open_model, readiness
from datasphinx.agent.server.tenants import Tenant, Tenants, current_tenant, has_role
from datasphinx.agent.services import Services


class _Opening:
    """The opening of a model in a thread of its own; an opening that fails is repeated by the next check.

    A check waits a while for the embedded model, whose weights may have to be downloaded, and for an endpoint until its
    own time limit.
    """

    def __init__(self) -> None:
        self._task: asyncio.Task[None] | None = None

    async def check(self, services: Services) -> dict[str, Any]:
        """Return the check of the model: whether its client can be built, its endpoint responds, its server runs."""
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(run_in_thread(partial(open_model, services)))
        is_embedded = services.settings.for_role("generate").uses_embedded_model
        await asyncio.wait({self._task}, timeout=TIMEOUT_S if is_embedded else None)
        return check(self._task.result if self._task.done() else _fail_as_loading, services.settings)


def _fail_as_loading() -> None:
    raise Unavailable("embedded_model_unavailable", reason=Message("model_is_loading"))


def health_routes(server: Tenant, tenants: Tenants | None) -> APIRouter:
    """Return the health routes; `tenants` is None on a server without keys."""
    router, one_at_a_time, opening = new_router(tags=["server"]), asyncio.Lock(), _Opening()

    @router.get("/healthz")
    async def healthz() -> dict[str, str]:
        """Whether the process responds; nothing else is checked."""
        return {"status": "ok"}

    @router.get("/readyz", response_model=None, responses={503: {"description": "A check fails."}})
    async def readyz() -> JSONResponse:
        """Whether the model, the databases and the stores are available. The model is loaded but not called.

        On a server with keys or tokens, only a request with the role `operate` gets each check, for the sources of its
        tenant; others get the status, for all sources of all tenants.
        """
        async with one_at_a_time:
            model = await opening.check(server.services)
            if has_role("operate"):
                tenant = current_tenant()
                services = tenant.services
                sources = {name: [services] for name in services.choices}
                report = await run_in_thread(lambda: readiness(services, tenant.threads, sources, model))
            else:
                all_sources = tenants.by_source() if tenants else {}
                report = await run_in_thread(lambda: readiness(server.services, server.threads, all_sources, model))
                report = {"status": report["status"]}
        return JSONResponse(report, 200 if report["status"] == "ready" else 503)

    @router.post("/operate/model/test")
    async def test_model(request: Request) -> dict[str, Any]:
        """Ask the model for a word: whether it answers, the error if it does not, and the seconds."""
        services, language, started = current_tenant().services, accepted_language(request.scope), time.perf_counter()
        result = await run_in_thread(partial(check, partial(ask_model, services), services.settings, language))
        return {**result, "seconds": round(time.perf_counter() - started, 1)}

    return router
