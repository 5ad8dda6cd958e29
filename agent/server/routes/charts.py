"""Route: a chart of an answer as a PNG image, drawn on request."""

import re
from functools import lru_cache

from fastapi import Response
from pydantic_core import from_json, to_json
from starlette.concurrency import run_in_threadpool

from datasphinx.agent.charts.png import png_of_option
from datasphinx.agent.errors import NotFound
from datasphinx.agent.server.errors import new_router
from datasphinx.agent.server.tenants import Tenant, current_tenant
from datasphinx.agent.types import AnswerChart

router = new_router(tags=["charts"])

_ID = re.compile(r"([0-9a-f]{32})-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})-([1-9][0-9]?)")
_CACHED_PICTURES = 64


@router.get(
    "/charts/{chart_id}.png",
    response_class=Response,
    responses={200: {"content": {"image/png": {"schema": {"type": "string", "format": "binary"}}}}},
)
async def chart(chart_id: str) -> Response:
    """The chart of an output with this id, as a PNG of 1000 x 600 pixels."""
    chart = await run_in_threadpool(_stored_chart, current_tenant(), chart_id)
    if chart is None:
        raise NotFound("chart_unknown", chart_id=chart_id[:200])
    picture = await run_in_threadpool(_draw, to_json(chart["option"]))
    return Response(picture, media_type="image/png")


def _stored_chart(tenant: Tenant, chart_id: str) -> AnswerChart | None:
    """Return the chart as stored in its thread; None if the tenant has no chart with this id."""
    match = _ID.fullmatch(chart_id)
    if match is None:
        return None
    thread_id, run_id, number = match.groups()
    try:
        charts = tenant.stored_run(thread_id, run_id).state.get("charts") or []
    except NotFound:
        return None
    return charts[int(number) - 1] if int(number) <= len(charts) else None


@lru_cache(maxsize=_CACHED_PICTURES)
def _draw(option: bytes) -> bytes:
    return png_of_option(from_json(option))
