"""Routes: whether the server is alive, and whether it is ready."""

import asyncio

from fastapi import APIRouter
from fastapi.responses import JSONResponse

from agent.health import readiness
from agent.service.apart import apart
from agent.service.tenant import Tenant, asking, somebody_asks
from agent.service.tenants import Tenants


def health_routes(server: Tenant, tenants: Tenants | None) -> APIRouter:
    """Return the routes of a server, which has `tenants` if it has keys."""
    router, one_at_a_time = APIRouter(tags=["server"]), asyncio.Lock()

    @router.get("/healthz")
    async def healthz() -> dict[str, str]:
        """Whether the process is alive; nothing else is checked."""
        return {"status": "ok"}

    @router.get("/readyz", response_model=None, responses={503: {"description": "A check fails."}})
    async def readyz() -> JSONResponse:
        """Whether the model, the databases and the stores are available; the model is not asked a question.

        On a server with keys a request without one gets the status alone, for all sources of all tenants; a request
        with a key gets each check, for the sources of its tenant.
        """
        async with one_at_a_time:
            if somebody_asks():
                tenant = asking()
                services = tenant.services
                sources = {name: [services] for name in services.choices}
                found = await apart(lambda: readiness(services, tenant.threads, sources))
            else:
                every = tenants.by_source() if tenants else {}
                found = await apart(lambda: readiness(server.services, server.threads, every))
                found = {"status": found["status"]}
        return JSONResponse(found, 200 if found["status"] == "ready" else 503)

    return router
