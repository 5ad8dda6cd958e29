import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from datasphinx.agent.errors import ConfigurationError
from datasphinx.agent.settings import Settings, load_settings

SECRET = "sk-very-secret-0123456789"


def env(monkeypatch: pytest.MonkeyPatch, **variables: str) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)


def dotenv(text: str, encoding: str = "utf-8") -> None:
    """Write `.env` into the working directory, which is the test's own folder."""
    Path(".env").write_text(text, encoding=encoding)


def key(settings: Settings) -> str | None:
    return settings.llm_api_key.get_secret_value() if settings.llm_api_key else None


# Defaults


def test_without_configuration_the_embedded_model_answers() -> None:
    assert load_settings().uses_embedded_model
    assert not load_settings(llm_base_url="http://127.0.0.1/v1").uses_embedded_model
    assert not load_settings(llm_api_key=SECRET).uses_embedded_model
    assert load_settings(llm_model="a-name-alone").uses_embedded_model


def test_every_setting_is_described() -> None:
    assert all(field.description for field in Settings.model_fields.values())


# Names and who wins


@pytest.mark.parametrize("name", [name for name in Settings.model_fields if name != "llm_structured_output"])
def test_every_setting_has_its_variable(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    value = {
        "llm_base_url": "http://1/", "enable_sql_validation": "false", "schema_token_budget": "777",
        "sources": '{"a": "sqlite:///a.db"}', "allow_writable_account": "true",
        "worker_memory_mb": "777", "max_bytes_billed": "777777777",
        "record": "false", "log_json": "true",
        "otel": "true", "otel_text": "true", "allow_langsmith": "false",
        "clarify": "never", "effort": "low",
        "run_sql": "true", "edit_sources": "true",
        "llm_profile": "standard", "llm_models": '{"validate": "v"}',
        "prices": '{"m": {"input": 1, "output": 2}}',
        "embedded_model": "large", "min_confidence": "0.7",
        "api_keys": f'{{"a": "sha256:{"0" * 64}"}}', "tenants": '{"a": {}}',
        "review_keys": f'["sha256:{"0" * 64}"]', "operate_keys": f'["sha256:{"0" * 64}"]',
        "oidc": '{"issuer": "https://login.example", "audience": "data", "tenant": "a"}',
    }.get(name, "7")  # fmt: skip
    env(monkeypatch, **{f"DATASPHINX_{name.upper()}": value})
    assert getattr(load_settings(), name) != getattr(Settings.model_construct(), name)


def test_openai_names_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    env(monkeypatch, OPENAI_BASE_URL="http://a/v1", OPENAI_API_KEY=SECRET, OPENAI_MODEL="m")
    settings = load_settings()
    assert (settings.llm_base_url, key(settings), settings.llm_model) == ("http://a/v1", SECRET, "m")


def test_the_older_name_of_the_base_url(monkeypatch: pytest.MonkeyPatch) -> None:
    env(monkeypatch, OPENAI_API_BASE="http://old/v1")
    assert load_settings().llm_base_url == "http://old/v1"
    env(monkeypatch, OPENAI_BASE_URL="http://new/v1")
    assert load_settings().llm_base_url == "http://new/v1"


def test_own_names_in_dotenv_win_over_openai_names_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    env(monkeypatch, OPENAI_API_KEY="theirs", OPENAI_MODEL="theirs")
    dotenv("DATASPHINX_LLM_API_KEY=own\n")
    assert key(load_settings()) == "own"
    assert load_settings().llm_model == "theirs"


def test_the_environment_wins_over_dotenv(monkeypatch: pytest.MonkeyPatch) -> None:
    dotenv("DATASPHINX_LLM_MODEL=file\nOPENAI_API_KEY=file\n")
    env(monkeypatch, DATASPHINX_LLM_MODEL="environment", OPENAI_API_KEY="environment")
    assert load_settings().llm_model == "environment"
    assert key(load_settings()) == "environment"


def test_keyword_arguments_win_over_all(monkeypatch: pytest.MonkeyPatch) -> None:
    dotenv("DATASPHINX_LLM_MODEL=file\n")
    env(monkeypatch, DATASPHINX_LLM_MODEL="environment", OPENAI_MODEL="theirs")
    assert load_settings(llm_model="argument").llm_model == "argument"
    assert load_settings(llm_model=None).llm_model == "environment"


def test_an_empty_variable_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    env(monkeypatch, DATASPHINX_LLM_API_KEY="", OPENAI_API_KEY="theirs", DATASPHINX_ROW_LIMIT="", OPENAI_MODEL="")
    settings = load_settings()
    assert (key(settings), settings.row_limit, settings.llm_model) == ("theirs", 10_000, None)


# .env


def test_dotenv_is_read_from_the_working_directory() -> None:
    dotenv("# mine\nexport DATASPHINX_ROW_LIMIT=5\nOPENAI_MODEL='a model'  # theirs\n")
    assert load_settings().row_limit == 5
    assert load_settings().llm_model == "a model"


def test_dotenv_that_is_no_text() -> None:
    Path(".env").write_bytes(b"DATASPHINX_LLM_API_KEY=" + SECRET.encode() + b"\xff")
    with pytest.raises(ConfigurationError) as caught:
        load_settings()
    assert caught.value.setting == ".env"
    assert SECRET not in str(caught.value)


# Wrong values


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("row_limit", "many"),
        ("row_limit", "0"),
        ("row_limit", "1.5"),
        ("llm_timeout_s", "0"),
        ("llm_timeout_s", "-1"),
        ("llm_timeout_s", "inf"),
        ("llm_timeout_s", "nan"),
        ("llm_timeout_s", "a minute"),
        ("statement_timeout_s", "inf"),
        ("llm_temperature", "-1"),
        ("llm_temperature", "nan"),
        ("llm_structured_output", "yaml"),
        ("llm_model", "anthropic:claude-sonnet-4-5"),
        ("llm_base_url", "localhost:8000/v1"),
        ("llm_base_url", "ftp://host/v1"),
        ("enable_sql_validation", "perhaps"),
        ("sql_validation_max_retries", "-1"),
        ("schema_token_budget", "1"),
        ("max_cost_usd", "0"),
    ],
)
@pytest.mark.parametrize("place", ["environment", "dotenv", "argument"])
def test_a_wrong_value_names_its_variable(monkeypatch: pytest.MonkeyPatch, name: str, value: str, place: str) -> None:
    variable = f"DATASPHINX_{name.upper()}"
    given = {name: value} if place == "argument" else {}
    if place == "environment":
        monkeypatch.setenv(variable, value)
    elif place == "dotenv":
        dotenv(f"{variable}={value}\n")
    with pytest.raises(ConfigurationError) as caught:
        load_settings(**given)
    assert caught.value.setting == variable
    assert caught.value.code == "configuration"
    assert variable in str(caught.value)
    assert "Value error" not in str(caught.value)
    for language in ("en", "ru", "zh"):
        assert variable in caught.value.message(language)


def test_no_limit_is_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    env(monkeypatch, DATASPHINX_MAX_COST_USD="inf", DATASPHINX_MAX_QUESTION_S="inf")
    assert load_settings().max_cost_usd == load_settings().max_question_s == float("inf")


@pytest.mark.parametrize("wrong", [[SECRET], {"key": SECRET}, SECRET.encode() + b"\xff"])
def test_a_wrong_secret_is_not_shown(wrong: object) -> None:
    with pytest.raises(ConfigurationError) as caught:
        load_settings(llm_api_key=wrong)
    assert caught.value.setting == "DATASPHINX_LLM_API_KEY"
    shown = f"{caught.value!s} {caught.value!r} {caught.value.__cause__!r} {caught.value.details()}"
    assert SECRET not in shown


def test_a_secret_is_not_shown() -> None:
    settings = load_settings(llm_api_key=SECRET)
    assert SECRET not in f"{settings!r} {settings} {settings.model_dump()} {settings.model_dump_json()}"


def test_unknown_arguments_are_refused() -> None:
    with pytest.raises(ConfigurationError) as caught:
        load_settings(rowlimit=5)
    assert caught.value.setting == "DATASPHINX_ROWLIMIT"
    with pytest.raises(ValidationError):
        Settings(rowlimit=5)  # type: ignore[call-arg]


@pytest.mark.parametrize("place", ["environment", "dotenv", "file", "argument"])
def test_a_removed_setting_names_its_replacement(monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    if place == "environment":
        env(monkeypatch, DATASPHINX_TOOL_TIMEOUT_S="5")
    elif place == "dotenv":
        dotenv("DATASPHINX_TOOL_TIMEOUT_S=5\n")
    elif place == "file":
        Path("datasphinx.toml").write_text("tool_timeout_s = 5\n", encoding="utf-8")
    with pytest.raises(ConfigurationError, match="TOOL_TIMEOUT_S.*use DATASPHINX_STATEMENT_TIMEOUT_S"):
        load_settings(**({"tool_timeout_s": 5} if place == "argument" else {}))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"embed": {"origins": ["https://a.example"], "secret": "s" * 32}},
            "EMBED.*link to the page",
        ),
        ({"tenants": {"acme": {"max_llm_calls": 1}}}, "TENANTS.*acme.max_llm_calls.*use DATASPHINX_MAX_LLM_CALLS"),
        ({"sources": {"a": {"url": "sqlite:///a.db", "shots": 1}}}, "SOURCES.*it is always 3"),
    ],
)
def test_a_removed_setting_inside_of_another_names_its_replacement(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        load_settings(**given)


def test_settings_stay_as_they_are() -> None:
    settings = load_settings()
    with pytest.raises(ValidationError):
        settings.row_limit = 5  # type: ignore[misc]


@pytest.mark.heavy
@pytest.mark.process
def test_a_type_checker_without_plugins_needs_no_setting(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    made = "Settings(source='shop'), SourceSettings(url=SecretStr('sqlite://'))"
    imports = "from pydantic import SecretStr\nfrom datasphinx.agent.settings import Settings, SourceSettings"
    program.write_text(f"{imports}\n{made}\n")
    command = [sys.executable, "-m", "mypy", "--config-file=", f"--cache-dir={tmp_path / 'cache'}", str(program)]
    checked = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    assert checked.returncode == 0, checked.stdout
