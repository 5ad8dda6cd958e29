"""Routes: the chart of a stored answer, with its settings, follow-up questions, and rows and reports as files."""

import json
from collections.abc import Collection, Mapping
from typing import Annotated, Any, Literal, get_args
from urllib.parse import quote

from fastapi import Path, Response
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from typing_extensions import TypedDict

from datasphinx.agent.answers.export import file_name, table_bytes
from datasphinx.agent.answers.starting_questions import starting_questions
from datasphinx.agent.answers.stored_chart import charted_result, named_source, selected_by_default
from datasphinx.agent.answers.wording import MAX_PROPOSED, not_asked
from datasphinx.agent.charts.cells import NUMERIC, type_of_column
from datasphinx.agent.charts.default import select_charts, selection_of
from datasphinx.agent.charts.echarts import draw
from datasphinx.agent.charts.plot_spec import PlotSpec
from datasphinx.agent.charts.select import Selection
from datasphinx.agent.errors import NotFound, PlotSpecInvalid
from datasphinx.agent.formatting.formats import answer_table
from datasphinx.agent.messages import language_in
from datasphinx.agent.report.export import ReportResponse
from datasphinx.agent.server.errors import new_router
from datasphinx.agent.server.routes.threads import RunId, ThreadId
from datasphinx.agent.server.runnable import plain_json
from datasphinx.agent.server.tenants import current_tenant
from datasphinx.agent.types import ReportSuffix, Result

router = new_router(prefix="/threads/{thread_id}/runs/{run_id}", tags=["threads"])

Suffix = Literal["csv", "xlsx", "parquet"]
_MEDIA_TYPES: dict[str, str] = {
    "csv": "text/csv; charset=utf-8",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "parquet": "application/vnd.apache.parquet",
    "html": "text/html; charset=utf-8",
    "md": "text/markdown; charset=utf-8",
    "json": "application/json",
    "pdf": "application/pdf",
}


def _files(*suffixes: str) -> dict[int | str, dict[str, Any]]:
    """Return the OpenAPI description of responses that are files."""
    content = {"schema": {"type": "string", "format": "binary"}}
    return {200: {"content": {_MEDIA_TYPES[suffix].split(";")[0]: content for suffix in suffixes}}}


class NewChart(BaseModel):
    """The settings of a chart."""

    model_config = ConfigDict(extra="forbid")

    spec: PlotSpec = Field(description="The chart, with the columns of the first table of the answer.")


@router.get("/chart")
def chart(thread_id: ThreadId, run_id: RunId) -> dict[str, Any]:
    """The chart of an answer with its settings, and the settings of a chart of each type that fits."""
    return _chart(thread_id, run_id, None)


@router.put("/chart")
def save_chart(thread_id: ThreadId, run_id: RunId, new: NewChart) -> dict[str, Any]:
    """Draw the first table of an answer with other settings, and store them with the answer."""
    return _chart(thread_id, run_id, new.spec)


class FollowUpQuestions(TypedDict):
    """Questions that follow an answer, in its language."""

    questions: list[str]


@router.get("/questions")
def questions(thread_id: ThreadId, run_id: RunId) -> FollowUpQuestions:
    """Up to three follow-up questions that the model proposed; without them, those to start with after a greeting."""
    tenant = current_tenant()
    run = tenant.stored_run(thread_id, run_id)
    state, turns = run.state, run.state.get("turns") or []
    proposed = not_asked(state.get("follow_ups") or (), (turn["question"] for turn in turns))
    if run.graph == "agent" and state.get("reply") and not (turns or proposed or state.get("error")):
        source = tenant.services.source(named_source(state))
        first = starting_questions(source, language_in(state))[:MAX_PROPOSED]
        return {"questions": [each["question"] for each in first]}
    return {"questions": proposed}


@router.get("/tables/{number}.{suffix}", response_class=Response, responses=_files(*get_args(Suffix)))
def table(thread_id: ThreadId, run_id: RunId, number: Annotated[int, Path(ge=1, le=1000)], suffix: Suffix) -> Response:
    """All rows of a table of an answer, by its number from 1, as a file named after the question."""
    state = current_tenant().stored_run(thread_id, run_id).state
    parts = (state.get("report") or {}).get("parts") or ()
    own = [answer_table(part["id"], part["result"]) for part in parts if part["result"]]
    tables = state.get("tables") or own
    if number > len(tables):
        raise NotFound("table_unknown", number=number)
    title = f"{_question(state)[:200]}{f' {number}' if len(tables) > 1 else ''}"
    return _attachment(table_bytes(tables[number - 1], f".{suffix}"), title, suffix)


@router.get("/report.{suffix}", response_class=Response, responses=_files(*get_args(ReportSuffix)))
def report(thread_id: ThreadId, run_id: RunId, suffix: ReportSuffix) -> Response:
    """A report as a file named after the request; a PDF is printed by Chromium or Chrome on the server."""
    state = current_tenant().stored_run(thread_id, run_id).state
    if not state.get("report"):
        raise NotFound("run_unknown", run_id=run_id)
    written = ReportResponse(state["report"], None, state["audit"], language_in(state))
    return _attachment(written.content(f".{suffix}"), _question(state)[:200], suffix)


def _question(state: Mapping[str, Any]) -> str:
    return str(state.get("question") or "")


def _chart(thread_id: str, run_id: str, spec: PlotSpec | None) -> dict[str, Any]:
    """Return the chart of `spec`, which is stored, or else the stored, drawn or default one.

    Raises:
        NotFound: the tenant has no such run, or there is a `spec`, and the answer has no rows.
        PlotSpecInvalid: the spec does not fit the rows.
    """
    tenant = current_tenant()
    _, key, state = tenant.stored_run(thread_id, run_id)
    question, found = _question(state), charted_result(state, tenant.services.source)
    if found is None:
        if spec:
            raise NotFound("table_unknown", number=1)
        return {"chart": None, "spec": None, "saved": False, "types": {}, "columns": []}
    result, keys = found
    language = language_in(state)
    charts = select_charts(result, question, keys, language)
    saved = None
    if spec:
        selection: Selection | None = selection_of(spec, result, charts.values())
        tenant.threads.save_chart(key, run_id, spec.model_dump_json())
    else:
        saved = tenant.threads.saved_chart(key, run_id)
        selection = _selection(state, result, keys, charts.values(), saved)
    drawn = draw(selection.result, selection.spec, language, selection.notes) if selection else None
    body = {
        "chart": {"type": drawn.type, "option": drawn.option} if drawn else None,
        "spec": selection.spec.model_dump() if selection else None,
        "saved": bool(spec or saved),
        "types": {kind: chart.spec.model_dump() for kind, chart in charts.items()},
        "columns": [
            {"name": name, "numeric": type_of_column(result, name) in NUMERIC}
            for name in dict.fromkeys(result["columns"])
        ],
    }
    return plain_json(body)


def _selection(
    state: Mapping[str, Any], result: Result, keys: Collection[int], charts: Collection[Selection], saved: str | None
) -> Selection | None:
    """Return the chart with the stored settings, or the one that the answer contains, or the default one."""
    drawings = state.get("drawn") or []
    specs = [saved and json.loads(saved), *(drawing["spec"] for drawing in drawings[:1])]
    for stored in filter(None, specs):
        try:
            return selection_of(PlotSpec.model_validate(stored), result, charts)
        except (PlotSpecInvalid, ValidationError):
            # A chart of several results has columns of its own, and one of an earlier version may have another type.
            continue
    if state.get("charts"):
        shown = state["charts"][0]["type"]
        return next((chart for chart in charts if chart.spec.chart_type == shown), None)
    return selected_by_default(state, result, keys)


def _attachment(content: bytes, title: str, suffix: str) -> Response:
    name, plain = (file_name(text, f".{suffix}") for text in (title, title.encode("ascii", "ignore").decode()))
    disposition = f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name)}"
    return Response(content, media_type=_MEDIA_TYPES[suffix], headers={"Content-Disposition": disposition})
