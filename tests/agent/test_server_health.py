"""/healthz: alive. /readyz: whether the model, the databases and the stores answer."""

from pathlib import Path
from typing import Any

import pytest

from tests.agent.serving import LANGSERVE_WARNING, serving
from tests.databases import make_table, url
from tests.fake_openai import FakeOpenAI

pytestmark = pytest.mark.filterwarnings(LANGSERVE_WARNING)

WELL: dict[str, Any] = {"ok": True, "error": None}


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


def test_ready_where_an_endpoint_answers(cache_dir: Path) -> None:
    with FakeOpenAI() as endpoint, serving(cache_dir, llm_base_url=endpoint.base_url, llm_model="any") as server:
        assert server.http.get("/readyz").json()["model"] == WELL


def test_not_ready_where_no_model_is_named(cache_dir: Path) -> None:
    with serving(cache_dir, llm_base_url="http://127.0.0.1:9/v1") as server:
        assert server.http.get("/readyz").json()["model"]["error"]["code"] == "configuration"


def test_not_ready_without_the_embedded_model(cache_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agent.health.find_spec", lambda name: None)
    with serving(cache_dir) as server:
        assert server.http.get("/readyz").json()["model"]["error"]["code"] == "embedded_model_unavailable"


def test_each_database_is_looked_at(cache_dir: Path, tmp_path: Path) -> None:
    path = make_table(tmp_path, "thing TEXT", [["here"]])
    sources = {"here": url(path), "there": "postgresql://me:swordfish@127.0.0.1:1/x"}
    with serving(cache_dir, sources=sources) as server:
        response = server.http.get("/readyz")
    found = response.json()["sources"]
    assert (response.status_code, found["here"], found["there"]["ok"]) == (503, WELL, False)
    assert found["there"]["error"]["code"] == "source_unreachable" and "swordfish" not in response.text


def test_a_database_goes_away_and_comes_back(cache_dir: Path, tmp_path: Path) -> None:
    path = make_table(tmp_path, "thing TEXT", [["here"]])
    with serving(cache_dir, source=url(path)) as server:
        codes = [server.http.get("/readyz").status_code]
        away = path.rename(path.with_suffix(".away"))
        codes.append(server.http.get("/readyz").status_code)
        away.rename(path)
        codes.append(server.http.get("/readyz").status_code)
    assert codes == [200, 503, 200]


def test_a_broken_store_is_named(cache_dir: Path, tmp_path: Path) -> None:
    with serving(cache_dir, record_url="postgresql://me:swordfish@127.0.0.1:1/record") as server:
        response = server.http.get("/readyz")
    assert response.json()["stores"]["record"]["error"]["code"] == "record_unavailable"
    assert response.json()["stores"]["threads"] == WELL and "swordfish" not in response.text
