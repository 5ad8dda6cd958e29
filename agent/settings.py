"""Every setting, read once from the environment (and from `.env` in the working directory)."""

from pathlib import Path
from typing import Literal

import platformdirs
from pydantic import AliasChoices, Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from agent.errors import ConfigurationError


def _env(name: str, *others: str) -> AliasChoices:
    return AliasChoices(name, f"DATASPHINX_{name.upper()}", *others)


class Settings(BaseSettings):
    """The settings. Each one is `DATASPHINX_` and its name in capitals; unknown keyword arguments are refused."""

    model_config = SettingsConfigDict(
        env_prefix="DATASPHINX_", env_file=".env", env_file_encoding="utf-8", extra="forbid", frozen=True,
        populate_by_name=True, env_ignore_empty=True, env_parse_none_str="none",
    )  # fmt: skip

    source: str = Field("", description="SQLAlchemy URL of the database to ask; empty: the sample shop.")
    llm_base_url: str | None = Field(
        None, validation_alias=_env("llm_base_url", "OPENAI_BASE_URL", "OPENAI_API_BASE"),
        description="Base URL of an OpenAI-compatible endpoint; without it and a key the embedded model answers.",
    )  # fmt: skip
    llm_model: str | None = Field(
        None, validation_alias=_env("llm_model", "OPENAI_MODEL"), description="Model name at the endpoint."
    )
    llm_api_key: SecretStr | None = Field(
        None, validation_alias=_env("llm_api_key", "OPENAI_API_KEY"), description="API key of the endpoint."
    )
    llm_timeout_s: float = Field(60, gt=0, description="Seconds that one model call may take.")
    llm_temperature: float | None = Field(
        0.0, ge=0, description="Sampling temperature; `none` where the endpoint allows only its own."
    )
    llm_structured_output: Literal["auto", "json_schema", "json_object", "text"] = Field(
        "auto", description="How structured answers are asked for; `auto` detects once what the endpoint supports."
    )
    enable_sql_validation: bool = Field(True, description="Let the model check each statement against the question.")
    sql_validation_max_retries: int = Field(
        2, ge=0, le=10, description="How often a statement is checked again after a correction."
    )
    max_table_retrievals: int = Field(
        3, ge=1, le=10, description="Tries at finding tables before a question is off topic."
    )
    max_sql_generations: int = Field(3, ge=1, le=10, description="Tries at a statement before a question is given up.")
    max_llm_calls: int = Field(20, ge=1, description="Model calls that one question may cost.")
    max_llm_tokens: int = Field(200_000, ge=1, description="Prompt and completion tokens that one question may cost.")
    max_cost_usd: float = Field(
        1.0, gt=0, description="US dollars that one question may cost, where the price is known."
    )
    max_question_s: float = Field(600, gt=0, description="Seconds after which a question makes no further model call.")
    max_question_chars: int = Field(10_000, ge=1, description="Characters that a question may have.")
    schema_token_budget: int = Field(
        2000,
        ge=100,
        description="A schema that fits in this many tokens is shown whole, with no call to choose from it.",
    )
    statement_timeout_s: float = Field(30, gt=0, description="Seconds that one statement may run.")
    row_limit: int = Field(10_000, ge=1, description="Rows of a result that are read; more are cut and said to be.")
    short_table_rows: int = Field(
        20, ge=1, description="A table of at most this many rows is answered without narration."
    )
    cache_dir: Path = Field(
        default_factory=lambda: platformdirs.user_cache_path("datasphinx"),
        description="Where the sample database and the embedded model are kept.",
    )

    @property
    def uses_embedded_model(self) -> bool:
        """True when neither an endpoint nor a key is configured."""
        return self.llm_base_url is None and self.llm_api_key is None


def load_settings(**overrides: object) -> Settings:
    """Return the settings of this process, with `overrides` on top; None leaves a setting as it is.

    Raises:
        ConfigurationError: a value does not fit its setting.
    """
    try:
        return Settings(**{name: value for name, value in overrides.items() if value is not None})  # type: ignore[arg-type]
    except ValidationError as error:
        first = error.errors()[0]
        name = "DATASPHINX_" + str(first["loc"][0]).upper().removeprefix("DATASPHINX_")
        raise ConfigurationError(name, first["msg"]) from error
