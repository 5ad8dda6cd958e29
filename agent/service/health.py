"""Routes: whether the server is alive, and whether it is ready."""

import asyncio

from fastapi import APIRouter
from fastapi.responses import JSONResponse

from agent.health import readiness
from agent.service.apart import apart
from agent.service.tenant import Tenant, somebody_asks


def health_routes(server: Tenant) -> APIRouter:
    """Return the routes; `server` is the tenant that everything can be asked for."""
    router, one_at_a_time = APIRouter(tags=["server"]), asyncio.Lock()

    @router.get("/healthz")
    async def healthz() -> dict[str, str]:
        """Whether the server is alive; nothing is looked at."""
        return {"status": "ok"}

    @router.get("/readyz", response_model=None, responses={503: {"description": "A check fails."}})
    async def readyz() -> JSONResponse:
        """Whether the model, the databases and the stores answer, each with what is wrong; no model is asked."""
        async with one_at_a_time:
            found = await apart(lambda: readiness(server.services, server.threads))
        shown = found if somebody_asks() else {"status": found["status"]}
        return JSONResponse(shown, 200 if found["status"] == "ready" else 503)

    return router
