"""What users add to the business knowledge: proposals of answers and statements, their review, meanings of codes."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from getpass import getuser
from pathlib import Path
from typing import Any

from datasphinx.agent.clarify.codes import unexplained_code
from datasphinx.agent.errors import InputInvalid, NotFound, Refused, StatementError
from datasphinx.agent.examples.example import check_example
from datasphinx.agent.knowledge.entries import ChoiceEntry, TermEntry, VerifiedEntry
from datasphinx.agent.knowledge.folder import folder_label
from datasphinx.agent.knowledge.knowledge import Item, Place
from datasphinx.agent.knowledge.labels import meanings_of
from datasphinx.agent.knowledge.references import Unresolved, find_column
from datasphinx.agent.knowledge.writing import add_entry, set_label
from datasphinx.agent.messages import Message
from datasphinx.agent.record.proposals import Proposal, ProposalStatus, ProposalStore
from datasphinx.agent.record.step import note
from datasphinx.agent.record.store import Store, sqlite_url
from datasphinx.agent.services import Services
from datasphinx.agent.sources.source import Source
from datasphinx.agent.types import Turn

FILE = "verified.yml"
"""File of the knowledge folder that accepted entries are written into."""
CODES_FILE = "codes.yml"
"""File of the knowledge folder that meanings of codes are written into."""


def propose(turn: Turn, name: str, services: Services) -> bool:
    """Store the answer of `turn` about the source `name` as a proposal; return whether there is anything to review.

    If several entries share a word of the question, or the user said which code it means, that is a separate proposal.
    Nothing is proposed for a source without a knowledge folder, for a statement with a value of a secret column, or if
    the question already has this verified query. A replay stores nothing.
    """
    settings = services.settings.sources.get(name)
    if settings is None or settings.knowledge is None:
        return False
    source = services.source(name)
    try:
        proposals = list(_proposals_of(turn, name, source, user_of(services)))
        if not services.is_replay:
            for proposal in proposals:
                store = _store_in(settings.knowledge, services)
                note(f"proposed as {proposal.id}" if store.add(proposal) else f"proposed before as {proposal.id}")
    except (Refused, StatementError) as error:
        note(f"the answer was not proposed: {error}")
        return False
    return bool(proposals)


def propose_rejected(turn: Turn, reason: str, name: str, services: Services) -> None:
    """Store the answer of `turn`, which a user rejected for this reason, for reviewers of the source `name`.

    Nothing is stored for a source without a knowledge folder, for a statement with a value of a secret column, or in a
    replay.
    """
    settings = services.settings.sources.get(name)
    if settings is None or settings.knowledge is None or services.is_replay:
        return
    try:
        proposal = _proposal_of(turn, name, services.source(name), user_of(services))
    except (Refused, StatementError) as error:
        note(f"the rejected answer was not listed for review: {error}")
        return
    clarifications = (*proposal.clarifications, reason)
    proposal = replace(proposal, origin="rejected_answer", clarifications=clarifications)
    if _store_in(settings.knowledge, services).add(proposal):
        note(f"listed for review as {proposal.id}")


def propose_statement(question: str, sql: str, name: str, services: Services, trace_id: str) -> Proposal:
    """Store a statement that a user edited as the verified query of `question`, and return the stored proposal.

    Raises:
        Refused: the source `name` has no knowledge folder, the question has no words, or the statement contains a value
            of a secret column.
    """
    source = services.source(name)
    source.check(sql)
    turn: Turn = {"question": question, "sql": sql, "answer": "", "clarifications": [], "trace_id": trace_id}
    proposal = replace(_proposal_of(turn, name, source, user_of(services)), origin="edited_statement")
    settings = services.settings.sources.get(name)
    if settings is None or settings.knowledge is None:
        raise Refused("proposal_invalid", proposal_id=proposal.id, problems=(Message("knowledge_folder_missing"),))
    store = _store_in(settings.knowledge, services)
    store.add(proposal)
    return store.get(proposal.id)


def all_proposals(
    services: Services, status: ProposalStatus | None = None, source: str | None = None
) -> list[Proposal]:
    """Return the tenant's proposals with this status about this source, oldest first; None: any."""
    found = [proposal for store in _stores(services) for proposal in store.proposals(status, source)]
    return sorted(found, key=lambda proposal: proposal.proposed_at)


def find_proposal(services: Services, proposal_id: str) -> tuple[Proposal, ProposalStore]:
    """Return a proposal of the tenant, and the store that has it. Raise NotFound if there is none with this id."""
    for store in _stores(services):
        try:
            return store.get(proposal_id), store
        except NotFound:
            continue
    raise NotFound("proposal_unknown", proposal_id=proposal_id)


def accept(services: Services, proposal_id: str, author: str, remark: str | None = None, file: str = FILE) -> Proposal:
    """Check the entry of a proposal, write it into `file`, and return the accepted proposal.

    The checks are those of `datasphinx knowledge check`. `author` verifies the query, with `remark` as its note.

    Raises:
        NotFound: there is no such proposal.
        Conflict: it has been reviewed before.
        Refused: the entry has an error, the proposal is a rejected answer, or the tenant has no knowledge
            folder of its own. The proposal stays open.
        Unavailable: the file cannot be written. The proposal stays open.
        SourceUnreachable, SourceNotFound: the source is not available.
    """
    proposal, store = find_proposal(services, proposal_id)
    if proposal.origin == "rejected_answer":
        raise Refused("proposal_invalid", proposal_id=proposal_id, problems=(Message("answer_was_rejected"),))
    configured = services.settings_of(proposal.source)
    source, folder = services.source(proposal.source), configured.knowledge
    reason = _reason_not_to_write(services, proposal.source)
    if folder is None or reason:
        raise Refused("proposal_invalid", proposal_id=proposal_id, problems=(reason,))
    accepted = replace(proposal, status="accepted", reviewed_by=author)
    body = _entry_of(proposal, author, remark)
    place = f"{folder_label(folder)}/{file}"
    _require_valid(proposal, body, source, Place(place, 1))
    store.change(accepted, "open")
    try:
        part = (proposal.choice or {"part": "verified"}).get("part", "choices")
        line = add_entry(folder / file, part, body)
    except BaseException:
        store.change(proposal, "accepted")
        raise
    accepted = replace(accepted, place=f"{place}:{line}")
    store.change(accepted, "accepted")
    return accepted


def reject(services: Services, proposal_id: str, reviewer: str) -> Proposal:
    """Close a proposal without an entry. Raise NotFound without it, and Conflict if it is closed already."""
    proposal, store = find_proposal(services, proposal_id)
    rejected = replace(proposal, status="rejected", reviewed_by=reviewer)
    store.change(rejected, "open")
    return rejected


def may_explain(services: Services, name: str) -> bool:
    """Return whether meanings of codes can be added to the business knowledge of the source `name`."""
    return _reason_not_to_write(services, name) is None


def explain_code(services: Services, name: str, table: str, column: str, code: str, meaning: str) -> str:
    """Write the meaning of a stored code into the business knowledge of the source `name`, and return its place.

    Raises:
        InputInvalid: the source has no knowledge folder of its own, or no such column, or the code has a meaning.
        SourceUnreachable, SourceNotFound: the source is not available.
    """
    source, folder = services.source(name), services.settings_of(name).knowledge
    if (reason := _reason_not_to_write(services, name)) or folder is None:
        raise InputInvalid("source", reason or "")
    try:
        key = find_column(f"{table}.{column}", source.shown_catalog)
    except Unresolved as error:
        raise InputInvalid("column", str(error)) from None
    if known := meanings_of(source.knowledge.knowledge, source.catalog).get(key, {}).get(code):
        raise InputInvalid("code", Message("code_explained", code=code, meaning=known))
    return f"{folder_label(folder)}/{CODES_FILE}:{set_label(folder / CODES_FILE, key, code, meaning)}"


def user_of(services: Services) -> str:
    """Return the name of the tenant; without tenants, that of the user of this process."""
    if services.tenant:
        return services.tenant
    try:
        return getuser()
    except (OSError, KeyError):
        # A container may run as a user without a name.
        return "unknown"


def _reason_not_to_write(services: Services, name: str) -> Message | None:
    """Return why no entry of the source `name` may be written: it has no knowledge folder of its own."""
    configured = services.settings.sources.get(name)
    if configured is None or configured.knowledge is None:
        return Message("knowledge_folder_missing")
    if services.shares_knowledge(name):
        return Message("knowledge_folder_shared", tenant=services.tenant)
    return None


def _proposals_of(turn: Turn, name: str, source: Source, user: str) -> Iterator[Proposal]:
    first = _proposal_of(turn, name, source, user)
    match = source.knowledge.find_verified(first.question)
    is_usable = match and source.knowledge.is_valid(match.item)
    if not (match and is_usable and match.statement(source.catalog.dialect) == first.sql):
        yield first
    for word, item in source.knowledge.relevant(turn["question"], first.clarifications).chosen:
        yield replace(first, choice={"word": word, "means": item.name})
    code = unexplained_code(first.sql, turn["question"], source)
    if code and code.phrase and code.code in first.clarifications:
        yield replace(first, choice={"word": code.phrase, "means": code.condition, "part": "terms"})


def _proposal_of(turn: Turn, name: str, source: Source, user: str) -> Proposal:
    return Proposal(
        source=name,
        question=check_example(turn["question"], turn["sql"], source),
        sql=turn["sql"].strip(),
        choice=None,
        clarifications=tuple(clarification["answer"] for clarification in turn["clarifications"]),
        proposed_by=user,
        proposed_at=datetime.now(UTC).isoformat(timespec="seconds"),
        trace_id=turn.get("trace_id", ""),
    )


def _stores(services: Services) -> list[ProposalStore]:
    if services.store:
        return [ProposalStore(services.store, services.tenant)]
    return [_store_in(each.knowledge, services) for each in services.settings.sources.values() if each.knowledge]


def _store_in(folder: Path, services: Services) -> ProposalStore:
    """Return the proposals in the database of the record or, without a record, in a file in the knowledge folder."""
    return ProposalStore(services.store or Store(sqlite_url(folder, "proposals")), services.tenant)


def _entry_of(proposal: Proposal, author: str, remark: str | None) -> dict[str, Any]:
    if proposal.choice:
        means = proposal.choice["means"]
        is_term = "part" in proposal.choice
        return {proposal.choice["word"]: {"definition": means, "condition": means} if is_term else means}
    today = datetime.now(UTC).date()
    body = {"question": proposal.question, "sql": proposal.sql, "author": author, "date": today}
    return {**body, **({"note": remark} if remark else {})}


def _require_valid(proposal: Proposal, body: dict[str, Any], source: Source, place: Place) -> None:
    if proposal.choice:
        ((word, means),) = body.items()
        if "part" in proposal.choice:
            item = Item("term", word, TermEntry(**means), place)
        else:
            item = Item("choice", word, ChoiceEntry(means=means), place)
    else:
        try:
            entry = VerifiedEntry.model_validate(body)
        except ValueError as error:
            raise Refused("proposal_invalid", proposal_id=proposal.id, problems=(str(error),)) from None
        item = Item("verified", proposal.question, entry, place)
    problems = source.knowledge.check_new(item, source.execute, source.complete_values)
    if problems:
        raise Refused(
            "proposal_invalid", proposal_id=proposal.id, problems=tuple(problem.message for problem in problems)
        )
