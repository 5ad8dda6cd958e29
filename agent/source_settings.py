"""What can be set for one source."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, model_validator


def _as_number(given: Any) -> Any:
    """Return the number that a variable of the environment spells; anything else as it is."""
    return int(given) if isinstance(given, str) and given.isdecimal() else given


Shots = Annotated[Literal[0, 1, 3, 5], BeforeValidator(_as_number)]
"""How many few-shot examples the model sees."""


class SourceSettings(BaseModel):
    """A source; its URL alone may stand for all of it."""

    model_config = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=True)

    url: SecretStr = Field(min_length=1, description="SQLAlchemy URL of the database.")
    allow_writable_account: bool = Field(False, description="Use the account although it may do more than read.")
    secret_columns: tuple[str, ...] = Field(
        (), description="Columns whose values no model and no log reads, such as `customers.email` or `*.phone`."
    )
    schemas: tuple[str, ...] | None = Field(
        None, description="Schemas to read; left out: all, on MySQL and MariaDB the database of the URL."
    )
    row_rules: dict[str, str] = Field({}, description="By table, the predicate that every row has to meet.")
    shots: Shots | None = Field(None, description="Examples that the model sees; left out: as DATASPHINX_SHOTS says.")
    log_database_errors: bool = Field(
        False,
        description="Write the text of database errors to the log although the source has row rules. "
        "Such a text may quote values of rows.",
    )
    row_parameters: dict[str, str | int | float] = Field({}, description="Values of the `:names` in the row rules.")

    @model_validator(mode="before")
    @classmethod
    def _from_url(cls, given: Any) -> Any:
        return {"url": given} if isinstance(given, str) else given
