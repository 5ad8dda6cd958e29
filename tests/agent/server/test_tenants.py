"""Keys and tenants: each finds what is its own, and nothing of another."""

import io
import json
import logging
import shlex
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from sqlalchemy import create_engine, text

from datasphinx.agent.errors import ConfigurationError
from datasphinx.agent.llm.scripted import ScriptedModel
from datasphinx.agent.server.app import create_app, serve
from datasphinx.agent.server.keys import hash_of, new_key
from datasphinx.agent.services import Services
from datasphinx.agent.settings import load_settings
from tests.agent.record.stores import fresh_url
from tests.agent.server.keys import ACME, BETA, KEYS, as_, ask
from tests.agent.server.serving import ASKED, COUNT, Served, serving
from tests.agent.tools.conftest import RETURNS
from tests.support.commands import Run
from tests.support.databases import make_table, url

BY_STATUS = {**COUNT, "sql": "SELECT status, COUNT(*) AS orders FROM orders GROUP BY status ORDER BY status"}


# The model counts the orders by status.
ANSWERS = {"GeneratedSQL": [BY_STATUS]}
SETTINGS = {"api_keys": KEYS, "operate_keys": hash_of(ACME), "clarify": "never"}


# Who is let in


@pytest.mark.parametrize(
    "headers", [{}, {"X-API-Key": "dsk_wrong"}, {"Authorization": "Basic eDp5"}, {"X-API-Key": "é"}]
)
def test_without_a_key_nothing_is_answered(served: Served, headers: dict[str, str]) -> None:
    given = {name: value.encode() for name, value in headers.items()}
    for path in (
        "/sources",
        "/datasets",
        "/metrics",
        "/agent/input_schema",
        "/threads/x",
        "/nowhere",
    ):
        response = served.http.get(path, headers=given)
        assert (response.status_code, response.json()["code"]) == (401, "key_missing"), path
        assert response.headers["www-authenticate"] == "Bearer"
    assert served.http.post("/agent/invoke", json={"input": ASKED}, headers=given).status_code == 401
    assert not served.model.calls


def test_what_shows_nothing_of_anybody_is_open(served: Served) -> None:
    assert served.http.get("/healthz").status_code == 200
    assert served.http.get("/readyz").json() == {"status": "ready"}
    with as_(served, ACME) as acme:
        assert acme.get("/readyz").json()["stores"]


def test_metrics_and_health_details_need_a_key_for_operators(served: Served) -> None:
    with as_(served, ACME) as acme, as_(served, BETA) as beta:
        assert acme.get("/metrics").status_code == 200
        refused = beta.get("/metrics")
        assert beta.get("/readyz").json() == {"status": "ready"}
    assert (refused.status_code, refused.json()["code"]) == (403, "role_missing")


@pytest.mark.parametrize("header", ["Authorization", "X-API-Key"])
def test_a_key_comes_in_either_header(served: Served, header: str) -> None:
    value = f"bearer {ACME}" if header == "Authorization" else ACME
    assert served.http.get("/sources", headers={header: value}).status_code == 200


def test_other_machines_and_sites_may_ask_with_a_key(served: Served) -> None:
    with as_(served, ACME, Host="data.example", Origin="https://elsewhere.example") as acme:
        response = acme.get("/sources")
    assert response.status_code == 200 and "access-control-allow-origin" not in response.headers


@pytest.mark.heavy
def test_a_server_without_keys_listens_on_loopback_alone(cache_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(uvicorn, "run", lambda app, **given: asked.append(given["host"]))
    for host in ("0.0.0.0", "::", "192.0.2.7", "data.example"):
        with pytest.raises(ConfigurationError):
            serve(host, settings=load_settings(cache_dir=cache_dir))
        serve(host, settings=load_settings(cache_dir=cache_dir, api_keys=KEYS))
    for host in ("127.0.0.1", "localhost", "::1"):
        serve(host, settings=load_settings(cache_dir=cache_dir))
    assert asked == ["0.0.0.0", "::", "192.0.2.7", "data.example", "127.0.0.1", "localhost", "::1"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"api_keys": {"acme": "a plain key"}},
        {"api_keys": {"../acme": hash_of("x")}},
        {"api_keys": {"acme": hash_of("x"), "beta": hash_of("x")}},
        {"api_keys": KEYS, "tenants": {"acme": {}}},
        {"api_keys": KEYS, "tenants": {"acme": {"sources": ["nowhere"]}, "beta": {}}},
        {"api_keys": KEYS, "tenants": {"acme": {"surprise": 1}, "beta": {}}},
    ],
)
def test_wrong_settings_show_at_the_start(cache_dir: Path, wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError):
        create_app(Services(load_settings(cache_dir=cache_dir, **wrong), model=ScriptedModel()))


def test_a_new_key_is_printed_once_with_its_hash(run: Run) -> None:
    code, out, _ = run("key", "new", "acme")
    key = out.splitlines()[0].rpartition(" ")[2]
    # As a shell, a file of settings and compose read it.
    (given,) = shlex.split(out.splitlines()[1])
    assert (code, given.partition("=")[0]) == (0, "DATASPHINX_API_KEYS")
    assert json.loads(given.partition("=")[2]) == {"acme": [hash_of(key)]}
    code, out, _ = run("key", "new", "acme", "--json")
    made = json.loads(out)
    assert made["hash"] == hash_of(made["key"]) and made["key"] != key
    assert run("key", "new", "../acme")[0] == 2


# What is one's own


@pytest.mark.heavy
def test_nothing_of_another_is_found(served: Served) -> None:
    with as_(served, ACME) as acme, as_(served, BETA) as beta:
        output = ask(acme, question="How many orders by status?", output_type="plot")
        made = acme.post("/files", files={"file": ("returns.csv", io.BytesIO(RETURNS.encode()))}).json()
        thread, trace = output["thread_id"], output["audit"]["trace_id"]
        dataset = made["datasets"][0]["dataset_id"]
        run = acme.get(f"/threads/{thread}/history").json()["runs"][0]["id"]
        paths = [
            ("GET", f"/threads/{thread}"),
            ("GET", f"/threads/{thread}/history"),
            ("GET", f"/threads/{thread}/runs/{run}"),
            ("GET", f"/threads/{thread}/runs/{run}/chart"),
            ("GET", f"/threads/{thread}/runs/{run}/tables/1.csv"),
            ("POST", f"/threads/{thread}/feedback"),
            ("GET", f"/traces/{trace}"),
            ("POST", f"/traces/{trace}/replay"),
            ("GET", f"/charts/{output['charts'][0]['id']}.png"),
        ]
        body = {"accepted": True}
        for method, path in [*paths, ("GET", f"/datasets/{dataset}/preview"), ("DELETE", f"/datasets/{dataset}")]:
            asked = {"json": body} if path.endswith("feedback") else {}
            assert beta.request(method, path, **asked).status_code == 404, path
            assert acme.request(method, path, **asked).is_success, path
        assert ask(beta, **ASKED, thread_id=thread)["error"]["code"] == "thread_unknown"
        assert beta.get("/datasets").json() == {"datasets": []}
        told = ask(beta, "analyst", question="How many?", datasets=[dataset])
    assert told["error"]["code"] == "dataset_unknown"


def test_one_record_for_several_keeps_them_apart(cache_dir: Path, tmp_path: Path) -> None:
    shared = {"record_url": f"sqlite:///{tmp_path}/record.sqlite"}
    with serving(cache_dir, api_keys=KEYS, **shared) as server, as_(server, ACME) as acme, as_(server, BETA) as beta:
        trace = ask(acme, **ASKED)["audit"]["trace_id"]
        begun = acme.get(f"/traces/{trace}").json()["events"][0]
        assert begun["body"]["tenant"] == "acme"
        assert beta.get(f"/traces/{trace}").status_code == beta.post(f"/traces/{trace}/replay").status_code == 404


@pytest.mark.heavy
@pytest.mark.postgres
def test_one_database_of_threads_for_several_keeps_them_apart(cache_dir: Path, tmp_path: Path) -> None:
    with (
        fresh_url("postgres", tmp_path) as shared,
        serving(cache_dir, api_keys=KEYS, threads_url=shared) as server,
        as_(server, ACME) as acme,
        as_(server, BETA) as beta,
    ):
        thread = ask(acme, **ASKED)["thread_id"]
        assert acme.get(f"/threads/{thread}").status_code == 200
        assert beta.get(f"/threads/{thread}").status_code == 404
        assert ask(beta, **ASKED, thread_id=thread)["error"]["code"] == "thread_unknown"


@pytest.mark.heavy
@pytest.mark.postgres
def test_tenants_share_the_connections_of_their_database(cache_dir: Path, tmp_path: Path) -> None:
    keys = {f"tenant_{number}": new_key() for number in range(6)}
    hashes = {name: hash_of(key) for name, key in keys.items()}
    counts = []
    with fresh_url("postgres", tmp_path) as shared:
        own = create_engine(shared)
        tenants = {name: {"questions_per_minute": 9} for name in keys}
        given = {"threads_url": shared, "record_url": shared, "tenants": tenants}
        with serving(cache_dir, api_keys=hashes, **given) as server, own.connect() as connection:
            for key in keys.values():
                with as_(server, key) as tenant:
                    output = ask(tenant, **ASKED)
                    assert tenant.get(f"/traces/{output['audit']['trace_id']}").status_code == 200
                    assert tenant.get("/datasets").status_code == 200
                query = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
                counts.append(connection.execute(text(query)).scalar_one())
                connection.rollback()
        own.dispose()
    assert counts[1:] == counts[:1] * 5


def test_a_tenant_sees_its_sources_and_its_rows(cache_dir: Path, tmp_path: Path) -> None:
    shops = make_table(tmp_path, "region TEXT, pairs INTEGER", [["north", 3], ["south", 4]], table="shoes")
    (tmp_path / "other").mkdir()
    other = make_table(tmp_path / "other", "thing TEXT", [["secret"]], table="things")
    settings = {
        "sources": {"shop": {"url": url(shops), "row_rules": {"shoes": "region = :region"}}, "other": url(other)},
        "api_keys": KEYS,
        "tenants": {
            "acme": {"sources": ["shop"], "row_parameters": {"region": "north"}},
            "beta": {"sources": ["shop"], "row_parameters": {"region": "south"}},
        },
        "clarify": "never",
    }
    sql = {"GeneratedSQL": [{**COUNT, "sql": "SELECT region, pairs FROM shoes"}]}
    with serving(cache_dir, sql, **settings) as server, as_(server, ACME) as acme, as_(server, BETA) as beta:
        found = [ask(each, question="Which pairs of shoes?")["tables"][0]["rows"] for each in (acme, beta)]
        told = ask(acme, question="Which things?", source="other")
        names = acme.get("/sources").json()["sources"]
        schemas = [acme.get(path).text for path in ("/agent/input_schema", "/openapi.json")]
    assert found == [[["north", 3]], [["south", 4]]]
    assert told["error"]["code"] == "source_not_found" and "secret" not in json.dumps(told)
    assert names == [{"name": "shop", "dialect": "sqlite", "description": ""}]
    assert not [schema for schema in schemas if '"other"' in schema]


@pytest.mark.parametrize("field", ["agent", "analyst"])
def test_a_replay_opens_no_database_that_the_question_could_not(cache_dir: Path, tmp_path: Path, field: str) -> None:
    (tmp_path / "other").mkdir()
    other = url(make_table(tmp_path / "other", "thing TEXT", [["secret"]], table="things"))
    sources = {"shop": url(make_table(tmp_path, "kind TEXT", [["boot"]], table="shoes"))}
    with serving(cache_dir, api_keys=KEYS, sources=sources) as server, as_(server, ACME) as acme:
        given = {"input": {"question": "Which things?", "source": other}}
        output = acme.post(f"/{field}/invoke", json=given).json()["output"]
        replayed = acme.post(f"/traces/{output['audit']['trace_id']}/replay")
    assert output["error"]["code"] == "source_not_found"
    assert (replayed.status_code, replayed.json()["same"]) == (200, True), replayed.text


def test_a_replay_of_a_tenant_uses_the_sample_database_of_the_server(cache_dir: Path) -> None:
    with serving(cache_dir, api_keys=KEYS) as server, as_(server, ACME) as acme:
        trace_id = ask(acme, **ASKED)["audit"]["trace_id"]
        assert acme.post(f"/traces/{trace_id}/replay").json()["same"]
        cache = server.services.settings.cache_dir
        assert [path.parent for path in cache.rglob("shop*.sqlite")] == [cache]


# How much


def test_of_many_questions_at_once_just_so_many_are_answered(cache_dir: Path) -> None:
    tenants = {"acme": {"questions_per_minute": 5}, "beta": {}}
    with serving(cache_dir, api_keys=KEYS, tenants=tenants) as server, as_(server, ACME) as acme:
        with ThreadPoolExecutor(16) as pool:
            sent = pool.map(lambda _: acme.post("/agent/invoke", json={"input": ASKED}), range(16))
            responses = list(sent)
        refused = [each for each in responses if each.status_code == 429]
        for path, body in (
            ("/agent/events", ASKED),
            ("/agent/stream", {"input": ASKED}),
            ("/agent/batch", {"inputs": [ASKED]}),
        ):
            assert acme.post(path, json=body).status_code == 429
        with as_(server, BETA) as beta:
            assert ask(beta, **ASKED)["status"] == "ok"
    assert [each.status_code for each in responses].count(200) == 5 and len(refused) == 11
    assert all(1 <= int(each.headers["retry-after"]) <= 60 for each in refused)
    assert {each.json()["code"] for each in refused} == {"limit_reached"}


def test_dollars_of_a_day_end_it(cache_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("datasphinx.agent.llm.client.cost_usd", lambda *_: 0.1)
    given: dict[str, Any] = {"tenants": {"acme": {"usd_per_day": 0.2}, "beta": {}}, "enable_sql_validation": False}
    with serving(cache_dir, api_keys=KEYS, **given) as server, as_(server, ACME) as acme:
        answers = [acme.post("/agent/invoke", json={"input": ASKED}) for _ in range(3)]
    assert [each.status_code for each in answers] == [200, 200, 429]
    assert 1 <= int(answers[2].headers["retry-after"]) <= 86_400 and "US dollars" in answers[2].json()["detail"]


# Secrets


def test_no_secret_is_seen_anywhere(cache_dir: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    secrets = ["a-key-of-the-model", "swordfish", ACME, BETA]
    settings: dict[str, Any] = {
        "llm_base_url": "http://127.0.0.1:9/v1", "llm_model": "any", "llm_api_key": secrets[0],
        "sources": {"away": f"postgresql://me:{secrets[1]}@127.0.0.1:1/x"}, "api_keys": KEYS,
        "operate_keys": hash_of(ACME),
    }  # fmt: skip
    said: list[str] = []
    with caplog.at_level(logging.DEBUG), serving(cache_dir, **settings) as server, as_(server, ACME) as acme:
        for path in ("/sources", "/readyz", "/metrics", "/openapi.json", "/agent/input_schema", "/nowhere"):
            said.append(acme.get(path).text)
        for body in ({"question": "How many?"}, {"question": "How many?", "source": "away"}, {"question": ""}):
            said.append(acme.post("/agent/invoke", json={"input": body}).text)
            said.append(acme.post("/agent/events", json=body).text)
        said.append(server.http.get("/sources", headers={"X-API-Key": BETA + "x"}).text)
        kept = [path.read_bytes() for path in server.services.settings.data_dir.rglob("*") if path.is_file()]
    assert kept
    for secret in secrets:
        assert not [text for text in said if secret in text]
        assert secret not in caplog.text
        assert not [content for content in kept if secret.encode() in content]
