"""Separate models for the roles: generate, validate, narrate and review."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from datasphinx.agent.errors import ConfigurationError
from datasphinx.agent.graph import build_graph
from datasphinx.agent.llm.ability import Ability, store_ability
from datasphinx.agent.record.credentials import secrets_of
from datasphinx.agent.record.step import ModelCall
from datasphinx.agent.server.tenants import TenantServices
from datasphinx.agent.services import Services
from datasphinx.agent.settings import ModelPrice, RoleModel, Settings, TenantSettings, load_settings
from tests.agent.llm.endpoint_behaviours import TEXT, says
from tests.support.fake_openai import FakeOpenAI, Reply

ANSWERS = {
    "GeneratedSQL": {"sql": "SELECT order_id FROM orders", "assumptions": [], "off_topic": False},
    "SQLValidation": {"is_valid": True, "reason": "fine", "issues": [], "corrected_sql": None},
    "NarratedAnswer": {"answer": "There are many orders, the first {1.order_id}."},
    "AmbiguityReview": {"summary": "clear", "no_ambiguity": True},
}
ROLES = {"validate": "v", "narrate": "n", "review": "r"}


def answer(request: dict[str, Any]) -> Reply:
    return Reply(json.dumps(ANSWERS[request["response_format"]["json_schema"]["name"]]))


@pytest.fixture
def server() -> Iterator[FakeOpenAI]:
    with FakeOpenAI(default=answer) as fake:
        yield fake


@pytest.fixture
def other() -> Iterator[FakeOpenAI]:
    with FakeOpenAI(default=answer) as fake:
        yield fake


@pytest.fixture
def services(server: FakeOpenAI, cache_dir: Path) -> Callable[..., Services]:
    return lambda **settings: Services(
        load_settings(
            **{
                "llm_base_url": server.base_url,
                "llm_model": "m",
                "cache_dir": cache_dir,
                "enable_sql_validation": True,
                **settings,
            }
        )
    )


def models_by_schema(server: FakeOpenAI) -> dict[str | None, str]:
    return dict(zip(server.schemas, (request["model"] for request in server.requests), strict=True))


def has_question(request: dict[str, Any]) -> bool:
    name = request.get("response_format", {}).get("json_schema", {}).get("name")
    return name in ANSWERS


def keys_of(server: FakeOpenAI) -> list[str]:
    return [value for headers in server.headers for name, value in headers.items() if name.lower() == "authorization"]


def ask(services: Services, **given: Any) -> dict[str, Any]:
    question = {"question": "List all orders", "clarify": "always", "output_type": "string"}
    return build_graph(services).invoke({**question, **given})


def test_each_role_asks_its_model(server: FakeOpenAI, services: Callable[..., Services]) -> None:
    output = ask(services(llm_models=ROLES))
    assert models_by_schema(server) == {
        "AmbiguityReview": "r", "GeneratedSQL": "m", "SQLValidation": "v", "NarratedAnswer": "n",
    }  # fmt: skip
    models = {call["schema"]: call["model"] for step in output["audit"]["steps"] for call in step["calls"]}
    assert models == models_by_schema(server)


def test_each_model_has_its_price(server: FakeOpenAI, services: Callable[..., Services]) -> None:
    prices = {name: ModelPrice(input=price, output=price) for name, price in (("m", 1), ("v", 2), ("n", 4), ("r", 8))}
    audit = ask(services(llm_models=ROLES, prices=prices))["audit"]
    assert audit["llm_cost_usd"] == pytest.approx((1 + 2 + 4 + 8) * 150 / 1e6)


@pytest.mark.heavy
def test_the_calls_of_all_roles_count_for_a_tenant(
    services: Callable[..., Services], monkeypatch: pytest.MonkeyPatch
) -> None:
    tenant = TenantServices(services(llm_models=ROLES, max_llm_calls=3), "a", TenantSettings())
    spent: list[ModelCall] = []
    monkeypatch.setattr(tenant.quota, "spend", spent.append)
    ask(tenant)
    assert {call["schema"]: call["model"] for call in spent} == {
        "AmbiguityReview": "r", "GeneratedSQL": "m", "SQLValidation": "v",
    }  # fmt: skip


def test_a_role_at_another_endpoint_gets_its_own_key_only(
    server: FakeOpenAI, other: FakeOpenAI, services: Callable[..., Services]
) -> None:
    ask(
        services(
            llm_api_key="key-of-the-endpoint",
            llm_models={
                "validate": {"model": "v", "base_url": other.base_url},
                "narrate": {"model": "n", "base_url": other.base_url, "api_key": "key-of-the-other"},
            },
        )
    )
    assert [request["model"] for request in other.requests] == ["v", "n"]
    assert keys_of(other) == ["Bearer not-needed", "Bearer key-of-the-other"]
    assert set(keys_of(server)) == {"Bearer key-of-the-endpoint"}


def test_a_validator_at_an_endpoint_helps_the_embedded_model(other: FakeOpenAI, cache_dir: Path) -> None:
    settings = load_settings(cache_dir=cache_dir, llm_models={"validate": {"model": "v", "base_url": other.base_url}})
    services = Services(settings)
    assert services.models.of("validate").embedded is None
    assert services.models.of("validate").name == "v"


@pytest.mark.heavy
def test_a_question_is_answered_if_the_endpoint_of_another_role_is_down(
    server: FakeOpenAI, services: Callable[..., Services], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("openai._base_client.time.sleep", lambda seconds: None)
    server.default = lambda request: answer(request) if has_question(request) else says(TEXT)(request)
    store_ability(tmp_path, server.base_url, "m", Ability(handles_json=True, validates=True))
    closed = {"model": "v", "base_url": "http://127.0.0.1:9/v1"}
    output = ask(services(llm_models={"validate": closed}, llm_profile="auto", cache_dir=tmp_path))
    assert output["answer"].startswith("There are many orders")
    assert any("the check of the statement failed" in note for note in output["audit"]["notes"])


def test_role_models_are_read_from_the_file_and_the_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "datasphinx.toml").write_text(
        '[llm_models]\nvalidate = "v"\n\n[llm_models.review]\nmodel = "r"\nbase_url = "https://other.example/v1"\n'
    )
    assert load_settings().llm_models == {
        "validate": RoleModel(model="v"),
        "review": RoleModel(model="r", base_url="https://other.example/v1"),
    }
    monkeypatch.setenv("DATASPHINX_LLM_MODELS", '{"narrate": "n"}')
    assert load_settings().llm_models["narrate"] == RoleModel(model="n")


@pytest.mark.parametrize(
    "models", [{"write": "x"}, {"validate": ""}, {"validate": {"model": "v", "base_url": "localhost:8000"}}]
)
def test_an_invalid_role_names_the_setting(models: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match="DATASPHINX_LLM_MODELS"):
        load_settings(llm_models=models)


@pytest.mark.parametrize(
    ("role", "expected"),
    [
        ("generate", ("m", "http://a/v1", "key-of-a")),
        ("validate", ("v", "http://a/v1", "key-of-a")),
        ("narrate", ("n", "http://a/v1", "own-key")),
        ("review", ("r", "http://b/v1", None)),
    ],
)
def test_settings_of_a_role(role: Any, expected: tuple[str, str | None, str | None]) -> None:
    settings: Settings = load_settings(
        llm_model="m", llm_base_url="http://a/v1", llm_api_key="key-of-a",
        llm_models={
            "validate": "v",
            "narrate": {"model": "n", "api_key": "own-key"},
            "review": {"model": "r", "base_url": "http://b/v1"},
        },
    ).for_role(role)  # fmt: skip
    key = settings.llm_api_key.get_secret_value() if settings.llm_api_key else None
    assert (settings.llm_model, settings.llm_base_url, key) == expected


def test_keys_of_roles_are_redacted() -> None:
    settings = load_settings(llm_models={"review": {"model": "r", "api_key": "key-of-the-review"}})
    assert "key-of-the-review" in secrets_of(settings)
