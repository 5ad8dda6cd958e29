"""Boards: pinning of stored answers, execution of their statements, and scheduled refreshes."""

import json
import logging
import time
import uuid
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any, cast

from datasphinx.agent.answers.stored_chart import charted_result, named_source, selected_by_default
from datasphinx.agent.charts.echarts import asked_chart, chart_of
from datasphinx.agent.core.cancellation import Cancellation
from datasphinx.agent.core.canonical import value_hash
from datasphinx.agent.core.failure import client_failure
from datasphinx.agent.core.redact import without_password
from datasphinx.agent.errors import (
    DatasphinxError,
    Forbidden,
    NotFound,
    Refused,
)
from datasphinx.agent.formatting.checks import with_formats
from datasphinx.agent.generation.attempts import current
from datasphinx.agent.messages import Message, language_of
from datasphinx.agent.proposals import user_of
from datasphinx.agent.server.background import cancellable, repeated, run_in_thread
from datasphinx.agent.server.statements import run_recorded
from datasphinx.agent.server.tenants import Identity, Tenant, Tenants
from datasphinx.agent.services import Services
from datasphinx.agent.sources.names import source_label
from datasphinx.agent.sources.source import Source
from datasphinx.agent.sql.summary import summarize_query
from datasphinx.agent.storage.boards import Board, Pin, claim_due
from datasphinx.agent.types import AnswerChart, ChartForm, Result, masked

logger = logging.getLogger("datasphinx")

_CHECK_S = 30
"""Time between two checks for due boards, in seconds."""
_MAX_ROWS, _MAX_CHARS = 1000, 1_000_000
"""Limits of the stored rows of a result: their number, and their characters as JSON."""
_NUMERIC = {"integer", "float", "decimal"}


def new_board(tenant: Tenant, title: str) -> Board:
    """Store an empty board, and return it. Raise Conflict if the tenant has too many boards."""
    board = Board(id=f"bd_{uuid.uuid4().hex[:16]}", title=title, owner=tenant.services.owner, created_at=_now())
    tenant.boards.add(board)
    return board


def own_board(tenant: Tenant, board_id: str) -> Board:
    """Return a board for a change. Raise NotFound without one, and Forbidden if it belongs to other users."""
    board = tenant.boards.board(board_id)
    if board.owner != tenant.services.owner:
        raise Forbidden("board_read_only", board_id=board_id)
    return board


def pin_answer(tenant: Tenant, board: Board, thread_id: str, run_id: str, title: str | None) -> Pin:
    """Pin the answer of a run of a stored thread, and return it.

    Raises:
        NotFound: there is no such run.
        Refused: the answer has no statement, or it reads data that is not stored.
        Conflict: the board has too many pinned answers.
    """
    graph, key, state = tenant.stored_run(thread_id, run_id)
    if not state.get("sql") or state.get("error") or state.get("clarification"):
        raise Refused("answer_not_pinnable", reason=Message("pin_without_statement"))
    services, datasets = tenant.services, _datasets_of(state, tenant) if graph == "analyst" else ()
    question, name = state["question"], named_source(state) or services.choices[0]
    pin = Pin(
        id=f"pin_{uuid.uuid4().hex[:16]}",
        title=title or question[:200],
        question=question,
        source=None if datasets else source_label(name, services.settings),
        datasets=datasets,
        sql=state["sql"],
        parameters=(state.get("verified") or {}).get("parameters", {}),
        output_type=state.get("output_type"),
        chart=_shown_chart(state, tenant.threads.saved_chart(key, run_id), services),
        owner=services.owner,
        created_by=user_of(services),
        created_at=_now(),
    )
    tenant.boards.add_pin(board.id, pin)
    return pin


def refresh(tenant: Tenant, board_id: str, pin: Pin, stop: Cancellation) -> None:
    """Execute the statement of a pinned answer with the services of `tenant`, and store its result or its error.

    The rows of an earlier result are not kept after an error.
    """
    services = tenant.services
    try:
        audience = audience_of(pin, services)
        source = services.datasets(pin.datasets) if pin.source is None else services.source(pin.source)
        name = ", ".join(pin.datasets) if pin.source is None else pin.source
        origin = {"board": board_id, "pin": pin.id}
        result, audit = run_recorded(pin.sql, source, name, services, stop, origin)
        body = {**_contents(pin, source, result), "trace_id": audit["trace_id"], "failure": None}
    except DatasphinxError as error:
        audience = _audience_or_owner(pin, services)
        body = {"figure": None, "columns": [], "rows": [], "formats": [], "truncated": False, "chart": None}
        body |= {"trace_id": None, "failure": client_failure(error, services.settings)}
    if stop.requested:
        # The request or the server ended; the answer itself has not changed.
        return
    tenant.boards.put_result(board_id, pin.id, audience, {"refreshed_at": _now(), **body})


def audience_of(pin: Pin, services: Services) -> str:
    """Return the key of the results that users of `services` may read: a hash of all that restricts their rows.

    It also covers the other settings and the business knowledge of the source, so that a result which was computed
    before a change of them is not shown.

    Raises:
        SourceNotFound: the source is not configured for the tenant.
    """
    if pin.source is None:
        return value_hash([services.owner, *pin.datasets])
    settings = services.settings_of(pin.source)
    unrelated = {"description"} if settings.row_rules else {"description", "row_parameters"}
    body = settings.model_dump(mode="json", exclude=unrelated)
    url = without_password(settings.url.get_secret_value())
    return value_hash([pin.source, url, body, services.knowledge_hashes(pin.source)])


def board_results(tenant: Tenant, board_id: str, pins: list[Pin]) -> dict[str, dict[str, Any]]:
    """Return the last results that users of `tenant` may read, by the id of the pinned answer."""
    audiences = {pin.id: _audience_or_owner(pin, tenant.services) for pin in pins}
    found = tenant.boards.results(board_id, list(set(audiences.values())))
    return {pin: found[pin, audience] for pin, audience in audiences.items() if (pin, audience) in found}


def is_out_of_bounds(pin: Pin, result: Mapping[str, Any] | None) -> bool | None:
    """Return whether the figure of `result` is below or above the bounds of `pin`; None without figure or bounds."""
    figure = result.get("figure") if result else None
    if figure is None or (pin.lower is None and pin.upper is None):
        return None
    return (pin.lower is not None and figure < pin.lower) or (pin.upper is not None and figure > pin.upper)


class ScheduledRefreshes:
    """Refreshes the boards that are due, one statement at a time, while the server runs."""

    def __init__(
        self,
        server: Tenant,
        tenants: Tenants | None,
        clock: Callable[[], float] = time.time,
        check_s: float = _CHECK_S,
    ) -> None:
        """Refresh boards of `tenants`, or of `server` if it has none.

        `clock` returns seconds since 1970; `check_s` is the time between two checks, in seconds.
        """
        self._server, self._tenants, self._clock, self._check_s = server, tenants, clock, check_s

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Check for due boards during the block; a statement that runs at its end is cancelled."""
        async with repeated(self.refresh_due, self._check_s, "[BOARDS] the due boards were not refreshed"):
            yield

    async def refresh_due(self) -> None:
        """Refresh the boards that are due now.

        Answers whose rows depend on the user are left out, and so are all answers of a tenant that has reached a limit.
        """
        now = self._clock()
        for name, board in await run_in_thread(lambda: claim_due(self._server.boards.database, now)):
            tenant = await run_in_thread(lambda name=name: self._tenant(name))  # type: ignore[misc]
            if tenant is None:
                continue
            try:
                await self._refresh(tenant, board)
            except DatasphinxError as error:
                logger.warning("[BOARDS] board=%s was not refreshed: %s", board.id, error.code)

    async def _refresh(self, tenant: Tenant, board: Board) -> None:
        for pin in await run_in_thread(lambda: tenant.boards.pins(board.id)):
            if not _depends_on_user(pin, tenant.services):
                await tenant.admit(1)
                await cancellable(lambda stop, pin=pin: refresh(tenant, board.id, pin, stop))  # type: ignore[misc]

    def _tenant(self, name: str) -> Tenant | None:
        """Return the tenant with this name; None if the settings no longer contain it."""
        if self._tenants is None:
            return self._server if name == self._server.name else None
        return self._tenants.open(Identity(name, frozenset())) if name in self._tenants.names else None


def _depends_on_user(pin: Pin, services: Services) -> bool:
    """Return whether users of the tenant get different rows: by row parameters of tokens, or from own files."""
    if pin.source is None:
        return pin.owner != services.owner
    source = services.settings.sources.get(pin.source)
    oidc = services.settings.oidc
    return bool(source and source.row_rules and oidc and oidc.row_parameters)


def _datasets_of(state: Mapping[str, Any], tenant: Tenant) -> tuple[str, ...]:
    """Return the datasets that the statement of an analyst's answer reads.

    Raises:
        Refused: they are not stored.
    """
    ids = tuple(state.get("dataset_ids") or ())
    if not ids or named_source(state):
        raise Refused("answer_not_pinnable", reason=Message("pin_not_a_dataset"))
    try:
        for dataset_id in ids:
            tenant.services.registry.path_of(dataset_id)
    except NotFound:
        raise Refused("answer_not_pinnable", reason=Message("pin_dataset_missing")) from None
    return ids


def _shown_chart(state: Mapping[str, Any], saved: str | None, services: Services) -> dict[str, Any] | None:
    """Return the spec of the chart that the page shows: as changed there, drawn, asked for or by default."""
    drawings, form = state.get("drawn") or [], current(state.get("attempts")).get("form", {})
    drawn = drawings[0]["spec"] if drawings else dict(form.get("chart") or {})
    known: dict[str, Any] | None = json.loads(saved) if saved else drawn
    if known:
        return known
    found = charted_result(state, services.source)
    selection = selected_by_default(state, *found) if found else None
    return selection.spec.model_dump() if selection else None


def _contents(pin: Pin, source: Source, result: Result) -> dict[str, Any]:
    """Return the figure, the chart and the first rows of a result, without the values of secret columns."""
    result = with_formats(masked(result), pin.sql, source.catalog)
    rows = result["rows"]
    is_single = len(rows) == 1 and len(result["columns"]) == 1 and result["types"][0] in _NUMERIC
    figure = rows[0][0] if is_single and isinstance(rows[0][0], int | float) else None
    chart = _chart(pin, source, result)
    shown = rows[:_MAX_ROWS]
    while len(json.dumps(shown)) > _MAX_CHARS:
        shown = shown[: len(shown) // 2]
    return {
        "figure": figure,
        "columns": result["columns"],
        "rows": shown,
        "formats": result["formats"],
        "truncated": result["truncated"] or len(shown) < len(rows),
        "chart": chart,
    }


def _chart(pin: Pin, source: Source, result: Result) -> AnswerChart | None:
    """Return the chart of a result: the one that was pinned if its columns are there, else for a plot the best one."""
    form, language = pin.chart or {}, language_of(pin.question)
    keys = summarize_query(pin.sql, source.catalog)["keys"]
    chart = asked_chart(result, pin.question, form, keys, language)
    if chart or pin.output_type != "plot":
        return chart
    return chart_of(result, pin.question, cast(ChartForm, form), keys, language)


def _audience_or_owner(pin: Pin, services: Services) -> str:
    """Return the audience; for a source that is not configured any more, the owner of the services."""
    try:
        return audience_of(pin, services)
    except DatasphinxError:
        return value_hash([services.owner])


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
