"""Review of proposals over HTTP."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from datasphinx.agent.server.keys import hash_of
from tests.agent.server.keys import OTHER, REVIEWED_KEYS, REVIEWER, USER, request
from tests.agent.server.serving import Served, serving
from tests.support.databases import make_table, url


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
        "api_keys": REVIEWED_KEYS,
        "review_keys": [hash_of(REVIEWER), hash_of(OTHER)],
        "tenants": {name: {"sources": [name]} for name in sources},
        "record_url": f"sqlite:///{folder / 'record.sqlite'}",
        "data_dir": folder / "data",
    }
    answers = {"GeneratedSQL": [{"sql": "SELECT COUNT(*) AS n FROM things"}]}
    with serving(cache_dir, answers, **settings) as server:
        yield server, folder / "acme"


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


def test_a_code_is_explained_once_by_a_reviewer(cache_dir: Path, tmp_path: Path) -> None:
    parcels = make_table(tmp_path, "thing INTEGER, kind TEXT, note TEXT", [[1, "X", "a"], [2, "S", "b"], [3, "X", "c"]])
    folder = tmp_path / "knowledge"
    folder.mkdir()
    tables = "tables:\n  things:\n    columns:\n      kind:\n        labels: {S: standard}\n"
    (folder / "tables.yml").write_text(tables)
    sources = {"it": {"url": url(parcels), "knowledge": str(folder)}, "bare": {"url": url(parcels)}}
    sql = {"sql": "SELECT COUNT(*) AS n FROM things WHERE kind = 'X'"}
    keys = {"api_keys": {"acme": REVIEWED_KEYS["acme"]}, "review_keys": [hash_of(REVIEWER)]}
    with serving(cache_dir, {"GeneratedSQL": [sql]}, sources=sources, data_dir=tmp_path / "data", **keys) as server:

        def kind(key: str) -> tuple[bool, dict[str, str]]:
            shown = request(server, key, "/sources/tables?source=it")[1]
            return shown["may_explain"], shown["tables"][0]["columns"][1]["meanings"]

        assert (kind(USER), kind(REVIEWER)) == ((False, {"S": "standard"}), (True, {"S": "standard"}))
        assert not request(server, REVIEWER, "/sources/tables?source=bare")[1]["may_explain"]
        code = {"source": "it", "table": "things", "column": "kind", "code": "X", "meaning": "express"}
        assert request(server, USER, "/proposals/codes", code)[1]["code"] == "review_not_permitted"
        for wrong, name in (({"column": "size"}, "column"), ({"code": "S"}, "code"), ({"source": "bare"}, "source")):
            status, refused = request(server, REVIEWER, "/proposals/codes", code | wrong)
            assert (status, refused["code"]) == (422, "input_invalid") and f"`{name}`" in refused["detail"]

        assert request(server, REVIEWER, "/proposals/codes", code) == (201, {"place": "knowledge/codes.yml:6"})
        other = code | {"column": "note", "code": "a", "meaning": "returned"}
        assert request(server, REVIEWER, "/proposals/codes", other)[0] == 201
        assert kind(REVIEWER) == (True, {"S": "standard", "X": "express"})
        assert (folder / "tables.yml").read_text() == tables
        given = {"input": {"question": "How many express things are there?", "source": "it"}}
        output = request(server, USER, "/agent/invoke", given)[1]["output"]
        assert output["definitions"][0]["definition"] == "things.kind = 'X'"
