"""Boards: pinned answers of a tenant, and their last results, in the shared database or a SQLite file."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from sqlalchemy import ColumnElement, Connection, TableClause, and_, column, delete, func, insert, select, table, update

from datasphinx.agent.errors import Conflict, NotFound
from datasphinx.agent.storage.database import SharedDatabase

MAX_BOARDS, MAX_PINS = 100, 30
"""Maximum number of boards of a tenant, and of pinned answers of a board."""
_INTERVALS = {"hourly": 3600, "daily": 86_400, "weekly": 604_800}
"""The intervals of scheduled refreshes in seconds, by name."""

_boards = table("datasphinx_boards", *map(column, ("tenant", "id", "due_at", "body")))
_pins = table("datasphinx_pins", *map(column, ("tenant", "board", "id", "position", "body")))
_results = table("datasphinx_pin_results", *map(column, ("tenant", "board", "pin", "audience", "body")))


@dataclass(frozen=True)
class Board:
    """A board; times are UTC in ISO 8601."""

    id: str
    title: str
    owner: str
    """Who may change it: the owner of the services that created it."""
    created_at: str
    schedule: str | None = None
    """The name of its refresh interval; None if it is refreshed on demand only."""


@dataclass(frozen=True)
class Pin:
    """A pinned answer: a statement with all its values, and how its result is shown."""

    id: str
    title: str
    question: str
    source: str | None
    """The name of the source; None if the statement reads datasets."""
    datasets: tuple[str, ...]
    sql: str
    parameters: dict[str, Any]
    """The values of the question in a verified query; they are also in the statement."""
    output_type: str | None
    chart: dict[str, Any] | None
    """The plot spec of the chart, or the form in which it was asked for; None if it follows from the result."""
    owner: str
    created_by: str
    created_at: str
    lower: float | None = None
    upper: float | None = None


class BoardStore:
    """The boards of one tenant. Thread-safe.

    Every method raises `Unavailable` if the database cannot be used.
    """

    def __init__(self, database: SharedDatabase, tenant: str) -> None:
        """Set the database and the tenant, empty if there is only one."""
        self.database, self._tenant = database, tenant

    def boards(self) -> list[Board]:
        """Return all boards, in the order of their titles."""
        with self.database.transaction() as connection:
            rows = connection.execute(select(_boards.c.body).where(_boards.c.tenant == self._tenant)).scalars()
            return sorted((Board(**json.loads(body)) for body in rows), key=lambda board: (board.title, board.id))

    def board(self, board_id: str) -> Board:
        """Return a board. Raise NotFound if there is none with this id."""
        with self.database.transaction() as connection:
            body = connection.execute(select(_boards.c.body).where(self._is_board(board_id))).scalar()
        if body is None:
            raise NotFound("board_unknown", board_id=board_id)
        return Board(**json.loads(body))

    def add(self, board: Board) -> None:
        """Store a new board without a schedule. Raise Conflict if the tenant has `MAX_BOARDS`."""
        with self.database.transaction() as connection:
            _require_below(MAX_BOARDS, connection, _boards.c.tenant == self._tenant)
            row = {"tenant": self._tenant, "id": board.id, "due_at": None, "body": json.dumps(asdict(board))}
            connection.execute(insert(_boards), row)

    def change(self, board: Board, now: float | None = None) -> None:
        """Replace a board, whose intervals begin anew at `now`, in seconds since 1970, or go on.

        Raises:
            NotFound: there is no board with this id.
        """
        values = {"body": json.dumps(asdict(board)), **({} if now is None else {"due_at": _due_at(board, now)})}
        with self.database.transaction() as connection:
            if not connection.execute(update(_boards).where(self._is_board(board.id)).values(**values)).rowcount:
                raise NotFound("board_unknown", board_id=board.id)

    def remove(self, board_id: str) -> None:
        """Delete a board with its pinned answers and results."""
        with self.database.transaction() as connection:
            connection.execute(delete(_results).where(self._is_on(board_id, _results)))
            connection.execute(delete(_pins).where(self._is_on(board_id, _pins)))
            connection.execute(delete(_boards).where(self._is_board(board_id)))

    def pins(self, board_id: str) -> list[Pin]:
        """Return the pinned answers of a board, the first one first."""
        query = select(_pins.c.body).where(self._is_on(board_id, _pins)).order_by(_pins.c.position, _pins.c.id)
        with self.database.transaction() as connection:
            return [_pin(body) for body in connection.execute(query).scalars()]

    def pin(self, board_id: str, pin_id: str) -> Pin:
        """Return a pinned answer of a board. Raise NotFound if the board has none with this id."""
        for pin in self.pins(board_id):
            if pin.id == pin_id:
                return pin
        raise NotFound("board_unknown", board_id=pin_id)

    def add_pin(self, board_id: str, pin: Pin) -> None:
        """Store a new pinned answer at the end of a board. Raise NotFound without it, and Conflict if it is full."""
        with self.database.transaction() as connection:
            if not connection.execute(
                select(func.count()).select_from(_boards).where(self._is_board(board_id))
            ).scalar():
                raise NotFound("board_unknown", board_id=board_id)
            _require_below(MAX_PINS, connection, self._is_on(board_id, _pins))
            last = connection.execute(select(func.max(_pins.c.position)).where(self._is_on(board_id, _pins))).scalar()
            row = {"tenant": self._tenant, "board": board_id, "id": pin.id, "position": (last or 0) + 1}
            connection.execute(insert(_pins), {**row, "body": json.dumps(asdict(pin))})

    def change_pin(self, board_id: str, pin: Pin) -> None:
        """Replace a pinned answer."""
        with self.database.transaction() as connection:
            changed = update(_pins).where(self._is_on(board_id, _pins), _pins.c.id == pin.id)
            connection.execute(changed.values(body=json.dumps(asdict(pin))))

    def remove_pin(self, board_id: str, pin_id: str) -> None:
        """Delete a pinned answer with its results."""
        with self.database.transaction() as connection:
            connection.execute(delete(_results).where(self._is_on(board_id, _results), _results.c.pin == pin_id))
            connection.execute(delete(_pins).where(self._is_on(board_id, _pins), _pins.c.id == pin_id))

    def results(self, board_id: str, audiences: Sequence[str]) -> dict[tuple[str, str], dict[str, Any]]:
        """Return the last results for these audiences, by pinned answer and audience."""
        query = select(_results).where(self._is_on(board_id, _results), _results.c.audience.in_(audiences))
        with self.database.transaction() as connection:
            return {(row.pin, row.audience): json.loads(row.body) for row in connection.execute(query)}

    def put_result(self, board_id: str, pin_id: str, audience: str, result: dict[str, Any]) -> None:
        """Store the last result of a pinned answer for an audience, unless the answer was deleted meanwhile."""
        is_same = and_(self._is_on(board_id, _results), _results.c.pin == pin_id, _results.c.audience == audience)
        is_pinned = and_(self._is_on(board_id, _pins), _pins.c.id == pin_id)
        row = {"tenant": self._tenant, "board": board_id, "pin": pin_id, "audience": audience}
        with self.database.transaction() as connection:
            # The row of the pinned answer is locked, so that two refreshes do not insert the same result.
            if connection.execute(select(_pins.c.id).where(is_pinned).with_for_update()).first() is None:
                return
            connection.execute(delete(_results).where(is_same))
            connection.execute(insert(_results), {**row, "body": json.dumps(result)})

    def _is_board(self, board_id: str) -> ColumnElement[bool]:
        return and_(_boards.c.tenant == self._tenant, _boards.c.id == board_id)

    def _is_on(self, board_id: str, table: TableClause) -> ColumnElement[bool]:
        return and_(table.c.tenant == self._tenant, table.c.board == board_id)


def claim_due(database: SharedDatabase, now: float) -> list[tuple[str, Board]]:
    """Return the boards of all tenants whose scheduled refresh is due, each with its tenant, and set their next time.

    Of several processes, one gets a board.
    """
    claimed = []
    with database.transaction() as connection:
        for row in connection.execute(select(_boards).where(_boards.c.due_at <= now)).all():
            board = Board(**json.loads(row.body))
            is_same = and_(_boards.c.tenant == row.tenant, _boards.c.id == row.id, _boards.c.due_at == row.due_at)
            if connection.execute(update(_boards).where(is_same).values(due_at=_due_at(board, now))).rowcount:
                claimed.append((str(row.tenant), board))
    return claimed


def _due_at(board: Board, now: float) -> float | None:
    return now + _INTERVALS[board.schedule] if board.schedule else None


def _require_below(limit: int, connection: Connection, condition: ColumnElement[bool]) -> None:
    if connection.execute(select(func.count()).where(condition)).scalar_one() >= limit:
        raise Conflict("board_limit", limit=limit)


def _pin(body: str) -> Pin:
    values = json.loads(body)
    known = {field.name: values[field.name] for field in fields(Pin) if field.name in values}
    return Pin(**{**known, "datasets": tuple(values["datasets"])})
