"""Routes: review of the proposals for the business knowledge of a tenant's sources."""

from typing import Annotated, Any

from fastapi import Path
from pydantic import BaseModel, ConfigDict, Field

from datasphinx.agent.proposals import accept, all_proposals, explain_code, find_proposal, reject, user_of
from datasphinx.agent.record.proposals import ProposalStatus
from datasphinx.agent.server.background import run_in_thread
from datasphinx.agent.server.errors import new_router
from datasphinx.agent.server.statements import resolve_source
from datasphinx.agent.server.tenants import current_tenant

router = new_router(prefix="/proposals", tags=["proposals"])
ProposalId = Annotated[str, Path(pattern=r"^pr_[0-9a-f]{16}$")]


class Acceptance(BaseModel):
    """Who accepts a proposal."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True)

    author: str | None = Field(
        None, min_length=1, max_length=200, description="Who has verified the query; default: the tenant."
    )
    note: str | None = Field(None, min_length=1, max_length=2000, description="Note of the entry.")


@router.get("")
def proposals(status: ProposalStatus | None = "open", source: str | None = None) -> dict[str, Any]:
    """The proposals with this status, oldest first."""
    found = all_proposals(current_tenant().services, status, source)
    return {"proposals": [proposal.as_json() for proposal in found]}


class CodeMeaning(BaseModel):
    """What a stored code means."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True)

    source: str | None = Field(None, max_length=1000, description="Default: the first source.")
    table: str = Field(min_length=1, max_length=500)
    column: str = Field(min_length=1, max_length=500)
    code: str = Field(min_length=1, max_length=200)
    meaning: str = Field(min_length=1, max_length=200)


@router.post("/codes", status_code=201)
async def explain(code: CodeMeaning) -> dict[str, str]:
    """Write the meaning of a code into the knowledge folder of its source, and return its place."""
    services = current_tenant().services
    name = services.choices[0] if code.source is None else resolve_source(services, code.source)
    given = (code.table, code.column, code.code, code.meaning)
    return {"place": await run_in_thread(lambda: explain_code(services, name, *given))}


@router.get("/{proposal_id}")
def proposal(proposal_id: ProposalId) -> dict[str, Any]:
    """One proposal."""
    found, _ = find_proposal(current_tenant().services, proposal_id)
    return found.as_json()


@router.post("/{proposal_id}/accept")
async def accept_proposal(proposal_id: ProposalId, acceptance: Acceptance) -> dict[str, Any]:
    """Check the entry of a proposal and write it into the knowledge folder of its source."""
    services = current_tenant().services
    author = acceptance.author or user_of(services)
    return (await run_in_thread(lambda: accept(services, proposal_id, author, acceptance.note))).as_json()


@router.post("/{proposal_id}/reject")
def reject_proposal(proposal_id: ProposalId) -> dict[str, Any]:
    """Close a proposal without an entry."""
    services = current_tenant().services
    return reject(services, proposal_id, user_of(services)).as_json()
