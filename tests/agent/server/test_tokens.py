"""Bearer tokens of an OpenID Connect issuer: which are accepted, and what their users may do."""

import asyncio
import base64
import gc
import hashlib
import hmac
import json
import re
import sys
import threading
import time
import tomllib
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from mcp import MCPError
from openai import OpenAI

from datasphinx.agent.errors import ConfigurationError, DriverMissing
from datasphinx.agent.llm.scripted import ScriptedModel
from datasphinx.agent.record.store import sqlite_url
from datasphinx.agent.server import tenants as tenants_module
from datasphinx.agent.server.app import create_app, serve
from datasphinx.agent.server.boards import ScheduledRefreshes
from datasphinx.agent.server.issuer import SigningKeys
from datasphinx.agent.server.keys import hash_of, new_key
from datasphinx.agent.server.quota import Quota
from datasphinx.agent.server.tenants import Tenants, open_tenant
from datasphinx.agent.server.tokens import TokenVerifier
from datasphinx.agent.services import Services
from datasphinx.agent.settings import OidcSettings, TenantSettings, load_settings
from datasphinx.agent.storage.database import SharedDatabase
from tests.agent.record.stores import fresh_url
from tests.agent.server.issuers import AUDIENCE, DISCOVERY, JWKS, Issuer, issuing, private_key, public_jwk
from tests.agent.server.keys import as_, ask
from tests.agent.server.mcp.clients import HEADERS, HELLO, call, code_of, content
from tests.agent.server.serving import ASKED, COUNT, Served, running, serving
from tests.agent.tools.conftest import RETURNS
from tests.support.databases import make_table, url
from tests.support.eventually import eventually
from tests.support.generated_docs import ROOT

OIDC_PAGE = (ROOT / "docs/oidc.md").read_text(encoding="utf-8")
KEY, REVIEWER, OPERATOR = new_key(), new_key(), new_key()
SHOES = "SELECT region, pairs FROM shoes"


@pytest.fixture(scope="module")
def issuer() -> Iterator[Issuer]:
    with issuing() as issuer:
        issuer.keys += [
            public_jwk("curve", "ES256"), public_jwk("edwards", "EdDSA"), public_jwk("pss"), public_jwk("no_alg")
        ]  # fmt: skip
        yield issuer


def oidc(issuer: Issuer, **settings: Any) -> dict[str, Any]:
    return {"issuer": issuer.url, "audience": AUDIENCE, "tenant": "acme", **settings}


ROLES = {
    "role_claim": "realm_access.roles",
    "roles": {"ask": ["analyst"], "review": ["steward"], "operate": ["sre", "admin"]},
}


@pytest.fixture(scope="module")
def shared_server(issuer: Issuer, cache_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server with tokens and keys, whose users have roles, and own rows of a table."""
    folder = tmp_path_factory.mktemp("shop")
    shoes = make_table(folder, "region TEXT, pairs INTEGER", [["north", 3], ["south", 4], ["all", 5]], table="shoes")
    (folder / "knowledge").mkdir()
    shop = {
        "url": url(shoes),
        "row_rules": {"shoes": "region = :region"},
        "row_parameters": {"region": "all"},
        "knowledge": str(folder / "knowledge"),
    }
    settings: dict[str, Any] = {
        "sources": {"shop": shop},
        "api_keys": {"acme": [hash_of(KEY), hash_of(REVIEWER), hash_of(OPERATOR)]},
        "review_keys": [hash_of(REVIEWER)],
        "operate_keys": [hash_of(OPERATOR)],
        "tenants": {"acme": {"row_parameters": {"region": "all"}}, "beta": {}},
        "oidc": oidc(issuer, tenant_claim="org", row_parameters={"region": "https://data.example/region"}, **ROLES),
        "clarify": "never",
        "data_dir": folder / "served",
    }
    with serving(cache_dir, {"GeneratedSQL": [{**COUNT, "sql": SHOES}]}, **settings) as server:
        yield server


def analyst(issuer: Issuer, region: str | None = "north", roles: tuple[str, ...] = ("analyst",), **claims: Any) -> str:
    return issuer.token(**{"realm_access": {"roles": list(roles)}, "https://data.example/region": region, **claims})


def get(server: Served, path: str, token: str) -> httpx.Response:
    return server.http.get(path, headers={"Authorization": f"Bearer {token}"})


def rows(server: Served, token: str) -> Any:
    with as_(server, token) as client:
        output = ask(client, question="Which shoes?")
    return [table["rows"] for table in output["tables"]] or output["error"]["code"]


# Which tokens are accepted


@pytest.mark.parametrize(
    ("kid", "algorithm"),
    [("first", "RS256"), ("pss", "PS384"), ("no_alg", "RS512"), ("curve", "ES256"), ("edwards", "EdDSA")],
)
def test_a_token_with_an_asymmetric_signature_is_accepted(
    served: Served, issuer: Issuer, kid: str, algorithm: str
) -> None:
    key = private_key(kid, algorithm if algorithm in ("ES256", "EdDSA") else "RS256")
    token = analyst(issuer, kid=kid, algorithm=algorithm, key=key)
    shop = {"name": "shop", "dialect": "sqlite", "description": ""}
    assert get(served, "/sources", token).json()["sources"] == [shop]


def test_the_clocks_may_differ_a_little(served: Served, issuer: Issuer) -> None:
    now = int(time.time())
    for claims in ({"exp": now - 10}, {"nbf": now + 10}, {"aud": ["other", AUDIENCE]}, {"iat": None, "sub": None}):
        assert get(served, "/sources", analyst(issuer, **claims)).status_code == 200, claims


def part(value: Any) -> str:
    content = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(content).decode().strip("=")


def signed_with_secret(issuer: Issuer, secret: bytes) -> str:
    """A token with an HMAC; PyJWT refuses to make one with a public key."""
    payload = analyst(issuer).split(".")[1]
    signed = f"{part({'alg': 'HS256', 'kid': 'first'})}.{payload}"
    return f"{signed}.{part(hmac.digest(secret, signed.encode(), hashlib.sha256))}"


def with_header(issuer: Issuer, key_name: str = "first", **header: Any) -> str:
    """A token with a header of its own, rightly signed with a key."""
    from jwt.algorithms import get_default_algorithms

    payload = analyst(issuer).split(".")[1]
    signed = f"{part({'alg': 'RS256', 'kid': 'first', **header})}.{payload}"
    return f"{signed}.{part(get_default_algorithms()['RS256'].sign(signed.encode(), private_key(key_name)))}"


def public_pem() -> bytes:
    return private_key("first").public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


REFUSED: dict[str, Callable[[Issuer], str]] = {
    "expired": lambda issuer: analyst(issuer, exp=int(time.time()) - 60),
    "not valid yet": lambda issuer: analyst(issuer, nbf=int(time.time()) + 60),
    "issued in the future": lambda issuer: analyst(issuer, iat=int(time.time()) + 600),
    "without expiry": lambda issuer: analyst(issuer, exp=None),
    "with an expiry that is no time": lambda issuer: analyst(issuer, exp="tomorrow"),
    "with an infinite expiry": lambda issuer: analyst(issuer, exp=float("inf")),
    "for another audience": lambda issuer: analyst(issuer, aud="another"),
    "for a part of the audience": lambda issuer: analyst(issuer, aud=AUDIENCE[:4]),
    "without audience": lambda issuer: analyst(issuer, aud=None),
    "of another issuer": lambda issuer: analyst(issuer, iss="https://elsewhere.example"),
    "of a similar issuer": lambda issuer: analyst(issuer, iss=issuer.url + "/"),
    "without issuer": lambda issuer: analyst(issuer, iss=None),
    "of another key": lambda issuer: analyst(issuer, key=private_key("attacker")),
    "of another type of key": lambda issuer: analyst(issuer, algorithm="ES256", key=private_key("curve", "ES256")),
    "with an algorithm that the key excludes": lambda issuer: analyst(issuer, algorithm="PS256"),
    "unsigned": lambda issuer: f"{part({'alg': 'none', 'kid': 'first'})}.{analyst(issuer).split('.')[1]}.",
    "unsigned in capitals": lambda issuer: f"{part({'alg': 'NONE'})}.{analyst(issuer).split('.')[1]}.",
    "without algorithm": lambda issuer: f"{part({'kid': 'first'})}.{analyst(issuer).split('.')[1]}.x",
    "with the public key as a secret": lambda issuer: signed_with_secret(issuer, public_pem()),
    "with the modulus as a secret": lambda issuer: signed_with_secret(issuer, public_jwk("first")["n"].encode()),
    "with an empty secret": lambda issuer: signed_with_secret(issuer, b""),
    "with a key in its header": lambda issuer: with_header(
        issuer, "attacker", jwk=public_jwk("attacker", alg="RS256"), kid="attacker"
    ),
    "with the address of a key": lambda issuer: with_header(
        issuer, "attacker", jku=f"{issuer.url}/attacker", x5u=f"{issuer.url}/attacker", kid="attacker"
    ),
    "with the path of a key": lambda issuer: with_header(issuer, "attacker", kid="../../../../dev/null"),
    "with an id that is no text": lambda issuer: with_header(issuer, kid=["first"]),
    "with an unknown critical header": lambda issuer: with_header(issuer, crit=["surprise"], surprise=1),
    "with a detached payload": lambda issuer: with_header(issuer, b64=False, crit=["b64"]),
    "with another payload": lambda issuer: ".".join(
        [analyst(issuer).split(".")[0], issuer.token(sub="eve").split(".")[1], analyst(issuer).split(".")[2]]
    ),
    "cut off": lambda issuer: analyst(issuer)[:-20],
    "without signature": lambda issuer: analyst(issuer).rpartition(".")[0] + ".",
    "too long": lambda issuer: analyst(issuer, note="x" * 20_000),
    "deeply nested": lambda _: f"{part(b'[' * 9000)}.e30.x",
    "no token": lambda _: "not-a-token",
    "a wrong key": lambda _: "dsk_wrong",
}


def test_tokens_that_are_built_by_hand_are_accepted_without_a_defect(served: Served, issuer: Issuer) -> None:
    for token in (with_header(issuer), with_header(issuer, jku=f"{issuer.url}/attacker", typ="at+jwt")):
        assert get(served, "/sources", token).status_code == 200
    assert "/attacker" not in issuer.requests


@pytest.mark.parametrize("name", REFUSED)
def test_other_tokens_are_refused(served: Served, issuer: Issuer, name: str) -> None:
    token = REFUSED[name](issuer)
    for path in ("/sources", "/metrics", "/proposals", "/nowhere", "/v1/models"):
        response = get(served, path, token)
        code = response.json()["error"]["code"] if path == "/v1/models" else response.json()["code"]
        assert (response.status_code, code) == (401, "token_invalid"), response.text
        assert response.headers["www-authenticate"] == 'Bearer error="invalid_token"'
    assert get(served, "/readyz", token).json() == {"status": "ready"}
    assert "/attacker" not in issuer.requests and not served.model.calls


def test_reasons_are_given_in_the_language_of_the_user(served: Served, issuer: Issuer) -> None:
    expired = analyst(issuer, exp=int(time.time()) - 60)
    for language, text in (("en", "expired"), ("ru", "истёк"), ("zh", "已过期")):
        headers = {"Authorization": f"Bearer {expired}", "Accept-Language": language}
        assert text in served.http.get("/sources", headers=headers).json()["detail"]


def test_without_a_token_nothing_is_answered(served: Served, issuer: Issuer) -> None:
    for headers in ({}, {"Authorization": "Basic eDp5"}, {"X-API-Key": analyst(issuer)}):
        response = served.http.get("/sources", headers=headers)
        assert (response.status_code, response.json()["code"]) == (401, "key_missing")
        assert response.headers["www-authenticate"] == "Bearer"


def test_keys_are_accepted_next_to_tokens(served: Served) -> None:
    assert rows(served, KEY) == [[["all", 5]]]


@pytest.mark.heavy
def test_a_flood_of_unknown_keys_reaches_the_issuer_once(cache_dir: Path) -> None:
    with issuing() as issuer, serving(cache_dir, oidc=oidc(issuer)) as server:
        with ThreadPoolExecutor(16) as pool:
            key = private_key("attacker")
            tokens = [issuer.token(kid=f"x{number}", key=key) for number in range(100)]
            statuses = list(pool.map(lambda token: get(server, "/sources", token).status_code, tokens))
            assert get(server, "/sources", issuer.token()).status_code == 200
    assert statuses == [401] * 100
    assert issuer.requests[JWKS] <= 2


def test_a_rotated_key_is_accepted(cache_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("datasphinx.agent.server.issuer._MIN_INTERVAL_S", 0)
    with issuing() as issuer, serving(cache_dir, oidc=oidc(issuer)) as server:
        old = issuer.token()
        assert get(server, "/sources", old).status_code == 200
        issuer.keys = [public_jwk("second")]
        assert get(server, "/sources", issuer.token(kid="second")).status_code == 200
        assert get(server, "/sources", old).status_code == 401


def test_without_the_issuer_keys_and_public_paths_are_served(cache_dir: Path) -> None:
    with issuing() as issuer:
        issuer.documents[DISCOVERY] = 500
        with serving(cache_dir, oidc=oidc(issuer), api_keys={"acme": hash_of(KEY)}) as server:
            response = get(server, "/sources", issuer.token())
            assert (response.status_code, response.json()["code"]) == (503, "issuer_unavailable")
            assert get(server, "/sources", KEY).status_code == 200
            assert get(server, "/readyz", issuer.token()).json() == {"status": "ready"}


def test_other_requests_do_not_wait_for_the_issuer(cache_dir: Path) -> None:
    with issuing() as issuer, serving(cache_dir, oidc=oidc(issuer), api_keys={"acme": hash_of(KEY)}) as server:
        issuer.may_answer.clear()
        with ThreadPoolExecutor(60) as pool:
            token = issuer.token()
            waiting = [pool.submit(get, server, "/sources", token) for _ in range(60)]
            while not issuer.requests[DISCOVERY]:
                threading.Event().wait(0.01)
            assert server.http.get("/healthz", headers={"Authorization": f"Bearer {token}"}).status_code == 200
            assert get(server, "/sources", KEY).status_code == 200
            assert not any(each.done() for each in waiting)
            issuer.may_answer.set()
            assert {each.result().status_code for each in waiting} == {200}
    assert issuer.requests[JWKS] == 1


# Roles

ASK, REVIEW, OPERATE = "ask", "review", "operate"
ROUTES = {
    **{
        f"/{graph}/{name}": ASK
        for graph in ("agent", "analyst")
        for name in (
            "invoke", "batch", "stream", "stream_events", "events",
            "input_schema", "output_schema", "config_schema",
        )
    },
    "/v1/models": ASK, "/v1/models/{model_id}": ASK, "/v1/chat/completions": ASK, "/v1/responses": ASK, "/agui": ASK,
    "/report": ASK,
    "/threads": ASK,
    "/threads/{thread_id}": ASK, "/threads/{thread_id}/history": ASK, "/threads/{thread_id}/runs/{run_id}": ASK,
    "/threads/{thread_id}/runs/{run_id}/chart": ASK, "/threads/{thread_id}/runs/{run_id}/questions": ASK,
    "/threads/{thread_id}/runs/{run_id}/report.{suffix}": ASK,
    "/threads/{thread_id}/runs/{run_id}/tables/{number}.{suffix}": ASK,
    "/threads/{thread_id}/feedback": ASK,
    "/files": ASK, "/files/events": ASK, "/datasets": ASK, "/datasets/events": ASK,
    "/datasets/{dataset_id}": ASK, "/datasets/{dataset_id}/preview": ASK,
    "/traces/{trace_id}": ASK, "/traces/{trace_id}/replay": ASK,
    "/charts/{chart_id}.png": ASK, "/sources": ASK,
    "/sources/tables": ASK, "/sources/questions": ASK,
    "/boards": ASK, "/boards/{board_id}": ASK, "/boards/{board_id}/refresh": ASK,
    "/boards/{board_id}/export.{suffix}": ASK, "/boards/{board_id}/pins": ASK,
    "/boards/{board_id}/pins/{pin_id}": ASK, "/boards/{board_id}/pins/{pin_id}/refresh": ASK,
    "/proposals": REVIEW, "/proposals/{proposal_id}": REVIEW, "/proposals/{proposal_id}/accept": REVIEW,
    "/proposals/{proposal_id}/reject": REVIEW, "/proposals/codes": REVIEW,
    "/metrics": OPERATE, "/operate/model/test": OPERATE,
    "/healthz": None, "/readyz": None,
}  # fmt: skip
"""The role of each documented route; None: open."""
UNDOCUMENTED = {"/mcp": ASK, "/nowhere": ASK}
GROUPS = {ASK: "analyst", REVIEW: "steward", OPERATE: "sre"}


def refused(response: httpx.Response) -> bool:
    body = response.json() if response.status_code == 403 else {}
    code = body.get("code") or body.get("error", {}).get("code")
    if code not in ("role_missing", "review_not_permitted"):
        return False
    assert response.headers["www-authenticate"] == 'Bearer error="insufficient_scope"'
    return True


def test_every_route_requires_its_role(served: Served, issuer: Issuer) -> None:
    documented = served.http.get("/openapi.json").json()["paths"]
    assert set(documented) == set(ROUTES), "each route has a role"
    methods = {**documented, **{path: ("get", "post") for path in UNDOCUMENTED}}
    for role, group in GROUPS.items():
        with as_(served, analyst(issuer, roles=(group,))) as client:
            for path, required in {**ROUTES, **UNDOCUMENTED}.items():
                for method in methods[path]:
                    response = client.request(method, path)
                    assert response.status_code != 401, path
                    assert refused(response) == (required not in (None, role)), (path, role)


def test_keys_have_roles_too(served: Served) -> None:
    granted = {KEY: {ASK}, REVIEWER: {ASK, REVIEW}, OPERATOR: {ASK, OPERATE}}
    for key, roles in granted.items():
        for path, role in {"/sources": ASK, "/proposals": REVIEW, "/metrics": OPERATE}.items():
            assert (get(served, path, key).status_code == 200) == (role in roles), (path, roles)
        assert ("stores" in get(served, "/readyz", key).json()) == (OPERATE in roles)
        assert get(served, "/sources", key).json()["may_review"] == (REVIEW in roles)


def test_a_user_may_have_several_roles_or_none(served: Served, issuer: Issuer) -> None:
    everything = analyst(issuer, roles=("admin", "steward", "analyst"))
    nothing = [analyst(issuer, roles=()), analyst(issuer, realm_access=7), analyst(issuer, realm_access=None)]
    # Names of roles are compared exactly, and a text is a list of scopes.
    nothing += [analyst(issuer, roles=("ANALYST", "analysts")), analyst(issuer, realm_access={"roles": {"analyst": 1}})]
    scopes = analyst(issuer, realm_access={"roles": "openid analyst"})
    for path in ("/sources", "/proposals", "/metrics"):
        assert get(served, path, everything).status_code == 200
        assert [get(served, path, token).status_code for token in nothing] == [403] * 5
    assert "stores" in get(served, "/readyz", everything).json()
    assert get(served, "/sources", scopes).status_code == 200


def test_without_roles_in_the_settings_users_may_only_ask(issuer: Issuer, cache_dir: Path) -> None:
    with serving(cache_dir, oidc=oidc(issuer)) as server:
        token = issuer.token(roles=["operate", "review"], scope="operate review")
        paths = ("/sources", "/proposals", "/metrics")
        assert [get(server, path, token).status_code for path in paths] == [200, 403, 403]


def test_roles_hold_where_the_application_is_mounted_under_a_path(issuer: Issuer, cache_dir: Path) -> None:
    app = create_app(Services(load_settings(cache_dir=cache_dir, oidc=oidc(issuer)), model=ScriptedModel()))

    async def mounted(scope: Any, receive: Any, send: Any) -> None:
        await app({**scope, "root_path": "/data"} if scope["type"] == "http" else scope, receive, send)

    with running(mounted) as base, httpx.Client(base_url=base, verify=False) as http:
        headers = {"Authorization": f"Bearer {issuer.token()}"}
        statuses = [http.get(f"/data/{path}", headers=headers).status_code for path in ("sources", "metrics", "")]
        assert statuses == [200, 403, 200]


# Tenants


def test_a_token_names_a_tenant_of_the_server(served: Served, issuer: Issuer) -> None:
    for org, status, code in (
        ("beta", 200, None),
        (["beta"], 200, None),
        (None, 200, None),
        ("gamma", 403, "token_not_permitted"),
        ("acme@north", 403, "token_not_permitted"),
        ("", 403, "token_not_permitted"),
        (["acme", "beta"], 403, "token_not_permitted"),
        ({"acme": {}}, 403, "token_not_permitted"),
        (7, 403, "token_not_permitted"),
    ):
        response = get(served, "/sources", analyst(issuer, org=org))
        assert (response.status_code, response.json().get("code")) == (status, code), org


def test_tenants_of_tokens_are_kept_apart(served: Served, issuer: Issuer) -> None:
    with as_(served, analyst(issuer, org="acme")) as acme, as_(served, analyst(issuer, org="beta")) as beta:
        output = ask(acme, **ASKED)
        paths = [f"/threads/{output['thread_id']}", f"/traces/{output['audit']['trace_id']}"]
        assert [acme.get(path).status_code for path in paths] == [200, 200]
        assert [beta.get(path).status_code for path in paths] == [404, 404]


def test_without_a_default_a_token_needs_the_claim(issuer: Issuer, cache_dir: Path) -> None:
    settings = {"oidc": oidc(issuer, tenant=None, tenant_claim="org"), "tenants": {"acme": {}}}
    with serving(cache_dir, **settings) as server:
        response = get(server, "/sources", issuer.token())
        assert (response.status_code, response.json()["code"]) == (403, "token_not_permitted")
        assert get(server, "/sources", issuer.token(org="acme")).status_code == 200


# Row parameters


def test_users_get_their_rows_alone(served: Served, issuer: Issuer) -> None:
    assert rows(served, analyst(issuer, "north")) == [[["north", 3]]]
    assert rows(served, analyst(issuer, "south")) == [[["south", 4]]]
    assert rows(served, analyst(issuer, "north' OR '1'='1")) == [[]]
    # The value of the source and the tenant is no default.
    assert rows(served, analyst(issuer, None)) == "row_rule_parameter_missing"


def test_a_row_parameter_is_a_text_or_a_number(served: Served, issuer: Issuer) -> None:
    for value in (["north"], {"a": 1}, True, float("nan"), "\ud800"):
        response = get(served, "/sources", analyst(issuer, **{"https://data.example/region": value}))
        assert (response.status_code, response.json()["code"]) == (403, "token_not_permitted"), value


def test_users_with_other_rows_share_nothing(served: Served, issuer: Issuer) -> None:
    north, same, south = (as_(served, analyst(issuer, each, sub=each)) for each in ("north", "north", "south"))
    with north, same, south:
        output = ask(north, question="Which shoes?", output_type="plot")
        thread, trace = output["thread_id"], output["audit"]["trace_id"]
        dataset = north.post("/files", files={"file": ("returns.csv", BytesIO(RETURNS.encode()))}).json()["datasets"][0]
        run = north.get(f"/threads/{thread}/history").json()["runs"][0]["id"]
        for path in (f"/threads/{thread}", f"/threads/{thread}/history", f"/threads/{thread}/runs/{run}"):
            assert [each.get(path).status_code for each in (north, same, south)] == [200, 200, 404], path
        assert [each.get(f"/traces/{trace}").status_code for each in (north, same, south)] == [200, 200, 404]
        assert [each.post(f"/traces/{trace}/replay").status_code for each in (south, same)] == [404, 200]
        assert [len(each.get("/datasets").json()["datasets"]) for each in (same, south)] == [1, 0]
        assert south.delete(f"/datasets/{dataset['dataset_id']}").status_code == 404
        assert ask(south, question="And now?", thread_id=thread)["error"]["code"] == "thread_unknown"
        assert get(served, f"/threads/{thread}", KEY).status_code == 404
        assert get(served, f"/traces/{trace}", KEY).status_code == 404


def test_a_board_shows_each_user_the_own_rows(served: Served, issuer: Issuer) -> None:
    north, same, south = (as_(served, analyst(issuer, each, sub=each)) for each in ("north", "north", "south"))
    with north, same, south:
        answer = ask(north, question="Which shoes?")
        path = f"/boards/{north.post('/boards', json={'title': 'Shoes'}).json()['id']}"
        answered = {"thread_id": answer["thread_id"], "run_id": answer["run_id"]}
        assert south.post(f"{path}/pins", json=answered).json()["code"] == "board_read_only"
        pin = north.post(f"{path}/pins", json=answered).json()
        assert pin["result"]["rows"] == [["north", 3]]

        def shown(client: httpx.Client) -> Any:
            result = client.get(path).json()["pins"][0]["result"]
            return result and result["rows"]

        assert [shown(each) for each in (north, same, south)] == [[["north", 3]], [["north", 3]], None]
        assert south.post(f"{path}/refresh").json()["pins"][0]["result"]["rows"] == [["south", 4]]
        assert [shown(each) for each in (north, same, south)] == [[["north", 3]], [["north", 3]], [["south", 4]]]
        assert [each.get(path).json()["may_change"] for each in (north, same, south)] == [True, True, False]
        changes = [
            south.patch(path, json={"title": "Mine"}),
            south.delete(path),
            south.patch(f"{path}/pins/{pin['id']}", json={"upper": 1}),
            south.delete(f"{path}/pins/{pin['id']}"),
        ]
        assert {(each.status_code, each.json()["code"]) for each in changes} == {(403, "board_read_only")}
        assert "north" not in south.get(f"{path}/export.json").text.replace(path, "")

        # No token comes with a schedule, so no user's rows are refreshed by it.
        north.patch(path, json={"schedule": "hourly"})
        tenants = Tenants(open_tenant("", served.services))
        asyncio.run(ScheduledRefreshes(open_tenant("", served.services), tenants, lambda: 2e10).refresh_due())
        assert get(served, path, KEY).json()["pins"][0]["result"] is None
        assert north.delete(path).status_code == 204


def test_caches_contain_the_values_of_one_user(served: Served, issuer: Issuer, cache_dir: Path) -> None:
    for region in ("north", "south"):
        rows(served, analyst(issuer, region))
    users = cache_dir / "tenants/acme/users"

    def regions(folder: Path) -> set[str]:
        # A file that is written vanishes under its first name.
        with suppress(FileNotFoundError):
            content = b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
            return {region for region in ("north", "south") if region.encode() in content}
        return set()

    def found() -> list[set[str]]:
        return [regions(folder) for folder in users.iterdir()]

    # Values are read in the background, after the answer.
    eventually(lambda: {"north"} in found() and {"south"} in found())
    assert {"north", "south"} not in found()


def test_prompts_contain_the_values_of_one_user(served: Served, issuer: Issuer) -> None:
    for region, other in (("north", "south"), ("south", "north"), ("north", "south")):
        served.model.calls.clear()
        rows(served, analyst(issuer, region))
        prompts = str(served.model.calls)
        assert region in prompts and other not in prompts


def test_a_conversation_of_another_user_is_not_continued(served: Served, issuer: Issuer) -> None:
    answers = {}
    for region in ("north", "south"):
        client = OpenAI(base_url=f"{served.url}/v1", api_key=analyst(issuer, region))
        messages: list[Any] = [{"role": "user", "content": "Which shoes?"}]
        completion = client.chat.completions.create(model="datasphinx/shop", messages=messages)
        answers[region] = completion.choices[0].message.content or ""
        assert "datasphinx/shop" in [model.id for model in client.models.list()]
    assert "north" in answers["north"] and "south" not in answers["north"]
    assert "south" in answers["south"] and "north" not in answers["south"]


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_an_mcp_client_sends_a_token(served: Served, issuer: Issuer, mode: str) -> None:
    asked = {"question": "Which shoes?", "source": "shop"}
    answer = content(call(served, "ask", key=analyst(issuer, "north"), mode=mode, **asked))
    assert answer["rows"] == [["north", 3]]
    other = call(served, "ask", key=analyst(issuer, "south"), mode=mode, thread=answer["thread"], question="And now?")
    assert code_of(other) == "thread_unknown"
    for token in (analyst(issuer, exp=1), analyst(issuer, roles=("sre",))):
        with pytest.raises((MCPError, ExceptionGroup, httpx.HTTPError)):
            call(served, "ask", key=token, mode=mode, **asked)


def test_a_session_belongs_to_the_users_with_its_rows(served: Served, issuer: Issuer) -> None:
    north, south = ({**HEADERS, "Authorization": f"Bearer {analyst(issuer, each)}"} for each in ("north", "south"))
    session = {"Mcp-Session-Id": served.http.post("/mcp", json=HELLO, headers=north).headers["mcp-session-id"]}
    session["MCP-Protocol-Version"] = "2025-06-18"
    assert served.http.delete("/mcp", headers={**south, **session}).status_code == 404
    assert served.http.delete("/mcp", headers={**north, **session}).status_code == 200


def test_proposals_of_all_users_are_reviewed_in_the_tenant(served: Served, issuer: Issuer) -> None:
    with as_(served, analyst(issuer, "north")) as user:
        answer = ask(user, question="Which shoes are there?")
        assert user.post(f"/threads/{answer['thread_id']}/feedback", json={"accepted": True}).status_code == 200
    with as_(served, analyst(issuer, "south", ("steward",))) as reviewer:
        (proposal,) = reviewer.get("/proposals").json()["proposals"]
    assert (proposal["proposed_by"], proposal["trace_id"]) == ("acme", answer["audit"]["trace_id"])
    assert get(served, f"/proposals/{proposal['id']}", REVIEWER).json() == proposal
    beta = analyst(issuer, "north", ("steward",), org="beta")
    assert get(served, "/proposals", beta).json() == {"proposals": []}


@pytest.mark.heavy
@pytest.mark.postgres
def test_one_database_for_all_users_keeps_them_apart(issuer: Issuer, cache_dir: Path, tmp_path: Path) -> None:
    settings = {"oidc": oidc(issuer, row_parameters={"user": "sub"}), "tenants": {"acme": {"questions_per_minute": 9}}}
    with (
        fresh_url("postgres", tmp_path) as shared,
        serving(cache_dir, threads_url=shared, record_url=shared, **settings) as server,
        as_(server, issuer.token(sub="ann")) as ann,
        as_(server, issuer.token(sub="ben")) as ben,
    ):
        output = ask(ann, **ASKED)
        ann.post("/files", files={"file": ("returns.csv", BytesIO(RETURNS.encode()))})
        for path in (f"/threads/{output['thread_id']}", f"/traces/{output['audit']['trace_id']}"):
            assert [each.get(path).status_code for each in (ann, ben)] == [200, 404], path
        assert [len(each.get("/datasets").json()["datasets"]) for each in (ann, ben)] == [1, 0]


@pytest.mark.heavy
def test_users_of_a_tenant_share_its_quota(issuer: Issuer, cache_dir: Path) -> None:
    settings: dict[str, Any] = {
        "oidc": oidc(issuer, row_parameters={"user": "sub"}),
        "tenants": {"acme": {"questions_per_minute": 2, "tokens_per_day": 1_000_000}},
    }
    with serving(cache_dir, **settings) as server:
        statuses = []
        for user in ("ann", "ben", "cem"):
            with as_(server, issuer.token(sub=user)) as client:
                statuses.append(client.post("/agent/invoke", json={"input": ASKED}).status_code)
        folder = server.services.settings.data_dir / "tenants/acme"
        with Quota(SharedDatabase(sqlite_url(folder, "quota")), "acme", TenantSettings()).counting() as (count, _):
            assert count.tokens > 0
        assert not [*folder.glob("users/*/quota*")]
    assert statuses == [200, 200, 429]


@pytest.mark.heavy
def test_users_that_were_not_seen_for_long_are_closed(
    issuer: Issuer, cache_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tenants_module, "_MAX_OPEN_USERS", 2)
    opened: list[weakref.ref[tenants_module.Tenant]] = []
    closed: list[str] = []
    open_tenant, close = tenants_module.open_tenant, tenants_module.UserServices.close

    def remember(*given: Any, **more: Any) -> tenants_module.Tenant:
        tenant = open_tenant(*given, **more)
        opened.append(weakref.ref(tenant))
        return tenant

    def remember_closed(services: Any) -> None:
        closed.append(services.owner)
        close(services)

    monkeypatch.setattr(tenants_module, "open_tenant", remember)
    monkeypatch.setattr(tenants_module.UserServices, "close", remember_closed)
    with serving(cache_dir, oidc=oidc(issuer, row_parameters={"user": "sub"})) as server:
        threads = {}
        for user in ("ann", "ben", "cem", "dan", "eve", "ann"):
            with as_(server, issuer.token(sub=user)) as client:
                output = ask(client, **ASKED)
                threads.setdefault(user, output["thread_id"])
                if user != "ann" or len(threads) > 1:
                    # What was stored is found again.
                    assert client.get(f"/threads/{threads[user]}").status_code == 200
        gc.collect()
        alive = [each for each in (tenant() for tenant in opened) if each and "@" in each.name]
        # The server and the tenant are open too.
        assert len(opened) == 2 + 6 and len(alive) == 2
        assert len(closed) == 4 and len(set(closed)) == 4


def test_a_source_with_parameters_of_tokens_alone_is_ready(issuer: Issuer, cache_dir: Path, tmp_path: Path) -> None:
    shoes = make_table(tmp_path, "region TEXT", [["north"]], table="shoes")
    shop: dict[str, Any] = {"url": url(shoes), "row_rules": {"shoes": "region = :region"}}
    settings = {"sources": {"shop": shop}, "oidc": oidc(issuer, row_parameters={"region": "region"})}
    with serving(cache_dir, {"GeneratedSQL": [{**COUNT, "sql": "SELECT region FROM shoes"}]}, **settings) as server:
        assert server.http.get("/readyz").json() == {"status": "ready"}
        assert rows(server, issuer.token(region="north")) == [[["north"]]]
        assert server.http.get("/readyz").json() == {"status": "ready"}
        away = shoes.rename(shoes.with_suffix(".away"))
        assert server.http.get("/readyz").json() == {"status": "unavailable"}
        away.rename(shoes)
        assert server.http.get("/readyz").json() == {"status": "ready"}


# Settings


@pytest.mark.parametrize(
    "wrong",
    [
        {"tenant": None},
        {"tenant": "../acme"},
        {"tenant": "beta"},
        {"audience": []},
        {"issuer": "login.example"},
        {"issuer": "http://login.example"},
        {"jwks_url": "https://keys.example/keys"},
        {"roles": {"operate": ["sre"]}},
        {"role_claim": "roles"},
        {"role_claim": "roles", "roles": {"admin": ["sre"]}},
        {"algorithms": ["HS256"]},
    ],
)
def test_wrong_settings_show_at_the_start(cache_dir: Path, wrong: dict[str, Any]) -> None:
    given = {"issuer": "https://login.example", "audience": "data", "tenant": "acme", **wrong}
    with pytest.raises(ConfigurationError):
        settings = load_settings(cache_dir=cache_dir, oidc=given, tenants={"acme": {}})
        create_app(Services(settings, model=ScriptedModel()))


@pytest.mark.parametrize("example", re.findall(r"```toml\n(.*?)```", OIDC_PAGE, re.DOTALL))
def test_the_examples_of_the_page_are_valid(example: str, cache_dir: Path) -> None:
    create_app(Services(load_settings(cache_dir=cache_dir, **tomllib.loads(example)), model=ScriptedModel()))


@pytest.mark.parametrize(
    ("issuer_of", "claims"),
    [
        ("keycloak", {"resource_access": {"datasphinx": {"roles": ["steward"]}}, "region": "north"}),
        ("microsoftonline", {"roles": ["Data.Review"], "oid": "1f", "extn.region": "north"}),
        (
            "auth0",
            {
                "permissions": ["review:knowledge"],
                "https://data.example.com/tenant": "acme",
                "https://data.example.com/region": "north",
            },
        ),
    ],
)
def test_the_examples_of_the_page_find_the_claims(issuer: Issuer, issuer_of: str, claims: dict[str, Any]) -> None:
    examples = map(tomllib.loads, re.findall(r"```toml\n(.*?)```", OIDC_PAGE, re.DOTALL))
    (example,) = (each["oidc"] for each in examples if issuer_of in each["oidc"]["issuer"])
    settings = OidcSettings.model_validate({**example, "issuer": issuer.url})
    token = issuer.token(aud=settings.audience[0], **claims)
    identity = asyncio.run(TokenVerifier(settings, ["acme"], SigningKeys(settings)).identify(token))
    assert (identity.tenant, identity.roles) == ("acme", {"review"})
    assert identity.row_parameters and identity.row_parameters["region"] == "north"


def test_tokens_need_their_packages(cache_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jwt", None)
    settings = {"issuer": "https://login.example", "audience": "data", "tenant": "acme"}
    with pytest.raises(DriverMissing) as raised:
        create_app(Services(load_settings(cache_dir=cache_dir, oidc=settings), model=ScriptedModel()))
    assert raised.value.extra == "oidc"


def test_a_server_with_tokens_listens_for_other_machines(cache_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(uvicorn, "run", lambda app, **given: asked.append(given["host"]))
    given = {"issuer": "https://login.example", "audience": "data", "tenant": "acme"}
    serve("0.0.0.0", settings=load_settings(cache_dir=cache_dir, oidc=given))
    assert asked == ["0.0.0.0"]
