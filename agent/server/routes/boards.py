"""Routes: boards of pinned answers."""

import time
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Annotated, Any, Literal

from fastapi import Path, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from datasphinx.agent.answers.export import table_bytes
from datasphinx.agent.core.failure import error_info
from datasphinx.agent.errors import InputInvalid
from datasphinx.agent.messages import Language, Message
from datasphinx.agent.server.background import cancellable, run_in_thread
from datasphinx.agent.server.boards import (
    board_results,
    is_out_of_bounds,
    new_board,
    own_board,
    pin_answer,
    refresh,
)
from datasphinx.agent.server.errors import accepted_language, new_router
from datasphinx.agent.server.runnable import json_bytes, plain_json
from datasphinx.agent.server.tenants import Tenant, current_tenant
from datasphinx.agent.storage.boards import Board, Pin
from datasphinx.agent.types import AnswerTable

router = new_router(prefix="/boards", tags=["boards"])
BoardId = Annotated[str, Path(pattern=r"^bd_[0-9a-f]{16}$")]
PinId = Annotated[str, Path(pattern=r"^pin_[0-9a-f]{16}$")]
Title = Annotated[str, Field(min_length=1, max_length=200)]
Bound = Annotated[float | None, Field(allow_inf_nan=False)]
Schedule = Literal["hourly", "daily", "weekly"]
_FIGURES = ("title", "question", "figure", "lower", "upper", "out_of_bounds", "refreshed_at", "error")


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True)


class NewBoard(_Body):
    """A board to create."""

    title: Title


class BoardChange(_Body):
    """The properties of a board to change."""

    title: Title | None = None
    schedule: Schedule | None = Field(None, description="The refresh interval; null: on demand only.")


class NewPin(_Body):
    """An answer of a stored thread to pin."""

    thread_id: str = Field(pattern=r"^[0-9a-f]{32}$", description="`thread_id` of the output.")
    run_id: str = Field(pattern=r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$", description="`run_id` of the output.")
    title: Title | None = Field(None, description="Default: the question.")


class PinChange(_Body):
    """The properties of a pinned answer to change."""

    title: Title | None = None
    lower: Bound = Field(None, description="Lower bound of the figure; null: none.")
    upper: Bound = Field(None, description="Upper bound of the figure; null: none.")


@router.get("")
def boards() -> dict[str, Any]:
    """All boards of the tenant, in the order of their titles."""
    tenant = current_tenant()
    return {"boards": [_board_json(board, tenant) for board in tenant.boards.boards()]}


@router.post("", status_code=201)
def create_board(new: NewBoard) -> dict[str, Any]:
    """Create an empty board."""
    tenant = current_tenant()
    return _board_json(new_board(tenant, new.title), tenant)


@router.get("/{board_id}")
def board(board_id: BoardId, request: Request) -> dict[str, Any]:
    """A board with its pinned answers and their last results."""
    return _shown(board_id, request)


@router.patch("/{board_id}")
def change_board(board_id: BoardId, change: BoardChange, request: Request) -> dict[str, Any]:
    """Change the title or the schedule of a board; properties that are left out stay."""
    tenant = current_tenant()
    if given := _given(change):
        changed = replace(own_board(tenant, board_id), **given)
        tenant.boards.change(changed, time.time() if "schedule" in given else None)
    return _shown(board_id, request)


@router.delete("/{board_id}", status_code=204)
def delete_board(board_id: BoardId) -> None:
    """Delete a board with its pinned answers."""
    tenant = current_tenant()
    tenant.boards.remove(own_board(tenant, board_id).id)


@router.post("/{board_id}/pins", status_code=201)
async def pin(board_id: BoardId, new: NewPin, request: Request) -> dict[str, Any]:
    """Pin an answer to a board and execute its statement; this counts as a question."""
    tenant = current_tenant()
    await tenant.admit(1)

    def work() -> Pin:
        return pin_answer(tenant, own_board(tenant, board_id), new.thread_id, new.run_id, new.title)

    pinned = await run_in_thread(work)
    await cancellable(lambda stop: refresh(tenant, board_id, pinned, stop))
    return await run_in_thread(lambda: _shown_pin(board_id, pinned.id, request))


@router.patch("/{board_id}/pins/{pin_id}")
def change_pin(board_id: BoardId, pin_id: PinId, change: PinChange, request: Request) -> dict[str, Any]:
    """Change the title or the bounds of a pinned answer; properties that are left out stay."""
    tenant = current_tenant()
    own_board(tenant, board_id)
    changed = replace(tenant.boards.pin(board_id, pin_id), **_given(change))
    if changed.lower is not None and changed.upper is not None and changed.lower > changed.upper:
        raise InputInvalid("lower", Message("bounds_reversed"))
    tenant.boards.change_pin(board_id, changed)
    return _shown_pin(board_id, pin_id, request)


@router.delete("/{board_id}/pins/{pin_id}", status_code=204)
def unpin(board_id: BoardId, pin_id: PinId) -> None:
    """Remove a pinned answer from a board."""
    tenant = current_tenant()
    own_board(tenant, board_id)
    tenant.boards.remove_pin(board_id, tenant.boards.pin(board_id, pin_id).id)


@router.post("/{board_id}/refresh")
async def refresh_board(board_id: BoardId, request: Request) -> dict[str, Any]:
    """Execute the statements of all pinned answers, one after the other; each counts as a question."""
    tenant = current_tenant()
    await run_in_thread(lambda: tenant.boards.board(board_id))
    for pinned in await run_in_thread(lambda: tenant.boards.pins(board_id)):
        await _refresh(tenant, board_id, pinned)
    return await run_in_thread(lambda: _shown(board_id, request))


@router.post("/{board_id}/pins/{pin_id}/refresh")
async def refresh_pin(board_id: BoardId, pin_id: PinId, request: Request) -> dict[str, Any]:
    """Execute the statement of a pinned answer; this counts as a question."""
    tenant = current_tenant()
    await _refresh(tenant, board_id, await run_in_thread(lambda: tenant.boards.pin(board_id, pin_id)))
    return await run_in_thread(lambda: _shown_pin(board_id, pin_id, request))


@router.get(
    "/{board_id}/export.{suffix}",
    response_class=Response,
    responses={200: {"content": {"text/csv": {}, "application/json": {}}}},
)
def export(board_id: BoardId, suffix: Literal["csv", "json"], request: Request) -> Response:
    """The board as a file: its figures as CSV, or figures and rows as JSON."""
    shown = _shown(board_id, request)
    if suffix == "json":
        content, media_type = json_bytes(shown), "application/json"
    else:
        content, media_type = _figures_csv(shown), "text/csv; charset=utf-8"
    name = {"Content-Disposition": f'attachment; filename="{board_id}.{suffix}"'}
    return Response(content, media_type=media_type, headers=name)


def _given(change: BoardChange | PinChange) -> dict[str, Any]:
    return {name: getattr(change, name) for name in change.model_fields_set if name != "title" or change.title}


async def _refresh(tenant: Tenant, board_id: str, pinned: Pin) -> None:
    await tenant.admit(1)
    await cancellable(lambda stop: refresh(tenant, board_id, pinned, stop))


def _shown(board_id: str, request: Request) -> dict[str, Any]:
    tenant, language = current_tenant(), accepted_language(request.scope)
    board, pins = tenant.boards.board(board_id), tenant.boards.pins(board_id)
    results = board_results(tenant, board_id, pins)
    shown = [_pin_json(pinned, results.get(pinned.id), language) for pinned in pins]
    return plain_json({**_board_json(board, tenant), "pins": shown})


def _shown_pin(board_id: str, pin_id: str, request: Request) -> dict[str, Any]:
    shown = _shown(board_id, request)
    return next(dict(pinned) for pinned in shown["pins"] if pinned["id"] == pin_id)


def _board_json(board: Board, tenant: Tenant) -> dict[str, Any]:
    shown = {name: getattr(board, name) for name in ("id", "title", "created_at", "schedule")}
    return {**shown, "may_change": board.owner == tenant.services.owner}


def _pin_json(pin: Pin, result: Mapping[str, Any] | None, language: Language) -> dict[str, Any]:
    """Return a pinned answer with its last result; `result` is null before the first refresh."""
    fields = asdict(pin)
    for internal in ("owner", "chart"):
        del fields[internal]
    shown = None
    if result:
        shown = {name: value for name, value in result.items() if name != "failure"}
        shown["error"] = error_info(result["failure"], language) if result["failure"] else None
    return {**fields, "result": shown, "out_of_bounds": is_out_of_bounds(pin, result)}


def _figures_csv(shown: Mapping[str, Any]) -> bytes:
    rows = []
    for pinned in shown["pins"]:
        result = pinned["result"] or {}
        error = (result.get("error") or {}).get("message")
        values = {**pinned, **result, "error": error}
        rows.append([values.get(name) for name in _FIGURES])
    return table_bytes(AnswerTable(name="figures", columns=list(_FIGURES), rows=rows), ".csv")
