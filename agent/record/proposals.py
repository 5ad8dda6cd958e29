"""Proposals for the business knowledge of a source, in the database of the record."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from sqlalchemy import Row, column, insert, select, table, update
from sqlalchemy.exc import IntegrityError

from datasphinx.agent.core.canonical import digest
from datasphinx.agent.errors import Conflict, NotFound, Unavailable
from datasphinx.agent.record.store import Store

ProposalStatus = Literal["open", "accepted", "rejected"]
ProposalOrigin = Literal["accepted_answer", "edited_statement", "rejected_answer"]
_MAX_LISTED = 1000

_proposals = table("datasphinx_proposals", *map(column, ("id", "owner", "source", "status", "proposed_at", "body")))


@dataclass(frozen=True)
class Proposal:
    """A proposed entry: a verified query, or with a `choice`, the meaning of a word."""

    source: str
    """The name of the source."""
    question: str
    sql: str
    choice: Mapping[str, str] | None
    """The `word` and what it `means`; None for a verified query.

    That is the name of one of several entries that share the word or, with the `part` "terms", a condition.
    """
    clarifications: tuple[str, ...]
    """The user's answers to clarifying questions, and remarks."""
    proposed_by: str
    proposed_at: str
    """UTC in ISO 8601."""
    trace_id: str
    """The trace id of the run that answered the question; empty if unknown."""
    status: ProposalStatus = "open"
    reviewed_by: str = ""
    place: str = ""
    """The file and line of the entry, once it is accepted."""
    origin: ProposalOrigin = "accepted_answer"
    """An answer that a user accepted, a statement that a user edited and ran, or an answer that a user rejected.

    The reason of a rejection is the last of `clarifications`. A rejected answer cannot become an entry."""

    @property
    def id(self) -> str:
        """The id, a hash of the source and the contents."""
        contents = self.choice or {"question": " ".join(self.question.split()).casefold(), "sql": self.sql}
        if self.origin == "rejected_answer":
            contents = {**contents, "reason": self.clarifications[-1]}
        return f"pr_{digest(json.dumps([self.source, sorted(contents.items())]))[:16]}"

    def as_json(self) -> dict[str, Any]:
        """Return the proposal as a JSON object."""
        return {"id": self.id, **asdict(self), "clarifications": list(self.clarifications)}


class ProposalStore:
    """The proposals of one tenant. Every method raises `Unavailable` if the database cannot be used."""

    def __init__(self, store: Store, owner: str) -> None:
        """Set the database and the tenant, empty if there is only one."""
        self._store, self._owner = store, owner

    def add(self, proposal: Proposal) -> bool:
        """Store a proposal; return False if it was stored before, whatever its status is."""
        body = asdict(proposal)
        row = {name: body.pop(name) for name in ("source", "status", "proposed_at")}
        try:
            with self._store.transaction(writes=True) as connection:
                key = {"id": self._key(proposal.id), "owner": self._owner}
                connection.execute(insert(_proposals).values(**key, **row, body=json.dumps(body)))
        except Unavailable as error:
            if isinstance(error.__cause__, IntegrityError):
                return False
            raise
        return True

    def proposals(self, status: ProposalStatus | None = None, source: str | None = None) -> list[Proposal]:
        """Return the last 1,000 proposals with this status about this source, oldest first; None: any."""
        query = select(_proposals).where(_proposals.c.owner == self._owner)
        query = query if status is None else query.where(_proposals.c.status == status)
        query = query if source is None else query.where(_proposals.c.source == source)
        query = query.order_by(_proposals.c.proposed_at.desc(), _proposals.c.id).limit(_MAX_LISTED)
        with self._store.transaction() as connection:
            return [_proposal(row) for row in connection.execute(query)][::-1]

    def get(self, proposal_id: str) -> Proposal:
        """Return a proposal. Raise NotFound if the tenant has no proposal with this id."""
        query = select(_proposals).where(_proposals.c.owner == self._owner, _proposals.c.id == self._key(proposal_id))
        with self._store.transaction() as connection:
            row = connection.execute(query).first()
        if row is None:
            raise NotFound("proposal_unknown", proposal_id=proposal_id)
        return _proposal(row)

    def change(self, proposal: Proposal, expected: ProposalStatus) -> None:
        """Replace the stored proposal. Raise Conflict if its status is not `expected`: it was reviewed before."""
        body = asdict(proposal)
        row = {name: body.pop(name) for name in ("source", "status", "proposed_at")}
        is_same = (_proposals.c.owner == self._owner, _proposals.c.id == self._key(proposal.id))
        query = update(_proposals).where(*is_same, _proposals.c.status == expected)
        with self._store.transaction(writes=True) as connection:
            changed = connection.execute(query.values(status=row["status"], body=json.dumps(body))).rowcount
        if not changed:
            raise Conflict("proposal_closed", proposal_id=proposal.id, status=self.get(proposal.id).status)

    def _key(self, proposal_id: str) -> str:
        # Tenants may share a database.
        return f"{self._owner}/{proposal_id}"


def _proposal(row: Row[Any]) -> Proposal:
    body = json.loads(row.body)
    body["clarifications"] = tuple(body["clarifications"])
    return Proposal(source=row.source, status=row.status, proposed_at=row.proposed_at, **body)
