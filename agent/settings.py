"""All settings, read from the environment, `.env` and `datasphinx.toml` in the working directory."""

import re
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal

import platformdirs
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    StringConstraints,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    InitSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
    TomlConfigSettingsSource,
)

from datasphinx.agent.engines import FILES_ENGINE
from datasphinx.agent.errors import ConfigurationError
from datasphinx.agent.messages import Message, message_of
from datasphinx.agent.types import Clarify, Effort, EmbeddedModel, Limits

TENANT = r"^[a-z0-9][a-z0-9_-]{0,62}$"
"""The pattern of tenant names, which are also folder names."""
CONFIG_FILE = "datasphinx.toml"
"""The configuration file: settings by lower-case name, and a table `[sources.NAME]` for each source."""
_REMOVED = {
    "tool_timeout_s": "use DATASPHINX_STATEMENT_TIMEOUT_S",
    "memory_size": "it is always 10",
    "embedded_candidates": "it is always 3",
    "request_timeout_s": "it is 1.5 times DATASPHINX_MAX_QUESTION_S",
    "chat_sql": "answers under /v1 always end with their SQL",
    "keep_accepted_examples": "accepted answers become proposals, and with their review examples",
    "oidc.jwks_url": "the keys are those of the issuer's discovery document",
    "embed": "link to the page, or use /v1 or MCP from a page of yours",
    "studio_any_source": "use DATASPHINX_SOURCES",
    "sources.log_database_errors": "it is always false",
    "shots": "it is always 3",
    "sources.shots": "it is always 3",
    "sources.hive_partitioning": "it is always null",
    "sources.storage": "files are read from this machine: copy or mount them, or connect an engine that reads them",
    "source_folders": "use DATASPHINX_SOURCES",
    "report_budget": "it is always 10",
    "max_file_bytes": "it is always 2000000000",
    "max_workbook_s": "it is always 60",
    "max_unpacked_bytes": "it is always 2000000000",
    "max_dataset_rows": "it is always 50000000",
    "max_dataset_columns": "it is always 2000",
    "max_question_chars": "it is always 10000",
    "byte_limit": "it is always 50000000",
    "max_planned_rows": "there is no such limit any more: DATASPHINX_STATEMENT_TIMEOUT_S ends long statements",
    "short_table_rows": "it is always 20",
    "follow_up_questions": "it is always true",
    "embeddings_model": "the vectors of the extra `semantic` are used",
    "embeddings_base_url": "the vectors of the extra `semantic` are used",
    "log_level": "it is always info",
    "tenants.max_llm_calls": "use DATASPHINX_MAX_LLM_CALLS",
    "tenants.max_llm_tokens": "use DATASPHINX_MAX_LLM_TOKENS",
    "tenants.max_cost_usd": "use DATASPHINX_MAX_COST_USD",
    "tenants.max_question_s": "use DATASPHINX_MAX_QUESTION_S",
    "mcp_run_sql": "use DATASPHINX_RUN_SQL",
    "embedded_model=small": "use base",
    "llm_profile=plain": "use auto; the embedded model is better than models that need it",
}
"""Settings and values that no longer exist, those inside of others after the name of these, with their replacement."""
_OPENAI_NAMES = {
    "llm_base_url": ("openai_base_url", "openai_api_base"),
    "llm_model": ("openai_model",),
    "llm_api_key": ("openai_api_key",),
}


Instructions = Annotated[str, StringConstraints(max_length=4000)]
"""Text for all prompts."""


def _with_scheme(url: str) -> str:
    if not url.lower().startswith(("http://", "https://")):
        raise ValueError("it has to begin with http:// or https://")
    return url


_IN_MEMORY = f"{FILES_ENGINE}://"
"""URL of a source over files."""
_PATTERN = re.compile(r"[*?\[]")


def has_pattern(text: str) -> bool:
    """Return whether `text`, a path or a part of one, contains `*`, `?` or `[`."""
    return bool(_PATTERN.search(text))


def files_root(path: str) -> str:
    """Return the folder of `path` that has no pattern or Hive partition, with a slash at its end.

    >>> files_root("/data/sales/year=*/*.parquet"), files_root("/data/orders.csv")
    ('/data/sales/', '/data/')
    """
    parts = path.split("/")
    end = next((index for index, part in enumerate(parts) if has_pattern(part) or "=" in part), len(parts))
    return "/".join(parts[:end]) + "/" if end < len(parts) else path.rpartition("/")[0] + "/"


def view_name(path: str) -> str:
    """Return the name of the view over `path`: that of the file, or of the last folder before a pattern or partition.

    >>> view_name("data/orders.csv.gz"), view_name("data/sales/year=*/*.parquet")
    ('orders', 'sales')
    """
    parts = [part for part in path.split("/") if part not in ("", ".", "..")]
    if parts and parts[-1].endswith(".metadata.json"):
        parts = parts[:-2]
    named = next((index for index, part in enumerate(parts) if has_pattern(part) or "=" in part), len(parts))
    is_file = named == len(parts)
    name = parts[named - 1] if named else ""
    name = name.partition(".")[0] if is_file else name
    if not name:
        raise ValueError(Message("view_without_name", path=path))
    return name


class FilesSettings(BaseModel):
    """Files that are read as one view; may be written as their path alone."""

    model_config = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=True)

    path: str = Field(
        min_length=1,
        description="A file, a folder, or a pattern with `*`, `**`, `?` or `[...]`, on this machine.",
    )
    format: Literal["parquet", "csv"] | None = Field(
        default=None, description="Format; by default found by the file name extension."
    )
    columns: dict[str, str] = Field(
        default={},
        description="For CSV, the names of all columns in the order of the file, with their types in DuckDB.",
    )

    @model_validator(mode="before")
    @classmethod
    def _from_path(cls, value: Any) -> Any:
        if isinstance(value, dict) and value.get("format") in ("delta", "iceberg"):
            raise ValueError(Message("lake_table", path=str(value.get("path", ""))))
        return {"path": value} if isinstance(value, str) else value

    @model_validator(mode="after")
    def _check_options(self) -> "FilesSettings":
        if "://" in self.path:
            raise ValueError(Message("storage_not_supported", scheme=self.path.partition("://")[0]))
        if self.columns and self.format not in (None, "csv"):
            raise ValueError(Message("columns_need_csv", format=self.format))
        return self


def _files_by_view(files: Any) -> Any:
    """Return `files` by view name; the entries of a list get the names of `view_name`."""
    if isinstance(files, str):
        files = [files]
    if isinstance(files, list | tuple):
        paths = [str(entry.get("path", "") if isinstance(entry, dict) else entry) for entry in files]
        views = list(zip(map(view_name, paths), files, strict=True))
    elif isinstance(files, dict):
        views = [(str(name), entry) for name, entry in files.items()]
    else:
        return files
    names: dict[str, str] = {}
    for name, _ in views:
        # DuckDB ignores the case of names.
        if name.casefold() in names:
            raise ValueError(Message("views_clash", first=names[name.casefold()], second=name))
        names[name.casefold()] = name
    return dict(views)


class SourceSettings(BaseModel):
    """Settings of a source; may be written as its URL alone."""

    model_config = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=True)

    url: SecretStr = Field(min_length=1, description="SQLAlchemy URL of the database; not for `files`.")
    description: str = Field(
        default="", max_length=500, description="What the data is about, for the list of sources; not part of prompts."
    )
    connect_args: dict[str, bool | int | SecretStr] = Field(
        default={},
        description="Arguments for the driver of a database server that do not belong in a URL, such as "
        "`private_key_file` and `private_key_file_pwd` of Snowflake. Texts are secret.",
    )
    files: Annotated[dict[str, FilesSettings], BeforeValidator(_files_by_view)] = Field(
        default={},
        description="Instead of a URL, files that DuckDB reads, each as a view: paths and patterns, or by view name an "
        "object with `path` and `format`, `columns`.",
    )
    allow_writable_account: bool = Field(
        default=False, description="Use the account even if it has more than read access."
    )
    secret_columns: tuple[str, ...] = Field(
        default=(),
        description="Columns whose values are hidden from models and logs, such as `customers.email` or `*.phone`.",
    )
    schemas: tuple[str, ...] | None = Field(
        default=None, description="Schemas to read; by default all, on MySQL and MariaDB the database of the URL."
    )
    instructions: Instructions = Field(
        default="",
        description="Definitions and preferences for all prompts about the source, at most 4,000 characters.",
    )
    knowledge: Path | None = Field(
        default=None, description="Folder of business knowledge in YAML files, relative to the working directory."
    )
    row_rules: dict[str, str] = Field(default={}, description="By table, a predicate that limits the visible rows.")
    row_parameters: dict[str, str | int | float] = Field(
        default={}, description="Values of the `:name` parameters in the row rules."
    )

    @model_validator(mode="before")
    @classmethod
    def _from_url(cls, value: Any) -> Any:
        if isinstance(value, str):
            return {"url": value}
        if isinstance(value, dict) and value.get("files"):
            if value.get("url", _IN_MEMORY) != _IN_MEMORY:
                raise ValueError(Message("url_and_files"))
            return {**value, "url": _IN_MEMORY}
        return value


ModelRole = Literal["generate", "validate", "narrate", "review"]
"""A task of a model, which may have a model of its own."""


class RoleModel(BaseModel):
    """The model of a role; may be written as its name alone."""

    model_config = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=True)

    model: str = Field(min_length=1, description="Name of the model.")
    base_url: Annotated[str, AfterValidator(_with_scheme)] | None = Field(
        default=None, description="Base URL of its endpoint; by default DATASPHINX_LLM_BASE_URL."
    )
    api_key: SecretStr | None = Field(
        default=None,
        description="Key of its endpoint; by default DATASPHINX_LLM_API_KEY, which no other endpoint gets.",
    )

    @model_validator(mode="before")
    @classmethod
    def _from_name(cls, value: Any) -> Any:
        return {"model": value} if isinstance(value, str) else value


class ModelPrice(BaseModel):
    """Prices of a model in US dollars per million tokens."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    input: float = Field(ge=0, allow_inf_nan=False, description="Price of prompt tokens.")
    output: float = Field(ge=0, allow_inf_nan=False, description="Price of completion tokens.")
    cached_input: float | None = Field(
        default=None,
        ge=0,
        allow_inf_nan=False,
        description="Price of cached prompt tokens; by default that of `input`.",
    )


TenantName = Annotated[str, StringConstraints(pattern=TENANT)]
KeyHash = Annotated[str, StringConstraints(pattern=r"^sha256:[0-9a-f]{64}$")]
KeyHashes = Annotated[tuple[KeyHash, ...], BeforeValidator(lambda value: (value,) if isinstance(value, str) else value)]
"""One hash, or several."""


class TenantSettings(BaseModel):
    """Permissions and limits of a tenant; by default, the settings of the server apply."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    sources: tuple[str, ...] | None = Field(
        default=None, description="Names of the sources that the tenant may query; by default all."
    )
    row_parameters: dict[str, str | int | float] = Field(
        default={}, description="Values of the `:name` parameters in the row rules of its sources."
    )
    knowledge: dict[str, Path] = Field(
        default={},
        description="By source, the folder of the tenant's business knowledge, instead of that of the source.",
    )
    questions_per_minute: int | None = Field(default=None, ge=1, le=10_000)
    tokens_per_day: int | None = Field(default=None, ge=1, description="Token limit per UTC day.")
    usd_per_day: float | None = Field(
        default=None, gt=0, description="Cost limit per UTC day, if the price of the model is known."
    )


Role = Literal["ask", "review", "operate"]
"""A permission: to ask questions, to review proposals, or to operate the server (metrics, readiness, sources)."""
Texts = Annotated[tuple[str, ...], BeforeValidator(lambda value: (value,) if isinstance(value, str) else value)]
"""One text, or several."""


class OidcSettings(BaseModel):
    """The issuer of bearer tokens, and the claims that name the tenant, the roles and the row parameters of a user."""

    model_config = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=True)

    issuer: Annotated[str, AfterValidator(_with_scheme)] = Field(
        description="URL of the issuer, exactly as in the claim `iss`."
    )
    audience: Texts = Field(min_length=1, description="Accepted values of the claim `aud`, one or several.")
    tenant: TenantName | None = Field(
        default=None, description="Tenant of the tokens without the claim `tenant_claim`."
    )
    tenant_claim: str | None = Field(
        default=None,
        min_length=1,
        description="Claim with the name of a tenant; paths such as `org.name` are possible.",
    )
    role_claim: str | None = Field(
        default=None, min_length=1, description="Claim with a list or a text of roles or scopes."
    )
    roles: dict[Role, Texts] = Field(
        default={},
        description="By role (`ask`, `review`, `operate`), the values of `role_claim` that grant it. Without an entry "
        "for `ask`, every user may ask; the other roles need one.",
    )
    row_parameters: dict[str, str] = Field(
        default={}, description="By `:name` parameter of the row rules, the claim with its value."
    )

    @model_validator(mode="after")
    def _check_claims(self) -> "OidcSettings":
        if self.tenant is None and self.tenant_claim is None:
            raise ValueError("`tenant` or `tenant_claim` has to be set")
        if bool(self.roles) != (self.role_claim is not None):
            raise ValueError("`roles` and `role_claim` have to be set together")
        return self


class ServiceSettings(BaseSettings):
    """Settings of the server."""

    api_keys: dict[TenantName, KeyHashes] = Field(
        default={},
        description="By tenant, the hashes of its API keys, as printed by `datasphinx key new`. Without keys and "
        "`oidc`, the server accepts requests from this machine only.",
    )
    review_keys: KeyHashes = Field(
        default=(),
        description="Hashes of the API keys with the role `review`. Without API keys, everybody on this machine has "
        "it.",
    )
    operate_keys: KeyHashes = Field(
        default=(),
        description="Hashes of the API keys with the role `operate`. Without API keys, everybody on this machine "
        "has it.",
    )
    oidc: OidcSettings | None = Field(
        default=None,
        description="Accept [tokens](oidc.md) of an OpenID Connect issuer. Requires the extra `oidc`.",
    )
    tenants: dict[TenantName, TenantSettings] = Field(
        default={},
        description="By tenant, its `sources`, `row_parameters`, `knowledge`, `questions_per_minute`, "
        "`tokens_per_day` and `usd_per_day`. If set, it must contain every tenant with a key and the `tenant` of "
        "`oidc`.",
    )
    run_sql: bool | None = Field(
        default=None,
        description="Let clients run their own SELECT statements, on the page, over HTTP and MCP; by default only on "
        "the page and over HTTP, on a server without keys and tokens.",
    )
    edit_sources: bool | None = Field(
        default=None,
        description="Let the role `operate` edit the sources over HTTP and on the page; by default only on a server "
        "without keys and tokens.",
    )
    max_request_bytes: int = Field(
        default=1_000_000, ge=1, description="Maximum size of a request to the server in bytes, except file uploads."
    )
    max_upload_bytes: int = Field(
        default=200_000_000, ge=1, description="Maximum size of a file uploaded to the server in bytes."
    )


class Settings(ServiceSettings):
    """The settings. Environment variables have the prefix `DATASPHINX_`; unknown keyword arguments are refused."""

    model_config = SettingsConfigDict(
        env_prefix="DATASPHINX_", env_file=".env", env_file_encoding="utf-8-sig", extra="forbid", frozen=True,
        env_ignore_empty=True, env_parse_none_str="none", str_strip_whitespace=True,
    )  # fmt: skip

    sources: dict[str, SourceSettings] = Field(
        default={},
        description="Databases by name, each a SQLAlchemy URL or an object with `url` or `files` and other settings.",
    )
    source: str = Field(
        default="",
        description="Name or URL of the default source; if empty, chosen among `sources`, or the sample shop.",
    )
    allow_writable_account: bool = Field(
        default=False, description="Use a source specified by URL alone even if its account has more than read access."
    )
    llm_base_url: Annotated[str, AfterValidator(_with_scheme)] | None = Field(
        default=None,
        description="Base URL of an OpenAI-compatible endpoint; without URL and key, the embedded model is used.",
    )
    llm_model: str | None = Field(
        default=None,
        description="Name of the model at the endpoint.",
    )
    llm_models: dict[ModelRole, RoleModel] = Field(
        default={},
        description="Other models for the roles `generate`, `validate`, `narrate` and `review`, each a "
        "name or an object with `model`, `base_url` and `api_key`.",
    )
    llm_api_key: SecretStr | None = Field(default=None, description="API key of the endpoint.")
    llm_timeout_s: float = Field(
        default=60,
        gt=0,
        allow_inf_nan=False,
        description="Timeout of the endpoint in seconds, for each of two attempts.",
    )
    llm_temperature: float | None = Field(
        default=0.0,
        ge=0,
        allow_inf_nan=False,
        description="Sampling temperature; `none` to use the default of the endpoint.",
    )
    llm_structured_output: Literal["auto", "json_schema", "json_object", "text"] = Field(
        default="auto",
        description="Format of structured answers: `json_schema`, `json_object`, `text`, or `auto` to detect it once.",
    )
    llm_profile: Literal["auto", "standard"] = Field(
        default="auto",
        description="How requests adapt to the model: `auto`, by short questions on its first use; or "
        "`standard`, not at all.",
    )
    prices: dict[str, ModelPrice] = Field(
        default={},
        description="Prices by model name in US dollars per million tokens: `input`, `output` and `cached_input`; by "
        "default list prices.",
    )
    embedded_model: EmbeddedModel = Field(
        default="base",
        description="Size of the embedded model: `base` (491 MB) or `large` (1.1 GB); see `datasphinx model list`.",
    )
    instructions: Instructions = Field(
        default="",
        description="Definitions and preferences for all prompts, at most 4,000 characters; not for the embedded "
        "model.",
    )
    effort: Effort = Field(
        default="medium",
        description="Model calls per question: `low`, `medium` (validation if there is doubt) or `high` (three "
        "statements).",
    )
    enable_sql_validation: bool | None = Field(
        default=None,
        description="Validate every statement with the model, or none; by default, `effort` decides.",
    )
    sql_validation_max_retries: int = Field(
        default=2, ge=0, le=10, description="Maximum number of repeated validations after corrections."
    )
    max_table_retrievals: int = Field(
        default=3, ge=1, le=10, description="Attempts to retrieve tables before a question counts as off topic."
    )
    max_sql_generations: int = Field(
        default=3,
        ge=0,
        le=10,
        description="How often a statement is generated again after an error, before a question fails.",
    )
    min_confidence: float | None = Field(
        default=None,
        ge=0,
        le=1,
        description="Confidence below which an answer is a draft (`unsure`); by default as fitted for the model.",
    )
    clarify: Clarify = Field(
        default="auto",
        description="When to ask clarifying questions: `never`; `auto`, if there is evidence of an ambiguity; "
        "`always`, after a review of every question by the model.",
    )
    max_clarifications: int = Field(
        default=4, ge=0, le=10, description="Maximum number of clarifying questions about one question."
    )
    threads_url: SecretStr | None = Field(
        default=None,
        description="URL of a PostgreSQL database for conversations, uploaded files, boards and the usage of "
        "tenants; by default, files in the data directory.",
    )
    thread_days: int | None = Field(
        default=None,
        ge=1,
        le=36_500,
        description="Days after its last run when a server deletes a conversation; by default, they are kept.",
    )
    record_days: int | None = Field(
        default=None,
        ge=1,
        le=36_500,
        description="Days after which a server deletes an event of the record; by default, they are kept.",
    )
    max_llm_calls: int = Field(default=20, ge=1, description="Maximum number of model calls per question.")
    max_llm_tokens: int = Field(
        default=200_000, ge=1, description="Maximum number of prompt and completion tokens per question."
    )
    max_cost_usd: float = Field(
        default=1.0, gt=0, description="Maximum cost of a question in US dollars, if the price is known."
    )
    max_question_s: float = Field(
        default=600, gt=0, description="Seconds after which a question makes no further model calls."
    )
    schema_token_budget: int = Field(
        default=2000,
        ge=100,
        description="A schema within this number of tokens is shown whole, without a model call to select from it.",
    )
    statement_timeout_s: float = Field(
        default=30, gt=0, allow_inf_nan=False, description="Time limit of a statement, and of a tool call, in seconds."
    )
    row_limit: int = Field(
        default=10_000, ge=1, description="Maximum number of result rows; longer results are truncated, with a note."
    )
    max_bytes_billed: int = Field(
        default=10_000_000_000,
        ge=10_485_760,
        description="Maximum number of bytes that BigQuery may bill for a statement.",
    )
    worker_memory_mb: int = Field(
        default=1024,
        ge=128,
        description="Memory limit of a statement on SQLite, DuckDB, chDB or ClickHouse in megabytes.",
    )
    max_steps: int = Field(
        default=8, ge=1, le=8, description="Maximum number of tool calls of the analyst per question."
    )
    data_dir: Path = Field(
        default_factory=lambda: platformdirs.user_data_path("datasphinx"),
        description="Folder of the event log, threads, uploaded files and datasets.",
    )
    record: bool = Field(
        default=True, description="Keep an event log of all questions, which can be verified and replayed."
    )
    record_url: SecretStr | None = Field(
        default=None,
        description="SQLAlchemy URL of the event log; by default a SQLite file in the data directory.",
    )
    otel: bool = Field(
        default=False,
        description="Export traces and metrics with OpenTelemetry. Requires the extra `otel`.",
    )
    otel_text: bool = Field(
        default=False,
        description="Include texts in traces: questions, prompts, answers, statements. They may quote values.",
    )
    allow_langsmith: bool = Field(
        default=True,
        description="Allow LangSmith to trace runs, with all rows, if its own variables say so.",
    )
    log_json: bool = Field(
        default=False,
        description="Write the log as JSON lines.",
    )
    cache_dir: Path = Field(
        default_factory=lambda: platformdirs.user_cache_path("datasphinx"),
        description="Folder of the sample database, the embedded model, and its cached prompts.",
    )

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Return the sources of settings by priority.

        Keyword arguments come first, then the environment, `.env`, `datasphinx.toml`, and OpenAI's variable names.
        Variables of other programs in `.env` are ignored.

        Raises:
            ConfigurationError: a variable is that of a setting that no longer exists.
        """
        environments = [
            source.env_vars for source in (env_settings, dotenv_settings) if isinstance(source, EnvSettingsSource)
        ]
        for name, replacement in _REMOVED.items():
            if any(variables.get(f"datasphinx_{name}") for variables in environments):
                raise ConfigurationError(f"DATASPHINX_{name.upper()}", f"it is no longer a setting: {replacement}")
        others = {
            name: next(filter(None, (variables.get(other) for other in names for variables in environments)), None)
            for name, names in _OPENAI_NAMES.items()
        }
        # Each source inspects all fields, so those without values are left out.
        dotenv = dotenv_settings() if any(environments[1:]) else {}
        by_priority: list[dict[str, Any]] = [
            {name: value for name, value in dotenv.items() if name in settings_cls.model_fields},
            TomlConfigSettingsSource(settings_cls, CONFIG_FILE)() if Path(CONFIG_FILE).is_file() else {},
            {name: value for name, value in others.items() if value},
        ]
        return (init_settings, env_settings, *(InitSettingsSource(settings_cls, each) for each in by_priority if each))

    @property
    def request_timeout_s(self) -> float:
        """The time limit for one request to the server in seconds: half as long again as a question calls the model."""
        return 1.5 * self.max_question_s

    @property
    def statement_limits(self) -> Limits:
        """The limits of one statement."""
        return Limits(
            self.statement_timeout_s,
            self.row_limit,
            memory_mb=self.worker_memory_mb,
            max_bytes_billed=self.max_bytes_billed,
        )

    @field_validator("llm_model")
    @classmethod
    def _check_model(cls, model: str | None, given: ValidationInfo) -> str | None:
        if model and ":" in model and not model.startswith("ft:") and given.data.get("llm_base_url") is None:
            raise ValueError(f"{model} is not a model of OpenAI: DATASPHINX_LLM_BASE_URL has to name its endpoint")
        return model

    @property
    def is_private(self) -> bool:
        """Whether a server has neither keys nor tokens, and so accepts requests from this machine only."""
        return not (self.api_keys or self.oidc)

    @property
    def uses_embedded_model(self) -> bool:
        """Whether neither an endpoint nor a key is configured."""
        return self.llm_base_url is None and self.llm_api_key is None

    def for_role(self, role: ModelRole) -> "Settings":
        """Return settings with the model of `role` as the only one."""
        own = self.llm_models.get(role)
        if own is None:
            return self
        update: dict[str, Any] = {"llm_model": own.model, "llm_models": {}}
        if own.base_url is not None:
            update["llm_base_url"] = own.base_url
        if own.base_url is not None or own.api_key:
            # A key is not sent to another endpoint.
            update["llm_api_key"] = own.api_key
        return self.model_copy(update=update)


def load_settings(**overrides: object) -> Settings:
    """Return the settings of this process, updated by the `overrides` that are not None.

    Raises:
        ConfigurationError: the value of a setting is invalid.
    """
    try:
        return Settings(**{name: value for name, value in overrides.items() if value is not None})  # type: ignore[arg-type]
    except ValidationError as error:
        first = error.errors()[0]
        name, *inner = map(str, first["loc"])
        cause = first.get("ctx", {}).get("error")
        reason = message_of(cause) if isinstance(cause, ValueError) else first["msg"]
        if first["type"] == "extra_forbidden":
            replacement = _REMOVED.get(".".join([name, *inner[-1:]]))
            reason = f"it is no longer a setting: {replacement}" if replacement else "there is no such setting"
        elif replacement := _REMOVED.get(f"{name}={first['input']}"):
            reason = f"{first['input']} is no longer a value: {replacement}"
        reason = Message("field_problem", field=".".join(inner), reason=reason) if inner else reason
        raise ConfigurationError(f"DATASPHINX_{name.upper()}", reason) from None
    except SettingsError as error:
        field = re.search(r'field "(\w+)"', str(error))
        setting = field[1].upper() if field else "SOURCES"
        raise ConfigurationError(f"DATASPHINX_{setting}", "that is no JSON") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(CONFIG_FILE, str(error)) from None
    except (OSError, UnicodeError) as error:
        raise ConfigurationError(".env", f"it cannot be read as UTF-8 text ({type(error).__name__})") from error
