"""The settings of `datasphinx serve`."""

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints
from pydantic_settings import BaseSettings

TENANT = r"^[a-z0-9][a-z0-9_-]{0,62}$"
"""The form of a tenant's name, which becomes that of a folder."""

TenantName = Annotated[str, StringConstraints(pattern=TENANT)]
KeyHash = Annotated[str, StringConstraints(pattern=r"^sha256:[0-9a-f]{64}$")]


def _as_several(given: Any) -> Any:
    return (given,) if isinstance(given, str) else given


class TenantSettings(BaseModel):
    """What a tenant may ask, and how much of it; what is left out is as for everybody."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    sources: tuple[str, ...] | None = Field(None, description="Names of the sources to ask; left out: all.")
    row_parameters: dict[str, str | int | float] = Field(
        {}, description="Values of the `:names` in the row rules of its sources."
    )
    questions_per_minute: int | None = Field(None, ge=1, le=10_000)
    tokens_per_day: int | None = Field(None, ge=1, description="A day is one of UTC.")
    usd_per_day: float | None = Field(None, gt=0, description="Where the price of the model is known.")
    max_llm_calls: int | None = Field(None, ge=1)
    max_llm_tokens: int | None = Field(None, ge=1)
    max_cost_usd: float | None = Field(None, gt=0)
    max_question_s: float | None = Field(None, gt=0)


class ServiceSettings(BaseSettings):
    """What can be set for the server alone."""

    api_keys: dict[TenantName, Annotated[tuple[KeyHash, ...], BeforeValidator(_as_several)]] = Field(
        {},
        description="By tenant, the hashes of its keys, as `datasphinx key new` prints them; without any the server "
        "answers this machine alone, without keys.",
    )
    tenants: dict[TenantName, TenantSettings] = Field(
        {},
        description="By tenant, its `sources`, `row_parameters`, `questions_per_minute`, `tokens_per_day`, "
        "`usd_per_day`, and limits of its own in place of `max_llm_calls`, `max_llm_tokens`, `max_cost_usd` and "
        "`max_question_s`; where any stands here, every tenant with a key has to.",
    )
    max_request_bytes: int = Field(
        1_000_000, ge=1, description="Bytes that a request to the server may have, but for an uploaded file."
    )
    max_upload_bytes: int = Field(
        200_000_000, ge=1, description="Bytes that a file may have that is uploaded to the server."
    )
    request_timeout_s: float = Field(
        900, gt=0, allow_inf_nan=False, description="Seconds that the server works at one request."
    )
