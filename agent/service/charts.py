"""Route: a chart of an answer as a picture, drawn when it is asked for."""

import re
import threading
from functools import lru_cache

from fastapi import APIRouter, Response
from pydantic_core import from_json, to_json
from starlette.concurrency import run_in_threadpool

from agent.charts.drawn import png_of_option
from agent.errors import ChartUnknown
from agent.service.tenant import Tenant, asking
from agent.state import AnswerChart

router = APIRouter(tags=["charts"])

_ID = re.compile(r"([0-9a-f]{32})-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})-([1-9][0-9]?)")
_KEPT_PICTURES = 64
_turn = threading.Lock()


@router.get(
    "/charts/{chart_id}.png",
    response_class=Response,
    responses={200: {"content": {"image/png": {"schema": {"type": "string", "format": "binary"}}}}},
)
async def chart(chart_id: str) -> Response:
    """The chart that an output names by this id, as a PNG of 1000 x 600 pixels."""
    tenant = asking()
    return Response(await run_in_threadpool(lambda: _picture(tenant, chart_id)), media_type="image/png")


def _picture(tenant: Tenant, chart_id: str) -> bytes:
    found = _chart(tenant, chart_id)
    if found is None:
        raise ChartUnknown(chart_id[:200])
    return _drawn(found["type"], to_json(found["option"]))


def _chart(tenant: Tenant, chart_id: str) -> AnswerChart | None:
    """Return the chart as its thread has kept it; None where the tenant has none of this id."""
    named = _ID.fullmatch(chart_id)
    if named is None:
        return None
    thread_id, kept_as, number = named.groups()
    for graph in tenant.graphs:
        run = tenant.threads.run(tenant.threads.key(graph, thread_id), kept_as)
        charts = run.checkpoint["channel_values"].get("charts") or [] if run else []
        if int(number) <= len(charts):
            chart: AnswerChart = charts[int(number) - 1]
            return chart
    return None


@lru_cache(maxsize=_KEPT_PICTURES)
def _drawn(chart_type: str, option: bytes) -> bytes:
    """Return the picture; one is drawn at a time, since that takes a core and much memory."""
    with _turn:
        return png_of_option(chart_type, from_json(option))
