"""Business knowledge on a server: its mistakes in the health check, and the knowledge of each tenant."""

from pathlib import Path
from typing import Any

import pytest

from agent.server.keys import hash_of
from tests.agent.server.serving import LANGSERVE_WARNING, serving
from tests.databases import make_table, url

pytestmark = pytest.mark.filterwarnings(LANGSERVE_WARNING)

ACME, BETA = "dsk_acme", "dsk_beta"
KEYS = {"acme": hash_of(ACME), "beta": hash_of(BETA)}


def knowledge(folder: Path, text: str) -> Path:
    folder.mkdir(parents=True)
    (folder / "terms.yml").write_text(text, encoding="utf-8")
    return folder


@pytest.fixture
def things(tmp_path: Path) -> Path:
    return make_table(tmp_path, "thing TEXT", [["north"]])


def test_mistakes_are_reported_and_take_nothing_down(cache_dir: Path, tmp_path: Path, things: Path) -> None:
    folder = knowledge(tmp_path / "k", "terms:\n  a: {definition: d, condition: thing.x = 1}\n  b: {definition: d}\n")
    with serving(cache_dir, sources={"one": {"url": url(things), "knowledge": str(folder)}}) as server:
        response = server.http.get("/readyz")
    report = response.json()

    assert (response.status_code, report["status"]) == (200, "ready")
    assert report["sources"]["one"] == {
        "ok": True,
        "error": None,
        "knowledge": {
            "problems": ["k/terms.yml:2: term `a`: there is no table `thing`. Did you mean `things`?"],
            "problem_count": 1,
            "unchecked": 0,
        },
    }


def test_verified_query_that_fails_is_reported(cache_dir: Path, tmp_path: Path, things: Path) -> None:
    text = (
        "verified:\n  - question: How many things are there?\n"
        "    sql: SELECT COUNT(*) / ABS(-9223372036854775807 - 1) FROM things\n"
    )
    folder = knowledge(tmp_path / "k", text)
    answers = {"GeneratedSQL": [{"sql": "SELECT COUNT(*) FROM things"}]}
    with serving(cache_dir, answers, sources={"one": {"url": url(things), "knowledge": str(folder)}}) as server:
        before = server.http.get("/readyz").json()["sources"]["one"]
        output = server.invoke(question="How many things are there?")
        after = server.http.get("/readyz").json()["sources"]["one"]

    assert (output["value"], output["verified"]) == (1, None)
    assert "knowledge" not in before
    (problem,) = after["knowledge"]["problems"]
    assert problem.startswith("k/terms.yml:2: verified `How many things are there?`: its statement failed")


def test_tenants_never_see_the_terms_of_another(cache_dir: Path, tmp_path: Path, things: Path) -> None:
    text = "terms:\n  widget: {{definition: the secret of {0}, condition: things.thing = '{0}'}}\n"
    named: dict[str, Any] = {
        name: {"url": url(things), "knowledge": str(knowledge(tmp_path / name, text.format(name)))}
        for name in ("acme", "beta")
    }
    tenants = {"acme": {"sources": ["acme"]}, "beta": {"sources": ["beta"]}}
    answers = {"GeneratedSQL": [{"sql": "SELECT COUNT(*) FROM things"}] * 4}
    with serving(cache_dir, answers, sources=named, api_keys=KEYS, tenants=tenants) as server:
        for key in (ACME, BETA, ACME):
            body = {"input": {"question": "How many widgets are there?"}}
            response = server.http.post("/agent/invoke", json=body, headers={"X-API-Key": key})
            assert response.status_code == 200
        shown = [call.prompt for call in server.model.calls if call.schema_name == "GeneratedSQL"]
        ready = [server.http.get("/readyz", headers={"X-API-Key": key}).text for key in (ACME, BETA)]

    assert ["the secret of acme" in prompt for prompt in shown] == [True, False, True]
    assert ["the secret of beta" in prompt for prompt in shown] == [False, True, False]
    assert "beta" not in ready[0] and "acme" not in ready[1]
