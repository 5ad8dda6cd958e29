"""Tokens of embedded chats, and the headers of the page that other sites may show."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jwt
import pytest

from datasphinx.agent.errors import ConfigurationError
from datasphinx.agent.examples.store import ExampleStore
from datasphinx.agent.server.app import create_app
from datasphinx.agent.server.keys import hash_of
from datasphinx.agent.services import Services
from datasphinx.agent.settings import load_settings
from tests.agent.server.serving import ASKED, Served, serving

KEYS = {"acme": "dsk_acme", "beta": "dsk_beta"}
SECRET = "0123456789abcdef" * 2
EMBED = {"origins": ["https://portal.example", "http://127.0.0.1:8080"], "secret": SECRET}
CLAIMS = {"aud": "datasphinx-embed", "tenant": "acme"}


@pytest.fixture(scope="module")
def site(cache_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server with two tenants whose chat may be embedded."""
    keys = {tenant: hash_of(key) for tenant, key in KEYS.items()}
    reviewers = [hash_of(KEYS["acme"])]
    data_dir = tmp_path_factory.mktemp("embed")
    with serving(
        cache_dir, api_keys=keys, review_keys=reviewers, embed=EMBED, run_sql=True, data_dir=data_dir
    ) as server:
        yield server


def issued(server: Served, tenant: str = "acme") -> str:
    response = server.http.post("/embed/token", headers={"X-API-Key": KEYS[tenant]})
    assert response.json()["expires_in"] == 600
    return str(response.json()["token"])


def request(server: Served, token: str, path: str, body: Any = None) -> Any:
    sent = {"json": body} if body is not None else {}
    headers = {"Authorization": f"Bearer {token}"}
    return server.http.request("GET" if body is None else "POST", path, headers=headers, **sent)


def signed(secret: str = SECRET, algorithm: str = "HS256", **changes: Any) -> str:
    claims = {**CLAIMS, "exp": int(time.time()) + 60, **changes}
    return "dse_" + jwt.encode({name: value for name, value in claims.items() if value is not None}, secret, algorithm)


def test_token_asks_for_its_tenant(site: Served) -> None:
    token = issued(site)
    output = request(site, token, "/agent/invoke", {"input": ASKED}).json()["output"]
    assert output["value"] == 10127
    history = f"/threads/{output['thread_id']}/history"
    assert request(site, token, history).status_code == 200
    questions = f"/threads/{output['thread_id']}/runs/{output['run_id']}/questions"
    assert request(site, token, questions).status_code == 200
    assert request(site, issued(site, "beta"), history).status_code == 404
    assert request(site, token, "/sources").json()["may_review"] is False


def test_visitors_accept_answers_without_giving_examples(cache_dir: Path, tmp_path: Path) -> None:
    given = {"api_keys": {"acme": hash_of(KEYS["acme"])}, "embed": EMBED, "keep_accepted_examples": True}
    with serving(cache_dir, data_dir=tmp_path, **given) as server:

        def examples_after(token: str, *, by_input: bool) -> int:
            thread = request(server, token, "/agent/invoke", {"input": ASKED}).json()["output"]["thread_id"]
            path, body = f"/threads/{thread}/feedback", {"accepted": True}
            if by_input:
                path, body = "/agent/invoke", {"input": {"thread_id": thread, "feedback": body}}
            assert request(server, token, path, body).json().get("output", {}).get("status", "ok") == "ok"
            return len(ExampleStore(tmp_path / "tenants" / "acme").examples())

        token = issued(server)
        assert examples_after(token, by_input=False) == examples_after(token, by_input=True) == 0
        assert examples_after(KEYS["acme"], by_input=False) == 1


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/proposals", None), ("/datasets", None), ("/metrics", None), ("/traces/" + "0" * 32, None),
        ("/sql", {"sql": "SELECT 1"}), ("/mcp", {}), ("/analyst/events", ASKED), ("/v1/models", None),
        ("/threads/" + "0" * 32, None), ("/embed/token", {}), ("/agent/batch", {"inputs": [ASKED]}),
    ],
)  # fmt: skip
def test_token_permits_questions_only(site: Served, path: str, body: Any) -> None:
    response = request(site, issued(site), path, body)

    problem = response.json()
    # Errors of OpenAI's API have a form of their own.
    assert (response.status_code, problem.get("error", problem)["code"]) == (403, "token_not_permitted")


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({"exp": int(time.time()) - 1}, 401),
        ({"exp": None}, 401),
        ({"aud": "other"}, 401),
        ({"aud": None}, 401),
        ({"secret": "x" * 32}, 401),
        ({"secret": "", "algorithm": "none"}, 401),
        ({"secret": SECRET * 2, "algorithm": "HS512"}, 401),
        ({"tenant": "gamma"}, 403),
        ({"tenant": None}, 403),
        ({"tenant": ["acme"]}, 403),
        ({}, 200),
    ],
)
def test_only_tokens_of_this_server_are_accepted(site: Served, changes: dict[str, Any], status: int) -> None:
    assert request(site, signed(**changes), "/sources").status_code == status


@pytest.mark.parametrize("headers", [{}, {"X-API-Key": "dsk_unknown"}])
def test_tokens_need_a_key(site: Served, headers: dict[str, str]) -> None:
    assert site.http.post("/embed/token", headers=headers).status_code == 401


def test_only_the_origins_may_show_the_page(site: Served) -> None:
    embedded, page = site.http.get("/embed"), site.http.get("/")
    ancestors = "frame-ancestors https://portal.example http://127.0.0.1:8080"
    assert embedded.headers["Content-Security-Policy"].endswith(ancestors)
    assert "X-Frame-Options" not in embedded.headers
    assert page.headers["Content-Security-Policy"].endswith("frame-ancestors 'none'")
    assert page.headers["X-Frame-Options"] == "DENY"
    script = site.http.get("/embed.js")
    assert script.headers["Cross-Origin-Resource-Policy"] == "cross-origin"
    assert script.headers["Content-Type"].startswith("text/javascript")
    assert not [each for each in (embedded, page, script) if "Access-Control-Allow-Origin" in each.headers]


def test_without_the_setting_there_is_nothing_to_embed(served: Served) -> None:
    assert {path: served.http.get(path).status_code for path in ("/embed", "/embed.js")} == {
        "/embed": 404,
        "/embed.js": 404,
    }
    assert "frame-ancestors 'none'" in served.http.get("/embed").headers["Content-Security-Policy"]


@pytest.mark.parametrize(
    "changes",
    [
        {"origins": []}, {"origins": ["*"]}, {"origins": ["https://a.example/path"]}, {"secret": "short"},
        {"origins": ["https://a.example; script-src *"]}, {"origins": ["https://a.example 'self'"]},
        {"origins": ["https://a.example\n"]},
    ],
)  # fmt: skip
def test_settings_that_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match="DATASPHINX_EMBED"):
        load_settings(embed={**EMBED, **changes})


def test_embedding_needs_keys(cache_dir: Path) -> None:
    with pytest.raises(ConfigurationError, match="API keys"):
        create_app(Services(load_settings(cache_dir=cache_dir, embed=EMBED), any_source=False))
