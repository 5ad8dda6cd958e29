"""/healthz: alive. /readyz: whether the model, the databases and the stores answer."""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from datasphinx.agent.server.app import create_app
from datasphinx.agent.server.keys import hash_of
from datasphinx.agent.services import Services
from datasphinx.agent.settings import load_settings
from tests.agent.server.keys import ACME, BETA, KEYS
from tests.agent.server.serving import Served, running, serving
from tests.support.databases import make_table, url
from tests.support.eventually import eventually
from tests.support.fake_openai import FakeOpenAI, Reply

WELL: dict[str, Any] = {"ok": True, "error": None}


@pytest.fixture(autouse=True)
def whole_knowledge(monkeypatch: pytest.MonkeyPatch) -> None:
    """A check reads all entries of business knowledge, however slow the machine is."""
    monkeypatch.setattr("datasphinx.agent.server.readiness._KNOWLEDGE_BUDGET_S", 3600)


def test_a_server_is_alive_whatever_is_broken(cache_dir: Path) -> None:
    with serving(cache_dir, source="sqlite:///nowhere.sqlite") as server:
        response = server.http.get("/healthz")
    assert (response.status_code, response.json()) == (200, {"status": "ok"})


def test_ready_with_all_that_questions_need_and_no_model_call(cache_dir: Path) -> None:
    with serving(cache_dir) as server:
        response = server.http.get("/readyz")
    assert response.status_code == 200
    assert response.json() == {
        "status": "ready",
        "model": WELL,
        "sources": {"sample": WELL},
        "stores": {"record": WELL, "threads": WELL, "files": WELL},
    }
    assert not server.model.calls


def test_not_ready_where_the_endpoint_does_not_answer(cache_dir: Path) -> None:
    endpoint = {"llm_base_url": "http://127.0.0.1:9/v1", "llm_model": "any", "llm_api_key": "a-key-that-is-secret"}
    with serving(cache_dir, **endpoint) as server:
        response = server.http.get("/readyz")
    assert (response.status_code, response.json()["status"]) == (503, "unavailable")
    assert response.json()["model"]["error"]["code"] == "model_unreachable"
    assert "a-key-that-is-secret" not in response.text


@contextmanager
def serving_a_real_client(cache_dir: Path, **settings: Any) -> Iterator[httpx.Client]:
    """Yield a client of a server that builds its model's client from `settings`."""
    services = Services(load_settings(cache_dir=cache_dir, **settings), any_source=False)
    with running(create_app(services)) as base, httpx.Client(base_url=base, timeout=30, verify=False) as http:
        yield http


@pytest.mark.parametrize(
    ("reply", "code"),
    [(Reply(status=401), "model_rejected"), (Reply({"ready": True}), None), (None, "model_unreachable")],
)
def test_operators_ask_the_model_for_a_word(cache_dir: Path, reply: Reply | None, code: str | None) -> None:
    key = "sk-secret-of-the-model"
    with FakeOpenAI(default=reply) as endpoint:
        address = endpoint.base_url if reply else "http://127.0.0.1:9/v1"
        named = {"llm_base_url": address, "llm_model": "any", "llm_api_key": key}
        with serving_a_real_client(cache_dir, **named) as http:
            tested = http.post("/operate/model/test", headers={"Accept-Language": "de"})
    found = tested.json()
    assert (found["ok"], found["error"] and found["error"]["code"]) == (code is None, code)
    assert code is None or "Modellendpunkt" in found["error"]["message"]
    assert key not in tested.text


def test_not_ready_without_the_embedded_model(cache_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    monkeypatch.setattr("datasphinx.agent.embedded.server._servers", {})
    with serving_a_real_client(cache_dir) as http:
        eventually(lambda: "datasphinx[local]" in http.get("/readyz").json()["model"]["error"]["message"])


def test_not_ready_where_a_module_of_the_client_cannot_be_imported(
    cache_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with FakeOpenAI() as endpoint:
        settings = {"llm_base_url": endpoint.base_url, "llm_model": "any"}
        with serving_a_real_client(cache_dir, **settings) as http:
            with monkeypatch.context() as broken:
                broken.setitem(sys.modules, "datasphinx.agent.llm.endpoint", None)
                response = http.get("/readyz")
            assert response.status_code == 503
            assert "import of datasphinx.agent.llm.endpoint" in response.json()["model"]["error"]["message"]
            assert http.get("/readyz").status_code == 200
        assert not endpoint.requests, "the model was called"


def test_an_endpoint_that_takes_its_time_is_not_called_loading(
    cache_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("datasphinx.agent.server.routes.health.TIMEOUT_S", 0)
    with FakeOpenAI() as endpoint:
        with serving_a_real_client(cache_dir, llm_base_url=endpoint.base_url, llm_model="any") as http:
            assert http.get("/readyz").json()["model"] == WELL


def test_not_ready_while_the_model_loads(cache_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = threading.Event()

    def load(*_: object, **__: object) -> None:
        assert loaded.wait(30)

    monkeypatch.setattr("datasphinx.agent.connect.connect_model", load)
    monkeypatch.setattr("datasphinx.agent.server.routes.health.TIMEOUT_S", 0.05)
    with serving_a_real_client(cache_dir) as http:
        loading = http.get("/readyz")
        loaded.set()
        eventually(lambda: http.get("/readyz").status_code == 200)
    assert loading.status_code == 503 and "loading" in loading.json()["model"]["error"]["message"]


def test_each_database_is_looked_at(cache_dir: Path, tmp_path: Path) -> None:
    path = make_table(tmp_path, "thing TEXT", [["here"]])
    sources = {"here": url(path), "there": "postgresql://me:swordfish@127.0.0.1:1/x"}
    with serving(cache_dir, sources=sources) as server:
        response = server.http.get("/readyz")
    found = response.json()["sources"]
    assert (response.status_code, found["here"], found["there"]["ok"]) == (503, WELL, False)
    assert found["there"]["error"]["code"] == "source_unreachable" and "swordfish" not in response.text


def test_a_broken_store_is_named(cache_dir: Path, tmp_path: Path) -> None:
    with serving(cache_dir, record_url="postgresql://me:swordfish@127.0.0.1:1/record") as server:
        response = server.http.get("/readyz")
    assert response.json()["stores"]["record"]["error"]["code"] == "record_unavailable"
    assert response.json()["stores"]["threads"] == WELL and "swordfish" not in response.text


# A server with keys

OPERATORS = (hash_of(ACME), hash_of(BETA))


def ruled(path: Path) -> dict[str, Any]:
    """A source of which each row belongs to a region."""
    return {"url": url(path), "row_rules": {"things": "thing = :region"}}


def ready(server: Served, key: str = "") -> tuple[int, dict[str, Any]]:
    response = server.http.get("/readyz", headers={"X-API-Key": key} if key else {})
    return response.status_code, response.json()


def test_without_the_role_of_operators_only_the_status_is_shown(cache_dir: Path, things: Path) -> None:
    tenants = {"acme": {"sources": ["acme_sales"]}, "beta": {"sources": ["beta_sales"]}}
    named = {"acme_sales": url(things), "beta_sales": url(things)}
    with serving(cache_dir, sources=named, api_keys=KEYS, tenants=tenants) as server:
        assert ready(server) == (200, {"status": "ready"})
        assert ready(server, "dsk_wrong") == ready(server, ACME) == (200, {"status": "ready"})


def test_a_tenant_sees_its_own_sources(cache_dir: Path, things: Path) -> None:
    tenants = {"acme": {"sources": ["acme_sales"]}, "beta": {"sources": ["beta_sales"]}}
    named = {"acme_sales": url(things), "beta_sales": "postgresql://me:swordfish@127.0.0.1:1/x"}
    settings = {"sources": named, "api_keys": KEYS, "operate_keys": OPERATORS, "tenants": tenants}
    with serving(cache_dir, **settings) as server:
        code, body = ready(server, ACME)
        assert (code, body["status"], body["sources"]) == (200, "ready", {"acme_sales": WELL})
        code, body = ready(server, BETA)
        assert (code, body["status"], list(body["sources"])) == (503, "unavailable", ["beta_sales"])
        assert ready(server) == (503, {"status": "unavailable"})


@pytest.mark.heavy
@pytest.mark.parametrize("first", ["acme", "beta"])
def test_a_parameter_that_only_a_tenant_has_is_enough(cache_dir: Path, things: Path, first: str) -> None:
    tenants = {"acme": {"row_parameters": {"region": "north"}}, "beta": {}}
    # The order of the keys is that in which the tenants are tried.
    keys = {first: KEYS[first], **KEYS}
    settings = {"sources": {"sales": ruled(things)}, "operate_keys": OPERATORS, "tenants": tenants}
    with serving(cache_dir, api_keys=keys, **settings) as server:
        assert ready(server) == (200, {"status": "ready"})
        assert ready(server, ACME)[1]["sources"] == {"sales": WELL}
        code, body = ready(server, BETA)
        assert (code, body["sources"]["sales"]["error"]["code"]) == (503, "row_rule_parameter_missing")


def test_a_parameter_that_nobody_has_is_missing(cache_dir: Path, things: Path) -> None:
    with serving(cache_dir, sources={"sales": ruled(things)}, api_keys=KEYS) as server:
        assert ready(server) == (503, {"status": "unavailable"})


def test_a_source_that_no_tenant_may_ask_is_not_checked(cache_dir: Path, things: Path) -> None:
    tenants = {name: {"sources": ["sales"]} for name in KEYS}
    named = {"sales": url(things), "old": "postgresql://me:swordfish@127.0.0.1:1/x"}
    with serving(cache_dir, sources=named, api_keys=KEYS, tenants=tenants) as server:
        assert ready(server) == (200, {"status": "ready"})


@pytest.mark.heavy
def test_nothing_names_the_source_of_another_tenant(
    cache_dir: Path, things: Path, caplog: pytest.LogCaptureFixture
) -> None:
    tenants = {"acme": {"sources": ["acme_sales"]}, "beta": {"sources": ["beta_sales"]}}
    named = {"acme_sales": url(things), "beta_sales": url(things)}
    hidden = ("beta_sales", str(things))
    settings = {"sources": named, "api_keys": KEYS, "operate_keys": OPERATORS, "tenants": tenants}
    with serving(cache_dir, **settings) as server:
        for key in ("", ACME):
            headers = {"X-API-Key": key} if key else {}
            bodies = [
                server.http.get(path, headers=headers).text
                for path in (
                    "/readyz", "/healthz", "/metrics", "/openapi.json", "/sources", "/datasets", "/docs",
                    "/agent/input_schema", "/analyst/input_schema", "/nowhere",
                )
            ]  # fmt: skip
            for given in ({"source": "unknown"}, {"source": 5}, {"source": "sqlite:///x.db"}, {"surprise": 1}):
                for graph in ("agent", "analyst"):
                    body = {"input": {"question": "How many?", **given}}
                    bodies.append(server.http.post(f"/{graph}/invoke", headers=headers, json=body).text)
            assert not [(name, body) for body in bodies for name in hidden if name in body]
        assert "beta_sales" not in caplog.text
