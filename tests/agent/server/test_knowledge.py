"""Business knowledge on a server: its mistakes in the health check, and the knowledge of each tenant."""

from pathlib import Path
from typing import Any

import pytest

from datasphinx.agent.errors import ConfigurationError
from datasphinx.agent.server.keys import hash_of
from tests.agent.server.keys import ACME, BETA, KEYS
from tests.agent.server.serving import serving
from tests.support.databases import url


def knowledge(folder: Path, text: str) -> Path:
    folder.mkdir(parents=True)
    (folder / "terms.yml").write_text(text, encoding="utf-8")
    return folder


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


@pytest.mark.heavy
def test_tenants_of_one_source_have_their_own_knowledge(cache_dir: Path, tmp_path: Path, things: Path) -> None:
    text = (
        "terms:\n  {0} widget: {{definition: the secret of {0}, condition: things.thing = '{0}', synonyms: [gadget]}}\n"
    )
    folders = {name: knowledge(tmp_path / name, text.format(name)) for name in ("server", "acme", "beta")}
    (folders["beta"] / "wrong.yml").write_text("terms: {broken: {definition: beta only, condition: things.x = 1}}")
    tenants: dict[str, Any] = {name: {"knowledge": {"one": str(folders[name])}} for name in ("acme", "beta")}
    tenants["gamma"] = {}
    keys = {**KEYS, "gamma": hash_of("dsk_gamma")}
    source = {"one": {"url": url(things), "knowledge": str(folders["server"])}}
    answers = {"GeneratedSQL": [{"sql": "SELECT COUNT(*) FROM things WHERE thing = 'north'"}]}
    shown, outputs, ready = {}, {}, {}
    settings: dict[str, Any] = {"sources": source, "api_keys": keys, "tenants": tenants, "clarify": "never"}
    with serving(
        cache_dir, answers, operate_keys=[hash_of(key) for key in (ACME, BETA, "dsk_gamma")], **settings
    ) as server:
        for name, key in {"acme": ACME, "beta": BETA, "gamma": "dsk_gamma", "acme again": ACME}.items():
            asked = len(server.model.calls)
            body = {"input": {"question": "How many gadgets are there, also acme widgets and beta widgets?"}}
            response = server.http.post("/agent/invoke", json=body, headers={"X-API-Key": key})
            assert response.status_code == 200
            outputs[name] = response.text
            shown[name] = "\n".join(call.prompt for call in server.model.calls[asked:])
            ready[name] = server.http.get("/readyz", headers={"X-API-Key": key}).text

    own = {"acme": "acme", "beta": "beta", "gamma": "server", "acme again": "acme"}
    for name, mine in own.items():
        for other in ("acme", "beta", "server"):
            secret = f"the secret of {other}"
            assert (secret in shown[name]) == (other == mine), (name, other)
            assert secret not in outputs[name] or other == mine
    assert "broken" in ready["beta"]
    assert not any("broken" in ready[name] for name in ("acme", "gamma", "acme again"))


def test_knowledge_about_a_source_that_the_tenant_may_not_query_is_refused(
    cache_dir: Path, tmp_path: Path, things: Path
) -> None:
    tenants = {"acme": {"sources": ["one"], "knowledge": {"two": str(tmp_path)}}}
    sources = {"one": url(things), "two": url(things)}
    with (
        pytest.raises(ConfigurationError, match="acme: there is no source two"),
        serving(cache_dir, sources=sources, api_keys={"acme": KEYS["acme"]}, tenants=tenants),
    ):
        pass


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
