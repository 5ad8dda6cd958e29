"""The settings of `datasphinx serve`."""

from pydantic import Field
from pydantic_settings import BaseSettings


class ServiceSettings(BaseSettings):
    """What can be set for the server alone."""

    max_request_bytes: int = Field(
        1_000_000, ge=1, description="Bytes that a request to the server may have, but for an uploaded file."
    )
    max_upload_bytes: int = Field(
        200_000_000, ge=1, description="Bytes that a file may have that is uploaded to the server."
    )
    request_timeout_s: float = Field(
        900, gt=0, allow_inf_nan=False, description="Seconds that the server works at one request."
    )
