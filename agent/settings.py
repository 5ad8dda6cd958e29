"""Every setting, read once from the environment, `.env` and `datasphinx.toml` in the working directory."""

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal

import platformdirs
from pydantic import Field, SecretStr, ValidationError, field_validator
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    InitSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
    TomlConfigSettingsSource,
)

from agent.clarify.types import Clarify
from agent.errors import ConfigurationError
from agent.models.embedded import MOST_CANDIDATES
from agent.service_settings import ServiceSettings
from agent.source_settings import Shots, SourceSettings

CONFIG_FILE = "datasphinx.toml"
"""Settings by their name in small letters; `[sources.NAME]` for each source."""

_OPENAI_NAMES = {
    "llm_base_url": ("openai_base_url", "openai_api_base"),
    "llm_model": ("openai_model",),
    "llm_api_key": ("openai_api_key",),
}


class Settings(ServiceSettings):
    """The settings. Each one is `DATASPHINX_` and its name in capitals; unknown keyword arguments are refused."""

    model_config = SettingsConfigDict(
        env_prefix="DATASPHINX_", env_file=".env", env_file_encoding="utf-8-sig", extra="forbid", frozen=True,
        env_ignore_empty=True, env_parse_none_str="none", str_strip_whitespace=True,
    )  # fmt: skip

    sources: dict[str, SourceSettings] = Field(
        {},
        description="Databases by name, each a SQLAlchemy URL or an object with `url` and what else is set for it.",
    )
    source: str = Field(
        "", description="Name or URL of the source to ask; empty: chosen among the sources, or the sample shop."
    )
    allow_writable_account: bool = Field(
        False, description="Ask a source that is given by URL alone although its account may do more than read."
    )
    studio_any_source: bool = Field(
        False,
        description="Let questions to `langgraph dev` (LangGraph Studio) name database URLs and file paths of their "
        "own; otherwise they name configured sources, and the ids of stored files and datasets.",
    )
    llm_base_url: str | None = Field(
        None,
        description="Base URL of an OpenAI-compatible endpoint; without it and a key the embedded model answers.",
    )
    llm_model: str | None = Field(None, description="Model name at the endpoint.")
    llm_api_key: SecretStr | None = Field(None, description="API key of the endpoint.")
    llm_timeout_s: float = Field(
        60,
        gt=0,
        allow_inf_nan=False,
        description="Seconds that the endpoint may be silent; it is tried three times. "
        "The embedded model has the time of a question.",
    )
    llm_temperature: float | None = Field(
        0.0,
        ge=0,
        allow_inf_nan=False,
        description="Sampling temperature; `none` where the endpoint allows only its own.",
    )
    llm_structured_output: Literal["auto", "json_schema", "json_object", "text"] = Field(
        "auto",
        description="Form of structured answers: `json_schema`, `json_object`, `text`, or `auto`: found out once.",
    )
    embedded_candidates: int = Field(
        3,
        ge=1,
        le=MOST_CANDIDATES,
        description="Statements that the embedded model writes for a question; their results vote.",
    )
    embeddings_model: str | None = Field(
        None,
        description="Embeddings model at an endpoint, to find tables and examples by meaning; "
        "without it the packaged vectors.",
    )
    embeddings_base_url: str | None = Field(
        None, description="Base URL of the embeddings endpoint; left out: that of the model."
    )
    shots: Shots = Field(
        3,
        description="Examples, of those kept with `datasphinx examples`, that the model sees: 0, 1, 3 or 5; "
        "the embedded model sees none.",
    )
    enable_sql_validation: bool = Field(True, description="Let the model check each statement against the question.")
    sql_validation_max_retries: int = Field(
        2, ge=0, le=10, description="How often a statement is checked again after a correction."
    )
    max_table_retrievals: int = Field(
        3, ge=1, le=10, description="Tries at finding tables before a question is off topic."
    )
    max_sql_generations: int = Field(3, ge=1, le=10, description="Tries at a statement before a question is given up.")
    clarify: Clarify = Field(
        "auto",
        description="When to ask back: `never`; `auto`: where something shows that the question is ambiguous; "
        "`always`: the model looks at each question. Nobody is asked where readings do not differ in result.",
    )
    max_clarifications: int = Field(
        4, ge=0, le=10, description="Clarifying questions that are put to the user about one question."
    )
    memory_size: int = Field(10, ge=1, le=100, description="Turns of a conversation that a follow-up is read with.")
    keep_accepted_examples: bool = Field(
        False, description="Keep a question whose answer the user accepts as a few-shot example."
    )
    threads_url: SecretStr | None = Field(
        None,
        description="URL of the PostgreSQL database that keeps conversations (postgresql://...), and for a server "
        "uploaded files, datasets and what tenants have spent; left out: files in the data directory.",
    )
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
    statement_timeout_s: float = Field(30, gt=0, allow_inf_nan=False, description="Seconds that one statement may run.")
    row_limit: int = Field(10_000, ge=1, description="Rows of a result that are read; more are cut and said to be.")
    byte_limit: int = Field(
        50_000_000, ge=1000, description="Bytes of a result that are read; more are cut and said to be."
    )
    max_planned_rows: float = Field(
        1e10,
        gt=0,
        description="Rows that PostgreSQL, MySQL or MariaDB may expect at the widest place of a statement's plan.",
    )
    worker_memory_mb: int = Field(
        1024, ge=128, description="Megabytes that one statement on a SQLite or DuckDB file may take."
    )
    max_steps: int = Field(8, ge=1, le=8, description="Calls of tools that the analyst may make for one question.")
    tool_timeout_s: float = Field(
        30, gt=0, allow_inf_nan=False, description="Seconds that one call of a tool may take."
    )
    data_dir: Path = Field(
        default_factory=lambda: platformdirs.user_data_path("datasphinx"),
        description="Where the record of runs, threads, examples, uploaded files and their datasets are kept.",
    )
    record: bool = Field(
        True, description="Keep a record of what each question did, which can be verified and replayed."
    )
    record_url: SecretStr | None = Field(
        None,
        description="SQLAlchemy URL of the record's database; left out: a SQLite file in the data directory.",
    )
    log_json: bool = Field(
        False, description="Write the log to standard error as JSON lines, each with the trace id of its question."
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        "info", description="The least severe messages that the JSON log has."
    )
    max_file_bytes: int = Field(2_000_000_000, ge=1, description="Bytes that a file may have to become a dataset.")
    max_unpacked_bytes: int = Field(
        2_000_000_000, ge=1, description="Bytes that a spreadsheet may have when it is unpacked."
    )
    max_dataset_rows: int = Field(50_000_000, ge=1, description="Rows that a dataset may have.")
    max_dataset_columns: int = Field(2000, ge=1, description="Columns that a dataset may have.")
    short_table_rows: int = Field(
        20, ge=1, description="A table of at most this many rows is answered without narration."
    )
    cache_dir: Path = Field(
        default_factory=lambda: platformdirs.user_cache_path("datasphinx"),
        description="Where the sample database and the embedded model are kept.",
    )

    @field_validator("llm_base_url")
    @classmethod
    def _names_a_server(cls, url: str | None) -> str | None:
        if url is not None and not url.lower().startswith(("http://", "https://")):
            raise ValueError("it has to begin with http:// or https://")
        return url

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Rank keyword arguments before the environment, then `.env`, `datasphinx.toml`, and OpenAI's names.

        Other programs keep their variables in `.env` too; those are passed over.
        """
        dotenv = {name: value for name, value in dotenv_settings().items() if name in settings_cls.model_fields}
        places = [
            source.env_vars for source in (env_settings, dotenv_settings) if isinstance(source, EnvSettingsSource)
        ]
        fallback = {name: _first(places, names) for name, names in _OPENAI_NAMES.items()}
        return (
            init_settings,
            env_settings,
            InitSettingsSource(settings_cls, dotenv),
            TomlConfigSettingsSource(settings_cls, CONFIG_FILE),
            InitSettingsSource(settings_cls, {name: value for name, value in fallback.items() if value}),
        )

    @property
    def uses_embedded_model(self) -> bool:
        """True when neither an endpoint nor a key is configured."""
        return self.llm_base_url is None and self.llm_api_key is None


def _first(places: Sequence[Mapping[str, str | None]], names: Iterable[str]) -> str | None:
    return next(filter(None, (place.get(name) for name in names for place in places)), None)


def _field_of(error: SettingsError) -> str:
    match = re.search(r'field "(\w+)"', str(error))
    return match[1] if match else "SOURCES"


def load_settings(**overrides: object) -> Settings:
    """Return the settings of this process, with `overrides` on top; None leaves a setting as it is.

    Raises:
        ConfigurationError: a value does not fit its setting.
    """
    try:
        return Settings(**{name: value for name, value in overrides.items() if value is not None})  # type: ignore[arg-type]
    except ValidationError as error:
        first = error.errors(include_input=False)[0]
        name, *inner = map(str, first["loc"])
        where = f"{'.'.join(inner)}: " if inner else ""
        reason = "there is no such setting" if first["type"] == "extra_forbidden" else first["msg"]
        reason = reason.removeprefix("Value error, ")
        raise ConfigurationError(f"DATASPHINX_{name.upper()}", f"{where}{reason}") from None
    except SettingsError as error:
        raise ConfigurationError(f"DATASPHINX_{_field_of(error).upper()}", "that is no JSON") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(CONFIG_FILE, str(error)) from None
    except (OSError, UnicodeError) as error:
        raise ConfigurationError(".env", f"it cannot be read as UTF-8 text ({type(error).__name__})") from error
