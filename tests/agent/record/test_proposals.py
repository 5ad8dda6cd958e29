"""Proposals in the database of the record: once each, reviewed once, and apart for each tenant."""

import threading
from dataclasses import replace

import pytest

from datasphinx.agent.errors import Conflict, NotFound
from datasphinx.agent.record.proposals import Proposal, ProposalStore
from datasphinx.agent.record.store import Store
from tests.support.errors import of_code

PROPOSAL = Proposal(
    source="shop",
    question="Сколько «клиентов»? 😀",
    sql="SELECT COUNT(*) FROM customers",
    choice=None,
    clarifications=("by country",),
    proposed_by="ann",
    proposed_at="2026-11-23T10:00:00+00:00",
    trace_id="a" * 32,
)


def test_proposals_of_tenants_are_apart_and_reviewed_once(url: str) -> None:
    acme, beta = (ProposalStore(Store(url), owner) for owner in ("acme", "beta"))
    choice = replace(PROPOSAL, choice={"word": "sales", "means": "net sales"}, proposed_at="2026-11-23T09:00:00+00:00")

    assert [acme.add(PROPOSAL), acme.add(replace(PROPOSAL, proposed_by="bob")), acme.add(choice)] == [True, False, True]
    assert acme.proposals() == [choice, PROPOSAL]
    assert acme.proposals("open", "other") == beta.proposals() == []
    with pytest.raises(NotFound, check=of_code("proposal_unknown")):
        beta.get(PROPOSAL.id)
    assert beta.add(PROPOSAL)

    outcomes: list[str] = []

    def review(name: str) -> None:
        try:
            ProposalStore(Store(url), "acme").change(replace(PROPOSAL, status="accepted", reviewed_by=name), "open")
            outcomes.append(f"by {name}")
        except Conflict as error:
            outcomes.append(error.status)

    threads = [threading.Thread(target=review, args=(str(number),)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes)[:3] == ["accepted"] * 3
    assert sorted(outcomes)[3] == f"by {acme.get(PROPOSAL.id).reviewed_by}"
    assert acme.get(PROPOSAL.id).status == "accepted"
    assert (acme.proposals("open"), acme.add(PROPOSAL)) == ([choice], False)
    assert beta.get(PROPOSAL.id) == PROPOSAL
    with pytest.raises(Conflict, check=of_code("proposal_closed")):
        acme.change(replace(PROPOSAL, status="rejected"), "open")
