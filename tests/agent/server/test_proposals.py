"""Review of proposals over HTTP."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from datasphinx.agent.server.keys import hash_of
from tests.agent.server.serving import Served, serving
from tests.databases import make_table, url

USER, REVIEWER, OTHER = "dsk_user", "dsk_reviewer", "dsk_other"
KEYS = {"acme": [hash_of(USER), hash_of(REVIEWER)], "beta": hash_of(OTHER)}


@pytest.fixture(scope="module")
def site(cache_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, Path]]:
    """A server with two tenants and a record that they share, and the knowledge folder of the first."""
    folder = tmp_path_factory.mktemp("proposals")
    things = make_table(folder, "thing TEXT", [["north"]])
    sources = {name: {"url": url(things), "knowledge": str(folder / name)} for name in ("acme", "beta")}
    for name in sources:
        (folder / name).mkdir()
    settings: dict[str, Any] = {
        "sources": sources,
        "api_keys": KEYS,
        "review_keys": [hash_of(REVIEWER), hash_of(OTHER)],
        "tenants": {name: {"sources": [name]} for name in sources},
        "record_url": f"sqlite:///{folder / 'record.sqlite'}",
        "data_dir": folder / "data",
    }
    answers = {"GeneratedSQL": [{"sql": "SELECT COUNT(*) AS n FROM things"}]}
    with serving(cache_dir, answers, **settings) as server:
        yield server, folder / "acme"


def request(server: Served, key: str, path: str, body: Any = None) -> Any:
    """Return the status and the body of a request; a POST if there is a body to send."""
    headers = {"X-API-Key": key}
    if body is None:
        response = server.http.get(path, headers=headers)
    else:
        response = server.http.post(path, json=body, headers=headers)
    return response.status_code, response.json()


def test_feedback_is_proposed_reviewed_and_used(site: tuple[Served, Path]) -> None:
    server, folder = site
    _, answered = request(server, USER, "/agent/invoke", {"input": {"question": "How many things are there?"}})
    thread, trace = answered["output"]["thread_id"], answered["output"]["audit"]["trace_id"]
    _, accepted = request(server, USER, f"/threads/{thread}/feedback", {"accepted": True})
    assert accepted["answer"] == "Noted: the answer is right. It is proposed for review."

    status, listed = request(server, REVIEWER, "/proposals")
    (proposal,) = listed["proposals"]
    assert (status, proposal["proposed_by"], proposal["trace_id"]) == (200, "acme", trace)
    path = f"/proposals/{proposal['id']}"
    assert request(server, REVIEWER, path) == (200, proposal)

    # Keys without the right, and reviewers of other tenants.
    for method, body in (("", None), ("/accept", {}), ("/reject", {})):
        status, refused = request(server, USER, path + method, body)
        assert (status, refused["code"]) == (403, "review_not_permitted")
        status, refused = request(server, OTHER, path + method, body)
        assert (status, refused["code"]) == (404, "proposal_unknown")
    assert request(server, USER, "/proposals")[0] == 403
    assert request(server, OTHER, "/proposals") == (200, {"proposals": []})
    assert [request(server, key, "/sources")[1]["may_review"] for key in (USER, REVIEWER, OTHER)] == [False, True, True]
    assert not list(folder.iterdir())

    status, done = request(server, REVIEWER, f"{path}/accept", {"author": "Ann", "note": "checked"})
    assert (status, done["status"], done["place"]) == (200, "accepted", "acme/verified.yml:2")
    status, refused = request(server, REVIEWER, f"{path}/reject", {})
    assert (status, refused["code"]) == (409, "proposal_closed")

    calls = len(server.model.calls)
    _, answered = request(server, USER, "/agent/invoke", {"input": {"question": "how many things are there"}})
    assert answered["output"]["verified"]["author"] == "Ann"
    assert "Verified by Ann on " in answered["output"]["answer"]
    assert len(server.model.calls) == calls
    # The other tenant has the same data, but not the verified query.
    _, other = request(server, OTHER, "/agent/invoke", {"input": {"question": "how many things are there"}})
    assert other["output"]["verified"] is None
    assert len(server.model.calls) > calls


def test_wrong_requests_are_refused(site: tuple[Served, Path]) -> None:
    server, _ = site

    assert request(server, REVIEWER, "/proposals/pr_0")[0] == 422
    assert request(server, REVIEWER, "/proposals/pr_0000000000000000")[0] == 404
    assert request(server, REVIEWER, "/proposals?status=new")[0] == 422
    assert request(server, REVIEWER, "/proposals/pr_0000000000000000/accept", {"sql": "SELECT 1"})[0] == 422


def test_no_entry_is_written_for_other_tenants(cache_dir: Path, tmp_path: Path) -> None:
    things = make_table(tmp_path, "thing TEXT", [["north"]])
    folders = [tmp_path / name for name in ("shared", "own")]
    for folder in folders:
        folder.mkdir()
    settings: dict[str, Any] = {
        "sources": {"one": {"url": url(things), "knowledge": str(folders[0])}},
        "api_keys": {"acme": hash_of(REVIEWER), "beta": hash_of(OTHER), "gamma": hash_of(USER)},
        "review_keys": [hash_of(key) for key in (REVIEWER, OTHER)],
        "tenants": {"acme": {}, "beta": {"knowledge": {"one": str(folders[1])}}, "gamma": {}},
    }
    answers = {"GeneratedSQL": [{"sql": "SELECT COUNT(*) AS n FROM things"}] * 2}
    statuses = []
    with serving(cache_dir, answers, **settings) as server:
        for key in (REVIEWER, OTHER):
            _, answered = request(server, key, "/agent/invoke", {"input": {"question": "How many things are there?"}})
            request(server, key, f"/threads/{answered['output']['thread_id']}/feedback", {"accepted": True})
            (proposal,) = request(server, key, "/proposals")[1]["proposals"]
            statuses.append(request(server, key, f"/proposals/{proposal['id']}/accept", {}))

    (refused, problem), (accepted, _) = statuses
    assert (refused, problem["code"], accepted) == (422, "proposal_invalid", 200)
    assert "knowledge` of the tenant acme" in problem["detail"]
    assert [len(list(folder.iterdir())) for folder in folders] == [0, 1]


def test_answer_rejected_with_a_reason_is_listed_but_not_accepted(site: tuple[Served, Path]) -> None:
    server, folder = site
    before = sorted(folder.iterdir())
    _, answered = request(server, USER, "/agent/invoke", {"input": {"question": "How many things are in stock?"}})
    thread, trace = answered["output"]["thread_id"], answered["output"]["audit"]["trace_id"]
    request(server, USER, f"/threads/{thread}/feedback", {"accepted": False, "comment": "  Wrong figures: none  "})

    _, listed = request(server, REVIEWER, "/proposals")
    (rejected,) = [each for each in listed["proposals"] if each["origin"] == "rejected_answer"]
    assert rejected["clarifications"] == ["Wrong figures: none"]
    assert (rejected["trace_id"], rejected["sql"]) == (trace, "SELECT COUNT(*) AS n FROM things")
    assert request(server, OTHER, "/proposals") == (200, {"proposals": []})

    path = f"/proposals/{rejected['id']}"
    status, refused = request(server, REVIEWER, f"{path}/accept", {})
    assert (status, refused["code"]) == (422, "proposal_invalid")
    assert sorted(folder.iterdir()) == before
    status, closed = request(server, REVIEWER, f"{path}/reject", {})
    assert (status, closed["status"]) == (200, "rejected")
